//! What is checked of every request, and what every answer says to the browser.
//!
//! - **Host** must name this machine as it was bound. A page elsewhere can point a name of its own at 127.0.0.1 and then read
//!   answers as its own (DNS rebinding); its requests carry that name.
//! - **Origin**, where a browser sends one, must be that same host.
//! - **Token**, where one is set, must come with every request to the API and to `/mcp`. The page's own files hold nothing secret. A
//!   browser that opens the page with the right one gets a session, whose cookie its requests bring back, and an address without the
//!   token. With a cookie, what is not a GET must say which page it comes from. Who sends wrong tokens is told to wait.
//! - **Acting**: what does more than read also refuses a request that another page made a browser send. A picture or a link sends
//!   no Origin with its GET, which XProf's route for captures takes; a browser says where such a request comes from all the same.
//! - **Reading**: nothing is computed for a page of another site, which a browser says with a request too.
//! - **Headers**: the page may load and reach this server only, and no other page may read it, or embed it unless the server was told
//!   which may.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::uri::Authority;
use axum::http::{Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use subtle::ConstantTimeEq;

use crate::answer::{Caught, Failure};
use crate::asker;
use crate::config::FrameAncestor;
use crate::query::TOKEN;
use crate::sessions::Sessions;
use crate::throttle::Throttle;

const CSP: &str = "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self' data:; \
                   connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors ";

/// What XProf's own server allows its page, and no more: charts from gstatic, fonts, the graph drawer that it loads from
/// jsdelivr, and Perfetto in a frame. Other sites may still not embed it.
const XPROF_CSP: &str = "default-src 'self'; \
    script-src 'self' 'unsafe-eval' 'unsafe-inline' https://www.gstatic.com; \
    script-src-elem 'self' 'unsafe-inline' https://cdn.jsdelivr.net/npm/ https://www.gstatic.com; \
    style-src 'self' 'unsafe-inline' https://fonts.googleapis.com https://www.gstatic.com; \
    font-src 'self' https://fonts.googleapis.com https://fonts.gstatic.com data:; \
    connect-src 'self' data: www.gstatic.com; img-src 'self' blob: data:; \
    frame-src 'self' https://ui.perfetto.dev; object-src 'none'; base-uri 'self'; form-action 'none'; \
    frame-ancestors 'self'";

const HEADERS: [(HeaderName, &str); 3] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// What requests are checked against.
#[derive(Debug)]
pub(crate) struct Guard {
    bound: IpAddr,
    token: Option<String>,
    sessions: Sessions,
    throttle: Throttle,
    /// What the page may load, and who may show it.
    policy: HeaderValue,
}

/// Why a request is let in.
#[derive(Debug, Clone)]
enum Admitted {
    /// There is no token.
    Open,
    /// It has the token.
    Token,
    /// A browser brings a session with every request, whichever page makes it ask.
    Session(String),
}

impl Guard {
    pub(crate) fn new(
        addr: SocketAddr,
        token: Option<String>,
        other: bool,
        shown_in: &[FrameAncestor],
    ) -> Self {
        let (sessions, throttle) = (Sessions::new(addr.port()), Throttle::default());
        Self { bound: addr.ip().to_canonical(), token, sessions, throttle, policy: policy(other, shown_in) }
    }

    /// True for names of this machine. A server on all addresses is reached under names that it cannot know; there is a
    /// token then, which a rebound name does not come with.
    fn is_own_name(&self, authority: &Authority) -> bool {
        // A name before an `@` is somebody's, not a machine's.
        if authority.as_str().contains('@') {
            return false;
        }
        let name = authority.host();
        let name = name.strip_prefix('[').and_then(|n| n.strip_suffix(']')).unwrap_or(name);
        match name.parse::<IpAddr>() {
            Ok(ip) => self.bound.is_unspecified() || ip.is_loopback() || ip.to_canonical() == self.bound,
            Err(_) => {
                name.eq_ignore_ascii_case("localhost")
                    || (self.bound.is_unspecified() && self.token.is_some())
            }
        }
    }

    fn check_origin(&self, request: &Request) -> Result<(), Failure> {
        let hosts: Vec<_> = request.headers().get_all(header::HOST).iter().collect();
        let host = match hosts[..] {
            [one] => one.to_str().ok().and_then(|text| text.parse::<Authority>().ok()),
            _ => None,
        };
        // A request line may name a host too, and then that one counts.
        let hosts = [host.as_ref(), request.uri().authority()];
        let Some(host) = host.as_ref().filter(|_| hosts.into_iter().flatten().all(|h| self.is_own_name(h)))
        else {
            return Err(Failure::forbidden(
                "the Host header does not name this server",
                "open the address that the server printed when it started",
            ));
        };
        let same = |origin: &HeaderValue| {
            let text = origin.to_str().unwrap_or_default();
            let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
            rest.is_some_and(|rest| rest.eq_ignore_ascii_case(host.as_str()))
        };
        if request.headers().get_all(header::ORIGIN).iter().all(same) {
            return Ok(());
        }
        Err(Failure::forbidden(
            "the request comes from another site",
            "open the page that this server serves",
        ))
    }

    /// True if one of these is the token.
    fn is_right(&self, given: &[String]) -> bool {
        let Some(token) = &self.token else { return true };
        // All are compared, and each in a time that does not tell how much of it is right.
        let is = |right, given: &String| right | bool::from(given.as_bytes().ct_eq(token.as_bytes()));
        given.iter().fold(false, is)
    }

    fn admit(&self, request: &Request) -> Result<Admitted, Failure> {
        if self.token.is_none() {
            return Ok(Admitted::Open);
        }
        let sent = bearer(request.headers()).map(str::to_owned);
        let given: Vec<String> = in_query(request.uri()).chain(sent).collect();
        if self.is_right(&given) {
            return Ok(Admitted::Token);
        }
        if let Some(session) = self.sessions.of(request.headers()) {
            let is_reading = matches!(*request.method(), Method::GET | Method::HEAD);
            if is_reading || request.headers().contains_key(header::ORIGIN) {
                return Ok(Admitted::Session(session));
            }
            return Err(Failure::forbidden(
                "the request does not say which page it comes from",
                "a program sends `Authorization: Bearer TOKEN` instead of the cookie",
            ));
        }
        self.count_wrong(request, &given)?;
        Err(Failure::unauthorised(
            "this server needs a token",
            "open the address with ?token= that the server printed, or send `Authorization: Bearer TOKEN`",
        ))
    }

    /// Counts a token that is not right.
    ///
    /// # Errors
    /// Where its sender is to wait.
    fn count_wrong(&self, request: &Request, given: &[String]) -> Result<(), Failure> {
        if given.is_empty() {
            return Ok(());
        }
        let peer = asker::of(request, None).peer();
        self.throttle.wrong(peer, Instant::now()).map_or(Ok(()), |wait| Err(Failure::guessing(wait)))
    }

    /// Where a browser that opens a page with the token goes: the same page without it, with a session. `None` for one that is
    /// served as it is.
    fn welcome(&self, request: &Request) -> Result<Option<Response>, Failure> {
        let given: Vec<String> = in_query(request.uri()).collect();
        if self.token.is_none() || given.is_empty() {
            return Ok(None);
        }
        if !self.is_right(&given) {
            self.count_wrong(request, &given)?;
            return Ok(None);
        }
        let place = (header::LOCATION, without_token(request.uri()));
        let kept = (header::CACHE_CONTROL, "no-store".to_owned());
        if self.sessions.of(request.headers()).is_some() {
            return Ok(Some((StatusCode::SEE_OTHER, [place, kept]).into_response()));
        }
        let session = self.sessions.begin();
        let session = session.map_err(|error| Caught::Bug(format!("no random numbers: {error}")))?;
        let cookie = (header::SET_COOKIE, self.sessions.set_cookie(&session));
        Ok(Some((StatusCode::SEE_OTHER, [place, kept, cookie]).into_response()))
    }
}

/// What the page may load, and the sites whose pages may show it. Another front end is shown as its own server allows.
fn policy(other: bool, shown_in: &[FrameAncestor]) -> HeaderValue {
    if other {
        return HeaderValue::from_static(XPROF_CSP);
    }
    let words: Vec<&str> = shown_in.iter().map(FrameAncestor::word).collect();
    let ancestors = if words.is_empty() { "'none'".to_owned() } else { words.join(" ") };
    // An origin has no character that a header could not hold.
    HeaderValue::from_str(&format!("{CSP}{ancestors}"))
        .unwrap_or(HeaderValue::from_static("default-src 'none'"))
}

/// The tokens of an address. An empty one is none.
fn in_query(uri: &Uri) -> impl Iterator<Item = String> {
    let pairs = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    pairs.filter(|(key, value)| key == TOKEN && !value.is_empty()).map(|(_, value)| value.into_owned())
}

/// The same address without a token, on this server: two slashes at its start would name another.
fn without_token(uri: &Uri) -> String {
    let is_token = |pair: &&str| form_urlencoded::parse(pair.as_bytes()).any(|(key, _)| key == TOKEN);
    let query = uri.query().unwrap_or_default();
    let kept: Vec<&str> = query.split('&').filter(|pair| !pair.is_empty() && !is_token(pair)).collect();
    let path = uri.path().trim_start_matches(['/', '\\']);
    if kept.is_empty() { format!("/{path}") } else { format!("/{path}?{}", kept.join("&")) }
}

fn bearer(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(header::AUTHORIZATION).iter().filter_map(|v| v.to_str().ok());
    values.filter_map(|text| {
        let (scheme, token) = text.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    })
}

pub(crate) async fn origin(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    match guard.check_origin(&request) {
        Ok(()) => next.run(request).await,
        Err(failure) => failure.into_response(),
    }
}

/// Where a browser says that a request comes from: `same-origin`, `same-site`, `cross-site`, or `none` for an address that was
/// typed, or that another program opened. Programs do not say.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Refuses to compute for a page of another site: a picture or a frame there sends no Origin with its GET, and would keep cores
/// busy although it never sees the answer. Who follows a link to the page itself gets it.
pub(crate) async fn reading(request: Request, next: Next) -> Response {
    let said = request.headers().get_all(FETCH_SITE);
    if said.iter().all(|site| matches!(site.as_bytes(), b"same-origin" | b"none")) {
        return next.run(request).await;
    }
    let failure = Failure::forbidden(
        "a page of another site sent this request",
        "open the address that the server printed when it started",
    );
    failure.into_response()
}

/// Refuses to act, rather than to read, for anything in a browser but a page of this server's.
pub(crate) async fn acting(request: Request, next: Next) -> Response {
    let said = request.headers().get_all(FETCH_SITE);
    // A cookie comes with whatever makes a browser ask: then the browser has to say that it was our page.
    let has_session = matches!(request.extensions().get(), Some(Admitted::Session(_)));
    let is_told = said.iter().next().is_some() || request.headers().contains_key(header::ORIGIN);
    if said.iter().all(|site| site.as_bytes() == b"same-origin") && (is_told || !has_session) {
        return next.run(request).await;
    }
    let failure = Failure::forbidden(
        "only the page of this server may send this request",
        "open the page and do it there",
    );
    failure.into_response()
}

/// Lets in who may ask, and says who that is.
pub(crate) async fn token(State(guard): State<Arc<Guard>>, mut request: Request, next: Next) -> Response {
    match guard.admit(&request) {
        Ok(admitted) => {
            let session = match &admitted {
                Admitted::Session(session) => Some(session.as_str()),
                Admitted::Open | Admitted::Token => None,
            };
            let client = asker::of(&request, session);
            request.extensions_mut().insert(client);
            request.extensions_mut().insert(admitted);
            asker::on_behalf(client, next.run(request)).await
        }
        Err(failure) => failure.into_response(),
    }
}

/// Gives who opens a page with the right token a session in its place.
pub(crate) async fn welcome(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    match guard.welcome(&request) {
        Ok(None) => next.run(request).await,
        Ok(Some(elsewhere)) => elsewhere,
        Err(failure) => failure.into_response(),
    }
}

pub(crate) async fn headers(State(guard): State<Arc<Guard>>, mut response: Response) -> Response {
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, guard.policy.clone());
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(bound: &str, token: Option<&str>, host: &str) -> bool {
        let addr = SocketAddr::new(bound.parse().unwrap(), 7070);
        let guard = Guard::new(addr, token.map(str::to_owned), false, &[]);
        guard.is_own_name(&host.parse().unwrap())
    }

    #[test]
    fn only_names_of_this_machine_are_taken() {
        for host in ["localhost", "LOCALHOST:8080", "127.0.0.1:7070", "[::1]:7070", "127.0.0.2"] {
            assert!(own("127.0.0.1", None, host), "{host}");
        }
        for host in ["user@localhost", "user:word@127.0.0.1:7070", "@localhost"] {
            assert!(host.parse::<Authority>().is_err() || !own("127.0.0.1", None, host), "{host}");
        }
        for host in
            ["evil.example", "localhost.evil.example", "10.0.0.5", "127.0.0.1.evil.example", "[::2]:1"]
        {
            assert!(!own("127.0.0.1", None, host), "{host}");
        }
        assert!(own("10.0.0.5", Some("t"), "10.0.0.5:7070"));
        assert!(!own("10.0.0.5", Some("t"), "10.0.0.6:7070"));
        assert!(!own("10.0.0.5", Some("t"), "worker-3"));
        assert!(own("0.0.0.0", Some("t"), "worker-3"));
        assert!(own("::", Some("t"), "10.0.0.6"));
    }

    #[test]
    fn an_address_loses_its_token_and_nothing_else() {
        for (before, after) in [
            ("/?token=t", "/"),
            ("/?run=a/b&token=t&page=ops", "/?run=a/b&page=ops"),
            ("/?%74oken=t&x=%26token", "/?x=%26token"),
            ("/data/plugin/profile/x?token=t&token=u", "/data/plugin/profile/x"),
            ("//evil.example/?token=t", "/evil.example/"),
            ("///evil.example?token=t&a=b", "/evil.example?a=b"),
        ] {
            assert_eq!(without_token(&before.parse().unwrap()), after, "{before}");
        }
    }
}
