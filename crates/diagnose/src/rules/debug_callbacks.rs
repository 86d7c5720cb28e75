//! The program calls back to the host: debug prints, `io_callback`, `pure_callback`, outfeeds of values to print.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::host_events::Doing;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::thresholds::{DEBUG, Grade};
use haloscope_report::units;
use haloscope_report::{Link, Status};

pub(super) static RULE: Rule = Rule {
    id: "debug_callbacks",
    standing: Standing::Cause,
    on: ANY,
    needs: "ops with their framework scope or HLO expression; host events for what the callbacks do",
    threshold: Some(&DEBUG),
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    let host = evidence.host();
    let ops = evidence.callbacks();
    let known =
        evidence.ops().iter().any(|op| !op.meta.framework_op.is_empty() || !op.meta.expression.is_empty());
    if ops.is_empty() && !known && !host.has_events {
        return Outcome::unknown(
            "ops have neither a framework scope nor an expression, and no host thread has an event",
        );
    }
    let part = host.part(Doing::Callback);
    if ops.is_empty() && part.ps == 0 {
        return Outcome::clear("no op calls back to the host");
    }
    let count: u64 = ops.iter().map(|op| op.occurrences).sum();
    let on_device = evidence.of_active(ops.iter().map(|op| op.self_ps as f64).sum());
    let share = (on_device + evidence.share_of(&part)).min(1.0);
    let said = format!(
        "{count} callbacks from {} ops; devices spend {} of the active window in them, and wait {} for the host to run them",
        ops.len(),
        units::share(on_device),
        units::share(evidence.share_of(&part))
    );
    if DEBUG.grade(share) == Grade::Good {
        return Outcome::clear(said);
    }
    let first = ops.first().map(|op| match op.meta.source.as_ref() {
        "" => format!("{} (`{}`)", op.meta.name, op.meta.framework_op),
        source => format!("{} at {source}", op.meta.name),
    });
    let named = part.names.first().map(|named| evidence.event_words(named));
    let mut links: Vec<Link> =
        ops.iter().take(3).map(|op| Link::to("ops").row("ops", op.meta.name.as_ref())).collect();
    if part.ps > 0 {
        links.extend(evidence.links_of(&part));
    }
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "Callbacks from the device to Python cost {} of the active window{}",
            units::share(share),
            first.map_or_else(String::new, |first| format!(", first of all {first}"))
        ),
        evidence: format!("{said}{}", named.map_or_else(String::new, |named| format!("; {named}"))),
        saved: Some(share),
        assuming: "if no callback ran".into(),
        lever: "take jax.debug.print, io_callback and pure_callback out of the step, or call them under lax.cond every n-th step; return values as outputs and read them later".into(),
        falsifier: "the step is no shorter without them".into(),
        status: Status::Derived,
        links,
    };
    Outcome::found(said, vec![finding.into_finding(evidence)])
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};
    use haloscope_xspace::write::Value;

    fn tpu(scope: &str) -> Made {
        let mut tpu = Made::tpu(0);
        tpu.programs(&[("jit_step(7)", 0, 1000 * US)]);
        tpu.op("recv-done.1", "host recv-done", "", &[("tf_op", Value::Str(scope.into()))]);
        tpu.ops(&[
            ("fusion.1", "loop fusion", 0, 800 * US),
            ("recv-done.1", "host recv-done", 800 * US, 200 * US),
        ]);
        tpu
    }

    #[test]
    fn a_debug_print_in_the_step_is_found() {
        let found = check(&super::RULE, vec![tpu("jit(step)/debug_callback")]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        assert!((found.findings[0].speedup.unwrap() - 1.25).abs() < 1e-6, "{found:?}");
        // The same time is not claimed as host offload too.
        let other = check(&super::super::host_offload::RULE, vec![tpu("jit(step)/debug_callback")]);
        assert_eq!(other.verdict, Verdict::Clear, "{other:?}");
    }

    #[test]
    fn other_transfers_are_no_callbacks() {
        assert_eq!(check(&super::RULE, vec![tpu("jit(step)/device_put")]).verdict, Verdict::Clear);
    }

    #[test]
    fn ops_without_scope_and_expression_are_unknown() {
        let mut gpu = Made::named("/device:GPU:0");
        gpu.line("Stream #1(compute)");
        gpu.event("kernel", 0, 100 * US, &[]);
        assert_eq!(check(&super::RULE, vec![gpu]).verdict, Verdict::Unknown);
    }
}
