//! What differs, instruction by instruction.

use std::cmp::Reverse;

use haloscope_hlo::{Alignment, Aspect, ComputationIdx, Difference, InstructionIdx, Module};

use haloscope_report::{Columns, Row, Table, row};

/// How an instruction differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Added,
    Removed,
    Changed,
    Reconfigured,
    Renamed,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
            Self::Reconfigured => "reconfigured",
            Self::Renamed => "renamed",
        }
    }
}

/// An instruction that differs.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) kind: Kind,
    pub(super) a: Option<InstructionIdx>,
    pub(super) b: Option<InstructionIdx>,
    pub(super) differences: Vec<Difference>,
}

/// All that differs.
pub(super) struct Changes<'x, 'm> {
    pub(super) alignment: &'x Alignment<'m>,
    pub(super) all: Vec<Change>,
    pub(super) matched: usize,
    pub(super) renamed: usize,
}

impl<'x, 'm> Changes<'x, 'm> {
    pub(super) fn of(alignment: &'x Alignment<'m>) -> Self {
        let mut changes = Self { alignment, all: Vec::new(), matched: 0, renamed: 0 };
        let (a, b) = (alignment.a, alignment.b);
        for (index, instruction) in a.instructions() {
            let Some(other) = alignment.in_b(index) else {
                changes.push(Kind::Removed, Some(index), None, Vec::new());
                continue;
            };
            changes.matched += 1;
            let is_renamed = instruction.name != b.instruction(other).name;
            changes.renamed += usize::from(is_renamed);
            let differences = alignment.differences(index, other);
            let is_only = |d: &Difference| d.aspect == Aspect::BackendConfig;
            let kind = match (differences.is_empty(), is_renamed) {
                (true, false) => continue,
                (true, true) => Kind::Renamed,
                _ if differences.iter().all(is_only) => Kind::Reconfigured,
                _ => Kind::Changed,
            };
            changes.push(kind, Some(index), Some(other), differences);
        }
        for (index, _) in b.instructions().filter(|(index, _)| alignment.in_a(*index).is_none()) {
            changes.push(Kind::Added, None, Some(index), Vec::new());
        }
        changes
    }

    fn push(
        &mut self,
        kind: Kind,
        a: Option<InstructionIdx>,
        b: Option<InstructionIdx>,
        differences: Vec<Difference>,
    ) {
        self.all.push(Change { kind, a, b, differences });
    }

    pub(super) fn count(&self, kind: Kind) -> usize {
        self.all.iter().filter(|change| change.kind == kind).count()
    }

    /// How far the modules differ, in words.
    pub(super) fn word(&self) -> &'static str {
        let least = self.all.iter().map(|change| change.kind).min();
        match least {
            None => "none",
            Some(Kind::Renamed) => "names only",
            Some(Kind::Reconfigured) => "configuration only",
            Some(_) => "program",
        }
    }

    pub(super) fn table(&self, with_renamed: bool, rows: usize) -> Table {
        let is_shown =
            |change: &&Change| match change.kind {
                Kind::Renamed => with_renamed,
                // The instruction that calls it says it.
                Kind::Added => !self
                    .is_inside(change.b, self.alignment.b, |c| self.alignment.computation_in_a(c).is_some()),
                Kind::Removed => !self
                    .is_inside(change.a, self.alignment.a, |c| self.alignment.computation_in_b(c).is_some()),
                _ => true,
            };
        let mut shown: Vec<&Change> = self.all.iter().filter(is_shown).collect();
        // A change of operands or of the body follows from another one.
        let rank = |change: &Change| {
            let follows = change.differences.iter().all(|d| d.aspect >= Aspect::Operands);
            let kind = if change.kind == Kind::Changed && !follows { Kind::Added } else { change.kind };
            (kind.max(Kind::Removed), Reverse(self.bytes(change)))
        };
        shown.sort_by_cached_key(|change| rank(change));
        let shown = shown.into_iter().take(rows).map(|change| self.row(change));
        Table::of("changes", "Changes, the largest results first", shown)
    }

    /// Whether an instruction is part of a fusion that has no counterpart.
    fn is_inside(
        &self,
        at: Option<InstructionIdx>,
        module: &Module,
        is_paired: impl Fn(ComputationIdx) -> bool,
    ) -> bool {
        at.is_some_and(|at| {
            let computation = module.instruction(at).computation;
            module.computation(computation).is_fusion && !is_paired(computation)
        })
    }

    fn bytes(&self, change: &Change) -> Option<u64> {
        let of = |module: &Module, at: Option<InstructionIdx>| module.instruction(at?).shape.bytes();
        of(self.alignment.a, change.a).max(of(self.alignment.b, change.b))
    }

    fn row(&self, change: &Change) -> Row<impl Columns + use<>> {
        let (a, b) = (self.alignment.a, self.alignment.b);
        let mine = change.a.map(|at| a.instruction(at));
        let theirs = change.b.map(|at| b.instruction(at));
        let any = theirs.or(mine);
        let around = theirs.map(|i| b.computation(i.computation));
        let around = around.or_else(|| mine.map(|i| a.computation(i.computation)));
        let inside = |module: &Module, at: InstructionIdx| -> usize {
            let bodies = module.bodies(at).iter();
            bodies.map(|body| module.computation(*body).instructions().len()).sum()
        };
        let inside = change.b.map(|at| inside(b, at)).or_else(|| change.a.map(|at| inside(a, at)));
        let what: Vec<&str> = change.differences.iter().map(|d| d.aspect.name()).collect();
        let detail: Vec<String> = change
            .differences
            .iter()
            .filter(|d| !d.detail.is_empty())
            .map(|d| format!("{} {}", d.aspect.name(), d.detail))
            .collect();
        let some = |text: String| Some(text).filter(|text| !text.is_empty());
        row![
            text(
                "kind",
                "Kind",
                "added, removed, changed, reconfigured (only the backend's configuration) or renamed.",
                change.kind.word()
            ),
            text("a_name", "Name in A", "The instruction in A.", mine.map(|i| i.name.as_str())),
            text("b_name", "Name in B", "The instruction in B.", theirs.map(|i| i.name.as_str())),
            text("opcode", "Opcode", "What it does.", any.map(|i| i.opcode_name())),
            text(
                "what",
                "What",
                "What differs: shape, layout, memory space, attributes, operands, body.",
                some(what.join(", "))
            ),
            bytes(
                "bytes",
                "Bytes",
                "Bytes of the result without padding, the larger of the two.",
                self.bytes(change)
            ),
            text("a_shape", "Shape in A", "Shape of the result in A.", mine.map(|i| i.shape.to_string())),
            text("b_shape", "Shape in B", "Shape of the result in B.", theirs.map(|i| i.shape.to_string())),
            text("detail", "Detail", "The two sides of what differs.", some(detail.join("; "))),
            text(
                "op_name",
                "Framework op",
                "The scope path in JAX, PyTorch or TensorFlow.",
                any.and_then(|i| i.op_name())
            ),
            text(
                "computation",
                "Computation",
                "The computation around it, in B; in A if it was removed.",
                around.map(|c| c.name.as_str())
            ),
            count("inside", "Inside", "Instructions in the computations that it calls.", inside),
        ]
    }
}
