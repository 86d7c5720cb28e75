//! Devices wait for the next launch: programs or kernels are shorter than it takes to launch them.

use crate::evidence::Evidence;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::thresholds::HOST_CAUSE;
use haloscope_report::units;
use haloscope_time::fix::Fix;
use haloscope_time::stats::quantile;

use super::host_doing::{LAUNCHES, Words};

pub(super) static RULE: Rule = Rule {
    id: "launch_bound",
    standing: Standing::Cause,
    on: ANY,
    needs: "host events of launches (`PjitFunction`, `Execute`, `cuLaunchKernel`)",
    threshold: Some(&HOST_CAUSE),
    check,
};

static ON_GPU: Fix = Fix {
    jax: "launch kernels in command buffers (--xla_gpu_enable_command_buffer), fuse small ones, or jit more of the program at once",
    tensorflow: "let XLA fuse small kernels (`tf.function(jit_compile=True)`), put several steps into one call (steps_per_execution of Keras), or give each kernel more to do (a larger batch)",
    pytorch: "launch kernels in graphs (CUDA graphs), fuse small ones (`torch.compile`), or give each kernel more to do (a larger batch)",
    any: "launch kernels in graphs (CUDA graphs), fuse small ones, or compile more of the program at once",
};

/// Where programs and not their kernels keep the device waiting.
static AHEAD: Fix = Fix {
    jax: "launch ahead of the device: do not wait for the result of each step, and put several steps into one program (lax.scan) where a launch takes longer than what it runs",
    tensorflow: "launch ahead of the device: do not read results in each step, and put several steps into one call (steps_per_execution of Keras)",
    pytorch: "launch ahead of the device: do not read tensors in each step, and put more of a step into one graph",
    any: "launch ahead of the device: do not wait for the result of each step, and put more work into one launch",
};

/// Where the gaps lie between the kernels of one program, and kernels are launched in graphs as far as they can be.
static INSIDE: Fix = Fix {
    jax: "give each kernel more to do: one op over all iterations instead of a loop of small ones (`jax.vmap`, a batched product), several iterations at a time (`unroll` of `lax.scan` and `lax.map`'s `batch_size`)",
    tensorflow: "give each kernel more to do: one op over all iterations instead of a loop of small ones (`tf.vectorized_map`, a batched product), a larger batch",
    pytorch: "give each kernel more to do: one op over all iterations instead of a loop of small ones (`torch.vmap`, a batched product), a larger batch",
    any: "give each kernel more to do: one op over all iterations instead of a loop of small ones, a larger batch",
};

static ON_TPU: Fix = Fix {
    jax: "launch fewer and larger programs: jit the whole step, put several steps into one program (lax.scan), pass fewer arguments",
    tensorflow: "launch fewer and larger programs: the whole step in one `tf.function`, several steps in one call (steps_per_execution of Keras), fewer arguments",
    pytorch: "launch fewer and larger graphs: one `torch_xla.sync()` a step, no reads of tensors within it, several steps in one graph",
    any: "launch fewer and larger programs: the whole step in one, or several steps, with fewer arguments",
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    let part = match LAUNCHES.part(evidence) {
        Ok(part) => part,
        Err(unknown) => return unknown,
    };
    let inside = evidence.of_active(evidence.host().launch_inside_ps as f64);
    let share = evidence.share_of(&part) + inside;
    let said = format!(
        "devices have nothing to run while the host is in a launch for {} of the active window",
        units::share(share)
    );
    let late = evidence.late_in_launches();
    // Where hosts go as fast as launches are, steps are too short for them: that is how the program is cut.
    let is_design = inside == 0.0 && !evidence.is_cpu() && evidence.is_at_pace();
    let mut outcome = LAUNCHES.judge(evidence, (&part, share, said), || {
        let is_gpu = evidence.is_gpu();
        let is_inside = is_gpu && inside > share - inside;
        let each = part.names.first().map(|named| named.total_ps as f64 / named.count.max(1) as f64);
        let each = each.map_or_else(String::new, |ps| format!(", which takes {}", units::duration_ps(ps)));
        Words {
            claim: if is_inside {
                format!(
                    "Devices wait for the next kernel of the same program for {} of the active window: {} kernels of {} on average are launched one after another",
                    units::share(inside),
                    kernels(evidence).0,
                    units::duration_ps(kernels(evidence).1),
                )
            } else if is_design {
                format!(
                    "Launches limit the steps: devices wait for the host's next launch{each}, for {} of the active window, although hosts launch without a pause",
                    units::share(share)
                )
            } else {
                format!(
                    "Devices wait for the host's next launch{each}, for {} of the active window",
                    units::share(share)
                )
            },
            evidence: what_ran(evidence, is_gpu, inside) + &late.map_or_else(String::new, late_words),
            recommendation: evidence.fix(match is_gpu {
                true if is_inside && launches_graphs(evidence) => &INSIDE,
                true if is_inside => &ON_GPU,
                true => &AHEAD,
                false => &ON_TPU,
            }),
            assuming: is_inside.then_some("if each kernel began where the one before it ends"),
            also: late.map(|share| ("exposed_communication", share)).into_iter().collect(),
        }
    });
    if !is_design {
        return outcome;
    }
    outcome.findings.iter_mut().for_each(|finding| finding.variant = Some("at_pace"));
    outcome.standing(Standing::Cost)
}

fn late_words(share: f64) -> String {
    format!(
        "; which host launches last changes, and the others wait for it in collectives for {} of the active window, which is included here",
        units::share(share)
    )
}

/// Whether kernels are launched in graphs.
fn launches_graphs(evidence: &Evidence<'_>) -> bool {
    evidence.host_events_named(|name| name.contains("GraphLaunch")) > 0
}

/// How long programs and kernels are, which is what launches must keep up with.
fn what_ran(evidence: &Evidence<'_>, is_gpu: bool, inside: f64) -> String {
    let programs = evidence.accounts().iter().flatten().flat_map(|account| &account.launches);
    let mut lengths: Vec<f64> = programs.map(|l| (l.end_ps - l.start_ps) as f64).collect();
    lengths.sort_by(f64::total_cmp);
    let mut ran = Vec::new();
    if !lengths.is_empty() {
        let median = units::duration_ps(quantile(&lengths, 0.5));
        ran.push(format!("{} programs with a median of {median}", lengths.len()));
    }
    if is_gpu {
        let (count, each) = kernels(evidence);
        ran.push(format!("{count} kernels of {} on average", units::duration_ps(each)));
        if inside > 0.0 {
            ran.push(format!("{} of it between kernels of one program", units::share(inside)));
        }
    }
    ran.join(", ")
}

/// How many kernels ran, and how long one takes on average, picoseconds.
fn kernels(evidence: &Evidence<'_>) -> (u64, f64) {
    let count: u64 = evidence.ops().iter().map(|op| op.occurrences).sum();
    let total: f64 = evidence.ops().iter().map(|op| op.total_ps as f64).sum();
    (count, total / count.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use crate::rule::{Standing, Verdict};
    use crate::tests::{Made, US, check};

    #[test]
    fn on_a_cpu_short_gaps_are_no_cause_and_long_ones_are() {
        // The same gaps of 7% are a cause where the device is not what runs the loop.
        assert_eq!(check(&super::RULE, vec![Made::cpu(20, 100 * US, 93 * US)]).verdict, Verdict::Clear);
        assert_eq!(
            check(&super::RULE, vec![Made::repeating(20, 100 * US, 93 * US), host(7)]).verdict,
            Verdict::Found
        );
        assert_eq!(check(&super::RULE, vec![Made::cpu(20, 100 * US, 70 * US)]).verdict, Verdict::Found);
    }

    /// Programs of 40 us, one every 100 us.
    fn tpu() -> Made {
        Made::repeating(20, 100 * US, 40 * US)
    }

    /// Each launch takes this long and ends when its program begins.
    fn host(launch: i64) -> Made {
        let mut host = Made::named("/host:CPU");
        host.line("python");
        for at in (0..20).map(|i| i * 100 * US) {
            host.event("PjitFunction(small)", at - launch * US, launch * US, &[]);
        }
        host
    }

    #[test]
    fn programs_shorter_than_their_launch_are_found() {
        let found = check(&super::RULE, vec![tpu(), host(60)]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        // 19 gaps of 60 us in 1940 us.
        let speedup = found.findings[0].speedup.unwrap();
        assert!((speedup - 1.0 / (1.0 - 1140.0 / 1940.0)).abs() < 1e-6, "{found:?}");
        assert!(found.findings[0].evidence.contains("20 programs with a median of 40.00 us"), "{found:?}");
    }

    #[test]
    fn gaps_between_the_kernels_of_one_program_are_told_as_such() {
        let mut gpu = Made::named("/device:GPU:0");
        gpu.line("Stream #1(compute)");
        for i in 0..20 {
            let name = format!("k.{i}");
            let stats = [
                ("hlo_op", haloscope_xspace::write::Value::Str(name.clone())),
                ("hlo_module", haloscope_xspace::write::Value::Str("jit_step".into())),
                ("program_id", haloscope_xspace::write::Value::Uint(7)),
            ];
            gpu.event(&name, i * 20 * US, 5 * US, &stats);
        }
        let mut host = Made::named("/host:CPU");
        host.line("python");
        host.event("PjitFunction(step)", 0, 400 * US, &[]);
        let found = check(&super::RULE, vec![gpu, host]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        let finding = &found.findings[0];
        assert!(
            finding.claim.starts_with("Devices wait for the next kernel of the same program"),
            "{finding:?}"
        );
        assert!(finding.claim.contains("20 kernels of 5.000 us on average"), "{finding:?}");
        assert!(finding.recommendation.contains("command buffers"), "{finding:?}");
        assert!(
            finding.ceiling.ends_with("if each kernel began where the one before it ends"),
            "{finding:?}"
        );
    }

    #[test]
    fn steps_as_short_as_their_launches_are_a_variant_that_costs_the_design() {
        let paced = check(&super::RULE, vec![tpu(), host(90)]);
        assert_eq!(
            (paced.standing, paced.findings[0].variant),
            (Some(Standing::Cost), Some("at_pace")),
            "{paced:?}"
        );
        let slow = check(&super::RULE, vec![tpu(), host(60)]);
        assert_eq!((slow.standing, slow.findings[0].variant), (None, None), "{slow:?}");
    }

    #[test]
    fn launches_that_take_no_time_are_clear() {
        assert_eq!(check(&super::RULE, vec![tpu(), host(1)]).verdict, Verdict::Clear);
    }

    #[test]
    fn without_host_events_nobody_can_tell() {
        assert_eq!(check(&super::RULE, vec![tpu()]).verdict, Verdict::Unknown);
    }
}
