//! Several machines: workers read the files, each some of them, and work on a question's plan where the files are; the one who asks plans,
//! and puts together what they send.
//!
//! The engine is `datafusion-distributed`, a library without a scheduler. What is ours is the leaf of its plans ([`leaf`]), which files of a
//! run a worker reads and what it must know of the others; who may ask a worker ([`gate`]); and what happens when one dies ([`ask`]).

mod allowed;
mod analyses;
mod aside;
pub(crate) mod ask;
mod channel;
mod codec;
mod gate;
mod later;
mod leaf;
mod members;
mod parts;
mod placement;
mod session;
mod shelf;
mod survey;
mod table;
pub(crate) mod worker;

pub(crate) use gate::Token;

/// What changes when a plan or an answer on its way means something else than before.
const PROTOCOL: u32 = 3;

/// What two programs must have in common to work on one question.
fn version() -> String {
    format!("haloscope-query {}, protocol {PROTOCOL}", env!("CARGO_PKG_VERSION"))
}
