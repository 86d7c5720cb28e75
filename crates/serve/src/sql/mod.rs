//! `/api/query`: SQL over the runs that are served, where the server was started with it.
//!
//! What a query takes cannot be told from its text, so that it is done by a child process: with so many rows, so much time and memory, a few at
//! once, in its client's turn, and gone when the client is. It reads the runs that the listing names, and SQL itself opens no file.

mod handlers;
mod program;

pub(crate) use handlers::{BODY, about, ask};
pub use program::Sql;
