//! The run's steps as a series, and what hosts did in some of them and not in the others.

use std::collections::{BTreeMap, BTreeSet};

use super::Evidence;
use super::host_events::Doing;
use haloscope_profile::{HostId, LineKind, Mark, Plane};
use haloscope_report::units;
use haloscope_report::{Finding, Link};
use haloscope_time::account::{Account, Class};
use haloscope_time::intervals::Intervals;
use haloscope_time::steps::op_factors::OpFactors;
use haloscope_time::steps::series::{Growth, StepSeries};
use haloscope_time::steps::{Step, Steps};

/// What a host did in some steps and not in the others.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Meanwhile {
    pub name: String,
    /// In how many of the steps, over hosts the most.
    pub steps: usize,
    /// Mean time in a step, of the host with most, picoseconds.
    pub each_ps: f64,
    /// Whether it runs in no other step.
    pub only: bool,
}

/// What compilations beside the devices' work cost.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct CompileCost {
    /// The share of the active window.
    pub share: f64,
    /// The part of it that is in steps which are longer for it, picoseconds summed over them, mean over devices.
    pub extra: f64,
    /// These steps, as positions in the series.
    pub steps: Vec<usize>,
    /// The part of the time without a program for it that is in other steps, 0 to 1.
    pub elsewhere: f64,
}

/// An event that explains less than this share of a step's excess does not name it.
const NAMES: f64 = 0.5;
/// An event in the other steps of less than this share of what it has in these is in these only.
const ONLY: f64 = 0.1;
/// It must be in so many of the steps.
const IN_STEPS: f64 = 0.75;
/// What takes this share of the usual steps is a finding of its own, and so it is in steps that have up to so many times as much
/// of it.
const USUAL: f64 = 0.05;
const ALIKE: f64 = 4.0;
/// What hosts do while devices have no program, by the rule that claims it; `None` stands for waits for input.
const DOINGS: [(Option<Doing>, &str); 8] = [
    (Some(Doing::Compile), "compilation_in_window"),
    (Some(Doing::Callback), "debug_callbacks"),
    (Some(Doing::Check), "debug_checks"),
    (Some(Doing::Read), "blocking_reads"),
    (Some(Doing::Transfer), "large_transfers"),
    (Some(Doing::Launch), "launch_bound"),
    (Some(Doing::Other), "host_bound"),
    (None, "input_bound"),
];

impl Evidence<'_> {
    /// The steps of the scope as a series; `None` where too few count.
    pub(crate) fn series(&self) -> Option<&StepSeries> {
        let find = || {
            let mut steps: Steps = self.steps().clone();
            // Of a step that a window cuts nobody knows how much of what it has more lies in it.
            let is_whole = |step: &Step| {
                let within = |(from, to): (i64, i64)| {
                    step.instances.iter().all(|on| from <= on.start_ps && on.end_ps <= to)
                };
                self.scope.window_ps.is_none_or(within)
            };
            steps.rows.retain(|step| step.is_in(self.scope) && is_whole(step));
            StepSeries::of(&steps, self.accounts())
        };
        self.series.get_or_init(find).as_ref()
    }

    /// A time summed over steps, mean over devices, as a share of the active windows.
    pub(crate) fn share_of_steps_ps(&self, sum_ps: f64) -> f64 {
        let devices = self.accounts().iter().flatten().count() as f64;
        self.of_active(sum_ps * devices).clamp(0.0, 1.0)
    }

    /// The share of the active window that the findings of other rules claim of what these steps have more of than the others:
    /// by the class of the time, and between programs by what the host did.
    pub(crate) fn explained_by(&self, members: &[usize], others: &[usize]) -> Vec<(&'static str, f64)> {
        let Some(series) = self.series() else { return Vec::new() };
        let growth = series.growth(members, others, self.accounts());
        let count = members.len() as f64;
        let share = |class: Class| self.share_of_steps_ps(growth.classes[class as usize].max(0.0) * count);
        let mut all: Vec<(&'static str, f64)> = vec![
            ("exposed_communication", share(Class::Communication)),
            ("idle_inside", share(Class::Inside)),
            ("input_bound", share(Class::Infeed)),
            ("host_offload", share(Class::HostTransfer)),
            ("exposed_copies", share(Class::AsyncWait)),
        ];
        for (doing, id) in DOINGS {
            let more = self.in_step_ps(series, members, doing) - self.in_step_ps(series, others, doing);
            let share = self.of_active(more.max(0.0) * count);
            all.push((id, if doing == Some(Doing::Other) { self.with_cold(share) } else { share }));
        }
        let mut sums: BTreeMap<&'static str, f64> = BTreeMap::new();
        for (rule, share) in all {
            *sums.entry(rule).or_default() += share;
        }
        let worth = sums.into_iter().filter(|(_, share)| *share > 1e-4);
        worth.collect()
    }

    /// The time without a program in which hosts did one thing, summed over devices: mean over these steps, picoseconds. `None`
    /// stands for waits for input.
    fn in_step_ps(&self, series: &StepSeries, of: &[usize], doing: Option<Doing>) -> f64 {
        let mut sum = 0.0;
        for one in &self.host().devices {
            let set = match doing {
                Some(doing) => one.by_doing.iter().find(|(own, _)| *own == doing).map(|(_, set)| set),
                None => Some(&one.input),
            };
            let Some(set) = set else { continue };
            let on = of.iter().filter_map(|at| series.steps.get(*at)?.on(one.device));
            sum += on.map(|on| set.overlap(on.start_ps, on.end_ps) as f64).sum::<f64>();
        }
        sum / of.len().max(1) as f64
    }

    /// What these steps have more than the others of what hosts do in all steps, and which a rule of its own finds there: mean
    /// over devices and these steps, picoseconds. A compilation is none: it is in no usual step.
    pub(crate) fn usual_doings_ps(&self, members: &[usize], others: &[usize]) -> f64 {
        let Some(series) = self.series() else { return 0.0 };
        let devices = self.host().devices.len().max(1) as f64;
        let usual_ps = series.mean_of(others) * devices;
        let more = |doing: Option<Doing>| {
            let (own, usual) =
                (self.in_step_ps(series, members, doing), self.in_step_ps(series, others, doing));
            let is_usual = usual >= USUAL * usual_ps && own <= ALIKE * usual;
            if is_usual { (own - usual).max(0.0) } else { 0.0 }
        };
        let doings = DOINGS.into_iter().filter(|(doing, _)| *doing != Some(Doing::Compile));
        doings.map(|(doing, _)| more(doing)).sum::<f64>() / devices
    }

    /// What the hosts did in these steps and not in the others, where one event of the thread that launches, else of any,
    /// covers most of what they have more of.
    pub(crate) fn meanwhile(&self, members: &[usize], others: &[usize]) -> Option<Meanwhile> {
        let series = self.series()?;
        let extra = (series.mean_of(members) - series.mean_of(others)).max(0.0);
        let growth = series.growth(members, others, self.accounts());
        let idle: f64 =
            [Class::Between, Class::Input, Class::Inside].iter().map(|c| growth.classes[*c as usize]).sum();
        let only_idle = idle > 0.5 * extra;
        let mut best: Option<Meanwhile> = None;
        let mut seen: BTreeSet<HostId> = BTreeSet::new();
        for account in self.accounts().iter().flatten() {
            let device = self.profile.device(account.device);
            if !seen.insert(device.host) {
                continue;
            }
            let windows = |of: &[usize]| -> Vec<Window> {
                let one = |step: &Step| {
                    let on = step.on(account.device)?;
                    let counted = if only_idle {
                        idle_in(account, on.start_ps, on.end_ps)
                    } else {
                        Intervals::one(on.start_ps, on.end_ps)
                    };
                    Some(Window { start_ps: on.start_ps, end_ps: on.end_ps, counted })
                };
                of.iter().filter_map(|at| one(series.steps.get(*at)?)).collect()
            };
            let (own, rest) = (windows(members), windows(others));
            let named = self.named_in(device.host, &own, &rest, extra, true);
            let named = named.or_else(|| self.named_in(device.host, &own, &rest, extra, false));
            if let Some(named) = named
                && best.as_ref().is_none_or(|best| named.each_ps > best.each_ps)
            {
                best = Some(named);
            }
        }
        best
    }

    /// The event of a host that best tells these windows from the others.
    fn named_in(
        &self,
        host: HostId,
        own: &[Window],
        rest: &[Window],
        extra: f64,
        launcher: bool,
    ) -> Option<Meanwhile> {
        let main = self.host().launchers.get(&host).copied();
        let mut found: Vec<(Meanwhile, f64)> = Vec::new();
        for plane in self.profile.planes_of(host).filter(|p| !p.kind.is_device()) {
            for line in self.profile.lines_of(plane.id).filter(|l| l.kind == LineKind::Thread) {
                if launcher != (Some(line.id) == main) {
                    continue;
                }
                let events = self.profile.events(line);
                let mut sums: BTreeMap<u32, Sum> = BTreeMap::new();
                for event in events.iter().filter(|e| !events.has(e.index, Mark::Step)) {
                    let span = (event.start_ps, event.end_ps);
                    add(own, span, |at, ps| {
                        let sum = sums.entry(event.meta).or_default();
                        sum.own += ps;
                        sum.steps.insert(at);
                    });
                    add(rest, span, |_, ps| sums.entry(event.meta).or_default().rest += ps);
                }
                found.extend(
                    sums.into_iter()
                        .filter_map(|(meta, sum)| self.judged(plane, meta, &sum, own, rest, extra)),
                );
            }
        }
        // Of what runs in these steps only the outermost event says most; else the one that is least in the others.
        let only = found.iter().filter(|one| one.0.only).max_by(|a, b| a.0.each_ps.total_cmp(&b.0.each_ps));
        only.or_else(|| found.iter().min_by(|a, b| a.1.total_cmp(&b.1))).map(|one| one.0.clone())
    }

    /// An event as what a host did meanwhile, with its time in the other steps; `None` where it explains too little.
    fn judged(
        &self,
        plane: &Plane,
        meta: u32,
        sum: &Sum,
        own: &[Window],
        rest: &[Window],
        extra: f64,
    ) -> Option<(Meanwhile, f64)> {
        let mean = |ps: i64, of: usize| ps as f64 / of.max(1) as f64;
        let (each_ps, usual) = (mean(sum.own, own.len()), mean(sum.rest, rest.len()));
        let explains = each_ps - usual >= NAMES * extra && extra > 0.0;
        let in_steps = sum.steps.len() as f64 >= IN_STEPS * own.len() as f64;
        let name = plane.meta_label(self.profile.source_of(plane), meta).into_owned();
        // What is around all steps covers as much of the others as of these, however long each is.
        let part = |ps: i64, of: &[Window]| {
            ps as f64 / (units::sum(of.iter().map(|window| window.counted.length())) as f64).max(1.0)
        };
        let only = usual < ONLY * each_ps && part(sum.rest, rest) < ONLY * part(sum.own, own);
        let found = Meanwhile { name, steps: sum.steps.len(), each_ps, only };
        (explains && in_steps).then_some((found, usual))
    }

    /// By how much the ops are slower in some steps than in others.
    pub(crate) fn op_factors(&self, slow: &[usize], good: &[usize]) -> OpFactors {
        let Some(series) = self.series() else { return OpFactors::default() };
        let set = |of: &[usize], account: &Account| {
            let on = of.iter().filter_map(|at| series.steps.get(*at)?.on(account.device));
            Intervals::union_of(on.map(|on| (on.start_ps, on.end_ps)).collect())
        };
        let devices: Vec<_> = self
            .accounts()
            .iter()
            .flatten()
            .map(|account| (self.profile.device(account.device), set(slow, account), set(good, account)))
            .collect();
        OpFactors::of(self.profile, &devices)
    }

    /// What grew, in words: `between programs +60.0 ms, exposed communication +1.2 ms`.
    pub(crate) fn growth_words(&self, growth: &Growth) -> String {
        let mut all: Vec<(Class, f64)> =
            Class::ALL.into_iter().map(|class| (class, growth.classes[class as usize])).collect();
        let most = all.iter().map(|one| one.1).fold(0.0, f64::max);
        all.retain(|(_, ps)| *ps > 0.02 * most && *ps > 0.0);
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        let words: Vec<String> = all
            .iter()
            .take(3)
            .map(|(class, ps)| format!("{} +{}", class.phrase(), units::duration_ps(*ps)))
            .collect();
        words.join(", ")
    }

    /// What calls that compile cost: the time in which devices have no program for them, and where they take most of what some
    /// steps have more of than the others, all of that, for devices wait for each other too.
    pub(crate) fn compile_cost(&self) -> CompileCost {
        let gaps = self.share_of(&self.host().part(Doing::Compile));
        let alone = CompileCost { share: gaps, elsewhere: 1.0, ..CompileCost::default() };
        let Some(series) = self.series() else { return alone };
        let compiling = |step: &Step| {
            let sum: i64 = self
                .host()
                .devices
                .iter()
                .filter_map(|one| {
                    let on = step.on(one.device)?;
                    let (_, set) = one.by_doing.iter().find(|(doing, _)| *doing == Doing::Compile)?;
                    Some(set.overlap(on.start_ps, on.end_ps))
                })
                .sum();
            sum as f64 / self.host().devices.len().max(1) as f64
        };
        let (mut steps, mut extra, mut cost, mut in_steps) = (Vec::new(), 0.0, 0.0, 0.0);
        for spike in &series.series.spikes {
            let Some(step) = series.steps.get(spike.at) else { continue };
            let ps = compiling(step);
            if ps >= NAMES * spike.extra {
                steps.push(spike.at);
                extra += spike.extra;
                // Where the other steps compile too, a step is longer than these by a part only of what it compiles.
                cost += spike.extra.max(ps);
                in_steps += ps;
            }
        }
        if steps.is_empty() {
            return alone;
        }
        // What lies in other steps stays as it is.
        let rest = (gaps - self.share_of_steps_ps(in_steps)).max(0.0);
        let elsewhere = if gaps > 0.0 { rest / gaps } else { 1.0 };
        CompileCost { share: (self.share_of_steps_ps(cost) + rest).min(1.0), extra, steps, elsewhere }
    }

    /// Whether this moment lies in one of these steps, positions in the series.
    pub(crate) fn is_in_steps(&self, steps: &[usize], at_ps: i64) -> bool {
        let Some(series) = self.series() else { return false };
        let mut instances =
            steps.iter().filter_map(|at| series.steps.get(*at)).flat_map(|step| &step.instances);
        instances.any(|on| on.start_ps <= at_ps && at_ps < on.end_ps)
    }

    /// A finding of compilations with what it explains: the steps that are longer for it, and what others claim of these.
    pub(crate) fn explaining_steps(&self, finding: Finding, cost: &CompileCost) -> Finding {
        let Some(series) = self.series().filter(|_| !cost.steps.is_empty()) else { return finding };
        let share = self.share_of_steps_ps(cost.extra);
        let finding = self.explaining(finding, &cost.steps, &series.beside(&cost.steps));
        ["step_jitter", "periodic_stall"].into_iter().fold(finding, |finding, rule| {
            let claims = match (rule, series.stalls()) {
                ("periodic_stall", Some(period)) => cost.steps.iter().any(|at| period.members.contains(at)),
                (rule, _) => rule == "step_jitter",
            };
            if claims { finding.explaining(rule, share) } else { finding }
        })
    }

    /// A finding with what these steps have more of than the others, which findings of other rules would claim.
    pub(crate) fn explaining(&self, finding: Finding, members: &[usize], others: &[usize]) -> Finding {
        let all = self.explained_by(members, others);
        all.into_iter().fold(finding, |finding, (rule, share)| finding.explaining(rule, share))
    }

    /// A step on the timeline.
    pub(crate) fn timeline_of_step(&self, step: &Step) -> Link {
        let end = step.instances.iter().map(|on| on.end_ps).max().unwrap_or(0);
        Link::to("timeline").window(step.start_ps(), end)
    }
}

/// The time of an event in two sets of windows, picoseconds, and in which of the first it is.
#[derive(Debug, Default)]
struct Sum {
    own: i64,
    rest: i64,
    steps: BTreeSet<usize>,
}

/// A step on a device, and the part of it that counts.
#[derive(Debug)]
struct Window {
    start_ps: i64,
    end_ps: i64,
    counted: Intervals,
}

/// Hands out the windows, in the order of time, that an event reaches into.
fn add(windows: &[Window], (start, end): (i64, i64), mut each: impl FnMut(usize, i64)) {
    let first = windows.partition_point(|window| window.end_ps <= start);
    let reached = windows.iter().enumerate().skip(first).take_while(|(_, window)| window.start_ps < end);
    for (at, window) in reached {
        let inside = window.counted.overlap(start, end);
        if inside > 0 {
            each(at, inside);
        }
    }
}

/// The part of a step in which a device ran no op: it looks at that part of the account only, for runs may have thousands of steps.
fn idle_in(account: &Account, start_ps: i64, end_ps: i64) -> Intervals {
    let classes = [Class::Between, Class::Input, Class::Inside];
    let own = classes.iter().map(|class| account.part(*class).within(start_ps, end_ps));
    own.fold(Intervals::default(), |all, own| all.union(&own))
}
