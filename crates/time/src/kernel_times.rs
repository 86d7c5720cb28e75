//! How long kernels took, one execution at a time: those of GPUs, and the custom calls of TPUs (Pallas and Mosaic kernels).

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::kernels::{self, Kernel};
use super::launch_facts::LaunchFacts;
use super::op_readers::{counted, is_marker};
use super::op_rows::DeviceOps;
use super::select::Selection;
use crate::roofline::{Work, add_known};
use haloscope_profile::{Device, DeviceKind, Event, LineId, Profile};

/// A kernel and the executions that start in the selection.
#[derive(Debug, Clone)]
pub struct KernelTimes<'p> {
    /// The function's name; of a custom call the instruction's.
    pub name: Cow<'p, str>,
    /// `GPU kernel`, or the target of the custom call, such as `tpu_custom_call`.
    pub what: Cow<'p, str>,
    /// The framework op that it works for; empty where nobody says.
    pub framework_op: Cow<'p, str>,
    /// The HLO module of a custom call; empty for GPU kernels, which may serve several.
    pub module: Cow<'p, str>,
    /// How a GPU kernel was launched; nothing of custom calls.
    pub launch: LaunchFacts,
    /// Whether it is known to run on tensor cores; `None` for custom calls.
    pub uses_tensor_cores: Option<bool>,
    /// Whether tensor cores could do its op's work; `None` for custom calls, and where nobody says which op that is.
    pub could_use_tensor_cores: Option<bool>,
    /// Executions.
    pub occurrences: u64,
    /// Sum of their lengths, picoseconds.
    pub total_ps: i64,
    /// The shortest, picoseconds.
    pub min_ps: i64,
    /// The longest, picoseconds.
    pub max_ps: i64,
    /// FLOPs and HBM bytes of all executions, where somebody counted them; the time is left at 0.
    pub work: Work,
    /// FLOPs of all executions as the profiler states them; `None` where it does not.
    pub stated_flops: Option<f64>,
    /// Where FLOPs and bytes come from, in words; empty of GPU kernels.
    pub counted: String,
}

/// Executions by length.
#[derive(Debug, Clone, Default)]
pub struct Histogram {
    /// By the lower bound of their class (1, 2 and 5 times a power of ten), picoseconds: executions and their time.
    classes: BTreeMap<i64, (u64, i64)>,
}

/// Executions of about one length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Class {
    /// Lengths from this on, picoseconds.
    pub from_ps: i64,
    /// Lengths below this, picoseconds.
    pub to_ps: i64,
    /// Executions.
    pub occurrences: u64,
    /// Their time, picoseconds.
    pub total_ps: i64,
}

impl Histogram {
    fn add(&mut self, length_ps: i64) {
        let class = self.classes.entry(class_of(length_ps)).or_default();
        class.0 += 1;
        class.1 = class.1.saturating_add(length_ps);
    }

    /// The classes from the shortest to the longest that has executions, those without any between them included.
    #[must_use]
    pub fn classes(&self) -> Vec<Class> {
        let (Some(first), Some(last)) = (self.classes.keys().next(), self.classes.keys().next_back()) else {
            return Vec::new();
        };
        let mut all = Vec::new();
        let mut from_ps = *first;
        while from_ps <= *last {
            let to_ps = next(from_ps);
            let (occurrences, total_ps) = self.classes.get(&from_ps).copied().unwrap_or_default();
            all.push(Class { from_ps, to_ps, occurrences, total_ps });
            if to_ps <= from_ps {
                break;
            }
            from_ps = to_ps;
        }
        all
    }

    /// Share of the executions that are shorter than this.
    #[must_use]
    pub fn share_below(&self, length_ps: i64) -> Option<f64> {
        let all: u64 = self.classes.values().map(|(count, _)| count).sum();
        let below: u64 = self.classes.range(..length_ps).map(|(_, (count, _))| count).sum();
        (all > 0).then(|| below as f64 / all as f64)
    }
}

/// The lower bound of the class that a length is in.
fn class_of(length_ps: i64) -> i64 {
    let mut from_ps = 1;
    while next(from_ps) <= length_ps && next(from_ps) > from_ps {
        from_ps = next(from_ps);
    }
    from_ps
}

/// The lower bound of the next class.
fn next(from_ps: i64) -> i64 {
    let mut digit = from_ps;
    while digit >= 10 {
        digit /= 10;
    }
    // 1, 2, 5 and 10.
    if digit == 2 { from_ps.saturating_add(from_ps.saturating_mul(3) / 2) } else { from_ps.saturating_mul(2) }
}

/// The kernels of a selection, longest in total first, and their executions by length. An execution counts if it starts in the
/// selection, with all of its time.
#[must_use]
pub fn collect<'p>(profile: &'p Profile, selection: &Selection<'p>) -> (Vec<KernelTimes<'p>>, Histogram) {
    let mut histogram = Histogram::default();
    let mut all = gpu(profile, selection, &mut histogram);
    all.extend(tpu(profile, selection, &mut histogram));
    all.retain(|kernel| kernel.occurrences > 0);
    all.sort_by(|a, b| (Reverse(a.total_ps), &a.name).cmp(&(Reverse(b.total_ps), &b.name)));
    (all, histogram)
}

/// For the events of a GPU's lines whether their module is in the selection.
struct OfModules<'p>(DeviceOps<'p>);

impl<'p> OfModules<'p> {
    fn new(profile: &'p Profile, device: &Device) -> Self {
        Self(DeviceOps::find(profile, device))
    }

    fn takes(&self, selection: &Selection<'_>, line: LineId, event: &Event) -> bool {
        let row = self.0.rows_of(line).of(event);
        let module = self.0.ops.get(row as usize).map_or("", |(_, module)| module);
        selection.takes_module(module)
    }
}

fn gpu<'p>(
    profile: &'p Profile,
    selection: &Selection<'p>,
    histogram: &mut Histogram,
) -> Vec<KernelTimes<'p>> {
    let positions = 0..selection.devices.len();
    let gpus: Vec<usize> = positions.filter(|&at| selection.devices[at].kind == DeviceKind::Gpu).collect();
    let devices = || gpus.iter().map(|&at| selection.devices[at]);
    let modules: Vec<_> = devices()
        .filter(|_| selection.names_modules())
        .map(|device| OfModules::new(profile, device))
        .collect();
    let mut times: Vec<KernelTimes<'p>> = Vec::new();
    kernels::visit(profile, devices(), |kernel, row, gpu, line, event| {
        while times.len() <= row {
            times.push(of_kernel(kernel));
        }
        let cut = selection.window(gpus[gpu]);
        let starts_inside =
            cut.is_none_or(|c| c.overlap(event.start_ps, event.start_ps.saturating_add(1)) > 0);
        if starts_inside && modules.get(gpu).is_none_or(|m| m.takes(selection, line, event)) {
            times[row].add(event, histogram);
        }
    });
    times
}

fn of_kernel<'p>(kernel: &Kernel<'p>) -> KernelTimes<'p> {
    KernelTimes {
        name: kernel.name.clone(),
        what: Cow::Borrowed("GPU kernel"),
        framework_op: kernel.framework_op.clone(),
        module: Cow::Borrowed(""),
        launch: kernel.facts,
        uses_tensor_cores: Some(kernel.uses_tensor_cores),
        // Of a kernel that works for no op that anybody names, nobody knows.
        could_use_tensor_cores: (kernel.could_use_tensor_cores || !kernel.framework_op.is_empty())
            .then_some(kernel.could_use_tensor_cores),
        occurrences: 0,
        total_ps: 0,
        min_ps: i64::MAX,
        max_ps: 0,
        work: Work::default(),
        stated_flops: None,
        counted: String::new(),
    }
}

fn tpu<'p>(
    profile: &'p Profile,
    selection: &Selection<'p>,
    histogram: &mut Histogram,
) -> Vec<KernelTimes<'p>> {
    let mut all: Vec<KernelTimes<'p>> = Vec::new();
    let mut row_of: FxHashMap<(Option<u64>, Cow<'p, str>), usize> = FxHashMap::default();
    for (position, device) in selection.devices.iter().enumerate().filter(|(_, d)| d.kind == DeviceKind::Tpu)
    {
        let rows = DeviceOps::find(profile, device);
        let cut = selection.window(position);
        let is_kernel: Vec<bool> = rows
            .ops
            .iter()
            .map(|(op, module)| {
                op.category == "custom-call" && !is_marker(&op.expression) && selection.takes_module(module)
            })
            .collect();
        rows.walk(profile, cut, |row, event, _| {
            let starts_inside =
                cut.is_none_or(|c| c.overlap(event.start_ps, event.start_ps.saturating_add(1)) > 0);
            if !is_kernel[row] || !starts_inside {
                return;
            }
            let (op, module) = &rows.ops[row];
            let at = *row_of.entry((op.program_id, op.name.clone())).or_insert_with(|| {
                all.push(KernelTimes {
                    name: op.name.clone(),
                    what: Cow::Owned(target(&op.expression).unwrap_or("custom call").to_owned()),
                    framework_op: op.framework_op.clone(),
                    module: module.clone(),
                    launch: LaunchFacts::default(),
                    uses_tensor_cores: None,
                    could_use_tensor_cores: None,
                    occurrences: 0,
                    total_ps: 0,
                    min_ps: i64::MAX,
                    max_ps: 0,
                    work: Work::default(),
                    stated_flops: None,
                    counted: counted(op),
                });
                all.len() - 1
            });
            all[at].add(event, histogram);
            add_known(&mut all[at].work.flops, op.flops);
            add_known(&mut all[at].work.hbm_bytes, op.hbm_bytes);
            add_known(&mut all[at].stated_flops, op.stated().flops);
        });
    }
    all
}

/// The target in the expression of a custom call.
fn target(expression: &str) -> Option<&str> {
    let (_, rest) = expression.split_once("custom_call_target=\"")?;
    rest.split_once('"').map(|(target, _)| target)
}

impl KernelTimes<'_> {
    fn add(&mut self, event: &Event, histogram: &mut Histogram) {
        let length_ps = event.end_ps.saturating_sub(event.start_ps);
        self.occurrences += 1;
        self.total_ps = self.total_ps.saturating_add(length_ps);
        self.min_ps = self.min_ps.min(length_ps);
        self.max_ps = self.max_ps.max(length_ps);
        histogram.add(length_ps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_go_by_one_two_five() {
        let bounds: Vec<_> = std::iter::successors(Some(1), |from| Some(next(*from))).take(8).collect();
        assert_eq!(bounds, [1, 2, 5, 10, 20, 50, 100, 200]);
        assert_eq!([0, 1, 4, 5, 999, 1000].map(class_of), [1, 1, 2, 5, 500, 1000]);
        assert!(class_of(i64::MAX) > 1_000_000_000);
    }

    #[test]
    fn a_histogram_has_no_holes() {
        let mut histogram = Histogram::default();
        assert!(histogram.classes().is_empty() && histogram.share_below(5).is_none());
        [3, 60, 70].iter().for_each(|length| histogram.add(*length));
        let classes = histogram.classes();
        let counts: Vec<_> = classes.iter().map(|c| (c.from_ps, c.to_ps, c.occurrences)).collect();
        assert_eq!(counts, [(2, 5, 1), (5, 10, 0), (10, 20, 0), (20, 50, 0), (50, 100, 2)]);
        assert_eq!(classes.iter().map(|c| c.total_ps).sum::<i64>(), 133);
        assert_eq!(histogram.share_below(50), Some(1.0 / 3.0));
    }

    #[test]
    fn targets_of_custom_calls() {
        assert_eq!(
            target("%k = f32[] custom-call(), custom_call_target=\"tpu_custom_call\", x"),
            Some("tpu_custom_call")
        );
        assert_eq!(target("%k = f32[] custom-call()"), None);
    }
}
