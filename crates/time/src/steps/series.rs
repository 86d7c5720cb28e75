//! A run's steps as a series: from which step on they are slower, whether they grow, which stall every so often, which once.

use std::collections::BTreeMap;

use super::{Step, StepClass, Steps};
use crate::account::{Account, Class, Times};
use crate::series::{Change, Period, Sample, Series, Spike};
use haloscope_profile::DeviceId;
use haloscope_report::units;

/// The steps that count, by start, and what was found among their times: the mean over devices, each step held against those
/// that run the same program.
#[derive(Debug, Clone)]
pub struct StepSeries {
    /// The steps; the positions in `series` are of these.
    pub steps: Vec<Step>,
    /// What was found. Times are picoseconds.
    pub series: Series,
    /// Which program each runs most of its time, as a number.
    kinds: Vec<u32>,
    /// How many programs are told apart by their names.
    pub programs: usize,
}

/// What some steps have more of than others, picoseconds a step.
#[derive(Debug, Clone, Default)]
pub struct Growth {
    /// By class, mean over devices, in the order of [`Class::ALL`]; below zero where it is less.
    pub classes: [f64; Class::COUNT],
    /// By device.
    pub devices: Vec<OnDevice>,
}

/// The growth of a step on one device.
#[derive(Debug, Clone, Copy)]
pub struct OnDevice {
    /// The device.
    pub device: DeviceId,
    /// The whole of it, picoseconds a step.
    pub time_ps: f64,
    /// Compute, copies and programs' own overhead, over what is usual.
    pub work: Option<f64>,
    /// Compute, copies and overhead beyond what is usual, picoseconds a step.
    pub work_ps: f64,
}

/// Stalls are of one kind where one is at most so many times as long as another.
const ALIKE: f64 = 1.5;
/// Steps listed by number before the rest is summed up.
const LISTED: usize = 8;

impl StepSeries {
    /// The series of steps; `None` where there are too few that are neither cut nor warm-up. Slow steps at the start are no warm-up
    /// where they are the first of stalls that come back.
    #[must_use]
    pub fn of(steps: &Steps, accounts: &[Option<Account>]) -> Option<Self> {
        let all = || steps.rows.iter().filter(|step| step.class != StepClass::Edge);
        let warm = all().filter(|step| step.class == StepClass::WarmUp).count();
        if warm > 0
            && let Some(whole) = Self::over(all().cloned().collect(), accounts)
            && whole.stalls_from_start(warm)
        {
            return Some(whole);
        }
        Self::over(all().filter(|step| step.class != StepClass::WarmUp).cloned().collect(), accounts)
    }

    fn over(steps: Vec<Step>, accounts: &[Option<Account>]) -> Option<Self> {
        let mut names: BTreeMap<&str, u32> = BTreeMap::new();
        let mut kinds = Vec::with_capacity(steps.len());
        for step in &steps {
            let name = main_program(step, accounts).unwrap_or("");
            let next = names.len() as u32;
            kinds.push(*names.entry(name).or_insert(next));
        }
        let programs = names.len();
        let sample = |(step, kind): (&Step, &u32)| Sample { value: mean_ps(step), kind: *kind };
        let samples: Vec<Sample> = steps.iter().zip(&kinds).map(sample).collect();
        let series = Series::of(&samples)?;
        Some(Self { steps, series, kinds, programs })
    }

    /// Whether so many steps at the start belong to stalls that come back behind them, and are about as large: warming up is
    /// done once, and takes as long as it takes.
    fn stalls_from_start(&self, warm: usize) -> bool {
        let Some(period) = self.stalls() else { return false };
        let extra =
            |at: usize| self.series.spikes.iter().find(|spike| spike.at == at).map(|spike| spike.extra);
        let later: Vec<f64> =
            period.starts.iter().filter(|at| **at >= warm).filter_map(|at| extra(*at)).collect();
        let usual = later.iter().sum::<f64>() / later.len().max(1) as f64;
        let is_alike = |own: f64| own <= ALIKE * usual && usual <= ALIKE * own;
        !later.is_empty()
            && (0..warm).all(|at| period.members.contains(&at))
            && period.starts.iter().filter(|at| **at < warm).all(|at| extra(*at).is_some_and(is_alike))
    }

    /// The mean of the steps' times, picoseconds.
    #[must_use]
    pub fn mean_ps(&self) -> f64 {
        self.steps.iter().map(mean_ps).sum::<f64>() / self.steps.len().max(1) as f64
    }

    /// The number of a step.
    #[must_use]
    pub fn number(&self, at: usize) -> i64 {
        self.steps.get(at).map_or(0, |step| step.number)
    }

    /// Spikes that are worth a word for themselves: those of no period, at least so much of a step, and by `deviations`.
    pub fn outliers(&self, share: f64, deviations: f64) -> impl Iterator<Item = &Spike> {
        let of_period = |at: usize| self.stalls().is_some_and(|period| period.members.contains(&at));
        let limit = share.max(deviations * self.series.deviation);
        self.series.spikes.iter().filter(move |spike| spike.share > limit && !of_period(spike.at))
    }

    /// The period of stalls.
    #[must_use]
    pub fn stalls(&self) -> Option<&Period> {
        self.series.period.as_ref()
    }

    /// The word for what a step is: `slower` for one that lies on a worse level than the best that lasts.
    #[must_use]
    pub fn is_slower(&self, number: i64) -> bool {
        self.series.slow().any(|at| self.number(at) == number)
    }

    /// The largest change for the worse, or the largest for the better where there is none.
    #[must_use]
    pub fn change(&self) -> Option<&Change> {
        let all = || self.series.changes.iter();
        let worse = all().filter(|change| change.size > 0.0);
        let largest = |a: &&Change, b: &&Change| a.size.abs().total_cmp(&b.size.abs());
        worse.max_by(largest).or_else(|| all().max_by(largest))
    }

    /// Mean time of some steps, picoseconds; 0 of none.
    #[must_use]
    pub fn mean_of(&self, of: &[usize]) -> f64 {
        of.iter().filter_map(|at| self.steps.get(*at)).map(mean_ps).sum::<f64>() / of.len().max(1) as f64
    }

    /// What some steps have more of than others that run the same program.
    #[must_use]
    pub fn growth(&self, members: &[usize], others: &[usize], accounts: &[Option<Account>]) -> Growth {
        let mut growth = Growth::default();
        let mut devices = 0.0;
        for account in accounts.iter().flatten() {
            let times = |at: usize| {
                let on = self.steps.get(at)?.on(account.device)?;
                Some((account.between(on.start_ps, on.end_ps), on.duration_ps as f64))
            };
            // Each step of the members against the mean of the others of its kind.
            let mut sum = ([0.0; Class::COUNT], 0.0);
            let (mut work, mut usual_work, mut taken) = (0.0, 0.0, 0.0);
            for kind in 0..self.programs as u32 {
                let of_kind = |all: &[usize]| -> Vec<(Times, f64)> {
                    let own = all.iter().filter(|at| self.kinds.get(**at) == Some(&kind));
                    own.filter_map(|at| times(*at)).collect()
                };
                let (own, usual) = (of_kind(members), of_kind(others));
                if own.is_empty() || usual.is_empty() {
                    continue;
                }
                let (n, m) = (own.len() as f64, usual.len() as f64);
                let total = |all: &[(Times, f64)], class: Class| -> f64 {
                    all.iter().map(|one| one.0.of(class) as f64).sum()
                };
                for class in Class::ALL {
                    let (mine, theirs) = (total(&own, class), total(&usual, class) * n / m);
                    sum.0[class as usize] += mine - theirs;
                    if class.group() == crate::account::Group::Working {
                        work += mine;
                        usual_work += theirs;
                    }
                }
                let time = |all: &[(Times, f64)]| all.iter().map(|one| one.1).sum::<f64>();
                sum.1 += time(&own) - time(&usual) * n / m;
                taken += n;
            }
            if taken == 0.0 {
                continue;
            }
            devices += 1.0;
            for (all, own) in growth.classes.iter_mut().zip(sum.0) {
                *all += own / taken;
            }
            growth.devices.push(OnDevice {
                device: account.device,
                time_ps: sum.1 / taken,
                work: (usual_work > 0.0).then(|| work / usual_work),
                work_ps: (work - usual_work) / taken,
            });
        }
        growth.classes.iter_mut().for_each(|class| *class /= f64::max(devices, 1.0));
        growth
    }

    /// The steps at the level of some, which are none of them: what they are held against.
    #[must_use]
    pub fn beside(&self, members: &[usize]) -> Vec<usize> {
        let spike = |at: usize| self.series.spikes.iter().any(|spike| spike.at == at);
        let calm = |at: &usize| !members.contains(at) && !spike(*at);
        let level = |at: usize| self.series.expected[at] / self.series.best[at].max(1.0);
        let levels: Vec<f64> = members.iter().map(|at| level(*at)).collect();
        let same = |at: &usize| levels.iter().any(|own| (own / level(*at) - 1.0).abs() < 0.005);
        let all: Vec<usize> = (0..self.steps.len()).filter(calm).collect();
        let own: Vec<usize> = all.iter().copied().filter(same).collect();
        if own.len() < 3 { all } else { own }
    }

    /// From where on steps are slower, in a clause: `from step 5 on steps take 28.7% longer than those before (8.257 ms, then
    /// 10.62 ms)`.
    #[must_use]
    pub fn change_words(&self) -> Option<String> {
        let change = self.change()?;
        let slow: Vec<usize> = self.series.slow().collect();
        let good: Vec<usize> = self.series.good().collect();
        let step = self.number(change.at);
        let size = units::share(change.size.abs());
        let times = (self.best_ps(&good), self.best_ps(&slow));
        let level = |ps: f64| units::duration_ps(ps);
        Some(if change.over > 1 {
            let last = self.number((change.at + change.over - 1).min(self.steps.len() - 1));
            let way = if change.size > 0.0 { "longer" } else { "shorter" };
            format!("from step {step} to step {last} steps grow {size} {way}")
        } else if change.size > 0.0 {
            let back = self.series.changes.iter().find(|other| other.at > change.at && other.size < 0.0);
            let until = back.map_or_else(
                || "from step {} on".replace("{}", &step.to_string()),
                |back| format!("from step {step} to step {}", self.number(back.at - 1)),
            );
            format!(
                "{until} steps take {size} longer than those before ({} against {})",
                level(times.1),
                level(times.0)
            )
        } else {
            let slower = 1.0 / (1.0 + change.size) - 1.0;
            format!(
                "until step {} steps take {} longer than those after it ({} against {})",
                self.number(change.at - 1),
                units::share(slower),
                level(times.1),
                level(times.0)
            )
        })
    }

    fn best_ps(&self, of: &[usize]) -> f64 {
        let level = of.iter().filter_map(|at| self.series.expected.get(*at));
        level.sum::<f64>() / of.len().max(1) as f64
    }

    /// Which steps stall, in a clause: `every 5th step, from step 2, takes 60.0 ms longer`.
    #[must_use]
    pub fn period_words(&self) -> Option<String> {
        let period = self.stalls()?;
        let extra = units::duration_ps(period.extra);
        Some(format!(
            "every {} step, from step {}, takes {extra} longer",
            ordinal(period.every),
            self.number(period.first)
        ))
    }

    /// The numbers of some steps: `3, 8, 13`, with `and more` behind the first eight.
    #[must_use]
    pub fn listed(&self, of: &[usize]) -> String {
        let numbers: Vec<String> = of.iter().take(LISTED).map(|at| self.number(*at).to_string()).collect();
        let more = if of.len() > LISTED { " and more" } else { "" };
        format!("{}{more}", numbers.join(", "))
    }
}

/// `2nd`, `3rd`, `11th`.
#[must_use]
pub fn ordinal(number: usize) -> String {
    let end = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{end}")
}

/// The mean over devices, picoseconds.
fn mean_ps(step: &Step) -> f64 {
    let all: f64 = step.instances.iter().map(|on| on.duration_ps as f64).sum();
    all / step.instances.len().max(1) as f64
}

/// The program that a step spends most time in, on the first device that ran it.
fn main_program<'a>(step: &Step, accounts: &'a [Option<Account>]) -> Option<&'a str> {
    let found = accounts.iter().flatten().find_map(|account| Some((account, step.on(account.device)?)));
    let (account, on) = found?;
    let begun = account.launches.partition_point(|launch| launch.start_ps < on.start_ps);
    let mut times: BTreeMap<&str, i64> = BTreeMap::new();
    for launch in account.launches[begun..].iter().take_while(|launch| launch.start_ps < on.end_ps) {
        let time = times.entry(launch.module.as_str()).or_default();
        *time = time.saturating_add(launch.end_ps - launch.start_ps);
    }
    times.into_iter().max_by_key(|(name, ps)| (*ps, std::cmp::Reverse(*name))).map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::{StepInstance, StepSource};

    fn steps(lengths: &[i64]) -> Steps {
        let mut at = 0;
        let mut rows = Vec::new();
        for (number, length) in (0..).zip(lengths) {
            let instance = StepInstance {
                device: DeviceId(0),
                start_ps: at,
                end_ps: at + length * 1_000_000,
                duration_ps: length * 1_000_000,
            };
            at += length * 1_000_000;
            let class = StepClass::Steady;
            rows.push(Step { number, name: String::new(), class, instances: vec![instance] });
        }
        Steps { source: StepSource::DeviceLine, rows }
    }

    #[test]
    fn a_change_is_said_with_its_step() {
        let series =
            StepSeries::of(&steps(&[1000, 1001, 999, 1000, 1002, 1150, 1151, 1149, 1150]), &[]).unwrap();
        let words = series.change_words().unwrap();
        assert!(words.starts_with("from step 5 on steps take 15.0% longer"), "{words}");
        assert!(series.is_slower(5) && !series.is_slower(4));
        let series =
            StepSeries::of(&steps(&[1150, 1151, 1149, 1150, 1000, 1001, 999, 1000, 1002]), &[]).unwrap();
        let words = series.change_words().unwrap();
        assert!(words.starts_with("until step 3 steps take 15.0% longer"), "{words}");
        assert!(series.is_slower(0) && !series.is_slower(4));
    }

    #[test]
    fn a_period_is_said_with_its_first_step() {
        let lengths: Vec<i64> = (0..14).map(|i| if i % 4 == 3 { 1500 } else { 1000 + i % 3 }).collect();
        let series = StepSeries::of(&steps(&lengths), &[]).unwrap();
        let words = series.period_words().unwrap();
        assert!(words.starts_with("every 4th step, from step 3, takes 499."), "{words}");
        assert_eq!(series.outliers(0.05, 4.0).count(), 0);
        assert_eq!(series.beside(&[3, 7, 11]).len(), 11);
    }

    /// Steps of which the first is slow: `warm_up` of them at the start are classed so.
    fn warming(lengths: &[i64], warm_up: usize) -> StepSeries {
        let mut steps = steps(lengths);
        steps.rows.iter_mut().take(warm_up).for_each(|step| step.class = StepClass::WarmUp);
        StepSeries::of(&steps, &[]).unwrap()
    }

    #[test]
    fn a_stall_that_the_capture_begins_with_is_no_warm_up() {
        let lengths: Vec<i64> = (0..16).map(|i| if i % 5 == 0 { 1500 } else { 1000 + i % 3 }).collect();
        let series = warming(&lengths, 1);
        assert_eq!(series.steps.len(), 16);
        assert_eq!(series.stalls().unwrap().starts, [0, 5, 10, 15]);
    }

    #[test]
    fn a_compilation_at_the_start_is_warm_up_and_so_is_a_first_step_beside_the_period() {
        // Near misses: on the period's grid and four times as long; as long and beside it; and no period at all.
        let on_grid = |first: i64| -> Vec<i64> {
            (0..16)
                .map(|i| if i == 0 { first } else { 1000 + i % 3 + if i % 5 == 0 { 500 } else { 0 } })
                .collect()
        };
        assert_eq!(warming(&on_grid(3000), 1).steps.len(), 15);
        let beside: Vec<i64> =
            (0..16).map(|i| 1000 + i % 3 + if i == 0 || i % 5 == 3 { 500 } else { 0 }).collect();
        assert_eq!(warming(&beside, 1).steps.len(), 15);
        assert_eq!(warming(&[1500, 1000, 1001, 999, 1000, 1002, 1001, 1000], 1).steps.len(), 7);
    }

    #[test]
    fn few_steps_are_no_series() {
        assert!(StepSeries::of(&steps(&[1000, 1000, 1500]), &[]).is_none());
        assert_eq!(
            ["1st", "2nd", "3rd", "4th", "11th", "22nd"],
            [1, 2, 3, 4, 11, 22].map(ordinal).each_ref().map(String::as_str)
        );
    }
}
