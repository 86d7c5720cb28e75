//! What planes and events say of ops: by metadata on TPUs, by the events' own stats on GPUs and CPUs.

use std::borrow::Cow;
use std::sync::Arc;

use haloscope_hlo::cost::best;
use haloscope_xspace::StatValue;
use rustc_hash::FxHashMap;

use super::graph_kernels::GraphKernels;
use super::hlo_costs::Costs;
use super::op_lines::{NONE, holds_ops};
use super::op_meta::{MetaIds, OpMeta};
use super::pallas::Pallas;
use haloscope_profile::{
    Device, DeviceKind, Event, Events, Line, LineKind, Mark, MetaIdx, Plane, Profile, Source,
};

/// Ops of a plane whose events say by their metadata what they are: those of TPUs.
pub struct MetaOps<'p> {
    plane: &'p Plane,
    source: &'p Source,
    ids: MetaIds,
    names: FxHashMap<u64, Cow<'p, str>>,
    costs: Costs<'p>,
}

impl<'p> MetaOps<'p> {
    /// Reads the metadata of this plane.
    pub fn new(profile: &'p Profile, plane: &'p Plane) -> Self {
        let names = module_names(profile, plane);
        let costs = Costs::of_host(profile, plane.host);
        Self { plane, source: profile.source_of(plane), ids: MetaIds::of(plane), names, costs }
    }

    /// The op of a metadata row; `events` are those of its line.
    pub fn op(&self, events: &Events, meta: MetaIdx) -> OpMeta<'p> {
        self.ops(events, vec![meta]).pop().map(|(_, op)| op).unwrap_or_default()
    }

    /// The ops of several metadata rows, in the same order.
    pub(super) fn ops(&self, events: &Events, metas: Vec<MetaIdx>) -> Vec<(MetaIdx, OpMeta<'p>)> {
        let read = |meta| (meta, OpMeta::read(self.plane, self.source, meta, &self.ids));
        let mut ops: Vec<_> = metas.into_iter().map(read).collect();
        let is_unstated = |op: &OpMeta<'_>| op.flops.is_none() && op.category == "custom-call";
        let unstated = ops.iter().filter(|(_, op)| self.ids.flops.is_some() && is_unstated(op));
        let stated = Stated::of(self, events, unstated.map(|(meta, _)| *meta));
        for (meta, op) in &mut ops {
            settle_flops(op, stated.means(*meta));
            settle_kernel(op, &self.costs);
        }
        ops
    }

    /// The name of an op's program; empty where it is not known.
    pub fn module(&self, op: &OpMeta<'_>) -> Cow<'p, str> {
        op.program_id.and_then(|id| self.names.get(&id).cloned()).unwrap_or_default()
    }
}

/// What the events of some metadata rows state themselves: FLOPs, model FLOPs and bytes.
struct Stated {
    /// Positions in `sums` by metadata row; empty where no row was asked for.
    at: Vec<u32>,
    /// Number of events and what they state in all.
    sums: Vec<(f64, [Option<f64>; 3])>,
}

impl Stated {
    /// Sums up a line's events of these metadata rows, in one pass.
    fn of(reader: &MetaOps<'_>, events: &Events, metas: impl Iterator<Item = MetaIdx>) -> Self {
        let mut all = Self { at: Vec::new(), sums: Vec::new() };
        for meta in metas {
            all.at.resize(reader.plane.metas.len(), NONE);
            all.at[meta as usize] = all.sums.len() as u32;
            all.sums.push((0.0, [None; 3]));
        }
        if all.sums.is_empty() {
            return all;
        }
        let ids = [reader.ids.flops, reader.ids.model_flops, reader.ids.bytes];
        for (index, meta) in events.metas().iter().enumerate() {
            let Some((count, sums)) = all.sums.get_mut(all.at[*meta as usize] as usize) else { continue };
            *count += 1.0;
            for stat in events.stats(reader.source, index) {
                let slot = ids.iter().position(|wanted| *wanted == Some(stat.metadata_id));
                if let (Some(slot), Some(value)) = (slot, stat.value.and_then(|v| v.as_f64())) {
                    *sums[slot].get_or_insert(0.0) += value;
                }
            }
        }
        all
    }

    /// Means over the events of a metadata row that was asked for.
    fn means(&self, meta: MetaIdx) -> Option<[Option<f64>; 3]> {
        let (count, sums) = self.sums.get(*self.at.get(meta as usize)? as usize)?;
        Some(sums.map(|sum| sum.map(|s| s / count)))
    }
}

/// Decides on the FLOPs of an op whose metadata has none. Ops that move or reshape data carry none because the compiler
/// counts none; a custom call without is unknown, unless kernel profiling put FLOPs and bytes on its events: then the
/// mean over events counts.
fn settle_flops(op: &mut OpMeta<'_>, means: Option<[Option<f64>; 3]>) {
    if let Some([flops, model_flops, bytes]) = means {
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

/// Where the FLOPs of a custom call come from, in words.
pub(crate) fn counted(op: &OpMeta<'_>) -> String {
    match &op.pallas {
        Some(kernel) => kernel.words(),
        None if op.flops.is_none() => String::new(),
        None if op.flops_from_events => {
            "stated by the profiler, on its events: each instruction once".to_owned()
        }
        None => "stated by the kernel's author or the compiler".to_owned(),
    }
}

/// Puts what its module says in place of what the profiler states, where the op is a kernel whose module is in the profile.
fn settle_kernel(op: &mut OpMeta<'_>, costs: &Costs<'_>) {
    let is_other =
        op.expression.contains("custom_call_target=") && !op.expression.contains("tpu_custom_call");
    if op.category != "custom-call" || is_other {
        return;
    }
    let Some(cost) = op.program_id.and_then(|id| costs.kernel(id, &op.name)) else { return };
    op.pallas = Some(Pallas { cost: Arc::clone(cost), stated: op.stated() });
    if let Some(flops) = best(cost.flops) {
        op.flops = Some(flops as f64);
        op.model_flops = op.flops;
    }
    if let Some(bytes) = best(cost.bytes) {
        op.bytes = Some(bytes as f64);
    }
    if let Some(bytes) = best(cost.hbm_bytes) {
        op.hbm_bytes = Some(bytes as f64);
    }
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
            if let (name, Some(id)) = haloscope_profile::split_label(&label) {
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

/// Ops of a device whose events name them: GPU kernels and CPU ops. GPU kernels that name none (copies, TensorFlow's own) are
/// ops of their own under the kernel's name. Those of a command buffer name the buffer: they are of the ops that
/// `graph_kernels` finds, where it finds one.
pub struct EventOps<'p> {
    plane: &'p Plane,
    source: &'p Source,
    ids: [Option<i64>; 6],
    /// The stats that number an event's graph and its node; `None` where graphs are not looked into.
    graph_ids: Option<[i64; 2]>,
    graphs: Arc<GraphKernels>,
    groups: bool,
    kind: DeviceKind,
    costs: Costs<'p>,
}

impl<'p> EventOps<'p> {
    /// Reads events of this device.
    pub fn new(profile: &'p Profile, device: &Device) -> Self {
        let plane = profile.plane(device.plane);
        let ids = ["cuda_graph_id", "cuda_graph_node_id"].map(|name| plane.stat_id(name));
        let graph_ids = match ids {
            [Some(graph), Some(node)] if device.kind == DeviceKind::Gpu => Some([graph, node]),
            _ => None,
        };
        let graphs = graph_ids.map(|_| GraphKernels::of(profile, device)).unwrap_or_default();
        Self { graph_ids, graphs, groups: true, ..Self::as_stated(profile, device) }
    }

    /// The same, but each event is of the op that it names, as XProf has it.
    pub fn as_stated(profile: &'p Profile, device: &Device) -> Self {
        let plane = profile.plane(device.plane);
        Self {
            plane,
            graph_ids: None,
            graphs: Arc::default(),
            groups: false,
            source: profile.source_of(plane),
            ids: ["hlo_op", "hlo_module", "program_id", "tf_op", "name", "memcpy_details"]
                .map(|name| plane.stat_id(name)),
            kind: device.kind,
            costs: Costs::new(profile, device),
        }
    }

    /// Whether several kernels may be one execution of an op; where each event is of the op that it names, each is an execution.
    pub(super) fn groups(&self) -> bool {
        self.groups
    }

    /// Whether events of a line of the device's plane name their ops themselves; on a TPU their metadata does.
    pub fn reads(&self, line: &Line) -> bool {
        self.kind != DeviceKind::Tpu && holds_ops(self.kind, line.kind)
    }

    /// What an event calls its op, without a look at texts.
    pub(super) fn name(&self, events: &Events, event: &Event) -> Name {
        if self.kind != DeviceKind::Gpu && !events.has(event.index, Mark::HloOp) {
            return Name::No;
        }
        let (mut op, mut program_id, mut node) = (None, None, [None; 2]);
        for stat in events.stats(self.source, event.index) {
            let (id, Some(value)) = (Some(stat.metadata_id), stat.value) else { continue };
            if id == self.ids[0] {
                op = Some(value);
            } else if id == self.ids[2] {
                program_id = value.as_u64_bits();
            } else {
                self.note_node(stat.metadata_id, value, &mut node);
            }
        }
        if let ([Some(graph), Some(node)], Some(program)) = (node, program_id)
            && self.graphs.op(program, (graph, node)).is_some()
        {
            return Name::Key(program_id, OpName::Node(graph, node));
        }
        match op {
            Some(StatValue::Ref(text)) => Name::Key(program_id, OpName::Ref(text)),
            Some(_) => Name::Text,
            None if self.kind == DeviceKind::Gpu => Name::Key(None, OpName::Meta(event.meta)),
            None => Name::No,
        }
    }

    /// What an event calls its op; `None` where it is no op.
    pub fn names(&self, events: &Events, event: &Event) -> Option<EventNames<'p>> {
        if self.kind != DeviceKind::Gpu && !events.has(event.index, Mark::HloOp) {
            return None;
        }
        let mut names = EventNames::default();
        let (mut op, mut node) = (None, [None; 2]);
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
            } else if id == self.ids[5] {
                names.copies = text();
            } else {
                self.note_node(stat.metadata_id, value, &mut node);
            }
        }
        if self.kind == DeviceKind::Gpu {
            names.kernel = self.plane.meta_label(self.source, event.meta);
        }
        if let ([Some(graph), Some(node)], Some(program)) = (node, names.program_id)
            && let Some(found) = self.graphs.op(program, (graph, node))
        {
            // The buffer's own scope says nothing of the op's.
            names.framework_op = None;
            op = Some(Cow::Owned(found.to_string()));
        }
        match op {
            Some(op) => names.op = op,
            None if self.kind == DeviceKind::Gpu => {
                names.op = names.kernel.clone();
                names.program_id = None;
            }
            None => return None,
        }
        Some(names)
    }

    fn note_node(&self, id: i64, value: StatValue<'_>, node: &mut [Option<u64>; 2]) {
        let Some(ids) = self.graph_ids else { return };
        if let Some(at) = ids.iter().position(|own| *own == id) {
            node[at] = value.as_u64_bits();
        }
    }

    /// The op, and the name of its program.
    pub fn op(&self, names: EventNames<'p>) -> (OpMeta<'p>, Cow<'p, str>) {
        let is_hlo = names.program_id.is_some() || names.module.is_some();
        let framework_op = names.framework_op.unwrap_or_default();
        let mut meta = OpMeta {
            name: names.op,
            program_id: names.program_id,
            tf_op: framework_op.clone(),
            framework_op,
            ..OpMeta::default()
        };
        self.costs.fill(&mut meta);
        if self.kind == DeviceKind::Gpu && meta.category.is_empty() {
            meta.category = Cow::Borrowed(match names.copies {
                Some(_) if opcode_of(&meta.name).is_none() => "memcpy",
                _ if is_hlo => {
                    opcode_of(&meta.name).unwrap_or_else(|| match kernel_category(&names.kernel) {
                        "kernel without HLO op" => "",
                        category => category,
                    })
                }
                _ => kernel_category(&names.kernel),
            });
            // Between what a copy goes; its size is that of one execution.
            if meta.category == "memcpy" {
                let copies = names.copies.unwrap_or_default();
                let words: Vec<&str> =
                    copies.split_ascii_whitespace().filter(|word| word.starts_with("kind")).collect();
                meta.expression = Cow::Owned(words.join(" "));
            }
        } else if self.kind != DeviceKind::Gpu && !is_hlo {
            meta.category = Cow::Borrowed(kernel_category(&meta.name));
        }
        meta.model_flops = meta.flops;
        (meta, names.module.unwrap_or_default())
    }
}

/// What an event calls its op.
pub enum Name {
    /// It is no op.
    No,
    /// Program and name: events with the same are of one op.
    Key(Option<u64>, OpName),
    /// A text of its own, which must be read: [`EventOps::names`].
    Text,
}

/// How an event names its op without a text of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OpName {
    /// By a text that the plane keeps.
    Ref(u64),
    /// By its metadata.
    Meta(MetaIdx),
    /// By a graph and its node.
    Node(u64, u64),
}

/// The names that an event carries in its stats.
#[derive(Default)]
pub struct EventNames<'p> {
    /// The op by name.
    pub op: Cow<'p, str>,
    /// The program that launched it, where the event says.
    pub program_id: Option<u64>,
    module: Option<Cow<'p, str>>,
    framework_op: Option<Cow<'p, str>>,
    /// The kernel's own name, on a GPU.
    kernel: Cow<'p, str>,
    /// `memcpy_details`: from what memory to what a copy goes.
    copies: Option<Cow<'p, str>>,
}

/// What an HLO op does, by its name, where no program says: for collectives and copies, whose names are their opcodes.
fn opcode_of(name: &str) -> Option<&'static str> {
    const OPCODES: [&str; 19] = [
        "all-reduce-start",
        "all-reduce-done",
        "all-reduce",
        "all-gather-start",
        "all-gather-done",
        "all-gather",
        "reduce-scatter",
        "all-to-all",
        "ragged-all-to-all",
        "collective-permute-start",
        "collective-permute-done",
        "collective-permute",
        "collective-broadcast",
        "send",
        "send-done",
        "recv",
        "recv-done",
        "copy-start",
        "copy",
    ];
    let last = name.rsplit("::").next().unwrap_or(name);
    let base = last.split('.').next().unwrap_or(last);
    OPCODES.into_iter().find(|opcode| *opcode == base)
}

/// What a kernel that names no HLO op does, by its name.
pub fn kernel_category(name: &str) -> &'static str {
    let lower = name.to_ascii_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
    match () {
        () if has(&["memcpy", "copybuffer", "copydeviceto", "copyhostto", "copypeerto"]) => "memcpy",
        () if has(&["memset", "fillbuffer"]) => "memset",
        () if has(&["nccl", "rccl", "nvshmem"]) => "collective kernel",
        () => "kernel without HLO op",
    }
}
