//! SparseCores that idle while the TensorCore waits in collectives which they could carry out.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::rule::{Outcome, Rule, Standing};
use crate::thresholds::{Grade, SPARSE_CORE};
use haloscope_profile::{DeviceKind, PlaneKind};
use haloscope_report::units;
use haloscope_report::{Finding, Link, Severity, Status};
use haloscope_time::intervals::Intervals;

pub(super) static RULE: Rule = Rule {
    id: "sparse_core",
    standing: Standing::Fact,
    on: &[DeviceKind::Tpu],
    needs: "planes of SparseCores",
    threshold: Some(&SPARSE_CORE),
    check,
};

/// Collectives that SparseCores carry out where the compiler is told so.
const OFFLOADED: [&str; 3] = ["all-gather", "reduce-scatter", "all-reduce"];
/// Busier SparseCores have work of their own.
const BUSY: f64 = 0.10;

fn check(evidence: &Evidence<'_>) -> Outcome {
    let Some(busy) = busy(evidence) else {
        return Outcome::unknown("the profile shows no SparseCore: the chip has none, or none was traced");
    };
    let kinds = evidence.collectives();
    let own = kinds.kinds.iter().filter(|kind| OFFLOADED.contains(&kind.name) && kind.sync_ps > 0.0);
    let own: Vec<_> = own.collect();
    let waiting = evidence.of_active(own.iter().map(|kind| kind.sync_ps).sum());
    let said = format!(
        "SparseCores are busy for {} of the active window; synchronous collectives that they could carry out take {}",
        units::share(busy),
        units::share(waiting),
    );
    if SPARSE_CORE.grade(waiting) == Grade::Good || busy > BUSY {
        return Outcome::clear(said);
    }
    let names: Vec<String> = own
        .iter()
        .map(|kind| format!("{} {}", kind.name, units::share(evidence.of_active(kind.sync_ps))))
        .collect();
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "SparseCores idle for {} of the active window while synchronous collectives hold the TensorCore for {}",
            units::share(1.0 - busy),
            units::share(waiting),
        ),
        evidence: names.join(", "),
        saved: None,
        assuming: "the gain is that of `exposed_communication`".into(),
        recommendation: "offload these collectives: `xla_tpu_enable_sparse_core_collective_offload_all_gather` and similar flags, with the fusion of the same collective off; `audit flags` lists the conflicts".into(),
        falsifier: "with the offload on, the same collectives still run on the TensorCore".into(),
        status: Status::Derived,
        links: vec![Link::to("comm").table("kinds"), Link::to("timeline")],
    };
    let finding = Finding { severity: Severity::Info, ..finding.into_finding(evidence) };
    Outcome::found(said, vec![finding])
}

/// The share of the active window in which the SparseCores of the selected devices run ops, mean over SparseCores; `None`
/// where there are none.
fn busy(evidence: &Evidence<'_>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0.0);
    for (position, device) in evidence.selection.devices.iter().enumerate() {
        let own = evidence.profile.plane(device.plane);
        let planes = evidence.profile.planes_of(device.host);
        let is_own =
            |name: &str| name.strip_prefix(own.name.as_str()).is_some_and(|rest| rest.starts_with(' '));
        for plane in planes.filter(|plane| plane.kind == PlaneKind::SparseCore && is_own(&plane.name)) {
            let mut parts = Vec::new();
            for line in evidence.profile.lines_of(plane.id).filter(|line| line.name == "Sparse Core Ops") {
                parts.extend(evidence.profile.events(line).iter().map(|e| (e.start_ps, e.end_ps)));
            }
            let busy = Intervals::union_of(parts);
            let busy = evidence.selection.window(position).map_or(busy.clone(), |cut| busy.intersect(cut));
            sum += busy.length() as f64;
            count += 1.0;
        }
    }
    let devices = evidence.accounts().iter().flatten().count().max(1) as f64;
    (count > 0.0).then(|| evidence.of_active(sum / count * devices))
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};

    fn tensor_core() -> Made {
        let mut tpu = Made::tpu(0);
        tpu.ops(&[
            ("fusion.1", "convolution fusion", 0, 60 * US),
            ("all-gather.1", "all-gather", 60 * US, 40 * US),
        ]);
        tpu
    }

    fn sparse_core(busy: i64) -> Made {
        let mut sparse = Made::named("/device:TPU:0 SparseCore 0");
        sparse.line("Sparse Core Ops");
        sparse.event("gather.1", 0, busy * US, &[]);
        sparse
    }

    #[test]
    fn idle_sparse_cores_beside_synchronous_collectives_are_found() {
        let found = check(&super::RULE, vec![tensor_core(), sparse_core(5)]);
        assert!(found.findings[0].claim.contains("idle for 95.0%"), "{found:?}");
        assert!(found.findings[0].claim.ends_with("for 40.0%"), "{found:?}");
    }

    #[test]
    fn busy_sparse_cores_are_clear() {
        assert_eq!(check(&super::RULE, vec![tensor_core(), sparse_core(50)]).verdict, Verdict::Clear);
    }

    #[test]
    fn without_sparse_cores_nobody_can_tell() {
        assert_eq!(check(&super::RULE, vec![tensor_core()]).verdict, Verdict::Unknown);
    }
}
