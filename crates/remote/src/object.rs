//! What a listing says of an object.

use std::time::SystemTime;

/// An object in a store, or a file on a web server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Its path below the address that was asked for, with `/` between its parts; empty where that is the object itself.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// What the store calls this state of it; another after every change.
    pub etag: Option<String>,
    /// When it was written.
    pub modified: SystemTime,
}
