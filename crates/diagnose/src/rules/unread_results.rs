//! Values that are computed and that nobody reads: all positions of a sequence where the last one is taken.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::names::common;
use crate::evidence::unread::Unread;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::thresholds::{Grade, UNREAD};
use haloscope_report::units;
use haloscope_report::{Link, Status};

pub(super) static RULE: Rule = Rule {
    id: "unread_results",
    standing: Standing::Cause,
    on: ANY,
    needs: "the HLO of the programs, which says what is read of each value",
    threshold: Some(&UNREAD),
    check,
};

/// Where less of an op is unread, slicing earlier is not worth it.
const LEAST_PART: f64 = 0.25;

fn check(evidence: &Evidence<'_>) -> Outcome {
    if !evidence.has_programs() {
        return Outcome::unknown(
            "the profile does not have the programs, so what is read of each value is unknown",
        );
    }
    let mut found = evidence.unread();
    found.retain(|one| one.part >= LEAST_PART);
    let time: f64 = found.iter().map(|one| one.op.self_ps as f64 * one.part).sum();
    let share = evidence.of_active(time * evidence.compute_scale());
    let said = format!("values that nobody reads take {} of the active window", units::share(share));
    let Some(first) = found.first().filter(|_| UNREAD.grade(share) != Grade::Good) else {
        return Outcome::clear(said);
    };
    let Unread { op, part, shape, read: (read, of) } = first;
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "Of {shape} only {read:.0} of {of} positions are read: computing the others takes {} of the active window, in {}",
            units::share(share),
            common(found.iter().map(|one| one.op))
        ),
        evidence: format!(
            "about {} of what {} computes, by its instructions, is read by nobody: a slice follows it",
            units::share(*part),
            op.meta.name
        ),
        saved: Some(share),
        assuming: "if the slice were taken before this work".into(),
        recommendation: "take the slice before the product that makes the values: for the next token take the last position of the hidden states, and multiply only that by the vocabulary".into(),
        falsifier: "with the slice taken earlier the step takes just as long".into(),
        status: Status::Estimated,
        links: vec![Link::to("ops").row("ops", op.meta.name.as_ref()), evidence.timeline_of(op)],
    };
    Outcome::found(said, vec![finding.into_finding(evidence)])
}

#[cfg(test)]
mod tests {
    use crate::rule::{Outcome, Verdict};
    use crate::tests::{Made, US, check};

    /// Logits of 64 positions and their softmax, of which `taken` is read; 900 of 1000 us are the product.
    fn run(taken: &str) -> Outcome {
        run_behind("", taken)
    }

    fn run_behind(before: &str, taken: &str) -> Outcome {
        let program = format!(
            "HloModule m

most {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] maximum(a, b)
}}

soft {{
  p = f32[256,800]{{1,0}} parameter(0)
  v = f32[4,64,800]{{2,1,0}} bitcast(p)
  i = f32[] constant(-inf)
  m = f32[4,64]{{1,0}} reduce(v, i), dimensions={{2}}, to_apply=most
  b = f32[4,64,800]{{2,1,0}} broadcast(m), dimensions={{0,1}}
  s = f32[4,64,800]{{2,1,0}} subtract(v, b)
  {before}
  ROOT r = {taken}
}}

ENTRY e {{
  x = f32[256,32]{{1,0}} parameter(0)
  w = f32[32,800]{{1,0}} parameter(1)
  d = f32[256,800]{{1,0}} dot(x, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  ROOT o = f32[4,1,800]{{2,1,0}} fusion(d), kind=kLoop, calls=soft
}}
"
        );
        let mut tpu = Made::tpu(0);
        tpu.programs(&[("jit_step(7)", 0, 1000 * US)]);
        tpu.ops(&[("d", "convolution", 0, 900 * US), ("o", "loop fusion", 900 * US, 100 * US)]);
        check(&super::RULE, vec![tpu, Made::program(&program)])
    }

    #[test]
    fn logits_of_which_one_position_is_read_are_found() {
        let found = run("f32[4,1,800]{2,1,0} slice(s), slice={[0:4], [63:64], [0:800]}");
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        let finding = &found.findings[0];
        assert!(finding.claim.starts_with("Of f32[256,800] only 4 of 256 positions are read"), "{finding:?}");
        // 63 of 64 of both ops, about.
        assert!(finding.speedup.is_some_and(|speedup| (20.0..70.0).contains(&speedup)), "{finding:?}");
    }

    #[test]
    fn what_is_read_whole_is_clear() {
        for taken in [
            // Most of it; all of it; a sum over the positions, of which a slice is taken behind it.
            "f32[4,60,800]{2,1,0} slice(s), slice={[0:4], [0:60], [0:800]}",
            "f32[4,64,800]{2,1,0} negate(s)",
            "f32[4,800]{1,0} reduce(s, i), dimensions={1}, to_apply=most",
        ] {
            assert_eq!(run(taken).verdict, Verdict::Clear, "{taken}");
        }
        // Parts that are taken one by one, as queries, keys and values of one product are.
        let part = |name: &str, from: i64| {
            format!(
                "{name} = f32[4,32,800]{{2,1,0}} slice(s), slice={{[0:4], [{from}:{}], [0:800]}}",
                from + 32
            )
        };
        let parts = format!("{}\n  {}", part("y", 0), part("z", 32));
        let both = "f32[4,64,800]{2,1,0} concatenate(y, z), dimensions={1}";
        assert_eq!(run_behind(&parts, both).verdict, Verdict::Clear);
    }

    #[test]
    fn without_the_program_nobody_can_tell() {
        let mut tpu = Made::tpu(0);
        tpu.ops(&[("d", "convolution", 0, 900 * US)]);
        assert_eq!(check(&super::RULE, vec![tpu]).verdict, Verdict::Unknown);
    }
}
