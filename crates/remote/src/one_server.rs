//! A client of servers that follows none to another: that one would get to choose what this machine asks, and of whom.

use std::time::Duration;

use object_store::client::{HttpClient, HttpConnector};
use object_store::{ClientConfigKey, ClientOptions};
use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{Client, Url};

/// How often a server may send on.
const REDIRECTS: usize = 10;

/// How clients are made: those of web servers, of the stores of clouds, and of who gives out credentials for them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OnOneServer {
    /// How long a connection may take to be made.
    pub(crate) connect: Duration,
    /// How long is waited for the next bytes.
    pub(crate) read: Duration,
}

impl OnOneServer {
    /// A client.
    ///
    /// # Errors
    /// Where the system gives no roots of trust.
    pub(crate) fn client(self) -> Result<Client, reqwest::Error> {
        let builder = Client::builder().user_agent(concat!("haloscope/", env!("CARGO_PKG_VERSION")));
        let builder = builder.connect_timeout(self.connect).read_timeout(self.read);
        builder.redirect(Policy::custom(follow)).build()
    }
}

impl HttpConnector for OnOneServer {
    fn connect(&self, options: &ClientOptions) -> Result<HttpClient, object_store::Error> {
        // A store waits a second only where a machine's own address for credentials may not be there.
        let asked = options.get_config_value(&ClientConfigKey::ConnectTimeout);
        let connect = if asked.as_deref() == Some("1s") { Duration::from_secs(1) } else { self.connect };
        let failed = |error: reqwest::Error| object_store::Error::Generic {
            store: "HTTP client",
            source: Box::new(error),
        };
        Self { connect, ..*self }.client().map(HttpClient::new).map_err(failed)
    }
}

/// Follows a server only to itself, or to itself with encryption: another would get to choose what this machine asks, and of whom.
fn follow(attempt: Attempt<'_>) -> Action {
    let from = attempt.previous().first();
    if from.is_some_and(|from| is_same_server(from, attempt.url())) && attempt.previous().len() <= REDIRECTS {
        return attempt.follow();
    }
    let to = attempt.url().origin().ascii_serialization();
    attempt.error(format!(
        "it redirects to {to}, which is not followed: pass that address if it is the right one"
    ))
}

/// Whether two addresses are of one server: same host and port, or the second encrypted and both at the usual ports.
fn is_same_server(from: &Url, to: &Url) -> bool {
    let is_encrypted = from.scheme() == "http"
        && to.scheme() == "https"
        && from.port_or_known_default() == Some(80)
        && to.port_or_known_default() == Some(443);
    from.origin() == to.origin() || (is_encrypted && from.host() == to.host())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::innermost;

    #[test]
    fn servers_send_on_to_themselves_only() {
        let same = |from: &str, to: &str| is_same_server(&from.parse().unwrap(), &to.parse().unwrap());
        assert!(same("http://h:8080/a", "http://h:8080/b") && same("https://h/a", "https://h:443/b"));
        assert!(same("http://h/a", "https://h/a"), "the same with encryption");
        for (from, to) in [
            ("https://h/a", "http://h/a"),
            ("http://h:8080/a", "https://h/a"),
            ("http://h/a", "http://h:9200/a"),
            ("https://h/a", "https://other/a"),
            ("https://h/a", "http://169.254.169.254/latest/meta-data/"),
            ("https://h/a", "https://h.other/a"),
        ] {
            assert!(!same(from, to), "{from} {to}");
        }
    }

    #[test]
    fn a_store_that_sends_on_to_another_server_is_not_followed() {
        use std::io::{Read as _, Write as _};
        use std::net::TcpListener;
        use std::sync::Arc;
        use std::sync::atomic::{AtomicUsize, Ordering};

        use object_store::aws::AmazonS3Builder;
        use object_store::{ObjectStoreExt as _, RetryConfig};

        let (first, second) =
            (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
        let (own, other) = (first.local_addr().unwrap(), second.local_addr().unwrap());
        let asked = Arc::new(AtomicUsize::new(0));
        let serve = |listener: TcpListener, answer: String, count: Option<Arc<AtomicUsize>>| {
            std::thread::spawn(move || {
                for stream in listener.incoming() {
                    let mut stream = stream.unwrap();
                    let _ = stream.read(&mut [0; 4096]);
                    if let Some(count) = &count {
                        count.fetch_add(1, Ordering::SeqCst);
                    }
                    let _ = stream.write_all(answer.as_bytes());
                }
            })
        };
        let away = format!(
            "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://{other}/b/secret.pb\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        serve(first, away, None);
        let whole = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok".to_owned();
        serve(second, whole, Some(Arc::clone(&asked)));
        let told = crate::connect::wait(async move {
            let store = AmazonS3Builder::new()
                .with_bucket_name("b")
                .with_endpoint(format!("http://{own}"))
                .with_allow_http(true)
                .with_skip_signature(true)
                .with_http_connector(OnOneServer {
                    connect: Duration::from_secs(5),
                    read: Duration::from_secs(30),
                })
                .with_retry(RetryConfig { max_retries: 0, ..RetryConfig::default() })
                .build()
                .unwrap();
            Ok(store.get(&"x.pb".into()).await.map(|_| ()).map_err(|error| innermost(&error)))
        });
        let why = told.unwrap().unwrap_err();
        assert!(why.contains("not followed") && why.contains(&other.to_string()), "{why}");
        assert_eq!(asked.load(Ordering::SeqCst), 0);
    }
}
