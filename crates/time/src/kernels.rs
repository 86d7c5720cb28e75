//! GPU kernels: how often each ran, for how long, and how it was launched.

pub mod analysis;

use std::borrow::Cow;
use std::collections::hash_map::Entry;

use haloscope_xspace::StatValue;
use rustc_hash::FxHashMap;

use super::graph_kernels::{GraphKernels, Node};
use super::hlo_costs::Costs;
use super::launch_facts::LaunchFacts;
use super::tensor_cores;
use haloscope_event_groups::framework_op::FrameworkOp;
use haloscope_profile::{
    Device, DeviceKind, Event, HostId, LineId, LineKind, MetaIdx, Plane, Profile, Source,
};

/// A kernel, launched in one way for one framework op: the sum over all its events.
#[derive(Debug, Clone, PartialEq)]
pub struct Kernel<'p> {
    /// The function's name.
    pub name: Cow<'p, str>,
    /// How it was launched.
    pub launch: Launch,
    /// The same as far as the tracer says it and it can be true; of kernels told apart by [`Launch`], the first one's.
    pub facts: LaunchFacts,
    /// True if its name is one of those of kernels that multiply matrices on tensor cores, see [`tensor_cores`].
    pub uses_tensor_cores: bool,
    /// True if tensor cores could do the work of its op.
    pub could_use_tensor_cores: bool,
    /// The framework op that it works for: scope path without the op's type. Empty where nobody says.
    pub framework_op: Cow<'p, str>,
    /// Number of executions.
    pub occurrences: u64,
    /// Sum of their durations in nanoseconds, each cut to whole ones, in which profilers record kernels.
    pub total_ns: u64,
    /// The shortest, likewise.
    pub min_ns: u64,
    /// The longest, likewise.
    pub max_ns: u64,
}

/// How a kernel was launched: the stat `kernel_details`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Launch {
    /// Registers a thread.
    pub registers: u32,
    /// Shared memory a block whose size the compiler knew.
    pub static_shared_bytes: u32,
    /// Shared memory a block whose size the launch gave.
    pub dynamic_shared_bytes: u32,
    /// Threads a block, by dimension.
    pub block: [u32; 3],
    /// Blocks, by dimension.
    pub grid: [u32; 3],
    /// Share of the threads that a multiprocessor can hold which this launch lets it hold, in percent.
    pub occupancy_percent: f64,
}

impl Default for Launch {
    fn default() -> Self {
        Self {
            registers: 0,
            static_shared_bytes: 0,
            dynamic_shared_bytes: 0,
            block: [1; 3],
            grid: [1; 3],
            occupancy_percent: 0.0,
        }
    }
}

impl Launch {
    /// Reads `regs:32 static_shared:0 dynamic_shared:0 grid:8,1,1 block:256,1,1 occ_pct:100`. What is not there, or is no
    /// number, keeps its default; unknown keys are passed over.
    #[must_use]
    pub fn parse(details: &str) -> Self {
        fn set<T: std::str::FromStr>(slot: &mut T, word: &str) {
            if let Ok(value) = word.parse() {
                *slot = value;
            }
        }
        fn three(slot: &mut [u32; 3], words: &str) {
            let numbers: Result<Vec<u32>, _> = words.split(',').map(str::parse).collect();
            if let Some(numbers) = numbers.ok().and_then(|n| <[u32; 3]>::try_from(n).ok()) {
                *slot = numbers;
            }
        }
        let mut launch = Self::default();
        for word in details.split([' ', '\n']) {
            match word.split_once(':') {
                Some(("regs", value)) => set(&mut launch.registers, value),
                Some(("static_shared", value)) => set(&mut launch.static_shared_bytes, value),
                Some(("dynamic_shared", value)) => set(&mut launch.dynamic_shared_bytes, value),
                Some(("occ_pct", value)) => set(&mut launch.occupancy_percent, value),
                Some(("block", value)) => three(&mut launch.block, value),
                Some(("grid", value)) => three(&mut launch.grid, value),
                _ => {}
            }
        }
        launch
    }

    /// Shared memory a block, bytes.
    #[must_use]
    pub fn shared_bytes(&self) -> u64 {
        u64::from(self.static_shared_bytes) + u64::from(self.dynamic_shared_bytes)
    }

    /// What tells launches of one kernel apart. Occupancy follows from the rest.
    fn key(&self) -> ([u32; 3], [u32; 3], [u32; 3]) {
        (self.grid, self.block, [self.registers, self.static_shared_bytes, self.dynamic_shared_bytes])
    }
}

/// The kernels of a host's GPUs, all GPUs together: the longest in total first, then by name and launch. Events that take no
/// time do not count.
#[must_use]
pub fn of_host(profile: &Profile, host: HostId) -> Vec<Kernel<'_>> {
    let devices = profile.devices.iter().filter(|d| d.host == host && d.kind == DeviceKind::Gpu);
    let mut kernels = visit_by(Names::Xprof, profile, devices, |kernel, _, _, _, event| {
        kernel.add((event.end_ps - event.start_ps).unsigned_abs() / 1000);
    });
    sort(&mut kernels);
    kernels
}

/// Whose knowledge of names counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    /// XProf's.
    Xprof,
    /// All there is: TensorFlow's annotations and libraries that XProf does not know too.
    All,
}

/// Walks the kernels of some GPUs as [`of_host`] tells them apart, but by more names than XProf knows: TensorFlow's annotation of
/// a kernel is its framework op, and [`tensor_cores::surely_used_by`] says which use tensor cores. `each` is given the kernel that an event is of, its place among all, the device's place,
/// the line and the event. Events that take no time are passed over. Gives the kernels in the order in which they were found.
pub fn visit<'p, 'd>(
    profile: &'p Profile,
    devices: impl Iterator<Item = &'d Device>,
    each: impl FnMut(&mut Kernel<'p>, usize, usize, LineId, &Event),
) -> Vec<Kernel<'p>> {
    visit_by(Names::All, profile, devices, each)
}

fn visit_by<'p, 'd>(
    by: Names,
    profile: &'p Profile,
    devices: impl Iterator<Item = &'d Device>,
    mut each: impl FnMut(&mut Kernel<'p>, usize, usize, LineId, &Event),
) -> Vec<Kernel<'p>> {
    let mut kernels = Vec::new();
    let mut row_of_key = FxHashMap::default();
    for (position, device) in devices.enumerate() {
        of_device(by, profile, device, &mut kernels, &mut row_of_key, |kernel, row, line, event| {
            each(kernel, row, position, line, event);
        });
    }
    kernels
}

/// Sorts kernels as [`of_host`] gives them.
pub fn sort(kernels: &mut [Kernel<'_>]) {
    kernels.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.key().cmp(&b.key())));
}

type Key<'a> = (&'a str, ([u32; 3], [u32; 3], [u32; 3]), bool, bool, &'a str);
type OwnKey<'p> = (Cow<'p, str>, ([u32; 3], [u32; 3], [u32; 3]), bool, bool, Cow<'p, str>);

impl<'p> Kernel<'p> {
    fn key(&self) -> Key<'_> {
        let flags = (self.uses_tensor_cores, self.could_use_tensor_cores);
        (&self.name, self.launch.key(), flags.0, flags.1, &self.framework_op)
    }

    fn own_key(&self) -> OwnKey<'p> {
        let (_, launch, uses, could, _) = self.key();
        (self.name.clone(), launch, uses, could, self.framework_op.clone())
    }
}

/// A text as the event has it, so that events are told apart without looking texts up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
enum Word<'p> {
    #[default]
    None,
    Ref(u64),
    Text(&'p [u8]),
}

/// What an event says of its kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
struct Said<'p> {
    meta: MetaIdx,
    details: Word<'p>,
    framework_op: Word<'p>,
    equation: Word<'p>,
    hlo_op: Word<'p>,
    annotation: Word<'p>,
    program_id: Option<u64>,
    /// The graph that the kernel is of, and its node there.
    node: Option<Node>,
}

fn of_device<'p>(
    by: Names,
    profile: &'p Profile,
    device: &Device,
    kernels: &mut Vec<Kernel<'p>>,
    row_of_key: &mut FxHashMap<OwnKey<'p>, usize>,
    mut each: impl FnMut(&mut Kernel<'p>, usize, LineId, &Event),
) {
    let plane = profile.plane(device.plane);
    let source = profile.source_of(plane);
    let names = [
        "kernel_details",
        "tf_op",
        "equation",
        "hlo_op",
        "program_id",
        "annotation",
        "cuda_graph_id",
        "cuda_graph_node_id",
    ];
    let mut ids = names.map(|name| plane.stat_id(name));
    if by == Names::Xprof {
        ids[5..].fill(None);
    }
    let graphs = ids[7].map(|_| GraphKernels::of(profile, device)).unwrap_or_default();
    if ids[0].is_none() {
        return;
    }
    let costs = Costs::new(profile, device);
    let mut row_of_said: FxHashMap<Said<'p>, Option<usize>> = FxHashMap::default();
    for line in profile.lines_of(plane.id).filter(|l| l.kind != LineKind::Derived) {
        let events = profile.events(line);
        for event in events.iter().filter(|e| e.end_ps > e.start_ps) {
            let mut said = Said { meta: event.meta, ..Said::default() };
            let mut node = [None; 2];
            for stat in events.stats(source, event.index) {
                let (Some(at), Some(value)) =
                    (ids.iter().position(|id| *id == Some(stat.metadata_id)), stat.value)
                else {
                    continue;
                };
                match at {
                    0 => said.details = word(value),
                    1 => said.framework_op = word(value),
                    2 => said.equation = word(value),
                    3 => said.hlo_op = word(value),
                    4 => said.program_id = value.as_u64_bits(),
                    5 => said.annotation = word(value),
                    _ => node[at - 6] = value.as_u64_bits(),
                }
            }
            said.node = node[0].zip(node[1]);
            let row = *row_of_said.entry(said).or_insert_with(|| {
                let kernel = read(by, (plane, source), (&costs, &graphs), &said)?;
                Some(match row_of_key.entry(kernel.own_key()) {
                    Entry::Occupied(row) => *row.get(),
                    Entry::Vacant(row) => {
                        kernels.push(kernel);
                        *row.insert(kernels.len() - 1)
                    }
                })
            });
            if let Some(row) = row {
                each(&mut kernels[row], row, line.id, &event);
            }
        }
    }
}

fn word(value: StatValue<'_>) -> Word<'_> {
    match value {
        StatValue::Ref(id) => Word::Ref(id),
        StatValue::Str(text) => Word::Text(text),
        _ => Word::None,
    }
}

/// What the event says, in words; `None` if it is no kernel.
fn read<'p>(
    by: Names,
    (plane, source): (&'p Plane, &'p Source),
    (costs, graphs): (&Costs<'p>, &GraphKernels),
    said: &Said<'p>,
) -> Option<Kernel<'p>> {
    let text = |word: Word<'p>| match word {
        Word::None => Cow::Borrowed(""),
        Word::Ref(id) => plane.stat_name(source, id as i64),
        Word::Text(text) => String::from_utf8_lossy(text),
    };
    let details = text(said.details);
    if details.is_empty() {
        return None;
    }
    let name = source.text(plane.metas[said.meta as usize].name);
    let vendor = plane.stat("device_vendor").and_then(|v| v.as_text());
    let uses_tensor_cores = match by {
        Names::Xprof => tensor_cores::used_by(vendor, &name),
        Names::All => tensor_cores::surely_used_by(vendor, &name),
    };
    let (mut framework_op, mut could_use_tensor_cores) = (Cow::Borrowed(""), false);
    let mut full_name = text(said.framework_op);
    if full_name.is_empty() {
        full_name = annotated(text(said.annotation));
    }
    if !full_name.is_empty() {
        let op_type = full_name.rsplit(':').next().unwrap_or_default();
        let by_type = by == Names::All && tensor_cores::could_do_type(op_type);
        framework_op = scope_path(full_name);
        could_use_tensor_cores = uses_tensor_cores
            || by_type
            || tensor_cores::could_do_einsum(&text(said.equation))
            || tensor_cores::could_do(&framework_op);
    }
    // An HLO op that the profile describes knows better which framework op it is.
    let hlo_ops = text(said.hlo_op);
    let of_graph = said.program_id.zip(said.node).and_then(|(id, node)| graphs.op(id, node));
    let hlo_op = match of_graph {
        Some(op) => Some(&**op),
        None => hlo_ops.rsplit("::").next().filter(|op| !op.is_empty()),
    };
    let instruction = hlo_op.zip(said.program_id).and_then(|(op, id)| costs.instruction(id, op));
    if let Some(instruction) = instruction {
        framework_op = instruction.op_name().map(Cow::Borrowed).unwrap_or_default();
        if let Some(op_type) = instruction.metadata.as_ref().and_then(|m| m.op_type.as_deref()) {
            framework_op = scope_path(Cow::Owned(format!("{framework_op}:{op_type}")));
        }
        could_use_tensor_cores |= tensor_cores::could_do(&framework_op);
    }
    Some(Kernel {
        name,
        launch: Launch::parse(&details),
        facts: LaunchFacts::parse(&details),
        uses_tensor_cores,
        could_use_tensor_cores,
        framework_op,
        occurrences: 0,
        total_ns: 0,
        min_ns: u64::MAX,
        max_ns: 0,
    })
}

/// The innermost op of an annotation, which holds those around it and attributes too: `outer:Op::model/dense/MatMul:MatMul#shape=…#`.
fn annotated(annotation: Cow<'_, str>) -> Cow<'_, str> {
    let inner = |text: &str| {
        let from = text.split('#').next().unwrap_or_default();
        // Names of input iterators have `::` of their own.
        let begin = if from.starts_with("Iterator") { 0 } else { from.rfind("::").map_or(0, |at| at + 2) };
        (begin, from.len())
    };
    let (begin, end) = inner(&annotation);
    match annotation {
        Cow::Borrowed(text) => Cow::Borrowed(&text[begin..end]),
        Cow::Owned(text) => Cow::Owned(text[begin..end].to_owned()),
    }
}

/// The path in `path:OpType`; what has another form (names of input iterators, notes of users) stays whole.
fn scope_path(full_name: Cow<'_, str>) -> Cow<'_, str> {
    match full_name {
        Cow::Borrowed(name) => Cow::Borrowed(FrameworkOp::parse(name).path),
        Cow::Owned(name) => Cow::Owned(FrameworkOp::parse(&name).path.to_owned()),
    }
}

impl Kernel<'_> {
    fn add(&mut self, duration_ns: u64) {
        self.occurrences += 1;
        self.total_ns = self.total_ns.saturating_add(duration_ns);
        self.min_ns = self.min_ns.min(duration_ns);
        self.max_ns = self.max_ns.max(duration_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches() {
        let launch =
            Launch::parse("regs:9 static_shared:3 dynamic_shared:4 grid:1,2,3 block:4,5,6\nocc_pct:12.5");
        assert_eq!((launch.registers, launch.shared_bytes(), launch.occupancy_percent), (9, 7, 12.5));
        assert_eq!((launch.grid, launch.block), ([1, 2, 3], [4, 5, 6]));
        let odd = Launch::parse(
            "regs:-1 regs: 7 grid:4,5,6,7 block:a,b,c static_shared:4294967296 shm:8 occ_pct:x",
        );
        assert_eq!(odd, Launch::default());
    }

    #[test]
    fn annotations_of_tensorflow() {
        let of = |text: &'static str| annotated(Cow::Borrowed(text)).into_owned();
        assert_eq!(of("sequential/conv2d/Conv2D:Conv2D"), "sequential/conv2d/Conv2D:Conv2D");
        assert_eq!(of("a:PartitionedCall::b/MatMul:MatMul#shape=(f32[8])#"), "b/MatMul:MatMul");
        assert_eq!(of("Size/_18:_Recv#from=Size,to=Cast_4#::#edge_name=e#"), "Size/_18:_Recv");
        assert_eq!(of("Iterator::Prefetch"), "Iterator::Prefetch");
    }

    #[test]
    fn paths_of_framework_ops() {
        let path = |name| scope_path(Cow::Borrowed(name)).into_owned();
        assert_eq!(path("jit(f)/dot_general:dot_general[precision=None]"), "jit(f)/dot_general");
        assert_eq!(path("XlaModule:"), "XlaModule");
        assert_eq!(path("Iterator::Batch::Map"), "Iterator::Batch::Map");
        assert_eq!(path("MemcpyHToD"), "MemcpyHToD");
    }
}
