//! One op and what it took.

use std::borrow::Cow;

use haloscope_time::op_meta::Access;

use super::{Db, IDLE};

/// An op of a program, summed over its executions and devices.
#[derive(Debug, Clone, Default)]
pub(crate) struct Row<'p> {
    /// The program; 0 where there is none.
    pub(crate) program_id: u64,
    /// The instruction's name.
    pub(crate) name: Cow<'p, str>,
    /// The HLO expression; empty where it is not known.
    pub(crate) expression: Cow<'p, str>,
    /// Such as `loop fusion`.
    pub(crate) category: Cow<'p, str>,
    /// The framework's scope path and, behind the last colon, its op type.
    pub(crate) provenance: Cow<'p, str>,
    /// What identical ops share; empty where it is not known.
    pub(crate) deduplicated_name: Cow<'p, str>,
    /// Where in the program's source it was written.
    pub(crate) source: SourceInfo<'p>,
    /// Executions.
    pub(crate) occurrences: u64,
    /// Time, picoseconds, nested ops included.
    pub(crate) time_ps: u64,
    /// Time at the device's default clock, picoseconds; 0 where nobody measured it.
    pub(crate) normalized_ps: u64,
    /// Time less that of ops directly inside, picoseconds.
    pub(crate) self_ps: u64,
    /// FLOPs of all executions as counted for the device; 0 where nobody counted them.
    pub(crate) flops: f64,
    /// FLOPs of all executions as written in the model.
    pub(crate) model_flops: f64,
    /// Bytes accessed in all memories.
    pub(crate) bytes: u64,
    /// Bytes by direction and memory; empty where nobody said.
    pub(crate) accesses: Vec<Access>,
    /// Time stalled by transfers, picoseconds.
    pub(crate) dma_stall_ps: u64,
    /// Number of devices it ran on.
    pub(crate) cores: u32,
    /// The kind of core.
    pub(crate) core_type: CoreType,
    /// Run op by op rather than compiled.
    pub(crate) eager: bool,
    /// Energy in joules; 0 where nobody measured it.
    pub(crate) energy_j: f64,
    /// Ops that a SparseCore ran for this one.
    pub(crate) offloaded: Option<Box<Db<'p>>>,
}

/// The kind of core that an op ran on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum CoreType {
    /// Not a TPU, or nobody said.
    #[default]
    Unknown,
    /// A TPU's TensorCore.
    Tensor,
    /// A TPU's SparseCore.
    Sparse,
}

impl CoreType {
    /// The word used in tables; none where it is not known.
    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Unknown => "",
            Self::Tensor => "TensorCore",
            Self::Sparse => "SparseCore",
        }
    }
}

/// Where an op was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SourceInfo<'p> {
    /// The file; empty where it is not known.
    pub(crate) file: Cow<'p, str>,
    /// The line; 0 where it is not known, -1 where the file alone is.
    pub(crate) line: i32,
    /// The call stack, one frame a line.
    pub(crate) stack: Cow<'p, str>,
}

impl<'p> SourceInfo<'p> {
    /// From `file:line` and a stack. What does not have that form names no file.
    #[must_use]
    pub(crate) fn parse(place: &Cow<'p, str>, stack: Cow<'p, str>) -> Self {
        let parts = match place {
            Cow::Borrowed(text) => text.split_once(':').map(|(f, l)| (Cow::Borrowed(f), l)),
            Cow::Owned(text) => text.split_once(':').map(|(f, l)| (Cow::Owned(f.to_owned()), l)),
        };
        match parts.and_then(|(file, line)| Some((file, line.trim().parse().ok()?))) {
            Some((file, line)) => Self { file, line, stack },
            None => Self { stack, ..Self::default() },
        }
    }

    /// True where nobody said anything.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.file.is_empty() && self.stack.is_empty()
    }

    /// The cell of a table: the place, with the stack as what appears when the pointer rests on it.
    #[must_use]
    pub(crate) fn html(&self) -> String {
        if self.file.is_empty() || self.line == -1 {
            return String::new();
        }
        let (stack, file) = (escape(&self.stack), escape(&self.file));
        format!("<div class='source-info-cell' title='{stack}'>{file}:{}</div>", self.line)
    }
}

/// Text with the characters that mean something in HTML written out.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

impl Row<'_> {
    /// The row of idle time.
    #[must_use]
    pub(crate) fn idle(idle_ps: u64) -> Self {
        let name = Cow::Borrowed(IDLE);
        Self { name: name.clone(), category: name, time_ps: idle_ps, self_ps: idle_ps, ..Self::default() }
    }

    /// True for the row of idle time.
    #[must_use]
    pub(crate) fn is_idle(&self) -> bool {
        self.category == IDLE
    }

    /// Self time at the device's default clock, picoseconds.
    #[must_use]
    pub(crate) fn normalized_self_ps(&self) -> u64 {
        if self.time_ps == 0 {
            return 0;
        }
        (self.self_ps as f64 * (self.normalized_ps as f64 / self.time_ps as f64)) as u64
    }

    /// Bytes in a memory space, in one direction or, without one, in both.
    #[must_use]
    pub(crate) fn bytes_in(&self, space: u64, operation: Option<u64>) -> u64 {
        let these = self.accesses.iter().filter(|a| a.space == space);
        these.filter(|a| operation.is_none_or(|o| o == a.operation)).map(|a| a.bytes).sum()
    }

    /// Bytes to and from HBM: all bytes where nobody said which memory.
    #[must_use]
    pub(crate) fn hbm_bytes(&self) -> u64 {
        if self.accesses.is_empty() { self.bytes } else { self.bytes_in(Access::HBM, None) }
    }
}

impl<'p> Row<'p> {
    /// Adds executions of the same op elsewhere.
    pub(crate) fn merge(&mut self, other: Self) {
        let words = [
            (&mut self.expression, other.expression),
            (&mut self.category, other.category),
            (&mut self.provenance, other.provenance),
            (&mut self.deduplicated_name, other.deduplicated_name),
        ];
        for (mine, theirs) in words {
            if mine.is_empty() {
                *mine = theirs;
            }
        }
        if self.source.is_empty() {
            self.source = other.source;
        }
        if self.core_type == CoreType::Unknown {
            self.core_type = other.core_type;
        }
        if self.offloaded.is_none() {
            self.offloaded = other.offloaded;
        }
        self.occurrences = self.occurrences.saturating_add(other.occurrences);
        self.time_ps = self.time_ps.saturating_add(other.time_ps);
        self.normalized_ps = self.normalized_ps.saturating_add(other.normalized_ps);
        self.self_ps = self.self_ps.saturating_add(other.self_ps);
        self.flops += other.flops;
        self.model_flops += other.model_flops;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.dma_stall_ps = self.dma_stall_ps.saturating_add(other.dma_stall_ps);
        self.cores += other.cores;
        self.eager |= other.eager;
        self.energy_j += other.energy_j;
        add_accesses(&mut self.accesses, other.accesses);
    }
}

/// Adds bytes by direction and memory.
pub(crate) fn add_accesses(into: &mut Vec<Access>, more: impl IntoIterator<Item = Access>) {
    for access in more {
        let same = |a: &&mut Access| (a.space, a.operation) == (access.space, access.operation);
        match into.iter_mut().find(same) {
            Some(sum) => sum.bytes = sum.bytes.saturating_add(access.bytes),
            None => into.push(access),
        }
    }
}
