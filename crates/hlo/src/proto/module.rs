//! The module: its computations, and what stands beside them.

use std::collections::BTreeMap;

use prost::Message;

use super::buffers::BufferAssignment;
use super::instruction::{FrontendAttributes, HloInstruction};
use super::origin::StackFrameIndex;
use super::shape::Shape;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Hlo {
    #[prost(message, optional, tag = "1")]
    pub(crate) hlo_module: Option<HloModule>,
    #[prost(message, optional, tag = "3")]
    pub(crate) buffer_assignment: Option<BufferAssignment>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct HloModule {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) entry_computation_name: String,
    /// Each as it stands in the message: they are decoded one after the other, for decoded they take several times as much.
    #[prost(bytes = "vec", repeated, tag = "3")]
    pub(crate) computations: Vec<Vec<u8>>,
    #[prost(message, optional, tag = "4")]
    pub(crate) host_program_shape: Option<ProgramShape>,
    #[prost(int64, tag = "5")]
    pub(crate) id: i64,
    #[prost(int64, tag = "6")]
    pub(crate) entry_computation_id: i64,
    #[prost(message, optional, tag = "7")]
    pub(crate) schedule: Option<HloSchedule>,
    #[prost(message, optional, tag = "8")]
    pub(crate) input_output_alias: Option<InputOutputAlias>,
    #[prost(message, repeated, tag = "13")]
    pub(crate) profile_info: Vec<ProfileInfo>,
    #[prost(message, optional, tag = "15")]
    pub(crate) device_assignment: Option<DeviceAssignment>,
    #[prost(message, optional, tag = "17")]
    pub(crate) stack_frame_index: Option<StackFrameIndex>,
    #[prost(message, optional, tag = "18")]
    pub(crate) buffer_donor: Option<BufferDonors>,
    #[prost(message, optional, tag = "19")]
    pub(crate) frontend_attributes: Option<FrontendAttributes>,
    #[prost(string, tag = "21")]
    pub(crate) device_type: String,
    #[prost(bytes = "vec", repeated, tag = "22")]
    pub(crate) payloads: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProfileInfo {
    #[prost(string, tag = "5")]
    pub(crate) fingerprint: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProgramShape {
    #[prost(message, repeated, tag = "1")]
    pub(crate) parameters: Vec<Shape>,
    #[prost(message, optional, tag = "2")]
    pub(crate) result: Option<Shape>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct DeviceAssignment {
    #[prost(int32, tag = "2")]
    pub(crate) computation_count: i32,
    #[prost(message, repeated, tag = "3")]
    pub(crate) computation_devices: Vec<ComputationDevices>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ComputationDevices {
    #[prost(int64, repeated, tag = "1")]
    pub(crate) replica_device_ids: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct HloComputation {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(message, repeated, tag = "2")]
    pub(crate) instructions: Vec<HloInstruction>,
    #[prost(int64, tag = "5")]
    pub(crate) id: i64,
    #[prost(int64, tag = "6")]
    pub(crate) root_id: i64,
    #[prost(bool, tag = "7")]
    pub(crate) is_fusion_computation: bool,
    #[prost(string, tag = "8")]
    pub(crate) execution_thread: String,
}

/// A computation whose instructions are not decoded.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct PackedComputation {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(bytes = "vec", repeated, tag = "2")]
    pub(crate) instructions: Vec<Vec<u8>>,
    #[prost(int64, tag = "5")]
    pub(crate) id: i64,
    #[prost(int64, tag = "6")]
    pub(crate) root_id: i64,
    #[prost(bool, tag = "7")]
    pub(crate) is_fusion_computation: bool,
    #[prost(string, tag = "8")]
    pub(crate) execution_thread: String,
}

/// What of a computation the others refer to.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ComputationHead {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(int64, tag = "5")]
    pub(crate) id: i64,
}

/// What of an instruction the others refer to.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct InstructionHead {
    #[prost(int64, tag = "35")]
    pub(crate) id: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct HloSchedule {
    #[prost(btree_map = "int64, message", tag = "1")]
    pub(crate) sequences: BTreeMap<i64, InstructionSequence>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct InstructionSequence {
    #[prost(int64, repeated, tag = "1")]
    pub(crate) instruction_ids: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct InputOutputAlias {
    #[prost(message, repeated, tag = "1")]
    pub(crate) entries: Vec<AliasEntry>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct AliasEntry {
    #[prost(int64, repeated, tag = "1")]
    pub(crate) output_shape_index: Vec<i64>,
    #[prost(int64, tag = "2")]
    pub(crate) parameter_number: i64,
    #[prost(int64, repeated, tag = "3")]
    pub(crate) parameter_shape_index: Vec<i64>,
    #[prost(int32, tag = "4")]
    pub(crate) kind: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct BufferDonors {
    #[prost(message, repeated, tag = "1")]
    pub(crate) entries: Vec<BufferDonorEntry>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct BufferDonorEntry {
    #[prost(int64, tag = "1")]
    pub(crate) parameter_number: i64,
    #[prost(int64, repeated, tag = "2")]
    pub(crate) parameter_shape_index: Vec<i64>,
}
