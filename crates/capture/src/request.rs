//! What is asked of servers.

use std::time::Duration;

use crate::server::Server;
use crate::{Error, Options};

/// How long a capture may be: memory on the server grows with it.
const LONGEST: Duration = Duration::from_secs(3600);

/// A capture that is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// The servers, as `host:port`. All start at one time and make one session.
    pub servers: Vec<String>,
    /// How long each records.
    pub duration: Duration,
    /// How long to wait before the start.
    pub delay: Duration,
    /// What is recorded.
    pub options: Options,
    /// How often to try again where a server fails or recorded nothing. All are asked again: they start at one time.
    pub retries: u32,
    /// How long a server may be silent: while it is connected to, and beyond delay and duration, when it collects what it has
    /// recorded. While its answer comes in, the time starts anew with every part of it.
    pub timeout: Duration,
    /// The session's name; `None` names it after the time, as JAX and XProf do.
    pub session: Option<String>,
    /// For servers too old to send their profiles: the log folder, as the servers name it, that they write to themselves.
    /// Nothing is written here then.
    pub on_server: Option<String>,
}

impl Request {
    /// One second of these servers, with the default options, no retries, and a minute of patience.
    pub fn new<S: Into<String>>(servers: impl IntoIterator<Item = S>) -> Self {
        Self {
            servers: servers.into_iter().map(Into::into).collect(),
            duration: Duration::from_secs(1),
            delay: Duration::ZERO,
            options: Options::default(),
            retries: 0,
            timeout: Duration::from_secs(60),
            session: None,
            on_server: None,
        }
    }

    /// The servers, checked with all else that can be checked before anybody is asked.
    ///
    /// # Errors
    /// [`Error::Usage`] for what is malformed.
    pub(crate) fn check(&self) -> Result<Vec<Server>, Error> {
        if self.duration.as_millis() == 0 || self.duration > LONGEST {
            let found = self.duration;
            return Err(Error::Usage(format!("expected a duration from 1 ms to an hour, found {found:?}")));
        }
        if self.timeout.is_zero() {
            return Err(Error::Usage("expected a timeout above 0".into()));
        }
        if let Some(name) = &self.session {
            check_name(name)?;
        }
        servers(&self.servers)
    }
}

/// The servers of a list.
///
/// # Errors
/// [`Error::Usage`] for an empty list, one that is malformed, or one that is there twice.
pub(crate) fn servers(all: &[String]) -> Result<Vec<Server>, Error> {
    let mut servers = Vec::with_capacity(all.len());
    for text in all {
        let server = Server::parse(text)?;
        if servers.contains(&server) {
            return Err(Error::Usage(format!(
                "{server} is given twice, but a program takes one profile at a time"
            )));
        }
        servers.push(server);
    }
    if servers.is_empty() {
        return Err(Error::Usage("expected at least one server as HOST:PORT, found none".into()));
    }
    Ok(servers)
}

/// A session is one folder: its name may not lead elsewhere or be hidden.
fn check_name(name: &str) -> Result<(), Error> {
    let is_fine = !name.is_empty()
        && name.len() <= 200
        && !name.starts_with('.')
        && !name.contains(['/', '\\', ':'])
        && !name.chars().any(char::is_control);
    if is_fine {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "expected the name of one folder for the session, without slashes or a dot in front, found `{name}`"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_work_is_refused_before_anybody_is_asked() {
        let fine = Request::new(["a:1", "b:1"]);
        assert_eq!(fine.check().unwrap().len(), 2);
        let said = |request: Request| request.check().unwrap_err().to_string();
        assert!(said(Request::new(Vec::<String>::new())).contains("found none"));
        assert!(said(Request::new(["a:1", "a:1"])).contains("given twice"));
        assert!(said(Request { duration: Duration::ZERO, ..fine.clone() }).contains("from 1 ms"));
        for name in ["", "../x", ".hidden", "a/b", "C:x"] {
            assert!(
                said(Request { session: Some(name.into()), ..fine.clone() }).contains("one folder"),
                "{name}"
            );
        }
    }
}
