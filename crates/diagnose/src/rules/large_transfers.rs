//! Devices have no program to run while data moves between host and device.

use crate::evidence::Evidence;
use crate::evidence::host_events::Puts;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::thresholds::HOST_CAUSE;
use haloscope_report::units;
use haloscope_time::account::Class;

use super::host_doing::{TRANSFERS, Words};

pub(super) static RULE: Rule = Rule {
    id: "large_transfers",
    standing: Standing::Cause,
    on: ANY,
    needs: "host events of transfers (`TransferToDevice`, `DevicePut`)",
    threshold: Some(&HOST_CAUSE),
    check,
};

/// Fewer calls are no loop.
const SEVERAL: u64 = 3;
/// This part of the calls must transfer for it to be each call's.
const MOST: f64 = 0.8;

fn check(evidence: &Evidence<'_>) -> Outcome {
    let part = match TRANSFERS.part(evidence) {
        Ok(part) => part,
        Err(unknown) => return unknown,
    };
    let share = evidence.share_of(&part);
    let said = format!(
        "devices have no program while hosts move data to or from them for {} of the active window",
        units::share(share)
    );
    TRANSFERS.judge(evidence, (&part, share, said), || {
        let again = again(evidence.host().puts.as_ref());
        Words {
            claim: format!(
                "Devices wait for {} of the active window while data moves between host and device, mostly in `{}`{}",
                units::share(share),
                part.names.first().map_or("a transfer", |named| named.name.as_str()),
                again.as_ref().map_or_else(String::new, |again| format!("; {again}")),
            ),
            evidence: String::new(),
            recommendation: if again.is_some() {
                "put arguments that stay the same on the device once (`jax.device_put`, `jnp.asarray`) and pass what that gives; put the next batch there while this one is computed"
            } else {
                "put the next batch on the device while this one is computed; send fewer and larger arrays, narrower types, and keep on the device what does not change"
            }
            .into(),
            assuming: None,
            // What is put there in each call is copied in each call.
            also: again.iter().map(|_| ("host_offload", copies_to_device(evidence))).collect(),
        }
    })
}

/// What copies from the host's memory take on the devices while nothing else runs, a share of the active window.
fn copies_to_device(evidence: &Evidence<'_>) -> f64 {
    let all = evidence.offloads();
    let time = |ops: &mut dyn Iterator<Item = i64>| units::sum(ops) as f64;
    let to_device =
        |name: &str| ["H2D", "HtoD", "HToD", "HostToDevice"].iter().any(|part| name.contains(part));
    let own = time(&mut all.iter().filter(|op| to_device(&op.meta.name)).map(|op| op.self_ps));
    let share = evidence.share(Class::HostTransfer) * evidence.offloaded_share();
    share * own / time(&mut all.iter().map(|op| op.self_ps)).max(1.0)
}

/// Whether these are not the puts of a few calls.
fn is_in_each_call(puts: &Puts) -> bool {
    puts.calls.1 >= SEVERAL && puts.calls.1 as f64 >= MOST * puts.calls.0 as f64
}

/// Whether a program of this name, such as `jit_stage`, is given arrays of the host in each call.
pub(super) fn are_put_for(evidence: &Evidence<'_>, module: &str) -> bool {
    let is_call_of = |puts: &Puts| {
        let function = puts.call.strip_prefix("PjitFunction(").and_then(|rest| rest.strip_suffix(')'));
        function.is_some_and(|function| module.strip_prefix("jit_") == Some(function))
    };
    evidence.host().puts.as_ref().is_some_and(|puts| is_in_each_call(puts) && is_call_of(puts))
}

/// The function that is given arrays of the host again and again, in words: a compiled function puts on the device itself only
/// what is not there yet, NumPy arrays and Python's numbers.
fn again(puts: Option<&Puts>) -> Option<String> {
    let puts = puts.filter(|puts| is_in_each_call(puts))?;
    Some(format!(
        "`{}` puts {:.0} of its arguments on the device in {} of {} calls: they are arrays or numbers of the host each time",
        puts.call, puts.arguments, puts.calls.1, puts.calls.0
    ))
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};

    fn tpu() -> Made {
        Made::repeating(10, 1000 * US, 700 * US)
    }

    /// A transfer of 200 us that begins this long after each program does.
    fn host(at: i64) -> Made {
        let mut host = Made::named("/host:CPU");
        host.line("python");
        for start in (0..10).map(|i| i * 1000 * US) {
            host.event("tpu::System::TransferToDevice", start + at * US, 200 * US, &[]);
        }
        host
    }

    #[test]
    fn transfers_between_programs_are_found() {
        let found = check(&super::RULE, vec![tpu(), host(750)]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        let speedup = found.findings[0].speedup.unwrap();
        // Of nine gaps of 300 us transfers have 200; the rest goes with them.
        assert!((speedup - 1.0 / (1.0 - 2700.0 / 9700.0)).abs() < 1e-6, "{found:?}");
        assert!(found.said.ends_with("18.6% of the active window"), "{}", found.said);
    }

    /// Calls that begin before each program, and puts of 150 us inside of so many of them.
    fn calls(puts: i64) -> Made {
        let mut host = Made::named("/host:CPU");
        host.line("python");
        for i in 0..10 {
            let at = (i * 1000 + 740) * US;
            host.event("PjitFunction(step)", at, 240 * US, &[]);
            let (name, start) = if i < puts { ("DevicePut", at + 20 * US) } else { ("other", at) };
            host.event(name, start, 150 * US, &[]);
        }
        host
    }

    #[test]
    fn arguments_that_every_call_transfers_are_told() {
        let found = check(&super::RULE, vec![tpu(), calls(10)]);
        assert!(
            found.findings[0]
                .claim
                .contains("`PjitFunction(step)` puts 1 of its arguments on the device in 10 of 10"),
            "{found:?}"
        );
        assert!(found.findings[0].recommendation.contains("device_put"), "{found:?}");
        // Near miss: some calls only, and puts beside the calls.
        for host in [calls(6), host(750)] {
            let found = check(&super::RULE, vec![tpu(), host]);
            assert_eq!(found.verdict, Verdict::Found, "{found:?}");
            assert!(!found.findings[0].claim.contains("arguments"), "{found:?}");
        }
    }

    #[test]
    fn transfers_beside_programs_are_clear() {
        assert_eq!(check(&super::RULE, vec![tpu(), host(300)]).verdict, Verdict::Clear);
    }

    #[test]
    fn without_host_events_nobody_can_tell() {
        assert_eq!(check(&super::RULE, vec![tpu()]).verdict, Verdict::Unknown);
    }
}
