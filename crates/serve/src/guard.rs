//! What is checked of every request, and what every answer says to the browser.
//!
//! - **Host** must name this machine as it was bound. A page elsewhere can point a name of its own at 127.0.0.1 and then read
//!   answers as its own (DNS rebinding); its requests carry that name.
//! - **Origin**, where a browser sends one, must be that same host.
//! - **Token**, where one is set, must come with every request to the API and to `/mcp`. The page's own files hold nothing secret. Another
//!   front end knows of no token: who opens it with the right one gets a cookie, which its requests bring back.
//! - **Acting**: what does more than read also refuses a request that another page made a browser send. A picture or a link sends
//!   no Origin with its GET, which XProf's route for captures takes; a browser says where such a request comes from all the same.
//! - **Reading**: nothing is computed for a page of another site, which a browser says with a request too.
//! - **Headers**: the page may load and reach this server only, and no other page may embed or read it.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::uri::Authority;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use subtle::ConstantTimeEq;

use crate::answer::Failure;
use crate::asker;
use crate::query::TOKEN;

const CSP: &str = "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self' data:; \
                   connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

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
    /// Whether another front end is served, in place of our page.
    other: bool,
}

/// The cookie that stands for the token.
const COOKIE: &str = "haloscope-token";

impl Guard {
    pub(crate) fn new(bound: IpAddr, token: Option<String>, other: bool) -> Self {
        Self { bound: bound.to_canonical(), token, other }
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

    /// True if the token is right in one of the places where it may stand.
    fn is_right(&self, given: impl Iterator<Item = String>) -> bool {
        let Some(token) = &self.token else { return true };
        // All are compared, and each in a time that does not tell how much of it is right.
        given.fold(false, |right, given| right | bool::from(given.as_bytes().ct_eq(token.as_bytes())))
    }

    fn check_token(&self, request: &Request) -> Result<(), Failure> {
        let kept = self.other.then(|| cookies(request.headers())).into_iter().flatten();
        let sent = bearer(request.headers()).map(str::to_owned);
        if self.is_right(in_query(request).chain(sent).chain(kept)) {
            return Ok(());
        }
        Err(Failure::unauthorised(
            "this server needs a token",
            "open the address with ?token= that the server printed, or send `Authorization: Bearer TOKEN`",
        ))
    }
}

fn in_query(request: &Request) -> impl Iterator<Item = String> {
    let pairs = form_urlencoded::parse(request.uri().query().unwrap_or_default().as_bytes());
    pairs.filter(|(key, _)| key == TOKEN).map(|(_, value)| value.into_owned())
}

/// The tokens that cookies hold.
fn cookies(headers: &HeaderMap) -> impl Iterator<Item = String> {
    let values = headers.get_all(header::COOKIE).iter().filter_map(|v| v.to_str().ok());
    let pairs = values.flat_map(|list| list.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let own = pairs.filter(|(name, _)| *name == COOKIE);
    own.flat_map(|(_, value)| form_urlencoded::parse(value.as_bytes()).map(|(text, _)| text.into_owned()))
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
        "this is asked for by a page of another site",
        "open the address that the server printed when it started",
    );
    failure.into_response()
}

/// Refuses to act, rather than to read, for anything in a browser but a page of this server's.
pub(crate) async fn acting(request: Request, next: Next) -> Response {
    let said = request.headers().get_all(FETCH_SITE);
    if said.iter().all(|site| site.as_bytes() == b"same-origin") {
        return next.run(request).await;
    }
    let failure = Failure::forbidden(
        "this is asked for from the page of this server only",
        "open the page and capture there, or use `haloscope capture`",
    );
    failure.into_response()
}

/// Lets in who may ask, and says who that is.
pub(crate) async fn token(State(guard): State<Arc<Guard>>, mut request: Request, next: Next) -> Response {
    match guard.check_token(&request) {
        Ok(()) => {
            let client = asker::of(&request, None);
            request.extensions_mut().insert(client);
            asker::on_behalf(client, next.run(request)).await
        }
        Err(failure) => failure.into_response(),
    }
}

/// Gives who opens another front end with the right token the cookie that its requests will bring.
pub(crate) async fn welcome(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let token = guard.token.as_ref().filter(|_| guard.is_right(in_query(&request)));
    let cookie = token.and_then(|token| {
        let value: String = form_urlencoded::byte_serialize(token.as_bytes()).collect();
        // Strict: the cookie comes with no request that another site starts.
        HeaderValue::from_str(&format!("{COOKIE}={value}; Path=/; HttpOnly; SameSite=Strict")).ok()
    });
    let mut response = next.run(request).await;
    if let Some(cookie) = cookie {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

pub(crate) async fn headers(State(guard): State<Arc<Guard>>, mut response: Response) -> Response {
    let csp = if guard.other { XPROF_CSP } else { CSP };
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(csp));
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(bound: &str, token: Option<&str>, host: &str) -> bool {
        let guard = Guard::new(bound.parse().unwrap(), token.map(str::to_owned), false);
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
}
