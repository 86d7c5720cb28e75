//! Runs in object stores: lists them, brings their files here, writes captured ones.
//!
//! All calls block. They may be made from any thread, one of an asynchronous runtime too (which they then hold up).
//!
//! ```no_run
//! use haloscope_remote as remote;
//! let at = remote::Address::parse("gs://bucket/logs")?;
//! for session in remote::sessions(&at)? {
//!     println!("{} {} bytes", session.at, session.bytes);
//! }
//! # Ok::<(), remote::Error>(())
//! ```

mod address;
mod connect;
mod credentials;
mod download;
mod error;
mod list;
mod mirror;
mod object;
mod one_server;
mod per_process;
mod put;
mod sessions;
mod web;

pub use address::Address;
pub use download::{Downloaded, Progress, download};
pub use error::Error;
pub use list::list;
pub use mirror::{ABOUT, FOLDER as MIRROR, leave, release};
pub use object::Object;
pub use per_process::PerProcess;
pub use put::put;
pub use sessions::{Session, session_at, sessions};
