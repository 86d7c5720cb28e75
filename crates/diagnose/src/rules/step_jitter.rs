//! Steps that take much longer than the others.

use std::collections::BTreeSet;

use super::periodic_stall;
use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::thresholds::{Grade, SLOW_STEPS, STALLS};
use haloscope_profile::DeviceId;
use haloscope_report::units;
use haloscope_report::{Link, Status};
use haloscope_time::account::Class;
use haloscope_time::series::Spike;
use haloscope_time::steps::series::{Growth, StepSeries};

pub(super) static RULE: Rule = Rule {
    id: "step_jitter",
    standing: Standing::Cause,
    on: ANY,
    needs: "five steps or more that are neither warm-up nor at the edge of the capture",
    threshold: Some(&SLOW_STEPS),
    check,
};

/// A step this many robust deviations above the others is slow.
const DEVIATIONS: f64 = 4.0;
/// Where so much of what it has more is in what the host does in all steps, it is no exception.
const ELSEWHERE: f64 = 0.5;
/// Where hosts launch without a rest, launches of a step come later than those of others by up to this part of a step.
const OF_PACE: f64 = 0.5;

/// So many slow steps of a processor are looked at one by one.
const MOST_LOOKED_AT: usize = 32;

fn check(evidence: &Evidence<'_>) -> Outcome {
    let Some(series) = evidence.series() else {
        return Outcome::unknown("too few whole steps after the warm-up to know what is usual");
    };
    let of_period: Vec<usize> =
        periodic_stall::period(evidence).map_or_else(Vec::new, |found| found.1.members.clone());
    let limit = SLOW_STEPS.good.max(DEVIATIONS * series.series.deviation);
    let is_slow = |spike: &&Spike| spike.share > limit && !of_period.contains(&spike.at);
    let mut slow: Vec<Spike> = series.series.spikes.iter().filter(is_slow).copied().collect();
    let count = series.steps.len();
    let beside = series.beside(&slow.iter().map(|spike| spike.at).collect::<Vec<_>>());
    let over = format!("{count} steps, the usual ones {}", units::duration_ps(series.mean_of(&beside)));
    let before = slow.len();
    slow.retain(|spike| evidence.usual_doings_ps(&[spike.at], &beside) < ELSEWHERE * spike.extra);
    if slow.is_empty() && before > 0 {
        return Outcome::clear(format!(
            "{over}; {before} take longer because the host does more of its usual work: see that finding"
        ));
    }
    let before = slow.len();
    slow.retain(|spike| !evidence.is_launch_jitter(spike.extra));
    if slow.is_empty() && before > 0 {
        return Outcome::clear(format!(
            "{over}; {before} take longer, by no more than the usual spread of launches over several hosts"
        ));
    }
    let before = slow.len();
    slow.retain(|spike| !is_late_at_pace(evidence, series, spike, &beside));
    if slow.is_empty() && before > 0 {
        return Outcome::clear(format!(
            "{over}; {before} take longer between programs, because hosts launch without a pause, only as fast as devices work: see launch_bound"
        ));
    }
    let (mut slower, mut beyond) = (slow.len(), 0.0);
    // A processor's ops share it with all else that runs on the machine: steps that the scheduler held up are no exception there.
    if evidence.is_cpu() {
        let before = slow.len();
        // Each is looked at by itself: of thousands, the longest.
        slow.sort_by(|a, b| b.extra.total_cmp(&a.extra));
        let rest: f64 = slow.iter().skip(MOST_LOOKED_AT).map(|spike| spike.extra).sum();
        slow.truncate(MOST_LOOKED_AT);
        let looked_at = slow.len();
        slow.retain(|spike| Grown::of(evidence, series, spike.at, &beside).is_named(evidence));
        if slow.is_empty() && before > 0 {
            return Outcome::clear(format!(
                "{over}; {before} take longer, and nothing special ran in them: on a CPU, other programs and the scheduler cause this"
            ));
        }
        slow.sort_by_key(|spike| spike.at);
        // As many of the rest are named, about.
        slower = slow.len() * before / looked_at.max(1);
        beyond = rest * slow.len() as f64 / looked_at.max(1) as f64;
    }
    if slow.is_empty() {
        let rest = if of_period.is_empty() { "" } else { " except those of the periodic stall" };
        return Outcome::clear(format!("{over}, and none far above it{rest}"));
    }
    if slower.max(slow.len()) * 4 > count {
        return Outcome::clear(format!(
            "{over}; {} take much longer, too many to be exceptions: the program has two kinds of steps",
            slower.max(slow.len())
        ));
    }
    let members: Vec<usize> = slow.iter().map(|spike| spike.at).collect();
    let others = series.beside(&members);
    let saved = evidence.share_of_steps_ps(slow.iter().map(|spike| spike.extra).sum::<f64>() + beyond);
    if STALLS.grade(saved) == Grade::Good {
        return Outcome::clear(format!(
            "{over}; {} take longer, for {} of the active window",
            slow.len(),
            units::share(saved)
        ));
    }
    slow.sort_by(|a, b| b.extra.total_cmp(&a.extra));
    let worst = slow[0];
    let Some(step) = series.steps.get(worst.at) else { return Outcome::clear(over) };
    let grown = Grown::of(evidence, series, worst.at, &others);
    let which = if slow.len() == 1 { "Step" } else { "Steps" };
    let cause = Cause {
        id: RULE.id,
        claim: format!(
            "{which} {} in a run of {count} steps: {} the others{}{}",
            series.listed(&members),
            if worst.share < 1.0 {
                format!("{} longer than", units::share(worst.share))
            } else {
                format!("{} times as long as", units::number(1.0 + worst.share))
            },
            if slow.len() == 1 { String::new() } else { format!(" (step {}, the longest)", step.number) },
            grown.event.as_ref().map_or_else(String::new, |event| format!("; the host is in `{event}` then")),
        ),
        evidence: format!(
            "step {} {} against {} of the others; {}",
            step.number,
            units::duration_ps(series.mean_of(&[worst.at])),
            units::duration_ps(series.mean_of(&[worst.at]) - worst.extra),
            grown.words(evidence)
        ),
        saved: Some(saved),
        assuming: "if these steps took as long as the others".into(),
        recommendation: grown.recommendation().into(),
        falsifier: "in another capture other steps are slow: then the cause is the machine, not these steps"
            .into(),
        status: if evidence.steps().source.is_inferred() || beyond > 0.0 {
            Status::Estimated
        } else {
            Status::Derived
        },
        links: vec![
            Link::to("steps").row("steps", step.number.to_string()),
            Link::to("ops").steps(step.number.to_string()),
            evidence.timeline_of_step(step),
        ],
    };
    let said = format!(
        "{over}; {} of the active window is extra time in {} of them",
        units::share(saved),
        slow.len()
    );
    let finding = evidence.explaining(cause.into_finding(evidence), &members, &others);
    Outcome::found(said, vec![finding])
}

/// Whether a step is longer because its launch came later, in a loop that waits for its launches all the time, and nothing says why.
fn is_late_at_pace(evidence: &Evidence<'_>, series: &StepSeries, spike: &Spike, beside: &[usize]) -> bool {
    if spike.extra > OF_PACE * series.mean_of(beside) || !evidence.is_bound_by_launches() {
        return false;
    }
    let grown = Grown::of(evidence, series, spike.at, beside);
    grown.growth.classes[Class::Between as usize] >= ELSEWHERE * spike.extra && !grown.is_named(evidence)
}

/// What a step has more of than the others.
struct Grown {
    growth: Growth,
    /// Programs that no usual step runs.
    extra: Vec<String>,
    /// The device that has much more than the others, with its time.
    device: Option<(DeviceId, f64)>,
    /// What the host does in that step and in no other.
    event: Option<String>,
}

impl Grown {
    fn of(evidence: &Evidence<'_>, series: &StepSeries, at: usize, others: &[usize]) -> Self {
        let growth = series.growth(&[at], others, evidence.accounts());
        let mut by_device: Vec<(DeviceId, f64)> =
            growth.devices.iter().map(|one| (one.device, one.work_ps)).collect();
        by_device.sort_by(|a, b| b.1.total_cmp(&a.1));
        let device = match &by_device[..] {
            [first, second, ..] if first.1 > 2.0 * second.1.max(0.0) && first.1 > 0.0 => Some(*first),
            _ => None,
        };
        let event = evidence.meanwhile(&[at], others).filter(|event| event.only).map(|event| event.name);
        Self { growth, extra: extra_programs(evidence, series, at, others), device, event }
    }

    /// Whether something ran in that step that runs in no usual one.
    fn is_named(&self, evidence: &Evidence<'_>) -> bool {
        self.event.as_ref().is_some_and(|event| !evidence.host().is_loop(event)) || !self.extra.is_empty()
    }

    fn words(&self, evidence: &Evidence<'_>) -> String {
        let mut words = format!("what grew, mean over devices: {}", evidence.growth_words(&self.growth));
        if let Some((device, ps)) = self.device {
            let name = &evidence.profile.device(device).name;
            words += &format!("; work grew most on {name}, +{}", units::duration_ps(ps));
        }
        if !self.extra.is_empty() {
            words += &format!("; only there: {}", self.extra.join(", "));
        }
        words
    }

    fn recommendation(&self) -> &'static str {
        if !self.extra.is_empty() {
            return "a program runs there that other steps do not run (evaluation, logging or a checkpoint): run it less often, or alongside the steps";
        }
        let most = Class::ALL
            .into_iter()
            .max_by(|a, b| self.growth.classes[*a as usize].total_cmp(&self.growth.classes[*b as usize]));
        match most {
            Some(Class::Input | Class::Infeed) => {
                "input came late there: prefetch more, so that a slow read is hidden"
            }
            Some(Class::Between) => {
                "look at what the host did before that step: garbage collection, logging, a checkpoint, another process"
            }
            Some(Class::Communication) if self.device.is_none() => {
                "devices waited for a host that was not captured, or for the network: look at that step on all hosts"
            }
            Some(Class::Compute) => {
                "the same ops took longer (clock, heat or a neighbour on the machine) or had more work than in other steps: compare `ops` of that step with another's"
            }
            _ => "compare `ops` of that step with another's",
        }
    }
}

/// Programs that began in this step and in no usual one.
fn extra_programs(evidence: &Evidence<'_>, series: &StepSeries, at: usize, others: &[usize]) -> Vec<String> {
    let programs = |of: &[usize]| {
        let mut found = BTreeSet::new();
        for account in evidence.accounts().iter().flatten() {
            for on in of.iter().filter_map(|at| series.steps.get(*at)?.on(account.device)) {
                let begun = account.launches.partition_point(|l| l.start_ps < on.start_ps);
                let own = account.launches[begun..].iter().take_while(|l| l.start_ps < on.end_ps);
                found.extend(own.map(|launch| launch.module.clone()));
            }
        }
        found
    };
    let (here, elsewhere) = (programs(&[at]), programs(others));
    here.difference(&elsewhere).filter(|module| !module.is_empty()).cloned().collect()
}

#[cfg(test)]
mod tests {
    use haloscope_xspace::write::Value;

    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};

    /// Steps of these lengths one after the other, with an op that fills all but the last 10 us.
    fn steps(lengths: &[i64]) -> Made {
        let mut tpu = Made::tpu(0);
        let mut at = 0;
        let mut rows = Vec::new();
        for (number, length) in lengths.iter().enumerate() {
            rows.push((number as i64, at, length * US));
            at += length * US;
        }
        tpu.steps(&rows);
        tpu.programs(&rows.iter().map(|(_, at, length)| ("jit_step(7)", *at, *length)).collect::<Vec<_>>());
        let ops = rows.iter().map(|(_, at, length)| ("fusion.1", "loop fusion", *at, length - 20 * US));
        tpu.ops(&ops.collect::<Vec<_>>());
        tpu
    }

    #[test]
    fn the_slow_step_is_named_with_what_grew_in_it() {
        let found = check(&super::RULE, vec![steps(&[1000, 1000, 1001, 999, 1000, 1500, 1000, 1000])]);
        assert_eq!(found.verdict, Verdict::Found);
        let finding = &found.findings[0];
        assert!(finding.claim.starts_with("Step 5 in a run of 8 steps: 50.0% longer"), "{}", finding.claim);
        assert!(finding.evidence.contains("compute +500.0 us"), "{}", finding.evidence);
        // 500 us of an active window of 8480 us: the last op ends 20 us before its step does.
        assert!((finding.speedup.unwrap() - 1.0 / (1.0 - 500.0 / 8480.0)).abs() < 1e-3, "{finding:?}");
        assert_eq!(finding.links[2].window_ps, Some([5000 * US, 6500 * US]));
    }

    #[test]
    fn a_slow_first_step_is_warm_up_and_no_jitter() {
        let found = check(&super::RULE, vec![steps(&[3000, 1000, 1001, 999, 1000, 1000, 1000])]);
        assert_eq!(found.verdict, Verdict::Clear, "{found:?}");
    }

    #[test]
    fn steps_of_two_kinds_are_no_exception() {
        let found =
            check(&super::RULE, vec![steps(&[1000, 1001, 999, 2000, 1000, 1001, 1000, 2000, 1000, 2000])]);
        assert_eq!(found.verdict, Verdict::Clear, "{found:?}");
        assert!(found.said.contains("two kinds"), "{}", found.said);
    }

    /// Steps on a device that works for 400 us in each and waits for a transfer of this length.
    fn transferring(lengths: &[i64]) -> Vec<Made> {
        let (mut tpu, mut host) = (Made::tpu(0), Made::named("/host:CPU"));
        host.line("python");
        let mut at = 0;
        let mut rows = Vec::new();
        for (number, length) in lengths.iter().enumerate() {
            host.event("TransferToDevice", at + 405 * US, length * US, &[]);
            rows.push((number as i64, at, (410 + length) * US));
            at += (410 + length) * US;
        }
        tpu.steps(&rows);
        tpu.programs(&rows.iter().map(|(_, at, _)| ("jit_step(7)", *at, 400 * US)).collect::<Vec<_>>());
        tpu.ops(
            &rows.iter().map(|(_, at, _)| ("fusion.1", "loop fusion", *at, 400 * US)).collect::<Vec<_>>(),
        );
        vec![tpu, host]
    }

    #[test]
    fn more_of_what_all_steps_have_belongs_to_the_rule_that_has_it() {
        let found = check(&super::RULE, transferring(&[500, 500, 501, 499, 500, 1000, 500, 500]));
        assert_eq!(found.verdict, Verdict::Clear, "{found:?}");
        assert!(found.said.contains("more of its usual work"), "{}", found.said);
        // Transfers that usual steps hardly have are the slow step's own.
        let found = check(&super::RULE, transferring(&[10, 10, 11, 9, 10, 500, 10, 10]));
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
    }

    /// Steps on a processor of 1000 us, but one of 1800 us; what the host does in that one, where it says so.
    fn on_processor(event: Option<&str>) -> Made {
        let text = |text: &str| Value::Str(text.into());
        let mut host = Made::named("/host:CPU");
        let steps: Vec<(i64, i64, i64)> = (0..12)
            .map(|n| {
                (n, (n * 1000 + if n > 6 { 800 } else { 0 }) * US, if n == 6 { 1800 } else { 1000 } * US)
            })
            .collect();
        host.line("python");
        host.event("$train.py:12 main", 0, 12_800 * US, &[]);
        for (number, at, length) in &steps {
            host.event("train", *at, *length, &[("step_num", Value::Int(*number)), ("_r", Value::Int(1))]);
            if let Some(event) = event.filter(|_| *number == 6) {
                host.event(event, at + 950 * US, 840 * US, &[]);
            }
        }
        host.line("tf_XLAEigen/1");
        for (_, at, _) in &steps {
            let stats = [("hlo_op", text("dot.1")), ("hlo_module", text("jit_step"))];
            host.event("dot.1", at + 20 * US, 900 * US, &stats);
        }
        host
    }

    #[test]
    fn on_a_processor_a_slow_step_needs_a_cause() {
        let found = check(&super::RULE, vec![on_processor(None)]);
        assert_eq!(found.verdict, Verdict::Clear, "{found:?}");
        assert!(found.said.contains("scheduler"), "{}", found.said);
        let found = check(&super::RULE, vec![on_processor(Some("save_checkpoint"))]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        assert!(found.findings[0].claim.contains("save_checkpoint"), "{found:?}");
    }

    /// A host that prepares for 480 us and launches for 300 us in turn, programs of 500 us; before the seventh launch it stands so long, in an
    /// event if one is named.
    fn at_pace(pause: i64, event: Option<&str>) -> Vec<Made> {
        let (mut tpu, mut host) = (Made::tpu(0), Made::named("/host:CPU"));
        host.line("python");
        let (mut at, mut starts) = (0, Vec::new());
        for number in 0..14 {
            host.event("$train.py:30 prepare", at, 480 * US, &[]);
            at += 480 * US;
            if number == 6 {
                if let Some(event) = event {
                    host.event(event, at, pause * US, &[]);
                }
                at += pause * US;
            }
            host.event("PjitFunction(step)", at, 300 * US, &[]);
            at += 300 * US;
            starts.push(at);
        }
        let rows: Vec<_> =
            (0..).zip(starts.windows(2)).map(|(n, pair)| (n, pair[0], pair[1] - pair[0])).collect();
        tpu.steps(&rows);
        tpu.programs(&starts.iter().map(|at| ("jit_step(7)", *at, 500 * US)).collect::<Vec<_>>());
        tpu.ops(&starts.iter().map(|at| ("fusion.1", "loop fusion", *at, 500 * US)).collect::<Vec<_>>());
        vec![tpu, host]
    }

    #[test]
    fn a_launch_that_comes_later_in_a_loop_that_waits_for_its_launches_is_no_exception() {
        let found = check(&super::RULE, at_pace(250, None));
        assert_eq!(found.verdict, Verdict::Clear, "{found:?}");
        assert!(found.said.contains("see launch_bound"), "{}", found.said);
        // Near misses: what the host does then is named; it stands for longer than half a step.
        for near in [at_pace(250, Some("save_checkpoint")), at_pace(600, None)] {
            let found = check(&super::RULE, near);
            assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        }
    }

    #[test]
    fn few_steps_do_not_say_what_is_usual() {
        assert_eq!(check(&super::RULE, vec![steps(&[1000, 1000, 2000])]).verdict, Verdict::Unknown);
    }
}
