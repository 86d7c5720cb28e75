//! Kernels that lose with larger tiles although their memory has room: of two runs, registers spill in one.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::rule::{Outcome, Rule, Standing};
use crate::thresholds::{GAP, Grade};
use haloscope_profile::DeviceKind;
use haloscope_program::scoped_memory;
use haloscope_report::units;
use haloscope_report::{Link, Status};
use haloscope_time::account::Class;
use haloscope_time::ops::Op;

pub(super) static RULE: Rule = Rule {
    id: "spill_cliff",
    standing: Standing::Cause,
    on: &[DeviceKind::Tpu],
    needs: "a second run of the same kernel with different tiles, the HLO of both, and FLOPs and bytes",
    threshold: Some(&GAP),
    check,
};

/// On-chip memory of a TensorCore's vector unit where the profile does not say: 128 MiB, of which this part is full.
const FULL_BYTES: f64 = 0.9 * 128.0 * 1024.0 * 1024.0;
/// FLOPs of one kernel in both runs differ by no more than this.
const SAME_WORK: f64 = 0.02;

/// A kernel in a run.
struct Kernel<'e, 'p> {
    op: &'e Op<'p>,
    /// Bytes of vector memory that its program's kernels set aside at most.
    memory: f64,
    /// Time of one execution, and the part of it that no limit explains, picoseconds.
    time_ps: f64,
    gap_ps: f64,
    flops: f64,
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    let Some(other) = evidence.other else {
        return Outcome::not_applicable("only one run was given: add a second one with different tiles");
    };
    let Ok(second) = Evidence::new(other, None) else {
        return Outcome::unknown("the second run has nothing in this scope");
    };
    let (own, others) = (kernels(evidence), kernels(&second));
    if own.is_empty() || others.is_empty() {
        return Outcome::unknown(
            "no kernel of both runs says its FLOPs, its bytes and the memory that it sets aside",
        );
    }
    let is_same = |a: &Kernel<'_, '_>, b: &Kernel<'_, '_>| {
        a.op.meta.name == b.op.meta.name && (a.flops - b.flops).abs() <= SAME_WORK * a.flops.max(b.flops)
    };
    let pairs = own.iter().filter_map(|a| Some((a, others.iter().find(|b| is_same(a, b))?)));
    let mut said = "no kernel does the same work in both runs with different tiles".to_owned();
    let mut findings = Vec::new();
    for (a, b) in pairs.filter(|(a, b)| a.memory != b.memory) {
        let grown = (a.gap_ps - b.gap_ps) / a.time_ps.max(1.0);
        said = format!(
            "{}: {} of vector memory and a gap of {} here, {} and {} in the other run",
            a.op.meta.name,
            units::bytes(a.memory),
            units::duration_ps(a.gap_ps),
            units::bytes(b.memory),
            units::duration_ps(b.gap_ps),
        );
        if a.memory <= b.memory || a.memory >= FULL_BYTES || GAP.grade(grown) == Grade::Good {
            continue;
        }
        let saved = (a.time_ps - b.time_ps) * a.op.occurrences as f64;
        let finding = Cause {
            id: RULE.id,
            claim: format!(
                "{} loses {} an execution with larger tiles, although its memory has room",
                a.op.meta.name,
                units::duration_ps(a.gap_ps - b.gap_ps),
            ),
            evidence: said.clone(),
            saved: Some(evidence.of_active(saved)).filter(|share| *share > 0.0),
            assuming: "if it ran as fast as with the smaller tiles".into(),
            recommendation: "go back to the smaller tile, or split the body so that fewer values live in registers at once".into(),
            falsifier: "the compiler's schedule of the larger tile shows no spills and fills".into(),
            status: Status::Derived,
            links: vec![Link::to("ops").row("ops", a.op.meta.name.as_ref()), evidence.timeline_of(a.op)],
        };
        findings.push(finding.into_finding(evidence));
    }
    Outcome::found(said, findings)
}

/// The kernels of a run of which FLOPs, bytes and memory are known.
fn kernels<'e, 'p>(evidence: &'e Evidence<'p>) -> Vec<Kernel<'e, 'p>> {
    let kernel = |piece: &crate::evidence::work::Piece| {
        let op = evidence.ops().get(piece.op)?;
        let is_kernel = Class::of(&op.meta) == Class::Compute && op.meta.category.starts_with("custom-call");
        let runs = op.occurrences.max(1) as f64;
        let decoded = is_kernel.then(|| evidence.program(op.meta.program_id?)).flatten()?;
        let (memory, _) = scoped_memory::largest(&decoded.module, VMEM)?;
        Some(Kernel {
            op,
            memory: memory as f64,
            time_ps: piece.time_ps / runs,
            gap_ps: (piece.time_ps - piece.floor_ps) / runs,
            flops: op.flops? / runs,
        })
    };
    evidence.pieces().iter().filter_map(kernel).collect()
}

/// The number that layouts have for vector memory.
const VMEM: i64 = 1;

#[cfg(test)]
mod tests {
    use haloscope_xspace::write::Value;

    use super::*;
    use crate::rule::Verdict;
    use crate::tests::{MS, Made, profile_of};
    use haloscope_report::scope::Scope;
    use haloscope_time::select::Scoped;

    /// A kernel of 0.197 TFLOP (1 ms at peak) that takes so long with tiles of so many bytes.
    fn run(long: i64, tile: u64) -> Vec<Made> {
        let mut tpu = Made::tpu(0);
        let stats = [("flops", Value::Double(0.197e12)), ("bytes_accessed", Value::Double(1e6))];
        tpu.op("k", "custom-call", "", &stats);
        tpu.programs(&[("jit_step(7)", 0, long)]);
        tpu.ops(&[("k", "", 0, long)]);
        let program = format!(
            "HloModule m\n\nENTRY e {{\n  p = f32[64,32]{{1,0}} parameter(0)\n  ROOT k = f32[64,32]{{1,0}} custom-call(p), custom_call_target=\"tpu_custom_call\", backend_config={{\"used_scoped_memory_configs\":[{{\"memory_space\":\"1\",\"offset\":\"0\",\"size\":\"{tile}\"}}]}}\n}}\n"
        );
        vec![tpu, Made::program(&program)]
    }

    fn look(own: Vec<Made>, other: Option<Vec<Made>>) -> Outcome {
        let (profile, other) = (profile_of(own), other.map(profile_of));
        let scope = Scope::default();
        let other = other.as_ref().map(|other| Scoped::new(other, &scope));
        let own = Scoped::new(&profile, &scope);
        let evidence = Evidence::new(&own, other.as_ref()).unwrap();
        RULE.apply(&evidence).outcome
    }

    #[test]
    fn larger_tiles_with_a_larger_gap_are_found() {
        let found = look(run(4 * MS, 16 << 20), Some(run(2 * MS, 4 << 20)));
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        assert!((found.findings[0].speedup.unwrap() - 2.0).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn larger_tiles_that_pay_and_full_memories_are_clear() {
        assert_eq!(look(run(2 * MS, 16 << 20), Some(run(4 * MS, 4 << 20))).verdict, Verdict::Clear);
        assert_eq!(look(run(4 * MS, 127 << 20), Some(run(2 * MS, 4 << 20))).verdict, Verdict::Clear);
    }

    #[test]
    fn without_the_programs_nobody_can_tell_and_one_run_is_no_comparison() {
        let bare = |mut planes: Vec<Made>| planes.drain(..1).collect::<Vec<_>>();
        let found = look(bare(run(4 * MS, 16 << 20)), Some(bare(run(2 * MS, 4 << 20))));
        assert_eq!(found.verdict, Verdict::Unknown);
        assert_eq!(look(run(MS, 1 << 20), None).verdict, Verdict::NotApplicable);
    }
}
