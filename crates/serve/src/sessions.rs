//! The sessions of browsers: what stands for the token after the address that had it was opened once.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use axum::http::HeaderMap;
use axum::http::header;
use subtle::ConstantTimeEq;

use crate::secret::secret;

/// How many are kept; the one used longest ago goes first, and its browser needs the token again.
const MOST: usize = 256;

/// The sessions that there are, the one used last at the end. They end with the server.
#[derive(Debug)]
pub(crate) struct Sessions {
    /// The name of the cookie. Cookies know no ports, so that the name has it: two servers on one machine keep theirs apart.
    cookie: String,
    all: Mutex<VecDeque<String>>,
}

impl Sessions {
    pub(crate) fn new(port: u16) -> Self {
        Self { cookie: format!("haloscope-session-{port}"), all: Mutex::default() }
    }

    /// A new one.
    ///
    /// # Errors
    /// Where the system has no random numbers.
    pub(crate) fn begin(&self) -> Result<String, getrandom::Error> {
        let id = secret()?;
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST {
            all.pop_front();
        }
        all.push_back(id.clone());
        Ok(id)
    }

    /// The one that a request brings.
    pub(crate) fn of(&self, headers: &HeaderMap) -> Option<String> {
        let values = headers.get_all(header::COOKIE).iter().filter_map(|v| v.to_str().ok());
        let pairs = values.flat_map(|list| list.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let mut given = pairs.filter(|(name, _)| *name == self.cookie).map(|(_, value)| value);
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        // All are compared, each in a time that does not tell how much of it is right.
        let find = |value: &str| {
            all.iter().enumerate().fold(None, |found, (at, id)| {
                if bool::from(id.as_bytes().ct_eq(value.as_bytes())) { Some(at) } else { found }
            })
        };
        let id = given.find_map(find).and_then(|at| all.remove(at))?;
        all.push_back(id.clone());
        Some(id)
    }

    /// The header with which a browser keeps it. Strict: it comes with no request that another site starts.
    pub(crate) fn set_cookie(&self, id: &str) -> String {
        format!("{}={id}; Path=/; HttpOnly; SameSite=Strict", self.cookie)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brings(sessions: &Sessions, cookie: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, cookie.parse().unwrap());
        sessions.of(&headers).is_some()
    }

    #[test]
    fn a_session_is_known_by_its_cookie_and_by_no_other() {
        let sessions = Sessions::new(7);
        let (one, two) = (sessions.begin().unwrap(), sessions.begin().unwrap());
        assert!(one != two && one.len() == 64 && one.bytes().all(|b| b.is_ascii_hexdigit()));
        assert!(sessions.set_cookie(&one).starts_with(&format!("haloscope-session-7={one}; ")));
        assert!(brings(&sessions, &format!("a=b; haloscope-session-7={one}")));
        assert!(brings(&sessions, &format!("haloscope-session-7=x; haloscope-session-7={two}")));
        for cookie in [
            format!("haloscope-session-8={one}"),
            format!("haloscope-session-7={}", &one[1..]),
            format!("haloscope-session-7={one}0"),
            "haloscope-session-7=".to_owned(),
            one,
        ] {
            assert!(!brings(&sessions, &cookie), "{cookie}");
        }
    }

    #[test]
    fn so_many_are_kept_and_those_in_use_longest() {
        let sessions = Sessions::new(7);
        let cookie = |id: &str| format!("haloscope-session-7={id}");
        let (first, second) = (sessions.begin().unwrap(), sessions.begin().unwrap());
        for _ in 2..MOST {
            sessions.begin().unwrap();
        }
        assert!(brings(&sessions, &cookie(&first)));
        for _ in 0..1000 {
            sessions.begin().unwrap();
            assert!(brings(&sessions, &cookie(&first)));
        }
        assert!(!brings(&sessions, &cookie(&second)));
        assert_eq!(sessions.all.lock().unwrap().len(), MOST);
    }
}
