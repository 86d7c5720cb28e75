//! Which devices talk to each other in a collective, in each form that XLA writes.

use crate::proto;

/// The groups of a collective. Ids are replica, partition or global device ids, as the collective's mode says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplicaGroups {
    /// Written out: `{{0,1},{2,3}}`.
    Lists(Vec<Vec<i64>>),
    /// Computed from an iota: `[4,2]<=[2,4]T(1,0)`.
    Iota(IotaGroups),
    /// Named by axes of a device mesh.
    MeshAxes(MeshAxes),
}

/// `[groups,size]<=[reshape]T(transpose)`: number the devices 0.., shape them as `reshape_dims`, transpose, flatten, and
/// cut into groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IotaGroups {
    /// Number of groups.
    pub group_count: i64,
    /// Devices in each group.
    pub group_size: i64,
    /// Shape given to the iota.
    pub reshape_dims: Vec<i64>,
    /// Order of dimensions after the transpose; empty for none.
    pub transpose_perm: Vec<i64>,
}

/// Groups spanned by some axes of a mesh.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeshAxes {
    /// Name and extent of each axis of the mesh, major first.
    pub mesh: Vec<(String, i64)>,
    /// Devices in mesh order, where they are not simply 0, 1, 2...
    pub device_ids: Vec<i64>,
    /// How the device order comes from an iota: reshape dimensions and transpose permutation.
    pub iota_transform: Option<(Vec<i64>, Vec<i64>)>,
    /// The axes along which devices form a group.
    pub axes: Vec<MeshAxisRef>,
}

/// An axis of a mesh, or part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeshAxisRef {
    /// Position of the axis in the mesh.
    pub axis: i64,
    /// For a part of an axis: product of what lies before it in the axis, and its own extent.
    pub sub_axis: Option<(i64, i64)>,
}

impl ReplicaGroups {
    /// Number of groups. `None` where a mesh does not say; 0 lists mean one group of all devices, also `None` here.
    #[must_use]
    pub fn group_count(&self) -> Option<u64> {
        match self {
            Self::Lists(lists) if lists.is_empty() => None,
            Self::Lists(lists) => u64::try_from(lists.len()).ok(),
            Self::Iota(iota) => u64::try_from(iota.group_count).ok(),
            Self::MeshAxes(mesh) => {
                let devices = product(mesh.mesh.iter().map(|axis| axis.1))?;
                let size = self.group_size().filter(|size| *size > 0)?;
                Some(devices / size)
            }
        }
    }

    /// Devices in a group (the largest, if they differ). `None` where the groups do not say, for instance `{}`: all.
    #[must_use]
    pub fn group_size(&self) -> Option<u64> {
        match self {
            Self::Lists(lists) => lists.iter().map(|list| list.len() as u64).max(),
            Self::Iota(iota) => u64::try_from(iota.group_size).ok(),
            Self::MeshAxes(mesh) => product(mesh.axes.iter().map(|axis| match axis.sub_axis {
                Some((_, size)) => size,
                None => usize::try_from(axis.axis).ok().and_then(|i| mesh.mesh.get(i)).map_or(-1, |a| a.1),
            })),
        }
    }

    /// The groups written out. `None` for more than 2^20 devices, for numbers that do not fit together, and for mesh axes that
    /// are not there.
    #[must_use]
    pub fn to_lists(&self) -> Option<Vec<Vec<i64>>> {
        match self {
            Self::Lists(lists) => Some(lists.clone()),
            Self::Iota(iota) => iota.to_lists(),
            Self::MeshAxes(mesh) => mesh.to_lists(),
        }
    }
}

impl IotaGroups {
    fn to_lists(&self) -> Option<Vec<Vec<i64>>> {
        let size = usize::try_from(self.group_size).ok().filter(|size| *size > 0)?;
        let devices = transposed_iota(&self.reshape_dims, &self.transpose_perm)?;
        if product([self.group_count, self.group_size].into_iter())? != devices.len() as u64 {
            return None;
        }
        Some(devices.chunks(size).map(<[i64]>::to_vec).collect())
    }
}

impl MeshAxes {
    /// The devices in the order of the mesh, its last axis fastest; `None` as in [`ReplicaGroups::to_lists`].
    #[must_use]
    pub fn devices(&self) -> Option<Vec<i64>> {
        let total = product(self.mesh.iter().map(|axis| axis.1)).filter(|total| *total <= MOST_DEVICES)?;
        let devices = if let Some((dims, perm)) = &self.iota_transform {
            transposed_iota(dims, perm)?
        } else if self.device_ids.is_empty() {
            transposed_iota(&[i64::try_from(total).ok()?], &[])?
        } else {
            self.device_ids.clone()
        };
        (devices.len() as u64 == total).then_some(devices)
    }

    fn to_lists(&self) -> Option<Vec<Vec<i64>>> {
        if self.mesh.len().max(self.axes.len()) > MOST_DIMS {
            return None;
        }
        let devices = self.devices()?;
        // Axes of which only a part is used are cut into several dimensions.
        let mut dims: Vec<i64> = Vec::new();
        let mut grouped: Vec<Vec<usize>> = vec![Vec::new(); self.axes.len()];
        for (at, (_, extent)) in (0_i64..).zip(&self.mesh) {
            let parts = self.axes.iter().map(|own| (own.axis == at).then(|| own.extent(*extent)).flatten());
            let parts: Vec<Option<(i64, i64)>> = parts.collect();
            let mut cuts = vec![1, *extent];
            for (from, to) in parts.iter().flatten() {
                cuts.extend([*from, *to]);
            }
            cuts.sort_unstable();
            cuts.dedup();
            for pair in cuts.windows(2) {
                let &[from, to] = pair else { continue };
                if from <= 0 || to % from != 0 {
                    return None;
                }
                for (own, part) in grouped.iter_mut().zip(&parts) {
                    if part.is_some_and(|part| part.0 <= from && to <= part.1) {
                        own.push(dims.len());
                    }
                }
                dims.push(to / from);
            }
        }
        let inside: Vec<usize> = grouped.into_iter().flatten().collect();
        let outside = (0..dims.len()).filter(|dim| !inside.contains(dim));
        let perm = outside.chain(inside.iter().copied()).map(|dim| i64::try_from(dim).ok());
        let order = transposed_iota(&dims, &perm.collect::<Option<Vec<i64>>>()?)?;
        let size = ReplicaGroups::MeshAxes(self.clone()).group_size().filter(|size| *size > 0)?;
        if inside.iter().try_fold(1_u64, |all, dim| all.checked_mul(u64::try_from(dims[*dim]).ok()?))? != size
        {
            return None;
        }
        let member = |at: &i64| usize::try_from(*at).ok().and_then(|at| devices.get(at).copied());
        let group = |at: &[i64]| at.iter().map(member).collect::<Option<Vec<i64>>>();
        order.chunks(usize::try_from(size).ok()?).map(group).collect()
    }
}

impl MeshAxisRef {
    /// The part of an axis of this extent, as the products of what lies before it and of what lies before its end.
    fn extent(&self, whole: i64) -> Option<(i64, i64)> {
        match self.sub_axis {
            None => Some((1, whole)),
            Some((before, size)) => Some((before, before.checked_mul(size)?)),
        }
    }
}

/// More devices than this are not written out.
const MOST_DEVICES: u64 = 1 << 20;
/// More dimensions than this no mesh has.
const MOST_DIMS: usize = 64;

/// `iota(dims)` transposed and flattened; `None` for too many devices or a permutation that is none.
fn transposed_iota(dims: &[i64], perm: &[i64]) -> Option<Vec<i64>> {
    let total = product(dims.iter().copied()).filter(|total| *total <= MOST_DEVICES)?;
    let rank = dims.len();
    if rank > MOST_DIMS {
        return None;
    }
    let perm: Vec<usize> = match perm.is_empty() {
        true => (0..rank).collect(),
        false => perm.iter().map(|p| usize::try_from(*p).ok()).collect::<Option<_>>()?,
    };
    let mut sorted = perm.clone();
    sorted.sort_unstable();
    if !sorted.into_iter().eq(0..rank) {
        return None;
    }
    let mut strides = vec![1i64; rank];
    for dim in (1..rank).rev() {
        strides[dim - 1] = strides[dim].checked_mul(dims[dim])?;
    }
    // Walk the transposed shape in row-major order; each position's device is the dot product with old strides.
    let mut position = vec![0i64; rank];
    let mut devices = Vec::new();
    for _ in 0..total {
        devices.push(perm.iter().zip(&position).map(|(dim, at)| strides[*dim] * at).sum::<i64>());
        for place in (0..rank).rev() {
            position[place] += 1;
            if position[place] < dims[perm[place]] {
                break;
            }
            position[place] = 0;
        }
    }
    Some(devices)
}

fn product(values: impl Iterator<Item = i64>) -> Option<u64> {
    values.into_iter().try_fold(1u64, |all, value| all.checked_mul(u64::try_from(value).ok()?))
}

/// The groups of an instruction, from whichever field its XLA wrote them to.
pub(crate) fn of_instruction(hlo: &mut proto::HloInstruction) -> Option<ReplicaGroups> {
    let lists = |groups: Vec<proto::ReplicaGroup>| {
        ReplicaGroups::Lists(groups.into_iter().map(|g| g.replica_ids).collect())
    };
    if let Some(mesh) = hlo.mesh_axes_replica_group_list.take() {
        return Some(ReplicaGroups::MeshAxes(mesh.into()));
    }
    if let Some(iota) = hlo.iota_collective_device_list.take() {
        return Some(ReplicaGroups::Iota(iota.into()));
    }
    if let Some(list) = hlo.collective_device_list.take() {
        return Some(match list.iota_replica_group_list {
            Some(iota) if list.replica_groups.is_empty() => ReplicaGroups::Iota(iota.into()),
            _ => lists(list.replica_groups),
        });
    }
    let legacy = std::mem::take(&mut hlo.replica_groups);
    (!legacy.is_empty()).then(|| lists(legacy))
}

impl From<proto::IotaReplicaGroupList> for IotaGroups {
    fn from(iota: proto::IotaReplicaGroupList) -> Self {
        Self {
            group_count: iota.num_replica_groups,
            group_size: iota.num_devices_per_group,
            reshape_dims: iota.iota_reshape_dims,
            transpose_perm: iota.iota_transpose_perm.into_iter().map(i64::from).collect(),
        }
    }
}

impl From<proto::MeshAxesReplicaGroupList> for MeshAxes {
    fn from(list: proto::MeshAxesReplicaGroupList) -> Self {
        let mesh = list.mesh.unwrap_or_default();
        Self {
            mesh: mesh.axes.into_iter().map(|axis| (axis.name, axis.size)).collect(),
            device_ids: mesh.device_ids,
            iota_transform: mesh.iota_transform.map(|t| (t.reshape_dims, t.transpose_perm)),
            axes: list
                .axes
                .into_iter()
                .map(|axis| MeshAxisRef {
                    axis: axis.mesh_axis_index,
                    sub_axis: axis.sub_axis_info.map(|s| (s.pre_size, s.size)),
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn iota(groups: i64, size: i64, dims: &[i64], perm: &[i64]) -> ReplicaGroups {
        ReplicaGroups::Iota(IotaGroups {
            group_count: groups,
            group_size: size,
            reshape_dims: dims.to_vec(),
            transpose_perm: perm.to_vec(),
        })
    }

    #[test]
    fn expands_an_iota() {
        assert_eq!(iota(2, 2, &[4], &[]).to_lists(), Some(vec![vec![0, 1], vec![2, 3]]));
        let transposed = iota(4, 2, &[2, 4], &[1, 0]);
        assert_eq!(transposed.to_lists(), Some(vec![vec![0, 4], vec![1, 5], vec![2, 6], vec![3, 7]]));
        assert_eq!((transposed.group_count(), transposed.group_size()), (Some(4), Some(2)));
    }

    #[test]
    fn refuses_numbers_that_do_not_fit() {
        assert_eq!(iota(3, 2, &[4], &[]).to_lists(), None);
        assert_eq!(iota(1, 0, &[0], &[]).to_lists(), None);
        assert_eq!(iota(2, 2, &[4], &[7]).to_lists(), None);
        assert_eq!(iota(i64::MAX, 2, &[i64::MAX, 2], &[]).to_lists(), None);
        assert_eq!(iota(1 << 20, 2, &[1 << 21], &[]).to_lists(), None);
        assert_eq!(iota(2, 2, &[2, 2], &[0, 0]).to_lists(), None);
        // Many dimensions of 1 are no more devices, but more work.
        assert_eq!(iota(1, 1, &vec![1; 1 << 16], &[]).to_lists(), None);
    }

    #[test]
    fn reads_what_text_writes() {
        let lists = |text: &str| ReplicaGroups::parse(text).unwrap().to_lists();
        assert_eq!(lists("{{0,1},{2,3}}, dimensions={0}"), Some(vec![vec![0, 1], vec![2, 3]]));
        assert_eq!(lists("{}"), Some(Vec::new()));
        assert_eq!(lists("[4,2]<=[8]"), Some(vec![vec![0, 1], vec![2, 3], vec![4, 5], vec![6, 7]]));
        let strided = Some(vec![vec![0, 2, 4, 6], vec![1, 3, 5, 7]]);
        assert_eq!(lists("[2,4]<=[4,2]T(1,0), use_global_device_ids=true"), strided);
        assert_eq!(lists("mesh['x'=4,'y'=2] {'x'}"), strided);
        assert_eq!(lists("mesh['x'=4,'y'=2] {'y'}"), lists("[4,2]<=[8]"));
        assert_eq!(lists("mesh['x'=4,'y'=2] {'x','y'}"), lists("[1,8]<=[8]"));
        assert!(ReplicaGroups::parse("@mesh{'x'}").is_err() && ReplicaGroups::parse("").is_err());
    }

    #[test]
    fn writes_mesh_axes_out() {
        let lists = |text: &str| ReplicaGroups::parse(text).unwrap().to_lists();
        // The outer and the inner half of an axis of 4.
        assert_eq!(lists("mesh['x'=4] {'x':(1)2}"), Some(vec![vec![0, 2], vec![1, 3]]));
        assert_eq!(lists("mesh['x'=4] {'x':(2)2}"), Some(vec![vec![0, 1], vec![2, 3]]));
        // Axes in another order than the mesh's.
        assert_eq!(lists("mesh['x'=2,'y'=2] {'y','x'}"), Some(vec![vec![0, 2, 1, 3]]));
        let ids = lists("mesh['x'=2,'y'=2], device_ids=(3,1,2,0) {'y'}");
        assert_eq!(ids, Some(vec![vec![3, 1], vec![2, 0]]));
        let iota = lists("mesh['x'=2,'y'=2], device_ids=([2,2]T(1,0)) {'y'}");
        assert_eq!(iota, Some(vec![vec![0, 2], vec![1, 3]]));
        for broken in [
            "mesh['x'=4] {'x':(3)2}",
            "mesh['x'=0] {'x'}",
            "mesh['x'=2097152] {'x'}",
            "mesh['x'=4] {'x':(9223372036854775807)4}",
            "mesh['x'=4,'y'=9223372036854775807] {'x'}",
            "mesh['x'=2,'y'=2], device_ids=(1) {'y'}",
        ] {
            assert_eq!(lists(broken), None, "{broken}");
        }
    }

    #[test]
    fn sizes_of_mesh_axes() {
        let axis = |axis, sub_axis| MeshAxisRef { axis, sub_axis };
        let mut mesh = MeshAxes {
            mesh: vec![("data".into(), 4), ("model".into(), 8)],
            axes: vec![axis(1, None)],
            ..MeshAxes::default()
        };
        let groups = ReplicaGroups::MeshAxes(mesh.clone());
        assert_eq!((groups.group_count(), groups.group_size()), (Some(4), Some(8)));
        mesh.axes = vec![axis(1, Some((1, 2)))];
        assert_eq!(ReplicaGroups::MeshAxes(mesh.clone()).group_size(), Some(2));
        mesh.axes = vec![axis(9, None)];
        assert_eq!(ReplicaGroups::MeshAxes(mesh).group_size(), None);
    }
}
