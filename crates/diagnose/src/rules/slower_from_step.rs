//! Steps that are slower from one of them on, or until one, or that grow.

use std::collections::BTreeSet;

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::thresholds::{Grade, SLOWER_STEPS};
use haloscope_profile::DeviceId;
use haloscope_report::units;
use haloscope_report::{Finding, Link, Status, capitalized};
use haloscope_time::account::Class;
use haloscope_time::launches::Launch;
use haloscope_time::series::Change;
use haloscope_time::stats::quantile;
use haloscope_time::steps::series::{Growth, StepSeries};

pub(super) static RULE: Rule = Rule {
    id: "slower_from_step",
    standing: Standing::Cause,
    on: ANY,
    needs: "five steps or more that are neither warm-up nor at the edge of the capture, three on either side of a change",
    threshold: Some(&SLOWER_STEPS),
    check,
};

/// A device is slower if its work grew by this share of what that of all grew.
const PART: f64 = 0.4;
/// Most of what grew is of one kind from here on.
const MOST: f64 = 0.5;

fn check(evidence: &Evidence<'_>) -> Outcome {
    let Some(series) = evidence.series() else {
        return Outcome::unknown("too few whole steps after the warm-up to know whether they change");
    };
    let over = format!("{} steps", series.steps.len());
    let Some(change) = series.change() else {
        return Outcome::clear(format!("{over}, and their level does not change"));
    };
    let saved = evidence.share_of_steps_ps(series.series.excess());
    let words = series.change_words().unwrap_or_default();
    let said = format!("{over}; {words}: {} of the active window", units::share(saved));
    if SLOWER_STEPS.grade(saved) == Grade::Good {
        return Outcome::clear(said);
    }
    if evidence.is_cpu() && is_of_the_machine(evidence, series) {
        return Outcome::clear(format!(
            "{said}; nothing special runs there: on a CPU, other programs and the scheduler cause this"
        ));
    }
    Outcome::found(said, vec![finding(evidence, series, change, &words, saved)])
}

/// Whether slow steps run the same programs as often as good ones, and what they have more of is work of these, or gaps in which the
/// host, whose Python was traced, does nothing that it does not in good ones.
fn is_of_the_machine(evidence: &Evidence<'_>, series: &StepSeries) -> bool {
    let slow: Vec<usize> = series.series.slow().collect();
    let good: Vec<usize> = series.series.good().collect();
    // One step more or less at the edge of another says nothing: the median.
    let each = |of: &[usize]| {
        let count = |at: &usize| launched(evidence, series, &[*at], |_| true).len() as f64;
        let mut counts: Vec<f64> = of.iter().map(count).collect();
        counts.sort_by(f64::total_cmp);
        if counts.is_empty() { 0.0 } else { quantile(&counts, 0.5) }
    };
    if other_programs(evidence, series, &slow, &good).is_some() || each(&slow) > 1.01 * each(&good) {
        return false;
    }
    let growth = series.growth(&slow, &good, evidence.accounts());
    let of = |classes: &[Class]| classes.iter().map(|c| growth.classes[*c as usize].max(0.0)).sum::<f64>();
    let host = evidence.host();
    if of(&[Class::Between, Class::Input, Class::Infeed]) <= MOST * of(&Class::ALL) {
        return true;
    }
    // What it does in all steps, and for longer in a few that are over again: the rule for that work has it.
    let is_passing = series.series.changes.iter().any(|change| change.size > 0.0)
        && series.series.changes.last().is_some_and(|change| change.size < 0.0)
        && evidence.usual_doings_ps(&slow, &good) > MOST * of(&Class::ALL);
    host.is_traced
        && (is_passing || evidence.meanwhile(&slow, &good).is_none_or(|event| host.is_loop(&event.name)))
}

/// The programs that were launched in some steps: name and id, one for each launch that `takes`, which is told its share of the step.
fn launched(
    evidence: &Evidence<'_>,
    series: &StepSeries,
    of: &[usize],
    takes: impl Fn(f64) -> bool,
) -> Vec<(String, Option<u64>)> {
    let mut found = Vec::new();
    for account in evidence.accounts().iter().flatten() {
        for on in of.iter().filter_map(|at| series.steps.get(*at)?.on(account.device)) {
            let begun = account.launches.partition_point(|launch| launch.start_ps < on.start_ps);
            let own = account.launches[begun..].iter().take_while(|launch| launch.start_ps < on.end_ps);
            let share =
                |launch: &Launch| (launch.end_ps - launch.start_ps) as f64 / on.duration_ps.max(1) as f64;
            let own = own.filter(|launch| takes(share(launch)));
            found.extend(own.map(|launch| (launch.module.clone(), launch.program_id)));
        }
    }
    found
}

/// Where a change is, and what it is like.
struct Place {
    /// Ends the claim.
    words: String,
    recommendation: &'static str,
    is_estimated: bool,
}

fn finding(
    evidence: &Evidence<'_>,
    series: &StepSeries,
    change: &Change,
    words: &str,
    saved: f64,
) -> Finding {
    let slow: Vec<usize> = series.series.slow().collect();
    let good: Vec<usize> = series.series.good().collect();
    let growth = series.growth(&slow, &good, evidence.accounts());
    let place = place(evidence, series, &slow, &good, &growth);
    let (low, high) = change.interval;
    let mean = series.mean_ps();
    let cause = Cause {
        id: RULE.id,
        claim: format!("{}: {}", capitalized(words), place.words),
        evidence: format!(
            "the mean step takes {}, {} of it beyond the best level; the change is {} (95% interval {} to {}), p = {:.0e} over {} steps; what grew, mean over devices: {}",
            units::duration_ps(mean),
            units::duration_ps(series.series.excess() / series.steps.len().max(1) as f64),
            units::share(change.size),
            units::share(low),
            units::share(high),
            change.p.max(1e-99),
            series.steps.len(),
            evidence.growth_words(&growth),
        ),
        saved: Some(saved),
        assuming: "if all steps took as long as those at the best level".into(),
        recommendation: place.recommendation.into(),
        falsifier: "another capture changes at another step or not at all: then the cause is the machine, not these steps; or the program does different work from that step on".into(),
        status: if place.is_estimated || evidence.steps().source.is_inferred() {
            Status::Estimated
        } else {
            Status::Derived
        },
        links: links(evidence, series, change, &slow, &good),
    };
    let finding = evidence.explaining(cause.into_finding(evidence), &slow, &good);
    if place.is_estimated {
        // What all ops take longer in these steps alone is not what the chip always reaches.
        finding.explaining("slow_memory", saved).explaining("slow_compute", saved)
    } else {
        finding
    }
}

fn links(
    evidence: &Evidence<'_>,
    series: &StepSeries,
    change: &Change,
    slow: &[usize],
    good: &[usize],
) -> Vec<Link> {
    let range = |of: &[usize]| {
        let numbers = of.iter().map(|at| series.number(*at));
        Some(format!("{}-{}", numbers.clone().min()?, numbers.max()?))
    };
    let mut links = vec![Link::to("steps").row("steps", series.number(change.at).to_string())];
    links.extend([slow, good].into_iter().filter_map(range).map(|steps| Link::to("ops").steps(steps)));
    links.extend(series.steps.get(change.at).map(|step| evidence.timeline_of_step(step)));
    links
}

/// What the slow steps have more of, and on which devices.
fn place(
    evidence: &Evidence<'_>,
    series: &StepSeries,
    slow: &[usize],
    good: &[usize],
    growth: &Growth,
) -> Place {
    let all: f64 = growth.classes.iter().filter(|ps| **ps > 0.0).sum();
    let of = |classes: &[Class]| classes.iter().map(|c| growth.classes[*c as usize].max(0.0)).sum::<f64>();
    let other = |words: String, recommendation| Place { words, recommendation, is_estimated: false };
    if let Some(words) = other_programs(evidence, series, slow, good) {
        return other(
            words,
            "compare the two programs: `hlo-modules` has their shapes, `ops --steps` their ops; shapes that grow or a branch that is taken from then on are the usual reasons",
        );
    }
    let working = of(&[Class::Compute, Class::Copy]);
    let waiting = of(&[Class::Communication, Class::AsyncWait]);
    let slower = slower_devices(growth);
    // Where one device works longer the others wait for it.
    if working > MOST * all || working > 0.1 * all && slower.len() < growth.devices.len() {
        return compute(evidence, slow, good, growth, &slower);
    }
    if of(&[Class::Input, Class::Infeed]) > MOST * all {
        return other(
            "devices wait for input from then on".into(),
            "look at the input pipeline from that step on: a shuffle buffer that ran empty, slower files, a cache that was full (`input`)",
        );
    }
    if of(&[Class::Between, Class::Inside, Class::Input]) > MOST * all {
        let host = evidence.meanwhile(slow, good);
        let named = host.map_or_else(String::new, |host| format!(", and hosts are in `{}`", host.name));
        return other(
            format!("devices have nothing to run for longer{named}"),
            "look at what the host does from that step on and not before: logging, evaluation, a list or cache that grows, memory that is swapped, another process on the machine",
        );
    }
    if waiting > MOST * all {
        return other(
            "collectives and waits take longer, and compute does not".into(),
            "devices wait for the network or for a host that was not captured: look at the links and at all hosts from that step on",
        );
    }
    other(
        "no class of time has most of the change".into(),
        "compare `ops` of the steps before and after the change",
    )
}

/// The devices whose work grew by nearly as much as that of any.
fn slower_devices(growth: &Growth) -> Vec<DeviceId> {
    let most = growth.devices.iter().map(|one| one.work_ps).fold(0.0, f64::max);
    growth
        .devices
        .iter()
        .filter(|one| one.work_ps > PART * most && most > 0.0)
        .map(|one| one.device)
        .collect()
}

/// Ops compute for longer: all of them alike or some, on all devices or some.
fn compute(
    evidence: &Evidence<'_>,
    slow: &[usize],
    good: &[usize],
    growth: &Growth,
    slower: &[DeviceId],
) -> Place {
    let factors = evidence.op_factors(slow, good);
    let all = growth.devices.len();
    let names: Vec<&str> =
        slower.iter().take(4).map(|id| evidence.profile.device(*id).name.as_str()).collect();
    let on = if slower.len() == all {
        if all == 1 { String::new() } else { format!(" on all {all} devices") }
    } else {
        let more = if slower.len() > names.len() { " and more" } else { "" };
        format!(" on {}{more}, and the others wait", names.join(", "))
    };
    if let Some(factor) = factors.alike() {
        return Place {
            words: format!(
                "all compute ops are equally slower, {factor:.2}x{on}, as when the clock drops (heat, power)"
            ),
            recommendation: "watch clock, temperature and power of the chips during the run, and cap or cool them; run it on another machine: if it is steady there, drain this one",
            is_estimated: true,
        };
    }
    let first = factors.first().map_or_else(String::new, |(op, share)| {
        let path = if op.path.is_empty() { String::new() } else { format!(" (`{}`)", op.path) };
        format!("; most in {}{path}: {:.2}x, {} of it", op.op, op.factor, units::share(share))
    });
    Place {
        words: format!("ops compute for longer{on}, not all by the same factor{first}"),
        recommendation: "look at what these ops depend on: data that changes (sparsity, lengths, experts), memory that another program on the chip uses, a kernel that is chosen at run time",
        is_estimated: false,
    }
}

/// Where slow steps run other programs than good ones.
fn other_programs(
    evidence: &Evidence<'_>,
    series: &StepSeries,
    slow: &[usize],
    good: &[usize],
) -> Option<String> {
    /// Smaller ones are helpers.
    const WORTH: f64 = 0.2;
    let ids = |of: &[usize]| -> BTreeSet<(String, Option<u64>)> {
        launched(evidence, series, of, |share| share > WORTH).into_iter().collect()
    };
    let (slow, good) = (ids(slow), ids(good));
    let only = slow.difference(&good).next()?;
    slow.is_disjoint(&good)
        .then(|| format!("they run another program: {}, compiled for something else", only.0))
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};

    /// Steps of these lengths one after the other, with two ops that fill all but the last 20 us: what is beyond 1000 us goes to
    /// both alike, or to the second, or to none.
    pub(super) fn steps(lengths: &[i64], goes: &str) -> Made {
        let mut tpu = Made::tpu(0);
        let (mut at, mut rows, mut ops) = (0, Vec::new(), Vec::new());
        for (number, length) in lengths.iter().enumerate() {
            rows.push((number as i64, at, length * US));
            let beyond = length - 1000;
            let first = if goes == "alike" { 600 + beyond * 600 / 980 } else { 600 };
            let idle = if goes == "idle" { beyond } else { 0 };
            ops.push(("fusion.1", "loop fusion", at + idle * US, first * US));
            ops.push((
                "fusion.2",
                "loop fusion",
                at + (idle + first) * US,
                (length - 20 - first - idle) * US,
            ));
            at += length * US;
        }
        tpu.steps(&rows);
        let program = |(_, at, length): &(i64, i64, i64)| {
            let idle = if goes == "idle" { length - 1000 * US } else { 0 };
            ("jit_step(7)", at + idle, length - idle - 20 * US)
        };
        tpu.programs(&rows.iter().map(program).collect::<Vec<_>>());
        tpu.ops(&ops);
        tpu
    }

    const THROTTLED: [i64; 10] = [1000, 1002, 999, 1000, 1001, 1150, 1151, 1149, 1150, 1152];

    #[test]
    fn a_clock_that_goes_down_is_told_by_ops_that_are_slower_alike() {
        let found = check(&super::RULE, vec![steps(&THROTTLED, "alike")]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        let finding = &found.findings[0];
        assert!(finding.claim.starts_with("From step 5 on steps take 15.0% longer"), "{}", finding.claim);
        assert!(finding.claim.contains("equally slower, 1.15x"), "{}", finding.claim);
        // 1075 us a step where 1000 would do.
        assert!((finding.speedup.unwrap() - 1.075).abs() < 0.01, "{finding:?}");
    }

    #[test]
    fn one_op_that_takes_longer_is_named() {
        let found = check(&super::RULE, vec![steps(&THROTTLED, "second")]);
        assert!(found.findings[0].claim.contains("most in fusion.2"), "{}", found.findings[0].claim);
    }

    #[test]
    fn a_host_that_comes_late_from_a_step_on_is_no_clock() {
        let found = check(&super::RULE, vec![steps(&THROTTLED, "idle")]);
        let finding = &found.findings[0];
        assert!(finding.claim.contains("nothing to run for longer"), "{}", finding.claim);
        assert!(finding.explains.iter().any(|e| e.rule == "host_bound" && e.share > 0.05), "{finding:?}");
    }

    #[test]
    fn steps_that_scatter_or_stall_once_do_not_change() {
        let scattered = [1000, 1020, 990, 1010, 985, 1015, 1002, 1021, 992, 1008];
        assert_eq!(check(&super::RULE, vec![steps(&scattered, "alike")]).verdict, Verdict::Clear);
        let once = [1000, 1002, 999, 1000, 1001, 1900, 1001, 999, 1000, 1002];
        assert_eq!(check(&super::RULE, vec![steps(&once, "alike")]).verdict, Verdict::Clear);
    }

    #[test]
    fn a_processor_that_is_slower_for_a_while_is_no_cause_unless_something_runs_there() {
        let rounds = |slow: (i64, i64, Option<&'static str>)| {
            let round = |n: usize| {
                let off = [0, 2, -1, 1, 3][n % 5] * US;
                let (every, runs, then) = if n < 10 { (1000 * US, 900 * US, None) } else { slow };
                (every + off, runs, then)
            };
            vec![Made::traced_cpu(&(0..20).map(round).collect::<Vec<_>>())]
        };
        // The same program takes longer, or the loop calls nothing for longer: so do other programs on the machine make it.
        for slow in [(1300 * US, 1200 * US, None), (1300 * US, 900 * US, None)] {
            let found = check(&super::RULE, rounds(slow));
            assert_eq!(found.verdict, Verdict::Clear, "{slow:?}: {found:?}");
            assert!(found.said.contains("other programs and the scheduler"), "{slow:?}: {found:?}");
        }
        let found = check(&super::RULE, rounds((1300 * US, 900 * US, Some("$log.py:3 flush"))));
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        assert!(found.findings[0].claim.contains("`$log.py:3 flush`"), "{found:?}");
    }

    #[test]
    fn what_the_loop_of_a_processor_always_does_and_does_for_longer_for_a_while_is_no_change() {
        let run = |until: usize| {
            let round = |n: usize| {
                let slow = if (10..until).contains(&n) { 700 } else { 0 };
                ((2000 + slow + [0, 2, -1, 1, 3][n % 5]) * US, 900 * US, Some("$data.py:3 augment"))
            };
            let rounds: Vec<_> = (0..24).map(round).collect();
            check(&super::RULE, vec![Made::traced_cpu(&rounds)])
        };
        assert_eq!(run(14).verdict, Verdict::Clear, "{:?}", run(14));
        // Near miss: it is not over.
        assert_eq!(run(24).verdict, Verdict::Found, "{:?}", run(24));
    }

    #[test]
    fn few_steps_say_nothing() {
        let found = check(&super::RULE, vec![steps(&[1000, 1000, 1300, 1300], "alike")]);
        assert_eq!(found.verdict, Verdict::Unknown);
    }
}
