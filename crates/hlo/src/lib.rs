//! HLO modules: from the compiler's protos to plain Rust types, and what their instructions cost.
//!
//! Profiles of XLA programs embed the compiled module as an `HloProto`. This crate decodes it once, into tables with
//! typed indices, and answers what the rest of the tool asks about it:
//!
//! - **What is it?** [`Module`], [`Computation`], [`Instruction`], [`Shape`]: names, opcodes, operands, layouts with tiling
//!   and memory space, source positions, replica groups, schedule, donation, buffer assignment.
//! - **What does it cost?** [`CostAnalysis`]: FLOPs, transcendentals and bytes by the rules of XLA's own cost analysis.
//!   The rules, and where they differ from XLA's, are listed at [`CostAnalysis`]'s module, [`cost`].
//! - **What is it called in profiles?** [`Module::category`]: the `hlo_category` of profiles.
//! - **Who talks to whom?** [`Module::users`], [`Module::callers`], [`Module::reachable_computations`].
//! - **What lies around it?** [`Module::neighbourhood`], [`Module::shortest_path`].
//! - **What changed?** [`Alignment`].
//! - **Is it the same program?** [`Module::fingerprints`], whatever its instructions are called.
//! - **What runs, how often?** [`Module::trip_count`], [`Module::matmul`].
//! - **How does XLA write it?** [`Module::text`], [`Module::instruction_text`]; [`Module::parse`] reads it back.
//!
//! ```
//! use haloscope_hlo::{Module, Opcode};
//!
//! # fn main() -> Result<(), haloscope_hlo::Error> {
//! // A module with one computation of one instruction, as the wire has it: name, computation, entry id.
//! let bytes = [
//!     b"\x0a\x01m".as_slice(),
//!     b"\x1a\x1f\x0a\x04main\x12\x15\x0a\x01x\x12\x09parameter\x1a\x05\x10\x0b\x1a\x01\x04\x28\x01\x30\x00",
//!     b"\x30\x01",
//! ]
//! .concat();
//! let module = Module::decode(&bytes)?;
//! let entry = module.computation(module.entry());
//! let root = module.instruction(entry.root);
//! assert_eq!((root.opcode, root.shape.to_string()), (Opcode::Parameter, "f32[4]".to_string()));
//! assert_eq!(module.cost_analysis().total().flops, Some(0));
//! # Ok(())
//! # }
//! ```
//!
//! # Design constraints
//!
//! - Modules come out of other people's files. Decoding never panics, never loops and never recurses deeper than the
//!   protobuf reader allows; a reference that leads nowhere is an [`Error`] that names it.
//! - Unknown is not zero: what cannot be known is `None`, from a shape's bytes to a custom call's FLOPs.
//! - Ids of the proto become indices into flat tables at once, so walks need no maps. Names and ids are looked up by binary
//!   search in sorted lists: the same input always gives the same order.
//! - Literals and shardings stay encoded until somebody prints them: they are large.
//! - No `.proto` files and no code generation: the few messages that are read are written down in one private module, and
//!   fields that are not listed are skipped.

mod backend_config;
mod buffers;
mod buffers_text;
mod category;
pub mod cost;
mod decode;
mod diff;
mod dims;
mod element;
mod error;
mod fingerprint;
mod form;
mod graph;
mod index;
mod instruction;
mod lists;
mod matmul;
mod module;
mod neighbourhood;
mod opcode;
mod parse;
mod proto;
mod rare;
mod replica_groups;
mod shape;
mod stack_frames;
pub mod text;
mod trips;
mod turns;
mod weight;

pub use buffers::{
    AssignedBuffer, BufferAllocation, BufferAssignment, HeapEvent, HeapEventKind, HeapTrace, LogicalBuffer,
};
pub use cost::{Cost, CostAnalysis, CostOptions, KernelCost, Traffic};
pub use diff::{Alignment, Aspect, Difference};
pub use dims::{
    ConvolutionDimensionNumbers, DotDimensionNumbers, GatherDimensionNumbers, PaddingDimension,
    RaggedDotDimensionNumbers, ScatterDimensionNumbers, SliceDimension, WindowDimension,
};
pub use element::ElementType;
pub use error::Error;
pub use fingerprint::Fingerprints;
pub use form::Form;
pub use haloscope_mosaic as mosaic;
pub use index::{ComputationIdx, InstructionIdx};
pub use instruction::{Attributes, Computation, FusionKind, Instruction, Metadata, OutputOperandAlias};
pub use matmul::Matmul;
pub use module::{InputOutputAlias, Module, ProgramShape};
pub use neighbourhood::{Direction, Link, LinkKind, Neighbourhood, Place, WalkOptions};
pub use opcode::Opcode;
pub use replica_groups::{IotaGroups, MeshAxes, MeshAxisRef, ReplicaGroups};
pub use shape::{Layout, Shape};
pub use stack_frames::{FileLocation, SourceFrame, StackFrame, StackFrames};
pub use text::TextOptions;
pub use turns::{Turn, turns};
pub use weight::Room;
