//! A run as typed columns: hosts, planes, lines, events, devices, HLO modules. Built once, then read-only.
//!
//! Names and stats stay where they are in the (memory-mapped) files and are decoded when asked for; the events of a line
//! become columns the first time somebody reads that line ([`Profile::events`]). All times are picoseconds from the start of
//! the run: the earliest capture start of its hosts.

use std::any::Any;
use std::sync::{Arc, OnceLock};

mod arena;
mod build;
mod bytes;
pub mod chips;
mod column;
mod column_codec;
mod column_store;
mod decode;
mod device;
mod events;
mod host;
mod line;
pub mod load;
mod memo;
mod module;
mod names;
mod packed;
mod part;
mod parts;
mod plane;
mod program;
mod residency;
mod rows;
mod sink;
mod snapshot;
pub(crate) use snapshot::FEW_FILES;
mod source;
mod stat_keys;

pub use bytes::{Bytes, FileBytes};
pub use column::{Column, Segment, Shared};
pub use column_codec::Parts;
pub use column_store::{ColumnStore, StoredColumns};
pub use device::{Device, DeviceKind, Peak, PeakSource, Peaks};
pub use events::{Event, Events, Mark};
pub use host::Host;
pub use line::{Line, LineKind};
pub use memo::filled;
pub use module::{Decoded, HloModule, Stage, split_label};
pub use packed::Packed;
pub use plane::{EventMeta, MetaIdx, Plane, PlaneKind, Stat, StatId};
pub use program::{Dumped, DumpedFile, ProgramFile};
pub use residency::{Pages, Residency};
pub use source::{Pieces, Source, Span, TraceJson};

/// A typed position in one of the profile's tables.
macro_rules! handle {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The position as an index.
            #[must_use]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}
handle!(
    /// A row of [`Profile::hosts`].
    HostId
);
handle!(
    /// A row of [`Profile::planes`].
    PlaneId
);
handle!(
    /// A row of [`Profile::lines`].
    LineId
);
handle!(
    /// A row of [`Profile::devices`].
    DeviceId
);
handle!(
    /// A row of [`Profile::modules`].
    ModuleId
);

/// A run: one or more files read as one.
#[derive(Debug, Default)]
pub struct Profile {
    /// The files, in the order of their hosts' names.
    pub sources: Vec<Source>,
    /// One host a file.
    pub hosts: Vec<Host>,
    /// All planes, by file.
    pub planes: Vec<Plane>,
    /// All lines, by plane.
    pub lines: Vec<Line>,
    /// What computes: TensorCores, GPUs, or the host's CPU where there is neither.
    pub devices: Vec<Device>,
    /// HLO modules that the profiler embedded, or those of a program without a profile, each at its last stage.
    pub modules: Vec<HloModule>,
    /// All stages of the modules of a dump, in the order of the compilation; empty for a profile.
    pub stages: Vec<HloModule>,
    /// What the last stage of a TPU's compiler wrote of ops, of a dump that has it; empty for a profile.
    pub dumped: Vec<Dumped>,
    /// Files of the run that could not be used, and why.
    pub left_out: Vec<String>,
    /// Whether one of these may be read the next time: the system could not, for a reason that is not the file's.
    pub is_left_out_for_now: bool,
    is_flags: bool,
    alike: OnceLock<module::Alike>,
    memo: memo::Memo,
}

impl Profile {
    /// Whether this is a text with flags of XLA or libtpu ([`Profile::from_flags`]): neither a program nor anything that
    /// happened.
    #[must_use]
    pub fn is_flags(&self) -> bool {
        self.is_flags
    }

    /// Whether this is a compiled program rather than a profile: modules or the LLO of ops, and nothing that happened.
    #[must_use]
    pub fn is_program(&self) -> bool {
        self.planes.is_empty() && !(self.stages.is_empty() && self.dumped.is_empty())
    }

    /// The host in this row.
    #[must_use]
    pub fn host(&self, id: HostId) -> &Host {
        &self.hosts[id.index()]
    }

    /// The plane in this row.
    #[must_use]
    pub fn plane(&self, id: PlaneId) -> &Plane {
        &self.planes[id.index()]
    }

    /// The line in this row.
    #[must_use]
    pub fn line(&self, id: LineId) -> &Line {
        &self.lines[id.index()]
    }

    /// The device in this row.
    #[must_use]
    pub fn device(&self, id: DeviceId) -> &Device {
        &self.devices[id.index()]
    }

    /// The file that a plane stands in.
    #[must_use]
    pub fn source_of(&self, plane: &Plane) -> &Source {
        &self.sources[plane.source]
    }

    /// The lines of a plane, in file order.
    pub fn lines_of(&self, plane: PlaneId) -> impl Iterator<Item = &Line> {
        self.planes[plane.index()].lines.clone().map(|i| &self.lines[i])
    }

    /// The line of this kind with the most events on a plane.
    #[must_use]
    pub fn line_of_kind(&self, plane: PlaneId, kind: LineKind) -> Option<&Line> {
        self.lines_of(plane).filter(|l| l.kind == kind && l.event_count > 0).max_by_key(|l| l.event_count)
    }

    /// The planes of a host.
    pub fn planes_of(&self, host: HostId) -> impl Iterator<Item = &Plane> {
        self.planes.iter().filter(move |p| p.host == host)
    }

    /// Says where the columns of a file's lines are kept beside the heap. Lines that were decoded before stay where they are.
    pub fn set_column_store(&mut self, source: usize, column_store: Arc<dyn ColumnStore>) {
        if let Some(source) = self.sources.get_mut(source) {
            let over = source.column_store.take().and_then(|present| present.over(Arc::clone(&column_store)));
            source.column_store = Some(over.unwrap_or(column_store));
        }
    }

    /// Keeps something for as long as a file is part of the run.
    pub(crate) fn hold(&mut self, source: usize, thing: Arc<dyn Any + Send + Sync>) {
        if let Some(source) = self.sources.get_mut(source) {
            source.held = Some(thing);
        }
    }

    /// Where the columns of a file's lines are kept beside the heap.
    #[must_use]
    pub fn column_store(&self, source: usize) -> Option<&Arc<dyn ColumnStore>> {
        self.sources.get(source)?.column_store.as_ref()
    }

    /// The events of a line, decoded at the first call.
    #[must_use]
    pub fn events<'a>(&'a self, line: &'a Line) -> &'a Events {
        let plane = self.plane(line.plane);
        line.events(plane, self.source_of(plane))
    }
}
