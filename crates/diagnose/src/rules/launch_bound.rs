//! Devices wait for the next launch: programs or kernels are shorter than it takes to launch them.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::host_events::Doing;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::thresholds::{Grade, HOST_CAUSE};
use haloscope_profile::DeviceKind;
use haloscope_report::Status;
use haloscope_report::units;
use haloscope_time::cure::Cure;
use haloscope_time::stats::quantile;

pub(super) static RULE: Rule = Rule {
    id: "launch_bound",
    standing: Standing::Cause,
    on: ANY,
    needs: "host events of launches (`PjitFunction`, `Execute`, `cuLaunchKernel`)",
    threshold: Some(&HOST_CAUSE),
    check,
};

static ON_GPU: Cure = Cure {
    jax: "launch kernels in command buffers (--xla_gpu_enable_command_buffer), fuse small ones, or jit more of the program at once",
    tensorflow: "let XLA fuse small kernels (`tf.function(jit_compile=True)`), put several steps into one call (steps_per_execution of Keras), or give each kernel more to do (a larger batch)",
    pytorch: "launch kernels in graphs (CUDA graphs), fuse small ones (`torch.compile`), or give each kernel more to do (a larger batch)",
    any: "launch kernels in graphs (CUDA graphs), fuse small ones, or compile more of the program at once",
};

static ON_TPU: Cure = Cure {
    jax: "launch fewer and larger programs: jit the whole step, put several steps into one program (lax.scan), pass fewer arguments",
    tensorflow: "launch fewer and larger programs: the whole step in one `tf.function`, several steps in one call (steps_per_execution of Keras), fewer arguments",
    pytorch: "launch fewer and larger graphs: one `torch_xla.sync()` a step, no reads of tensors within it, several steps in one graph",
    any: "launch fewer and larger programs: the whole step in one, or several steps, with fewer arguments",
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    let host = evidence.host();
    if !host.has_events {
        return Outcome::unknown("no host events were recorded, so when launches began is unknown");
    }
    let part = host.part(Doing::Launch);
    let inside = evidence.of_active(host.launch_inside_ps as f64);
    let share = evidence.share_of(&part) + inside;
    let said = format!(
        "devices have nothing to run while the host is in a launch for {} of the active window",
        units::share(share)
    );
    if HOST_CAUSE.grade(share) == Grade::Good {
        return Outcome::clear(said);
    }
    let programs = evidence.accounts().iter().flatten().flat_map(|account| &account.launches);
    let mut lengths: Vec<f64> = programs.map(|l| (l.end_ps - l.start_ps) as f64).collect();
    lengths.sort_by(f64::total_cmp);
    let is_gpu = evidence.selection.devices.iter().any(|device| device.kind == DeviceKind::Gpu);
    let mut ran = Vec::new();
    if !lengths.is_empty() {
        let median = units::duration_ps(quantile(&lengths, 0.5));
        ran.push(format!("{} programs with a median of {median}", lengths.len()));
    }
    if is_gpu {
        let count: u64 = evidence.ops().iter().map(|op| op.occurrences).sum();
        let total: f64 = evidence.ops().iter().map(|op| op.total_ps as f64).sum();
        ran.push(format!(
            "{count} kernels of {} on average",
            units::duration_ps(total / count.max(1) as f64)
        ));
        if inside > 0.0 {
            ran.push(format!("{} of it between kernels of one program", units::share(inside)));
        }
    }
    let each = part.names.first().map(|named| named.total_ps as f64 / named.count.max(1) as f64);
    let each = each.map_or_else(String::new, |ps| format!(", which takes {}", units::duration_ps(ps)));
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "Devices wait for the host's next launch{each}, for {} of the active window",
            units::share(share)
        ),
        evidence: format!("{}; {}", ran.join(", "), evidence.words_of(&part)),
        saved: Some(share),
        assuming: "if launches were ahead of the device".into(),
        lever: if is_gpu { evidence.cure(&ON_GPU) } else { evidence.cure(&ON_TPU) },
        falsifier: "the gaps stay as long with programs or kernels of twice the size".into(),
        status: Status::Derived,
        links: evidence.links_of(&part),
    };
    Outcome::found(said, vec![finding.into_finding(evidence)])
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};

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
    fn launches_that_take_no_time_are_clear() {
        assert_eq!(check(&super::RULE, vec![tpu(), host(1)]).verdict, Verdict::Clear);
    }

    #[test]
    fn without_host_events_nobody_can_tell() {
        assert_eq!(check(&super::RULE, vec![tpu()]).verdict, Verdict::Unknown);
    }
}
