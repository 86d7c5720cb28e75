//! JAX looks at every result of every program for values that are no numbers, as it is told to while somebody debugs.

use crate::evidence::Evidence;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::thresholds::HOST_CAUSE;
use haloscope_report::units;

use super::host_doing::{CHECKS, Words};

pub(super) static RULE: Rule = Rule {
    id: "debug_checks",
    standing: Standing::Cause,
    on: ANY,
    needs: "events of the Python tracer, and program executions",
    threshold: Some(&HOST_CAUSE),
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    let part = match CHECKS.part(evidence) {
        Ok(part) => part,
        Err(unknown) => return unknown,
    };
    if part.ps == 0 && !evidence.host().is_traced {
        return Outcome::unknown("Python was not traced, so whether JAX checks results is unknown");
    }
    let share = evidence.share_of(&part);
    let said = format!(
        "devices have nothing to run while their host checks results for NaN and infinity: {} of the active window",
        units::share(share)
    );
    CHECKS.judge(evidence, (&part, share, said), || Words {
        claim: format!(
            "JAX checks each result of each program for NaN or infinity (`{}`): devices wait for it for {} of the active window",
            part.names.first().map_or("check_special", |named| named.name.as_str()),
            units::share(share)
        ),
        evidence: String::new(),
        recommendation: "turn `jax_debug_nans` and `jax_debug_infs` off (also the environment variables JAX_DEBUG_NANS and JAX_DEBUG_INFS); to guard a run, compute one flag in the program (`jnp.isfinite(loss)`) and read it every n-th step".into(),
        assuming: None,
        also: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};

    /// Ten programs of 400 us, one every 1000 us, and a function of the host for 500 us of each gap.
    fn run(function: &str) -> Vec<Made> {
        let mut host = Made::named("/host:CPU");
        host.line("python");
        for at in (0..10).map(|i| i * 1000 * US) {
            host.event("PjitFunction(step)", at - at.min(50 * US), 950 * US, &[]);
            host.event(function, at + 400 * US, 500 * US, &[]);
        }
        vec![Made::repeating(10, 1000 * US, 400 * US), host]
    }

    #[test]
    fn checks_of_results_are_named() {
        let found = check(&super::RULE, run("$api.py:106 _nan_check_posthook"));
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        // Nine gaps with 500 us of checks in 9400 us.
        let finding = &found.findings[0];
        assert!(finding.speedup.unwrap() > 1.0 / (1.0 - 4400.0 / 9400.0), "{finding:?}");
        assert!(finding.claim.contains("`$api.py:106 _nan_check_posthook`"), "{finding:?}");
    }

    #[test]
    fn other_work_in_a_call_is_none_of_it_and_without_host_events_nobody_can_tell() {
        assert_eq!(check(&super::RULE, run("$api.py:106 _python_pjit_helper")).verdict, Verdict::Clear);
        assert_eq!(check(&super::RULE, run("dispatch")).verdict, Verdict::Unknown);
        assert_eq!(
            check(&super::RULE, vec![Made::repeating(10, 1000 * US, 400 * US)]).verdict,
            Verdict::Unknown
        );
    }
}
