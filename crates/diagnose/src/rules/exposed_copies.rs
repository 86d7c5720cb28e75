//! Waits for asynchronous copies and slices on the device, as far as bandwidth does not explain them.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::work::Roof;
use crate::rule::{Outcome, Rule, Standing};
use crate::thresholds::{EXPOSED_COPIES, Grade};
use haloscope_profile::DeviceKind;
use haloscope_report::units;
use haloscope_report::{Link, Status};
use haloscope_time::account::{Class, Group};
use haloscope_time::op_meta::is_container;
use haloscope_time::ops::Op;

pub(super) static RULE: Rule = Rule {
    id: "exposed_copies",
    standing: Standing::Cost,
    on: &[DeviceKind::Tpu],
    needs: "the bytes of all ops and the HBM's bandwidth, to tell late copies from a full memory",
    threshold: Some(&EXPOSED_COPIES),
    check,
};

/// What bytes cost at least, where no op of the run shows what can be reached.
const USUAL_REACH: f64 = 0.85;

fn check(evidence: &Evidence<'_>) -> Outcome {
    let share = evidence.share(Class::AsyncWait);
    let said = format!("waits for asynchronous copies take {} of the active window", units::share(share));
    if EXPOSED_COPIES.grade(share) == Grade::Good {
        return Outcome::clear(said);
    }
    let Some(needed) = needed(evidence) else {
        return Outcome::unknown(format!("{said}; bytes or bandwidth are not known"));
    };
    // What all bytes need is spent anyway; of the busy time no more than the rest can go.
    let busy = evidence.of_active(evidence.times().sum(|class| class.group() != Group::Idle) as f64);
    let saved = share.min(busy - needed.share);
    let said = format!(
        "{said}; at {} of the bandwidth, which the best ops reach, all bytes need {}",
        units::share(needed.reach),
        units::share(needed.share),
    );
    if EXPOSED_COPIES.grade(saved) == Grade::Good {
        return Outcome::clear(format!("{said}: the memory is busy, the copies are not late"));
    }
    let mut waits: Vec<&Op<'_>> =
        evidence.ops().iter().filter(|op| Class::of(&op.meta) == Class::AsyncWait).collect();
    waits.sort_by_key(|op| std::cmp::Reverse(op.self_ps));
    let names: Vec<String> = waits
        .iter()
        .take(3)
        .map(|op| format!("{} {}", op.meta.name, units::share(evidence.of_active(op.self_ps as f64))))
        .collect();
    let mut links = vec![Link::to("hlo counters").table("copies")];
    links.extend(waits.first().map(|op| Link::to("ops").row("ops", op.meta.name.as_ref())));
    links.extend(waits.first().map(|op| evidence.timeline_of(op)));
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "Waits for copies between HBM and on-chip memory take {} of the active window; bandwidth does not explain {} of it",
            units::share(share),
            units::share(saved),
        ),
        evidence: format!(
            "{said}; {} ops wait: {}",
            waits.len(),
            names.join(", "),
        ),
        saved: Some(saved),
        assuming: "if every copy arrived in time".into(),
        recommendation: "start the copies earlier: more on-chip memory for prefetches (scoped VMEM limit), fewer small slices, weights in the order of their use; or read fewer bytes: narrower weights, larger batch".into(),
        falsifier: "these waits follow the bytes: with weights of half the width they halve".into(),
        status: Status::Derived,
        links,
    };
    Outcome::found(said, vec![finding.into_finding(evidence)])
}

struct Needed {
    /// Share of the active window that all bytes need.
    share: f64,
    /// Share of the bandwidth that they are counted at.
    reach: f64,
}

/// The time that the bytes of all ops need; unknown where no asynchronous copy says its bytes.
fn needed(evidence: &Evidence<'_>) -> Option<Needed> {
    let bandwidth = evidence.peaks.hbm?.rate;
    let counted = || evidence.ops().iter().filter(|op| !is_container(&op.meta.category));
    let of_copies = counted().filter(|op| Class::of(&op.meta) == Class::AsyncWait);
    of_copies.filter_map(|op| op.hbm_bytes).find(|bytes| *bytes > 0.0)?;
    let bytes: f64 = counted().filter_map(|op| op.hbm_bytes).sum();
    let pieces = evidence.pieces();
    let reaches = pieces.iter().filter(|piece| piece.roof == Roof::Hbm && piece.reach.peers > 0);
    let reach = reaches.map(|piece| piece.reach.share).reduce(f64::max).unwrap_or(USUAL_REACH);
    let share = evidence.of_active(bytes / bandwidth / reach.max(0.01) * 1e12);
    Some(Needed { share, reach })
}

#[cfg(test)]
mod tests {
    use haloscope_xspace::write::Value;

    use crate::rule::Verdict;
    use crate::tests::{MS, Made, check};

    /// A loop that waits 4 of 10 ms for a copy of so many bytes.
    fn run(bytes: Option<f64>) -> Made {
        let mut tpu = Made::tpu(0);
        if let Some(bytes) = bytes {
            tpu.op("copy-start.1", "copy-start", "", &[("bytes_accessed", Value::Double(bytes))]);
        }
        tpu.programs(&[("jit_step(7)", 0, 10 * MS)]);
        tpu.ops(&[
            ("copy-start.1", "copy-start", 0, MS / 100),
            ("fusion.1", "loop fusion", MS / 100, 6 * MS - MS / 100),
            ("copy-done.1", "copy-done", 6 * MS, 4 * MS),
        ]);
        tpu
    }

    #[test]
    fn a_late_copy_is_found_with_what_bandwidth_leaves() {
        // 819 MB take 1.18 ms of 10 at 85% of the bandwidth: all of the wait could go.
        let found = check(&super::RULE, vec![run(Some(0.819e9))]);
        assert_eq!(found.verdict, Verdict::Found);
        assert!((found.findings[0].speedup.unwrap() - 1.0 / 0.5990).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn a_full_memory_is_no_late_copy() {
        let found = check(&super::RULE, vec![run(Some(6.8e9))]);
        assert_eq!(found.verdict, Verdict::Clear, "{found:?}");
        assert!(found.said.contains("the memory is busy"));
    }

    #[test]
    fn without_bytes_nobody_can_tell() {
        assert_eq!(check(&super::RULE, vec![run(None)]).verdict, Verdict::Unknown);
    }
}
