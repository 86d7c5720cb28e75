//! Counts on both sides, and buffers that grew.

use std::collections::BTreeMap;

use haloscope_hlo::{Alignment, BufferAssignment, InstructionIdx, Module, Opcode};

use haloscope_report::{Status, Table, Unit, Value, row};

pub(super) fn opcodes(alignment: &Alignment<'_>) -> Table {
    let count = |module: &Module| {
        let mut counts: BTreeMap<String, i64> = BTreeMap::new();
        for (_, instruction) in module.instructions() {
            match counts.get_mut(instruction.opcode_name()) {
                Some(count) => *count += 1,
                None => drop(counts.insert(instruction.opcode_name().to_owned(), 1)),
            }
        }
        counts
    };
    let rows = by_difference(&count(alignment.a), &count(alignment.b)).into_iter().map(|(name, a, b)| {
        row![
            text("opcode", "Opcode", "What instructions do.", name),
            count("a", "A", "Instructions of A, fused ones included.", a),
            count("b", "B", "Instructions of B, fused ones included.", b),
            count("delta", "More in B", "B less A.", b - a),
        ]
    });
    Table::of("opcodes", "By opcode", rows)
}

pub(super) fn categories(alignment: &Alignment<'_>) -> Table {
    let count = |module: &Module| {
        let mut counts: BTreeMap<String, i64> = BTreeMap::new();
        for (_, instruction) in module.instructions() {
            if !module.computation(instruction.computation).is_fusion {
                *counts.entry(module.category(instruction).to_owned()).or_default() += 1;
            }
        }
        counts
    };
    let rows = by_difference(&count(alignment.a), &count(alignment.b)).into_iter().map(|(name, a, b)| {
        row![
            text("category", "Category", "As profiles call it.", name),
            count("a", "A", "Instructions of A outside fusions.", a),
            count("b", "B", "Instructions of B outside fusions.", b),
            count("delta", "More in B", "B less A.", b - a),
        ]
    });
    Table::of("categories", "By category", rows)
}

/// What is counted with its numbers in A and in B, by how much they differ.
fn by_difference(a: &BTreeMap<String, i64>, b: &BTreeMap<String, i64>) -> Vec<(String, i64, i64)> {
    let mut names: Vec<&String> = a.keys().chain(b.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let count = |counts: &BTreeMap<String, i64>, name: &String| counts.get(name).copied().unwrap_or(0);
    let mut rows: Vec<(String, i64, i64)> =
        names.into_iter().map(|name| (name.clone(), count(a, name), count(b, name))).collect();
    rows.sort_by_key(|(_, a, b)| (std::cmp::Reverse((b - a).abs()), std::cmp::Reverse(*a.max(b))));
    rows
}

/// Sizes of values by instruction and path.
type Sizes = BTreeMap<(InstructionIdx, Vec<i64>), i64>;

/// Buffers that differ in size between both sides.
pub(super) struct Buffers {
    rows: Vec<Grown>,
}

struct Grown {
    names: [String; 2],
    index: Vec<i64>,
    bytes: [i64; 2],
    op_name: Option<String>,
}

impl Buffers {
    /// `None` where a side has no buffer assignment.
    pub(super) fn of(alignment: &Alignment<'_>) -> Option<Self> {
        let (a, b) = (alignment.a, alignment.b);
        let before = sizes(a, a.buffer_assignment.as_ref()?);
        let after = sizes(b, b.buffer_assignment.as_ref()?);
        let mut rows = Vec::new();
        for ((at, index), bytes) in &before {
            let Some(other) = alignment.in_b(*at) else { continue };
            let Some(now) = after.get(&(other, index.clone())).filter(|now| *now != bytes) else { continue };
            let theirs = b.instruction(other);
            rows.push(Grown {
                names: [a.instruction(*at).name.clone(), theirs.name.clone()],
                index: index.clone(),
                bytes: [*bytes, *now],
                op_name: theirs.op_name().map(str::to_owned),
            });
        }
        rows.sort_by_key(|row| std::cmp::Reverse(row.bytes[1].saturating_sub(row.bytes[0])));
        Some(Self { rows })
    }

    fn growth(&self) -> impl Iterator<Item = i64> {
        self.rows.iter().map(|row| row.bytes[1].saturating_sub(row.bytes[0])).filter(|bytes| *bytes > 0)
    }

    pub(super) fn table(&self, rows: usize) -> Table {
        let mut table = Vec::new();
        for row in self.rows.iter().take(rows) {
            let index: Vec<String> = row.index.iter().map(i64::to_string).collect();
            let row = row![
                text(
                    "a_name",
                    "Name in A",
                    "The instruction in A that makes the value.",
                    row.names[0].as_str()
                ),
                text("b_name", "Name in B", "The same in B.", row.names[1].as_str()),
                text("index", "Index", "Path into the value's tuple.", format!("{{{}}}", index.join(","))),
                bytes("delta_bytes", "Growth", "B less A.", row.bytes[1].saturating_sub(row.bytes[0])),
                bytes("a_bytes", "A", "Size in A, padding included.", row.bytes[0]),
                bytes("b_bytes", "B", "Size in B, padding included.", row.bytes[1]),
                text(
                    "op_name",
                    "Framework op",
                    "The scope path in JAX, PyTorch or TensorFlow.",
                    row.op_name.clone()
                ),
            ];
            table.push(row);
        }
        Table::of("buffers", "Buffers with another size", table)
    }
}

fn sizes(module: &Module, assignment: &BufferAssignment) -> Sizes {
    let mut sizes = Sizes::new();
    for buffer in &assignment.logical_buffers {
        let by_id = buffer.instruction_id.and_then(|id| module.instruction_by_id(id));
        if let Some(at) = by_id.or_else(|| module.instruction_by_name(&buffer.instruction_name)) {
            sizes.insert((at, buffer.shape_index.clone()), buffer.size_bytes);
        }
    }
    sizes
}

/// What came new that moves data: counts and bytes.
pub(super) fn values(alignment: &Alignment<'_>, buffers: Option<&Buffers>) -> Vec<Value> {
    let b = alignment.b;
    let mut added = Added::default();
    for (at, _) in b.instructions().filter(|(at, _)| alignment.in_a(*at).is_none()) {
        added.look_at(b, at);
    }
    let derived =
        |id, label, value: Option<u64>, unit, doc| Value::new(id, label, value, unit, Status::Derived, doc);
    let count = |id, label, n: u64, doc| derived(id, label, Some(n), Unit::Count, doc);
    vec![
        count("added_copies", "Copies added", added.copies, "copy and copy-start outside fusions."),
        derived(
            "added_copy_bytes",
            "Bytes of copies added",
            Some(added.copy_bytes),
            Unit::Bytes,
            "Bytes that one execution of each writes, without padding.",
        ),
        count(
            "added_relayouts",
            "Relayouts added",
            added.relayouts,
            "Copies to another layout, transposes, and fusions that only move data.",
        ),
        count(
            "added_collectives",
            "Collectives added",
            added.collectives,
            "Operations between devices; of an asynchronous one, its start.",
        ),
        derived(
            "buffers_grown",
            "Buffers grown",
            buffers.map(|buffers| buffers.growth().count() as u64),
            Unit::Count,
            "Values that need more memory in B; unknown if a side has no buffer assignment.",
        ),
        Value::new(
            "buffers_grown_bytes",
            "Growth of buffers",
            buffers.map(|buffers| buffers.growth().fold(0, i64::saturating_add)),
            Unit::Bytes,
            Status::Derived,
            "Sum of their growth; values that share memory each count.",
        ),
    ]
}

#[derive(Default)]
struct Added {
    copies: u64,
    copy_bytes: u64,
    relayouts: u64,
    collectives: u64,
}

impl Added {
    fn look_at(&mut self, module: &Module, at: InstructionIdx) {
        let instruction = module.instruction(at);
        if module.computation(instruction.computation).is_fusion {
            return;
        }
        let ends = matches!(
            instruction.opcode,
            Opcode::AllReduceDone | Opcode::AllGatherDone | Opcode::CollectivePermuteDone
        );
        self.collectives += u64::from(instruction.opcode.is_collective() && !ends);
        // The start of a copy gives its destination first.
        let result = instruction.shape.tuple_shapes.first().unwrap_or(&instruction.shape);
        if matches!(instruction.opcode, Opcode::Copy | Opcode::CopyStart) {
            self.copies += 1;
            self.copy_bytes = self.copy_bytes.saturating_add(result.bytes().unwrap_or(0));
        }
        let source = instruction.operands.first().map(|operand| &module.instruction(*operand).shape);
        let order = |shape: &haloscope_hlo::Shape| {
            shape.layout.as_ref().map(|layout| (layout.minor_to_major.clone(), layout.tiles.clone()))
        };
        let is_relayout = match instruction.opcode {
            Opcode::Transpose => true,
            Opcode::Copy | Opcode::CopyStart => source.is_some_and(|source| order(source) != order(result)),
            Opcode::Fusion => moves_data_only(module, at),
            _ => false,
        };
        self.relayouts += u64::from(is_relayout);
    }
}

/// Whether a fusion copies or transposes, and does nothing else.
fn moves_data_only(module: &Module, fusion: InstructionIdx) -> bool {
    let mut moves = false;
    for body in module.bodies(fusion) {
        for at in module.computation(*body).instructions() {
            match module.instruction(at).opcode {
                Opcode::Copy | Opcode::Transpose => moves = true,
                Opcode::Parameter
                | Opcode::Bitcast
                | Opcode::Reshape
                | Opcode::Tuple
                | Opcode::GetTupleElement => {}
                _ => return false,
            }
        }
    }
    moves
}
