//! The copies of a module: what each moves, between whom, and why the compiler may have put it there.
//!
//! A copy that changes memory or layout says itself what it is for. One that changes neither is there because somebody would
//! otherwise overwrite a value that must stay: a kernel that writes its result over an operand, a loop that updates its state
//! in place, an output that must lie in an input's memory. The reason is read off the graph: donation, aliasing of custom
//! calls, who reads the value later. What the graph does not say is a guess and says so.

use haloscope_hlo::{Instruction, InstructionIdx, Module, Opcode, Shape};

use super::relayouts::changes_layout;
use super::value_flow::{Reader, origin, readers};
use haloscope_time::executions::{Executions, Place};

mod reasons;

pub use reasons::{Basis, LateReader, Reason, Why};

/// How a copy is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyKind {
    /// By itself, or in a fusion that does nothing else.
    Copy,
    /// While other instructions run: a start and its end, counted once.
    Asynchronous,
    /// As part of a fusion: what it moves is part of what the fusion moves.
    Fused,
}

impl CopyKind {
    /// Its name in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Copy => "copy",
            Self::Asynchronous => "asynchronous",
            Self::Fused => "in a fusion",
        }
    }
}

/// A copy.
#[derive(Debug, Clone)]
pub struct Copy<'m> {
    /// The copy, the start of an asynchronous one, or the fusion that does nothing else.
    pub instruction: InstructionIdx,
    /// How it is carried out.
    pub kind: CopyKind,
    /// What is copied.
    pub from: &'m Shape,
    /// What it becomes.
    pub to: &'m Shape,
    /// Bytes of the copy, padding included; `None` where the shape has no size.
    pub bytes: Option<u64>,
    /// Bytes read and written in one execution; `None` also inside a fusion, which does more than copy.
    pub moved_bytes: Option<u64>,
    /// Executions in one run of the program, where known.
    pub executions: Option<u64>,
    /// What makes the value.
    pub producer: InstructionIdx,
    /// Who reads the copy.
    pub consumers: Vec<InstructionIdx>,
    /// Why it may be there.
    pub reason: Reason,
}

/// The copies of a module, those that move most in a run first.
#[must_use]
pub fn find<'m>(module: &'m Module, executions: &Executions) -> Vec<Copy<'m>> {
    let order = Order::of(module);
    let mut found = Vec::new();
    for (index, hlo) in module.instructions() {
        let place = executions.place(hlo.computation);
        let kind = match (hlo.opcode, place) {
            (_, Place::Unreached | Place::Applied) => continue,
            (Opcode::Copy, Place::Fused) => CopyKind::Fused,
            (Opcode::Copy, Place::Control) => CopyKind::Copy,
            (Opcode::CopyStart, _) => CopyKind::Asynchronous,
            _ => continue,
        };
        // A fusion that does nothing else is the copy: GPUs' compilers wrap copies so.
        let wrapper = executions.caller(hlo.computation).filter(|caller| {
            kind == CopyKind::Fused
                && executions.place(module.instruction(*caller).computation) == Place::Control
                && is_alone(module, hlo)
        });
        let kind = if wrapper.is_some() { CopyKind::Copy } else { kind };
        let Some(from) = hlo.operands.first().map(|operand| &module.instruction(*operand).shape) else {
            continue;
        };
        let to = hlo.shape.tuple_element(0).filter(|_| kind == CopyKind::Asynchronous).unwrap_or(&hlo.shape);
        // Shapes are those of the copy: around it, bitcasts may hide a change of layout.
        let (at, hlo) = wrapper.map_or((index, hlo), |wrapper| (wrapper, module.instruction(wrapper)));
        let Some(&source) = hlo.operands.first() else { continue };
        let bytes = to.padded_bytes();
        let moved = from.padded_bytes().zip(bytes).and_then(|(read, written)| read.checked_add(written));
        let readers = readers_of_copy(module, at, hlo);
        let copied = Copied { index: at, hlo, source, from, to, kind, readers: &readers };
        let reason = reasons::why(module, executions, &order, &copied);
        let mut consumers: Vec<InstructionIdx> = readers.iter().map(|reader| reader.instruction).collect();
        consumers.dedup();
        found.push(Copy {
            instruction: at,
            kind,
            from,
            to,
            bytes,
            moved_bytes: moved.filter(|_| kind != CopyKind::Fused),
            executions: executions.count(hlo.computation),
            producer: origin(module, source).instruction,
            consumers,
            reason,
        });
    }
    found.sort_by_key(|copy| {
        let moved = copy.moved_bytes.unwrap_or(0).saturating_mul(copy.executions.unwrap_or(1));
        (std::cmp::Reverse(moved), copy.moved_bytes.is_none(), copy.instruction)
    });
    found
}

/// A copy whose reason is asked for.
struct Copied<'a, 'm> {
    index: InstructionIdx,
    hlo: &'m Instruction,
    source: InstructionIdx,
    from: &'m Shape,
    to: &'m Shape,
    kind: CopyKind,
    readers: &'a [Reader],
}

/// Who reads a copy; of a start, who reads what its end gives.
fn readers_of_copy(module: &Module, index: InstructionIdx, hlo: &Instruction) -> Vec<Reader> {
    if hlo.opcode != Opcode::CopyStart {
        return readers(module, index);
    }
    let ends =
        module.users(index).iter().filter(|user| module.instruction(**user).opcode == Opcode::CopyDone);
    ends.flat_map(|end| readers(module, *end)).collect()
}

/// Whether a fusion does nothing but this copy.
fn is_alone(module: &Module, hlo: &Instruction) -> bool {
    let body = module.computation(hlo.computation);
    body.instructions().all(|index| {
        let other = module.instruction(index);
        std::ptr::eq(other, hlo)
            || matches!(
                other.opcode,
                Opcode::Parameter | Opcode::Bitcast | Opcode::Tuple | Opcode::GetTupleElement
            )
    })
}

/// Where instructions stand in the schedule of their computation.
pub(super) struct Order {
    position: Vec<u32>,
    is_scheduled: bool,
}

impl Order {
    fn of(module: &Module) -> Self {
        let mut position = vec![0; module.instructions().len()];
        for (computation, _) in module.computations() {
            for (next, index) in (0..).zip(module.order(computation).iter()) {
                position[index.index()] = next;
            }
        }
        Self { position, is_scheduled: module.is_scheduled() }
    }

    fn at(&self, index: InstructionIdx) -> u32 {
        self.position.get(index.index()).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
