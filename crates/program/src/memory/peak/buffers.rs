//! Every buffer that is alive at the peak.

use std::borrow::Cow;

use haloscope_hlo::{HeapEvent, HeapEventKind, Module};

use super::instruction_at;
use crate::program_memory::{Alive, ProgramMemory, name_of, shape_of};
use haloscope_event_groups::framework_op::FrameworkOp;
use haloscope_report::{Cell, Table, row};
use haloscope_time::hlo_costs::source_line;
use haloscope_time::layer::Layer;

/// A buffer that is alive at the peak, with what it is told apart by.
pub(super) struct Row<'a, 'm> {
    pub(super) alive: Alive<'a, 'm>,
    /// Bytes beyond those of its elements.
    pub(super) padding_bytes: Option<i64>,
    pub(super) source: Cow<'m, str>,
    pub(super) layer: Option<Layer>,
}

impl<'m> Row<'_, 'm> {
    pub(super) fn op_name(&self) -> &'m str {
        self.alive.buffer.instruction.op_name().unwrap_or_default()
    }

    /// The scope path around the op; of a parameter the path of the structure that it is a leaf of.
    pub(super) fn scope(&self) -> String {
        // A fusion may have the names of several ops, divided by semicolons.
        let name = self.op_name().split(';').next().unwrap_or_default();
        let op = FrameworkOp::parse(name);
        let scopes: Vec<_> = op.scopes().collect();
        if !scopes.is_empty() {
            return scopes.join("/");
        }
        name.rfind('[').map_or(name, |leaf| &name[..leaf]).to_owned()
    }
}

/// Largest first, of equals in the order of their ids.
pub(super) fn rows<'a, 'm>(module: &'m Module, memory: &'a ProgramMemory<'a, 'm>) -> Vec<Row<'a, 'm>> {
    let mut alive = memory.alive_at_peak();
    alive.sort_by_key(|alive| (std::cmp::Reverse(alive.bytes), alive.buffer.logical.id));
    let row = |alive: Alive<'a, 'm>| {
        let instruction = alive.buffer.instruction;
        let has_size = alive.unpadded_bytes > 0 || alive.bytes == 0;
        Row {
            alive,
            padding_bytes: has_size.then(|| alive.bytes.saturating_sub(alive.unpadded_bytes).max(0)),
            source: instruction.metadata.as_ref().map(|m| source_line(module, m)).unwrap_or_default(),
            layer: Layer::of(instruction.op_name().unwrap_or_default()),
        }
    };
    alive.into_iter().map(row).collect()
}

pub(super) fn table(memory: &ProgramMemory<'_, '_>, rows: &[Row<'_, '_>]) -> Table {
    let peak = memory.peak_bytes();
    let takers = takers(memory);
    let mut table = Vec::new();
    for row in rows {
        let alive = &row.alive;
        let (from, until) = alive.span.unzip();
        // What the last event still holds is held to the end.
        let last = memory.trace.map_or(0, |trace| trace.events.len().saturating_sub(1));
        let is_freed =
            until.is_some_and(|until| until < last || frees(memory, until, alive.buffer.logical.id));
        let at =
            |event: Option<usize>| event.map_or(Cell::Unknown, |e| Cell::words(instruction_at(memory, e)));
        let last_taker = until.filter(|_| is_freed).and_then(|e| takers.get(e).copied().flatten());
        let row = row![
            text(
                "instruction",
                "Instruction",
                "The instruction that makes it; in braces its place in a tuple.",
                name_of(alive.buffer)
            ),
            bytes(
                "bytes",
                "Bytes",
                "What it adds to the peak. Memory that lives as long as the program counts with its whole allocation, under the name of its largest buffer.",
                alive.bytes
            ),
            share("share", "Share", "Of the peak.", (peak > 0).then(|| alive.bytes as f64 / peak as f64)),
            bytes(
                "padding_bytes",
                "Padding",
                "Bytes beyond those of its elements: empty parts of layout tiles, and other values in an allocation that lives as long as the program. Unknown if the shape has no size.",
                row.padding_bytes
            ),
            text("shape", "Shape", "Its shape with its layout.", shape_of(alive.buffer).to_string()),
            text(
                "group",
                "Group",
                "Parameter, Output, Thread-local, Constant or Temporary: what its allocation is for. A parameter that an output takes over is a parameter.",
                alive.group.name()
            ),
            text("opcode", "Opcode", "The instruction's opcode.", alive.instruction().opcode_name()),
            text(
                "op_name",
                "Op name",
                "The framework's name of the op, or of the parameter.",
                Cell::words(row.op_name())
            ),
            text(
                "layer",
                "Layer",
                "The outermost numbered layer or block in the op name: a guess.",
                row.layer.map(|layer| layer.to_string())
            ),
            text("source", "Source", "File and line of the program.", Cell::words(&row.source)),
            text(
                "from",
                "From",
                "The instruction at which it gets memory; unknown if it exists from the start.",
                at(from)
            ),
            text(
                "until",
                "Until",
                "The last instruction that gets memory while it is alive: the trace does not name the instruction that frees it. Unknown if it exists to the end.",
                at(last_taker)
            ),
            count("from_event", "From event", "The event of the heap trace at which it gets memory.", from),
            count("until_event", "Until event", "The event at which it is freed, or the last one.", until),
            count("buffer_id", "Buffer", "Its number in the buffer assignment.", alive.buffer.logical.id),
            count("allocation", "Allocation", "The number of its allocation.", alive.buffer.allocation.index),
        ];
        table.push(row);
    }
    Table::of("buffers", "Buffers alive at the peak", table)
}

/// For each heap event the last one up to it that gives out memory: what runs then. Events that take memory back name the
/// instruction that made the buffer, not the one that is through with it.
fn takers(memory: &ProgramMemory<'_, '_>) -> Vec<Option<usize>> {
    let mut last = None;
    let events = memory.trace.iter().flat_map(|trace| &trace.events).enumerate();
    let taker = |(at, event): (usize, &HeapEvent)| {
        if event.kind != HeapEventKind::Free {
            last = Some(at);
        }
        last
    };
    events.map(taker).collect()
}

fn frees(memory: &ProgramMemory<'_, '_>, event: usize, id: i64) -> bool {
    let event = memory.trace.and_then(|trace| trace.events.get(event));
    event.is_some_and(|e| e.kind == HeapEventKind::Free && e.buffer_id == id)
}
