//! Copies that only keep one value from another's writes.

use super::copies::{group, list, standing};
use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::copies::{Mover, Purpose};
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::thresholds::OP_WORTH;
use haloscope_report::units;
use haloscope_report::{Link, Status};

pub(super) static RULE: Rule = Rule {
    id: "defensive_copies",
    standing: Standing::Cost,
    on: ANY,
    needs: "the HLO of the programs, which gives the reason for a copy",
    threshold: Some(&OP_WORTH),
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    let movers = evidence.movers();
    if !movers.is_empty() && movers.iter().all(|mover| mover.purpose == Purpose::Unknown) {
        return Outcome::unknown("the profile does not have the HLO of the programs that copy");
    }
    let own = group(evidence, movers, |purpose| matches!(purpose, Purpose::Defensive { .. }));
    let said = format!("such copies take {} of the active window", units::share(own.share));
    let Some(first) = own.movers.first().filter(|_| own.share >= OP_WORTH.good) else {
        return Outcome::clear(said);
    };
    let Purpose::Defensive { why, detail, is_proven } = &first.purpose else { return Outcome::clear(said) };
    let freed = freed(evidence, &own.movers);
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "{} of the active window goes to copies that only keep a value from being overwritten: {}",
            units::share(own.share),
            list(evidence, &own),
        ),
        evidence: format!(
            "{}: {why}{}{}",
            first.op.meta.name,
            if detail.is_empty() { String::new() } else { format!(" ({detail})") },
            if freed > 0.0 {
                format!(
                    "; behind these programs the loop calls nothing for {} of the active window, most likely while the old buffers are freed",
                    units::share(freed)
                )
            } else {
                String::new()
            }
        ),
        saved: Some((own.share + freed).min(1.0)),
        assuming: "if no value had to be kept".into(),
        recommendation: match *why {
            "parameter not donated" => "donate the arguments that are not used again: `donate_argnums`",
            "loop state" => "do not read the old value in the loop after the update",
            _ => "move the last read of the value before the op that overwrites it, or donate the buffer",
        }
        .into(),
        falsifier:
            "the compiler still makes the copy when the buffer is donated or the later read is removed".into(),
        status: if *is_proven && freed == 0.0 { Status::Derived } else { Status::Estimated },
        links: vec![
            Link::to("hlo counters").row("copies", first.op.meta.name.as_ref()),
            evidence.timeline_of(first.op),
        ],
    };
    let mut finding = finding.into_finding(evidence);
    if freed > 0.0 {
        finding = finding.explaining("host_bound", freed);
    }
    Outcome::found(said, vec![finding]).standing(standing(evidence, own.share))
}

/// Copies of this many bytes are of buffers that go back to the system as soon as they are free, for which a host needs time: glibc's
/// largest threshold for memory of its own.
const LARGE: f64 = 32.0 * 1024.0 * 1024.0;

/// The share of the active window in which the traced loop of a processor calls nothing behind programs that copy a large argument, for it
/// was not donated: its old buffer is freed there.
fn freed(evidence: &Evidence<'_>, movers: &[Mover<'_, '_>]) -> f64 {
    let is_large = |mover: &&Mover<'_, '_>| {
        let each = mover.op.bytes.unwrap_or(0.0) / mover.op.occurrences.max(1) as f64;
        // It is read and written.
        each >= 2.0 * LARGE
            && matches!(&mover.purpose, Purpose::Defensive { why, .. } if *why == "parameter not donated")
    };
    let programs: Vec<u64> =
        movers.iter().filter(is_large).filter_map(|mover| mover.op.meta.program_id).collect();
    evidence.dark_behind(|program| programs.contains(&program))
}

#[cfg(test)]
mod tests {
    use haloscope_xspace::write::Value;

    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};

    const PROGRAM: &str = "HloModule m, is_scheduled=true

ENTRY e {
  p = f32[64,32]{1,0} parameter(0)
  kept = f32[64,32]{1,0} copy(p)
  k = f32[64,32]{1,0} custom-call(kept), custom_call_target=\"tpu_custom_call\", output_to_operand_aliasing={{}: (0, {})}
  ROOT r = f32[64,32]{1,0} add(k, p)
}
";

    fn run() -> Made {
        let mut tpu = Made::tpu(0);
        tpu.programs(&[("jit_step(7)", 0, 1000 * US)]);
        tpu.ops(&[("k", "custom-call", 0, 900 * US), ("kept", "data formatting", 900 * US, 100 * US)]);
        tpu
    }

    #[test]
    fn a_copy_before_a_kernel_that_writes_in_place_is_named() {
        let found = check(&super::RULE, vec![run(), Made::program(PROGRAM)]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        assert!(found.findings[0].claim.contains("kept"), "{found:?}");
        assert!((found.findings[0].speedup.unwrap() - 1.0 / 0.9).abs() < 1e-9);
        // Nobody else claims that time.
        let rest = check(&super::super::data_formatting::RULE, vec![run(), Made::program(PROGRAM)]);
        assert_eq!(rest.verdict, Verdict::Clear);
    }

    /// Twenty rounds of a processor: a program of 600 us, half of it a copy of a parameter of so many MiB, and 400 us in which the loop
    /// calls nothing, or sorts.
    fn undonated(mib: i64, then: Option<&str>) -> crate::rule::Outcome {
        let program = format!(
            "HloModule m, is_scheduled=true

ENTRY e {{
  p = f32[{mib},262144]{{1,0}} parameter(0)
  r = f32[1,262144]{{1,0}} parameter(1)
  i = s32[] parameter(2)
  z = s32[] constant(0)
  kept = f32[{mib},262144]{{1,0}} copy(p)
  ROOT k = f32[{mib},262144]{{1,0}} dynamic-update-slice(kept, r, i, z)
}}
"
        );
        let mut cpu = Made::named("/host:CPU");
        cpu.line("python");
        let starts = || (0..20).map(|n| n * 1000 * US);
        for at in starts() {
            cpu.event("$train.py:9 step", at, 1000 * US, &[]);
            cpu.event("PjitFunction(step)", at + US, US, &[]);
            if let Some(then) = then {
                cpu.event(then, at + 605 * US, 390 * US, &[]);
            }
        }
        cpu.line("tf_XLAPjRtCpuClient/1");
        for (run, at) in (0..).zip(starts()) {
            for (op, from) in [("kept", 2), ("k", 302)] {
                let stats = [
                    ("hlo_op", Value::Str(op.into())),
                    ("hlo_module", Value::Str("jit_step".into())),
                    ("program_id", Value::Uint(7)),
                    ("run_id", Value::Uint(run)),
                ];
                cpu.event(op, at + from * US, 300 * US, &stats);
            }
        }
        check(&super::RULE, vec![cpu, Made::program(&program)])
    }

    #[test]
    fn a_large_buffer_that_is_freed_while_the_loop_calls_nothing_goes_with_its_copy() {
        let gain = |mib, then| undonated(mib, then).findings[0].speedup.unwrap();
        // 300 of 1000 us are copies, 400 are dark.
        assert!((gain(48, None) - 1.0 / 0.3).abs() < 0.2, "{}", gain(48, None));
        // Near misses: a small buffer; a loop that does something else then.
        for (mib, then) in [(1, None), (48, Some("$numpy sort"))] {
            assert!((gain(mib, then) - 1.0 / 0.7).abs() < 0.05, "{mib} {then:?}: {}", gain(mib, then));
        }
    }

    #[test]
    fn a_program_without_such_copies_is_clear() {
        let plain = "HloModule m\n\nENTRY e {\n  p = f32[64,32]{1,0} parameter(0)\n  ROOT kept = f32[64,32]{1,0} negate(p)\n}\n";
        assert_eq!(check(&super::RULE, vec![run(), Made::program(plain)]).verdict, Verdict::Clear);
    }

    #[test]
    fn without_the_program_nobody_can_tell() {
        assert_eq!(check(&super::RULE, vec![run()]).verdict, Verdict::Unknown);
    }
}
