//! What an error text says, as data.

use crate::size::Size;

/// The wording of a message, which tells what its numbers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// The compiler's total for HBM, without a buffer (`E1000`).
    HbmTotal,
    /// The stack of one instruction in scoped VMEM (`E1001`).
    ScopedStack,
    /// Used, limit and a list of the largest allocations of a memory.
    LargestAllocations,
    /// One allocation that is larger than its memory.
    OneAllocation,
    /// The compiler for SparseCores: offsets in words (`E3000`).
    SparseCoreOffset,
    /// A program that was compiled, but found no room when it was loaded.
    ProgramLoad,
    /// An allocation of a running program, on a TPU or a GPU.
    RuntimeAllocation,
}

impl Form {
    /// The word for it in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::HbmTotal => "hbm total",
            Self::ScopedStack => "scoped stack",
            Self::LargestAllocations => "largest allocations",
            Self::OneAllocation => "one allocation",
            Self::SparseCoreOffset => "SparseCore offset",
            Self::ProgramLoad => "program load",
            Self::RuntimeAllocation => "runtime allocation",
        }
    }

    /// Whether a running program wrote it, not the compiler.
    #[must_use]
    pub fn is_at_run_time(self) -> bool {
        matches!(self, Self::ProgramLoad | Self::RuntimeAllocation)
    }
}

/// What a buffer is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// An argument of the program: a parameter of its entry computation.
    Argument,
    /// A result that has memory of its own.
    Result,
    /// A value between two instructions of the program.
    Temporary,
    /// A constant of the program.
    Constant,
    /// A block of an operand of a kernel, with the copies that hide its transfer.
    InputWindow,
    /// A block of a result of a kernel, likewise.
    OutputWindow,
    /// Scratch memory that a kernel asked for.
    Scratch,
    /// Scalars that a kernel has brought before it starts.
    Prefetched,
    /// Registers that did not suffice.
    Spills,
    /// The whole stack of an instruction, of which no part is named.
    Stack,
    /// Nobody says.
    #[default]
    Unknown,
}

impl What {
    /// The word for it in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Argument => "argument",
            Self::Result => "result",
            Self::Temporary => "temporary",
            Self::Constant => "constant",
            Self::InputWindow => "input window",
            Self::OutputWindow => "output window",
            Self::Scratch => "scratch",
            Self::Prefetched => "prefetched scalars",
            Self::Spills => "register spills",
            Self::Stack => "kernel stack",
            Self::Unknown => "unknown",
        }
    }

    /// Whether it is a block that a pipeline brings or takes away.
    #[must_use]
    pub fn is_window(self) -> bool {
        matches!(self, Self::InputWindow | Self::OutputWindow)
    }
}

/// A piece of memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Buffer {
    /// What it is for.
    pub what: What,
    /// Its size as it lies in memory, padding and copies included.
    pub size: Option<Size>,
    /// Its size without padding.
    pub unpadded: Option<Size>,
    /// Its shape, as written.
    pub shape: String,
    /// The instruction or parameter that it belongs to.
    pub name: String,
    /// The framework's path of the op, such as `jit(step)/layer_3/mlp/dot_general`.
    pub op_name: String,
    /// `file:line` of the user's program.
    pub source: String,
    /// Of a window: how many copies there are, so that one is worked on while the next is brought.
    pub levels: Option<u32>,
    /// Of a window: the shape of one copy.
    pub window: String,
    /// Of a window: the shape of the operand or result.
    pub full: String,
    /// Which operand or result of a kernel, from 0.
    pub operand: Option<u32>,
    /// Of an argument: whether a result takes over its memory (donation).
    pub is_donated: bool,
}

/// An instruction that an error names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// Its result's shape, as written.
    pub shape: String,
    /// Its opcode, such as `custom-call`.
    pub opcode: String,
    /// The framework's path of the op.
    pub op_name: String,
    /// Shapes of the operands, as a custom call lists them.
    pub operands: Vec<String>,
}

impl Named {
    /// Whether it is a kernel that somebody wrote (Pallas, Mosaic), not code that XLA makes.
    #[must_use]
    pub fn is_kernel(&self) -> bool {
        self.opcode.starts_with("custom-call")
    }
}

/// A part of a sum that a message lists, such as `program 21.95G`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Of which list: `total`, `program`, `capacity`, `assignment`, `allocator`.
    pub list: &'static str,
    /// Its name there.
    pub name: String,
    /// Its size.
    pub size: Size,
    /// What the message adds to it.
    pub remark: String,
}

/// One message that memory ran out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its wording.
    pub form: Form,
    /// The memory: `hbm`, `vmem`, `smem`, `sflag`, `spmem`, `gpu`, `device` where nobody says.
    pub space: String,
    /// The status in front of it, such as `RESOURCE_EXHAUSTED`; empty where there is none.
    pub status: String,
    /// The error code, such as `E1000`; empty in older texts.
    pub code: String,
    /// The code's name, such as `CompileTimeHbmOom`.
    pub code_name: String,
    /// What was asked for.
    pub required: Option<Size>,
    /// What there is for it: all of a memory for the compiler, what is free for a running program.
    pub limit: Option<Size>,
    /// What is too much, where the message says so itself.
    pub over: Option<Size>,
    /// Words of 4 bytes: asked for, and the highest offset, where the message counts in words.
    pub words: Option<(i64, i64)>,
    /// What the message says that the memory is for, such as `HLO temporaries`.
    pub blamed: String,
    /// The HLO module or program.
    pub module: String,
    /// The instruction.
    pub named: Option<Named>,
    /// Sums that it lists.
    pub parts: Vec<Part>,
    /// Buffers that it lists.
    pub buffers: Vec<Buffer>,
    /// The device, as written.
    pub device: String,
    /// A warning that the program can live with.
    pub is_warning: bool,
    /// The line of the text that it begins in, from 1.
    pub line: usize,
}

impl Message {
    /// A message of this form about this memory, of which nothing else is known yet.
    pub(crate) fn new(form: Form, space: &str) -> Self {
        Self {
            form,
            space: space.to_owned(),
            status: String::new(),
            code: String::new(),
            code_name: String::new(),
            required: None,
            limit: None,
            over: None,
            words: None,
            blamed: String::new(),
            module: String::new(),
            named: None,
            parts: Vec::new(),
            buffers: Vec::new(),
            device: String::new(),
            is_warning: false,
            line: 0,
        }
    }

    /// What is too much: as the message says, else what was asked for less what there is.
    #[must_use]
    pub fn over(&self) -> Option<Size> {
        self.over.or_else(|| Some(self.required?.minus(self.limit?)))
    }

    /// The size of a part by its list and name.
    #[must_use]
    pub fn part(&self, list: &str, name: &str) -> Option<Size> {
        self.parts.iter().find(|part| part.list == list && part.name == name).map(|part| part.size)
    }
}
