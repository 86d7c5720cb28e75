//! Modules and instructions in the words of XLA.
//!
//! [`Module::text`] writes a module as XLA's `HloModule::ToString` does and [`Module::instruction_text`] one instruction,
//! so that a name, a layout or an attribute can be compared with a dump, and so that the text can be read back by XLA's
//! parser. [`TextOptions`] names the forms in use: [`TextOptions::LONG`], [`TextOptions::SHORT`] and
//! [`TextOptions::EXPRESSION`].
//!
//! What is written differs from XLA's in one respect: XLA refuses a module that contradicts itself (a literal shorter than
//! its shape, a channel without an id), and here the part that makes no sense is left out or shown as `{...}`.

pub(crate) mod attributes;
mod dims;
mod escape;
mod instruction;
mod list;
pub(crate) mod literal;
mod metadata;
mod module;
pub(crate) mod number;
mod order;
mod origin;
mod sharding;
mod wrapped;

use std::fmt;

use self::wrapped::wrapped;
use crate::{
    index::{ComputationIdx, InstructionIdx},
    instruction::Instruction,
    module::Module,
};

pub use escape::c_escape;
pub use number::{double, float};

/// How a module is written; each field is a switch of XLA's `HloPrintOptions`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent switches, named as in XLA")]
pub struct TextOptions {
    /// Write literals of more than ten elements, rather than `{...}`.
    pub large_constants: bool,
    /// Write where instructions come from, and the module's table of source positions.
    pub metadata: bool,
    /// Write what the backend wants to know.
    pub backend_config: bool,
    /// Write an empty `wait_on_operation_queues` of a backend's configuration, which the text of XProf 2.24.2 leaves out.
    pub former_queues: bool,
    /// Write what infeed and outfeed want to know.
    pub infeed_outfeed_config: bool,
    /// Write the shape before each operand.
    pub operand_shape: bool,
    /// Count every fifth operand in a comment.
    pub operand_index: bool,
    /// Write the shapes of a computation's parameters and result behind its name.
    pub program_shape: bool,
    /// Write `%` before names.
    pub percent: bool,
    /// Write which instructions must finish first although no value flows.
    pub control_dependencies: bool,
    /// Cut lists of more than four operands.
    pub compact_operands: bool,
    /// Write layouts.
    pub layouts: bool,
    /// Write an asynchronous start, update or done as that of the one instruction that it runs, where it runs one.
    pub async_sugar: bool,
    /// Name the computations that an instruction calls.
    pub subcomputations: bool,
}

impl TextOptions {
    /// XLA's `HloPrintOptions` as constructed, but with large constants and without metadata: XProf's `long_txt`.
    pub const LONG: Self = Self {
        large_constants: true,
        metadata: false,
        backend_config: true,
        former_queues: true,
        infeed_outfeed_config: true,
        operand_shape: false,
        operand_index: true,
        program_shape: true,
        percent: true,
        control_dependencies: true,
        compact_operands: false,
        layouts: true,
        async_sugar: true,
        subcomputations: true,
    };

    /// XLA's `HloPrintOptions::ShortParsable`, but without large constants: XProf's `short_txt`.
    pub const SHORT: Self = Self {
        large_constants: false,
        operand_index: false,
        program_shape: false,
        percent: false,
        control_dependencies: false,
        ..Self::LONG
    };

    /// One instruction as XProf shows it beside its cost: operands with their shapes, nothing of the backend's.
    pub const EXPRESSION: Self = Self {
        large_constants: false,
        backend_config: false,
        infeed_outfeed_config: false,
        operand_shape: true,
        ..Self::LONG
    };
}

/// The value of an encoded `LiteralProto`, on one line and without its shape; `{...}` where it cannot be read.
#[must_use]
pub fn literal(bytes: &[u8]) -> String {
    Words(|f: &mut fmt::Formatter<'_>| literal::write(f, bytes, false)).to_string()
}

/// What writes itself with a function.
pub(crate) struct Words<F>(F);

impl<F: Fn(&mut fmt::Formatter<'_>) -> fmt::Result> fmt::Display for Words<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.0)(f)
    }
}

impl Module {
    /// The whole module, each computation before its callers.
    #[must_use]
    pub fn text(&self, options: &TextOptions) -> String {
        Words(|f: &mut fmt::Formatter<'_>| module::write(f, self, options)).to_string()
    }

    /// One computation as it stands in the module.
    #[must_use]
    pub fn computation_text(&self, computation: ComputationIdx, options: &TextOptions) -> String {
        Words(|f: &mut fmt::Formatter<'_>| module::computation(f, self, computation, options)).to_string()
    }

    /// One instruction, with its name, on one line.
    #[must_use]
    pub fn instruction_text(&self, instruction: InstructionIdx, options: &TextOptions) -> String {
        let instruction = self.instruction(instruction);
        Words(|f: &mut fmt::Formatter<'_>| instruction::write(f, self, instruction, options)).to_string()
    }

    /// Attributes of an instruction as XLA writes them behind its operands, one string each; source positions and the
    /// backend's configuration are not among them.
    #[must_use]
    pub fn attribute_texts(&self, instruction: InstructionIdx, options: &TextOptions) -> Vec<String> {
        let instruction = self.instruction(instruction);
        attributes::all(self, instruction, options)
    }

    /// The one instruction that an asynchronous instruction stands for; `None` where its computation holds more.
    #[must_use]
    pub fn async_root<'m>(&'m self, instruction: &'m Instruction) -> Option<&'m Instruction> {
        Some(self.instruction(wrapped(self, instruction, &TextOptions::LONG)?.root))
    }
}
