//! Devices have no program to run while data moves between host and device.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::host_events::Doing;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::thresholds::{Grade, HOST_CAUSE};
use haloscope_report::Status;
use haloscope_report::units;

pub(super) static RULE: Rule = Rule {
    id: "large_transfers",
    standing: Standing::Cause,
    on: ANY,
    needs: "host events of transfers (`TransferToDevice`, `DevicePut`)",
    threshold: Some(&HOST_CAUSE),
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    let host = evidence.host();
    if !host.has_events {
        return Outcome::unknown("no host thread has an event: nobody knows when data moved");
    }
    let part = host.part(Doing::Transfer);
    let share = evidence.share_of(&part);
    let said = format!(
        "devices have no program while hosts move data to or from them for {} of the active window",
        units::share(share)
    );
    if HOST_CAUSE.grade(share) == Grade::Good {
        return Outcome::clear(said);
    }
    let name = part.names.first().map_or("a transfer", |named| named.name.as_str());
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "Devices wait for {} of the active window while data moves between host and device, mostly in `{name}`",
            units::share(share)
        ),
        evidence: evidence.words_of(&part),
        saved: Some(share),
        assuming: "if transfers ran beside programs".into(),
        lever: "put the next batch on the device while this one is computed; send fewer and larger arrays, narrower types, and keep on the device what does not change".into(),
        falsifier: "the step is no shorter with input that is already on the device".into(),
        status: Status::Derived,
        links: evidence.links_of(&part),
    };
    Outcome::found(said, vec![finding.into_finding(evidence)])
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
        assert!((speedup - 1.0 / (1.0 - 1800.0 / 9700.0)).abs() < 1e-6, "{found:?}");
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
