//! Devices have no program to run, and none of the usual reasons on the host explains it.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::host_events::{Doing, doing};
use crate::evidence::programs::WORTH_A_NAME;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::rules::host_doing::cold_words;
use crate::thresholds::{BUBBLE, Grade};
use haloscope_report::Status;
use haloscope_report::units;
use haloscope_time::account::Class;
use haloscope_time::fix;

pub(super) static RULE: Rule = Rule {
    id: "host_bound",
    standing: Standing::Cause,
    on: ANY,
    needs: "program executions, and host events that say what the host does between them",
    threshold: Some(&BUBBLE),
    check,
};

/// What another thread holds up has all of the time in which the loop calls nothing where it has this part.
const MOST: f64 = 0.5;

fn check(evidence: &Evidence<'_>) -> Outcome {
    let host = evidence.host();
    let has_programs = evidence.accounts().iter().flatten().any(|account| !account.launches.is_empty());
    if !has_programs && !host.has_events {
        return Outcome::unknown("the profile says neither when programs ran nor what hosts did");
    }
    let part = host.part(Doing::Other);
    let unexplained = evidence.share_of(&part);
    // What it does with a result would go with that work too, whatever waits for the result.
    let behind = evidence.behind_reads();
    let share_behind = behind.as_ref().map_or(0.0, |behind| evidence.of_active(behind.ps as f64));
    let share = unexplained + share_behind;
    let between = evidence.share(Class::Between);
    let said = format!(
        "devices have no program for {} of the active window; input, compilation, callbacks, reads, transfers and launches leave {} of it unexplained",
        units::share(between),
        units::share(unexplained)
    );
    if evidence.gaps_limit(&BUBBLE).grade(share) == Grade::Good {
        return Outcome::clear(said);
    }
    // A marker of steps explains nothing.
    let is_marker = |name: &str| evidence.steps().rows.iter().any(|step| step.name == name);
    let named = part.names.first().filter(|named| named.ps as f64 > WORTH_A_NAME * part.ps as f64);
    let behind = behind.filter(|behind| named.is_none_or(|named| behind.ps >= named.ps));
    let named = named.filter(|_| behind.is_none());
    let is_loop = named.is_some_and(|named| host.is_loop(&named.name));
    // A wait for a result that outlasts the gap: the next program is on its way.
    let is_wait =
        named.is_some_and(|named| doing(&named.name).is_some_and(|(doing, _)| doing == Doing::Read));
    let is_dark = named.is_some_and(|named| is_marker(&named.name)) || is_loop && host.is_traced;
    let meanwhile = match (named, &host.meanwhile) {
        _ if let Some(behind) = &behind => {
            format!("; the host's loop is mostly in {} meanwhile", behind.words)
        }
        (Some(named), _) if is_wait => {
            format!("; the host waits in `{}` meanwhile, for programs that it had launched", named.name)
        }
        (Some(named), _) if is_marker(&named.name) => {
            format!("; the host recorded nothing there but its step marker `{}`", named.name)
        }
        (Some(named), _) if is_dark => {
            format!("; the host recorded nothing there but `{}`, which launches them", named.name)
        }
        (Some(named), _) => format!("; the host's loop is mostly in `{}` meanwhile", named.name),
        (None, Some(event)) => format!("; in the longest gap a thread of the host is in `{}`", event.name),
        (None, None) if host.has_events => "; hosts recorded no event that covers the longest gap".into(),
        (None, None) => "; what hosts did was not recorded".into(),
    };
    // Python's tracer would have shown a function that the loop calls there.
    let is_of_machine = evidence.is_cpu() && (is_dark || is_wait) && host.is_traced;
    let held = host.held.as_ref().and_then(|held| held.by_doing.get(&Doing::Other).copied()).unwrap_or(0);
    if is_of_machine && held as f64 >= MOST * part.ps as f64 {
        return Outcome::clear(format!("{said}; see interpreter_held"));
    }
    let cold = if is_of_machine { 0.0 } else { evidence.cold_behind_other(share) };
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "Devices {} for {} of the active window{meanwhile}",
            if has_programs { "have no program to run" } else { "run nothing" },
            units::share(share)
        ),
        evidence: format!("{said}{}; {}{}", behind_words(share_behind), evidence.words_of(&part), cold_words(cold)),
        saved: Some((share + cold).min(1.0)),
        assuming: "if the host launched the next program in time".into(),
        recommendation: if is_wait && is_of_machine {
            format!(
                "the loop had launched the next program by then: the time goes to the runtime, which allocates and frees buffers and starts programs. Donate what a call replaces and make large temporary values smaller; or run {}",
                evidence.fix(&fix::STEPS_ON_DEVICE)
            )
        } else if is_dark && host.is_traced {
            format!(
                "if the loop waits for each step's result, launch ahead of the device; or run {}",
                evidence.fix(&fix::STEPS_ON_DEVICE)
            )
        } else if is_dark {
            format!(
                "capture with python_tracer_level 1 to see what the loop does there: if it waits for each step's result, launch ahead of the device; if it prepares input, logs or checkpoints, do that on another thread; or run {}",
                evidence.fix(&fix::STEPS_ON_DEVICE)
            )
        } else if host.has_events {
            format!(
                "move what the host does there out of the loop: fetch batches ahead on another thread, log and checkpoint there or every n-th step, launch several steps ahead, run {}",
                evidence.fix(&fix::STEPS_ON_DEVICE)
            )
        } else {
            "capture with host_tracer_level 2 (and python_tracer_level 1 if that says too little) to see what the host does there".into()
        },
        falsifier: "a capture with less tracing on the host shows no such gaps, or the step is no shorter when the loop does nothing but launch".into(),
        status: if cold > 0.0 { Status::Estimated } else { Status::Derived },
        links: evidence.links_of(&part),
    };
    if is_of_machine {
        let finding = Cause {
            saved: None,
            assuming: "on a CPU, other programs and the scheduler also cause such gaps".into(),
            ..finding
        };
        return Outcome::found(said, vec![finding.into_finding(evidence)]).standing(Standing::Fact);
    }
    let mut finding = finding.into_finding(evidence);
    if share_behind > 0.0 {
        finding = finding.explaining("blocking_reads", share_behind);
    }
    Outcome::found(said, vec![finding])
}

/// What the host does behind reads, a share of the active window, as a part of a sentence.
fn behind_words(share: f64) -> String {
    if share > 0.0 {
        format!(
            "; what it does with a result before the next launch, {} of the active window, would be saved too",
            units::share(share)
        )
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use haloscope_xspace::write::Value;

    use crate::rule::{Standing, Verdict};
    use crate::tests::{Made, US, check};

    fn tpu(busy: i64) -> Made {
        let mut tpu = Made::tpu(0);
        let starts = || (0..10).map(|i| i * 1000 * US);
        tpu.programs(&starts().map(|at| ("jit_step(7)", at, busy * US)).collect::<Vec<_>>());
        tpu.ops(&starts().map(|at| ("fusion.1", "loop fusion", at, busy * US)).collect::<Vec<_>>());
        tpu
    }

    fn host() -> Made {
        let mut host = Made::named("/host:CPU");
        host.line("python");
        for at in (0..10).map(|i| i * 1000 * US) {
            host.event("PjitFunction(step)", at - at.min(50 * US), 50 * US, &[]);
            host.event("write_summary", at + 300 * US, 600 * US, &[]);
        }
        host
    }

    #[test]
    fn what_the_host_does_between_programs_is_named() {
        let found = check(&super::RULE, vec![tpu(400), host()]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        let finding = &found.findings[0];
        assert!(finding.claim.contains("mostly in `write_summary`"), "{}", finding.claim);
        // Nine gaps of 600 us, less launches of 50 us, in 9400 us.
        assert!((finding.speedup.unwrap() - 1.0 / (1.0 - 4950.0 / 9400.0)).abs() < 1e-6, "{finding:?}");
    }

    #[test]
    fn programs_one_after_the_other_are_clear() {
        assert_eq!(check(&super::RULE, vec![tpu(990), host()]).verdict, Verdict::Clear);
    }

    #[test]
    fn on_a_traced_cpu_a_gap_in_which_the_loop_calls_nothing_is_no_cause() {
        let run = |then| vec![Made::traced_cpu(&[(1000 * US, 600 * US, then); 20])];
        let found = check(&super::RULE, run(None));
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        assert_eq!((found.standing, found.findings[0].speedup), (Some(Standing::Fact), None), "{found:?}");
        assert!(found.findings[0].claim.contains("nothing there but `$train.py:9 step`"), "{found:?}");
        // What it calls there is a cause.
        let found = check(&super::RULE, run(Some("$numpy sort")));
        assert_eq!(found.standing, None, "{found:?}");
        assert!(found.findings[0].speedup.is_some_and(|speedup| speedup > 1.5), "{found:?}");
        assert!(found.findings[0].claim.contains("mostly in `$numpy sort`"), "{found:?}");
        // Where Python was not traced nobody knows what it calls.
        let found = check(&super::RULE, vec![Made::cpu(20, 1000 * US, 600 * US)]);
        assert_eq!(found.standing, None, "{found:?}");
    }

    #[test]
    fn programs_of_a_processor_that_begin_cold_go_with_the_wait() {
        // Programs of 100 us in 1000; every second one takes twice as long.
        let run = |busy: i64| -> Vec<Made> {
            let round = |n: i64| (1000 * US, busy * US * (1 + n % 2), Some("$numpy sort"));
            vec![Made::traced_cpu(&(0..20).map(round).collect::<Vec<_>>())]
        };
        let found = check(&super::RULE, run(100));
        let finding = &found.findings[0];
        assert!(finding.evidence.contains("beyond their fastest run"), "{}", finding.evidence);
        assert!(finding.speedup.is_some_and(|speedup| speedup > 9.0), "{finding:?}");
        // Of shorter waits a quarter of the programs may be as fast as they can be, which is so here.
        let found = check(&super::RULE, run(400));
        assert!(found.findings[0].evidence.contains("beyond their fastest run"), "{found:?}");
        // Near misses: shorter waits in which no work is known; a loop that calls nothing meanwhile; a device that is no processor.
        let round = |n: i64| (1000 * US, (400 + 200 * (n % 2)) * US, None);
        let found = check(&super::RULE, vec![Made::traced_cpu(&(0..20).map(round).collect::<Vec<_>>())]);
        assert!(!found.findings[0].evidence.contains("beyond their"), "{found:?}");
        let mut cpu = Made::named("/host:CPU");
        cpu.line("tf_XLAPjRtCpuClient/1");
        for run in 0..20 {
            let stats = [
                ("hlo_op", Value::Str("dot.1".into())),
                ("hlo_module", Value::Str("jit_step".into())),
                ("program_id", Value::Uint(7)),
                ("run_id", Value::Uint(run)),
            ];
            cpu.event("dot.1", run as i64 * 1000 * US, (400 + 400 * (run as i64 % 2)) * US, &stats);
        }
        let found = check(&super::RULE, vec![cpu]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        assert!(!found.findings[0].evidence.contains("beyond their"), "{found:?}");
        assert!(!check(&super::RULE, vec![tpu(400), host()]).findings[0].evidence.contains("beyond their"));
    }

    #[test]
    fn on_a_traced_cpu_a_wait_for_programs_that_were_launched_is_no_cause() {
        // Two programs of 300 us in each round of 1000, launched at once, and 300 us between them while the host waits for the second.
        let run = |then: &str| {
            let mut cpu = Made::named("/host:CPU");
            cpu.line("python");
            let starts = || (0..20).map(|n| n * 1000 * US);
            for at in starts() {
                cpu.event("$train.py:9 step", at, 1000 * US, &[]);
                cpu.event("PjitFunction(step)", at + US, US, &[]);
                cpu.event("PjitFunction(step)", at + 3 * US, US, &[]);
                cpu.event(then, at + 5 * US, 940 * US, &[]);
            }
            cpu.line("tf_XLAPjRtCpuClient/1");
            for (run, at) in (0..).zip(starts().flat_map(|at| [at + 10 * US, at + 610 * US])) {
                let stats = [
                    ("hlo_op", Value::Str("dot.1".into())),
                    ("hlo_module", Value::Str("jit_step".into())),
                    ("program_id", Value::Uint(7)),
                    ("run_id", Value::Uint(run)),
                ];
                cpu.event("dot.1", at, 300 * US, &stats);
            }
            check(&super::RULE, vec![cpu])
        };
        let found = run("$array.py:615 _value");
        assert_eq!((found.standing, found.findings[0].speedup), (Some(Standing::Fact), None), "{found:?}");
        assert!(found.findings[0].claim.ends_with("for programs that it had launched"), "{found:?}");
        // Near miss: it does something else.
        assert_eq!(run("$numpy sort").standing, None);
    }

    #[test]
    fn what_the_host_does_with_a_result_is_work_of_the_host() {
        // Programs of 400 us in 1000: the host reads the result and logs, of the gap for so many us.
        let run = |us: i64| {
            let mut host = Made::named("/host:CPU");
            host.line("python");
            for at in (0..10).map(|i| i * 1000 * US) {
                host.event("$train.py:9 step", at, 1000 * US, &[]);
                host.event("block_until_ready", at + 100 * US, 320 * US, &[]);
                host.event("$train.py:20 log", at + 425 * US, us * US, &[]);
                host.event("PjitFunction(step)", at + 985 * US, 10 * US, &[]);
            }
            check(&super::RULE, vec![tpu(400), host])
        };
        let found = run(550);
        let finding = &found.findings[0];
        assert!(finding.claim.ends_with("mostly in `$train.py:20 log` meanwhile"), "{finding:?}");
        // All of the gaps but the read and the launch.
        assert!(finding.speedup.is_some_and(|gain| (2.0..2.3).contains(&gain)), "{finding:?}");
        let behind = finding.explains.iter().find(|one| one.rule == "blocking_reads");
        assert!(behind.is_some_and(|one| one.share > 0.3), "{finding:?}");
        // Near miss: it is less than half of what the read costs.
        assert!(run(150).findings.iter().all(|one| one.explains.is_empty()), "{:?}", run(150));
    }

    #[test]
    fn without_programs_and_host_nobody_can_tell() {
        let mut tpu = Made::tpu(0);
        tpu.ops(&[("fusion.1", "loop fusion", 0, 400 * US), ("fusion.2", "loop fusion", 600 * US, 400 * US)]);
        assert_eq!(check(&super::RULE, vec![tpu]).verdict, Verdict::Unknown);
    }
}
