//! What the compiler decided about memory.

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct BufferAssignment {
    #[prost(message, repeated, tag = "1")]
    pub(crate) logical_buffers: Vec<LogicalBuffer>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) buffer_allocations: Vec<BufferAllocation>,
    #[prost(message, repeated, tag = "4")]
    pub(crate) heap_simulator_traces: Vec<HeapSimulatorTrace>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct LogicalBuffer {
    #[prost(int64, tag = "1")]
    pub(crate) id: i64,
    #[prost(int64, tag = "2")]
    pub(crate) size: i64,
    #[prost(message, optional, tag = "3")]
    pub(crate) defined_at: Option<Location>,
    #[prost(int64, tag = "4")]
    pub(crate) color: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Location {
    #[prost(string, tag = "2")]
    pub(crate) instruction_name: String,
    #[prost(int64, repeated, tag = "3")]
    pub(crate) shape_index: Vec<i64>,
    #[prost(int64, tag = "4")]
    pub(crate) instruction_id: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct BufferAllocation {
    #[prost(int64, tag = "1")]
    pub(crate) index: i64,
    #[prost(int64, tag = "2")]
    pub(crate) size: i64,
    #[prost(bool, tag = "3")]
    pub(crate) is_thread_local: bool,
    #[prost(bool, tag = "5")]
    pub(crate) is_entry_computation_parameter: bool,
    #[prost(int64, tag = "6")]
    pub(crate) parameter_number: i64,
    #[prost(bool, tag = "7")]
    pub(crate) maybe_live_out: bool,
    #[prost(int64, tag = "8")]
    pub(crate) color: i64,
    #[prost(message, repeated, tag = "9")]
    pub(crate) assigned: Vec<Assigned>,
    #[prost(int64, repeated, tag = "10")]
    pub(crate) parameter_shape_index: Vec<i64>,
    #[prost(bool, tag = "11")]
    pub(crate) is_tuple: bool,
    #[prost(bool, tag = "12")]
    pub(crate) is_constant: bool,
    #[prost(bool, tag = "13")]
    pub(crate) is_parameter_aliased_with_output: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Assigned {
    #[prost(int64, tag = "1")]
    pub(crate) logical_buffer_id: i64,
    #[prost(int64, tag = "2")]
    pub(crate) offset: i64,
    #[prost(int64, tag = "3")]
    pub(crate) size: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct HeapSimulatorTrace {
    #[prost(message, repeated, tag = "1")]
    pub(crate) events: Vec<HeapEvent>,
    #[prost(bool, tag = "2")]
    pub(crate) whole_module_simulation: bool,
    #[prost(int64, tag = "3")]
    pub(crate) buffer_allocation_index: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct HeapEvent {
    #[prost(int32, tag = "1")]
    pub(crate) kind: i32,
    #[prost(int64, tag = "2")]
    pub(crate) buffer_id: i64,
    #[prost(string, tag = "3")]
    pub(crate) computation_name: String,
    #[prost(string, tag = "4")]
    pub(crate) instruction_name: String,
    #[prost(int64, tag = "5")]
    pub(crate) share_with_canonical_id: i64,
}
