//! Where the FLOPs that were not done went: parts that add up to the active window.

use super::unknown_flops::is_uncounted;
use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::rule::{Outcome, Rule, Standing};
use crate::thresholds::{Grade, MFU};
use haloscope_profile::DeviceKind;
use haloscope_report::units;
use haloscope_report::{Finding, Link, Severity, Status};
use haloscope_time::account::{Class, Group};
use haloscope_time::ops::Op;

pub(super) static RULE: Rule = Rule {
    id: "low_mfu_explained",
    standing: Standing::Fact,
    on: &[DeviceKind::Tpu, DeviceKind::Gpu],
    needs: "FLOPs of ops and the device's peaks; bytes, to tell limits apart",
    threshold: Some(&MFU),
    check,
};

/// A part of the active window, by what keeps the matrix unit from working.
struct Part {
    words: &'static str,
    share: f64,
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    let Some(peak) = evidence.peaks.flops.map(|peak| peak.rate).filter(|rate| *rate > 0.0) else {
        return Outcome::unknown("the device's peak FLOP/s are not known");
    };
    if evidence.ops().iter().all(|op| op.flops.is_none()) {
        return Outcome::unknown("no op says its FLOPs");
    }
    let parts = parts(evidence, peak);
    let used = parts.first().map_or(0.0, |part| part.share);
    let words = |parts: &[Part]| -> String {
        let one = |part: &Part| format!("{} {}", part.words, units::share(part.share));
        parts.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    let said = format!("of the active window: {}", words(&parts));
    if MFU.grade(used) == Grade::Good {
        return Outcome::clear(said);
    }
    let mut lost = parts.into_iter().skip(1).filter(|part| part.share > 0.0).collect::<Vec<_>>();
    lost.sort_by(|a, b| b.share.total_cmp(&a.share));
    let largest = lost.first().map_or("", |part| part.words);
    let finding = Cause {
        id: RULE.id,
        claim: format!("{} of the peak FLOP/s are used; most of the rest is {largest}", units::share(used)),
        evidence: format!("the rest of the active window: {}", words(&lost)),
        saved: None,
        assuming: "see the individual causes".into(),
        recommendation: "start with the largest part".into(),
        falsifier: "FLOPs counted by hand differ from the sum over ops: kernels without estimates, or products counted with their padding".into(),
        status: Status::Derived,
        links: vec![Link::to("compute mfu"), Link::to("roofline"), Link::to("idle").table("waterfall")],
    };
    let finding = Finding { severity: Severity::Info, ..finding.into_finding(evidence) };
    Outcome::found(said, vec![finding])
}

/// The parts: first what the FLOPs would take at peak, then the rest; together the active window.
fn parts(evidence: &Evidence<'_>, peak: f64) -> Vec<Part> {
    let times = evidence.times();
    let of = |class: Class| evidence.of_active(times.of(class) as f64);
    let scale = evidence.compute_scale();
    let is_compute = |op: &&Op<'_>| Class::of(&op.meta) == Class::Compute;
    let at_peak = |op: &Op<'_>, time_ps: f64| (op.flops.unwrap_or(0.0) / peak * 1e12).clamp(0.0, time_ps);
    let (mut used, mut kernels) = (0.0, 0.0);
    for op in evidence.ops().iter().filter(is_compute) {
        let time_ps = (op.self_ps as f64 * scale).max(0.0);
        used += at_peak(op, time_ps);
        if is_uncounted(evidence, op) {
            kernels += time_ps;
        }
    }
    // Of ops whose least time is known: what bytes and the vector unit need beyond that, and what nothing explains.
    let (mut other_limits, mut unexplained) = (0.0, 0.0);
    for piece in evidence.pieces() {
        let Some(op) = evidence.ops().get(piece.op) else { continue };
        let floor_ps = piece.floor_ps.min(piece.time_ps);
        other_limits += (floor_ps - at_peak(op, piece.time_ps)).max(0.0);
        unexplained += piece.time_ps - floor_ps.max(at_peak(op, piece.time_ps));
    }
    let [used, kernels, other_limits, unexplained] =
        [used, kernels, other_limits, unexplained].map(|ps| evidence.of_active(ps));
    let idle =
        times.sum(|class| class.group() == Group::Idle && !matches!(class, Class::Before | Class::After));
    let rest = of(Class::Compute) - used - kernels - other_limits - unexplained;
    vec![
        Part { words: "FLOPs at peak", share: used },
        Part { words: "bytes and vector work at their limits", share: other_limits },
        Part { words: "compute that no limit explains", share: unexplained },
        Part { words: "kernels without counted FLOPs", share: kernels },
        Part { words: "compute with unknown limits", share: rest.max(0.0) },
        Part { words: "exposed communication", share: of(Class::Communication) },
        Part {
            words: "copies and waits for them",
            share: of(Class::Copy) + of(Class::AsyncWait) + of(Class::HostTransfer) + of(Class::Infeed),
        },
        Part { words: "programs' own overhead", share: of(Class::Overhead) },
        Part { words: "idle", share: evidence.of_active(idle as f64) },
    ]
}

#[cfg(test)]
mod tests {
    use haloscope_xspace::write::Value;

    use crate::evidence::Evidence;
    use crate::rule::Verdict;
    use crate::tests::{MS, Made, check};
    use haloscope_report::scope::Scope;
    use haloscope_time::select::Scoped;

    /// Of 10 ms: a product of so many FLOPs 6 ms, an element-wise op 1 ms, a collective 2 ms, 1 ms idle.
    fn run(flops: f64) -> Made {
        let mut tpu = Made::tpu(0);
        let stats = |flops: f64, bytes: f64| {
            [("flops", Value::Double(flops)), ("bytes_accessed", Value::Double(bytes))]
        };
        tpu.op("fusion.1", "convolution fusion", "", &stats(flops, 1e8));
        tpu.op("fusion.2", "loop fusion", "", &stats(1e6, 0.6e9));
        tpu.programs(&[("jit_step(7)", 0, 10 * MS)]);
        tpu.ops(&[
            ("fusion.1", "", 0, 6 * MS),
            ("all-reduce.1", "all-reduce", 7 * MS, 2 * MS),
            ("fusion.2", "", 9 * MS, MS),
        ]);
        tpu
    }

    #[test]
    fn the_parts_add_up() {
        // 0.394 TFLOP take 2 ms at peak.
        let found = check(&super::RULE, vec![run(0.394e12)]);
        let finding = &found.findings[0];
        assert!(finding.claim.starts_with("20.0% of the peak"), "{finding:?}");
        assert!(finding.claim.ends_with("compute that no limit explains"), "{finding:?}");
        let profile = crate::tests::profile_of(vec![run(0.394e12)]);
        let asked = Scoped::new(&profile, &Scope::default());
        let evidence = Evidence::new(&asked, None).unwrap();
        let sum: f64 = super::parts(&evidence, 197e12).iter().map(|part| part.share).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    }

    #[test]
    fn a_busy_matrix_unit_is_clear() {
        assert_eq!(check(&super::RULE, vec![run(1.18e12)]).verdict, Verdict::Clear);
    }

    #[test]
    fn without_flops_nobody_can_tell() {
        let mut tpu = Made::tpu(0);
        tpu.ops(&[("kernel.1", "custom-call", 0, MS)]);
        assert_eq!(check(&super::RULE, vec![tpu]).verdict, Verdict::Unknown);
    }
}
