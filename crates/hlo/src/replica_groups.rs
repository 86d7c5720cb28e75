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

    /// The groups written out. `None` for mesh axes, and for an iota of more than 2^20 devices or whose numbers do not
    /// fit together.
    #[must_use]
    pub fn to_lists(&self) -> Option<Vec<Vec<i64>>> {
        match self {
            Self::Lists(lists) => Some(lists.clone()),
            Self::Iota(iota) => iota.to_lists(),
            Self::MeshAxes(_) => None,
        }
    }
}

impl IotaGroups {
    fn to_lists(&self) -> Option<Vec<Vec<i64>>> {
        let total = product(self.reshape_dims.iter().copied()).filter(|total| *total <= 1 << 20)?;
        let size = usize::try_from(self.group_size).ok().filter(|size| *size > 0)?;
        if product([self.group_count, self.group_size].into_iter())? != total {
            return None;
        }
        let rank = self.reshape_dims.len();
        let perm = if self.transpose_perm.is_empty() {
            (0..rank).collect()
        } else {
            let perm: Option<Vec<usize>> =
                self.transpose_perm.iter().map(|p| usize::try_from(*p).ok().filter(|p| *p < rank)).collect();
            perm.filter(|perm| perm.len() == rank)?
        };
        let mut strides = vec![1i64; rank];
        for dim in (1..rank).rev() {
            strides[dim - 1] = strides[dim].checked_mul(self.reshape_dims[dim])?;
        }
        // Walk the transposed shape in row-major order; each position's device is the dot product with old strides.
        let mut position = vec![0i64; rank];
        let mut devices = Vec::new();
        for _ in 0..total {
            devices.push(perm.iter().zip(&position).map(|(dim, at)| strides[*dim] * at).sum::<i64>());
            for place in (0..rank).rev() {
                position[place] += 1;
                if position[place] < self.reshape_dims[perm[place]] {
                    break;
                }
                position[place] = 0;
            }
        }
        Some(devices.chunks(size).map(<[i64]>::to_vec).collect())
    }
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
