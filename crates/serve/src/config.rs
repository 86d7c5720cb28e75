//! What a server is told.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use haloscope_profile::load::SourceRoot;
use haloscope_store::{Ledger, Store};

use crate::capture::CaptureHosts;
use crate::sql::Sql;

/// The port that is tried unless another is given.
pub(crate) const PORT: u16 = 7070;

/// How long an answer may take unless something else is said. Browsers wait no longer.
const DEADLINE: Duration = Duration::from_secs(300);

/// What a server is told.
#[derive(Debug)]
pub struct Config {
    /// Where it listens; port 0 takes any that is free. Beyond this machine only with a token.
    pub addr: SocketAddr,
    /// What requests to the API must carry, as `Authorization: Bearer` or `?token=`: 16 characters or more. A browser that opens the page with it gets a
    /// session of its own instead.
    pub token: Option<String>,
    /// The runs.
    pub store: Store,
    /// Serves the page from this folder instead of the embedded files, for work on the page.
    pub web_root: Option<PathBuf>,
    /// Serves another front end from this folder in place of the page: XProf's own, as its Python package holds it.
    pub ui: Option<PathBuf>,
    /// Where the sources of the profiled programs lie, to show their lines.
    pub sources: Option<SourceRoot>,
    /// The history of runs that the page shows.
    pub ledger: Option<Ledger>,
    /// Which profiler servers may be asked for a profile from the page. What comes is written below the store's folder.
    pub capture: CaptureHosts,
    /// What answers SQL over the runs, if somebody may ask it.
    pub sql: Option<Sql>,
    /// Pages of which sites may show the page in a frame; none by default.
    pub frame_ancestors: Vec<FrameAncestor>,
    /// How long an answer may take before it is refused; `None` for as long as it does.
    pub deadline: Option<Duration>,
}

impl Config {
    /// Port 7070 of this machine, without a token.
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self {
            addr: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), PORT),
            token: None,
            store,
            web_root: None,
            ui: None,
            sources: None,
            ledger: None,
            capture: CaptureHosts::default(),
            sql: None,
            frame_ancestors: Vec::new(),
            deadline: Some(DEADLINE),
        }
    }
}

/// A site whose pages may show this one in a frame: `self`, or an origin such as `https://notebooks.example:8888`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameAncestor(String);

impl FrameAncestor {
    /// As the content policy writes it.
    pub(crate) fn word(&self) -> &str {
        &self.0
    }
}

impl FromStr for FrameAncestor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == "self" {
            return Ok(Self("'self'".to_owned()));
        }
        let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        let is_host = |host: &str| {
            let labels = host.strip_prefix("*.").unwrap_or(host);
            !labels.is_empty() && labels.chars().all(|c| c.is_ascii_alphanumeric() || "-.".contains(c))
        };
        let is_origin = rest.is_some_and(|rest| match rest.split_once(':') {
            Some((host, port)) => is_host(host) && (port == "*" || port.parse::<u16>().is_ok()),
            None => is_host(rest),
        });
        if is_origin {
            return Ok(Self(text.to_owned()));
        }
        Err(format!(
            "expected `self` or an origin such as https://notebooks.example or http://localhost:8888, found `{text}`"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::FrameAncestor;

    #[test]
    fn a_site_is_an_origin_and_nothing_that_a_policy_would_read_otherwise() {
        for (text, word) in [
            ("self", "'self'"),
            ("https://a.example", "https://a.example"),
            ("http://localhost:8888", "http://localhost:8888"),
            ("https://*.a.example:*", "https://*.a.example:*"),
        ] {
            assert_eq!(text.parse::<FrameAncestor>().unwrap().word(), word);
        }
        for text in [
            "",
            "*",
            "a.example",
            "https://",
            "https://a.example/x",
            "https://a; script-src *",
            "data:",
            "https://a:99999",
        ] {
            assert!(text.parse::<FrameAncestor>().is_err(), "{text}");
        }
    }
}
