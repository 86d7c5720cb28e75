//! The LLO of a TPU kernel: what the compiler's last stage made of one HLO op, as it stands in a profile (`llo_proto` on the plane
//! `/host:metadata`) or in a dump (`*-llo_module.pb`).
//!
//! A TPU's core runs bundles: very long instruction words, each with work for its matrix units, vector units, loads, stores and scalar
//! units. [`Module::read`] gives the instructions with their bundles and registers, the regions and loops that they stand in, how much
//! of each unit every bundle uses, what is allocated, and the source lines. Nobody publishes the message: `README.md` says how each
//! field's meaning was found. Numbers are the compiler's model of the schedule; nothing here was measured on a device.
//!
//! ```
//! let module = haloscope_llo::Module::read(&[])?;
//! assert_eq!((module.instructions.len(), module.bundles()), (0, 0));
//! # Ok::<(), haloscope_llo::Error>(())
//! ```

mod allocation;
mod by_id;
mod decode;
mod error;
mod group;
mod head;
mod instruction;
mod live;
mod module;
mod opcode;
mod source_map;
mod target;
mod utilization;

pub use allocation::{Allocation, Constant, Space};
pub use by_id::ById;
pub use error::Error;
pub use group::{Group, GroupIdx, IndexSpace, Kind, Part};
pub use head::Head;
pub use instruction::{Instruction, InstructionIdx, Operand, RegisterType, SpillKind};
pub use live::{Liveness, Pressure, Range as LiveRange};
pub use module::Module;
pub use opcode::{Category, Opcode, Unit};
pub use source_map::{Frame, Info, SourceMap};
pub use target::{Chip, Target};
pub use utilization::{UNITS, UnitIdx, UnitUse, Utilization};
