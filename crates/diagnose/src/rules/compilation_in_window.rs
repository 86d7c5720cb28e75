//! Devices wait while the host compiles.

use crate::evidence::Evidence;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::thresholds::HOST_CAUSE;
use haloscope_report::units;

use super::host_doing::{COMPILATIONS, Words};
use super::recompilation::{Again, at_steps};
use haloscope_time::fix::Fix;

pub(super) static RULE: Rule = Rule {
    id: "compilation_in_window",
    standing: Standing::Cause,
    on: ANY,
    needs: "host events that name compilations (`backend_compile`, `Compile`)",
    threshold: Some(&HOST_CAUSE),
    check,
};

static LEVER: Fix = Fix {
    jax: "run each program once before the capture and before the loop (jit(...).lower().compile(), a warm-up step), and keep a compilation cache on disk (jax_compilation_cache_dir)",
    tensorflow: "run each function once before the capture and before the loop (a warm-up step with the loop's shapes), and give it an `input_signature`, so that no call traces it again",
    pytorch: "run each graph once before the capture and before the loop (a warm-up step with the loop's shapes), and keep compiled graphs on disk (torch_xla.runtime.initialize_cache)",
    any: "run each program once before the capture and before the loop (a warm-up step with the loop's shapes), and keep compiled programs on disk",
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    let part = match COMPILATIONS.part(evidence) {
        Ok(part) => part,
        Err(unknown) => return unknown,
    };
    let cost = evidence.compile_cost();
    let share = cost.share;
    let compiled = &evidence.host().compiled;
    if compiled.events.is_empty() {
        return Outcome::clear("nothing is compiled while the devices work");
    }
    let said = format!(
        "hosts spend {} in calls that compile while the devices work; devices wait for them for {} of the active window",
        units::duration_ps(compiled.ps as f64),
        units::share(share)
    );
    if Again::of(evidence).is_some() {
        return Outcome::not_applicable(format!("{said}; see recompilation"));
    }
    let mut outcome = COMPILATIONS.judge(evidence, (&part, share, said.clone()), || {
        let calls: Vec<&str> = compiled.calls.iter().map(String::as_str).take(3).collect();
        let calls = if calls.is_empty() { String::new() } else { format!(" (in {})", calls.join(", ")) };
        Words {
            claim: format!(
                "Devices wait for {} of the active window while the host compiles{calls}{}",
                units::share(share),
                at_steps(evidence, &cost)
            ),
            evidence: said,
            recommendation: evidence.fix(&LEVER),
            assuming: None,
            also: Vec::new(),
        }
    });
    outcome.findings =
        outcome.findings.into_iter().map(|finding| evidence.explaining_steps(finding, &cost)).collect();
    outcome
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};

    fn tpu() -> Made {
        let mut tpu = Made::tpu(0);
        tpu.programs(&[("jit_step(7)", 0, 400 * US), ("jit_eval(8)", 900 * US, 100 * US)]);
        tpu.ops(&[("fusion.1", "loop fusion", 0, 400 * US), ("fusion.2", "loop fusion", 900 * US, 100 * US)]);
        tpu
    }

    fn host(compile_at: i64) -> Made {
        let mut host = Made::named("/host:CPU");
        host.line("python");
        host.event("PjitFunction(eval)", 450 * US, 400 * US, &[]);
        host.event("backend_compile", compile_at * US, 300 * US, &[]);
        host
    }

    #[test]
    fn a_compilation_while_devices_wait_is_found_with_its_call() {
        let found = check(&super::RULE, vec![tpu(), host(500)]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        let finding = &found.findings[0];
        // The whole call counts, not the compiler alone.
        assert!((finding.speedup.unwrap() - 1.0 / 0.6).abs() < 1e-6, "{finding:?}");
        assert!(finding.claim.contains("PjitFunction(eval)"), "{}", finding.claim);
    }

    #[test]
    fn a_compilation_before_the_first_op_is_no_cause() {
        assert_eq!(check(&super::RULE, vec![tpu(), host(-400)]).verdict, Verdict::Clear);
    }

    #[test]
    fn without_host_events_nobody_can_tell() {
        assert_eq!(check(&super::RULE, vec![tpu()]).verdict, Verdict::Unknown);
    }
}
