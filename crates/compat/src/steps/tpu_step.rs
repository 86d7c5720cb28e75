//! A step of TPUs over all cores.

use std::collections::BTreeMap;

use super::stat::Stat;
use super::{Breakdown, StepRow};
use crate::db::IDLE;

/// Self times of a TensorCore by what they are, picoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CoreTimes {
    /// The step.
    pub(crate) step: i64,
    /// Infeed from the host.
    pub(crate) infeed: i64,
    /// Outfeed to the host.
    pub(crate) outfeed: i64,
    /// Transfers to the host.
    pub(crate) host_send: i64,
    /// Transfers from the host.
    pub(crate) host_recv: i64,
    /// Transfers to and from other devices.
    pub(crate) send_recv: i64,
    /// Waits for the other core of a pair.
    pub(crate) megacore: i64,
    /// Waits for asynchronous ops.
    pub(crate) async_done: i64,
    /// All-reduce and all-to-all.
    pub(crate) all_reduce: i64,
    /// Infeed from the first generation of SparseCores: waiting, and changing the layout.
    pub(crate) sparse_wait: i64,
    pub(crate) sparse_transform: i64,
    /// Outfeed to them.
    pub(crate) sparse_outfeed: i64,
    /// All ops.
    pub(crate) ops: i64,
    /// The time that is put down as idle.
    pub(crate) idle: i64,
}

impl CoreTimes {
    /// Sums up categories.
    pub(crate) fn new(categories: &BTreeMap<String, i64>, step: i64) -> Self {
        let of = |names: &[&str]| names.iter().filter_map(|n| categories.get(*n)).sum::<i64>();
        let (infeed, outfeed) = (of(&["sparsecorev0 infeed"]), of(&["sparsecorev0 outfeed"]));
        let idle = of(&[IDLE]);
        let mut times = Self {
            step,
            infeed: of(&["infeed"]),
            outfeed: of(&["outfeed"]),
            host_send: of(&["host send", "host send-done"]),
            host_recv: of(&["host recv", "host recv-done"]),
            send_recv: of(&["send", "send-done", "recv", "recv-done"]),
            megacore: of(&["megacore fusion"]),
            async_done: of(&["async-done"]),
            all_reduce: of(&["all-reduce", "all-reduce fusion", "all-to-all"]),
            sparse_wait: of(&["sparsecorev0 infeed wait"]),
            sparse_transform: of(&["sparsecorev0 infeed transform"]),
            sparse_outfeed: outfeed,
            ops: haloscope_report::units::sum(categories.values().copied()) - idle,
            idle,
        };
        if infeed > 0 {
            // Both transform alike: what the infeed takes longer than the outfeed it waits.
            times.sparse_transform = infeed.min(outfeed);
            times.sparse_wait = infeed - times.sparse_transform;
        }
        times
    }

    /// Time in which the core computed: without waits for host or SparseCore, asynchronous ops or the other core.
    fn busy(&self) -> i64 {
        let off_duty = self.infeed
            + self.outfeed
            + self.host_send
            + self.host_recv
            + self.megacore
            + self.async_done
            + self.sparse_wait;
        (self.ops - off_duty).clamp(0, self.step)
    }

    /// The step without waits for host and SparseCore. Nothing where ops take longer than the step.
    fn optimal(&self) -> i64 {
        let idle = self.step - self.ops;
        let transfers = self.host_send + self.host_recv;
        let wait = self.infeed + self.outfeed + transfers + idle + self.sparse_wait;
        if wait < 0 { 0 } else { (self.step - wait).max(0) }
    }
}

/// A step over all cores: times in milliseconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct TpuStep {
    /// Its number; -1 where no core tells it.
    pub(crate) number: i64,
    /// The least that a TensorCore takes without waiting for the host.
    pub(crate) compute: f64,
    /// The longest that one waits for a SparseCore of the first generation.
    pub(crate) sparse_v0: f64,
    /// The longest that one waits for input, and which core it is.
    pub(crate) infeed: f64,
    pub(crate) infeed_core: Option<u32>,
    /// The mean time in outfeed.
    pub(crate) outfeed: f64,
    /// The longest in transfers to and from the host.
    pub(crate) transfer: f64,
    /// What remains.
    pub(crate) idle: f64,
    /// Time of collectives with a known id, on the core that takes longest: as long as on the fastest core, and more.
    pub(crate) all_reduce: f64,
    pub(crate) all_reduce_sync: f64,
    /// Share of the step that cores wait for input, percent: mean, least, most.
    pub(crate) infeed_percent: [f64; 3],
    /// Mean time in which TensorCores compute.
    pub(crate) active: f64,
    /// SparseCores.
    pub(crate) sparse: SparseStep,
}

/// A step over all SparseCores: times in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct SparseStep {
    /// Mean length of the step.
    pub(crate) step: f64,
    /// The least time that one computes.
    pub(crate) compute: f64,
    /// Mean time idle.
    pub(crate) idle: f64,
    /// Mean time in which they compute.
    pub(crate) active: f64,
}

fn ms(ps: f64) -> f64 {
    ps / 1e9
}

impl TpuStep {
    /// Sums a step up over its cores.
    pub(crate) fn new(row: &StepRow) -> Self {
        let mut step = Self { number: if row.cores.is_empty() { -1 } else { row.number }, ..Self::default() };
        let mut percent = Stat::default();
        let (mut lengths, mut optimal, mut outfeed) = (Stat::default(), Stat::default(), Stat::default());
        let (mut transfer, mut infeed, mut sparse_v0) = (0, 0, 0);
        let mut busy = Stat::default();
        let mut sparse: [Stat; 3] = Default::default();
        for (core, info) in &row.cores {
            let length = info.duration_ps as f64;
            let times = match &info.breakdown {
                Breakdown::TensorCore(categories) => CoreTimes::new(categories, info.duration_ps),
                Breakdown::SparseCore { busy_ps } => {
                    sparse[0].add(length);
                    sparse[1].add(*busy_ps as f64);
                    sparse[2].add((info.duration_ps - busy_ps) as f64);
                    continue;
                }
                Breakdown::Generic(_) => continue,
            };
            lengths.add(length);
            optimal.add(times.optimal() as f64);
            outfeed.add(times.outfeed as f64);
            busy.add(times.busy() as f64);
            percent.add(100.0 * times.infeed as f64 / length);
            transfer = transfer.max(times.host_send + times.host_recv);
            sparse_v0 = sparse_v0.max(times.sparse_wait);
            if times.infeed > infeed {
                (infeed, step.infeed_core) = (times.infeed, Some(*core));
            }
        }
        step.compute = ms(optimal.min().unwrap_or(0.0));
        step.sparse_v0 = ms(sparse_v0 as f64);
        step.infeed = ms(infeed as f64);
        step.outfeed = ms(outfeed.average());
        step.transfer = ms(transfer as f64);
        step.active = ms(busy.average());
        if let Some(shortest) = lengths.min() {
            step.idle = (ms(shortest) - step.not_idle()).max(0.0);
            let summary = percent.summary();
            step.infeed_percent = [summary.average, summary.minimum, summary.maximum];
        }
        let (compute, sync) = collectives(row);
        (step.all_reduce, step.all_reduce_sync) = (ms(compute as f64), ms(sync as f64));
        step.sparse = SparseStep {
            step: ms(sparse[0].average()),
            compute: ms(sparse[1].min().unwrap_or(0.0)),
            idle: ms(sparse[2].average()),
            active: ms(sparse[1].average()),
        };
        step
    }

    fn not_idle(&self) -> f64 {
        (self.compute + self.sparse_v0)
            + self.infeed
            + (self.all_reduce + self.all_reduce_sync)
            + self.outfeed
    }

    /// The step's length: what its parts add up to.
    pub(crate) fn length(&self) -> f64 {
        self.not_idle() + self.idle
    }
}

/// Time of collectives on the core where it is longest: as long as the fastest core took for each, and what was waited.
fn collectives(row: &StepRow) -> (i64, i64) {
    let mut fastest: BTreeMap<u64, i64> = BTreeMap::new();
    for (id, ps) in row.collectives.values().flatten() {
        let least = fastest.entry(*id).or_insert(*ps);
        *least = (*least).min(*ps);
    }
    let mut longest = (0_i64, 0_i64);
    for times in row.collectives.values() {
        let all = haloscope_report::units::sum(times.iter().map(|(_, ps)| *ps));
        let compute =
            haloscope_report::units::sum(times.iter().filter_map(|(id, _)| fastest.get(id).copied()));
        if all > longest.0.saturating_add(longest.1) {
            longest = (compute, all - compute);
        }
    }
    longest
}

/// Puts idle time down as waiting for input, as far as the host's threads worked on input meanwhile: for programs that
/// have no infeed op.
pub(super) fn attribute_input(row: &mut StepRow, input_ps: i64) {
    let idle_ms = TpuStep::new(row).idle;
    let share = if idle_ms > 0.0 { (ms(input_ps as f64) / idle_ms).min(1.0) } else { 0.0 };
    for core in row.cores.values_mut() {
        let Breakdown::TensorCore(categories) = &mut core.breakdown else { continue };
        let idle = categories.get(IDLE).copied().unwrap_or(0);
        let infeed = (idle as f64 * share) as i64;
        *categories.entry("infeed".to_owned()).or_default() += infeed;
        categories.insert(IDLE.to_owned(), idle - infeed);
    }
}
