//! Finds and opens inputs. The only room that touches the file system.

mod dump;
mod find;
mod flags_text;
pub mod map;
mod open;
mod source_text;
mod trace_json;

pub use find::{Run, Session, find, session_at, sessions, sessions_in};
pub use open::{from_bytes, open};
pub use source_text::{NoText, SourceRoot, SourceText};
