//! The analyses as tools for agents, over the Model Context Protocol.
//!
//! A [`Tool`] is a name, two schemas and a function; [`tools::all`] lists them, those of the registry derived from it. A
//! [`Server`] answers for one [`Context`], which holds the runs; it does not know whether it is spoken to over stdio
//! ([`stdio`]) or over HTTP ([`http()`]).
//!
//! An answer is small by default: [`Draft`] holds all that there is to say, and [`Budget`] decides how much of it is said now
//! and under which cursor the rest is had.

mod answer;
mod arguments;
mod budget;
mod context;
mod draft;
mod object;
mod prompt;
mod query;
mod recent;
mod refusal;
mod resources;
mod server;
mod tool;
pub mod tools;
mod transport;

pub use answer::{Answer, schema as answer_schema};
pub use arguments::Arguments;
pub use budget::{Budget, tokens};
pub use context::Context;
pub use draft::{Draft, Field, Item, Rows, Value};
pub use object::{Object, object, property};
pub use refusal::Refusal;
pub use server::Server;
pub use tool::{Call, Tool};
pub use transport::{Http, http, stdio};
