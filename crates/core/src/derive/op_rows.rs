//! Which op each event of a device belongs to.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::hlo_costs::Costs;
use super::intervals::Intervals;
use super::op_meta::{MetaIds, OpMeta, owned};
use super::ops::walk_nested;
use crate::profile::{
    Device, DeviceKind, Event, Events, Line, LineId, LineKind, Mark, MetaIdx, Plane, Profile, Source,
};

/// The ops of a device, and for each of its op lines which event is which op.
#[derive(Debug)]
pub struct DeviceOps<'p> {
    /// What is known of each op, and the name of its program. FLOPs and bytes are those of one execution.
    pub ops: Vec<(OpMeta<'p>, Cow<'p, str>)>,
    kind: DeviceKind,
    lines: Vec<(LineId, Vec<u32>)>,
}

/// No op: the event is not one.
const NONE: u32 = u32::MAX;

/// True for the lines on which a device's ops stand. On a host's threads other events stand beside them.
#[must_use]
pub fn holds_ops(device: DeviceKind, line: LineKind) -> bool {
    match device {
        DeviceKind::Tpu => line == LineKind::XlaOps,
        DeviceKind::Gpu => line == LineKind::Stream,
        DeviceKind::Cpu => line == LineKind::Thread,
    }
}

impl<'p> DeviceOps<'p> {
    /// Finds the ops of a device.
    #[must_use]
    pub fn find(profile: &'p Profile, device: &Device) -> Self {
        match device.kind {
            DeviceKind::Tpu => tpu(profile, device),
            DeviceKind::Gpu | DeviceKind::Cpu => named(profile, device),
        }
    }

    /// Calls `each` with the op, the event and its self time (that in the cut), for every event that is an op. Durations
    /// are those of the device's own clock where it recorded them, as in XProf's op tables. Without a cut the device's
    /// clock also says how ops nest; with one, which is on the run's clock, events stand where that clock places them.
    pub fn walk(&self, profile: &Profile, cut: Option<&Intervals>, each: impl FnMut(usize, &Event, i64)) {
        self.walk_on(profile, cut, cut.is_none(), |_| true, each);
    }

    /// [`DeviceOps::walk`] on some of the lines.
    pub fn walk_lines(
        &self,
        profile: &Profile,
        cut: Option<&Intervals>,
        takes_line: impl Fn(LineId) -> bool,
        each: impl FnMut(usize, &Event, i64),
    ) {
        self.walk_on(profile, cut, cut.is_none(), takes_line, each);
    }

    /// The lines that hold the ops, and for each of their events the position in [`DeviceOps::ops`]; a position beyond
    /// the end where an event is no op.
    pub fn lines<'a>(&'a self, profile: &'a Profile) -> impl Iterator<Item = (&'a Line, &'a [u32])> {
        self.lines.iter().map(|(line, rows)| (profile.line(*line), rows.as_slice()))
    }

    /// The positions of one line's events in [`DeviceOps::ops`], as in [`DeviceOps::lines`]; none of a line without ops.
    #[must_use]
    pub fn rows_of(&self, line: LineId) -> &[u32] {
        self.lines.iter().find(|(id, _)| *id == line).map_or(&[], |(_, rows)| rows)
    }

    /// The same on its own, so that it may be kept as long as the profile.
    #[must_use]
    pub fn into_owned(self) -> DeviceOps<'static> {
        let ops = self.ops.into_iter().map(|(meta, module)| (meta.into_owned(), owned(module)));
        DeviceOps { ops: ops.collect(), kind: self.kind, lines: self.lines }
    }

    /// [`DeviceOps::walk`] without a cut, with events where the run's clock places them.
    pub fn walk_placed(&self, profile: &Profile, each: impl FnMut(usize, &Event, i64)) {
        self.walk_on(profile, None, false, |_| true, each);
    }

    fn walk_on(
        &self,
        profile: &Profile,
        cut: Option<&Intervals>,
        device_clock: bool,
        takes_line: impl Fn(LineId) -> bool,
        mut each: impl FnMut(usize, &Event, i64),
    ) {
        // An event before or after all that counts neither counts nor changes what nests in what.
        let hull = cut.map(|c| c.hull().unwrap_or((0, 0)));
        let reaches = |e: &Event| hull.is_none_or(|(from, to)| e.touches(from, to));
        for (line, rows) in self.lines.iter().filter(|(line, _)| takes_line(*line)) {
            let events = profile.events(profile.line(*line));
            let event = |i| if device_clock { events.on_device_clock(i) } else { events.placed(i) };
            let last = hull.map_or(events.len(), |(_, to)| events.rows_before(to));
            let ops = || (0..last).filter(|&i| rows[i] != NONE).map(event).filter(reaches);
            match self.kind {
                DeviceKind::Tpu => {
                    let mut each = |e: Event, own| each(rows[e.index] as usize, &e, own);
                    // Both clocks agree on the order but for rounding, so that sorting is rarely needed.
                    let key = |e: &Event| (e.start_ps, e.start_ps - e.end_ps);
                    if ops().is_sorted_by_key(|e| key(&e)) {
                        walk_nested(ops(), cut, &mut each);
                    } else {
                        let mut ordered: Vec<Event> = ops().collect();
                        ordered.sort_by_key(key);
                        walk_nested(ordered.into_iter(), cut, &mut each);
                    }
                }
                DeviceKind::Cpu => walk_nested(ops(), cut, |e, own| each(rows[e.index] as usize, &e, own)),
                // Kernels of one stream do not nest.
                DeviceKind::Gpu => ops().for_each(|e| {
                    let own = cut.map_or(e.end_ps - e.start_ps, |c| c.overlap(e.start_ps, e.end_ps));
                    each(rows[e.index] as usize, &e, own);
                }),
            }
        }
    }
}

/// TPU ops: the metadata of events on the `XLA Ops` line says what they are.
fn tpu<'p>(profile: &'p Profile, device: &Device) -> DeviceOps<'p> {
    let plane = profile.plane(device.plane);
    let reader = MetaOps::new(profile, plane);
    let mut found = DeviceOps { ops: Vec::new(), kind: device.kind, lines: Vec::new() };
    let mut row_of_meta = vec![NONE; plane.metas.len()];
    let mut row_of_key: FxHashMap<(Option<u64>, Cow<'p, str>), u32> = FxHashMap::default();
    for line in profile.lines_of(plane.id).filter(|l| l.kind == LineKind::XlaOps) {
        let events = profile.events(line);
        let rows = events.metas().iter().map(|&meta| {
            if row_of_meta[meta as usize] == NONE {
                let op = reader.op(events, meta);
                // Several metadata entries may stand for one op.
                let key = (op.program_id, op.name.clone());
                row_of_meta[meta as usize] = *row_of_key.entry(key).or_insert_with(|| {
                    let module = reader.module(&op);
                    found.ops.push((op, module));
                    found.ops.len() as u32 - 1
                });
            }
            row_of_meta[meta as usize]
        });
        let rows = rows.collect();
        found.lines.push((line.id, rows));
    }
    found
}

/// Ops of a plane whose events say by their metadata what they are: those of TPUs.
pub(super) struct MetaOps<'p> {
    plane: &'p Plane,
    source: &'p Source,
    ids: MetaIds,
    names: FxHashMap<u64, Cow<'p, str>>,
}

impl<'p> MetaOps<'p> {
    pub(super) fn new(profile: &'p Profile, plane: &'p Plane) -> Self {
        let names = module_names(profile, plane);
        Self { plane, source: profile.source_of(plane), ids: MetaIds::of(plane), names }
    }

    /// The op of a metadata row; `events` are those of its line.
    pub(super) fn op(&self, events: &Events, meta: MetaIdx) -> OpMeta<'p> {
        let mut op = OpMeta::read(self.plane, self.source, meta, &self.ids);
        settle_flops(&mut op, self.source, events, meta, &self.ids);
        op
    }

    /// The name of an op's program; empty where it is not known.
    pub(super) fn module(&self, op: &OpMeta<'_>) -> Cow<'p, str> {
        op.program_id.and_then(|id| self.names.get(&id).cloned()).unwrap_or_default()
    }
}

/// Decides on the FLOPs of an op whose metadata has none. Ops that move or reshape data carry none because the compiler
/// counts none; a custom call without is unknown, unless kernel profiling put FLOPs and bytes on its events: then the
/// mean over events counts.
fn settle_flops(op: &mut OpMeta<'_>, source: &Source, events: &Events, meta: MetaIdx, ids: &MetaIds) {
    if op.flops.is_none() && op.category == "custom-call" && ids.flops.is_some() {
        let (mut count, mut sums) = (0.0, [None::<f64>; 3]);
        for index in (0..events.len()).filter(|&i| events.metas()[i] == meta) {
            count += 1.0;
            for stat in events.stats(source, index) {
                let id = Some(stat.metadata_id);
                let slot = [ids.flops, ids.model_flops, ids.bytes].iter().position(|wanted| *wanted == id);
                if let (Some(slot), Some(value)) = (slot, stat.value.and_then(|v| v.as_f64())) {
                    *sums[slot].get_or_insert(0.0) += value;
                }
            }
        }
        let [flops, model_flops, bytes] = sums.map(|sum| sum.map(|s| s / count));
        op.flops_from_events = flops.is_some();
        op.flops = flops;
        op.model_flops = model_flops;
        // A kernel that states FLOPs and 0 bytes did not count its bytes.
        op.bytes_from_events = op.bytes.is_none() && bytes.is_some_and(|b| b > 0.0);
        op.bytes = op.bytes.or(bytes.filter(|b| *b > 0.0));
        op.hbm_bytes = op.hbm_bytes.or(op.bytes);
    } else if op.flops.is_none() && op.category != "custom-call" && !op.category.is_empty() {
        op.flops = Some(0.0);
    }
    if op.flops.is_none() && is_marker(&op.expression) {
        op.flops = Some(0.0);
    }
    op.model_flops = op.model_flops.filter(|v| *v > 0.0).or(op.flops);
}

/// True for custom calls that stand for no work: buffers and sharding marks.
pub(super) fn is_marker(expression: &str) -> bool {
    const TARGETS: [&str; 4] = ["AllocateBuffer", "Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape"];
    let target = expression.split_once("custom_call_target=\"").and_then(|(_, rest)| rest.split_once('"'));
    target.is_some_and(|(target, _)| TARGETS.contains(&target))
}

/// Names of programs by id, from the `XLA Modules` line and the modules that the profiler embedded.
fn module_names<'p>(profile: &'p Profile, plane: &'p Plane) -> FxHashMap<u64, Cow<'p, str>> {
    let mut names = FxHashMap::default();
    let source = profile.source_of(plane);
    for line in profile.lines_of(plane.id).filter(|l| l.kind == LineKind::XlaModules) {
        let mut metas: Vec<u32> = profile.events(line).metas().to_vec();
        metas.sort_unstable();
        metas.dedup();
        for meta in metas {
            let label = plane.meta_label(source, meta);
            if let (name, Some(id)) = crate::profile::split_label(&label) {
                names.insert(id, Cow::Owned(name.to_owned()));
            }
        }
    }
    for module in profile.modules.iter().filter(|m| m.host == plane.host) {
        if let Some(id) = module.program_id {
            names.insert(id, Cow::Borrowed(module.name.as_str()));
        }
    }
    names
}

/// GPU kernels and CPU ops: events that name their HLO op themselves.
fn named<'p>(profile: &'p Profile, device: &Device) -> DeviceOps<'p> {
    let reader = EventOps::new(profile, device);
    let mut found = DeviceOps { ops: Vec::new(), kind: device.kind, lines: Vec::new() };
    let mut row_of_key: FxHashMap<(Option<u64>, Cow<'p, str>), u32> = FxHashMap::default();
    for line in profile.lines_of(device.plane).filter(|l| reader.reads(l)) {
        let events = profile.events(line);
        let rows = events.iter().map(|event| {
            let Some(names) = reader.names(events, &event) else { return NONE };
            *row_of_key.entry((names.program_id, names.op.clone())).or_insert_with(|| {
                found.ops.push(reader.op(names));
                found.ops.len() as u32 - 1
            })
        });
        let rows = rows.collect();
        found.lines.push((line.id, rows));
    }
    found
}

/// Ops of a device whose events name them: GPU kernels and CPU ops. GPU kernels that name none (copies, command buffers,
/// TensorFlow's own) are ops of their own under the kernel's name.
pub(super) struct EventOps<'p> {
    plane: &'p Plane,
    source: &'p Source,
    ids: [Option<i64>; 5],
    kind: DeviceKind,
    costs: Costs<'p>,
}

impl<'p> EventOps<'p> {
    pub(super) fn new(profile: &'p Profile, device: &Device) -> Self {
        let plane = profile.plane(device.plane);
        Self {
            plane,
            source: profile.source_of(plane),
            ids: ["hlo_op", "hlo_module", "program_id", "tf_op", "name"].map(|name| plane.stat_id(name)),
            kind: device.kind,
            costs: Costs::new(profile, device),
        }
    }

    /// Whether events of a line of the device's plane name their ops themselves; on a TPU their metadata does.
    pub(super) fn reads(&self, line: &Line) -> bool {
        self.kind != DeviceKind::Tpu && holds_ops(self.kind, line.kind)
    }

    /// What an event calls its op; `None` where it is no op.
    pub(super) fn names(&self, events: &Events, event: &Event) -> Option<EventNames<'p>> {
        if self.kind != DeviceKind::Gpu && !events.has(event.index, Mark::HloOp) {
            return None;
        }
        let mut names = EventNames::default();
        let mut op = None;
        for stat in events.stats(self.source, event.index) {
            let (id, Some(value)) = (Some(stat.metadata_id), stat.value) else { continue };
            let text = || self.plane.text(self.source, value);
            if id == self.ids[0] {
                op = text();
            } else if id == self.ids[1] {
                names.module = text();
            } else if id == self.ids[2] {
                names.program_id = value.as_u64_bits();
            } else if (id == self.ids[3] && names.framework_op.is_none()) || id == self.ids[4] {
                names.framework_op = text();
            }
        }
        match op {
            Some(op) => names.op = op,
            None if self.kind == DeviceKind::Gpu => {
                names.op = self.plane.meta_label(self.source, event.meta);
                names.program_id = None;
            }
            None => return None,
        }
        Some(names)
    }

    /// The op, and the name of its program.
    pub(super) fn op(&self, names: EventNames<'p>) -> (OpMeta<'p>, Cow<'p, str>) {
        let is_hlo = names.program_id.is_some() || names.module.is_some();
        let category = Cow::Borrowed(if is_hlo { "" } else { kernel_category(&names.op) });
        let framework_op = names.framework_op.unwrap_or_default();
        let mut meta = OpMeta {
            name: names.op,
            category,
            program_id: names.program_id,
            tf_op: framework_op.clone(),
            framework_op,
            ..OpMeta::default()
        };
        self.costs.fill(&mut meta);
        meta.model_flops = meta.flops;
        (meta, names.module.unwrap_or_default())
    }
}

/// The names that an event carries in its stats.
#[derive(Default)]
pub(super) struct EventNames<'p> {
    pub(super) op: Cow<'p, str>,
    pub(super) program_id: Option<u64>,
    module: Option<Cow<'p, str>>,
    framework_op: Option<Cow<'p, str>>,
}

/// What a kernel that names no HLO op does, by its name.
pub(super) fn kernel_category(name: &str) -> &'static str {
    let lower = name.to_ascii_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
    match () {
        () if has(&["memcpy", "copybuffer"]) => "memcpy",
        () if has(&["memset", "fillbuffer"]) => "memset",
        () if has(&["nccl", "rccl", "nvshmem"]) => "collective kernel",
        () => "kernel without HLO op",
    }
}
