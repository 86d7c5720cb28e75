//! What is asked of profiler servers, checked before anybody is connected to.

use std::collections::BTreeSet;
use std::time::Duration;

use haloscope_capture::{Options, Request};
use serde::Deserialize;

use super::hosts::{Address, CaptureHosts};
use crate::answer::Failure;

/// What one request may ask for at most. Longer profiles than this are not read by people, and their bytes are this
/// machine's memory and disk.
const LONGEST: Duration = Duration::from_secs(600);
const LONGEST_DELAY: Duration = Duration::from_secs(3600);
const MOST_SERVERS: usize = 256;
const MOST_RETRIES: u32 = 10;
const MOST_OPTIONS: usize = 100;
/// How much longer than the profile a server may take to answer.
const GRACE: Duration = Duration::from_secs(60);

/// A capture that may be done.
#[derive(Debug, Clone)]
pub(crate) struct CaptureRequest {
    pub(crate) request: Request,
}

/// The body of a request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    servers: Vec<String>,
    #[serde(default = "one_second")]
    duration_ms: u64,
    #[serde(default)]
    delay_ms: u64,
    #[serde(default)]
    retries: u32,
    /// Pairs of a name and a value with `=` between them.
    #[serde(default)]
    options: Vec<String>,
}

fn one_second() -> u64 {
    1000
}

impl CaptureRequest {
    /// What a body of JSON asks for.
    ///
    /// # Errors
    /// For one that is none, for amounts beyond what is allowed, and for servers that `hosts` does not name.
    pub(crate) fn parse(body: &[u8], hosts: &CaptureHosts) -> Result<Self, Failure> {
        let body: Body = serde_json::from_slice(body).map_err(|error| {
            usage(
                format!("the request is not a valid capture: {error}"),
                "docs/capture.md#capture-from-the-page has an example",
            )
        })?;
        let options = Options::parse(body.options.iter().map(String::as_str));
        let options = options.map_err(|error| usage(error.to_string(), ""))?;
        if body.options.len() > MOST_OPTIONS {
            return Err(usage(format!("{} options are more than {MOST_OPTIONS}", body.options.len()), ""));
        }
        Self::new(
            &body.servers,
            Duration::from_millis(body.duration_ms),
            Duration::from_millis(body.delay_ms),
            body.retries,
            options,
            hosts,
        )
    }

    pub(crate) fn new(
        servers: &[String],
        duration: Duration,
        delay: Duration,
        retries: u32,
        options: Options,
        hosts: &CaptureHosts,
    ) -> Result<Self, Failure> {
        let servers = checked(servers, hosts)?;
        if duration.is_zero() || duration > LONGEST {
            let found = duration.as_millis();
            return Err(usage(
                format!("expected a duration from 1 ms to {} s, found {found} ms", LONGEST.as_secs()),
                "a second usually holds many steps",
            ));
        }
        if delay > LONGEST_DELAY {
            let found = delay.as_millis();
            return Err(usage(
                format!("expected a delay of {} s at most, found {found} ms", LONGEST_DELAY.as_secs()),
                "",
            ));
        }
        if retries > MOST_RETRIES {
            return Err(usage(format!("expected {MOST_RETRIES} retries at most, found {retries}"), ""));
        }
        let request = Request { duration, delay, options, retries, timeout: GRACE, ..Request::new(servers) };
        Ok(Self { request })
    }
}

fn usage(error: String, hint: &'static str) -> Failure {
    Failure::usage(error, hint)
}

/// The servers, each once, all of them such as may be asked.
fn checked(servers: &[String], hosts: &CaptureHosts) -> Result<Vec<String>, Failure> {
    const HINT: &str = "jax.profiler.start_server(9999) in the program makes it localhost:9999";
    let named: Vec<&str> =
        servers.iter().map(|s| s.trim().trim_start_matches("grpc://")).filter(|s| !s.is_empty()).collect();
    if named.is_empty() {
        return Err(usage("no server is named".to_owned(), HINT));
    }
    if named.len() > MOST_SERVERS {
        return Err(usage(format!("{} servers are more than {MOST_SERVERS}", named.len()), ""));
    }
    let mut seen = BTreeSet::new();
    for name in &named {
        let Some(address) = Address::parse(name) else {
            return Err(usage(format!("expected a server as host:port, found `{name}`"), HINT));
        };
        if !hosts.allows(&address) {
            let error = if *hosts == CaptureHosts::Any {
                format!(
                    "`{name}` is a link-local address: this server connects to it only if --capture-hosts names it"
                )
            } else {
                let rules = hosts.rules().join(", ");
                format!("this server may not ask `{name}` for a profile; it may ask: {rules}")
            };
            return Err(Failure::forbidden(
                error,
                "`haloscope serve --capture-hosts` says which servers may be asked",
            ));
        }
        if !seen.insert(name.to_ascii_lowercase()) {
            return Err(usage(format!("`{name}` is named twice"), ""));
        }
    }
    Ok(named.into_iter().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(body: &str) -> Result<CaptureRequest, Failure> {
        CaptureRequest::parse(body.as_bytes(), &"localhost,10.0.0.0/8".parse().unwrap())
    }

    #[test]
    fn what_is_not_said_is_what_xprofs_dialog_asks_for() {
        let asked = of(r#"{"servers": [" grpc://localhost:9999 ", ""]}"#).unwrap().request;
        assert_eq!(asked.servers, ["localhost:9999"]);
        assert_eq!((asked.duration, asked.delay, asked.retries), (Duration::from_secs(1), Duration::ZERO, 0));
        assert_eq!(asked.options, Options::default());
        let body = r#"{"servers": ["10.0.0.1:1", "10.0.0.2:1"], "duration_ms": 20, "delay_ms": 5, "retries": 2,
            "options": ["python_tracer_level=1", "tpu_trace_mode=TRACE_COMPUTE"]}"#;
        let asked = of(body).unwrap().request;
        assert_eq!((asked.servers.len(), asked.retries, asked.options.python_tracer_level), (2, 2, 1));
        assert_eq!(asked.options.advanced.len(), 1);
    }

    #[test]
    fn what_cannot_be_meant_or_may_not_be_is_refused() {
        let many = format!(r#"{{"servers": [{}"10.0.0.1:1"]}}"#, r#""10.0.0.1:1","#.repeat(MOST_SERVERS));
        for body in [
            "",
            "[]",
            "{}",
            r#"{"servers": []}"#,
            r#"{"servers": "localhost:1"}"#,
            r#"{"servers": [" "]}"#,
            r#"{"servers": ["localhost"]}"#,
            r#"{"servers": ["localhost:1", "LOCALHOST:1"]}"#,
            r#"{"servers": ["localhost:1"], "duration_ms": 0}"#,
            r#"{"servers": ["localhost:1"], "duration_ms": -1}"#,
            r#"{"servers": ["localhost:1"], "duration_ms": 600001}"#,
            r#"{"servers": ["localhost:1"], "delay_ms": 3600001}"#,
            r#"{"servers": ["localhost:1"], "retries": 11}"#,
            r#"{"servers": ["localhost:1"], "session": "../x"}"#,
            r#"{"servers": ["localhost:1"], "options": ["python_tracer_level=9"]}"#,
            r#"{"servers": ["localhost:1"], "options": ["x"]}"#,
            r#"{"servers": ["evil.example:22"]}"#,
            &many,
        ] {
            assert!(of(body).is_err(), "{body}");
        }
    }
}
