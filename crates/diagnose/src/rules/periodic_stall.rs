//! Every so many steps one takes longer: a checkpoint, an evaluation, logging, garbage collection.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::host_events::{Doing, doing};
use crate::evidence::series::Meanwhile;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::rules::host_doing::cold_words;
use crate::thresholds::{Grade, STALLS};
use haloscope_report::units;
use haloscope_report::{Link, Status};
use haloscope_time::series::Period;
use haloscope_time::steps::series::{StepSeries, ordinal};

pub(super) static RULE: Rule = Rule {
    id: "periodic_stall",
    standing: Standing::Cause,
    on: ANY,
    needs: "steps that are neither warm-up nor at the edge of the capture, three stalls or more; for two, host events must show that both are of one kind",
    threshold: Some(&STALLS),
    check,
};

/// The period, and what hosts do in its steps. Two stalls may be chance: only an event that is in both and nowhere else says
/// that they are of one kind.
pub(super) fn period<'e>(
    evidence: &'e Evidence<'_>,
) -> Option<(&'e StepSeries, &'e Period, Option<Meanwhile>)> {
    let series = evidence.series()?;
    let period = series.stalls()?;
    let meanwhile = evidence.meanwhile(&period.starts, &series.beside(&period.members));
    let is_one = meanwhile.as_ref().is_some_and(|event| event.only);
    (period.is_sure() || is_one).then_some((series, period, meanwhile))
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    let Some(series) = evidence.series() else {
        return Outcome::unknown("too few whole steps after the warm-up to know what is usual");
    };
    let over = format!("{} steps", series.steps.len());
    let Some((series, period, meanwhile)) = period(evidence) else {
        return Outcome::clear(match series.stalls() {
            Some(period) => format!(
                "{over}; steps {} take longer, {} apart: two may be chance, and no host event is only in these",
                series.listed(&period.starts),
                period.every
            ),
            None => format!("{over}, and no longer ones at equal intervals"),
        });
    };
    // A processor's ops share it with all else that runs on the machine; where Python was traced, what the loop calls is known. A wait for
    // a result is as long as the program that it waits for.
    let host = evidence.host();
    let is_wait = |name: &str| doing(name).is_some_and(|(doing, _)| doing == Doing::Read);
    let is_named =
        meanwhile.as_ref().is_some_and(|event| !host.is_loop(&event.name) && !is_wait(&event.name));
    if evidence.is_cpu() && host.is_traced && !is_named {
        return Outcome::clear(format!(
            "{over}; steps {} take longer, {} apart, and the loop calls nothing special in them: on a CPU, other programs and the scheduler cause this",
            series.listed(&period.starts),
            period.every
        ));
    }
    let is_only = meanwhile.as_ref().is_some_and(|event| event.only);
    if evidence.is_cpu()
        && !is_only
        && let Some(other) = as_long_beside(series, period)
    {
        return Outcome::clear(format!(
            "{over}; steps {} take longer, {} apart, and so does step {}, which is none of them: on a processor that may be chance",
            series.listed(&period.starts),
            period.every,
            series.number(other)
        ));
    }
    let stalls = period.starts.len();
    let saved = evidence.share_of_steps_ps(period.extra * stalls as f64);
    let words = series.period_words().unwrap_or_default();
    let said = format!("{over}; {words}: {} of the active window", units::share(saved));
    if STALLS.grade(saved) == Grade::Good {
        return Outcome::clear(said);
    }
    // Of these steps all that they take longer is counted.
    let cold =
        evidence.cold_behind_work(saved, |launch| !evidence.is_in_steps(&period.members, launch.start_ps));
    let others = series.beside(&period.members);
    let growth = series.growth(&period.members, &others, evidence.accounts());
    let did = match &meanwhile {
        Some(event) if event.only => format!(": the host runs `{}` then, and in no other step", event.name),
        Some(event) => format!(": the host is in `{}` then", event.name),
        None => String::new(),
    };
    let seen = meanwhile.as_ref().map_or_else(String::new, |event| {
        format!(
            "; `{}` takes {} in each of {} of them",
            event.name,
            units::duration_ps(event.each_ps),
            event.steps
        )
    });
    let mut links = vec![Link::to("steps").row("steps", series.number(period.first).to_string())];
    if let Some(event) = &meanwhile {
        links.push(Link::to("ops").param("on", "host").row("ops", &event.name));
    }
    links.extend(series.steps.get(period.first).map(|step| evidence.timeline_of_step(step)));
    let cause = Cause {
        id: RULE.id,
        claim: format!(
            "Every {} step, from step {}, takes {} longer{did}",
            ordinal(period.every),
            series.number(period.first),
            units::duration_ps(period.extra)
        ),
        evidence: format!(
            "steps {}, {} against {} for the others; what grew, mean over devices: {}{seen}{}",
            series.listed(&period.starts),
            units::duration_ps(series.mean_of(&period.starts)),
            units::duration_ps(series.mean_of(&others)),
            evidence.growth_words(&growth),
            cold_words(cold),
        ),
        saved: Some((saved + cold).min(1.0)),
        assuming: "if these steps took as long as the others".into(),
        recommendation: recommendation(meanwhile.as_ref().map_or("", |event| &event.name)).into(),
        falsifier: "the same steps still take longer with that work switched off, or done half as often"
            .into(),
        status: if evidence.steps().source.is_inferred() || cold > 0.0 {
            Status::Estimated
        } else {
            Status::Derived
        },
        links,
    };
    let finding = evidence.explaining(cause.into_finding(evidence), &period.members, &others);
    Outcome::found(said, vec![finding])
}

/// A step off the period that is longer by as much as those on it.
fn as_long_beside(series: &StepSeries, period: &Period) -> Option<usize> {
    let beside = |at: usize| !period.members.contains(&at);
    let spikes = series.series.spikes.iter();
    spikes.filter(|spike| beside(spike.at) && spike.extra >= period.extra).map(|spike| spike.at).next()
}

/// What to try against work of this name.
fn recommendation(event: &str) -> &'static str {
    let name = event.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if has(&["checkpoint", "save", "ckpt", "orbax"]) {
        "write checkpoints on another thread (orbax's AsyncCheckpointer): the step then waits only for the copy to the host; or write them less often"
    } else if has(&["gc.py", "collect", "garbage"]) {
        "freeze long-lived objects and collect by hand (gc.freeze, gc.disable, gc.collect every thousand steps), or keep fewer Python objects in the loop"
    } else if has(&["eval", "valid"]) {
        "evaluate on other devices or less often, and compile it before the loop"
    } else if has(&["log", "summary", "scalar", "metric", "print", "tensorboard", "wandb"]) {
        "log values of an earlier step from another thread, so that no step waits for them"
    } else if has(&["compile"]) {
        "see recompilation: keep shapes and static arguments the same"
    } else {
        "look at what the host does only before these steps (timeline); move it out of the loop or do it less often. If no event is there, capture with python_tracer_level 1"
    }
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};

    #[test]
    fn on_a_traced_cpu_stalls_in_which_the_loop_calls_nothing_are_the_scheduler_s() {
        let run = |then| {
            let round = |n: i64| {
                let every = (if n % 5 == 4 { 1500 } else { 1000 } + (n * 7) % 4) * US;
                (every, 900 * US, if n % 5 == 4 { then } else { None })
            };
            vec![Made::traced_cpu(&(0..28).map(round).collect::<Vec<_>>())]
        };
        let found = check(&super::RULE, run(None));
        assert_eq!(found.verdict, Verdict::Clear, "{found:?}");
        assert!(found.said.contains("other programs and the scheduler"), "{found:?}");
        let found = check(&super::RULE, run(Some("$ckpt.py:7 save")));
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        assert!(found.findings[0].claim.contains("`$ckpt.py:7 save`"), "{found:?}");
    }

    #[test]
    fn on_a_traced_cpu_a_wait_for_a_result_is_no_cause_and_nor_is_a_stall_as_long_beside() {
        let run = |then: &'static str, beside: i64| {
            let round = |n: i64| {
                let late = if n % 5 == 4 {
                    500
                } else if n == 12 {
                    beside
                } else {
                    0
                };
                ((1000 + late + (n * 7) % 4) * US, 900 * US, Some(then).filter(|_| n % 5 == 4 || n % 2 == 0))
            };
            check(&super::RULE, vec![Made::traced_cpu(&(0..28).map(round).collect::<Vec<_>>())])
        };
        let wait = run("$api.py:2490 try_to_block", 0);
        assert!(wait.verdict == Verdict::Clear && wait.said.contains("other programs"), "{wait:?}");
        let beside = run("$ckpt.py:7 save", 900);
        assert!(beside.verdict == Verdict::Clear && beside.said.contains("so does step"), "{beside:?}");
        // Near misses: work of its own; a smaller stall beside.
        for found in [run("$ckpt.py:7 save", 0), run("$ckpt.py:7 save", 200)] {
            assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        }
    }

    /// Steps of 1000 us, those in `late` begin with an idle stretch of so many us.
    fn tpu(count: i64, late: &[(i64, i64)]) -> Made {
        let mut tpu = Made::tpu(0);
        let (mut at, mut steps, mut ops) = (0, Vec::new(), Vec::new());
        for number in 0..count {
            let idle = late.iter().find(|one| one.0 == number).map_or(0, |one| one.1);
            let length = 1000 + idle + number % 3;
            steps.push((number, at, length * US));
            ops.push(("fusion.1", "loop fusion", at + (idle + 10) * US, (length - idle - 20) * US));
            at += length * US;
        }
        tpu.steps(&steps);
        tpu.programs(&ops.iter().map(|op| ("jit_step(7)", op.2, op.3)).collect::<Vec<_>>());
        tpu.ops(&ops);
        tpu
    }

    /// A host that does something at these moments.
    fn host(events: &[(&str, i64, i64)]) -> Made {
        let mut host = Made::named("/host:CPU");
        host.line("python");
        for (name, at, length) in events {
            host.event(name, at * US, length * US, &[]);
        }
        host
    }

    #[test]
    fn a_stall_that_comes_back_is_found_with_its_event() {
        let late = [(2, 500), (6, 500), (10, 500)];
        // Step 2 begins at 2001 us, step 6 at 6506, step 10 at 11009.
        let save = [2001, 6506, 11_009].map(|at| ("save_checkpoint", at + 5, 500));
        let found = check(&super::RULE, vec![tpu(13, &late), host(&save)]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        let finding = &found.findings[0];
        assert!(finding.claim.starts_with("Every 4th step, from step 2, takes"), "{}", finding.claim);
        assert!(finding.claim.contains("`save_checkpoint` then, and in no other step"), "{}", finding.claim);
        assert!(finding.recommendation.contains("checkpoint"), "{}", finding.recommendation);
        assert!((finding.speedup.unwrap() - 14_500.0 / 13_000.0).abs() < 0.01, "{finding:?}");
        assert!(finding.explains.iter().any(|e| e.rule == "host_bound" && e.share > 0.09), "{finding:?}");
    }

    #[test]
    fn two_stalls_are_a_period_only_with_an_event_of_their_own() {
        let late = [(4, 500), (9, 500)];
        let found = check(&super::RULE, vec![tpu(13, &late)]);
        assert_eq!(found.verdict, Verdict::Clear, "{found:?}");
        assert!(found.said.contains("two may be chance"), "{}", found.said);
        let events = [4003, 9506].map(|at| ("$gc.py:22 collect", at + 5, 500));
        let found = check(&super::RULE, vec![tpu(13, &late), host(&events)]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        assert!(found.findings[0].recommendation.contains("gc.freeze"), "{found:?}");
    }

    #[test]
    fn stalls_at_any_distance_are_no_period() {
        let late = [(2, 500), (3, 400), (8, 500), (12, 600)];
        assert_eq!(check(&super::RULE, vec![tpu(16, &late)]).verdict, Verdict::Clear);
        assert_eq!(check(&super::RULE, vec![tpu(3, &[])]).verdict, Verdict::Unknown);
    }
}
