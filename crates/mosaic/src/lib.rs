//! Mosaic modules: what a Pallas kernel for TPUs is, before libtpu compiles it.
//!
//! A program's HLO keeps each kernel as MLIR bytecode in the backend configuration of its `tpu_custom_call`; of kernels that XLA
//! writes itself it keeps MLIR's text. This crate reads both, which needs neither MLIR nor libtpu, and answers:
//!
//! - **What is it?** [`Module`]: operations, regions, attributes and types; [`Module::text`] writes them as MLIR's generic text.
//! - **How is it cut up?** [`Kernel`]: grid, blocks and how they move, scratch, memories, loops and products.
//! - **What does it compute and move?** [`Kernel::account`]: FLOPs of its matrix products, work of its vectors and bytes of its
//!   copies, over the whole grid. Where what runs hangs on data, an interval with its reasons.
//!
//! # Design constraints
//!
//! - Modules come out of other people's files: reading never panics, and takes memory and stack that are bounded by the bytes.
//! - Attributes and types that are not needed stay numbers ([`Attribute::Unknown`]); locations are skipped.
//! - Unknown is not zero: a [`Range`] without an upper end says so.

mod account;
mod assembly;
mod attribute;
mod bytes;
mod call;
mod config;
mod count;
mod decode;
mod error;
mod float;
mod ids;
mod kernel;
mod module;
mod needed;
mod scalar;
mod text;
mod types;
mod windows;
mod work;

pub use account::Account;
pub use attribute::Attribute;
pub use call::Call;
pub use config::body;
pub use count::Reason;
pub use error::Error;
pub use ids::{AttributeId, BlockId, OpId, RegionId, StringId, TypeId, ValueId};
pub use kernel::{Argument, GridDimension, Kernel, Loop, Product, Role, Window};
pub use module::{Block, Module, Op, Origin, Region};
pub use types::{DYNAMIC, Float, Signedness, Type};
pub use windows::Traffic;
pub use work::{Range, Work};
