//! Ops at their roof: no loss, and worth knowing, because only less work makes them faster.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::names::{common, counted};
use crate::evidence::work::{Piece, Roof};
use crate::rule::{Outcome, Rule, Standing};
use crate::thresholds::{Grade, NEAR_ROOF};
use haloscope_profile::DeviceKind;
use haloscope_report::units;
use haloscope_report::{Finding, Link, Severity, Status};
use haloscope_time::roofline::MOST_OF_PEAK;

const NEEDS: &str = "FLOPs and bytes of ops, and the device's peaks";

pub(super) static MEMORY: Rule = Rule {
    id: "memory_bound_near_roof",
    standing: Standing::Fact,
    on: &[DeviceKind::Tpu, DeviceKind::Gpu],
    needs: NEEDS,
    threshold: Some(&NEAR_ROOF),
    check: memory,
};

pub(super) static COMPUTE: Rule = Rule {
    id: "compute_bound_near_roof",
    standing: Standing::Fact,
    on: &[DeviceKind::Tpu, DeviceKind::Gpu],
    needs: NEEDS,
    threshold: Some(&NEAR_ROOF),
    check: compute,
};

/// On the roof for all purposes.
const NEAR: f64 = 0.7;

fn memory(evidence: &Evidence<'_>) -> Outcome {
    check(evidence, &MEMORY, Roof::Hbm)
}

fn compute(evidence: &Evidence<'_>) -> Outcome {
    check(evidence, &COMPUTE, Roof::Matrix)
}

fn check(evidence: &Evidence<'_>, rule: &Rule, roof: Roof) -> Outcome {
    if evidence.pieces().is_empty() {
        return Outcome::unknown("FLOPs and bytes of ops, or the device's peaks, are not known");
    }
    // Above the peak the counts are wrong: nobody knows how near the op is.
    let is_near = |piece: &&Piece| piece.roof == roof && (NEAR..=MOST_OF_PEAK).contains(&piece.efficiency());
    let near: Vec<&Piece> = evidence.pieces().iter().filter(is_near).collect();
    let time: f64 = near.iter().map(|piece| piece.time_ps).sum();
    let floor: f64 = near.iter().map(|piece| piece.floor_ps).sum();
    let share = evidence.of_active(time);
    let said = format!(
        "{} of the active window is in ops at {} or more of {}",
        units::share(share),
        units::share(NEAR),
        roof.words()
    );
    let ops: Vec<_> = near.iter().filter_map(|piece| evidence.ops().get(piece.op)).collect();
    let Some(first) = ops.first().filter(|_| NEAR_ROOF.grade(share) != Grade::Good) else {
        let is_above = |piece: &&Piece| piece.roof == roof && piece.efficiency() > MOST_OF_PEAK;
        let above: f64 = evidence.pieces().iter().filter(is_above).map(|piece| piece.time_ps).sum();
        if NEAR_ROOF.grade(evidence.of_active(time + above)) != Grade::Good {
            return Outcome::unknown(format!(
                "{} of the active window is in ops above {}: their FLOPs or bytes are counted too high, or caches serve part of them",
                units::share(evidence.of_active(above)),
                roof.words()
            ));
        }
        return Outcome::clear(said);
    };
    // Without their bytes these ops would take the time of their FLOPs.
    let flops: f64 = near.iter().map(|piece| piece.flops_ps).sum();
    let (saved, assuming, recommendation) = if roof == Roof::Hbm {
        let recommendation = "move fewer bytes: fuse producers into them, use narrower types, use larger batches over the same weights, do not write a value that is read only once";
        (Some(evidence.of_active(time - flops)), "if only their FLOPs took time", recommendation)
    } else {
        let recommendation = "use fewer FLOPs, or FLOPs of a narrower type: 8-bit products if the model tolerates them, no recomputation of what fits in memory, causal masks that skip blocks";
        (None, "this is a limit, not a loss", recommendation)
    };
    let finding = Cause {
        id: rule.id,
        claim: format!(
            "{} of the active window runs at {} of {}: {}",
            units::share(share),
            units::share(floor / time.max(1.0)),
            roof.words(),
            common(ops.iter().copied()),
        ),
        evidence: format!(
            "{}; FLOPs alone would take {} of the active window",
            counted(near.len() as u64, "op"),
            units::share(evidence.of_active(flops))
        ),
        saved,
        assuming: assuming.into(),
        recommendation: recommendation.into(),
        falsifier: match roof {
            Roof::Hbm => "they take just as long with half the bytes (a 16-bit copy of the operands)",
            _ => "they take just as long with half the FLOPs (half the batch)",
        }
        .into(),
        status: Status::Derived,
        links: vec![Link::to("roofline").row("ops", first.meta.name.as_ref()), evidence.timeline_of(first)],
    };
    let finding = Finding { severity: Severity::Info, ..finding.into_finding(evidence) };
    Outcome::found(said, vec![finding])
}

#[cfg(test)]
mod tests {
    use haloscope_xspace::write::Value;

    use crate::rule::Verdict;
    use crate::tests::{MS, Made, check};

    fn run(flops: f64, bytes: f64) -> Made {
        let mut tpu = Made::tpu(0);
        let stats = [("flops", Value::Double(flops)), ("bytes_accessed", Value::Double(bytes))];
        tpu.op("fusion.1", "convolution fusion", "", &stats);
        tpu.programs(&[("jit_step(7)", 0, 10 * MS)]);
        tpu.ops(&[("fusion.1", "", 0, 10 * MS)]);
        tpu
    }

    #[test]
    fn ops_at_the_roofs_are_facts() {
        // 8.19 GB/s would be all of 10 ms; 1.97 TFLOP too.
        let found = check(&super::MEMORY, vec![run(0.197e12, 7.371e9)]);
        assert!(found.findings[0].claim.contains("at 90.0% of HBM bandwidth"), "{found:?}");
        assert!((found.findings[0].speedup.unwrap() - 10.0).abs() < 1e-6);
        let found = check(&super::COMPUTE, vec![run(1.773e12, 1e9)]);
        assert!(found.findings[0].claim.contains("at 90.0% of peak FLOP/s"), "{found:?}");
        assert_eq!(found.findings[0].speedup, None);
    }

    #[test]
    fn ops_far_from_them_are_not() {
        assert_eq!(check(&super::MEMORY, vec![run(1e11, 4e9)]).verdict, Verdict::Clear);
        assert_eq!(check(&super::COMPUTE, vec![run(1e11, 4e9)]).verdict, Verdict::Clear);
    }

    #[test]
    fn without_bytes_nobody_can_tell() {
        let mut tpu = Made::tpu(0);
        tpu.ops(&[("kernel.1", "custom-call", 0, MS)]);
        assert_eq!(check(&super::MEMORY, vec![tpu]).verdict, Verdict::Unknown);
    }
}
