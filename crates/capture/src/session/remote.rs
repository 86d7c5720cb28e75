//! A session that goes to an object store.

use std::path::Path;

use haloscope_remote::{self as remote, Address};

use super::PROFILES;
use super::names::SAME_SECOND;
use crate::Error;

/// Where the session of a name lies.
pub(super) fn session_at(root: &Address, name: &str) -> Address {
    root.join(&format!("{PROFILES}/{name}"))
}

/// Whether something lies there. Who may write but not list is not kept from writing: the store itself writes over nothing.
pub(super) fn is_taken(at: &Address) -> bool {
    remote::list(at).is_ok_and(|objects| !objects.is_empty())
}

/// Sends files, by their names, to the session of this name, or of one with a number behind it where it is taken and nobody
/// asked for it; where they lie.
///
/// # Errors
/// What the store said.
pub(super) fn send(
    root: &Address,
    name: &str,
    is_asked: bool,
    files: &[(String, &Path)],
) -> Result<(String, Address), remote::Error> {
    let mut said = None;
    for number in 1..=SAME_SECOND {
        let name = if number == 1 { name.to_owned() } else { format!("{name}_{number}") };
        let at = session_at(root, &name);
        let put = if is_taken(&at) {
            Err(remote::Error::There { at: at.to_string() })
        } else {
            remote::put(&at, files)
        };
        match put {
            Ok(()) => return Ok((name, at)),
            Err(why @ remote::Error::There { .. }) if !is_asked => said = Some(why),
            Err(why) => return Err(why),
        }
    }
    Err(said.unwrap_or_else(|| remote::Error::There { at: session_at(root, name).to_string() }))
}

/// That a session is there already.
pub(super) fn there(at: &Address) -> Error {
    Error::Store { source: remote::Error::There { at: at.to_string() }, kept: None }
}
