//! Which profiler servers those who reach this server may have it ask.
//!
//! A server that connects wherever a request says is a way into networks that whoever sends the request cannot reach. A rule
//! is held against the text of the address and nothing is resolved for it: a name that answers differently the second time
//! gains nothing, because a name is only ever allowed by its name.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

/// Which profiler servers may be asked for a profile from the page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum CaptureHosts {
    /// Any, for a server that only this machine reaches; none for others.
    #[default]
    Unsaid,
    /// None: nothing is captured from the page.
    Nobody,
    /// Any but link-local addresses, where clouds answer with the secrets of the machine.
    Any,
    /// Those that one of the rules names.
    Only(Vec<HostRule>),
}

/// Servers that may be asked: `worker-3`, `*.tpu.internal`, `10.0.0.0/8`, each also with `:PORT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRule {
    text: String,
    host: Host,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Host {
    /// A name, in which `*` stands for any letters, dots too.
    Name(String),
    /// Addresses that begin with as many bits as this one.
    Net(IpAddr, u8),
}

/// `host:port`, both parts checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    host: String,
    port: u16,
}

impl Address {
    /// An address as XProf takes it: `host:port`, `1.2.3.4:port` or `[::1]:port`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        // `+9012` is a number for Rust.
        let port = port.parse().ok().filter(|n| *n > 0 && port.bytes().all(|b| b.is_ascii_digit()))?;
        let inner = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
        let is_name = |c: u8| c.is_ascii_alphanumeric() || b"-._".contains(&c);
        let fits = match inner {
            Some(inner) => inner.parse::<std::net::Ipv6Addr>().is_ok(),
            None => !host.is_empty() && host.len() <= 253 && host.bytes().all(is_name),
        };
        fits.then(|| Self { host: inner.unwrap_or(host).to_ascii_lowercase(), port })
    }

    fn ip(&self) -> Option<IpAddr> {
        self.host.parse::<IpAddr>().ok().map(|ip| ip.to_canonical())
    }

    pub(crate) fn is_link_local(&self) -> bool {
        self.ip().is_some_and(|ip| match ip {
            IpAddr::V4(ip) => ip.is_link_local(),
            IpAddr::V6(ip) => ip.is_unicast_link_local(),
        })
    }
}

impl CaptureHosts {
    /// What applies to a server that is reached at this address.
    pub(crate) fn settled(self, bound: SocketAddr) -> Self {
        match self {
            Self::Unsaid if bound.ip().to_canonical().is_loopback() => Self::Any,
            Self::Unsaid => Self::Nobody,
            said => said,
        }
    }

    pub(crate) fn allows(&self, address: &Address) -> bool {
        match self {
            Self::Unsaid | Self::Nobody => false,
            Self::Any => !address.is_link_local(),
            Self::Only(rules) => rules.iter().any(|rule| rule.names(address)),
        }
    }

    /// The rules as they were given; none where there are none.
    pub(crate) fn rules(&self) -> Vec<&str> {
        match self {
            Self::Only(rules) => rules.iter().map(|rule| rule.text.as_str()).collect(),
            _ => Vec::new(),
        }
    }
}

impl FromStr for CaptureHosts {
    type Err = String;

    /// `none`, `any`, or rules with commas between them.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "none" => Ok(Self::Nobody),
            "any" => Ok(Self::Any),
            rules => {
                rules.split(',').map(|rule| rule.trim().parse()).collect::<Result<_, _>>().map(Self::Only)
            }
        }
    }
}

impl FromStr for HostRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || {
            format!(
                "expected a host such as worker-3, *.tpu.internal, 10.0.0.0/8 or [::1]:9012, or the word any or none; found `{text}`"
            )
        };
        let (host, port) = match text.rsplit_once(':') {
            // The colons of an address without brackets are its own.
            Some((host, _)) if host.contains(':') && !host.ends_with(']') => (text, None),
            Some((host, port)) if !host.is_empty() && !text.ends_with(']') => {
                (host, Some(port.parse().ok().filter(|port| *port > 0).ok_or_else(bad)?))
            }
            _ => (text, None),
        };
        let host = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
        let (base, bits) = match host.split_once('/') {
            Some((base, bits)) => (base, Some(bits.parse::<u8>().map_err(|_| bad())?)),
            None => (host, None),
        };
        let host = match (base.parse::<IpAddr>().map(|ip| ip.to_canonical()), bits) {
            (Ok(ip), bits) => {
                let whole = if ip.is_ipv4() { 32 } else { 128 };
                Host::Net(ip, bits.unwrap_or(whole)).checked(whole).ok_or_else(bad)?
            }
            (Err(_), Some(_)) => return Err(bad()),
            (Err(_), None) => {
                let is_letter = |c: u8| c.is_ascii_alphanumeric() || b"-._*".contains(&c);
                if base.is_empty() || !base.bytes().all(is_letter) {
                    return Err(bad());
                }
                Host::Name(base.to_ascii_lowercase())
            }
        };
        Ok(Self { text: text.to_owned(), host, port })
    }
}

impl Host {
    fn checked(self, whole: u8) -> Option<Self> {
        match self {
            Self::Net(_, bits) if bits > whole => None,
            fits => Some(fits),
        }
    }
}

impl HostRule {
    fn names(&self, address: &Address) -> bool {
        if self.port.is_some_and(|port| port != address.port) {
            return false;
        }
        match (&self.host, address.ip()) {
            (Host::Name(name), None) => fits(name.as_bytes(), address.host.as_bytes()),
            // This machine's own name and its addresses are one place.
            (Host::Name(name), Some(ip)) => name == "*" || (name == "localhost" && ip.is_loopback()),
            (Host::Net(net, bits), Some(ip)) => same_bits(*net, ip, *bits),
            (Host::Net(net, _), None) => net.is_loopback() && address.host == "localhost",
        }
    }
}

/// Whether a name is one that a pattern stands for.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    match pattern.split_first() {
        None => name.is_empty(),
        Some((b'*', rest)) => (0..=name.len()).any(|at| fits(rest, name.get(at..).unwrap_or_default())),
        Some((letter, rest)) => {
            name.split_first().is_some_and(|(first, name)| first == letter && fits(rest, name))
        }
    }
}

fn same_bits(a: IpAddr, b: IpAddr, bits: u8) -> bool {
    let differ = match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => u128::from(a.to_bits() ^ b.to_bits()) << 96,
        (IpAddr::V6(a), IpAddr::V6(b)) => a.to_bits() ^ b.to_bits(),
        _ => return false,
    };
    differ.leading_zeros() >= u32::from(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(rules: &str, address: &str) -> bool {
        rules.parse::<CaptureHosts>().unwrap().allows(&Address::parse(address).unwrap())
    }

    #[test]
    fn addresses_are_a_host_and_a_port() {
        for good in ["localhost:9999", "10.0.0.1:1", "[::1]:9012", "worker-3.tpu.internal:65535", "a_b:80"] {
            assert!(Address::parse(good).is_some(), "{good}");
        }
        for bad in [
            "",
            "localhost",
            ":9999",
            "localhost:",
            "localhost:0",
            "localhost:65536",
            "localhost:+1",
            "a b:1",
            "a/b:1",
            "user@host:1",
            "::1:9012",
            "[localhost]:1",
            "[::1]",
            "http://a:1",
            "a:1?x",
            "a#:1",
            "a\0:1",
            "a:1\n",
        ] {
            assert!(Address::parse(bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn rules_name_hosts_nets_and_ports() {
        for (rules, address) in [
            ("any", "evil.example:22"),
            ("localhost", "localhost:9999"),
            ("localhost", "127.0.0.1:9999"),
            ("localhost", "[::1]:9999"),
            ("127.0.0.0/8", "localhost:1"),
            ("LOCALHOST:9999", "LocalHost:9999"),
            ("a, worker-*:9012", "worker-17:9012"),
            ("*.tpu.internal", "w0.pod.tpu.internal:8466"),
            ("10.0.0.0/8", "10.255.1.2:8466"),
            ("10.0.0.0/8", "[::ffff:10.1.2.3]:8466"),
            ("fd00::/8", "[fd12::1]:8466"),
            ("[fd12::1]:8466", "[fd12::1]:8466"),
            ("fd12::1", "[fd12::1]:9"),
            ("0.0.0.0/0", "8.8.8.8:1"),
            ("169.254.0.0/16", "169.254.169.254:80"),
        ] {
            assert!(allows(rules, address), "{rules} {address}");
        }
        for (rules, address) in [
            ("none", "localhost:9999"),
            ("any", "169.254.169.254:80"),
            ("any", "[::ffff:169.254.169.254]:80"),
            ("any", "[fe80::1]:8466"),
            ("localhost", "evil.example:9999"),
            ("localhost", "localhost.evil.example:9999"),
            ("localhost:9999", "localhost:22"),
            ("worker-*", "xworker-1:1"),
            ("*.tpu.internal", "tpu.internal.evil.example:1"),
            // A name may resolve to anything: a net does not stand for it.
            ("10.0.0.0/8", "ten.evil.example:1"),
            ("10.0.0.0/8", "11.0.0.1:1"),
            ("10.0.0.0/8", "[fd00::1]:1"),
            // Other spellings of an address are names.
            ("127.0.0.0/8", "2130706433:1"),
            ("worker*", "10.0.0.1:1"),
        ] {
            assert!(!allows(rules, address), "{rules} {address}");
        }
        assert!(allows("*", "10.0.0.1:1") && allows("*", "name:1"));
    }

    #[test]
    fn bad_rules_are_refused() {
        for bad in
            ["", "a,,b", "a b", "10.0.0.0/33", "fd00::/129", "name/8", "a:0", "a:99999", "http://a", "a:*"]
        {
            assert!(bad.parse::<CaptureHosts>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn what_was_not_said_depends_on_who_reaches_the_server() {
        let settled = |bound: &str, hosts: CaptureHosts| hosts.settled(bound.parse().unwrap());
        assert_eq!(settled("127.0.0.1:1", CaptureHosts::Unsaid), CaptureHosts::Any);
        assert_eq!(settled("[::1]:1", CaptureHosts::Unsaid), CaptureHosts::Any);
        for bound in ["0.0.0.0:1", "[::]:1", "10.0.0.1:1"] {
            assert_eq!(settled(bound, CaptureHosts::Unsaid), CaptureHosts::Nobody);
            assert_eq!(settled(bound, CaptureHosts::Any), CaptureHosts::Any);
        }
    }
}
