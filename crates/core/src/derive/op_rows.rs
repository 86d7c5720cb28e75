//! Which op each event of a device belongs to.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::hlo_costs::Costs;
use super::intervals::Intervals;
use super::op_meta::{MetaIds, OpMeta};
use super::ops::walk_nested;
use crate::profile::{
    Device, DeviceKind, Event, Events, Line, LineKind, Mark, MetaIdx, Plane, Profile, Source,
};

/// The ops of a device, and for each of its op lines which event is which op.
#[derive(Debug)]
pub struct DeviceOps<'p> {
    /// What is known of each op, and the name of its program. FLOPs and bytes are those of one execution.
    pub ops: Vec<(OpMeta<'p>, Cow<'p, str>)>,
    kind: DeviceKind,
    lines: Vec<(&'p Line, Vec<u32>)>,
}

/// No op: the event is not one.
const NONE: u32 = u32::MAX;

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
        self.walk_on(profile, cut, cut.is_none(), each);
    }

    /// The lines that hold the ops, and for each of their events the position in [`DeviceOps::ops`]; a position beyond
    /// the end where an event is no op.
    pub fn lines(&self) -> impl Iterator<Item = (&'p Line, &[u32])> {
        self.lines.iter().map(|(line, rows)| (*line, rows.as_slice()))
    }

    /// [`DeviceOps::walk`] without a cut, with events where the run's clock places them.
    pub fn walk_placed(&self, profile: &Profile, each: impl FnMut(usize, &Event, i64)) {
        self.walk_on(profile, None, false, each);
    }

    fn walk_on(
        &self,
        profile: &Profile,
        cut: Option<&Intervals>,
        device_clock: bool,
        mut each: impl FnMut(usize, &Event, i64),
    ) {
        for (line, rows) in &self.lines {
            let events = profile.events(line);
            let event = |i| if device_clock { events.on_device_clock(i) } else { events.placed(i) };
            let ops = || (0..events.len()).filter(|&i| rows[i] != NONE).map(event);
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
    let source = profile.source_of(plane);
    let ids = MetaIds::of(plane);
    let names = module_names(profile, device);
    let mut found = DeviceOps { ops: Vec::new(), kind: device.kind, lines: Vec::new() };
    let mut row_of_meta = vec![NONE; plane.metas.len()];
    let mut row_of_key: FxHashMap<(Option<u64>, Cow<'p, str>), u32> = FxHashMap::default();
    for line in profile.lines_of(plane.id).filter(|l| l.kind == LineKind::XlaOps) {
        let events = profile.events(line);
        let rows = events.metas().iter().map(|&meta| {
            if row_of_meta[meta as usize] == NONE {
                let mut op = OpMeta::read(plane, source, meta, &ids);
                settle_flops(&mut op, source, events, meta, &ids);
                // Several metadata entries may stand for one op.
                let key = (op.program_id, op.name.clone());
                row_of_meta[meta as usize] = *row_of_key.entry(key).or_insert_with(|| {
                    let module = op.program_id.and_then(|id| names.get(&id).cloned()).unwrap_or_default();
                    found.ops.push((op, module));
                    found.ops.len() as u32 - 1
                });
            }
            row_of_meta[meta as usize]
        });
        let rows = rows.collect();
        found.lines.push((line, rows));
    }
    found
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
fn is_marker(expression: &str) -> bool {
    const TARGETS: [&str; 4] = ["AllocateBuffer", "Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape"];
    let target = expression.split_once("custom_call_target=\"").and_then(|(_, rest)| rest.split_once('"'));
    target.is_some_and(|(target, _)| TARGETS.contains(&target))
}

/// Names of programs by id, from the `XLA Modules` line and the modules that the profiler embedded.
fn module_names<'p>(profile: &'p Profile, device: &Device) -> FxHashMap<u64, Cow<'p, str>> {
    let mut names = FxHashMap::default();
    let plane = profile.plane(device.plane);
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
    for module in profile.modules.iter().filter(|m| m.host == device.host) {
        if let Some(id) = module.program_id {
            names.insert(id, Cow::Borrowed(module.name.as_str()));
        }
    }
    names
}

/// GPU kernels and CPU ops: events that name their HLO op themselves. GPU kernels that name none (copies, command
/// buffers, TensorFlow's own) are ops of their own under the kernel's name.
fn named<'p>(profile: &'p Profile, device: &Device) -> DeviceOps<'p> {
    let plane = profile.plane(device.plane);
    let source = profile.source_of(plane);
    let ids = ["hlo_op", "hlo_module", "program_id", "tf_op", "name"].map(|name| plane.stat_id(name));
    let wanted_kind = if device.kind == DeviceKind::Gpu { LineKind::Stream } else { LineKind::Thread };
    let costs = Costs::new(profile, device);
    let mut found = DeviceOps { ops: Vec::new(), kind: device.kind, lines: Vec::new() };
    let mut row_of_key: FxHashMap<(Option<u64>, Cow<'p, str>), u32> = FxHashMap::default();
    for line in profile.lines_of(plane.id).filter(|l| l.kind == wanted_kind) {
        let events = profile.events(line);
        let rows = events.iter().map(|event| {
            if device.kind == DeviceKind::Cpu && !events.has(event.index, Mark::HloOp) {
                return NONE;
            }
            let names = EventNames::read(plane, source, events, event.index, ids);
            let (name, program_id) = match (names.op, device.kind) {
                (Some(op), _) => (op, names.program_id),
                (None, DeviceKind::Gpu) => (plane.meta_label(source, event.meta), None),
                (None, _) => return NONE,
            };
            *row_of_key.entry((program_id, name.clone())).or_insert_with(|| {
                let is_hlo = program_id.is_some() || names.module.is_some();
                let category = Cow::Borrowed(if is_hlo { "" } else { kernel_category(&name) });
                let framework_op = names.framework_op.unwrap_or_default();
                let tf_op = framework_op.clone();
                let mut meta =
                    OpMeta { name, category, program_id, framework_op, tf_op, ..OpMeta::default() };
                costs.fill(&mut meta);
                meta.model_flops = meta.flops;
                found.ops.push((meta, names.module.unwrap_or_default()));
                found.ops.len() as u32 - 1
            })
        });
        let rows = rows.collect();
        found.lines.push((line, rows));
    }
    found
}

/// The names that an event carries in its stats.
struct EventNames<'p> {
    op: Option<Cow<'p, str>>,
    module: Option<Cow<'p, str>>,
    program_id: Option<u64>,
    framework_op: Option<Cow<'p, str>>,
}

impl<'p> EventNames<'p> {
    fn read(
        plane: &'p Plane,
        source: &'p Source,
        events: &'p Events,
        index: usize,
        ids: [Option<i64>; 5],
    ) -> Self {
        let mut names = Self { op: None, module: None, program_id: None, framework_op: None };
        for stat in events.stats(source, index) {
            let (id, Some(value)) = (Some(stat.metadata_id), stat.value) else { continue };
            let text = || plane.text(source, value);
            if id == ids[0] {
                names.op = text();
            } else if id == ids[1] {
                names.module = text();
            } else if id == ids[2] {
                names.program_id = value.as_u64_bits();
            } else if (id == ids[3] && names.framework_op.is_none()) || id == ids[4] {
                names.framework_op = text();
            }
        }
        names
    }
}

fn kernel_category(name: &str) -> &'static str {
    let lower = name.to_ascii_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
    match () {
        () if has(&["memcpy", "copybuffer"]) => "memcpy",
        () if has(&["memset", "fillbuffer"]) => "memset",
        () if has(&["nccl", "rccl", "nvshmem"]) => "collective kernel",
        () => "kernel without HLO op",
    }
}
