//! The classes that an account of a device's time has.

use crate::op_meta::{OpMeta, is_collective, is_container, is_off_duty};
use haloscope_report::Column;

/// What an instant of a device's time goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Captured before the first op.
    Before,
    /// Captured after the last op.
    After,
    /// No op, and no program: the host has launched none.
    Between,
    /// No op, while the host read or prepared input.
    Input,
    /// No op, inside a program.
    Inside,
    /// A program's own: short gaps in a TPU program, and loops, calls and branches while nothing inside them runs.
    Overhead,
    /// Infeed and outfeed.
    Infeed,
    /// Transfers to and from the host.
    HostTransfer,
    /// Starts of asynchronous copies and waits for them.
    AsyncWait,
    /// Collectives, waits for them included, that no other op hides.
    Communication,
    /// Copies and changes of layout.
    Copy,
    /// All other ops.
    Compute,
}

/// Whether an op runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// None does.
    Idle,
    /// One does, and waits or moves data.
    Waiting,
    /// One does, and works.
    Working,
}

impl Group {
    /// The word used in tables.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Waiting => "waiting",
            Self::Working => "working",
        }
    }
}

impl Class {
    /// How many there are.
    pub const COUNT: usize = Self::ALL.len();

    /// All, from what lies outside of the program to what it is for.
    pub const ALL: [Self; 12] = [
        Self::Before,
        Self::After,
        Self::Between,
        Self::Input,
        Self::Inside,
        Self::Overhead,
        Self::Infeed,
        Self::HostTransfer,
        Self::AsyncWait,
        Self::Communication,
        Self::Copy,
        Self::Compute,
    ];

    /// Busy classes; where several ops run at once, the first of these that one is in has the instant.
    pub(super) const BY_RANK: [Self; 7] = [
        Self::Compute,
        Self::Copy,
        Self::Communication,
        Self::HostTransfer,
        Self::Infeed,
        Self::AsyncWait,
        Self::Overhead,
    ];

    /// The class of an op.
    #[must_use]
    pub fn of(op: &OpMeta<'_>) -> Self {
        let (category, name) = (op.category.as_ref(), op.name.as_ref());
        if is_container(category) {
            return Self::Overhead;
        }
        if is_to_host(category, &op.expression) {
            return Self::HostTransfer;
        }
        if is_collective(category, name) {
            return Self::Communication;
        }
        if matches!(category, "async-start" | "async-update" | "async-done" | "copy-start" | "copy-done") {
            // Memory space 5 is the host's.
            return if op.expression.contains("S(5)") { Self::HostTransfer } else { Self::AsyncWait };
        }
        match category {
            "memcpy" => of_memcpy(name, &op.expression),
            "memset" | "copy" | "copy fusion" | "data formatting" => Self::Copy,
            _ if category.starts_with("infeed") || category.starts_with("outfeed") => Self::Infeed,
            _ if category.starts_with("host ") => Self::HostTransfer,
            _ if is_off_duty(category) => Self::AsyncWait,
            _ => Self::Compute,
        }
    }

    /// Where several ops run at once, those of the lowest rank have the instant.
    #[must_use]
    pub fn rank(self) -> usize {
        Self::BY_RANK.iter().position(|class| *class == self).unwrap_or(Self::BY_RANK.len())
    }

    /// Whether an op runs, and what for.
    #[must_use]
    pub fn group(self) -> Group {
        match self {
            Self::Before | Self::After | Self::Between | Self::Input | Self::Inside => Group::Idle,
            Self::Infeed | Self::HostTransfer | Self::AsyncWait | Self::Communication => Group::Waiting,
            Self::Overhead | Self::Copy | Self::Compute => Group::Working,
        }
    }

    /// The words used in tables and sentences.
    #[must_use]
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Before => "before the first op",
            Self::After => "after the last op",
            Self::Between => "between programs",
            Self::Input => "idle while the host prepares input",
            Self::Inside => "idle inside programs",
            Self::Overhead => "programs' own overhead",
            Self::Infeed => "infeed and outfeed",
            Self::HostTransfer => "transfers to and from the host",
            Self::AsyncWait => "waits for asynchronous copies",
            Self::Communication => "exposed communication",
            Self::Copy => "copies and layout changes",
            Self::Compute => "compute",
        }
    }

    /// The column that holds its time.
    #[must_use]
    pub const fn column(self) -> Column {
        match self {
            Self::Before => {
                Column::duration("before_ps", "Before first", "Captured before the device's first op.")
            }
            Self::After => Column::duration("after_ps", "After last", "Captured after the device's last op."),
            Self::Between => Column::duration(
                "between_ps",
                "Between programs",
                "No op runs and no program: the host has launched none.",
            ),
            Self::Input => Column::duration(
                "input_ps",
                "Input",
                "No op runs, while the host reads or prepares input (events with stat `_ipl_stage_id`, tf.data iterators).",
            ),
            Self::Inside => Column::duration("inside_ps", "Idle inside", "No op runs, inside a program."),
            Self::Overhead => Column::duration(
                "overhead_ps",
                "Overhead",
                "Gaps of under 10 us inside a TPU program, and loops, calls and branches while nothing inside them runs.",
            ),
            Self::Infeed => Column::duration("infeed_ps", "Infeed", "Infeed and outfeed."),
            Self::HostTransfer => Column::duration(
                "host_transfer_ps",
                "Host transfer",
                "Sends to and receives from the host, copies to and from its memory.",
            ),
            Self::AsyncWait => Column::duration(
                "async_wait_ps",
                "Async wait",
                "Starts of asynchronous copies and slices on the device, and waits for them.",
            ),
            Self::Communication => Column::duration(
                "communication_ps",
                "Communication",
                "Collectives, waits for them included, while nothing of `copy_ps` or `compute_ps` runs.",
            ),
            Self::Copy => Column::duration(
                "copy_ps",
                "Copy",
                "Copies and changes of layout, while nothing of `compute_ps` runs.",
            ),
            Self::Compute => Column::duration("compute_ps", "Compute", "All other ops."),
        }
    }
}

/// Sends and receives between devices and those to and from the host are one opcode; its text says which.
fn is_to_host(category: &str, expression: &str) -> bool {
    let base = category.strip_suffix("-done").unwrap_or(category);
    matches!(base, "send" | "recv") && expression.contains("is_host_transfer=true")
}

/// Copies on a GPU say in their name between what they go, as `MemcpyH2D`, `[CUDA memcpy DtoH]` and `CopyHostToDevice` do; where
/// it does not, the tracer's details may: `kind_src:pinned kind_dst:device`.
fn of_memcpy(name: &str, details: &str) -> Class {
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    let end = |key: &str| {
        let word = details.split_ascii_whitespace().find_map(|word| word.strip_prefix(key))?;
        Some(matches!(word.strip_prefix(':')?, "pinned" | "pageable" | "host" | "managed"))
    };
    if has(&["H2D", "HtoD", "HostToDevice", "D2H", "DtoH", "DeviceToHost"]) {
        Class::HostTransfer
    } else if has(&["P2P", "PtoP", "Peer", "peer"]) {
        Class::Communication
    } else if has(&["D2D", "DtoD", "DeviceToDevice"]) {
        Class::Copy
    } else if end("kind_src") == Some(true) || end("kind_dst") == Some(true) {
        Class::HostTransfer
    } else {
        Class::Copy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(category: &'static str, name: &'static str, expression: &'static str) -> Class {
        let op = OpMeta {
            category: category.into(),
            name: name.into(),
            expression: expression.into(),
            ..OpMeta::default()
        };
        Class::of(&op)
    }

    #[test]
    fn classes_of_ops() {
        assert_eq!(class("convolution fusion", "fusion.1", ""), Class::Compute);
        assert_eq!(class("custom-call", "kernel.1", ""), Class::Compute);
        assert_eq!(class("all-reduce", "all-reduce.1", ""), Class::Communication);
        assert_eq!(class("async-done", "all-gather-done.1", ""), Class::Communication);
        assert_eq!(class("async-done", "slice-done.1", ""), Class::AsyncWait);
        assert_eq!(class("copy-done", "copy-done.1", "f32[8]{0:S(5)} copy-done()"), Class::HostTransfer);
        assert_eq!(class("infeed-done", "infeed-done.1", ""), Class::Infeed);
        assert_eq!(class("host recv-done", "recv-done.1", ""), Class::HostTransfer);
        let host = "(f32[], token[]) recv-done(%recv.1), channel_id=2, is_host_transfer=true";
        assert_eq!(class("recv-done", "io_callback.18", host), Class::HostTransfer);
        assert_eq!(
            class("recv-done", "recv-done.1", "recv-done(%recv.1), channel_id=2"),
            Class::Communication
        );
        assert_eq!(class("while", "while.1", ""), Class::Overhead);
        assert_eq!(class("data formatting", "copy.1", ""), Class::Copy);
        let copies = ["MemcpyH2D", "MemcpyD2D", "MemcpyP2P"].map(|name| class("memcpy", name, ""));
        assert_eq!(copies, [Class::HostTransfer, Class::Copy, Class::Communication]);
        assert_eq!(class("memcpy", "CopyDeviceToDevice", ""), Class::Copy);
        assert_eq!(class("memcpy", "CopyHostToDevice", ""), Class::HostTransfer);
        let to_host = "kind_src:device kind_dst:pinned size:8 dest:0 async:1";
        assert_eq!(class("memcpy", "Memcpy", to_host), Class::HostTransfer);
        assert_eq!(class("memcpy", "Memcpy", "kind_src:device kind_dst:device size:8"), Class::Copy);
    }

    #[test]
    fn ranks_are_the_busy_classes() {
        let busy = Class::ALL.iter().filter(|c| c.group() != Group::Idle);
        assert_eq!(busy.count(), Class::BY_RANK.len());
        assert!(Class::BY_RANK.iter().all(|c| c.group() != Group::Idle));
    }
}
