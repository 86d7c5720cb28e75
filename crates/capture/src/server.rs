//! Where a profiler service listens.

use std::fmt::{self, Display};

use http::Uri;

use crate::Error;

/// The address of a server, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Server {
    /// The host without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl Server {
    /// Reads `host:port`; also `[::1]:9999`, with `grpc://` before it as XProf allows, or a port of this machine.
    ///
    /// # Errors
    /// [`Error::Usage`] for all else.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let wrong = |found: &str| {
            Error::Usage(format!(
                "expected HOST:PORT, the port given to start_server, such as localhost:9999; found `{found}`"
            ))
        };
        let bare = text.trim();
        let bare = bare.strip_prefix("grpc://").unwrap_or(bare);
        let (host, port) = bare.rsplit_once(':').unwrap_or(("localhost", bare));
        let port = port.parse::<u16>().ok().filter(|port| *port > 0).ok_or_else(|| wrong(text))?;
        let inner = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let host = inner.unwrap_or(host);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        let is_six = inner.is_some() && host.parse::<std::net::Ipv6Addr>().is_ok();
        if host.is_empty() || !(is_six || inner.is_none() && host.chars().all(is_plain)) {
            return Err(wrong(text));
        }
        Ok(Self { host: host.to_owned(), port })
    }

    /// Whether it is on this machine, as far as its address tells: a port may be forwarded.
    pub(crate) fn is_here(&self) -> bool {
        let is_loopback = self.host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
        is_loopback || self.host.eq_ignore_ascii_case("localhost")
    }

    /// The address as HTTP has it.
    ///
    /// # Errors
    /// [`Error::Usage`] where it has none.
    pub(crate) fn uri(&self) -> Result<Uri, Error> {
        let uri = format!("http://{self}");
        uri.parse().map_err(|why| Error::Usage(format!("{self} is not an address: {why}")))
    }
}

impl Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            return write!(f, "[{}]:{}", self.host, self.port);
        }
        write!(f, "{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_in_all_their_forms() {
        let shown = |text: &str| Server::parse(text).map(|server| server.to_string()).ok();
        assert_eq!(shown("tpu-worker-0:9999").as_deref(), Some("tpu-worker-0:9999"));
        assert_eq!(shown(" grpc://10.0.0.2:8466").as_deref(), Some("10.0.0.2:8466"));
        assert_eq!(shown("[::1]:9012").as_deref(), Some("[::1]:9012"));
        assert_eq!(shown("9012").as_deref(), Some("localhost:9012"));
        for wrong in [
            "localhost",
            "localhost:",
            "localhost:0",
            "localhost:99999",
            ":9",
            "a b:9",
            "::1:9",
            "http://a:9",
            "a/b:1",
        ] {
            assert_eq!(shown(wrong), None, "{wrong}");
        }
    }
}
