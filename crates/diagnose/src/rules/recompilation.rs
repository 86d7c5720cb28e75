//! The same function is compiled again and again: each time for other shapes or other static arguments.

use std::collections::{BTreeMap, BTreeSet};

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::host_events::Doing;
use crate::evidence::series::CompileCost;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::rules::host_doing::{cold_words, rest_of_gaps};
use haloscope_report::units;
use haloscope_report::{Link, Status};
use haloscope_time::programs;

pub(super) static RULE: Rule = Rule {
    id: "recompilation",
    standing: Standing::Cause,
    on: ANY,
    needs: "program executions with program ids, and host events that name compilations",
    threshold: None,
    check,
};

/// Programs with less of the devices' program time are helpers, which frameworks compile for many shapes...
const WORTH: f64 = 0.05;
/// ... unless devices wait for compilations for this share of the active window, and so many programs of a function ran that was compiled.
const COSTLY: f64 = 0.1;
const SEVERAL: usize = 4;

/// A function that ran as several programs, some of which were compiled beside the devices' work.
pub(super) struct Again {
    /// The function, as its modules are called.
    pub(super) module: String,
    /// The name of one of its modules.
    one: String,
    pub(super) ids: usize,
}

impl Again {
    /// The one with most ids; `None` where nothing was compiled beside the devices' work.
    pub(super) fn of(evidence: &Evidence<'_>) -> Option<Self> {
        if evidence.host().compiled.events.is_empty() {
            return None;
        }
        Self::several(evidence)
    }

    /// The same whether or not a compilation was seen.
    fn several(evidence: &Evidence<'_>) -> Option<Self> {
        let mut ids: BTreeMap<&str, (BTreeSet<u64>, i64)> = BTreeMap::new();
        let mut one: BTreeMap<&str, &str> = BTreeMap::new();
        let mut all = 0_i64;
        for launch in evidence.accounts().iter().flatten().flat_map(|account| &account.launches) {
            let length = launch.end_ps - launch.start_ps;
            all = all.saturating_add(length);
            let function = programs::function_of(&launch.module);
            one.entry(function).or_insert(&launch.module);
            let own = ids.entry(function).or_default();
            own.0.extend(launch.program_id);
            own.1 = own.1.saturating_add(length);
        }
        let host = evidence.host();
        let is_costly = evidence.share_of(&host.part(Doing::Compile)) >= COSTLY;
        let is_compiled = |module: &str| {
            let call = module.strip_prefix("jit_").map(|function| format!("PjitFunction({function})"));
            call.is_some_and(|call| host.compiled.calls.contains(&call))
        };
        let worth = ids.into_iter().filter(|(module, (own, ps))| {
            // Kernels of PyTorch share a name, and are none the less different functions.
            let is_one = !module.is_empty() && !programs::is_any_kernel(module);
            let is_large = || *ps as f64 >= WORTH * all as f64;
            let is_expensive = || is_costly && own.len() >= SEVERAL && is_compiled(module);
            is_one && own.len() > 1 && (is_large() || is_expensive())
        });
        let (module, (own, _)) = worth.max_by_key(|(_, (own, ps))| (own.len(), *ps))?;
        let one = one.get(module).map_or_else(String::new, |one| (*one).to_owned());
        Some(Self { module: module.to_owned(), one, ids: own.len() })
    }
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    let host = evidence.host();
    let launches = || evidence.accounts().iter().flatten().flat_map(|account| &account.launches);
    if launches().all(|launch| launch.program_id.is_none()) {
        return Outcome::unknown("the profile does not say which programs ran (no program ids)");
    }
    let Some(several) = Again::several(evidence) else {
        return Outcome::clear("every function that matters ran as one program");
    };
    let said = format!("{} ran as {} programs", several.module, several.ids);
    if !host.has_events {
        return Outcome::unknown(format!(
            "{said}; no host events were recorded, so when they were compiled is unknown"
        ));
    }
    if Again::of(evidence).is_none() {
        return Outcome::clear(format!("{said}, and none was compiled during the capture"));
    }
    let part = host.part(Doing::Compile);
    let cost = evidence.compile_cost();
    let share = cost.share;
    let variants = evidence.variants(&several.module);
    let first_runs = evidence.of_active(variants.first_runs_ps(|_| true));
    // What steps take beyond the others holds their first runs already.
    let others = evidence.of_active(variants.first_runs_ps(|at| !evidence.is_in_steps(&cost.steps, at)));
    let with_it = evidence.goes_with(Doing::Compile);
    let rest: f64 = with_it.iter().map(|(_, share)| share).sum();
    // First runs are counted already, and so is all of steps that are longer for it.
    let cold = evidence.cold_behind_work(share, |launch| {
        !variants.is_first_run(launch.start_ps) && !evidence.is_in_steps(&cost.steps, launch.start_ps)
    });
    let mut links = vec![Link::to("hlo modules").row("modules", &several.one)];
    links.extend(evidence.links_of(&part));
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "{} is recompiled while it runs: {} programs of this name ran, and devices wait {} of the active window for it{}",
            several.module,
            several.ids,
            units::share(share),
            at_steps(evidence, &cost)
        ),
        evidence: format!(
            "{}; hosts spend {} in calls that compile, from tracing to launch, while the devices work{}; first runs of new programs take {} of the active window beyond {}{}{}",
            variants.words(),
            units::duration_ps(host.compiled.ps as f64),
            host.compiled
                .events
                .first()
                .map_or_else(String::new, |named| format!("; {}", evidence.event_words(named))),
            units::share(first_runs),
            variants.beyond(),
            rest_of_gaps(Doing::Compile, rest),
            cold_words(cold),
        ),
        saved: Some((share + others + rest + cold).min(1.0)),
        assuming: "if one program served all calls".into(),
        recommendation: evidence.fix(variants.fix()),
        falsifier: "the number of programs of this name does not grow with more steps".into(),
        status: if cold > 0.0 { Status::Estimated } else { variants.status() },
        links,
    };
    let finding = evidence.explaining_steps(finding.into_finding(evidence), &cost);
    let finding = with_it.into_iter().fold(finding, |finding, (rule, share)| finding.explaining(rule, share));
    Outcome::found(said, vec![finding])
}

/// The steps that are longer for it, as the end of a sentence: `, in step 7`.
pub(super) fn at_steps(evidence: &Evidence<'_>, cost: &CompileCost) -> String {
    match (evidence.series(), &cost.steps[..]) {
        (Some(series), [one]) => format!(", in step {}", series.number(*one)),
        (Some(series), [_, _, ..]) => format!(", in steps {}", series.listed(&cost.steps)),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use haloscope_report::Status;
    use haloscope_xspace::write::Value;

    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};

    fn tpu(second: &str) -> Made {
        let mut tpu = Made::tpu(0);
        tpu.programs(&[("jit_step(7)", 0, 400 * US), (second, 600 * US, 400 * US)]);
        tpu.ops(&[("fusion.1", "loop fusion", 0, 400 * US), ("fusion.2", "loop fusion", 600 * US, 400 * US)]);
        tpu
    }

    fn host() -> Made {
        let mut host = Made::named("/host:CPU");
        host.line("python");
        host.event("backend_compile", 450 * US, 100 * US, &[]);
        host
    }

    #[test]
    fn a_function_that_is_compiled_again_is_found_and_claimed_once() {
        let found = check(&super::RULE, vec![tpu("jit_step(9)"), host()]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        assert!((found.findings[0].speedup.unwrap() - 1.0 / 0.9).abs() < 1e-6, "{found:?}");
        let other = check(&super::super::compilation_in_window::RULE, vec![tpu("jit_step(9)"), host()]);
        assert_eq!(other.verdict, Verdict::NotApplicable, "{other:?}");
    }

    #[test]
    fn the_steps_that_are_longer_for_it_are_explained() {
        let mut tpu = Made::tpu(0);
        let starts: Vec<i64> = (0..12).map(|n| n * 1000 + if n >= 6 { 5000 } else { 0 }).collect();
        let step = |n: usize, at: &i64| match n {
            6 => (6, (at - 5000) * US, 6000 * US),
            n => (n as i64, at * US, 1000 * US),
        };
        tpu.steps(&starts.iter().enumerate().map(|(n, at)| step(n, at)).collect::<Vec<_>>());
        let name = |n: usize| if n < 6 { "jit_step(7)" } else { "jit_step(9)" };
        let programs = starts.iter().enumerate().map(|(n, at)| (name(n), at * US, 990 * US));
        tpu.programs(&programs.collect::<Vec<_>>());
        tpu.ops(&starts.iter().map(|at| ("fusion.1", "loop fusion", at * US, 990 * US)).collect::<Vec<_>>());
        let mut host = Made::named("/host:CPU");
        host.line("python");
        // The call traces and lowers for 1 ms, compiles for 3, and launches.
        host.event("PjitFunction(step)", 6000 * US, 5000 * US, &[]);
        host.event("backend_compile", 7000 * US, 3000 * US, &[]);
        let found = check(&super::RULE, vec![tpu, host]);
        let finding = &found.findings[0];
        assert!(finding.claim.ends_with("in step 6"), "{}", finding.claim);
        // 17 ms, of which 5 are the whole call.
        assert!((finding.speedup.unwrap() - 17.0 / 12.0).abs() < 0.01, "{finding:?}");
        let share = |rule| finding.explains.iter().filter(|e| e.rule == rule).map(|e| e.share).sum::<f64>();
        assert!((share("step_jitter") - 5.0 / 17.0).abs() < 0.01, "{finding:?}");
    }

    #[test]
    fn first_runs_and_what_compiling_leaves_of_its_gaps_go_too() {
        // Each of ten programs runs once, behind 890 us of compilation of a gap of 900; one waits for 9 ms. Ops of the first program
        // take 100 us, those of the others twice as long.
        let mut tpu = Made::tpu(0);
        let mut host = Made::named("/host:CPU");
        host.line("python");
        let (mut at, mut programs, mut ops) = (0, Vec::new(), Vec::new());
        for n in 0..10 {
            let (gap, us) = (if n == 6 { 9000 } else { 900 }, if n == 0 { 100 } else { 200 });
            host.event("backend_compile", at, (gap - 10) * US, &[]);
            programs.push((format!("jit_step({n})"), at + gap * US, us * US));
            ops.push((n, at + gap * US, us * US));
            at += (gap + us) * US;
        }
        tpu.programs(&programs.iter().map(|(name, at, ps)| (name.as_str(), *at, *ps)).collect::<Vec<_>>());
        tpu.line("XLA Ops");
        for (program, at, ps) in ops {
            tpu.op("fusion.1", "loop fusion", "", &[("program_id", Value::Uint(program))]);
            tpu.event("fusion.1", at, ps, &[]);
        }
        let found = check(&super::RULE, vec![tpu, host]);
        let finding = &found.findings[0];
        // From the first op to the last: nine gaps, of which one holds 9 ms, and ten runs. What stays is 100 us of each run, but for
        // that of the step that is far longer than the others, whose first run counts there.
        let (whole, stays) = (17_100.0 + 1_900.0, 1_000.0);
        let speedup = finding.speedup.unwrap();
        assert!((whole / (stays + 250.0)..=whole / (stays - 50.0)).contains(&speedup), "{finding:?}");
        assert!(finding.evidence.contains("at most a twentieth of them"), "{}", finding.evidence);
    }

    #[test]
    fn programs_of_a_processor_that_run_between_compilations_are_cold() {
        // A program of 100 us eight times, and as often a compilation of 900 us with another program behind it. Of the first, so many
        // in four take longer by a half.
        let run = |slow: i64| {
            let mut cpu = Made::named("/host:CPU");
            cpu.line("python");
            for n in 0..8 {
                cpu.event("PjitFunction(eval)", (n * 1200) * US, 900 * US, &[]);
                cpu.event("backend_compile", (n * 1200 + 1) * US, 890 * US, &[]);
            }
            cpu.line("tf_XLAPjRtCpuClient/1");
            for n in 0..8 {
                let us = if n % 4 < slow { 150 } else { 100 };
                for (op, module, program, at, us) in
                    [("dot.1", "jit_eval", 7 + n, 900, 50), ("dot.2", "jit_train", 99, 1000, us)]
                {
                    let stats = [
                        ("hlo_op", Value::Str(op.into())),
                        ("hlo_module", Value::Str(module.into())),
                        ("program_id", Value::Uint(program as u64)),
                        ("run_id", Value::Uint(n as u64)),
                    ];
                    cpu.event(op, (n * 1200 + at) * US, us * US, &stats);
                }
            }
            check(&super::RULE, vec![cpu]).findings.remove(0)
        };
        let (cold, warm) = (run(2), run(0));
        assert!(
            cold.evidence.contains("beyond their fastest run") && cold.status == Status::Estimated,
            "{cold:?}"
        );
        assert!(cold.speedup > warm.speedup, "{:?} {:?}", cold.speedup, warm.speedup);
        assert!(
            !warm.evidence.contains("would go too: ") && !warm.evidence.contains("their fastest run,"),
            "{warm:?}"
        );
    }

    #[test]
    fn one_program_for_all_calls_is_clear() {
        assert_eq!(check(&super::RULE, vec![tpu("jit_step(7)"), host()]).verdict, Verdict::Clear);
    }

    #[test]
    fn several_programs_and_a_host_that_recorded_nothing_are_unknown() {
        assert_eq!(check(&super::RULE, vec![tpu("jit_step(9)")]).verdict, Verdict::Unknown);
    }
}
