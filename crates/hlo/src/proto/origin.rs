//! Where in the user's program, or in the module before optimisation, something comes from.

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct OpMetadata {
    #[prost(string, tag = "1")]
    pub(crate) op_type: String,
    #[prost(string, tag = "2")]
    pub(crate) op_name: String,
    #[prost(string, tag = "3")]
    pub(crate) source_file: String,
    #[prost(int32, tag = "4")]
    pub(crate) source_line: i32,
    #[prost(string, tag = "12")]
    pub(crate) deduplicated_name: String,
    #[prost(int32, tag = "15")]
    pub(crate) stack_frame_id: i32,
    #[prost(string, tag = "16")]
    pub(crate) scheduling_name: String,
    #[prost(int32, tag = "17")]
    pub(crate) source_end_line: i32,
    #[prost(int32, tag = "18")]
    pub(crate) source_column: i32,
    #[prost(int32, tag = "19")]
    pub(crate) source_end_column: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct StackFrameIndex {
    #[prost(string, repeated, tag = "1")]
    pub(crate) file_names: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub(crate) function_names: Vec<String>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) file_locations: Vec<FileLocation>,
    #[prost(message, repeated, tag = "4")]
    pub(crate) stack_frames: Vec<StackFrame>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct FileLocation {
    #[prost(int32, tag = "1")]
    pub(crate) file_name_id: i32,
    #[prost(int32, tag = "2")]
    pub(crate) function_name_id: i32,
    #[prost(int32, tag = "3")]
    pub(crate) line: i32,
    #[prost(int32, tag = "4")]
    pub(crate) column: i32,
    #[prost(int32, tag = "5")]
    pub(crate) end_line: i32,
    #[prost(int32, tag = "6")]
    pub(crate) end_column: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct StackFrame {
    #[prost(int32, tag = "1")]
    pub(crate) file_location_id: i32,
    #[prost(int32, tag = "2")]
    pub(crate) parent_frame_id: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct OriginalValue {
    #[prost(message, repeated, tag = "1")]
    pub(crate) elements: Vec<OriginalElement>,
    #[prost(bool, tag = "2")]
    pub(crate) is_synthetic_call: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct OriginalElement {
    #[prost(int64, repeated, tag = "1")]
    pub(crate) shape_index: Vec<i64>,
    #[prost(message, optional, tag = "2")]
    pub(crate) original_array: Option<OriginalArray>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct OriginalArray {
    #[prost(string, tag = "1")]
    pub(crate) instruction_name: String,
    #[prost(int64, repeated, tag = "2")]
    pub(crate) shape_index: Vec<i64>,
}
