//! Which devices take part: replica groups, meshes, shardings.

use prost::Message;

use super::origin::OpMetadata;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ReplicaGroup {
    #[prost(int64, repeated, tag = "1")]
    pub(crate) replica_ids: Vec<i64>,
}

/// Builds from 2024 and 2025 nested the iota list as field 2; later ones moved it to `HloInstruction` field 92.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct CollectiveDeviceList {
    #[prost(message, repeated, tag = "1")]
    pub(crate) replica_groups: Vec<ReplicaGroup>,
    #[prost(message, optional, tag = "2")]
    pub(crate) iota_replica_group_list: Option<IotaReplicaGroupList>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct IotaReplicaGroupList {
    #[prost(int64, tag = "1")]
    pub(crate) num_replica_groups: i64,
    #[prost(int64, tag = "2")]
    pub(crate) num_devices_per_group: i64,
    #[prost(int64, repeated, tag = "3")]
    pub(crate) iota_reshape_dims: Vec<i64>,
    #[prost(int32, repeated, tag = "4")]
    pub(crate) iota_transpose_perm: Vec<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct MeshAxesReplicaGroupList {
    #[prost(message, optional, tag = "1")]
    pub(crate) mesh: Option<Mesh>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) axes: Vec<AxisRef>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Mesh {
    #[prost(message, repeated, tag = "1")]
    pub(crate) axes: Vec<MeshAxis>,
    #[prost(int64, repeated, tag = "2")]
    pub(crate) device_ids: Vec<i64>,
    #[prost(message, optional, tag = "3")]
    pub(crate) iota_transform: Option<IotaTransform>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct MeshAxis {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(int64, tag = "2")]
    pub(crate) size: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct IotaTransform {
    #[prost(int64, repeated, tag = "1")]
    pub(crate) reshape_dims: Vec<i64>,
    #[prost(int64, repeated, tag = "2")]
    pub(crate) transpose_perm: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct AxisRef {
    #[prost(int64, tag = "1")]
    pub(crate) mesh_axis_index: i64,
    #[prost(message, optional, tag = "2")]
    pub(crate) sub_axis_info: Option<SubAxis>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct SubAxis {
    #[prost(int64, tag = "1")]
    pub(crate) pre_size: i64,
    #[prost(int64, tag = "2")]
    pub(crate) size: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct OpSharding {
    #[prost(int32, tag = "1")]
    pub(crate) kind: i32,
    #[prost(int64, repeated, tag = "3")]
    pub(crate) tile_assignment_dimensions: Vec<i64>,
    #[prost(int64, repeated, tag = "4")]
    pub(crate) tile_assignment_devices: Vec<i64>,
    #[prost(message, repeated, tag = "5")]
    pub(crate) tuple_shardings: Vec<OpSharding>,
    #[prost(bool, tag = "6")]
    pub(crate) replicate_on_last_tile_dim: bool,
    #[prost(message, repeated, tag = "7")]
    pub(crate) metadata: Vec<OpMetadata>,
    #[prost(int32, repeated, tag = "8")]
    pub(crate) last_tile_dims: Vec<i32>,
    #[prost(int64, repeated, tag = "9")]
    pub(crate) iota_reshape_dims: Vec<i64>,
    #[prost(int32, repeated, tag = "10")]
    pub(crate) iota_transpose_perm: Vec<i32>,
    #[prost(bool, tag = "11")]
    pub(crate) is_shard_group: bool,
    #[prost(int64, tag = "12")]
    pub(crate) shard_group_id: i64,
    #[prost(int32, tag = "13")]
    pub(crate) shard_group_type: i32,
    #[prost(message, optional, tag = "14")]
    pub(crate) named_sharding: Option<NamedSharding>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct NamedSharding {
    #[prost(message, optional, tag = "2")]
    pub(crate) mesh: Option<Mesh>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) dim_shardings: Vec<DimensionSharding>,
    #[prost(message, repeated, tag = "4")]
    pub(crate) replicated_axes: Vec<AxisRef>,
    #[prost(message, repeated, tag = "5")]
    pub(crate) unreduced_axes: Vec<AxisRef>,
    #[prost(message, repeated, tag = "6")]
    pub(crate) metadata: Vec<OpMetadata>,
    #[prost(message, repeated, tag = "7")]
    pub(crate) manual_axes: Vec<AxisRef>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct DimensionSharding {
    #[prost(message, repeated, tag = "1")]
    pub(crate) axes: Vec<AxisRef>,
    #[prost(bool, tag = "2")]
    pub(crate) is_closed: bool,
}
