//! What belongs together on a host: groups (as a rule one a step), and the links between an event and what it caused.
//!
//! An event belongs to what encloses it on its thread, to the launch with its correlation id, and to the producer of the
//! context that it consumes (stats `_pt`/`_p` and `_ct`/`_c`; some are implied by an event's name, see `connect`). A root
//! (stat `_r`) and all that it caused are a group. The numbers are XProf's: same groups, same names.
//!
//! Events are not copied: a [`Lane`] is a line with columns beside it, and has columns of its own only where events were
//! put in (regions of thread pools) or merged (steps of several modules).

mod connect;
mod event_type;
mod facts;
mod forest;
pub mod framework_op;
mod gpu;
mod group;
mod lane;
mod link;
mod regions;
mod tpu;

use rustc_hash::FxHashMap;

pub use event_type::EventType;
pub use lane::{Lane, MADE, NO_GROUP};
pub use link::{Direction, Link, category_name};
pub use regions::REGION;

use facts::{Facts, Keys};
use group::{Collected, Notes};
use haloscope_profile::{HostId, Line, LineId, Plane, PlaneKind, Profile};
use haloscope_report::stop;
use rayon::prelude::*;

/// A group of events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Group {
    /// Its name, such as `train 3`.
    pub name: String,
    /// Groups that events of other roots' groups led to it from, ascending.
    pub parents: Vec<u32>,
    /// Groups that it led to, ascending.
    pub children: Vec<u32>,
}

/// What belongs together on one host.
#[derive(Debug, Default)]
pub struct Context {
    /// The lines with events, in file order.
    pub lanes: Vec<Lane>,
    /// The groups; their numbers are their rows. Empty where the profiler grouped already.
    pub groups: Vec<Group>,
    /// True if the profiler grouped the events before it wrote them: then nothing is added to what it wrote.
    pub by_profiler: bool,
    /// True if the events were grouped here: neither by the profiler, nor are there loops of TensorFlow's.
    pub found: bool,
    lane_of: FxHashMap<LineId, usize>,
}

impl Context {
    /// Finds out what belongs together on a host.
    #[must_use]
    pub fn of(profile: &Profile, host: HostId) -> Self {
        let mut context = Self::caused(profile, host);
        if context.found {
            gpu::fill(profile, host, &mut context.lanes);
        }
        context
    }

    /// The same without guesses: an event of a GPU that nothing on the host is known to have started has no group.
    #[must_use]
    pub fn caused(profile: &Profile, host: HostId) -> Self {
        Self::find(profile, host, true)
    }

    /// The same as far as the steps of TPUs go: which of them count. What runs inside of them has no group.
    #[must_use]
    pub fn of_steps(profile: &Profile, host: HostId) -> Self {
        Self::find(profile, host, false)
    }

    fn find(profile: &Profile, host: HostId, inside_of_steps: bool) -> Self {
        let mut context = Self { by_profiler: is_grouped(profile, host), ..Self::default() };
        let mut collected = Collected::default();
        let planes: Vec<&Plane> = profile.planes_of(host).collect();
        let read = |plane: &&Plane| read_plane(profile, plane, context.by_profiler);
        let planes: Vec<Vec<Read>> = planes.par_iter().map(stop::carried(read)).collect();
        collected.make_room(planes.iter().flatten().flat_map(|read| &read.notes));
        for read in planes.into_iter().flatten() {
            let number = context.lanes.len() as u32;
            context.lanes.push(read.lane);
            for notes in read.notes {
                collected.add(number, notes);
            }
        }
        context.found = !context.by_profiler && !has_loop(profile, host);
        if context.found {
            context.groups = group::find(profile, host, &mut context.lanes, collected);
            tpu::finish(profile, host, &mut context.lanes, &context.groups, inside_of_steps);
        }
        let lines = context.lanes.iter().enumerate().map(|(i, lane)| (lane.line, i));
        context.lane_of = lines.collect();
        context
    }

    /// A line's lane; `None` for lines without events.
    #[must_use]
    pub fn lane(&self, line: LineId) -> Option<&Lane> {
        self.lane_of.get(&line).map(|i| &self.lanes[*i])
    }
}

/// A line, and what its events say.
struct Read {
    lane: Lane,
    /// What matters to grouping, piece by piece.
    notes: Vec<Notes>,
}

fn read_plane(profile: &Profile, plane: &Plane, by_profiler: bool) -> Vec<Read> {
    let source = profile.source_of(plane);
    let keys = Keys::of(plane);
    let rules = (!by_profiler).then(|| connect::Rules::of(plane, source, &keys));
    let markers = rules.as_ref().and_then(|_| regions::markers(plane, source));
    let lines: Vec<&Line> = profile.lines_of(plane.id).filter(|l| l.event_count > 0).collect();
    let read = |line: &&Line| {
        let events = profile.events(line);
        if events.is_empty() {
            return None;
        }
        let mut lane = Lane::new(line.id);
        lane.own = markers.and_then(|markers| regions::insert(events, source, &keys, markers));
        let facts = Reader {
            profile,
            line,
            keys: &keys,
            rules: rules.as_ref(),
            is_modules: line.name == "XLA Modules",
            is_host_plane: !is_device_name(&plane.name),
            host: connect::mix(&[hash_of(&profile.host(plane.host).name)]),
        };
        let notes = facts.read(&mut lane);
        Some(Read { lane, notes })
    };
    let all: Vec<Option<Read>> = lines.par_iter().map(stop::carried(read)).collect();
    all.into_iter().flatten().collect()
}

/// How the events of a line are read.
struct Reader<'p> {
    profile: &'p Profile,
    line: &'p Line,
    keys: &'p Keys,
    /// `None` where the profiler grouped the events.
    rules: Option<&'p connect::Rules>,
    is_modules: bool,
    is_host_plane: bool,
    /// A number for the host.
    host: u64,
}

/// What some events of a line say.
#[derive(Default)]
struct Piece {
    links: Vec<(u32, Link)>,
    groups: Vec<(u32, u32)>,
    notes: Notes,
}

impl Reader<'_> {
    /// True if nothing that matters to grouping stands on the line: on most lines of a device.
    fn says_nothing(&self) -> bool {
        let no_stat = || self.keys.none_of(self.profile.events(self.line));
        self.keys.is_empty() || (self.rules.is_none_or(connect::Rules::is_empty) && no_stat())
    }

    /// Notes links and groups in the lane, and returns what matters to grouping.
    fn read(&self, lane: &mut Lane) -> Vec<Notes> {
        /// Events that one thread reads before it looks for others.
        const PIECE: usize = 32 << 10;
        let len = lane.len(self.profile);
        if self.says_nothing() {
            return Vec::new();
        }
        let own = &*lane;
        let piece = |from: usize| self.read_piece(own, from..len.min(from + PIECE));
        let pieces: Vec<Piece> = (0..len).into_par_iter().step_by(PIECE).map(stop::carried(piece)).collect();
        lane.links.reserve_exact(pieces.iter().map(|piece| piece.links.len()).sum());
        let mut notes = Vec::new();
        for piece in pieces {
            lane.links.extend(piece.links);
            for (position, group) in piece.groups {
                lane.set_group(len, position as usize, group);
            }
            notes.push(piece.notes);
        }
        notes
    }

    fn read_piece(&self, lane: &Lane, positions: std::ops::Range<usize>) -> Piece {
        let (events, plane) = (self.profile.events(self.line), self.profile.plane(self.line.plane));
        let source = self.profile.source_of(plane);
        let mut piece = Piece::default();
        let (mut facts, mut is_clean) = (Facts::default(), true);
        for position in positions {
            let Some(row) = lane.row(position) else { continue };
            if !is_clean {
                facts = Facts::default();
            }
            is_clean = !self.keys.add(events, source, row, &mut facts);
            // Of most events nothing is known.
            if is_clean && !self.rules.is_some_and(|rules| rules.apply_to(events.metas()[row])) {
                continue;
            }
            is_clean = false;
            if let Some(rules) = self.rules {
                rules.apply(events.metas()[row], &mut facts);
                if self.is_modules {
                    rules.apply_to_module(&mut facts);
                }
            }
            if facts == Facts::default() {
                continue;
            }
            let link = match self.rules {
                None => Link::drawn(&facts),
                Some(_) => Link::of(&facts, self.host, self.is_host_plane),
            };
            piece.links.extend(link.map(|link| (position as u32, link)));
            if let Some(group) = facts.group.and_then(|g| u32::try_from(g).ok()) {
                piece.groups.push((position as u32, group));
            }
            if self.rules.is_some() {
                piece.notes.note(position as u32, &facts);
            }
        }
        piece
    }
}

/// True if all planes of devices and of the host know the stat `group_id`, which only grouping adds.
fn is_grouped(profile: &Profile, host: HostId) -> bool {
    const HOST_PLANES: [&str; 8] = [
        "/host:CPU",
        "Host CPUs",
        "/host:tfstreamz",
        "/host:metadata",
        "Syscalls",
        "/host:python-tracer",
        "/host:CUPTI",
        "/host:__ScopeRangeCallStack__",
    ];
    let counts = |plane: &&Plane| {
        is_device_name(&plane.name) || HOST_PLANES.iter().any(|prefix| plane.name.starts_with(prefix))
    };
    profile.planes_of(host).filter(counts).all(|plane| plane.stat_id("group_id").is_some())
}

fn is_device_name(name: &str) -> bool {
    ["/device", "#Chip", "/custom:"].iter().any(|prefix| name.starts_with(prefix))
}

/// True if a plane names loop ops of TensorFlow's.
fn has_loop(profile: &Profile, host: HostId) -> bool {
    profile.planes_of(host).any(|plane| {
        let source = profile.source_of(plane);
        let is_loop = |name: &[u8]| {
            name.len() < 20
                && std::str::from_utf8(name).is_ok_and(|name| EventType::of(name) == EventType::Loop)
        };
        plane.metas.iter().any(|meta| is_loop(source.slice(meta.name)))
    })
}

fn hash_of(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

/// True for planes whose name begins `/device:TPU:`.
fn is_tpu(plane: &Plane) -> bool {
    matches!(plane.kind, PlaneKind::Tpu | PlaneKind::SparseCore) || plane.name.starts_with("/device:TPU:")
}
