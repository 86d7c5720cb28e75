//! How far a capture has come, on stderr.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use haloscope_capture::{Event, Watch};
use haloscope_report::units;

use super::time;

/// A line on a terminal, which is gone again at the end; elsewhere only what went wrong.
pub(super) struct Show {
    is_terminal: bool,
    servers: Mutex<BTreeMap<String, State>>,
}

/// What a server does, the least advanced first.
#[derive(Debug, Clone, PartialEq, PartialOrd)]
enum State {
    Connecting,
    Profiling { elapsed_s: f64, of_s: f64 },
    Collecting,
    Receiving(u64),
    Received(u64),
}

impl Show {
    pub(super) fn new() -> Self {
        let is_terminal =
            io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        Self { is_terminal, servers: Mutex::default() }
    }

    fn set(&self, server: &str, state: State) {
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        servers.insert(server.to_owned(), state);
        if self.is_terminal {
            line(&status_line(&servers));
        }
    }
}

impl Watch for Show {
    fn event(&self, event: &Event<'_>) {
        match *event {
            Event::Connecting { server } => self.set(server, State::Connecting),
            Event::Waiting { until } if self.is_terminal => {
                let left = until.duration_since(std::time::SystemTime::now()).unwrap_or_default();
                line(&format!("starting in {}", time::text(left)));
            }
            Event::Profiling { server, elapsed, of } if elapsed < of => {
                let (elapsed_s, of_s) = (elapsed.as_secs_f64(), of.as_secs_f64());
                self.set(server, State::Profiling { elapsed_s, of_s });
            }
            Event::Profiling { server, .. } => self.set(server, State::Collecting),
            Event::Receiving { server, bytes } => self.set(server, State::Receiving(bytes)),
            Event::Received { server, bytes } => self.set(server, State::Received(bytes)),
            Event::Retrying { attempt, why, .. } => {
                self.servers.lock().unwrap_or_else(PoisonError::into_inner).clear();
                let erase = if self.is_terminal { "\r\x1b[K" } else { "" };
                let _ = writeln!(io::stderr(), "{erase}note: {why}; attempt {attempt}");
            }
            _ => {}
        }
    }
}

impl Drop for Show {
    fn drop(&mut self) {
        if self.is_terminal {
            line("");
        }
    }
}

/// Puts a text in the place of the last. Nobody is hurt if a terminal takes no more.
fn line(text: &str) {
    let mut err = io::stderr();
    let _ = write!(err, "\r{text}\x1b[K");
    let _ = err.flush();
}

/// Of one server what it does; of several, how many are done and what the slowest does.
fn status_line(servers: &BTreeMap<String, State>) -> String {
    let slowest = servers.iter().min_by(|a, b| a.1.partial_cmp(b.1).unwrap_or(std::cmp::Ordering::Equal));
    let Some((server, state)) = slowest else { return String::new() };
    let doing = match state {
        State::Connecting => format!("connecting to {server}"),
        State::Profiling { elapsed_s, of_s } => format!("profiling: {elapsed_s:.1} of {of_s:.1} s"),
        State::Collecting => format!("{server} collects what it recorded"),
        State::Receiving(bytes) => format!("receiving from {server}: {}", units::bytes(*bytes as f64)),
        State::Received(bytes) => format!("received {}", units::bytes(*bytes as f64)),
    };
    let done = servers.values().filter(|state| matches!(state, State::Received(_))).count();
    if servers.len() == 1 { doing } else { format!("{done} of {} servers done; {doing}", servers.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_servers_the_slowest_is_told() {
        let mut servers = BTreeMap::from([("a:1".to_owned(), State::Received(1 << 20))]);
        assert_eq!(status_line(&servers), "received 1.000 MiB");
        servers.insert("b:1".into(), State::Profiling { elapsed_s: 0.4, of_s: 1.0 });
        assert_eq!(status_line(&servers), "1 of 2 servers done; profiling: 0.4 of 1.0 s");
        servers.insert("c:1".into(), State::Connecting);
        assert_eq!(status_line(&servers), "1 of 3 servers done; connecting to c:1");
    }
}
