//! Table `buffers`: values in HBM that grew or shrank, are new or gone.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use haloscope_hlo::{Alignment, InstructionIdx, Module};

use super::memory::HBM;
use crate::Matches;
use haloscope_program::heap::Buffers;
use haloscope_report::{Table, row};

/// Smaller differences are left out.
const LEAST_BYTES: i64 = 1024;

struct Row {
    names: [Option<String>; 2],
    bytes: [Option<i64>; 2],
    framework_op: Option<String>,
    program: String,
}

impl Row {
    fn delta(&self) -> i64 {
        self.bytes[1].unwrap_or(0).saturating_sub(self.bytes[0].unwrap_or(0))
    }
}

/// The values that differ by a kibibyte or more, those that differ most first; `None` where no program has a buffer assignment
/// in both runs.
pub(super) fn buffers(matches: &Matches<'_>, limit: usize) -> Option<Table> {
    let mut rows = Vec::new();
    let mut is_known = false;
    for pair in &matches.programs {
        let (Some(alignment), Some(side)) = (&pair.alignment, &pair.b) else { continue };
        let program = side.hlo.map(|program| program.label()).unwrap_or_default();
        is_known |= add(alignment, &program, &mut rows).is_some();
    }
    rows.sort_by(|x, y| {
        let key = |row: &Row| (Reverse(row.delta().unsigned_abs()), row.delta() < 0);
        key(x).cmp(&key(y)).then_with(|| x.names.cmp(&y.names))
    });
    let mut table = Vec::new();
    for row in rows.into_iter().take(limit) {
        let delta = row.delta();
        let change = match row.bytes {
            [None, _] => "new",
            [_, None] => "gone",
            _ if delta > 0 => "grew",
            _ => "shrank",
        };
        let [was, is] = row.names;
        let or_none = |bytes: Option<i64>| Some(bytes.unwrap_or(0));
        let row = row![
            text(
                "value",
                "Value",
                "The instruction that makes it, and its place in the tuple.",
                is.or_else(|| was.clone())
            ),
            text("was", "Was", "The same in the baseline.", was),
            text("change", "Change", "grew, shrank, new or gone.", change),
            bytes(
                "baseline_bytes",
                "Baseline",
                "Its size in the baseline, padding included.",
                or_none(row.bytes[0])
            ),
            bytes("experiment_bytes", "Experiment", "Its size in the experiment.", or_none(row.bytes[1])),
            bytes(
                "delta_bytes",
                "Delta",
                "Experiment minus baseline. Values take turns in memory, so the deltas do not add up to the delta of the peak.",
                delta
            ),
            text(
                "framework_op",
                "Framework op",
                "The scope path in JAX, PyTorch or TensorFlow.",
                row.framework_op
            ),
            text("program", "Program", "The program.", row.program),
        ];
        table.push(row);
    }
    is_known.then(|| Table::of("buffers", "Values in HBM that differ in size", table))
}

/// Sizes of a module's values in HBM, by what makes them and where in its tuple.
type Sizes = BTreeMap<(InstructionIdx, Vec<i64>), i64>;

fn add(alignment: &Alignment<'_>, program: &str, rows: &mut Vec<Row>) -> Option<()> {
    let (a, b) = (alignment.a, alignment.b);
    let before = sizes(a)?;
    let mut after = sizes(b)?;
    let mut push = |names: [Option<String>; 2], bytes: [Option<i64>; 2], op: Option<&str>| {
        let row = Row { names, bytes, framework_op: op.map(str::to_owned), program: program.to_owned() };
        if row.delta().abs() >= LEAST_BYTES {
            rows.push(row);
        }
    };
    for ((at, index), bytes) in &before {
        let other = alignment.in_b(*at).map(|other| (other, index.clone()));
        let now = other.as_ref().and_then(|other| after.remove(other));
        let is = other.filter(|_| now.is_some()).map(|(other, index)| name(b, other, &index));
        push([Some(name(a, *at, index)), is], [Some(*bytes), now], a.instruction(*at).op_name());
    }
    for ((at, index), bytes) in &after {
        push([None, Some(name(b, *at, index))], [None, Some(*bytes)], b.instruction(*at).op_name());
    }
    Some(())
}

fn name(module: &Module, at: InstructionIdx, index: &[i64]) -> String {
    let name = &module.instruction(at).name;
    if index.is_empty() {
        return name.clone();
    }
    let index: Vec<String> = index.iter().map(i64::to_string).collect();
    format!("{name}{{{}}}", index.join(","))
}

/// `None` where nobody wrote down the module's buffers.
fn sizes(module: &Module) -> Option<Sizes> {
    let buffers = Buffers::new(module)?;
    let mut sizes = Sizes::new();
    for row in 0..buffers.len() {
        let Some(buffer) = buffers.get(row) else { continue };
        if buffer.allocation.memory_space != HBM || buffer.allocation.is_thread_local {
            continue;
        }
        if let Some(at) = module.instruction_by_name(&buffer.instruction.name) {
            sizes.insert((at, buffer.logical.shape_index.clone()), buffer.logical.size_bytes);
        }
    }
    Some(sizes)
}
