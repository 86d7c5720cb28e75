//! What the system lets this process have: memory that it refuses ends a process, so nothing is begun that would need more.
//!
//! Two bounds are known: of addresses (`ulimit -v`), of which maps of files take their part, and of what a control group (a
//! container, a job of a cluster) keeps resident. Both are read from `/proc` and `/sys`; where those say nothing there is none.

use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use haloscope_hlo::Room;
use haloscope_report::units;

use super::gauge;

/// A bound of the system on the memory of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Bound {
    /// Bytes of addresses.
    Addresses(u64),
    /// Bytes that are resident in a control group.
    Group(u64),
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Addresses(bytes) => {
                write!(
                    f,
                    "the {} of addresses that the system gives this process (`ulimit -v`)",
                    words(*bytes)
                )
            }
            Self::Group(bytes) => {
                write!(
                    f,
                    "the {} of memory that this process's control group or container may have",
                    words(*bytes)
                )
            }
        }
    }
}

fn words(bytes: u64) -> String {
    units::bytes(bytes as f64)
}

/// Some of what there is is left to what nobody counts: stacks, buffers, the program's own code.
const FREE: u64 = 16 << 20;

/// The bounds, as they were when they were first asked for.
fn bounds() -> &'static [Bound] {
    static BOUNDS: OnceLock<Vec<Bound>> = OnceLock::new();
    BOUNDS.get_or_init(|| {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let addresses = addresses(&read("/proc/self/limits")).map(Bound::Addresses);
        let group = group(&read("/proc/self/cgroup"), Path::new("/sys/fs/cgroup")).map(Bound::Group);
        addresses.into_iter().chain(group).collect()
    })
}

/// What is left of the bound of which the least is left, bytes, and which that is; `None` where the system sets none.
pub(super) fn left() -> Option<(u64, Bound)> {
    let left = |bound: &Bound| {
        let (most, taken) = match bound {
            Bound::Addresses(bytes) => (*bytes, gauge::addresses()?),
            Bound::Group(bytes) => (*bytes, gauge::resident()?),
        };
        Some((most.saturating_sub(taken).saturating_sub(FREE), *bound))
    };
    bounds().iter().filter_map(left).min()
}

/// What a control group lets this process keep resident, bytes, with something left to others in it, and the bound.
pub(super) fn bound_of_group() -> Option<(u64, Bound)> {
    let of = |bound: &Bound| match bound {
        Bound::Group(bytes) => Some((bytes.saturating_sub(FREE), *bound)),
        Bound::Addresses(_) => None,
    };
    bounds().iter().find_map(of)
}

/// The bytes of [`bound_of_group`].
pub(super) fn resident() -> Option<u64> {
    bound_of_group().map(|(bytes, _)| bytes)
}

/// The room for a module, and no more of it than a third of what the system has left for this process: lists take up to twice what is
/// in them while they grow, and a question makes something of it.
#[must_use]
pub fn within_system(room: Room) -> Room {
    Room { most: left().map_or(room.most, |(bytes, _)| room.most.min(bytes / 3)), ..room }
}

/// The soft limit of addresses in bytes, from what `/proc/self/limits` says.
fn addresses(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// The least limit of the groups that a process is in, bytes: `of` is `/proc/self/cgroup`, `root` where groups are mounted. In a
/// container the paths of the outside may not be there; then its own group is the root.
fn group(of: &str, root: &Path) -> Option<u64> {
    /// What stands for no limit in version 1 is near the largest number of pages.
    const NONE: u64 = 1 << 60;
    let limit = |folder: &Path, file: &str| -> Option<u64> {
        let text = fs::read_to_string(folder.join(file)).ok()?;
        text.trim().parse().ok().filter(|bytes| *bytes < NONE)
    };
    let of_line = |line: &str| -> Option<u64> {
        let mut words = line.splitn(3, ':').skip(1);
        let (kinds, path) = (words.next()?, words.next()?);
        let (root, file) = match kinds {
            "" => (root.to_owned(), "memory.max"),
            kinds if kinds.split(',').any(|kind| kind == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes")
            }
            _ => return None,
        };
        let path = Path::new(path.trim_start_matches('/'));
        let is_plain =
            |path: &&Path| path.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        path.ancestors().filter(is_plain).filter_map(|above| limit(&root.join(above), file)).min()
    };
    of.lines().filter_map(of_line).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_of_addresses_is_read() {
        let text = |soft: &str| {
            format!(
                "Limit                     Soft Limit           Hard Limit           Units\nMax data size             unlimited            unlimited            bytes\nMax address space         {soft}            unlimited            bytes\n"
            )
        };
        assert_eq!(addresses(&text("204800000")), Some(204_800_000));
        assert_eq!((addresses(&text("unlimited")), addresses("")), (None, None));
    }

    #[test]
    fn the_least_limit_of_the_groups_around_counts() {
        let folder = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("job/memory.max", "1073741824\n");
        put("job/task/memory.max", "max\n");
        put("memory/a/memory.limit_in_bytes", "9223372036854771712\n");
        put("memory/a/b/memory.limit_in_bytes", "536870912\n");
        let of = |text: &str| group(text, folder.path());
        assert_eq!(of("0::/job/task\n"), Some(1 << 30));
        assert_eq!(of("4:memory:/a/b\n3:cpu:/\n0::/\n"), Some(512 << 20));
        // What a container does not see of the outside is left out; its own limit stands at the root.
        assert_eq!((of("4:memory:/a\n"), of("0::/elsewhere\n"), of("")), (None, None, None));
        put("memory.max", "268435456\n");
        assert_eq!((of("0::/elsewhere\n"), of("0::/../x\n")), (Some(256 << 20), Some(256 << 20)));
    }
}
