//! The messages of XLA's wire format that this crate reads.
//!
//! They restate, field by field and only as far as needed, `xla/service/hlo.proto` and `xla/xla_data.proto`. Fields that
//! are not listed here are skipped by the decoder, so a newer XLA costs nothing but what it added. Some messages are
//! kept as raw bytes (literal, sharding): they share the wire type of `bytes`, and nobody pays for decoding them.
//!
//! Nothing here leaves the crate; [`crate::Module`] is what callers see.

mod buffers;
mod devices;
mod dims;
mod instruction;
mod module;
mod origin;
mod shape;

pub(crate) use buffers::*;
pub(crate) use devices::*;
pub(crate) use dims::*;
pub(crate) use instruction::*;
pub(crate) use module::*;
pub(crate) use origin::*;
pub(crate) use shape::*;
