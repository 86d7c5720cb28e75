//! Which executions of a collective belong together: those of one group of devices.
//!
//! Groups come from the program where the profile holds it, else from the op's expression. The numbers in them are taken to be
//! the chips' numbers in the slice (`core_details`), in a run of one host the devices' own; where a device's number is not
//! known, or nothing says which groups there are, all devices belong together.

use haloscope_hlo::{Instruction, InstructionIdx, IotaGroups, MeshAxes, Module, ReplicaGroups};
use haloscope_xspace::wire::{Fields, Value};

use haloscope_profile::{Device, Profile, Stat};
use haloscope_time::op_meta::OpMeta;

/// Who belongs together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Groups {
    /// All devices, as the program says.
    All,
    /// Those of one list.
    Lists(Vec<Vec<i64>>),
    /// Each target with its source.
    Pairs(Vec<(i64, i64)>),
    /// Nobody says: all devices.
    Unknown,
}

/// Members of one collective that wait for each other: positions in the list given to [`Groups::split`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Group {
    /// Those that wait.
    pub(super) waiting: Vec<usize>,
    /// Those that they wait for.
    pub(super) waited_for: Vec<usize>,
    /// The group has members that are not in the list.
    pub(super) is_partial: bool,
}

impl Groups {
    /// The groups of a collective op on a device.
    pub(super) fn of(profile: &Profile, device: &Device, op: &OpMeta<'_>) -> Self {
        let modules = profile.modules.iter().filter(|m| m.host == device.host);
        let module = modules.clone().find(|m| m.program_id == op.program_id && m.program_id.is_some());
        let decoded = module.and_then(|m| m.decode(profile).ok());
        let found = decoded.and_then(|d| {
            let index = d.module.instruction_by_name(&op.name)?;
            Self::of_instruction(&d.module, index, 0)
        });
        found.or_else(|| Self::of_text(&op.expression)).unwrap_or(Self::Unknown)
    }

    /// Those of the instruction itself, or of the collective in what it calls.
    fn of_instruction(module: &Module, index: InstructionIdx, depth: usize) -> Option<Self> {
        /// A wrapper around a fusion around a collective is as deep as it gets.
        const DEPTH: usize = 4;
        let instruction: &Instruction = module.instruction(index);
        let attributes = instruction.attributes();
        if let Some(groups) = &attributes.replica_groups {
            return Some(Self::of_replica_groups(groups));
        }
        if !attributes.source_target_pairs.is_empty() {
            return Some(Self::Pairs(attributes.source_target_pairs.clone()));
        }
        if depth == DEPTH {
            return None;
        }
        let inside = instruction.called_computations.iter().map(|called| module.computation(*called));
        inside
            .flat_map(|computation| computation.instructions())
            .find_map(|index| Self::of_instruction(module, index, depth + 1))
    }

    fn of_replica_groups(groups: &ReplicaGroups) -> Self {
        match groups.to_lists() {
            Some(lists) if lists.iter().all(Vec::is_empty) => Self::All,
            Some(lists) => Self::Lists(lists),
            None => match groups {
                ReplicaGroups::MeshAxes(mesh) => lists_of_mesh(mesh).map_or(Self::Unknown, Self::Lists),
                _ => Self::Unknown,
            },
        }
    }

    /// Those that an expression states; `None` where it states none or is cut.
    pub(super) fn of_text(expression: &str) -> Option<Self> {
        if let Some((_, rest)) = expression.split_once("source_target_pairs={") {
            let pairs = lists(rest)?.into_iter().map(|pair| match pair[..] {
                [from, to] => Some((from, to)),
                _ => None,
            });
            return pairs.collect::<Option<Vec<_>>>().map(Self::Pairs);
        }
        let (_, rest) = expression.split_once("replica_groups=")?;
        if let Some(rest) = rest.strip_prefix('{') {
            let lists = lists(rest)?;
            return Some(if lists.is_empty() { Self::All } else { Self::Lists(lists) });
        }
        let (sizes, rest) = rest.strip_prefix('[')?.split_once("]<=[")?;
        let (dims, rest) = rest.split_once(']')?;
        let order = rest.strip_prefix("T(").and_then(|rest| rest.split_once(')')).map_or("", |(p, _)| p);
        let sizes = numbers(sizes)?;
        let (size, counts) = sizes.split_last()?;
        let iota = IotaGroups {
            group_count: counts.iter().product(),
            group_size: *size,
            reshape_dims: numbers(dims)?,
            transpose_perm: numbers(order)?,
        };
        Some(Self::of_replica_groups(&ReplicaGroups::Iota(iota)))
    }

    /// Splits members with these device numbers into groups.
    pub(super) fn split(&self, numbers: &[Option<i64>]) -> Vec<Group> {
        let all = || {
            let everyone: Vec<usize> = (0..numbers.len()).collect();
            vec![Group { waiting: everyone.clone(), waited_for: everyone, is_partial: false }]
        };
        let Some(numbers) = numbers.iter().copied().collect::<Option<Vec<i64>>>() else { return all() };
        let positions = |wanted: &[i64]| {
            let is_wanted = |(_, number): &(usize, &i64)| wanted.contains(number);
            numbers.iter().enumerate().filter(is_wanted).map(|(at, _)| at).collect::<Vec<usize>>()
        };
        match self {
            Self::All | Self::Unknown => all(),
            Self::Lists(lists) => {
                let mut list_of = rustc_hash::FxHashMap::default();
                for (row, list) in lists.iter().enumerate() {
                    list_of.extend(list.iter().map(|number| (*number, row)));
                }
                let mut groups = vec![Group::default(); lists.len()];
                for (at, number) in numbers.iter().enumerate() {
                    match list_of.get(number) {
                        Some(&row) => groups[row].waiting.push(at),
                        None => groups.push(Group { waiting: vec![at], ..Group::default() }),
                    }
                }
                for (group, list) in groups.iter_mut().zip(lists) {
                    group.is_partial = group.waiting.len() < list.len();
                }
                groups.retain(|group| !group.waiting.is_empty());
                for group in &mut groups {
                    group.waited_for = group.waiting.clone();
                }
                groups
            }
            Self::Pairs(pairs) => {
                let group = |(at, number): (usize, &i64)| {
                    let sources: Vec<i64> =
                        pairs.iter().filter(|(_, to)| to == number).map(|(from, _)| *from).collect();
                    let mut waited_for = positions(&sources);
                    let is_partial = waited_for.len() < sources.len();
                    waited_for.push(at);
                    waited_for.sort_unstable();
                    waited_for.dedup();
                    Group { waiting: vec![at], waited_for, is_partial }
                };
                numbers.iter().enumerate().map(group).collect()
            }
        }
    }
}

/// Groups spanned by axes of a mesh: devices that differ in those axes only.
fn lists_of_mesh(mesh: &MeshAxes) -> Option<Vec<Vec<i64>>> {
    /// More devices are no slice.
    const MOST: i64 = 1 << 20;
    let sizes: Vec<i64> = mesh.mesh.iter().map(|(_, size)| *size).collect();
    let total = sizes.iter().try_fold(1_i64, |all, size| all.checked_mul(*size).filter(|_| *size > 0))?;
    if total > MOST {
        return None;
    }
    let ids: Vec<i64> = match (&mesh.iota_transform, mesh.device_ids.is_empty()) {
        (Some((dims, perm)), _) => {
            let iota = IotaGroups {
                group_count: 1,
                group_size: total,
                reshape_dims: dims.clone(),
                transpose_perm: perm.clone(),
            };
            ReplicaGroups::Iota(iota).to_lists()?.concat()
        }
        (None, true) => (0..total).collect(),
        (None, false) => mesh.device_ids.clone(),
    };
    if ids.len() as i64 != total {
        return None;
    }
    let mut rows: std::collections::BTreeMap<i64, Vec<i64>> = std::collections::BTreeMap::new();
    for (place, id) in (0..total).zip(ids) {
        // The place of the group's first member: the coordinates along the axes set to 0.
        let mut first = place;
        for reference in &mesh.axes {
            let axis = usize::try_from(reference.axis).ok().filter(|axis| *axis < sizes.len())?;
            let inner: i64 = sizes[axis + 1..].iter().product();
            let (before, extent) = reference.sub_axis.unwrap_or((1, sizes[axis]));
            let cut = before.checked_mul(extent).filter(|cut| *cut > 0 && sizes[axis] % cut == 0)?;
            let stride = inner.checked_mul(sizes[axis] / cut)?;
            first -= (place / stride) % extent * stride;
        }
        rows.entry(first).or_default().push(id);
    }
    Some(rows.into_values().collect())
}

/// `{1,2},{3,4}}`, up to the brace that closes what the caller opened.
fn lists(text: &str) -> Option<Vec<Vec<i64>>> {
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([',', ' ']);
        if rest.starts_with('}') {
            return Some(found);
        }
        let (inside, behind) = rest.strip_prefix('{')?.split_once('}')?;
        found.push(numbers(inside)?);
        rest = behind;
    }
}

/// `1,2,3`; nothing of an empty text, `None` where one is no number.
fn numbers(text: &str) -> Option<Vec<i64>> {
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    words.map(|word| word.parse().ok()).collect()
}

/// The numbers of devices in the slice, in the order of the devices; `None` where nobody says.
pub(super) fn device_numbers(profile: &Profile, devices: &[&Device]) -> Vec<Option<i64>> {
    /// Fields of `core_details`: the chip's number in the slice, and the core's.
    const CHIP: u32 = 5;
    const CORE: u32 = 6;
    let stated = |device: &&Device, wanted: u32| {
        let plane = profile.plane(device.plane);
        let Some(Stat::Bytes(span)) = plane.stat("core_details") else { return None };
        let fields = Fields::new(profile.source_of(plane).slice(*span), 0);
        let field = fields.filter(|f| f.number == wanted).find_map(|f| match f.value {
            Value::Varint(v) => i64::try_from(v).ok(),
            _ => None,
        });
        // A number of 0 is not written.
        Some(field.unwrap_or(0))
    };
    let distinct = |numbers: &[Option<i64>]| {
        let mut all: Vec<i64> = numbers.iter().copied().flatten().collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        count == devices.len() && all.len() == count
    };
    for field in [CHIP, CORE] {
        let numbers: Vec<_> = devices.iter().map(|d| stated(d, field)).collect();
        if distinct(&numbers) {
            return numbers;
        }
    }
    let one_host = profile.hosts.len() == 1;
    let own = |d: &&Device| profile.plane(d.plane).ordinal.map(i64::from).filter(|_| one_host);
    devices.iter().map(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_expressions() {
        let of = |text| Groups::of_text(text);
        assert_eq!(of("all-reduce(%a), replica_groups={}, to_apply=%add"), Some(Groups::All));
        let lists = Groups::Lists(vec![vec![0, 1], vec![2, 3]]);
        assert_eq!(
            of("all-reduce(%a), channel_id=1, replica_groups={{0,1},{2,3}}, x=1"),
            Some(lists.clone())
        );
        assert_eq!(of("all-gather(%a), replica_groups=[2,2]<=[4], x"), Some(lists));
        let across = Groups::Lists(vec![vec![0, 2], vec![1, 3]]);
        assert_eq!(of("all-gather(%a), replica_groups=[2,2]<=[2,2]T(1,0), x"), Some(across));
        let ring = Groups::Pairs(vec![(0, 1), (1, 0)]);
        assert_eq!(of("collective-permute(%a), source_target_pairs={{0,1},{1,0}}"), Some(ring));
        assert_eq!(of("all-reduce(%a), replica_groups={{0,1},{2"), None, "a cut expression says nothing");
        assert_eq!(of("fusion(%a)"), None);
    }

    #[test]
    fn groups_of_a_mesh() {
        use haloscope_hlo::MeshAxisRef;
        let mesh = |axes: &[(i64, Option<(i64, i64)>)]| MeshAxes {
            mesh: vec![("a".into(), 2), ("b".into(), 4)],
            axes: axes
                .iter()
                .map(|(axis, sub_axis)| MeshAxisRef { axis: *axis, sub_axis: *sub_axis })
                .collect(),
            ..MeshAxes::default()
        };
        let of = |axes| lists_of_mesh(&mesh(axes)).unwrap();
        assert_eq!(of(&[(1, None)]), [vec![0, 1, 2, 3], vec![4, 5, 6, 7]]);
        assert_eq!(of(&[(0, None)]), [[0, 4], [1, 5], [2, 6], [3, 7]]);
        assert_eq!(of(&[(0, None), (1, None)]), [[0, 1, 2, 3, 4, 5, 6, 7]]);
        assert_eq!(of(&[(1, Some((1, 2)))]), [[0, 2], [1, 3], [4, 6], [5, 7]], "the major half of an axis");
        assert_eq!(of(&[(1, Some((2, 2)))]), [[0, 1], [2, 3], [4, 5], [6, 7]], "the minor half");
        let reversed = MeshAxes { device_ids: (0..8).rev().collect(), ..mesh(&[(0, None)]) };
        assert_eq!(lists_of_mesh(&reversed).unwrap()[0], [7, 3]);
        assert_eq!(lists_of_mesh(&mesh(&[(2, None)])), None);
        assert_eq!(lists_of_mesh(&mesh(&[(1, Some((3, 2)))])), None);
    }

    #[test]
    fn members_by_group() {
        let numbers = [Some(0), Some(3), Some(1), Some(7)];
        let lists = Groups::Lists(vec![vec![0, 1], vec![2, 3]]);
        let waiting: Vec<_> = lists.split(&numbers).into_iter().map(|g| g.waiting).collect();
        assert_eq!(waiting, [vec![0, 2], vec![1], vec![3]], "device 7 is in no group: it waits for nobody");
        let ring = Groups::Pairs(vec![(0, 1), (1, 3)]).split(&numbers);
        let waited_for: Vec<_> = ring.into_iter().map(|g| g.waited_for).collect();
        assert_eq!(waited_for, [vec![0], vec![1, 2], vec![0, 2], vec![3]]);
        assert_eq!(Groups::Unknown.split(&numbers)[0].waiting.len(), 4);
        assert_eq!(lists.split(&[None, Some(1)]).len(), 1, "without numbers all belong together");
    }
}
