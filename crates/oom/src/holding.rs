//! What a program keeps in HBM, buffer by buffer: from a dump's texts, or from a run that was profiled.

use std::collections::{BTreeMap, BTreeSet};

use haloscope_hlo::{BufferAllocation, BufferAssignment, Module};
use haloscope_program::heap::Buffers;
use haloscope_program::program_memory::{Group, ProgramMemory, name_of, shape_of};
use haloscope_report::Error;

use crate::loss::{self, Logits};
use crate::message::{Buffer, What};
use crate::program::{self, Handed};
use crate::read::short;
use crate::size::Size;

/// Buffers that are kept, the largest.
const MOST_BUFFERS: usize = 20_000;
/// Values of an allocation that are looked at.
const MOST_VALUES: usize = 200_000;

/// What a program keeps in a memory.
#[derive(Debug, Clone, Default)]
pub struct Holding {
    /// Its buffers, the largest first.
    pub buffers: Vec<Buffer>,
    /// Bytes of arguments.
    pub argument_bytes: i64,
    /// Bytes of results with memory of their own.
    pub result_bytes: i64,
    /// Bytes of temporaries, holes between them included.
    pub temporary_bytes: i64,
    /// Bytes of constants.
    pub constant_bytes: i64,
    /// Devices over which the program is partitioned, where it says so.
    pub partitions: Option<u64>,
    /// Buffers that are not listed.
    pub left_out: usize,
    /// Words and elements of values that ops of a loss make, of each token for each word.
    pub(crate) logits: BTreeSet<Logits>,
    /// Whether the program computes gradients, where its names tell.
    pub(crate) gradient: Option<bool>,
    /// Whether the program has a loop, where its module is known.
    pub(crate) has_loop: Option<bool>,
    /// How often its loops go round; `None` where the program, or that of one of its loops, is not known.
    pub(crate) trips: Option<BTreeSet<i64>>,
    /// What its loops keep of each trip for other loops, by the number of trips.
    pub(crate) handed: BTreeMap<i64, Handed>,
    /// Arrays that it gives back.
    pub(crate) results: BTreeSet<(&'static str, Vec<i64>)>,
    /// Types and extents of stacks that a loop fills while it reads a value of that shape.
    pub(crate) filled_beside: BTreeSet<(&'static str, Vec<i64>)>,
    /// Whether the compiler computes values again by itself.
    pub(crate) is_rematerialised: bool,
    /// Extents of its values that are f64.
    pub(crate) doubles: BTreeSet<Vec<i64>>,
    /// Elements of values that Fourier transforms make.
    pub(crate) transforms: BTreeSet<i64>,
}

impl Holding {
    /// All of it.
    #[must_use]
    pub fn total_bytes(&self) -> i64 {
        [self.argument_bytes, self.result_bytes, self.temporary_bytes, self.constant_bytes]
            .iter()
            .fold(0, |sum, bytes| i64::saturating_add(sum, *bytes))
    }

    /// From the text of a buffer assignment, and of the module where there is one, which has the ops' names.
    ///
    /// # Errors
    /// [`Error::Usage`] where a text cannot be read, with the line.
    pub fn of_texts(assignment: &str, module: Option<&Module>) -> Result<Self, Error> {
        let read = BufferAssignment::parse(assignment)
            .map_err(|error| Error::Usage(format!("the buffer assignment cannot be read: {error}")))?;
        let shapes = shapes(assignment);
        Ok(Self::of_assignment(&read, |id| shapes.get(&id).map(|shape| (*shape).to_owned()), module))
    }

    /// From a buffer assignment; `shape` says the shape of a value.
    fn of_assignment(
        read: &BufferAssignment,
        shape: impl Fn(i64) -> Option<String>,
        module: Option<&Module>,
    ) -> Self {
        let names: BTreeMap<i64, (&str, &[i64])> = read
            .logical_buffers
            .iter()
            .map(|value| (value.id, (value.instruction_name.as_str(), value.shape_index.as_slice())))
            .collect();
        let mut this = module.map(Self::named).unwrap_or_default();
        for allocation in read.allocations.iter().filter(|a| a.memory_space == 0 && !a.is_thread_local) {
            let what = this.count(Group::of(allocation), allocation.size_bytes);
            let is_slots = what == What::Temporary;
            for slot in slots(allocation, is_slots) {
                let best =
                    slot.iter().min_by_key(|id| rank(names.get(id).map_or("", |(name, _)| *name), module));
                let Some((name, path)) = best.and_then(|id| names.get(id)) else { continue };
                let size = if is_slots { slot_bytes(allocation, &slot) } else { allocation.size_bytes };
                let shape = best.and_then(|id| shape(*id)).unwrap_or_default();
                this.buffers.push(described(what, size, &shape, (name, path), allocation, module));
            }
        }
        this.sort();
        this
    }

    /// From a program of a run, at its peak.
    #[must_use]
    pub fn of_program(buffers: &Buffers<'_>) -> Self {
        let memory = ProgramMemory::new(buffers, 0);
        let module = buffers.module;
        if memory.is_without_trace() {
            // Nothing says what is alive when: what fills the memory is known all the same.
            let shape = |id| Some(shape_of(buffers.get(buffers.row(id)?)?).to_string());
            return Self::of_assignment(buffers.assignment, shape, Some(module));
        }
        let mut this = Self::named(module);
        for alive in memory.alive_at_peak() {
            let allocation = alive.buffer.allocation;
            let what = this.count(alive.group, alive.bytes);
            let path = &alive.buffer.logical.shape_index;
            let shape = shape_of(alive.buffer).to_string();
            let name = &alive.instruction().name;
            let mut buffer = described(what, alive.bytes, &shape, (name, path), allocation, Some(module));
            buffer.name = name_of(alive.buffer);
            buffer.unpadded = Some(Size::exact(alive.unpadded_bytes));
            this.buffers.push(buffer);
        }
        this.sort();
        this
    }

    /// What the names of a module's ops say, without its buffers.
    fn named(module: &Module) -> Self {
        Self {
            partitions: module.partition_count(),
            logits: loss::in_module(module),
            gradient: program::has_gradient(module),
            has_loop: Some(program::has_loop(module)),
            trips: program::trips(module),
            handed: program::handed(module),
            results: program::results(module),
            filled_beside: program::filled_beside(module),
            is_rematerialised: program::is_rematerialised(module),
            doubles: program::doubles(module),
            transforms: program::transforms(module),
            ..Self::default()
        }
    }

    fn count(&mut self, group: Group, bytes: i64) -> What {
        let (what, sum) = match group {
            Group::Parameter => (What::Argument, &mut self.argument_bytes),
            Group::Output => (What::Result, &mut self.result_bytes),
            Group::Constant => (What::Constant, &mut self.constant_bytes),
            Group::Temporary | Group::ThreadLocal => (What::Temporary, &mut self.temporary_bytes),
        };
        *sum = sum.saturating_add(bytes);
        what
    }

    fn sort(&mut self) {
        self.buffers.sort_by(|a, b| {
            let bytes = |buffer: &Buffer| buffer.size.map_or(0, |size| size.bytes);
            bytes(b).cmp(&bytes(a)).then_with(|| a.what.cmp(&b.what)).then_with(|| a.name.cmp(&b.name))
        });
        self.left_out = self.buffers.len().saturating_sub(MOST_BUFFERS);
        self.buffers.truncate(MOST_BUFFERS);
    }
}

/// A buffer in words.
fn described(
    what: What,
    bytes: i64,
    shape: &str,
    (name, path): (&str, &[i64]),
    allocation: &BufferAllocation,
    module: Option<&Module>,
) -> Buffer {
    let mut buffer = Buffer {
        what,
        size: Some(Size::exact(bytes)),
        unpadded: crate::shape::unpadded_bytes(shape).map(Size::exact),
        shape: short(shape),
        name: name.to_owned(),
        is_donated: allocation.is_parameter_aliased_with_output,
        ..Buffer::default()
    };
    if !path.is_empty() {
        let path: Vec<String> = path.iter().map(ToString::to_string).collect();
        buffer.name = format!("{name}{{{}}}", path.join(","));
    }
    if let Some(module) = module {
        place(module, name, &mut buffer);
    }
    buffer
}

/// The op's name and source line of an instruction.
pub(crate) fn place(module: &Module, name: &str, buffer: &mut Buffer) {
    let Some(instruction) = module.instruction_by_name(name).map(|index| module.instruction(index)) else {
        return;
    };
    if let Some(op_name) = instruction.op_name() {
        buffer.op_name = short(op_name);
    }
    let Some(metadata) = &instruction.metadata else { return };
    let frame = metadata.stack_frame_id.map(|id| module.stack_frames.stack(id)).unwrap_or_default();
    if let Some(frame) = frame.first().filter(|frame| !frame.file.is_empty()) {
        buffer.source = format!("{}:{}", short(frame.file), frame.location.line);
    } else if let (Some(file), Some(line)) = (&metadata.source_file, metadata.source_line) {
        buffer.source = format!("{}:{line}", short(file));
    }
}

/// The values that together fill an allocation, those that take turns at one place together. Where values overlap in part, the
/// larger stands for the memory.
fn slots(allocation: &BufferAllocation, is_temporary: bool) -> Vec<Vec<i64>> {
    let mut values: Vec<_> = allocation.assigned.iter().take(MOST_VALUES).collect();
    values.sort_by_key(|value| (std::cmp::Reverse(value.size_bytes), value.offset_bytes, value.buffer_id));
    if !is_temporary {
        let largest = values.first().map_or(0, |value| value.size_bytes);
        let ids = values.iter().take_while(|value| value.size_bytes == largest).map(|value| value.buffer_id);
        return vec![ids.collect()];
    }
    let mut taken: BTreeMap<i64, (i64, Vec<i64>)> = BTreeMap::new();
    for value in values.iter().filter(|value| value.size_bytes > 0 && value.offset_bytes >= 0) {
        let (from, to) = (value.offset_bytes, value.offset_bytes.saturating_add(value.size_bytes));
        if let Some((end, ids)) = taken.get_mut(&from)
            && *end == to
        {
            ids.push(value.buffer_id);
            continue;
        }
        let is_free = taken.range(..to).next_back().is_none_or(|(_, (end, _))| *end <= from);
        if is_free {
            taken.insert(from, (to, vec![value.buffer_id]));
        }
    }
    taken.into_values().map(|(_, ids)| ids).collect()
}

fn slot_bytes(allocation: &BufferAllocation, slot: &[i64]) -> i64 {
    let first = slot.first();
    allocation
        .assigned
        .iter()
        .find(|value| Some(&value.buffer_id) == first)
        .map_or(0, |value| value.size_bytes)
}

/// The lower the better a name says what a value is.
fn rank(name: &str, module: Option<&Module>) -> (bool, bool, usize) {
    const POOR: [&str; 9] =
        ["while", "wide.", "custom-call", "param", "get-tuple", "copy", "tuple", "bitcast.", "arg_tuple"];
    let has_op = module
        .and_then(|module| Some(module.instruction(module.instruction_by_name(name)?)))
        .is_some_and(|instruction| instruction.op_name().is_some());
    (!has_op, POOR.iter().any(|poor| name.starts_with(poor)), name.len())
}

/// The shape of each value of a buffer assignment, by its id.
fn shapes(text: &str) -> BTreeMap<i64, &str> {
    let shape = |line| {
        let rest = str::strip_prefix(line, " value: <")?;
        let id = rest.split(' ').next()?.parse().ok()?;
        Some((id, rest.split_once("): ")?.1))
    };
    text.lines().filter_map(shape).collect()
}

/// From a memory-usage report alone, which has shapes and sizes, but not what they are for: the total of HBM, and its largest
/// buffers.
#[must_use]
pub(crate) fn of_usage_report(text: &str) -> Option<(i64, Vec<Buffer>)> {
    let rest = &text[text.find("Memory Space: default")?..];
    let own = rest.get(1..)?.find("Memory Space: ").map_or(rest, |end| &rest[..=end]);
    let total = crate::text::after(own, "Total bytes: ").and_then(Size::parse).map(|(size, _)| size.bytes)?;
    let mut buffers = Vec::new();
    for line in own.lines() {
        let mut cells = line.split(';').map(str::trim);
        let (Some(first), Some(size), Some(_), Some(values), Some(shapes)) =
            (cells.next(), cells.next(), cells.next(), cells.next(), cells.next())
        else {
            continue;
        };
        let (Some((size, _)), true) = (Size::parse(size), first.contains('%')) else { continue };
        let Ok(_) = values.parse::<u64>() else { continue };
        // The largest of the shapes that take turns there.
        let all = shapes.split(", ").map(|shape| shape.split_once('×').map_or(shape, |(_, shape)| shape));
        let shape = all.max_by_key(|shape| crate::shape::unpadded_bytes(shape)).unwrap_or(shapes);
        let unpadded = crate::shape::unpadded_bytes(shape).map(Size::exact);
        let size = unpadded.filter(|own| (own.bytes - size.bytes).abs() <= size.slack_bytes).unwrap_or(size);
        buffers.push(Buffer { size: Some(size), unpadded, shape: short(shape), ..Buffer::default() });
    }
    buffers.sort_by_key(|buffer| std::cmp::Reverse(buffer.size.map_or(0, |size| size.bytes)));
    buffers.truncate(MOST_BUFFERS);
    Some((total, buffers))
}

#[cfg(test)]
mod tests;
