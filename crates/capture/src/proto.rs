//! The messages of `tensorflow.ProfilerService`, as far as they are used. The reply's `XSpace` stays bytes: it is the file.

use std::collections::BTreeMap;

use prost::bytes::Bytes;
use prost::{Message, Oneof};

/// `ProfileRequest`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProfileRequest {
    #[prost(uint64, tag = "1")]
    pub duration_ms: u64,
    #[prost(uint64, tag = "2")]
    pub max_events: u64,
    #[prost(message, optional, tag = "4")]
    pub opts: Option<ProfileOptions>,
    /// Where a server that does not send the profile writes it, on its own disk.
    #[prost(string, tag = "5")]
    pub repository_root: String,
    #[prost(string, tag = "6")]
    pub session_id: String,
    #[prost(string, tag = "7")]
    pub host_name: String,
    /// The profile comes with the reply. Servers from before this field pass over it.
    #[prost(bool, tag = "9")]
    pub emit_xspace: bool,
}

/// `ProfileOptions`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProfileOptions {
    #[prost(bool, tag = "1")]
    pub include_dataset_ops: bool,
    #[prost(uint32, tag = "2")]
    pub host_tracer_level: u32,
    #[prost(uint32, tag = "3")]
    pub device_tracer_level: u32,
    #[prost(uint32, tag = "4")]
    pub python_tracer_level: u32,
    #[prost(uint32, tag = "5")]
    pub version: u32,
    #[prost(int32, tag = "6")]
    pub device_type: i32,
    #[prost(bool, tag = "7")]
    pub enable_hlo_proto: bool,
    #[prost(uint64, tag = "8")]
    pub start_timestamp_ns: u64,
    #[prost(uint64, tag = "9")]
    pub duration_ms: u64,
    #[prost(string, tag = "10")]
    pub repository_path: String,
    #[prost(message, optional, tag = "11")]
    pub trace_options: Option<TraceOptions>,
    #[prost(btree_map = "string, message", tag = "12")]
    pub advanced_configuration: BTreeMap<String, Advanced>,
    #[prost(bool, tag = "13")]
    pub raise_error_on_start_failure: bool,
    #[prost(string, tag = "14")]
    pub session_id: String,
    #[prost(string, tag = "15")]
    pub override_hostname: String,
    #[prost(bool, tag = "16")]
    pub enable_multipass: bool,
}

/// `ProfileOptions.TraceOptions`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TraceOptions {
    #[prost(uint64, tag = "1")]
    pub host_traceme_filter_mask: u64,
}

/// `ProfileOptions.AdvancedConfigValue`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Advanced {
    #[prost(oneof = "Value", tags = "1, 2, 3")]
    pub value: Option<Value>,
}

/// The value of an advanced option.
#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Value {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(bool, tag = "2")]
    Flag(bool),
    #[prost(int64, tag = "3")]
    Whole(i64),
}

/// `ProfileResponse`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProfileResponse {
    #[prost(message, repeated, tag = "6")]
    pub tool_data: Vec<ToolData>,
    #[prost(bool, tag = "7")]
    pub empty_trace: bool,
    #[prost(bytes = "bytes", tag = "8")]
    pub xspace: Bytes,
}

/// `ProfileToolData`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ToolData {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(bytes = "bytes", tag = "2")]
    pub data: Bytes,
}

/// `GetSnapshotRequest`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct GetSnapshotRequest {
    #[prost(string, tag = "1")]
    pub snapshot_session_id: String,
}

/// `MonitorRequest`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct MonitorRequest {
    #[prost(uint64, tag = "1")]
    pub duration_ms: u64,
    #[prost(int32, tag = "2")]
    pub monitoring_level: i32,
    #[prost(bool, tag = "3")]
    pub timestamp: bool,
}

/// `MonitorResponse`, its text.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct MonitorResponse {
    #[prost(string, tag = "1")]
    pub data: String,
}

/// A message without fields, or one whose fields say nothing of use.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Empty {}
