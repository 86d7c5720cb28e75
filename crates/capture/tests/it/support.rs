//! What all tests need.

use std::fs;
use std::path::Path;
use std::time::Duration;

use haloscope_capture::{Captured, Destination, Error, Request, Silent, Stop, capture};

/// A short request, whose servers are waited for as long as a busy machine takes.
pub(crate) fn request<S: Into<String>>(servers: impl IntoIterator<Item = S>) -> Request {
    Request { duration: Duration::from_millis(50), timeout: Duration::from_secs(60), ..Request::new(servers) }
}

pub(crate) fn into(folder: &Path, request: &Request) -> Result<Captured, Error> {
    capture(request, &Destination::Folder(folder.join("logs")), &Silent, &Stop::new())
}

/// Asserts that an attempt left nothing, not even the log folder.
pub(crate) fn assert_nothing(folder: &Path) {
    let left: Vec<_> = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()).collect();
    assert!(left.is_empty(), "{left:?}");
}
