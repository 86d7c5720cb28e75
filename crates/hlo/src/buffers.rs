//! Buffer assignment: which value lives where in which allocation, and the heap simulation that placed it.

use crate::proto;

/// What the compiler decided about memory. Sizes and offsets are bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BufferAssignment {
    /// One for each value that needs memory, in the order of the proto.
    pub logical_buffers: Vec<LogicalBuffer>,
    /// The allocations that hold them.
    pub allocations: Vec<BufferAllocation>,
    /// How the heap simulator placed temporary buffers.
    pub heap_traces: Vec<HeapTrace>,
}

impl BufferAssignment {
    /// Whether there is temporary memory of which nobody says when it is in use, as where the assignment was read from text:
    /// then the peak lies between what lives as long as the program and the sum of all allocations.
    #[must_use]
    pub fn is_without_heap_traces(&self) -> bool {
        let is_temporary = |a: &BufferAllocation| {
            let is_lasting =
                a.is_thread_local || a.is_constant || a.maybe_live_out || a.entry_parameter.is_some();
            !is_lasting && a.size_bytes > 0
        };
        self.heap_traces.is_empty() && self.allocations.iter().any(is_temporary)
    }
}

/// A value that needs memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogicalBuffer {
    /// Id within the assignment.
    pub id: i64,
    /// Size in bytes, padding included.
    pub size_bytes: i64,
    /// Memory space, as in a layout.
    pub memory_space: i64,
    /// Name of the defining instruction; empty where only the id is written.
    pub instruction_name: String,
    /// Id of the defining instruction, where the proto has it.
    pub instruction_id: Option<i64>,
    /// Path into the defining instruction's tuple.
    pub shape_index: Vec<i64>,
}

/// A piece of memory that holds logical buffers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BufferAllocation {
    /// Its number, used by heap traces.
    pub index: i64,
    /// Size in bytes.
    pub size_bytes: i64,
    /// Memory space, as in a layout.
    pub memory_space: i64,
    /// Every call has its own.
    pub is_thread_local: bool,
    /// Holds a tuple's index table.
    pub is_tuple: bool,
    /// Holds a constant.
    pub is_constant: bool,
    /// The entry parameter it holds: number and path into its tuple.
    pub entry_parameter: Option<(i64, Vec<i64>)>,
    /// The parameter's memory is reused for an output.
    pub is_parameter_aliased_with_output: bool,
    /// May hold a value after the program ends.
    pub maybe_live_out: bool,
    /// Which buffers lie where in it.
    pub assigned: Vec<AssignedBuffer>,
}

/// The place of one logical buffer in an allocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AssignedBuffer {
    /// Id of the logical buffer.
    pub buffer_id: i64,
    /// Bytes from the start of the allocation.
    pub offset_bytes: i64,
    /// Size in bytes.
    pub size_bytes: i64,
}

/// What the heap simulator did, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeapTrace {
    /// Allocations and frees in schedule order.
    pub events: Vec<HeapEvent>,
    /// Whether it covers the whole module rather than one computation.
    pub whole_module: bool,
    /// The allocation that it fills.
    pub allocation_index: i64,
}

/// One step of a heap trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeapEvent {
    /// What happens.
    pub kind: HeapEventKind,
    /// The logical buffer it happens to.
    pub buffer_id: i64,
    /// Computation of the instruction at which it happens.
    pub computation_name: String,
    /// The instruction at which it happens.
    pub instruction_name: String,
}

/// Kind of a [`HeapEvent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeapEventKind {
    /// The buffer gets memory.
    Alloc,
    /// The buffer gives its memory back.
    Free,
    /// The buffer uses the memory of another.
    ShareWith {
        /// Id of the buffer that owns the memory.
        canonical_buffer_id: i64,
    },
    /// A kind that this version of the crate does not know; the raw value is kept.
    Unknown(i32),
}

impl From<proto::BufferAssignment> for BufferAssignment {
    fn from(p: proto::BufferAssignment) -> Self {
        Self {
            logical_buffers: p.logical_buffers.into_iter().map(LogicalBuffer::from).collect(),
            allocations: p.buffer_allocations.into_iter().map(BufferAllocation::from).collect(),
            heap_traces: p.heap_simulator_traces.into_iter().map(HeapTrace::from).collect(),
        }
    }
}

impl From<proto::LogicalBuffer> for LogicalBuffer {
    fn from(p: proto::LogicalBuffer) -> Self {
        let at = p.defined_at.unwrap_or_default();
        Self {
            id: p.id,
            size_bytes: p.size,
            memory_space: p.color,
            instruction_id: (at.instruction_id != 0 || at.instruction_name.is_empty())
                .then_some(at.instruction_id),
            instruction_name: at.instruction_name,
            shape_index: at.shape_index,
        }
    }
}

impl From<proto::BufferAllocation> for BufferAllocation {
    fn from(p: proto::BufferAllocation) -> Self {
        let parameter = (p.parameter_number, p.parameter_shape_index);
        Self {
            index: p.index,
            size_bytes: p.size,
            memory_space: p.color,
            is_thread_local: p.is_thread_local,
            is_tuple: p.is_tuple,
            is_constant: p.is_constant,
            entry_parameter: p.is_entry_computation_parameter.then_some(parameter),
            is_parameter_aliased_with_output: p.is_parameter_aliased_with_output,
            maybe_live_out: p.maybe_live_out,
            assigned: p
                .assigned
                .into_iter()
                .map(|a| AssignedBuffer {
                    buffer_id: a.logical_buffer_id,
                    offset_bytes: a.offset,
                    size_bytes: a.size,
                })
                .collect(),
        }
    }
}

impl From<proto::HeapSimulatorTrace> for HeapTrace {
    fn from(p: proto::HeapSimulatorTrace) -> Self {
        Self {
            events: p.events.into_iter().map(HeapEvent::from).collect(),
            whole_module: p.whole_module_simulation,
            allocation_index: p.buffer_allocation_index,
        }
    }
}

impl From<proto::HeapEvent> for HeapEvent {
    fn from(p: proto::HeapEvent) -> Self {
        let kind = match p.kind {
            0 => HeapEventKind::Alloc,
            1 => HeapEventKind::Free,
            2 => HeapEventKind::ShareWith { canonical_buffer_id: p.share_with_canonical_id },
            other => HeapEventKind::Unknown(other),
        };
        Self {
            kind,
            buffer_id: p.buffer_id,
            computation_name: p.computation_name,
            instruction_name: p.instruction_name,
        }
    }
}
