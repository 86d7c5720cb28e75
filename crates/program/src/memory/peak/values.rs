//! Headline numbers.

use super::buffers::Row;
use super::instruction_at;
use crate::capacity::{Capacity, Source};
use crate::heap::is_indefinite;
use crate::memory::memory_space;
use crate::program_memory::{Group, ProgramMemory};
use crate::scoped_memory;
use haloscope_report::units;
use haloscope_report::{Status, Unit, Value};

/// What the numbers are told together with.
pub(super) struct Headline<'h> {
    /// The program's label.
    pub(super) program: &'h str,
    /// How many there are in the scope.
    pub(super) programs: usize,
    /// Bytes of the device's memory.
    pub(super) capacity: Option<Capacity>,
    pub(super) space: i64,
}

pub(super) fn of(memory: &ProgramMemory<'_, '_>, rows: &[Row<'_, '_>], about: &Headline<'_>) -> Vec<Value> {
    let bytes =
        |id, label, value: Option<i64>, doc| Value::new(id, label, value, Unit::Bytes, Status::Derived, doc);
    let count = |id, label, value: Option<usize>, doc| {
        Value::new(id, label, value, Unit::Count, Status::Derived, doc)
    };
    let text =
        |id, label, value: Option<&str>, doc| Value::new(id, label, value, Unit::None, Status::Derived, doc);
    let of_group = |group| Some(memory.sum_of(|a| Group::of(a) == group));
    let replay = memory.replay.as_ref();
    let (peak, lasting, allocated) = (memory.peak_bytes(), memory.lasting_bytes(), memory.allocated_bytes());
    let events = memory.trace.map(|trace| trace.events.len());
    let event = replay.map(|replay| replay.peak_event);
    let scoped = scoped_memory::largest(memory.module(), 1);
    let need = allocated.max(peak);
    let mut values = vec![
        text(
            "program",
            "Program",
            Some(about.program),
            "The HLO module: the one asked for, else the one with the largest peak.",
        ),
        count(
            "programs",
            "Programs in scope",
            Some(about.programs),
            "HLO modules in the scope; copies on several hosts count once.",
        ),
        text(
            "space",
            "Memory",
            Some(&memory_space::name(about.space)),
            "The memory that the numbers are about; `hbm` is any main memory.",
        ),
        Value::new(
            "peak_bytes",
            "Peak",
            Some(peak),
            Unit::Bytes,
            as_sure_as(memory),
            "The most bytes alive at once, lasting and temporary, including padding. Estimated, and a lower bound, if temporary ones are unknown.",
        ),
        Value::new(
            "peak_unpadded_bytes",
            "Peak without padding",
            Some(memory.peak_unpadded_bytes()),
            Unit::Bytes,
            as_sure_as(memory),
            "Bytes alive at that time, with temporary buffers counted without their padding; lasting allocations count in full, as in XProf.",
        ),
        bytes(
            "padding_bytes",
            "Padding at the peak",
            Some(units::sum(rows.iter().filter_map(|row| row.padding_bytes))),
            "Bytes at the peak beyond those of the buffers' elements, lasting buffers included.",
        ),
        bytes(
            "lasting_bytes",
            "Lasting",
            Some(lasting),
            "Bytes of allocations that live as long as the program: parameters, outputs and constants.",
        ),
        bytes(
            "temporary_bytes",
            "Temporary at the peak",
            memory.temporary_bytes(),
            "Bytes at the peak that the heap simulator placed; unknown if the module has no trace of it.",
        ),
    ];
    values.extend([
        count(
            "peak_event",
            "Peak at heap event",
            event,
            "The event of the heap trace that first reaches the peak, from 0.",
        ),
        text(
            "peak_instruction",
            "Peak at instruction",
            event.map(|e| instruction_at(memory, e)).filter(|name| !name.is_empty()),
            "The instruction of that event.",
        ),
        Value::new(
            "peak_position",
            "Peak at, of the schedule",
            event.zip(events.filter(|events| *events > 1)).map(|(e, all)| e as f64 / (all - 1) as f64),
            Unit::Share,
            Status::Derived,
            "That event's place among all: 0 the first, 1 the last. Events are not evenly spread in time.",
        ),
        count(
            "heap_events",
            "Heap events",
            events,
            "Events of the heap trace: allocations and frees in the order of the schedule.",
        ),
        count("buffers_at_peak", "Buffers at the peak", Some(rows.len()), "Buffers alive at the peak."),
    ]);
    values.extend([
        bytes(
            "entry_parameter_bytes",
            "Entry parameters",
            of_group(Group::Parameter),
            "Allocations that hold a parameter of the program, including those that an output takes over.",
        ),
        bytes(
            "output_bytes",
            "Outputs",
            of_group(Group::Output),
            "Allocations that may hold a result and no parameter.",
        ),
        bytes(
            "donated_bytes",
            "Parameters reused for outputs",
            Some(memory.sum_of(|a| a.is_parameter_aliased_with_output)),
            "Allocations of parameters whose memory an output takes over: donated buffers.",
        ),
        bytes("constant_bytes", "Constants", of_group(Group::Constant), "Allocations that hold a constant."),
        bytes(
            "thread_local_bytes",
            "Thread-local",
            of_group(Group::ThreadLocal),
            "Allocations that each call has for itself; not in any other number.",
        ),
        bytes(
            "temporary_allocated_bytes",
            "Temporary allocations",
            Some(memory.sum_of(|a| !is_indefinite(a))),
            "Allocations that the heap simulator fills: the temporary peak and the holes left between buffers.",
        ),
        bytes(
            "allocated_bytes",
            "Allocated",
            Some(allocated),
            "All allocations except thread-local ones: what the program requests from the device.",
        ),
    ]);
    values.extend([
        Value::new("capacity_bytes", "Memory of the device", about.capacity.map(|c| c.bytes), Unit::Bytes, source_status(about.capacity), "Main memory of the smallest device of the program's host: from its allocator, else from the profile, else from the table of chips."),
        text("capacity_source", "Memory of the device from", about.capacity.map(|c| c.source.word()), "allocator: reserved, allocated and available together; trace: the profile states it; table: from the chip's name."),
        Value::new(
            "headroom_bytes",
            "Headroom",
            about.capacity.map(|c| c.bytes.saturating_sub(need)),
            Unit::Bytes,
            match about.capacity {
                Some(Capacity { source: Source::Table, .. }) => Status::Estimated,
                _ => Status::Derived,
            },
            "Memory of the device minus what the program allocates. The runtime's own memory and other programs' buffers are not in it.",
        ),
        Value::new("scoped_vmem_bytes", "Scoped VMEM, largest", scoped.map(|s| s.0), Unit::Bytes, Status::Derived, "The most VMEM that one instruction reserves while it runs; unknown if none says."),
        text("scoped_vmem_instruction", "Scoped VMEM, instruction", scoped.map(|s| s.1), "The first instruction that reserves that much."),
    ]);
    values
}

/// How well the peak is known: without a heap trace it lacks the temporary buffers.
fn as_sure_as(memory: &ProgramMemory<'_, '_>) -> Status {
    if memory.is_without_trace() { Status::Estimated } else { Status::Derived }
}

fn source_status(capacity: Option<Capacity>) -> Status {
    match capacity {
        Some(Capacity { source: Source::Trace | Source::Allocator, .. }) => Status::Measured,
        _ => Status::Estimated,
    }
}
