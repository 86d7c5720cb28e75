//! The same function is compiled again and again: each time for other shapes or other static arguments.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::compilations::Several;
use crate::evidence::host_events::Doing;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::thresholds::HOST_CAUSE;
use haloscope_report::units;
use haloscope_program::variants::Difference;
use haloscope_report::{Link, Status};

pub(super) static RULE: Rule = Rule {
    id: "recompilation",
    standing: Standing::Cause,
    on: ANY,
    needs: "program executions with program ids, and host events that name compilations",
    threshold: None,
    check,
};

/// Programs with less of the devices' program time are helpers, which frameworks compile for many shapes.
const WORTH: f64 = 0.05;

/// A function that ran as several programs, some of which were compiled beside the devices' work; `None` where there is none.
pub(super) fn again(evidence: &Evidence<'_>) -> Option<Several> {
    if evidence.host().compiled.events.is_empty() {
        return None;
    }
    evidence.several_programs(WORTH)
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    let host = evidence.host();
    let launches = || evidence.accounts().iter().flatten().flat_map(|account| &account.launches);
    if launches().all(|launch| launch.program_id.is_none()) {
        return Outcome::unknown("the profile does not say which programs ran (no program ids)");
    }
    let Some(several) = evidence.several_programs(WORTH) else {
        return Outcome::clear("every function that matters ran as one program");
    };
    let said = format!("{} ran as {} programs", several.module, several.ids);
    if !host.has_events {
        return Outcome::unknown(format!(
            "{said}; no host thread has an event, so nobody knows when they were compiled"
        ));
    }
    if again(evidence).is_none() {
        return Outcome::clear(format!("{said}, and none was compiled during the capture"));
    }
    let part = host.part(Doing::Compile);
    let share = evidence.share_of(&part);
    let first_runs = evidence.of_active(several.first_runs_ps);
    let mut links = vec![Link::to("hlo-modules").row("modules", &several.module)];
    links.extend(evidence.links_of(&part));
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "{} is compiled anew while it runs: {} programs of this name ran, and devices wait {} of the active window for the compiler",
            several.module,
            several.ids,
            units::share(share)
        ),
        evidence: format!(
            "{}; hosts compile for {} beside the devices' work, and with tracing and lowering the calls take devices the time above{}",
            several.difference.as_ref().map_or_else(
                || "the profile does not hold two of these programs, so that nobody knows what differs".to_owned(),
                |difference| format!("the programs differ in {}", difference.words()),
            ),
            units::duration_ps(host.compiled.ps as f64),
            host.compiled.events.first().map_or_else(String::new, |named| format!("; {}", evidence.event_words(named))),
        ),
        saved: Some((share + first_runs).min(1.0)),
        assuming: if first_runs >= HOST_CAUSE.good {
            format!("if one program served all calls: {} of it is what the programs' first runs take longer than the fastest run", units::share(first_runs))
        } else {
            "if one program served all calls".into()
        },
        lever: lever(several.difference.as_ref()).into(),
        falsifier: "the number of programs of this name does not grow with more steps".into(),
        status: Status::Derived,
        links,
    };
    let finding = finding.into_finding(evidence).explaining("step_jitter", share + first_runs);
    Outcome::found(said, vec![finding])
}

/// What to try, by what differs between the programs.
fn lever(difference: Option<&Difference>) -> &'static str {
    match difference {
        Some(Difference::Nothing) => {
            "call `jax.jit` once, outside of the loop, and keep what it gives: a lambda or an inner function that is made anew is a new function to its cache; jax_explain_cache_misses says so"
        }
        Some(Difference::Computation) => {
            "pass what changes as an argument and not as a constant: a Python number in `static_argnums` or in a closure compiles a program for each of its values; jax_explain_cache_misses says which"
        }
        Some(Difference::Shapes(_)) => {
            "give the function arguments of one shape: pad the batch to one size or to a few buckets, drop the last partial batch, and mask what was padded"
        }
        Some(Difference::Count(..)) => {
            "give the function the same arguments each time: the structure of a pytree, optional values that are sometimes None"
        }
        None => {
            "give the function arguments of one shape, type and sharding: pad or bucket the batch, keep Python numbers that change out of static arguments; jax_log_compiles and jax_explain_cache_misses say what differed"
        }
    }
}

#[cfg(test)]
mod tests {
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
    fn one_program_for_all_calls_is_clear() {
        assert_eq!(check(&super::RULE, vec![tpu("jit_step(7)"), host()]).verdict, Verdict::Clear);
    }

    #[test]
    fn several_programs_and_a_host_that_recorded_nothing_are_unknown() {
        assert_eq!(check(&super::RULE, vec![tpu("jit_step(9)")]).verdict, Verdict::Unknown);
    }
}
