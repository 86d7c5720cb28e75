//! Finds and opens inputs. The only module of the slices that touches the file system.

mod allowance;
#[cfg(test)]
mod bounds_tests;
mod dump;
mod find;
mod flags_text;
mod gauge;
mod import;
mod limit;
mod llo_dump;
pub mod map;
mod memory;
mod native;
mod open;
mod progress;
#[cfg(test)]
mod riegeli_tests;
mod scratch;
mod session;
mod source_text;
mod system;
mod trace_json;
mod unpack;

pub(crate) use allowance::text_fits;
pub use allowance::{set_unpacked_limit, unpacked_limit};
pub use find::{Run, find, is_passed_over, session_at, sessions, sessions_in};
pub use gauge::peak as peak_memory;
pub use limit::memory_limit;
pub use memory::{bound_memory, set_memory_limit, size};
pub use native::native;
pub use open::{Known, from_bytes, from_bytes_of_hosts, open, open_with};
pub use progress::{Part, opening};
pub use session::Session;
pub use source_text::{NoText, SourceRoot, SourceText};
pub use system::within_system;
