//! One memory of a program: what it needs at the peak, and what is alive then.
//!
//! The heap simulation ([`super::heap`]) says which temporary buffers hold memory at each point of the schedule. Parameters,
//! outputs and constants are there from the first instruction to the last and are added to every point; the largest buffer of
//! such an allocation stands for it, with the allocation's size.

use haloscope_hlo::{BufferAllocation, HeapTrace, Instruction, Module, Shape};

use super::heap::{Buffer, Buffers, HeapReplay, is_indefinite};

/// Bytes of a pointer in a tuple.
const POINTER_BYTES: i64 = 8;

/// What an allocation is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Holds a parameter of the entry computation.
    Parameter,
    /// May be live when the program ends.
    Output,
    /// Each call has its own.
    ThreadLocal,
    /// Holds a constant.
    Constant,
    /// Placed by the heap simulator.
    Temporary,
}

impl Group {
    /// What an allocation is for. A parameter that an output takes over is a parameter.
    #[must_use]
    pub fn of(allocation: &BufferAllocation) -> Self {
        if allocation.entry_parameter.is_some() {
            Self::Parameter
        } else if allocation.maybe_live_out {
            Self::Output
        } else if allocation.is_thread_local {
            Self::ThreadLocal
        } else if allocation.is_constant {
            Self::Constant
        } else {
            Self::Temporary
        }
    }

    /// Its name, as XProf writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Parameter => "Parameter",
            Self::Output => "Output",
            Self::ThreadLocal => "Thread-local",
            Self::Constant => "Constant",
            Self::Temporary => "Temporary",
        }
    }
}

/// The shape of a buffer; of a path into nested tuples, only the last step counts, as in XProf.
#[must_use]
pub fn shape_of<'m>(buffer: &Buffer<'m>) -> &'m Shape {
    let whole = &buffer.instruction.shape;
    let step = buffer.logical.shape_index.last();
    step.and_then(|step| whole.tuple_element(*step)).unwrap_or(whole)
}

/// What a buffer is called: its instruction's name, with the path into its tuple in braces, as in `while.7{2}`.
#[must_use]
pub fn name_of(buffer: &Buffer<'_>) -> String {
    let path: Vec<String> = buffer.logical.shape_index.iter().map(ToString::to_string).collect();
    if path.is_empty() {
        buffer.instruction.name.clone()
    } else {
        format!("{}{{{}}}", buffer.instruction.name, path.join(","))
    }
}

/// Bytes that a buffer's elements take without padding: 8 for each pointer of a tuple, 0 where the shape has no size.
#[must_use]
pub fn unpadded_bytes(buffer: &Buffer<'_>) -> i64 {
    let shape = shape_of(buffer);
    if shape.is_tuple() {
        i64::try_from(shape.tuple_shapes.len()).unwrap_or(i64::MAX).saturating_mul(POINTER_BYTES)
    } else {
        shape.bytes().and_then(|bytes| i64::try_from(bytes).ok()).unwrap_or(0)
    }
}

/// One memory of a program.
#[derive(Debug)]
pub struct ProgramMemory<'a, 'm> {
    /// The program's buffers.
    pub buffers: &'a Buffers<'m>,
    /// Which memory, as in a layout.
    pub memory_space: i64,
    /// The allocations in it, by number.
    pub allocations: Vec<&'m BufferAllocation>,
    /// What the heap simulator did there; `None` where nothing was simulated.
    pub trace: Option<&'m HeapTrace>,
    /// The same, replayed.
    pub replay: Option<HeapReplay>,
}

/// A buffer that is alive at the peak.
#[derive(Debug, Clone, Copy)]
pub struct Alive<'a, 'm> {
    /// The buffer.
    pub buffer: &'a Buffer<'m>,
    /// What its allocation is for.
    pub group: Group,
    /// Bytes that it adds to the peak: those of its allocation where it lives as long as the program.
    pub bytes: i64,
    /// Bytes of its elements without padding.
    pub unpadded_bytes: i64,
    /// Heap events at which it gets memory and gives it back; `None` where it lives as long as the program.
    pub span: Option<(usize, usize)>,
}

impl<'m> Alive<'_, 'm> {
    /// The instruction that makes it.
    #[must_use]
    pub fn instruction(&self) -> &'m Instruction {
        self.buffer.instruction
    }
}

impl<'a, 'm> ProgramMemory<'a, 'm> {
    /// Replays what a program needs of a memory (0 is the main memory: HBM).
    #[must_use]
    pub fn new(buffers: &'a Buffers<'m>, memory_space: i64) -> Self {
        let trace = buffers.trace_in(memory_space);
        let sizes = |buffer: &Buffer<'_>| (buffer.logical.size_bytes, unpadded_bytes(buffer));
        Self {
            buffers,
            memory_space,
            allocations: buffers.allocations(memory_space),
            trace,
            replay: trace.map(|trace| HeapReplay::new(buffers, trace, sizes)),
        }
    }

    /// Whether temporary buffers lie here of which nobody says when they are in use, as in a buffer assignment that was read
    /// from XLA's text. [`Self::peak_bytes`] is then without them, and the peak at most [`Self::allocated_bytes`].
    #[must_use]
    pub fn is_without_trace(&self) -> bool {
        self.trace.is_none() && self.allocations.iter().any(|a| !is_indefinite(a) && a.size_bytes > 0)
    }

    /// Bytes of all allocations here, thread-local ones included: what XLA's memory usage report calls total bytes.
    #[must_use]
    pub fn total_bytes(&self) -> i64 {
        self.sum_of(|_| true)
    }

    /// Bytes of all allocations but those that each call has for its own.
    #[must_use]
    pub fn allocated_bytes(&self) -> i64 {
        self.sum_of(|allocation| !allocation.is_thread_local)
    }

    /// Bytes of the allocations that are meant.
    pub fn sum_of(&self, is_meant: impl Fn(&BufferAllocation) -> bool) -> i64 {
        let meant = self.allocations.iter().filter(|allocation| is_meant(allocation));
        meant.fold(0, |sum, allocation| sum.saturating_add(allocation.size_bytes))
    }

    /// Bytes of temporary buffers at the peak; `None` where nothing says when they are in use.
    #[must_use]
    pub fn temporary_bytes(&self) -> Option<i64> {
        (!self.is_without_trace()).then(|| self.replay.as_ref().map_or(0, |replay| replay.peak_bytes))
    }

    /// The module.
    #[must_use]
    pub fn module(&self) -> &'m Module {
        self.buffers.module
    }

    /// The allocations that live as long as the program.
    pub fn lasting(&self) -> impl Iterator<Item = &'m BufferAllocation> {
        self.allocations.iter().copied().filter(|a| is_indefinite(a) && !a.is_thread_local)
    }

    /// The largest buffer of each allocation that lives as long as the program.
    pub fn lasting_buffers(&self) -> impl Iterator<Item = &'a Buffer<'m>> {
        self.lasting().filter_map(|allocation| {
            let mut best: Option<&Buffer<'m>> = None;
            for assigned in &allocation.assigned {
                let buffer = self.buffers.row(assigned.buffer_id).and_then(|row| self.buffers.get(row));
                let largest = best.map_or(0, |b| b.logical.size_bytes);
                best = buffer.filter(|b| b.logical.size_bytes > largest).or(best);
            }
            best
        })
    }

    /// Bytes of the allocations that live as long as the program and hold a buffer.
    #[must_use]
    pub fn lasting_bytes(&self) -> i64 {
        self.lasting_buffers().fold(0, |sum, buffer| sum.saturating_add(buffer.allocation.size_bytes))
    }

    /// The most bytes in use at a time.
    #[must_use]
    pub fn peak_bytes(&self) -> i64 {
        self.replay.as_ref().map_or(0, |r| r.peak_bytes).saturating_add(self.lasting_bytes())
    }

    /// Bytes in use then, with temporary buffers counted without their padding.
    #[must_use]
    pub fn peak_unpadded_bytes(&self) -> i64 {
        self.replay.as_ref().map_or(0, |r| r.peak_unpadded_bytes).saturating_add(self.lasting_bytes())
    }

    /// What is alive at the peak: first what lives as long as the program, by allocation, then temporary buffers in the order
    /// in which they got memory. Their bytes sum to [`Self::peak_bytes`].
    #[must_use]
    pub fn alive_at_peak(&self) -> Vec<Alive<'_, 'm>> {
        let lasting = self.lasting_buffers().map(|buffer| Alive {
            buffer,
            group: Group::of(buffer.allocation),
            bytes: buffer.allocation.size_bytes,
            unpadded_bytes: unpadded_bytes(buffer),
            span: None,
        });
        let mut alive: Vec<_> = lasting.collect();
        let Some(replay) = &self.replay else { return alive };
        for held in &replay.held_at_peak {
            let (Some(owner), Some(user)) = (self.buffers.get(held.owner), self.buffers.get(held.user))
            else {
                continue;
            };
            alive.push(Alive {
                buffer: user,
                group: Group::of(user.allocation),
                bytes: owner.logical.size_bytes,
                unpadded_bytes: unpadded_bytes(user),
                span: replay.spans[held.user].or(replay.spans[held.owner]),
            });
        }
        alive
    }
}
