//! Takes the numbers of one run. Each comes from where the analysis that shows it has it.

use super::{Judge, Metric, STEP_TIME};
use crate::comparable::{flops_per_step, hbm_bytes_per_step};
use crate::{Rest, RunSamples};
use haloscope_program::{compute::mfu, memory};
use haloscope_report::scope::Scope;
use haloscope_report::{Cell, Status, Unit};
use haloscope_time::account::Class;
use haloscope_time::compilations;
use haloscope_time::roofline::Work;
use haloscope_time::stats::{Summary, mean};

/// The metrics of a run: for all runs the same, in the same order.
pub(crate) fn of(run: &RunSamples<'_>, scope: &Scope) -> Vec<Metric> {
    let run = Run::of(run);
    let mut all = step_times(&run);
    all.extend(work(&run, scope));
    all.extend(times(&run));
    all.extend(hotspot(&run));
    all.extend(roofline(&run));
    all.extend(one_of_a_run(&run, scope));
    all
}

/// A run with what several metrics need.
struct Run<'a, 'p> {
    samples: &'a RunSamples<'p>,
    steps: Vec<f64>,
    mean_ps: f64,
    /// Steps that were inferred are estimates, and so is what is taken from them.
    measured: Status,
    derived: Status,
    flops: Option<f64>,
    hbm_bytes: Option<f64>,
}

impl<'a, 'p> Run<'a, 'p> {
    fn of(samples: &'a RunSamples<'p>) -> Self {
        let is_sure = !samples.source.is_inferred() && samples.has_steps();
        let or = |sure| if is_sure { sure } else { Status::Estimated };
        Self {
            samples,
            steps: samples.step_times(),
            mean_ps: samples.mean_ps(),
            measured: or(Status::Measured),
            derived: or(Status::Derived),
            flops: flops_per_step(samples),
            hbm_bytes: hbm_bytes_per_step(samples),
        }
    }

    /// The sum over ops of a kind, in every step.
    fn sum(&self, takes: impl Fn(Class) -> bool) -> Vec<f64> {
        let mut sums = vec![0.0; self.steps.len()];
        for op in self.samples.ops.iter().filter(|op| takes(op.class)) {
            sums.iter_mut().zip(&op.step_ps).for_each(|(sum, ps)| *sum += ps);
        }
        sums
    }

    /// Time without ops, in every step.
    fn idle(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.steps.len()];
        let is_idle = |what: Rest| {
            matches!(
                what,
                Rest::Class(Class::Between | Class::Input | Class::Inside | Class::Before | Class::After)
            )
        };
        for rest in self.samples.remainders.iter().filter(|rest| is_idle(rest.what)) {
            sums.iter_mut().zip(&rest.step_ps).for_each(|(sum, ps)| *sum += ps);
        }
        sums
    }

    /// A number that stands for the mean step, were it that of each.
    fn over_time(&self, share: Option<f64>) -> Vec<f64> {
        let of_step = |share: f64| self.steps.iter().map(move |ps| share * self.mean_ps / ps.max(1.0));
        share.map_or_else(Vec::new, |share| of_step(share).collect())
    }

    fn share_of_step(&self, ps: f64) -> Option<f64> {
        (self.mean_ps > 0.0).then(|| ps / self.mean_ps)
    }
}

fn metric(
    id: &'static str,
    label: &'static str,
    value: Option<impl Into<Cell>>,
    unit: Unit,
    status: Status,
    judge: Judge,
    doc: &'static str,
) -> Metric {
    let value = value.map_or(Cell::Unknown, Into::into);
    let status = if value == Cell::Unknown { Status::Unknown } else { status };
    Metric { id, label, unit, value, status, samples: Vec::new(), judge, doc }
}

/// A time with its value in every step.
fn time(
    run: &Run<'_, '_>,
    id: &'static str,
    label: &'static str,
    samples: Vec<f64>,
    doc: &'static str,
) -> Metric {
    let value = mean(&samples);
    Metric { samples, ..metric(id, label, value, Unit::Ps, run.measured, Judge::Samples, doc) }
}

fn share(
    id: &'static str,
    label: &'static str,
    value: Option<f64>,
    status: Status,
    judge: Judge,
    doc: &'static str,
) -> Metric {
    metric(id, label, value, Unit::Share, status, judge, doc)
}

fn step_times(run: &Run<'_, '_>) -> Vec<Metric> {
    let summary = Summary::of(&run.steps);
    let of = |id, label, value: Option<f64>, doc| {
        metric(id, label, value, Unit::Ps, run.measured, Judge::Like(STEP_TIME), doc)
    };
    vec![
        time(
            run,
            STEP_TIME,
            "Step time, mean",
            run.steps.clone(),
            "Mean over the counted steps of the slowest device's time; the active window if the run has no steps.",
        ),
        of("step_time_p50_ps", "Step time, median", summary.map(|s| s.p50), "Median over the counted steps."),
        of(
            "step_time_p90_ps",
            "Step time, p90",
            summary.map(|s| s.p90),
            "90th percentile over the counted steps.",
        ),
    ]
}

fn work(run: &Run<'_, '_>, scope: &Scope) -> Vec<Metric> {
    let mean_device =
        run.samples.steps.iter().map(|s| s.mean_ps).sum::<f64>() / run.steps.len().max(1) as f64;
    let whole =
        Work { time_ps: mean_device, flops: run.flops, hbm_bytes: run.hbm_bytes }.against(&run.samples.peaks);
    let mfu = mfu::of_program(run.samples.profile, scope, &run.samples.selection).ok().flatten();
    let over = |id, label, value: Option<f64>, work, doc| Metric {
        samples: run.over_time(value),
        ..share(id, label, value, run.derived, Judge::WorkOverTime(work), doc)
    };
    vec![
        metric(
            "flops_per_step",
            "FLOPs per step",
            run.flops,
            Unit::Flop,
            run.derived,
            Judge::Same,
            "Of one device, as the compiler counts them.",
        ),
        over(
            "mfu",
            "MFU",
            mfu.map(|(_, share)| share),
            "flops_per_step",
            "As in `compute mfu` without a stated model: FLOPs divided by peak and step time.",
        ),
        over(
            "flop_share_of_peak",
            "FLOP rate of peak",
            whole.flop_share,
            "flops_per_step",
            "FLOPs of a step, as counted by the compiler, divided by peak and step time including idle time; mean over devices.",
        ),
        metric(
            "hbm_bytes_per_step",
            "HBM bytes per step",
            run.hbm_bytes,
            Unit::Bytes,
            run.derived,
            Judge::Same,
            "Bytes to and from HBM, of one device.",
        ),
        over(
            "hbm_share_of_peak",
            "HBM rate of peak",
            whole.hbm_share,
            "hbm_bytes_per_step",
            "Bytes to and from HBM divided by peak bandwidth and step time including idle time; mean over devices.",
        ),
    ]
}

fn times(run: &Run<'_, '_>) -> Vec<Metric> {
    let idle = run.idle();
    let exposed = run.sum(|class| class == Class::Communication);
    let (idle_ps, exposed_ps) = (mean(&idle), mean(&exposed));
    vec![
        time(run, "idle_ps", "Idle time", idle, "Time of a step in which no op runs, mean over devices."),
        share(
            "idle_share",
            "Idle share of a step",
            idle_ps.and_then(|ps| run.share_of_step(ps)),
            run.derived,
            Judge::Like("idle_ps"),
            "Idle time divided by step time. It also falls if a step gets longer: read the time above.",
        ),
        time(
            run,
            "exposed_communication_ps",
            "Exposed communication",
            exposed,
            "Time of a step in collectives while nothing computes, mean over devices, as in `comm`.",
        ),
        share(
            "exposed_communication_share",
            "Exposed share of a step",
            exposed_ps.and_then(|ps| run.share_of_step(ps)),
            run.derived,
            Judge::Like("exposed_communication_ps"),
            "Exposed communication divided by step time.",
        ),
    ]
}

fn hotspot(run: &Run<'_, '_>) -> Vec<Metric> {
    let top = run.samples.ops.first();
    let ps = top.map(crate::SampledOp::mean_ps);
    vec![
        metric(
            "top_op",
            "Top op",
            top.map(|op| op.meta.name.as_ref()),
            Unit::None,
            run.derived,
            Judge::Name,
            "The op with the most time. Compilers rename ops: `ops` says which is which.",
        ),
        Metric {
            samples: top.map_or_else(Vec::new, |op| op.step_ps.clone()),
            ..metric(
                "top_op_ps",
                "Top op, time",
                ps,
                Unit::Ps,
                run.measured,
                Judge::SamplesOf("top_op"),
                "Its time in a step, mean over devices. It may be a different op in each run.",
            )
        },
        share(
            "top_op_share",
            "Top op share of a step",
            ps.and_then(|ps| run.share_of_step(ps)),
            run.derived,
            Judge::Like("top_op_ps"),
            "Its time divided by step time.",
        ),
    ]
}

fn roofline(run: &Run<'_, '_>) -> Vec<Metric> {
    let ops = run.sum(|_| true);
    let ops_ps = mean(&ops).unwrap_or(0.0);
    let limits =
        Work { time_ps: ops_ps, flops: run.flops, hbm_bytes: run.hbm_bytes }.against(&run.samples.peaks);
    let least = limits.gap_ps.map(|gap| ops_ps - gap);
    let gaps: Vec<f64> = least.map_or_else(Vec::new, |least| ops.iter().map(|ps| ps - least).collect());
    let gap_share = limits.gap_ps.filter(|_| ops_ps > 0.0).map(|gap| gap / ops_ps);
    vec![
        metric(
            "regime",
            "Regime",
            limits.bound.map(|bound| bound.word()),
            Unit::None,
            run.derived,
            Judge::Same,
            "compute or memory: which limit of the roofline is nearer for all ops together.",
        ),
        Metric {
            samples: gaps,
            ..metric(
                "gap_ps",
                "Gap",
                limits.gap_ps,
                Unit::Ps,
                run.derived,
                Judge::Samples,
                "Time of ops that neither limit of the roofline explains, of one device.",
            )
        },
        share(
            "gap_share",
            "Gap share of op time",
            gap_share,
            run.derived,
            Judge::Like("gap_ps"),
            "Gap divided by the time of ops.",
        ),
    ]
}

fn one_of_a_run(run: &Run<'_, '_>, scope: &Scope) -> Vec<Metric> {
    let profile = run.samples.profile;
    let peak = memory::peak_bytes(profile, scope);
    let hosts: Vec<_> = run.samples.selection.devices.iter().map(|device| device.host).collect();
    let compiled = compilations::find(profile, |host| hosts.contains(&host));
    let compile_ps = (!compiled.events.is_empty()).then_some(compiled.busy_ps);
    vec![
        metric(
            "peak_hbm_bytes",
            "Peak HBM",
            peak.map(|(bytes, _)| bytes),
            Unit::Bytes,
            peak.map_or(Status::Unknown, |(_, status)| status),
            Judge::Exact,
            "Bytes alive at the peak of the program that needs the most, as in `memory peak`.",
        ),
        metric(
            "compile_time_ps",
            "Compile time",
            compile_ps,
            Unit::Ps,
            Status::Measured,
            Judge::Nothing,
            "Time in which hosts compiled during the capture, summed over hosts; unknown if the capture has no compilation.",
        ),
    ]
}
