//! The program calls back to the host: debug prints, `io_callback`, `pure_callback`, outfeeds of values to print.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::host_events::Doing;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::thresholds::{DEBUG, Grade};
use haloscope_report::units;
use haloscope_report::{Link, Status};
use haloscope_time::account::Class;
use haloscope_time::fix::Fix;

pub(super) static RULE: Rule = Rule {
    id: "debug_callbacks",
    standing: Standing::Cause,
    on: ANY,
    needs: "ops with their framework scope or HLO expression; host events for what the callbacks do",
    threshold: Some(&DEBUG),
    check,
};

static LEVER: Fix = Fix {
    jax: "take jax.debug.print, io_callback and pure_callback out of the step, or call them under lax.cond every n-th step; return values as outputs and read them later",
    tensorflow: "take tf.print, tf.py_function and tf.numpy_function out of the step, or call them under tf.cond every n-th step; return values as outputs and read them later",
    pytorch: "take what prints or reads tensors out of the step, or call it every n-th step; return values as outputs and read them later",
    any: "take what calls the host out of the step, or call it every n-th step; return values as outputs and read them later",
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
    let others = waiting_others(evidence);
    let share = (on_device + others + evidence.share_of(&part)).min(1.0);
    let said = format!(
        "{count} callbacks from {} ops; devices spend {} of the active window in them, {} more waiting in collectives for the calling device, and {} waiting for the host to run them",
        ops.len(),
        units::share(on_device),
        units::share(others),
        units::share(evidence.share_of(&part))
    );
    if DEBUG.grade(share) == Grade::Good {
        return Outcome::clear(said);
    }
    // Where most of the time is a pause, the rest runs on cold caches of a CPU.
    let is_mostly_paused = evidence.is_cpu() && share > 0.5;
    let cold = if is_mostly_paused {
        evidence.of_active(evidence.beside_callbacks_beyond_fastest_ps())
    } else {
        0.0
    };
    // A GPU that runs dry for each callback has no kernel launched ahead after it.
    let launches = if evidence.is_gpu() && share > 0.5 {
        let host = evidence.host();
        let part = host.part(Doing::Launch).ps.saturating_add(host.launch_inside_ps);
        evidence.of_active(part as f64)
    } else {
        0.0
    };
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
        saved: Some((share + cold + launches).min(1.0)),
        assuming: if launches > 0.0 {
            "if no callback ran and launches were ahead of the device".into()
        } else if cold > 0.0 {
            "if no callback ran and every other op were as fast as in its fastest run: after a pause, ops run on cold caches".into()
        } else {
            "if no callback ran".into()
        },
        recommendation: evidence.fix(&LEVER),
        falsifier: "the step takes just as long without them".into(),
        status: if cold > 0.0 { Status::Estimated } else { Status::Derived },
        links,
    };
    let mut finding = finding.into_finding(evidence);
    if launches > 0.0 {
        finding = finding.explaining("launch_bound", launches);
    }
    // Where the call is an op between devices by its category, its own time is booked as communication.
    let as_communication: f64 = ops
        .iter()
        .filter(|op| Class::of(&op.meta) == Class::Communication)
        .map(|op| evidence.of_active(op.self_ps as f64))
        .sum();
    let mut finding = finding.explaining("exposed_communication", others + as_communication);
    if is_late_caller(evidence) {
        finding = finding.explaining("late_host", share);
    }
    Outcome::found(said, vec![finding])
}

/// Whether the device that begins later than the others is the one that calls most: then the call is why.
fn is_late_caller(evidence: &Evidence<'_>) -> bool {
    let late = evidence.measured().ok().and_then(|measured| measured.late.as_ref());
    let Some(late) = late.filter(|late| !late.steps.is_empty()) else { return false };
    let calls = evidence.callback_times();
    let caller = calls.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).filter(|(_, ps)| **ps > 0.0);
    let caller = caller.and_then(|(position, _)| evidence.selection.devices.get(position));
    let holds =
        |id| late.steps.iter().filter(|step| step.devices.contains(&id)).count() * 2 > late.steps.len();
    caller.is_some_and(|device| holds(device.id))
}

/// Devices that do not call wait in the next collective for the one that does: by as much as it calls for longer than they do,
/// and no longer than they communicate beyond it. A share of the active window.
fn waiting_others(evidence: &Evidence<'_>) -> f64 {
    let calls = evidence.callback_times();
    let most = calls.iter().copied().fold(0.0, f64::max);
    if most <= 0.0 || calls.len() < 2 {
        return 0.0;
    }
    let communication: Vec<f64> = evidence
        .accounts()
        .iter()
        .enumerate()
        .map(|(position, account)| {
            let cut = evidence.selection.window(position);
            account.as_ref().map_or(0.0, |account| account.times(cut).of(Class::Communication) as f64)
        })
        .collect();
    let of_caller = calls.iter().zip(&communication).filter(|(call, _)| **call >= most);
    let least = of_caller.map(|(_, own)| *own).fold(f64::INFINITY, f64::min);
    let waits = calls.iter().zip(&communication).map(|(call, own)| (most - call).min(own - least).max(0.0));
    evidence.of_active(waits.sum())
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
    fn devices_that_wait_for_the_one_that_calls_count_too() {
        // Device 0 calls for 200 us; the others come to the all-reduce at once and wait for it.
        let device = |ordinal: i64| {
            let mut tpu = Made::tpu(ordinal);
            tpu.programs(&[("jit_step(7)", 0, 1000 * US)]);
            let stats = [("tf_op", Value::Str("jit(step)/schedule/io_callback".into()))];
            let text = "%io_callback.18 = (f32[]) recv-done(%io_callback.17), is_host_transfer=true";
            tpu.op("io_callback.18", "recv-done", text, &stats);
            let call = if ordinal == 0 { 200 } else { 1 };
            tpu.ops(&[
                ("fusion.1", "loop fusion", 0, 700 * US),
                ("io_callback.18", "recv-done", 700 * US, call * US),
                ("all-reduce.1", "all-reduce", (700 + call) * US, (300 - call) * US),
            ]);
            tpu
        };
        let found = check(&super::RULE, (0..4).map(device).collect());
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        let finding = &found.findings[0];
        assert!((finding.speedup.unwrap() - 1.25).abs() < 0.01, "{finding:?}");
        let waits: f64 = finding.explains.iter().map(|e| e.share).sum();
        assert!((waits - 0.15).abs() < 0.01, "{finding:?}");
    }

    #[test]
    fn after_long_pauses_a_cpu_is_as_fast_as_its_fastest_ops_at_most() {
        // Four steps of a callback of 800 us and a product that takes 100 us on cold caches, 50 at best.
        let run = |callback: i64| {
            let mut cpu = Made::named("/host:CPU");
            cpu.line("tf_XLAPjRtCpuClient/1");
            for step in 0..4 {
                let stats = |op: &str| {
                    [
                        ("hlo_op", Value::Str(op.into())),
                        ("hlo_module", Value::Str("jit_step".into())),
                        ("program_id", Value::Uint(7)),
                        ("run_id", Value::Uint(step as u64)),
                    ]
                };
                let at = step * (callback + 100) * US;
                cpu.event("pure_callback.1", at, callback * US, &stats("pure_callback.1"));
                let own = if step == 2 { 50 } else { 100 };
                cpu.event("dot.1", at + callback * US, own * US, &stats("dot.1"));
            }
            let text = "HloModule jit_step, entry_computation_layout={(f32[8]{0})->f32[8]{0}}\n\nENTRY %main (p: f32[8]) -> f32[8] {\n  %p = f32[8]{0} parameter(0)\n  %pure_callback.1 = f32[8]{0} custom-call(%p), custom_call_target=\"xla_ffi_python_cpu_callback\", metadata={op_name=\"jit(step)/pure_callback\"}\n  ROOT %dot.1 = f32[8]{0} add(%pure_callback.1, %p)\n}\n";
            check(&super::RULE, vec![cpu, Made::program(text)])
        };
        let found = run(800);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        // Of 3,600 us 3,200 are callbacks, and 150 what three products take beyond the fastest.
        let speedup = found.findings[0].speedup.unwrap();
        assert!((speedup - 3600.0 / 250.0).abs() < 0.1, "{speedup} {found:?}");
        assert!(found.findings[0].ceiling.contains("cold caches"), "{found:?}");
        // Where callbacks take less than half of the time, the rest is as it is.
        let short = run(80);
        assert!(!short.findings[0].ceiling.contains("cold caches"), "{short:?}");
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
