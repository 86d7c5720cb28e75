//! Steps that take much longer than the others.

use std::collections::BTreeSet;

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::thresholds::SLOW_STEPS;
use haloscope_report::units;
use haloscope_report::{Link, Status};
use haloscope_time::account::Class;
use haloscope_time::hosts::measure::{Measured, OfDevice, OnDevice};
use haloscope_time::stats::quantile;
use haloscope_time::steps::{Step, StepClass};

pub(super) static RULE: Rule = Rule {
    id: "step_jitter",
    standing: Standing::Cause,
    on: ANY,
    needs: "five steps or more that are neither warm-up nor at the edge of the capture",
    threshold: Some(&SLOW_STEPS),
    check,
};

/// Fewer steps do not say what is usual.
const FEWEST: usize = 5;
/// Steps that are listed by number.
const LISTED: usize = 8;

fn check(evidence: &Evidence<'_>) -> Outcome {
    let measured = match evidence.measured() {
        Ok(measured) => measured,
        Err(why) => return Outcome::unknown(why),
    };
    let usual = |step: &&Step| matches!(step.class, StepClass::Steady | StepClass::Outlier);
    // Of a step that a window cuts nobody knows how much of what it has more lies in it.
    let is_whole = |step: &&Step| {
        let within =
            |(from, to): (i64, i64)| step.instances.iter().all(|on| from <= on.start_ps && on.end_ps <= to);
        evidence.scope.window_ps.is_none_or(within)
    };
    let steps: Vec<&Step> = measured.steps.rows.iter().filter(usual).filter(is_whole).collect();
    if steps.len() < FEWEST {
        return Outcome::unknown(format!(
            "{} steps that are neither warm-up nor cut: too few to tell what is usual",
            steps.len()
        ));
    }
    let mut times: Vec<f64> = steps.iter().map(|step| step.duration_ps() as f64).collect();
    times.sort_by(f64::total_cmp);
    let median = quantile(&times, 0.5);
    let beyond = |step: &Step| step.duration_ps() as f64 - median;
    let is_slow = |step: &&Step| step.class == StepClass::Outlier && beyond(step) > 0.0;
    let mut slow: Vec<&Step> = steps.iter().copied().filter(is_slow).collect();
    let over = format!("{} steps, median {}", steps.len(), units::duration_ps(median));
    if slow.is_empty() {
        let longest = times.last().copied().unwrap_or(median) / median.max(1.0) - 1.0;
        return Outcome::clear(format!("{over}, the longest {} over it", units::share(longest)));
    }
    if slow.len() * 4 > steps.len() {
        return Outcome::clear(format!(
            "{over}; {} take much longer: so many are no exception, the program has steps of two kinds",
            slow.len()
        ));
    }
    let devices = evidence.accounts().iter().flatten().count() as f64;
    let saved = evidence.of_active(slow.iter().map(|step| beyond(step)).sum::<f64>() * devices);
    slow.sort_by(|a, b| beyond(b).total_cmp(&beyond(a)));
    let worst = slow[0];
    let grown = Grown::of(evidence, measured, worst);
    let mut numbers: Vec<i64> = slow.iter().map(|step| step.number).collect();
    numbers.sort_unstable();
    let list: Vec<String> = numbers.iter().take(LISTED).map(ToString::to_string).collect();
    let which = if slow.len() == 1 { "Step" } else { "Steps" };
    let more = if numbers.len() > LISTED { " and more" } else { "" };
    let longest = beyond(worst) / median.max(1.0);
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "{which} {}{more} in a run of {} steps: {} the median step{}",
            list.join(", "),
            steps.len(),
            if longest < 1.0 {
                format!("{} longer than", units::share(longest))
            } else {
                format!("{} times as long as", units::number(1.0 + longest))
            },
            if slow.len() == 1 { String::new() } else { format!(" (step {}, the longest)", worst.number) },
        ),
        evidence: format!(
            "step {} {} against a median of {}; {}",
            worst.number,
            units::duration_ps(worst.duration_ps() as f64),
            units::duration_ps(median),
            grown.words()
        ),
        saved: Some(saved),
        assuming: "if these steps took as long as the others".into(),
        lever: grown.lever().into(),
        falsifier: "another capture has its slow steps at other numbers: then it is the machine and not what these steps do".into(),
        status: if measured.steps.source.is_inferred() { Status::Estimated } else { Status::Derived },
        links: vec![
            Link::to("steps").row("steps", worst.number.to_string()),
            Link::to("ops").steps(worst.number.to_string()),
            window(worst),
        ],
    };
    let said = format!(
        "{over}; {} of the active window lies beyond it in {} of them",
        units::share(saved),
        slow.len()
    );
    Outcome::found(said, vec![finding.into_finding(evidence)])
}

fn window(step: &Step) -> Link {
    let end = step.instances.iter().map(|on| on.end_ps).max().unwrap_or(0);
    Link::to("timeline").window(step.start_ps(), end)
}

/// What a step has more of than the others.
struct Grown {
    /// By class, mean over devices, picoseconds, most first.
    classes: Vec<(Class, f64)>,
    /// Compute is longer by this factor.
    compute: Option<f64>,
    /// Programs that no usual step runs.
    extra: Vec<String>,
    /// The device that has much more than the others, with its time.
    device: Option<(String, f64)>,
}

impl Grown {
    fn of(evidence: &Evidence<'_>, measured: &Measured<'_>, step: &Step) -> Self {
        let devices = measured.devices.len().max(1) as f64;
        let (mut classes, mut compute) = (Vec::new(), None);
        for class in Class::ALL {
            let grown: Vec<(f64, f64)> =
                measured.devices.iter().filter_map(|one| growth(one, step, |s| s.times.of(class))).collect();
            let more: f64 = grown.iter().map(|(own, usual)| own - usual).sum::<f64>() / devices;
            let usual: f64 = grown.iter().map(|(_, usual)| usual).sum::<f64>() / devices;
            if class == Class::Compute && usual > 0.0 {
                compute = Some(1.0 + more / usual);
            }
            if more > 0.0 {
                classes.push((class, more));
            }
        }
        classes.sort_by(|a, b| b.1.total_cmp(&a.1));
        let own = |one: &OfDevice<'_>| {
            let (own, usual) = growth(one, step, |s| s.duration_ps - s.wait_ps())?;
            Some((one.device.name.clone(), own - usual))
        };
        let mut by_device: Vec<(String, f64)> = measured.devices.iter().filter_map(own).collect();
        by_device.sort_by(|a, b| b.1.total_cmp(&a.1));
        let device = match &by_device[..] {
            [first, second, ..] if first.1 > 2.0 * second.1.max(0.0) => Some(first.clone()),
            _ => None,
        };
        Self { classes, compute, extra: extra_programs(evidence, measured, step), device }
    }

    fn words(&self) -> String {
        let all: Vec<String> = self
            .classes
            .iter()
            .take(3)
            .map(|(class, ps)| format!("{} +{}", class.phrase(), units::duration_ps(*ps)))
            .collect();
        let mut words = format!("what grew, mean over devices: {}", all.join(", "));
        if let Some((device, ps)) = &self.device {
            words += &format!("; most on {device}, +{}", units::duration_ps(*ps));
        }
        if !self.extra.is_empty() {
            words += &format!("; only there: {}", self.extra.join(", "));
        }
        words
    }

    fn lever(&self) -> &'static str {
        if !self.extra.is_empty() {
            return "a program runs there that usual steps do not run: evaluation, logging or a checkpoint; run it less often, or beside the steps";
        }
        match self.classes.first().map(|(class, _)| *class) {
            Some(Class::Input | Class::Infeed) => {
                "input came late there: more prefetch, so that a slow read is hidden"
            }
            Some(Class::Between) => {
                "look at what the host did before that step: garbage collection, logging, a checkpoint, another process"
            }
            Some(Class::Communication) if self.device.is_none() => {
                "devices waited for somebody who was not captured, or for the network: look at that step on all hosts"
            }
            Some(Class::Compute) if self.compute.is_some_and(|by| by > 1.0) => {
                "the same ops took longer: clock, heat or a neighbour on the machine; or more work than in the other steps: compare `ops` of that step with another's"
            }
            _ => "compare `ops` of that step with another's",
        }
    }
}

/// A number of a step on a device, and its median over the device's usual steps.
fn growth(one: &OfDevice<'_>, step: &Step, of: impl Fn(&OnDevice) -> i64) -> Option<(f64, f64)> {
    let own = one.steps.iter().find(|s| s.number == step.number)?;
    let mut usual: Vec<f64> =
        one.steps.iter().filter(|s| s.class == StepClass::Steady).map(|s| of(s) as f64).collect();
    usual.sort_by(f64::total_cmp);
    (!usual.is_empty()).then(|| (of(own) as f64, quantile(&usual, 0.5)))
}

/// Programs that began in this step and in no usual one.
fn extra_programs(evidence: &Evidence<'_>, measured: &Measured<'_>, step: &Step) -> Vec<String> {
    let (mut here, mut elsewhere) = (BTreeSet::new(), BTreeSet::new());
    for account in evidence.accounts().iter().flatten() {
        let Some(one) = measured.devices.iter().find(|d| d.device.id == account.device) else { continue };
        for on in &one.steps {
            let set = match on {
                _ if on.number == step.number => &mut here,
                _ if on.class == StepClass::Steady => &mut elsewhere,
                _ => continue,
            };
            let begun = account.launches.partition_point(|l| l.start_ps < on.start_ps);
            let own = account.launches[begun..].iter().take_while(|l| l.start_ps < on.end_ps);
            set.extend(own.map(|launch| launch.module.clone()));
        }
    }
    here.difference(&elsewhere).filter(|module| !module.is_empty()).cloned().collect()
}

#[cfg(test)]
mod tests {
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
        assert!(finding.claim.starts_with("Step 5 of 8: 50.0% longer"), "{}", finding.claim);
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

    #[test]
    fn few_steps_do_not_say_what_is_usual() {
        assert_eq!(check(&super::RULE, vec![steps(&[1000, 1000, 2000])]).verdict, Verdict::Unknown);
    }
}
