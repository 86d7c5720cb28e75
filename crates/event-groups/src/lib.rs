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
use group::Collected;
use haloscope_profile::{HostId, LineId, Plane, PlaneKind, Profile};

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
        let mut context = Self { by_profiler: is_grouped(profile, host), ..Self::default() };
        let mut collected = Collected::default();
        for plane in profile.planes_of(host) {
            context.add_plane(profile, plane, &mut collected);
        }
        context.found = !context.by_profiler && !has_loop(profile, host);
        if context.found {
            context.groups = group::find(profile, host, &mut context.lanes, collected);
            tpu::finish(profile, host, &mut context.lanes, &context.groups);
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

    fn add_plane(&mut self, profile: &Profile, plane: &Plane, collected: &mut Collected) {
        let source = profile.source_of(plane);
        let keys = Keys::of(plane);
        let is_host_plane = !is_device_name(&plane.name);
        let rules = (!self.by_profiler).then(|| connect::Rules::of(plane, source, &keys));
        let markers = rules.as_ref().and_then(|_| regions::markers(plane, source));
        let host = connect::mix(&[hash_of(&profile.host(plane.host).name)]);
        for line in profile.lines_of(plane.id).filter(|l| l.event_count > 0) {
            let events = profile.events(line);
            if events.is_empty() {
                continue;
            }
            let mut lane = Lane::new(line.id);
            lane.own = markers.and_then(|markers| regions::insert(events, source, &keys, markers));
            let number = self.lanes.len() as u32;
            let len = lane.len(profile);
            let is_modules = line.name == "XLA Modules";
            for position in 0..if keys.is_empty() { 0 } else { len } {
                let Some(row) = lane.row(position) else { continue };
                let mut facts = keys.read(events, source, row);
                if let Some(rules) = &rules {
                    rules.apply(events.metas()[row], &mut facts);
                    if is_modules {
                        rules.apply_to_module(&mut facts);
                    }
                }
                if facts == Facts::default() {
                    continue;
                }
                let link = if self.by_profiler {
                    Link::drawn(&facts)
                } else {
                    Link::of(&facts, host, is_host_plane)
                };
                lane.links.extend(link.map(|link| (position as u32, link)));
                if let Some(group) = facts.group.and_then(|g| u32::try_from(g).ok()) {
                    lane.set_group(len, position, group);
                }
                if !self.by_profiler {
                    collected.note(number, position as u32, &facts);
                }
            }
            self.lanes.push(lane);
        }
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
