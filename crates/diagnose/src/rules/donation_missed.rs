//! Inputs that stay alive beside outputs of the same shape and layout: memory that donation would free.

use std::collections::BTreeSet;

use crate::evidence::Evidence;
use crate::evidence::copies::Purpose;
use crate::rule::{Outcome, Rule, Standing};
use crate::thresholds::{DONATION, Grade, MEMORY_FULL};
use haloscope_hlo::Module;
use haloscope_profile::DeviceKind;
use haloscope_program::allocator::allocators;
use haloscope_program::capacity::{self, is_on_device};
use haloscope_program::donation::{self, Missed};
use haloscope_program::heap::Buffers;
use haloscope_program::program_memory::ProgramMemory;
use haloscope_report::units;
use haloscope_report::{Finding, Link, Severity, Status};

pub(super) static RULE: Rule = Rule {
    id: "donation_missed",
    standing: Standing::Fact,
    on: &[DeviceKind::Tpu, DeviceKind::Gpu],
    needs: "the HLO of the programs, which says what is donated, and the size of the device's memory",
    threshold: Some(&DONATION),
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    let ids: BTreeSet<u64> = evidence.ops().iter().filter_map(|op| op.meta.program_id).collect();
    let programs: Vec<&Module> =
        ids.into_iter().filter_map(|id| Some(&evidence.program(id)?.module)).collect();
    if programs.is_empty() {
        return Outcome::unknown("the profile does not have the programs, so what is donated is unknown");
    }
    let hosts: BTreeSet<_> = evidence.selection.devices.iter().map(|device| device.host).collect();
    let capacities =
        hosts.iter().filter_map(|host| capacity::of_host(evidence.profile, evidence.scope, *host));
    let Some(capacity) = capacities.map(|capacity| capacity.bytes).min().filter(|bytes| *bytes > 0) else {
        return Outcome::unknown("how much memory the device has is not known");
    };
    let of_memory = |bytes: i64| bytes as f64 / capacity as f64;
    let least = (DONATION.good * capacity as f64) as i64;
    let sum = |missed: &[Missed]| units::sum(missed.iter().map(|one| one.bytes));
    let all = programs.into_iter().map(|module| (module, donation::of_program(module, least)));
    let Some((module, missed)) = all.max_by_key(|(_, missed)| sum(missed)) else {
        return Outcome::clear("no program ran");
    };
    let bytes = sum(&missed);
    if DONATION.grade(of_memory(bytes)) == Grade::Good {
        return Outcome::clear(format!(
            "inputs that are not donated and have the shape and layout of an output take under {} of the device's memory",
            units::share(DONATION.good)
        ));
    }
    let said = format!(
        "{} of inputs ({} of the device's memory) are not donated and have the shape and layout of an output",
        units::bytes(bytes as f64),
        units::share(of_memory(bytes))
    );
    let used = peak(evidence, module);
    let is_full = MEMORY_FULL.grade(of_memory(used)) != Grade::Good;
    let carried_on = units::sum(missed.iter().filter(|one| one.is_carried_on).map(|one| one.bytes));
    let mut words: Vec<String> = missed.iter().take(3).map(word).collect();
    if missed.len() > words.len() {
        words.push(format!("{} more", missed.len() - words.len()));
    }
    let copies = copies(evidence);
    if copies > 0.0 {
        words.push(format!(
            "copies that keep parameters which are not donated take {} of the active window (rule `defensive copies`)",
            units::share(copies)
        ));
    }
    words.push(format!(
        "in use at the peak: {} of {} at least",
        units::bytes(used as f64),
        units::bytes(capacity as f64)
    ));
    let finding = Finding {
        id: RULE.id,
        severity: if is_full { Severity::Warning } else { Severity::Info },
        claim: format!(
            "{} of inputs of {} stay in memory beside outputs of the same shape and layout, because they are not donated{}",
            units::bytes(bytes as f64),
            module.name,
            if is_full { format!(", and {} of the device's memory is in use", units::share(of_memory(used))) } else { String::new() },
        ),
        evidence: words.join("; "),
        ceiling: format!(
            "{} less memory at the peak; {} of this is certain, where the output is the input changed in place. By itself it saves no time",
            units::bytes(bytes as f64),
            units::bytes(carried_on as f64)
        ),
        recommendation: "`jax.jit(..., donate_argnums=...)` or `donate_argnames` for what the call replaces, such as parameters and optimiser state".into(),
        falsifier: "the caller uses the inputs again after the call".into(),
        status: if DONATION.grade(of_memory(carried_on)) == Grade::Good { Status::Estimated } else { Status::Derived },
        links: vec![Link::to("memory diagnose").row("checks", "donation missed")],
        ..Finding::default()
    };
    let outcome = Outcome::found(said, vec![finding]);
    if is_full { outcome.standing(Standing::Danger) } else { outcome }
}

fn word(one: &Missed) -> String {
    let how = if one.is_carried_on { "an output carries it on" } else { "an output has its shape" };
    format!("{} {} ({}, {how})", one.name, one.shape, units::bytes(one.bytes as f64))
}

/// The share of the active window in copies that only keep a parameter which is not donated.
fn copies(evidence: &Evidence<'_>) -> f64 {
    let movers = evidence.movers();
    let own = movers.iter().filter(
        |mover| matches!(&mover.purpose, Purpose::Defensive { why, .. } if *why == "parameter not donated"),
    );
    evidence.of_active(own.map(|mover| mover.time_ps).sum())
}

/// Bytes in use at the peak, at least: what the program needs, or what an allocator had handed out.
fn peak(evidence: &Evidence<'_>, module: &Module) -> i64 {
    let assigned = Buffers::new(module).map(|buffers| ProgramMemory::new(&buffers, 0).peak_bytes());
    let hosts: BTreeSet<_> = evidence.selection.devices.iter().map(|device| device.host).collect();
    let of_host = |host| {
        let all = allocators(evidence.profile, host);
        let devices = all.iter().filter(|allocator| is_on_device(&allocator.name));
        devices.flat_map(|allocator| allocator.events.iter().map(|event| event.in_use_bytes())).max()
    };
    let handed_out = hosts.into_iter().filter_map(of_host).max();
    let arrays = donation::in_and_out_bytes(module);
    [assigned, handed_out, Some(arrays)].into_iter().flatten().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use crate::rule::{Outcome, Standing, Verdict};
    use crate::tests::{Made, US, check};

    fn run() -> Made {
        let mut tpu = Made::tpu(0);
        tpu.programs(&[("jit_step(7)", 0, 1000 * US)]);
        tpu.ops(&[("n", "loop fusion", 0, 1000 * US)]);
        tpu
    }

    /// A step that replaces a parameter of so many rows of 64 KiB; a v5e has 16 GiB.
    fn program(rows: u64, layout: &str, alias: &str) -> Made {
        Made::program(&format!(
            "HloModule jit_step{alias}

ENTRY e {{
  p = f32[{rows},16384]{{1,0}} parameter(0), metadata={{op_name=\"params['w']\"}}
  ROOT n = f32[{rows},16384]{{{layout}}} negate(p)
}}
"
        ))
    }

    fn asked(rows: u64, layout: &str, alias: &str) -> Outcome {
        check(&super::RULE, vec![run(), program(rows, layout, alias)])
    }

    const DONATED: &str = ", input_output_alias={ {}: (0, {}, may-alias) }";

    #[test]
    fn a_large_input_with_the_shape_of_an_output_is_a_fact() {
        // 1 GiB.
        let found = asked(1 << 14, "1,0", "");
        assert_eq!((found.verdict, found.standing), (Verdict::Found, None), "{found:?}");
        let finding = &found.findings[0];
        assert!(finding.claim.starts_with("1.000 GiB of inputs of jit_step"), "{finding:?}");
        assert!(finding.evidence.contains("params['w']") && finding.speedup.is_none(), "{finding:?}");
    }

    #[test]
    fn where_memory_is_nearly_full_it_comes_first() {
        // 7.5 GiB in and as much out.
        let found = asked(15 << 13, "1,0", "");
        assert_eq!((found.verdict, found.standing), (Verdict::Found, Some(Standing::Danger)), "{found:?}");
    }

    #[test]
    fn donated_small_or_other_layouts_are_clear() {
        for (rows, layout, alias) in [(1 << 14, "1,0", DONATED), (1 << 11, "1,0", ""), (1 << 14, "0,1", "")] {
            let found = asked(rows, layout, alias);
            assert_eq!(found.verdict, Verdict::Clear, "{rows} {layout} {alias}: {found:?}");
        }
    }

    #[test]
    fn without_the_program_or_the_memorys_size_nobody_can_tell() {
        assert_eq!(check(&super::RULE, vec![run()]).verdict, Verdict::Unknown);
        let mut gpu = Made::named("/device:GPU:0");
        gpu.line("Stream #1");
        let stats = [
            ("hlo_op", haloscope_xspace::write::Value::Str("n".into())),
            ("program_id", haloscope_xspace::write::Value::Uint(7)),
        ];
        gpu.event("n", 0, 1000 * US, &stats);
        let found = check(&super::RULE, vec![gpu, program(1 << 14, "1,0", "")]);
        assert_eq!(found.verdict, Verdict::Unknown, "{found:?}");
    }
}
