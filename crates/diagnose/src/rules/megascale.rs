//! Devices wait for transfers between slices, over the hosts' network.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::rule::{Outcome, Rule, Standing};
use crate::thresholds::{Grade, HOST_TRANSFER};
use haloscope_profile::DeviceKind;
use haloscope_report::units;
use haloscope_report::{Link, Status};
use haloscope_time::account::Class;
use haloscope_time::transfers;

pub(super) static RULE: Rule = Rule {
    id: "megascale",
    standing: Standing::Cause,
    on: &[DeviceKind::Tpu],
    needs: "a run over several TPU slices: hosts' messages (`MegaScale:`), host send and recv ops",
    threshold: Some(&HOST_TRANSFER),
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    let mut hosts: Vec<_> = evidence.selection.devices.iter().map(|device| device.host).collect();
    hosts.dedup();
    hosts.retain(|host| transfers::recorded(evidence.profile, *host));
    if hosts.is_empty() {
        return if evidence.host().has_events {
            Outcome::not_applicable("no host sent messages between slices")
        } else {
            Outcome::unknown(
                "no host events were recorded, so whether hosts sent messages between slices is unknown",
            )
        };
    }
    let ops = evidence.between_slices();
    let share = evidence.share(Class::HostTransfer) * evidence.of_transfers(&ops);
    let said = format!(
        "sends and receives between slices take {} of the active window while nothing else runs",
        units::share(share)
    );
    let Some(first) = ops.first().filter(|_| HOST_TRANSFER.grade(share) != Grade::Good) else {
        return Outcome::clear(said);
    };
    let mut all: Vec<_> = hosts.iter().flat_map(|host| transfers::of(evidence.profile, *host)).collect();
    all.sort_by(|a, b| (b.stall_ns, &a.rendezvous).cmp(&(a.stall_ns, &b.rendezvous)));
    let longest = all.first().map_or_else(String::new, |transfer| {
        format!(
            "; the longest stall is {} of {}, which had {} of slack",
            units::duration_ps(transfer.stall_ns as f64 * 1e3),
            transfer.rendezvous,
            units::duration_ps(transfer.slack_ns as f64 * 1e3)
        )
    });
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "Devices wait for other slices for {} of the active window, first of all in {}",
            units::share(share),
            first.meta.name
        ),
        evidence: format!("{said}; {} transfers paired{longest}", all.len()),
        saved: Some(share),
        assuming: "if transfers between slices were hidden".into(),
        recommendation: "start the transfer earlier or give it more compute to hide behind, send less between slices (gradients in bf16, fewer and larger messages), and look for a slice that is late".into(),
        falsifier: "the step is no shorter on one slice with the same work per device".into(),
        status: Status::Derived,
        links: vec![
            Link::to("megascale").table("collectives"),
            Link::to("ops").row("ops", first.meta.name.as_ref()),
            evidence.timeline_of(first),
        ],
    };
    Outcome::found(said, vec![finding.into_finding(evidence)])
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};

    fn tpu(wait: i64) -> Made {
        let mut tpu = Made::tpu(0);
        tpu.programs(&[("jit_step(7)", 0, 1000 * US)]);
        tpu.ops(&[
            ("fusion.1", "loop fusion", 0, (1000 - wait) * US),
            ("recv-done.1", "host recv-done", (1000 - wait) * US, wait * US),
        ]);
        tpu
    }

    fn host(event: &str) -> Made {
        let mut host = Made::named("/host:CPU");
        host.line("python");
        host.event(event, 0, 10 * US, &[]);
        host
    }

    #[test]
    fn waits_for_another_slice_are_found() {
        let found = check(&super::RULE, vec![tpu(200), host("MegaScale: Communication Transport Receive")]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        assert!((found.findings[0].speedup.unwrap() - 1.25).abs() < 1e-6, "{found:?}");
        // The same time is not host offload.
        let planes = vec![tpu(200), host("MegaScale: Communication Transport Receive")];
        assert_eq!(check(&super::super::host_offload::RULE, planes).verdict, Verdict::Clear);
    }

    #[test]
    fn short_waits_are_clear_and_one_slice_is_not_asked() {
        let found = check(&super::RULE, vec![tpu(10), host("MegaScale: Communication Transport Receive")]);
        assert_eq!(found.verdict, Verdict::Clear, "{found:?}");
        assert_eq!(check(&super::RULE, vec![tpu(200), host("train")]).verdict, Verdict::NotApplicable);
    }

    #[test]
    fn without_host_events_nobody_can_tell() {
        assert_eq!(check(&super::RULE, vec![tpu(200)]).verdict, Verdict::Unknown);
    }
}
