//! Which devices talk to each other in a collective, in whichever form XLA wrote it.
//!
//! The program says it best; where the profile holds none, the op's text does; where that is cut off, the shapes of an
//! all-gather or a reduce-scatter still tell how large a group is. Ids in a program are those of replicas or of partitions,
//! as the collective's mode says; here all are logical ids: replica times partitions plus partition.

use haloscope_hlo::{Instruction, Module, Opcode, ReplicaGroups};

use super::group_lists::{Groups, Source};
use super::{mesh::Mesh, message};
use haloscope_time::op_meta::OpMeta;

/// How many replicas and partitions a program runs on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extent {
    /// Replicas.
    pub replicas: Option<u64>,
    /// Partitions.
    pub partitions: Option<u64>,
}

/// What is between a collective and its groups at most: wrappers, and the parts of an asynchronous operation.
const DEPTH: usize = 4;
/// More members than this, all groups together, are not written out.
const MOST: usize = 1 << 20;

impl Extent {
    /// Of a program: by its device assignment, else by what its text says.
    #[must_use]
    pub fn of(module: &Module) -> Self {
        let assigned = &module.device_assignment;
        let replicas = assigned.first().map(|devices| devices.len() as u64).filter(|n| *n > 0);
        Self {
            replicas: replicas.or_else(|| module.replica_count()),
            partitions: Some(assigned.len() as u64).filter(|n| *n > 0).or_else(|| module.partition_count()),
        }
    }
}

impl Groups {
    /// The groups of an op; `None` where nothing tells. `mesh` resolves names of axes that the text does not explain.
    #[must_use]
    pub fn of(program: Option<&Module>, op: &OpMeta<'_>, mesh: Option<&Mesh>) -> Option<Self> {
        let extent = program.map(Extent::of).unwrap_or_default();
        program
            .and_then(|module| Self::of_instruction(module, carrier(module, &op.name)?))
            .or_else(|| Self::of_text(&op.expression, extent, mesh))
            .or_else(|| Self::of_shapes(&op.expression))
    }

    /// What an instruction of a program says.
    #[must_use]
    pub fn of_instruction(module: &Module, instruction: &Instruction) -> Option<Self> {
        let attributes = instruction.attributes();
        let extent = Extent::of(module);
        if !attributes.source_target_pairs.is_empty() {
            let mode = Mode::of(attributes.channel_id.is_some(), false, false);
            return Self::connected(&attributes.source_target_pairs, mode, extent);
        }
        let groups = attributes.replica_groups.as_ref();
        // Nothing written is one group of all, of what collects from groups.
        let is_grouped = instruction.opcode.is_collective() && !has_pairs(instruction.opcode);
        let all = ReplicaGroups::Lists(Vec::new());
        let groups = groups.or(is_grouped.then_some(&all))?;
        let mode = Mode::of(
            attributes.channel_id.is_some(),
            attributes.use_global_device_ids,
            knows_global_ids(instruction.opcode_name()),
        );
        Some(Self::expanded(groups, mode, extent))
    }

    /// What the text of an instruction says.
    #[must_use]
    pub fn of_text(text: &str, extent: Extent, mesh: Option<&Mesh>) -> Option<Self> {
        let has = |key: &str| text.contains(key);
        let opcode = text.split_once(" = ").map_or("", |(_, rest)| rest);
        let mode =
            |global| Mode::of(has("channel_id="), global, ALL_GLOBAL.iter().any(|k| opcode.contains(k)));
        let found = if let Some(pairs) = value(text, "source_target_pairs=") {
            let ReplicaGroups::Lists(lists) = ReplicaGroups::parse(pairs).ok()? else { return None };
            let pairs: Option<Vec<(i64, i64)>> = lists
                .iter()
                .map(|hop| <[i64; 2]>::try_from(hop.as_slice()).ok().map(|[a, b]| (a, b)))
                .collect();
            Self::connected(&pairs?, Mode::of(has("channel_id="), false, false), extent)
        } else {
            let groups = value(text, "replica_groups=")?;
            if let Some(named) = groups.strip_prefix('@') {
                return mesh?.groups_along(&quoted(named.split_once('{')?.1.split_once('}')?.0));
            }
            let global = has("use_global_device_ids=true");
            Some(Self::expanded(&ReplicaGroups::parse(groups).ok()?, mode(global), extent))
        };
        found.map(|groups| Self { source: Source::Text, ..groups })
    }

    /// How large a group is, by how much larger an all-gather's result is than its input, and a reduce-scatter's input than
    /// its result.
    fn of_shapes(text: &str) -> Option<Self> {
        let (operands, result) = message::sizes_of_text(text)?;
        let (_, right) = text.split_once(" = ")?;
        let ratio = |more: u64, less: u64| {
            (more > less && less > 0 && more.is_multiple_of(less)).then(|| more / less)
        };
        let size = if right.contains(" all-gather(") {
            ratio(result, operands)
        } else if right.contains(" reduce-scatter(") {
            ratio(operands, result)
        } else {
            None
        };
        Some(Self { size: Some(size?), source: Source::Shapes, ..Self::default() })
    }

    /// Groups written out as logical ids.
    fn expanded(groups: &ReplicaGroups, mode: Mode, extent: Extent) -> Self {
        let mesh = if let ReplicaGroups::MeshAxes(mesh) = groups { Some(mesh.clone()) } else { None };
        let lists = groups.to_lists().and_then(|lists| mode.logical(lists, extent)).unwrap_or_default();
        let size = lists.iter().map(|group| group.len() as u64).max();
        // Without the number of replicas and partitions the members are not known, but their number may be.
        let size = size.or_else(|| groups.group_size().filter(|n| *n > 0)?.checked_mul(mode.spread(extent)?));
        Self { lists, size, mesh, ..Self::default() }
    }

    /// The groups that the hops of a permute connect.
    fn connected(pairs: &[(i64, i64)], mode: Mode, extent: Extent) -> Option<Self> {
        if pairs.len() > MOST {
            return None;
        }
        let hops = pairs.iter().map(|(from, to)| vec![*from, *to]).collect();
        let hops = mode.logical(hops, extent).unwrap_or_default();
        let hop = |hop: &Vec<i64>| <[i64; 2]>::try_from(hop.as_slice()).ok().map(|[from, to]| (from, to));
        let pairs: Vec<(i64, i64)> = hops.iter().filter_map(hop).collect();
        let lists = components(&pairs);
        let size = lists.iter().map(|group| group.len() as u64).max();
        Some(Self { lists, pairs, size, ..Self::default() })
    }

    /// The group that a logical id is in, where it is in one.
    #[must_use]
    pub fn group_of(&self, id: i64) -> Option<usize> {
        self.lists.iter().position(|group| group.contains(&id))
    }
}

/// What the ids in groups stand for, after XLA's `GetCollectiveOpGroupMode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Replicas, each partition by itself.
    Replica,
    /// Partitions, each replica by itself.
    Partition,
    /// Replicas, with all their partitions.
    ReplicaAndPartition,
    /// Logical ids.
    Flattened,
}

impl Mode {
    /// `knows_global` is true for opcodes that have `use_global_device_ids`.
    fn of(has_channel: bool, global: bool, knows_global: bool) -> Self {
        match (has_channel, knows_global, global) {
            (_, _, true) => Self::Flattened,
            (false, ..) => Self::Replica,
            (true, false, false) => Self::Partition,
            (true, true, false) => Self::ReplicaAndPartition,
        }
    }

    /// By how much a group grows when its ids are made logical; `None` where the number of partitions is needed and unknown.
    fn spread(self, extent: Extent) -> Option<u64> {
        if self == Self::ReplicaAndPartition { extent.partitions } else { Some(1) }
    }

    /// Groups of logical ids; `None` where too many or where the program's extent is needed and unknown.
    fn logical(self, mut lists: Vec<Vec<i64>>, extent: Extent) -> Option<Vec<Vec<i64>>> {
        let (replicas, partitions) = (extent.replicas.unwrap_or(1), extent.partitions);
        if lists.iter().all(Vec::is_empty) {
            let count = match self {
                Self::Replica | Self::ReplicaAndPartition => extent.replicas?,
                Self::Partition => partitions?,
                Self::Flattened => replicas.checked_mul(partitions?)?,
            };
            let count = i64::try_from(count).ok().filter(|n| *n <= MOST as i64)?;
            lists = vec![(0..count).collect()];
        }
        let members: usize = lists.iter().map(Vec::len).sum();
        let times = match self {
            Self::Replica | Self::ReplicaAndPartition => partitions.unwrap_or(1),
            Self::Partition => replicas,
            Self::Flattened => 1,
        };
        members.checked_mul(usize::try_from(times).ok()?).filter(|all| *all <= MOST)?;
        let (times, width) = (i64::try_from(times).ok()?, i64::try_from(partitions.unwrap_or(1)).ok()?);
        let at = |replica: i64, partition: i64| replica.checked_mul(width)?.checked_add(partition);
        let each = |to: &dyn Fn(i64, i64) -> Option<i64>| -> Option<Vec<Vec<i64>>> {
            let copy = |other: i64| {
                lists
                    .iter()
                    .map(move |group| group.iter().map(|id| to(*id, other)).collect::<Option<Vec<i64>>>())
            };
            (0..times).flat_map(copy).collect()
        };
        match self {
            Self::Flattened => Some(lists),
            Self::Replica => each(&|replica, partition| at(replica, partition)),
            Self::Partition => each(&|partition, replica| at(replica, partition)),
            Self::ReplicaAndPartition => lists
                .iter()
                .map(|group| {
                    group.iter().flat_map(|r| (0..times).map(|p| at(*r, p))).collect::<Option<Vec<i64>>>()
                })
                .collect(),
        }
    }
}

/// Opcodes that have `use_global_device_ids`.
const ALL_GLOBAL: [&str; 3] = ["all-reduce", "all-gather", "reduce-scatter"];

fn knows_global_ids(opcode: &str) -> bool {
    ALL_GLOBAL.iter().any(|known| opcode.starts_with(known))
}

/// Whether a collective says its members by source and target.
fn has_pairs(opcode: Opcode) -> bool {
    use Opcode::{CollectivePermute, CollectivePermuteDone, CollectivePermuteStart};
    matches!(opcode, CollectivePermute | CollectivePermuteStart | CollectivePermuteDone)
}

/// The instruction that carries the groups of an op: behind wrappers, and for a done behind its start.
fn carrier<'m>(module: &'m Module, name: &str) -> Option<&'m Instruction> {
    let mut at = module.instruction(module.instruction_by_name(name)?);
    for _ in 0..DEPTH {
        let is_end = matches!(
            at.opcode,
            Opcode::AllReduceDone
                | Opcode::AllGatherDone
                | Opcode::CollectivePermuteDone
                | Opcode::AsyncDone
                | Opcode::AsyncUpdate
        );
        if !is_end {
            break;
        }
        at = module.instruction(*at.operands.first()?);
    }
    message::collective(module, &at.name)
}

/// The text behind a key, where the text has it.
fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.split_once(key).map(|(_, rest)| rest)
}

/// Names between quotes, or between commas where there are none.
fn quoted(text: &str) -> Vec<String> {
    text.split(',')
        .map(|name| name.trim().trim_matches(['\'', '"']).to_owned())
        .filter(|n| !n.is_empty())
        .collect()
}

/// What pairs connect, each sorted, by first member.
fn components(pairs: &[(i64, i64)]) -> Vec<Vec<i64>> {
    let mut ids: Vec<i64> = pairs.iter().flat_map(|(a, b)| [*a, *b]).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut root: Vec<usize> = (0..ids.len()).collect();
    let find = |root: &mut Vec<usize>, mut at: usize| {
        while root[at] != at {
            root[at] = root[root[at]];
            at = root[at];
        }
        at
    };
    for (a, b) in pairs {
        if let (Ok(a), Ok(b)) = (ids.binary_search(a), ids.binary_search(b)) {
            let (a, b) = (find(&mut root, a), find(&mut root, b));
            // The smaller is the root, so that groups come in order.
            root[a.max(b)] = a.min(b);
        }
    }
    let mut lists: Vec<Vec<i64>> = Vec::new();
    let mut row_of: Vec<Option<usize>> = vec![None; ids.len()];
    for (at, id) in ids.iter().enumerate() {
        let own = find(&mut root, at);
        let row = *row_of[own].get_or_insert(lists.len());
        if row == lists.len() {
            lists.push(Vec::new());
        }
        lists[row].push(*id);
    }
    lists
}

#[cfg(test)]
mod tests;
