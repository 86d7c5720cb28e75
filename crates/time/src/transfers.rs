//! Transfers between slices (DCN): each pair of a send and a receive that the host carries out, and how much time it had.
//!
//! Read on the first TensorCore of a host, as XProf does; every core runs the same program. Times are whole nanoseconds on the
//! profiler's own clock, rounded where XProf rounds them.

use haloscope_hlo::Opcode;
use haloscope_xspace::wire::{Fields, Value};
use haloscope_xspace::{StatValue, Stats};
use rustc_hash::FxHashMap;

use haloscope_profile::{
    Event, EventMeta, Events, HloModule, HostId, Line, Plane, PlaneKind, Profile, Source,
};

/// One transfer, from the start of its send to the end of its `recv-done`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transfer {
    /// The name under which both ends meet.
    pub rendezvous: String,
    /// Such as `ALL_REDUCE`; empty where the compiler did not say.
    pub kind: String,
    /// The op that sends.
    pub send_op: String,
    /// The op that waits for what is received.
    pub recv_op: String,
    /// When the send started.
    pub start_ns: u64,
    /// When the `recv-done` ended.
    pub end_ns: u64,
    /// From the start of the send to the start of the `recv-done`, without other sends and receives in between: how long the
    /// transfer may take without holding up the core.
    pub slack_ns: u64,
    /// How long its four ops took.
    pub stall_ns: u64,
    /// How long the send took, in picoseconds.
    pub send_ps: u64,
    /// How long the receive took.
    pub recv_ps: u64,
    /// How long the wait for the send took.
    pub send_done_ps: u64,
    /// How long the wait for the receive took.
    pub recv_done_ps: u64,
    /// What one member of the group sends over the network.
    pub bytes: u64,
}

/// What is known of a transfer while its ops go by.
#[derive(Debug, Default)]
struct Open {
    transfer: Transfer,
    /// Time of all ops before the send, in nanoseconds.
    before_ns: u64,
    group_size: u64,
}

/// An op of the HLO module.
#[derive(Debug, Clone)]
struct Op {
    opcode: Opcode,
    channel: i64,
    rendezvous: Option<String>,
    kind: String,
    size: u64,
}

/// True where the host's threads recorded messages between slices; XProf looks no further where they did not.
#[must_use]
pub fn recorded(profile: &Profile, host: HostId) -> bool {
    let named = |plane: &Plane, meta: &EventMeta| {
        profile.source_of(plane).slice(meta.name).starts_with(b"MegaScale:")
    };
    let mut planes = profile.planes_of(host).filter(|p| p.kind == PlaneKind::Host);
    planes.any(|plane| plane.metas.iter().any(|meta| named(plane, meta)))
}

/// The transfers that ended on the first TensorCore of a host, by end.
#[must_use]
pub fn of(profile: &Profile, host: HostId) -> Vec<Transfer> {
    let Some(plane) = profile.planes_of(host).find(|p| p.name == "/device:TPU:0") else { return Vec::new() };
    let source = profile.source_of(plane);
    let named = |name: &'static str| profile.lines_of(plane.id).filter(move |l| l.name == name);
    let Some(modules) = named("XLA Modules").next() else { return Vec::new() };
    let mut tracker = Tracker::default();
    let ids = Ids { category: plane.stat_id("hlo_category"), groups: plane.stat_id("dcn_collective_info") };
    for line in named("XLA Ops") {
        let events = profile.events(line);
        for event in events.iter() {
            if !is_transfer(plane, source, event, &ids) {
                continue;
            }
            let Some(module) = around(profile.events(modules), event) else { continue };
            let label = source.text(plane.metas[module.meta as usize].name);
            let name = source.text(plane.metas[event.meta as usize].display_name);
            let key = (label.into_owned(), name.into_owned());
            let op = tracker.ops.entry(key).or_insert_with_key(|(label, name)| {
                let module = profile.modules.iter().find(|m| m.host == host && m.label() == *label)?;
                find_op(profile, module, name)
            });
            if let Some(op) = op.clone() {
                let seen = Seen { plane, source, line, event };
                tracker.visit(&op, &seen, &ids);
            }
        }
    }
    tracker.done
}

struct Ids {
    category: Option<i64>,
    groups: Option<i64>,
}

fn stat_of<'a>(stats: Stats<'a>, id: Option<i64>) -> Option<StatValue<'a>> {
    let id = id?;
    let mut stats = stats;
    stats.find(|s| s.metadata_id == id).and_then(|s| s.value)
}

fn is_transfer(plane: &Plane, source: &Source, event: Event, ids: &Ids) -> bool {
    let category = stat_of(plane.meta_stats(source, event.meta), ids.category);
    let category = category.and_then(|value| plane.text(source, value)).unwrap_or_default();
    category.contains("host send") || category.contains("host recv")
}

/// The event that an op lies in.
fn around(modules: &Events, op: Event) -> Option<Event> {
    let before = modules.starts_ps().partition_point(|start| *start <= op.start_ps);
    let module = modules.get(before.checked_sub(1)?);
    (op.end_ps <= module.end_ps).then_some(module)
}

fn find_op(profile: &Profile, module: &HloModule, name: &str) -> Option<Op> {
    let module = &module.decode(profile).ok()?.module;
    let instruction = module.instruction(module.instruction_by_name(name)?);
    let attributes = instruction.attributes();
    let word = |key: &str| attributes.frontend_attributes.get(key).cloned();
    Some(Op {
        opcode: instruction.opcode,
        channel: attributes.channel_id.unwrap_or(0),
        rendezvous: word("_xla_host_transfer_rendezvous"),
        kind: word("_xla_megascale_transfer_type").unwrap_or_default(),
        size: instruction.shape.bytes().unwrap_or(0),
    })
}

/// An op where it ran.
struct Seen<'a> {
    plane: &'a Plane,
    source: &'a Source,
    line: &'a Line,
    event: Event,
}

impl Seen<'_> {
    fn duration_ps(&self) -> u64 {
        u64::try_from(self.event.end_ps - self.event.start_ps).unwrap_or(0)
    }

    fn duration_ns(&self) -> u64 {
        self.duration_ps() / 1000
    }

    /// As XProf adds it up: in a double, which cannot tell every nanosecond since 1970.
    fn start_ns(&self) -> i64 {
        let offset_ps = self.event.start_ps - self.line.base_ps;
        (self.line.timestamp_ns as f64 + offset_ps as f64 / 1e3) as i64
    }

    fn end_ns(&self) -> i64 {
        (self.start_ns() as f64 + self.duration_ps() as f64 / 1e3) as i64
    }

    fn name(&self) -> String {
        self.source.text(self.plane.metas[self.event.meta as usize].display_name).into_owned()
    }
}

#[derive(Debug, Default)]
struct Tracker {
    ops: FxHashMap<(String, String), Option<Op>>,
    open: FxHashMap<String, Open>,
    group_sizes: FxHashMap<String, u64>,
    channels: FxHashMap<i64, String>,
    /// Time of all ops so far, in nanoseconds.
    all_ns: u64,
    done: Vec<Transfer>,
}

impl Tracker {
    fn visit(&mut self, op: &Op, seen: &Seen<'_>, ids: &Ids) {
        // The done of a transfer knows its channel only.
        let rendezvous = match &op.rendezvous {
            Some(name) => {
                self.channels.insert(op.channel, name.clone());
                name
            }
            None => match self.channels.get(&op.channel) {
                Some(name) => name,
                None => return,
            },
        };
        let open = self.open.entry(rendezvous.clone()).or_default();
        open.transfer.stall_ns += seen.duration_ns();
        match op.opcode {
            Opcode::Send => {
                open.before_ns = self.all_ns;
                open.transfer.start_ns = seen.start_ns() as u64;
                open.transfer.stall_ns = seen.duration_ns();
                open.transfer.rendezvous.clone_from(rendezvous);
                open.transfer.kind.clone_from(&op.kind);
                open.transfer.send_op = seen.name();
                open.transfer.send_ps = seen.duration_ps();
                let size =
                    self.group_sizes.entry(rendezvous.clone()).or_insert_with(|| group_size(seen, ids));
                open.group_size = *size;
            }
            Opcode::Recv => open.transfer.recv_ps = seen.duration_ps(),
            Opcode::SendDone => open.transfer.send_done_ps = seen.duration_ps(),
            Opcode::RecvDone => {
                open.transfer.recv_done_ps = seen.duration_ps();
                if open.transfer.start_ns != 0 {
                    let between = self.all_ns - open.before_ns;
                    let since = (seen.start_ns() as u64).wrapping_sub(open.transfer.start_ns);
                    let mut transfer = open.transfer.clone();
                    transfer.slack_ns = since.wrapping_sub(between);
                    transfer.end_ns = seen.end_ns() as u64;
                    transfer.recv_op = seen.name();
                    transfer.bytes = sent(op.size, open.group_size, &transfer.kind);
                    self.done.push(transfer);
                }
            }
            _ => {}
        }
        self.all_ns += seen.duration_ns();
    }
}

/// How many members the group of a send has: 1 for pairs, 0 where the profile does not say.
fn group_size(seen: &Seen<'_>, ids: &Ids) -> u64 {
    let stats = seen.plane.meta_stats(seen.source, seen.event.meta);
    let Some(StatValue::Bytes(info)) = stat_of(stats, ids.groups) else { return 0 };
    const GROUPS: u32 = 2;
    const PAIRS: u32 = 3;
    if Fields::new(info, 0).any(|f| f.number == PAIRS) {
        return 1;
    }
    let first = Fields::new(info, 0).find(|f| f.number == GROUPS).map(|f| f.value);
    let Some(Value::Bytes(group)) = first else { return 0 };
    Fields::new(group, 0).filter(|f| f.number == 1).count() as u64
}

/// What a member of a group sends over the network, from the size of what it receives.
fn sent(size: u64, members: u64, kind: &str) -> u64 {
    if members == 0 {
        return 0;
    }
    let others = (members - 1) as f64;
    let (size, members) = (size as f64, members as f64);
    let bytes = match kind {
        "ONE_TO_ONE" => members * size,
        "ALL_GATHER" => others * size / members,
        "ALL_REDUCE" => 2.0 * (others / members) * size,
        "ALL_TO_ALL" => others / members * size,
        "REDUCE_SCATTER" => others * size,
        _ => 0.0,
    };
    bytes as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_by_kind() {
        let kinds = ["ONE_TO_ONE", "ALL_GATHER", "ALL_REDUCE", "ALL_TO_ALL", "REDUCE_SCATTER", "", "OTHER"];
        let bytes = kinds.map(|kind| sent(16_384, 4, kind));
        assert_eq!(bytes, [65_536, 12_288, 24_576, 12_288, 49_152, 0, 0]);
        assert_eq!(sent(16_384, 0, "ALL_REDUCE"), 0, "an unknown group sends nothing that we know of");
        assert_eq!(sent(16_384, 1, "ALL_REDUCE"), 0);
    }
}
