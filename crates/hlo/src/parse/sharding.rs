//! Which device holds which part of a value, and which devices talk to each other.

use prost::Message;

use super::{
    cursor::{Cursor, Parsed},
    metadata,
};
use crate::proto;

const REPLICATED: i32 = 0;
const MAXIMAL: i32 = 1;
const TUPLE: i32 = 2;
const OTHER: i32 = 3;
const MANUAL: i32 = 4;
const UNKNOWN: i32 = 5;
const UNREDUCED: i32 = 6;

/// Axes of a mesh; each mention of one is looked up among them.
const LARGEST_MESH: usize = 256;

/// A sharding between braces, encoded.
pub(super) fn sharding(cursor: &mut Cursor<'_>) -> Parsed<Vec<u8>> {
    let before = *cursor;
    cursor.expect("{")?;
    let is_tuple = matches!(cursor.peek(), Some(b'{' | b'}'));
    *cursor = before;
    if !is_tuple {
        return Ok(one(cursor)?.encode_to_vec());
    }
    let mut tuple = proto::OpSharding { kind: TUPLE, ..proto::OpSharding::default() };
    cursor.list("{", "}", |cursor| {
        tuple.tuple_shardings.push(one(cursor)?);
        Ok(())
    })?;
    Ok(tuple.encode_to_vec())
}

fn one(cursor: &mut Cursor<'_>) -> Parsed<proto::OpSharding> {
    const EXPECTED: &str = "a part of a sharding, for instance replicated or devices=[2,1]<=[2]";
    cursor.expect("{")?;
    if matches!(cursor.peek_word(), "mesh" | "maximal_mesh") {
        let named_sharding = Some(named(cursor)?);
        return Ok(proto::OpSharding { kind: OTHER, named_sharding, ..proto::OpSharding::default() });
    }
    let mut sharding = proto::OpSharding { kind: OTHER, ..proto::OpSharding::default() };
    while !cursor.eat("}") {
        cursor.eat(",");
        let before = *cursor;
        if let Some(key) = cursor.key() {
            match key {
                "device" => sharding.tile_assignment_devices = vec![cursor.integer()?],
                "devices" => tiles(cursor, &mut sharding)?,
                "metadata" => sharding.metadata = metadata::one_or_more(cursor)?,
                "last_tile_dims" => cursor.list("{", "}", |cursor| {
                    let word = cursor.word("a kind of sharding")?;
                    sharding.last_tile_dims.push(kind(word).unwrap_or(UNKNOWN));
                    Ok(())
                })?,
                _ => {
                    *cursor = before;
                    return cursor.unexpected(EXPECTED);
                }
            }
            continue;
        }
        match cursor.word(EXPECTED)? {
            "last_tile_dim_replicate" => sharding.replicate_on_last_tile_dim = true,
            group @ ("shard_as" | "shard_like") => {
                sharding.is_shard_group = true;
                sharding.shard_group_type = i32::from(group == "shard_like");
                sharding.shard_group_id = cursor.integer()?;
            }
            word => match kind(word) {
                Some(kind) => sharding.kind = kind,
                None => {
                    *cursor = before;
                    return cursor.unexpected(EXPECTED);
                }
            },
        }
    }
    Ok(sharding)
}

fn kind(word: &str) -> Option<i32> {
    Some(match word {
        "replicated" => REPLICATED,
        "maximal" => MAXIMAL,
        "manual" => MANUAL,
        "unknown" => UNKNOWN,
        "unreduced" => UNREDUCED,
        _ => return None,
    })
}

/// `[2,4]<=[4,2]T(1,0)` or `[2,2]0,1,2,3`.
fn tiles(cursor: &mut Cursor<'_>, sharding: &mut proto::OpSharding) -> Parsed<()> {
    sharding.tile_assignment_dimensions = bracketed(cursor)?;
    if cursor.eat("<=") {
        let (dims, perm) = iota(cursor)?;
        // Where nothing is transposed, the compiler writes the order all the same.
        sharding.iota_transpose_perm = match perm.is_empty() {
            true => (0..).take(dims.len()).collect(),
            false => perm.into_iter().map(|dim| dim as i32).collect(),
        };
        sharding.iota_reshape_dims = dims;
    } else {
        sharding.tile_assignment_devices = cursor.bare_integers()?;
    }
    Ok(())
}

fn bracketed(cursor: &mut Cursor<'_>) -> Parsed<Vec<i64>> {
    cursor.expect("[")?;
    let numbers = cursor.bare_integers()?;
    cursor.expect("]")?;
    Ok(numbers)
}

/// `[4,2]T(1,0)`: extents, and their order after a transpose.
fn iota(cursor: &mut Cursor<'_>) -> Parsed<(Vec<i64>, Vec<i64>)> {
    let dims = bracketed(cursor)?;
    let mut perm = Vec::new();
    if cursor.eat("T(") {
        perm = cursor.bare_integers()?;
        cursor.expect(")")?;
    }
    Ok((dims, perm))
}

/// The inside of a sharding that names the axes of a mesh.
fn named(cursor: &mut Cursor<'_>) -> Parsed<proto::NamedSharding> {
    let mut sharding = proto::NamedSharding::default();
    let mesh = mesh(cursor)?;
    while !cursor.eat("}") {
        cursor.eat(",");
        if cursor.peek() == Some(b'[') {
            cursor.list("[", "]", |cursor| {
                let mut dim = proto::DimensionSharding { is_closed: true, ..Default::default() };
                cursor.list("{", "}", |cursor| {
                    if cursor.eat("?") {
                        dim.is_closed = false;
                    } else {
                        dim.axes.push(axis(cursor, &mesh)?);
                    }
                    Ok(())
                })?;
                sharding.dim_shardings.push(dim);
                Ok(())
            })?;
            continue;
        }
        let every = || (0..).take(mesh.axes.len()).map(whole_axis).collect();
        match cursor.key() {
            Some("replicated") => sharding.replicated_axes = axes(cursor, &mesh)?,
            Some("unreduced") => sharding.unreduced_axes = axes(cursor, &mesh)?,
            Some("manual") => sharding.manual_axes = axes(cursor, &mesh)?,
            Some("metadata") => sharding.metadata = metadata::one_or_more(cursor)?,
            Some(_) => cursor.pass_value()?,
            None if cursor.eat_word("replicated") => {}
            None if cursor.eat_word("unreduced") => sharding.unreduced_axes = every(),
            None if cursor.eat_word("manual") => sharding.manual_axes = every(),
            None => return cursor.unexpected("a part of a sharding over a mesh"),
        }
    }
    sharding.mesh = Some(mesh);
    Ok(sharding)
}

fn whole_axis(mesh_axis_index: i64) -> proto::AxisRef {
    proto::AxisRef { mesh_axis_index, sub_axis_info: None }
}

/// `mesh['x'=2,'y'=4], device_ids=(...)`.
fn mesh(cursor: &mut Cursor<'_>) -> Parsed<proto::Mesh> {
    let mut mesh = proto::Mesh::default();
    if cursor.eat_word("maximal_mesh") {
        cursor.expect("[")?;
        if cursor.key() != Some("device_id") {
            return cursor.unexpected("device_id=");
        }
        mesh.device_ids = vec![cursor.integer()?];
        cursor.expect("]")?;
        return Ok(mesh);
    }
    if !cursor.eat_word("mesh") {
        return cursor.unexpected("mesh");
    }
    cursor.list("[", "]", |cursor| {
        if mesh.axes.len() >= LARGEST_MESH {
            return cursor.unexpected(format!("at most {LARGEST_MESH} axes"));
        }
        let name = axis_name(cursor)?;
        cursor.expect("=")?;
        mesh.axes.push(proto::MeshAxis { name, size: cursor.integer()? });
        Ok(())
    })?;
    let mut ahead = *cursor;
    if ahead.eat(",") && ahead.key() == Some("device_ids") {
        *cursor = ahead;
        cursor.expect("(")?;
        cursor.eat("<=");
        if cursor.peek() == Some(b'[') {
            let (reshape_dims, transpose_perm) = iota(cursor)?;
            mesh.iota_transform = Some(proto::IotaTransform { reshape_dims, transpose_perm });
        } else if cursor.peek() != Some(b')') {
            mesh.device_ids = cursor.bare_integers()?;
        }
        cursor.expect(")")?;
    }
    Ok(mesh)
}

/// The name of an axis, with or without quotes.
fn axis_name(cursor: &mut Cursor<'_>) -> Parsed<String> {
    match cursor.peek() {
        Some(b'\'' | b'"') => cursor.string(),
        _ => Ok(cursor.word("the name of an axis")?.to_owned()),
    }
}

fn axes(cursor: &mut Cursor<'_>, mesh: &proto::Mesh) -> Parsed<Vec<proto::AxisRef>> {
    let mut axes = Vec::new();
    cursor.list("{", "}", |cursor| {
        axes.push(axis(cursor, mesh)?);
        Ok(())
    })?;
    Ok(axes)
}

/// An axis, or a part of it: `'x'` or `'x':(1)2`.
fn axis(cursor: &mut Cursor<'_>, mesh: &proto::Mesh) -> Parsed<proto::AxisRef> {
    let before = *cursor;
    let name = axis_name(cursor)?;
    let position = mesh.axes.iter().position(|axis| axis.name == name);
    let index = position.and_then(|p| i64::try_from(p).ok()).or_else(|| name.parse().ok());
    let Some(mesh_axis_index) = index else {
        *cursor = before;
        return cursor.unexpected("an axis of the mesh");
    };
    let mut axis = whole_axis(mesh_axis_index);
    if cursor.eat(":") {
        cursor.expect("(")?;
        let pre_size = cursor.integer()?;
        cursor.expect(")")?;
        axis.sub_axis_info = Some(proto::SubAxis { pre_size, size: cursor.integer()? });
    }
    Ok(axis)
}

/// The groups of a collective, in whichever of three forms, into the field of that form.
pub(super) fn replica_groups(cursor: &mut Cursor<'_>, hlo: &mut proto::HloInstruction) -> Parsed<()> {
    if cursor.peek_word() == "mesh" {
        let mesh = mesh(cursor)?;
        let axes = axes(cursor, &mesh)?;
        hlo.mesh_axes_replica_group_list = Some(proto::MeshAxesReplicaGroupList { mesh: Some(mesh), axes });
        return Ok(());
    }
    if cursor.peek() == Some(b'[') {
        let before = *cursor;
        let numbers = bracketed(cursor)?;
        let &[num_replica_groups, num_devices_per_group] = numbers.as_slice() else {
            *cursor = before;
            return cursor.unexpected("the number of groups and their size");
        };
        cursor.expect("<=")?;
        let (iota_reshape_dims, perm) = iota(cursor)?;
        hlo.iota_collective_device_list = Some(proto::IotaReplicaGroupList {
            num_replica_groups,
            num_devices_per_group,
            iota_transpose_perm: match perm.is_empty() {
                true => (0..).take(iota_reshape_dims.len()).collect(),
                false => perm.into_iter().map(|dim| dim as i32).collect(),
            },
            iota_reshape_dims,
        });
        return Ok(());
    }
    let lists = cursor.lists_of_integers()?;
    let groups = lists.into_iter().map(|replica_ids| proto::ReplicaGroup { replica_ids });
    hlo.collective_device_list =
        Some(proto::CollectiveDeviceList { replica_groups: groups.collect(), iota_replica_group_list: None });
    Ok(())
}
