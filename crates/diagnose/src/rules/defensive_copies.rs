//! Copies that only keep one value from another's writes.

use super::copies::{group, list, standing};
use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::copies::{LateReader, Mover, Purpose};
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
    let Purpose::Defensive { why, detail, is_proven, late } = &first.purpose else {
        return Outcome::clear(said);
    };
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
                    "; behind these programs no other runs for {} of the active window though the loop holds none back, most likely while the buffers are freed",
                    units::share(freed)
                )
            } else {
                String::new()
            }
        ),
        saved: Some((own.share + freed).min(1.0)),
        assuming: "if no value had to be kept".into(),
        recommendation: recommendation(why, late.as_ref().or_else(|| late_reader(why, &own.movers))),
        falsifier:
            "the compiler still makes the copy when the buffer is donated and the later read is removed"
                .into(),
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

/// Who reads a value of which another copy is made for the same reason, from the largest on.
fn late_reader<'m>(why: &str, movers: &'m [Mover<'_, '_>]) -> Option<&'m LateReader> {
    movers.iter().find_map(|mover| match &mover.purpose {
        Purpose::Defensive { why: other, late, .. } if *other == why => late.as_ref(),
        _ => None,
    })
}

/// As long as somebody reads the old value, donating it does not take the copy away.
fn recommendation(why: &str, late: Option<&LateReader>) -> String {
    let donate = if why == "parameter not donated" {
        "donate the arguments that are not used again (`donate_argnums`), and "
    } else {
        ""
    };
    match late {
        Some(LateReader { name, updates: true }) => format!(
            "{donate}take what `{name}` reads from the value that is written, or read it before the update: it reads the old array and makes the update again, so that the array cannot be changed in place"
        ),
        Some(LateReader { name, .. }) => {
            format!("{donate}let `{name}` read the value before the op that overwrites it")
        }
        None if why == "parameter not donated" => {
            "donate the arguments that are not used again: `donate_argnums`".into()
        }
        None if why == "loop state" => "do not read the old value in the loop after the update".into(),
        None => {
            "move the last read of the value before the op that overwrites it, or donate the buffer".into()
        }
    }
}

/// Copies of this many bytes are of buffers that go back to the system as soon as they are free, for which a host needs time: glibc's
/// largest threshold for memory of its own.
const LARGE: f64 = 32.0 * 1024.0 * 1024.0;

/// The share of the active window in which no program runs behind those that copy a large buffer, though the traced loop of a processor calls
/// nothing, or waits for the next: the buffer, or what was copied, is freed there.
fn freed(evidence: &Evidence<'_>, movers: &[Mover<'_, '_>]) -> f64 {
    let is_large = |mover: &&Mover<'_, '_>| {
        let each = mover.op.bytes.unwrap_or(0.0) / mover.op.occurrences.max(1) as f64;
        // It is read and written.
        each >= 2.0 * LARGE
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
    /// calls nothing, or sorts, or waits for the programs that it has launched.
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
        assert!(
            (gain(48, Some("$api.py:2479 block_until_ready")) - 1.0 / 0.3).abs() < 0.3,
            "{:?}",
            undonated(48, Some("$api.py:2479 block_until_ready"))
        );
        for (mib, then) in [(1, None), (48, Some("$numpy sort"))] {
            assert!((gain(mib, then) - 1.0 / 0.7).abs() < 0.05, "{mib} {then:?}: {}", gain(mib, then));
        }
    }

    /// What the compiler makes of a cache in which one row is written and then read: donated, or not.
    fn cache(is_donated: bool) -> crate::rule::Outcome {
        let (head, first) = if is_donated {
            (", input_output_alias={ {0}: (0, {}, may-alias) }", "f32[4096,4096]{1,0} copy(cache)")
        } else {
            ("", "f32[4096,4096]{1,0} bitcast(cache)")
        };
        let program = format!(
            "HloModule m, is_scheduled=true{head}

read {{
  a = f32[4096,4096]{{1,0}} parameter(0)
  r = f32[1,4096]{{1,0}} parameter(1)
  i = s32[] parameter(2)
  z = s32[] constant(0)
  u = f32[4096,4096]{{1,0}} dynamic-update-slice(a, r, i, z)
  ROOT s = f32[1,4096]{{1,0}} dynamic-slice(u, i, z), dynamic_slice_sizes={{1,4096}}
}}

write {{
  b = f32[4096,4096]{{1,0}} parameter(0)
  q = f32[1,4096]{{1,0}} parameter(1)
  j = s32[] parameter(2)
  y = s32[] constant(0)
  ROOT v = f32[4096,4096]{{1,0}} dynamic-update-slice(b, q, j, y)
}}

ENTRY e {{
  cache = f32[4096,4096]{{1,0}} parameter(0), metadata={{op_name=\"cache\"}}
  row = f32[1,4096]{{1,0}} parameter(1)
  at = s32[] parameter(2)
  once = {first}
  kept = f32[4096,4096]{{1,0}} copy(once)
  reads = f32[1,4096]{{1,0}} fusion(once, row, at), kind=kLoop, calls=read
  writes = f32[4096,4096]{{1,0}} fusion(kept, row, at), kind=kLoop, calls=write
  ROOT t = (f32[4096,4096]{{1,0}}, f32[1,4096]{{1,0}}) tuple(writes, reads)
}}
"
        );
        let mut tpu = Made::tpu(0);
        tpu.programs(&[("jit_step(7)", 0, 1000 * US)]);
        let mut ops =
            vec![("reads", "loop fusion", 0, 400 * US), ("kept", "data formatting", 400 * US, 200 * US)];
        ops.push(("once", "data formatting", 600 * US, 400 * US));
        tpu.ops(&ops[..if is_donated { 3 } else { 2 }]);
        check(&super::RULE, vec![tpu, Made::program(&program)])
    }

    #[test]
    fn a_read_of_the_updated_array_that_keeps_the_copy_is_named() {
        // Both copies of a donated cache are there for one read.
        let (donated, kept) = (cache(true), cache(false));
        let gain = |outcome: &crate::rule::Outcome| outcome.findings[0].speedup.unwrap();
        assert!((gain(&donated) - 1.0 / 0.4).abs() < 1e-9, "{donated:?}");
        assert!((gain(&kept) - 1.0 / (2.0 / 3.0)).abs() < 1e-9, "{kept:?}");
        let words = |outcome: &crate::rule::Outcome| outcome.findings[0].recommendation.clone();
        assert!(
            words(&donated).starts_with("take what `reads` reads from the value that is written"),
            "{donated:?}"
        );
        assert!(words(&kept).contains("`donate_argnums`), and take what `reads` reads"), "{kept:?}");
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
