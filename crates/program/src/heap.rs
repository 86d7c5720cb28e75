//! What a program needs of a memory: buffers, the allocations that hold them, and a replay of the compiler's heap.
//!
//! The compiler places temporary values with a heap simulator and writes down what it did: a value gets memory, gives it
//! back, or uses the memory of another. Replaying those events gives the bytes in use before each of them, the peak, and
//! the buffers that hold memory at the peak. Parameters, outputs, constants and thread-local memory are not simulated: they
//! are there from the first instruction to the last.

use haloscope_hlo::{
    BufferAllocation, BufferAssignment, HeapEventKind, HeapTrace, Instruction, LogicalBuffer, Module,
};

/// The buffers of a module, found by their ids.
#[derive(Debug)]
pub struct Buffers<'m> {
    /// The module.
    pub module: &'m Module,
    /// What the compiler decided.
    pub assignment: &'m BufferAssignment,
    /// Rows by id.
    by_id: Vec<(i64, usize)>,
    rows: Vec<Buffer<'m>>,
}

/// A buffer that has a place.
#[derive(Debug, Clone, Copy)]
pub struct Buffer<'m> {
    /// The value.
    pub logical: &'m LogicalBuffer,
    /// The instruction that makes it.
    pub instruction: &'m Instruction,
    /// The allocation that holds it.
    pub allocation: &'m BufferAllocation,
    /// Bytes from the start of the allocation.
    pub offset_bytes: i64,
}

/// Whether an allocation lives as the program or a call does, rather than as the heap simulator says.
#[must_use]
pub fn is_indefinite(allocation: &BufferAllocation) -> bool {
    allocation.is_thread_local
        || allocation.entry_parameter.is_some()
        || allocation.is_constant
        || allocation.maybe_live_out
}

impl<'m> Buffers<'m> {
    /// The buffers of a module; `None` where the profile has no buffer assignment.
    ///
    /// Buffers whose instruction or allocation is missing have no row.
    #[must_use]
    pub fn new(module: &'m Module) -> Option<Self> {
        let assignment = module.buffer_assignment.as_ref()?;
        let mut logical: Vec<&LogicalBuffer> = assignment.logical_buffers.iter().collect();
        logical.sort_by_key(|buffer| buffer.id);
        let instruction_of = |buffer: &LogicalBuffer| {
            let by_id = buffer.instruction_id.and_then(|id| module.instruction_by_id(id));
            let index = by_id.or_else(|| module.instruction_by_name(&buffer.instruction_name))?;
            Some(module.instruction(index))
        };
        let mut rows = Vec::with_capacity(logical.len());
        for allocation in &assignment.allocations {
            for assigned in &allocation.assigned {
                let at = logical.partition_point(|buffer| buffer.id < assigned.buffer_id);
                let Some(&buffer) = logical.get(at).filter(|b| b.id == assigned.buffer_id) else { continue };
                if let Some(instruction) = instruction_of(buffer) {
                    rows.push(Buffer {
                        logical: buffer,
                        instruction,
                        allocation,
                        offset_bytes: assigned.offset_bytes,
                    });
                }
            }
        }
        // A buffer that two allocations claim lies in the last.
        let mut by_id: Vec<(i64, usize)> =
            rows.iter().enumerate().map(|(row, buffer)| (buffer.logical.id, row)).collect();
        by_id.sort_unstable();
        by_id.reverse();
        by_id.dedup_by_key(|(id, _)| *id);
        by_id.reverse();
        Some(Self { module, assignment, by_id, rows })
    }

    /// The row of a buffer.
    #[must_use]
    pub fn row(&self, id: i64) -> Option<usize> {
        let at = self.by_id.partition_point(|entry| entry.0 < id);
        self.by_id.get(at).filter(|entry| entry.0 == id).map(|entry| entry.1)
    }

    /// The buffer of a row.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<&Buffer<'m>> {
        self.rows.get(row)
    }

    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no buffer has a place.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The allocations of a memory space, by number.
    #[must_use]
    pub fn allocations(&self, memory_space: i64) -> Vec<&'m BufferAllocation> {
        let all = self.assignment.allocations.iter();
        let mut allocations: Vec<_> = all.filter(|a| a.memory_space == memory_space).collect();
        allocations.sort_by_key(|a| a.index);
        allocations
    }

    /// The heap trace that fills an allocation. The trace's own word for it cannot be relied on: its first buffer tells. Where
    /// several traces do, the last is taken.
    #[must_use]
    pub fn trace_of(&self, allocation: &BufferAllocation) -> Option<&'m HeapTrace> {
        let fills = |trace: &&HeapTrace| {
            let first = trace.events.first().and_then(|event| self.row(event.buffer_id));
            first.is_some_and(|row| self.rows[row].allocation.index == allocation.index)
        };
        self.assignment.heap_traces.iter().rev().find(fills)
    }

    /// The heap trace of a memory space: that of its first temporary allocation that has one, else the one with the most
    /// events on buffers of this space.
    #[must_use]
    pub fn trace_in(&self, memory_space: i64) -> Option<&'m HeapTrace> {
        let temporary = |a: &&&BufferAllocation| !is_indefinite(a);
        let allocations = self.allocations(memory_space);
        if let Some(trace) = allocations.iter().filter(temporary).find_map(|a| self.trace_of(a)) {
            return Some(trace);
        }
        let here =
            |id: i64| self.row(id).is_some_and(|row| self.rows[row].logical.memory_space == memory_space);
        let count = |trace: &HeapTrace| trace.events.iter().filter(|event| here(event.buffer_id)).count();
        let mut best = (0, None);
        for trace in &self.assignment.heap_traces {
            let events = count(trace);
            if events > best.0 {
                best = (events, Some(trace));
            }
        }
        best.1
    }
}

/// A heap trace, replayed. Rows are those of [`Buffers`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeapReplay {
    /// Bytes in use before each event, and after the last.
    pub in_use_bytes: Vec<i64>,
    /// The same, without padding.
    pub unpadded_in_use_bytes: Vec<i64>,
    /// The most bytes in use at a time.
    pub peak_bytes: i64,
    /// Bytes without padding at that time.
    pub peak_unpadded_bytes: i64,
    /// The event that first reaches the peak.
    pub peak_event: usize,
    /// Who holds memory after that event, in the order in which they got it.
    pub held_at_peak: Vec<Held>,
    /// For each row the events at which it gets memory and gives it back for the first time; a buffer that is never freed
    /// has the last event as its end. `None` for rows that use memory while another does.
    pub spans: Vec<Option<(usize, usize)>>,
    /// For each row whether an event names it.
    pub is_seen: Vec<bool>,
    /// Events that make no sense: frees of what is not held, buffers without a row, kinds that are not known.
    pub faults: usize,
}

/// Memory that is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// The row whose memory it is.
    pub owner: usize,
    /// The row whose value lies there: another where the owner's memory was taken over after it was freed.
    pub user: usize,
}

/// Memory that was given out once: to whom, at which event, and when it was taken back.
struct Grant {
    owner: usize,
    from: usize,
    until: usize,
}

impl HeapReplay {
    /// Replays a trace. `size_of` gives a row's bytes, with and without padding.
    #[must_use]
    pub fn new(
        buffers: &Buffers<'_>,
        trace: &HeapTrace,
        size_of: impl Fn(&Buffer<'_>) -> (i64, i64),
    ) -> Self {
        let mut replay = Self {
            in_use_bytes: Vec::with_capacity(trace.events.len() + 1),
            unpadded_in_use_bytes: Vec::with_capacity(trace.events.len() + 1),
            spans: vec![None; buffers.len()],
            is_seen: vec![false; buffers.len()],
            ..Self::default()
        };
        let mut state = State {
            owner: vec![None; buffers.len()],
            references: vec![0; buffers.len()],
            is_released: vec![false; buffers.len()],
            open: vec![Vec::new(); buffers.len()],
            grants: Vec::new(),
            takeovers: Vec::new(),
            in_use: 0,
            unpadded: 0,
        };
        let last = trace.events.len().saturating_sub(1);
        for (event, happened) in trace.events.iter().enumerate() {
            replay.in_use_bytes.push(state.in_use);
            replay.unpadded_in_use_bytes.push(state.unpadded);
            let Some(row) = buffers.row(happened.buffer_id) else {
                replay.faults += 1;
                continue;
            };
            replay.is_seen[row] = true;
            let size = |row: usize| buffers.get(row).map_or((0, 0), &size_of);
            match happened.kind {
                HeapEventKind::Alloc => {
                    let root = state.root(row);
                    state.references[root] += 1;
                    replay.spans[row] = Some((event, last));
                    state.take(&mut replay, row, event, size(row));
                }
                HeapEventKind::Free => {
                    let root = state.root(row);
                    state.references[root] -= 1;
                    if state.references[root] < 0 {
                        replay.faults += 1;
                    } else if state.references[root] == 0 {
                        state.give_back(root, event, size(root));
                        // Whoever takes the memory over later has a span of its own.
                        if let Some(span) = replay.spans[root].as_mut().filter(|_| !state.is_released[root]) {
                            span.1 = event;
                        }
                        state.is_released[root] = true;
                    }
                    if let Some(span) = replay.spans[row].as_mut().filter(|_| state.owner[row].is_some()) {
                        span.1 = event;
                    }
                }
                HeapEventKind::ShareWith { canonical_buffer_id } => {
                    let Some(owner) = buffers.row(canonical_buffer_id).filter(|owner| *owner != row) else {
                        replay.faults += 1;
                        continue;
                    };
                    state.owner[row] = Some(owner);
                    let root = state.root(owner);
                    state.references[root] += 1;
                    // The owner had been freed: its memory is in use again, for another value.
                    if state.references[root] == 1 {
                        state.takeovers.push((event, root, row));
                        replay.spans[row] = Some((event, last));
                        state.take(&mut replay, root, event, size(root));
                    }
                }
                _ => replay.faults += 1,
            }
        }
        replay.in_use_bytes.push(state.in_use);
        replay.unpadded_in_use_bytes.push(state.unpadded);
        replay.held_at_peak = state.held_at(replay.peak_event);
        replay
    }
}

struct State {
    /// Whose memory a row uses, if not its own.
    owner: Vec<Option<usize>>,
    references: Vec<i64>,
    /// Whether a row has given its memory back before.
    is_released: Vec<bool>,
    /// Grants of each row that are still held.
    open: Vec<Vec<usize>>,
    grants: Vec<Grant>,
    /// At which event which freed row's memory went to whom.
    takeovers: Vec<(usize, usize, usize)>,
    in_use: i64,
    unpadded: i64,
}

impl State {
    /// The row whose memory a row uses in the end. Rows that share in a circle, which no compiler writes, are cut short.
    fn root(&self, row: usize) -> usize {
        let mut root = row;
        for _ in 0..self.owner.len() {
            match self.owner[root] {
                Some(next) => root = next,
                None => break,
            }
        }
        root
    }

    fn take(&mut self, replay: &mut HeapReplay, row: usize, event: usize, (bytes, unpadded): (i64, i64)) {
        self.open[row].push(self.grants.len());
        self.grants.push(Grant { owner: row, from: event, until: usize::MAX });
        self.in_use = self.in_use.saturating_add(bytes);
        self.unpadded = self.unpadded.saturating_add(unpadded);
        if self.in_use > replay.peak_bytes {
            replay.peak_bytes = self.in_use;
            replay.peak_unpadded_bytes = self.unpadded;
            replay.peak_event = event;
        }
    }

    fn give_back(&mut self, row: usize, event: usize, (bytes, unpadded): (i64, i64)) {
        for grant in self.open[row].drain(..) {
            self.grants[grant].until = event;
        }
        self.in_use = self.in_use.saturating_sub(bytes);
        self.unpadded = self.unpadded.saturating_sub(unpadded);
    }

    fn held_at(&self, event: usize) -> Vec<Held> {
        let mut user: Vec<usize> = (0..self.owner.len()).collect();
        for (_, owner, taker) in self.takeovers.iter().filter(|takeover| takeover.0 <= event) {
            user[*owner] = *taker;
        }
        let held = self.grants.iter().filter(|g| g.from <= event && g.until > event);
        held.map(|g| Held { owner: g.owner, user: user[g.owner] }).collect()
    }
}

#[cfg(test)]
mod tests {
    use haloscope_hlo::{AssignedBuffer, HeapEvent};

    use super::*;

    const SPACE: i64 = 1;

    /// A module whose instructions `a` to `d` make buffers 10 to 13 of 100, 200, 400 and 800 bytes in one allocation.
    fn module(events: &[(HeapEventKind, i64)]) -> Module {
        let lines: Vec<String> =
            ["a", "b", "c", "d"].map(|name| format!("  {name} = s32[] constant(0)\n")).to_vec();
        let text = format!("HloModule m\n\nENTRY e {{\n{}}}\n", lines.concat());
        let mut module = Module::parse(&text).unwrap();
        let rows = ["a", "b", "c", "d"].iter().zip(10..).zip([100, 200, 400, 800]);
        let logical = rows.map(|((name, id), size_bytes)| LogicalBuffer {
            id,
            size_bytes,
            memory_space: SPACE,
            instruction_name: (*name).to_owned(),
            ..LogicalBuffer::default()
        });
        let assigned = |buffer: &LogicalBuffer| AssignedBuffer {
            buffer_id: buffer.id,
            offset_bytes: 0,
            size_bytes: buffer.size_bytes,
        };
        let logical_buffers: Vec<_> = logical.collect();
        let allocation = BufferAllocation {
            index: 7,
            memory_space: SPACE,
            assigned: logical_buffers.iter().map(assigned).collect(),
            ..BufferAllocation::default()
        };
        let event = |(kind, buffer_id): &(HeapEventKind, i64)| HeapEvent {
            kind: *kind,
            buffer_id: *buffer_id,
            computation_name: "e".to_owned(),
            instruction_name: String::new(),
        };
        let trace = HeapTrace { events: events.iter().map(event).collect(), ..HeapTrace::default() };
        module.buffer_assignment = Some(BufferAssignment {
            logical_buffers,
            allocations: vec![allocation],
            heap_traces: vec![trace],
        });
        module
    }

    /// Replays events; values without padding take half.
    fn replay(events: &[(HeapEventKind, i64)]) -> HeapReplay {
        let module = module(events);
        let buffers = Buffers::new(&module).unwrap();
        let trace = buffers.trace_in(SPACE).unwrap();
        HeapReplay::new(&buffers, trace, |buffer| (buffer.logical.size_bytes, buffer.logical.size_bytes / 2))
    }

    use HeapEventKind::{Alloc, Free};

    fn share(canonical_buffer_id: i64) -> HeapEventKind {
        HeapEventKind::ShareWith { canonical_buffer_id }
    }

    fn own(row: usize) -> Held {
        Held { owner: row, user: row }
    }

    #[test]
    fn memory_is_given_and_taken_back() {
        let replay = replay(&[(Alloc, 10), (Alloc, 11), (Free, 10), (Alloc, 12), (Free, 11), (Free, 12)]);
        assert_eq!(replay.in_use_bytes, [0, 100, 300, 200, 600, 400, 0]);
        assert_eq!(replay.unpadded_in_use_bytes, [0, 50, 150, 100, 300, 200, 0]);
        assert_eq!((replay.peak_bytes, replay.peak_unpadded_bytes, replay.peak_event), (600, 300, 3));
        assert_eq!(replay.held_at_peak, [own(1), own(2)]);
        assert_eq!(replay.spans, [Some((0, 2)), Some((1, 4)), Some((3, 5)), None]);
        assert_eq!(replay.is_seen, [true, true, true, false]);
        assert_eq!(replay.faults, 0);
    }

    /// Two values in one place take it once, until the last of them is gone.
    #[test]
    fn shared_memory_counts_once() {
        let replay = replay(&[(Alloc, 12), (share(12), 13), (Free, 12), (Alloc, 10), (Free, 13), (Free, 10)]);
        assert_eq!(replay.in_use_bytes, [0, 400, 400, 400, 500, 100, 0]);
        assert_eq!((replay.peak_event, replay.held_at_peak.as_slice()), (3, &[own(2), own(0)][..]));
        assert_eq!(replay.spans, [Some((3, 5)), None, Some((0, 4)), None]);
        assert_eq!(replay.faults, 0);
    }

    /// A value may take over the memory of one that is gone: then it is in use again, under the new name.
    #[test]
    fn freed_memory_is_taken_over() {
        let replay = replay(&[(Alloc, 12), (Free, 12), (share(12), 10), (Alloc, 11), (Free, 10), (Free, 11)]);
        assert_eq!(replay.in_use_bytes, [0, 400, 0, 400, 600, 200, 0]);
        assert_eq!(replay.held_at_peak, [Held { owner: 2, user: 0 }, own(1)]);
        assert_eq!(replay.spans, [Some((2, 4)), Some((3, 5)), Some((0, 1)), None]);
    }

    #[test]
    fn events_without_sense_are_counted() {
        let unknown = HeapEventKind::Unknown(9);
        let events = [(Free, 10), (Alloc, 99), (share(99), 10), (unknown, 11), (share(11), 11), (Alloc, 13)];
        let replay = replay(&events);
        assert_eq!(replay.faults, 5);
        assert_eq!((replay.peak_bytes, replay.held_at_peak.as_slice()), (800, &[own(3)][..]));
        // What is never freed is there to the end.
        assert_eq!(replay.spans[3], Some((5, 5)));
    }

    /// No compiler writes this; it must end.
    #[test]
    fn sharing_in_a_circle_ends() {
        let events = [(share(11), 10), (share(12), 11), (share(10), 12), (Free, 10), (Free, 11), (Alloc, 12)];
        assert!(replay(&events).peak_bytes > 0);
    }

    #[test]
    fn a_space_without_a_trace() {
        let module = module(&[(Alloc, 10)]);
        let buffers = Buffers::new(&module).unwrap();
        assert_eq!((buffers.len(), buffers.row(12), buffers.row(14)), (4, Some(2), None));
        assert_eq!(buffers.allocations(SPACE).len(), 1);
        assert!(buffers.allocations(0).is_empty() && buffers.trace_in(0).is_none());
        assert!(!is_indefinite(buffers.allocations(SPACE)[0]));
    }
}
