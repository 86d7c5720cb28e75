//! Which device holds which part of a value.

use std::fmt::{self, Write};

use prost::Message;

use super::escape::Name;
use super::{
    Words,
    list::{Braced, join, numbers},
    metadata,
};
use crate::{
    instruction::Metadata,
    proto,
    replica_groups::{IotaGroups, MeshAxes, MeshAxisRef},
};

const REPLICATED: i32 = 0;
const MAXIMAL: i32 = 1;
const TUPLE: i32 = 2;
const MANUAL: i32 = 4;
const UNKNOWN: i32 = 5;
const UNREDUCED: i32 = 6;

/// The sharding of these bytes; `None` where they are no sharding.
pub(super) fn text(bytes: &[u8], with_metadata: bool) -> Option<String> {
    let sharding = proto::OpSharding::decode(bytes).ok()?;
    Some(Words(|f: &mut fmt::Formatter<'_>| write(f, &sharding, with_metadata)).to_string())
}

fn write(f: &mut fmt::Formatter<'_>, sharding: &proto::OpSharding, with_metadata: bool) -> fmt::Result {
    if let Some(named) = &sharding.named_sharding {
        return self::named(f, named, with_metadata);
    }
    f.write_str("{")?;
    if sharding.kind == TUPLE {
        for (position, element) in sharding.tuple_shardings.iter().enumerate() {
            if position > 0 {
                f.write_str(", ")?;
                if position % 5 == 0 {
                    write!(f, "/*index={position}*/")?;
                }
            }
            write(f, element, with_metadata)?;
        }
        return f.write_str("}");
    }
    match sharding.kind {
        REPLICATED => f.write_str("replicated")?,
        MANUAL => f.write_str("manual")?,
        UNKNOWN => f.write_str("unknown")?,
        UNREDUCED => f.write_str("unreduced")?,
        MAXIMAL => {
            let device = sharding.tile_assignment_devices.first().copied().unwrap_or_default();
            write!(f, "maximal device={device}")?;
        }
        _ => tiles(f, sharding)?,
    }
    if sharding.is_shard_group {
        let how = if sharding.shard_group_type == 0 { "shard_as" } else { "shard_like" };
        write!(f, " {how} {}", sharding.shard_group_id)?;
    }
    if with_metadata && !sharding.metadata.is_empty() {
        f.write_str(" metadata={")?;
        match sharding.metadata.as_slice() {
            [one] => f.write_str(&metadata::metadata_text(&Metadata::from(one.clone())))?,
            many => {
                join(f, many, ", ", |f, m| {
                    write!(f, "{{{}}}", metadata::metadata_text(&Metadata::from(m.clone())))
                })?;
            }
        }
        f.write_str("}")?;
    }
    f.write_str("}")
}

fn tiles(f: &mut fmt::Formatter<'_>, sharding: &proto::OpSharding) -> fmt::Result {
    f.write_str("devices=[")?;
    numbers(f, &sharding.tile_assignment_dimensions)?;
    f.write_str("]")?;
    if sharding.tile_assignment_devices.is_empty() {
        let perm: Vec<i64> = sharding.iota_transpose_perm.iter().map(|p| i64::from(*p)).collect();
        f.write_str("<=")?;
        iota(f, &sharding.iota_reshape_dims, &perm)?;
    } else {
        numbers(f, &sharding.tile_assignment_devices)?;
    }
    if sharding.replicate_on_last_tile_dim {
        f.write_str(" last_tile_dim_replicate")?;
    }
    if !sharding.last_tile_dims.is_empty() {
        f.write_str(" last_tile_dims={")?;
        join(f, &sharding.last_tile_dims, ", ", |f, kind| {
            f.write_str(match *kind {
                MANUAL => "manual",
                MAXIMAL => "maximal",
                REPLICATED => "replicated",
                UNREDUCED => "unreduced",
                _ => "error_type.",
            })
        })?;
        f.write_str("}")?;
    }
    Ok(())
}

/// Devices numbered in order, reshaped and perhaps transposed.
fn iota(f: &mut fmt::Formatter<'_>, dims: &[i64], perm: &[i64]) -> fmt::Result {
    f.write_str("[")?;
    numbers(f, dims)?;
    f.write_str("]")?;
    // A permutation of one dimension says nothing.
    if dims.len() > 1 && !perm.is_empty() {
        f.write_str("T(")?;
        numbers(f, perm)?;
        f.write_str(")")?;
    }
    Ok(())
}

/// A mesh, and its devices where they are not simply numbered in order.
fn mesh(f: &mut fmt::Formatter<'_>, mesh: &proto::Mesh) -> fmt::Result {
    f.write_str("mesh[")?;
    join(f, &mesh.axes, ",", |f, axis| write!(f, "'{}'={}", Name(&axis.name), axis.size))?;
    f.write_str("]")?;
    if mesh.iota_transform.is_none() && mesh.device_ids.is_empty() {
        return Ok(());
    }
    f.write_str(", device_ids=(")?;
    match &mesh.iota_transform {
        Some(transform) => iota(f, &transform.reshape_dims, &transform.transpose_perm)?,
        None => numbers(f, &mesh.device_ids)?,
    }
    f.write_str(")")
}

/// Groups of a collective that are numbered in order, for instance `[4,2]<=[2,4]T(1,0)`.
pub(super) fn iota_groups(groups: &IotaGroups) -> String {
    Words(|f: &mut fmt::Formatter<'_>| {
        write!(f, "[{},{}]<=", groups.group_count, groups.group_size)?;
        iota(f, &groups.reshape_dims, &groups.transpose_perm)
    })
    .to_string()
}

fn named(f: &mut fmt::Formatter<'_>, sharding: &proto::NamedSharding, with_metadata: bool) -> fmt::Result {
    let mut origin = String::new();
    if with_metadata && !sharding.metadata.is_empty() {
        let each: Vec<String> = sharding
            .metadata
            .iter()
            .map(|m| format!("{{{}}}", metadata::metadata_text(&Metadata::from(m.clone()))))
            .collect();
        // Writing to a string cannot fail.
        let _ = write!(origin, ", metadata={{{}}}", each.join(", "));
    }
    let mesh = sharding.mesh.clone().unwrap_or_default();
    let is_sharded = sharding.dim_shardings.iter().any(|d| !d.axes.is_empty());
    let has_axes = !sharding.unreduced_axes.is_empty() || !sharding.manual_axes.is_empty();
    if mesh.axes.is_empty() && mesh.device_ids.len() == 1 {
        return write!(f, "{{maximal device={}{origin}}}", mesh.device_ids[0]);
    }
    if !is_sharded && !has_axes && sharding.replicated_axes.is_empty() {
        return write!(f, "{{replicated{origin}}}");
    }
    f.write_str("{")?;
    self::mesh(f, &mesh)?;
    f.write_str(", [")?;
    let dims = if is_sharded { sharding.dim_shardings.as_slice() } else { &[] };
    join(f, dims, ", ", |f, dim| {
        let mut words: Vec<String> = dim.axes.iter().map(|axis| axis_text(axis, &mesh)).collect();
        if !dim.is_closed {
            words.push("?".to_owned());
        }
        write!(f, "{{{}}}", words.join(", "))
    })?;
    f.write_str("]")?;
    for (key, axes) in [
        ("replicated", &sharding.replicated_axes),
        ("unreduced", &sharding.unreduced_axes),
        ("manual", &sharding.manual_axes),
    ] {
        if !axes.is_empty() {
            let words: Vec<String> = axes.iter().map(|axis| axis_text(axis, &mesh)).collect();
            write!(f, ", {key}={{{}}}", words.join(", "))?;
        }
    }
    write!(f, "{origin}}}")
}

fn axis_text(axis: &proto::AxisRef, mesh: &proto::Mesh) -> String {
    let name = usize::try_from(axis.mesh_axis_index).ok().and_then(|index| mesh.axes.get(index));
    let name = Name(name.map_or("", |axis| axis.name.as_str()));
    match &axis.sub_axis_info {
        None => format!("'{name}'"),
        Some(part) => format!("'{name}':({}){}", part.pre_size, part.size),
    }
}

/// Groups of a collective written out.
pub(super) fn lists(groups: &[Vec<i64>]) -> String {
    let each: Vec<String> = groups.iter().map(|group| Braced(group).to_string()).collect();
    format!("{{{}}}", each.join(","))
}

/// Groups of a collective that are named by axes of a mesh.
pub(super) fn mesh_groups(groups: &MeshAxes) -> String {
    let mesh = proto::Mesh {
        axes: groups
            .mesh
            .iter()
            .map(|(name, size)| proto::MeshAxis { name: name.clone(), size: *size })
            .collect(),
        device_ids: groups.device_ids.clone(),
        iota_transform: groups
            .iota_transform
            .clone()
            .map(|(reshape_dims, transpose_perm)| proto::IotaTransform { reshape_dims, transpose_perm }),
    };
    let axis = |axis: &MeshAxisRef| {
        let sub_axis_info = axis.sub_axis.map(|(pre_size, size)| proto::SubAxis { pre_size, size });
        axis_text(&proto::AxisRef { mesh_axis_index: axis.axis, sub_axis_info }, &mesh)
    };
    let axes: Vec<String> = groups.axes.iter().map(axis).collect();
    format!("{} {{{}}}", Words(|f: &mut fmt::Formatter<'_>| self::mesh(f, &mesh)), axes.join(","))
}
