//! How the difference of two step times is made up: in whole picoseconds, and exactly.
//!
//! Of an op that both runs have, time in a step T = executions n x time of one t, and work of one w (the least time by the
//! baseline's roofline, else FLOPs, else bytes). T_B - T_A = (n_B - n_A) t_A, the count, + n_B t_A (w_B / w_A - 1), the work, +
//! the rest, the efficiency. Where the work is not known no time is put down to it: all of it is efficiency. Nor is any where the
//! least time is next to nothing beside the time that the op took: a ratio of amounts that do not matter says nothing of time. No
//! part is larger than the op's own time in either run.

use super::device_samples::Rest;
use super::samples::{RunSamples, SampledOp, least_ps};
use haloscope_profile::Peaks;
use haloscope_time::account::Class;
use haloscope_time::op_meta::{OpMeta, is_async_collective, is_asynchronous, is_container};

/// The difference of two mean step times, the experiment's less the baseline's.
#[derive(Debug, Clone, PartialEq)]
pub struct Waterfall {
    /// The difference, picoseconds: the sum of [`Waterfall::bars`].
    pub step_delta_ps: i64,
    /// What each group of ops adds, in the order in which the groups were given.
    pub effects: Vec<Effects>,
    /// What time without ops adds, largest first, picoseconds.
    pub rests: Vec<(Rest, i64)>,
    /// One bar a kind, in the order of [`Part::ALL`].
    pub bars: [Bar; Part::ALL.len()],
}

/// Ops of both runs that do the same: one and its counterpart; several that became one, or others; or those of one run only.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Group {
    /// Positions in the baseline's [`RunSamples::ops`]; empty for new ops.
    pub a: Vec<usize>,
    /// Positions in the experiment's; empty for ops that are gone.
    pub b: Vec<usize>,
}

/// What a group of ops adds to the step, picoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Effects {
    /// Time in the experiment's step less that in the baseline's: the sum of the others, for ops that both have.
    pub delta_ps: i64,
    /// By being executed more often.
    pub count_ps: i64,
    /// By having more to do; 0 where nobody knows how much there is to do.
    pub work_ps: i64,
    /// By doing the same more slowly.
    pub efficiency_ps: i64,
    /// Whether the work of both is known.
    pub knows_work: bool,
}

/// A kind of reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Ops that only the experiment has.
    New,
    /// Ops that only the baseline has.
    Gone,
    /// Executions.
    Count,
    /// Work of one execution.
    Work,
    /// Time for the same work.
    Efficiency,
    /// Time in which no op runs.
    Idle,
    /// How far the slowest device is from the mean.
    Devices,
    /// Clocks, what the scope leaves out, and rounding.
    Rest,
}

/// What one kind of reason adds to the step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bar {
    /// Picoseconds.
    pub delta_ps: i64,
    /// Groups of ops that take part.
    pub groups: usize,
}

impl Part {
    /// All, in the order in which they are read.
    pub const ALL: [Self; 8] = [
        Self::New,
        Self::Gone,
        Self::Count,
        Self::Work,
        Self::Efficiency,
        Self::Idle,
        Self::Devices,
        Self::Rest,
    ];

    /// The word used in tables.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Gone => "gone",
            Self::Count => "count",
            Self::Work => "work",
            Self::Efficiency => "efficiency",
            Self::Idle => "idle",
            Self::Devices => "devices",
            Self::Rest => "rest",
        }
    }

    /// What time that is no op's counts as.
    #[must_use]
    pub fn of_rest(rest: Rest) -> Self {
        match rest {
            Rest::Class(_) => Self::Idle,
            Rest::Devices => Self::Devices,
            Rest::Modules | Rest::Unrecorded | Rest::Clocks => Self::Rest,
        }
    }
}

impl Group {
    /// Whether both runs have it.
    #[must_use]
    pub fn is_in_both(&self) -> bool {
        !self.a.is_empty() && !self.b.is_empty()
    }
}

impl Effects {
    /// What a group adds by one kind of reason.
    #[must_use]
    pub fn of(&self, group: &Group, part: Part) -> i64 {
        match part {
            Part::New if group.a.is_empty() => self.delta_ps,
            Part::Gone if group.b.is_empty() => self.delta_ps,
            Part::Count => self.count_ps,
            Part::Work => self.work_ps,
            Part::Efficiency => self.efficiency_ps,
            _ => 0,
        }
    }
}

impl Waterfall {
    /// Splits the difference of the mean step times. Every op of a run is to be in one group; the time of one in none is rest.
    #[must_use]
    pub fn of_groups(a: &RunSamples<'_>, b: &RunSamples<'_>, groups: &[Group]) -> Self {
        let step_delta_ps = whole(b.mean_ps() - a.mean_ps());
        let effects: Vec<Effects> = groups.iter().map(|group| effects(a, b, group)).collect();
        let mut rests: Vec<(Rest, i64)> = Vec::new();
        for rest in a.remainders.iter().chain(&b.remainders).map(|rest| rest.what) {
            if rests.iter().all(|(known, _)| *known != rest) {
                rests.push((rest, whole(b.rest_ps(rest) - a.rest_ps(rest))));
            }
        }
        // The sort is stable and both lists are in a fixed order: so is this one.
        rests.sort_by_key(|(_, ps)| std::cmp::Reverse(ps.unsigned_abs()));
        let mut bars = [Bar::default(); Part::ALL.len()];
        for (group, effects) in groups.iter().zip(&effects) {
            for part in Part::ALL {
                let ps = effects.of(group, part);
                let bar = &mut bars[part as usize];
                bar.delta_ps = bar.delta_ps.saturating_add(ps);
                bar.groups += usize::from(ps != 0);
            }
        }
        for (rest, ps) in &rests {
            let bar = &mut bars[Part::of_rest(*rest) as usize];
            bar.delta_ps = bar.delta_ps.saturating_add(*ps);
        }
        // Each part was rounded by itself; what that lost is here too, so that the bars add up.
        let others = Part::ALL.iter().filter(|part| **part != Part::Rest);
        let others = others.fold(0_i64, |sum, part| sum.saturating_add(bars[*part as usize].delta_ps));
        bars[Part::Rest as usize].delta_ps = step_delta_ps.saturating_sub(others);
        Self { step_delta_ps, effects, rests, bars }
    }

    /// The bar of a kind of reason.
    #[must_use]
    pub fn bar(&self, part: Part) -> Bar {
        self.bars[part as usize]
    }

    /// What time in one class without ops adds, picoseconds.
    #[must_use]
    pub fn idle_ps(&self, class: Class) -> i64 {
        self.rests.iter().find(|(rest, _)| *rest == Rest::Class(class)).map_or(0, |(_, ps)| *ps)
    }
}

/// The nearest whole picosecond.
fn whole(ps: f64) -> i64 {
    ps.round() as i64
}

fn effects(a: &RunSamples<'_>, b: &RunSamples<'_>, group: &Group) -> Effects {
    let ops = |run: &RunSamples<'_>, at: &[usize]| -> Vec<SideOp> {
        at.iter().filter_map(|at| run.ops.get(*at)).map(|op| SideOp::of(op, &a.peaks)).collect()
    };
    split(&ops(a, &group.a), &ops(b, &group.b))
}

/// One op of a side, as far as the split looks at it.
#[derive(Debug, Clone, Copy)]
struct SideOp {
    time_ps: f64,
    executions: f64,
    work: Work,
}

impl SideOp {
    fn of(op: &SampledOp<'_>, peaks: &Peaks) -> Self {
        Self { time_ps: op.mean_ps(), executions: op.executions, work: Work::of(&op.meta, peaks) }
    }
}

/// What one execution has to do, in several measures.
#[derive(Debug, Clone, Copy, Default)]
struct Work {
    least_ps: Option<f64>,
    flops: Option<f64>,
    bytes: Option<f64>,
}

impl Work {
    /// None of a loop, whose work is that of the ops inside, nor of a start or done, whose time is not the transfer's.
    fn of(meta: &OpMeta<'_>, peaks: &Peaks) -> Self {
        if is_container(&meta.category) || is_asynchronous(&meta.category) || is_async_collective(&meta.name)
        {
            return Self::default();
        }
        let known = |amount: Option<f64>| amount.filter(|v| *v > 0.0 && v.is_finite());
        Self {
            least_ps: known(least_ps(meta, peaks)),
            flops: known(meta.flops),
            bytes: known(meta.hbm_bytes).or(known(meta.bytes)),
        }
    }
}

/// Work explains time only where the least time that it takes is this share of the time that was taken, on one side at least.
const EXPLAINS: f64 = 0.02;

/// The work of a side's ops in a step, in the first measure that all ops of both sides have.
fn works(a: &[SideOp], b: &[SideOp]) -> Option<(f64, f64)> {
    let measures: [fn(&Work) -> Option<f64>; 3] = [|w| w.least_ps, |w| w.flops, |w| w.bytes];
    let sum = |ops: &[SideOp], of: fn(&Work) -> Option<f64>| {
        ops.iter().try_fold(0.0, |sum, op| Some(sum + op.executions * of(&op.work)?))
    };
    let both = measures.iter().find_map(|of| sum(a, *of).zip(sum(b, *of)));
    let time = |ops: &[SideOp]| ops.iter().map(|op| op.time_ps).sum::<f64>();
    let matters = |ops: &[SideOp]| sum(ops, measures[0]).is_none_or(|least| least >= EXPLAINS * time(ops));
    both.filter(|(w, v)| *w > 0.0 && *v > 0.0 && (matters(a) || matters(b)))
}

fn split(a: &[SideOp], b: &[SideOp]) -> Effects {
    let time = |ops: &[SideOp]| ops.iter().map(|op| op.time_ps).sum::<f64>();
    let (time_a, time_b) = (time(a), time(b));
    let delta_ps = whole(time_b - time_a);
    if a.is_empty() || b.is_empty() {
        return Effects { delta_ps, ..Effects::default() };
    }
    let (n_a, n_b) = match (executions(a), executions(b)) {
        (Some(n_a), Some(n_b)) if n_a > 0.0 && n_b > 0.0 => (n_a, n_b),
        // Ops that run unlike often have no count in common: all that they do in a step is one execution.
        _ => (1.0, 1.0),
    };
    let one_a = time_a / n_a;
    let works = works(a, b);
    let more = works.map_or(0.0, |(work_a, work_b)| (work_b / n_b) / (work_a / n_a) - 1.0);
    // Sums in floating point: a ratio that is 1 but for rounding is 1.
    let more = if more.abs() < 1e-12 { 0.0 } else { more };
    // More can take no longer than the op takes now, and less save no more than it took.
    let bounded = |part: f64, taken: f64| part.clamp(-taken.max(0.0), time_b.max(0.0));
    let count = bounded((n_b - n_a) * one_a, time_a);
    let work = bounded((time_a + count) * more, time_a + count);
    let (count_ps, work_ps) = (whole(count), whole(work));
    let efficiency_ps = delta_ps.saturating_sub(count_ps).saturating_sub(work_ps);
    Effects { delta_ps, count_ps, work_ps, efficiency_ps, knows_work: works.is_some() }
}

/// How often ops run in a step, where all of them run equally often.
fn executions(ops: &[SideOp]) -> Option<f64> {
    let first = ops.first()?.executions;
    ops.iter().all(|op| (op.executions - first).abs() <= 1e-6 * first).then_some(first)
}

#[cfg(test)]
mod tests;
