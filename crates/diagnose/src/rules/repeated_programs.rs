//! A program computes what another one of the same step computes too: a loss, or metrics, from a forward pass of their own.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::shared_work::Contained;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::thresholds::{Grade, REPEATED_PROGRAMS};
use haloscope_report::units;
use haloscope_report::{Link, Status};
use haloscope_time::fix::Fix;

pub(super) static RULE: Rule = Rule {
    id: "repeated_programs",
    standing: Standing::Cause,
    on: ANY,
    needs: "the HLO of the programs, with the names of their arguments",
    threshold: Some(&REPEATED_PROGRAMS),
    check,
};

static ONCE: Fix = Fix {
    jax: "return from one program what several compute: `jax.value_and_grad(loss, has_aux=True)` gives loss, metrics and gradients of one forward pass",
    tensorflow: "compute loss, metrics and gradients in one `tf.function`, from one forward pass",
    pytorch: "compute loss, metrics and gradients from one forward pass: keep its outputs in place of calling the model again",
    any: "return from one program what several compute",
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    let launches = || evidence.accounts().iter().flatten().flat_map(|account| &account.launches);
    if !launches().any(|launch| launch.program_id.is_some_and(|id| evidence.program(id).is_some())) {
        return Outcome::unknown("the profile does not have the programs, so what they compute is unknown");
    }
    let found = evidence.contained();
    let share = evidence.of_active(units::sum(found.iter().map(|one| one.time_ps)) as f64);
    let said = format!(
        "programs whose products another one computes too take {} of the active window",
        units::share(share)
    );
    let Some(first) = found.first().filter(|_| REPEATED_PROGRAMS.grade(share) != Grade::Good) else {
        return Outcome::clear(said);
    };
    let more = match found.len() - 1 {
        0 => String::new(),
        1 => "; another program does so too".into(),
        more => format!("; {more} more programs do so too"),
    };
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "{} computes again what {} computes: {} of the active window{more}",
            first.module,
            first.within,
            units::share(share)
        ),
        evidence: format!(
            "{} of the {} products of {} (program {}, {} runs) are in {} too, from arguments of the same names and shapes",
            first.products.0, first.products.1, first.module, first.id, first.runs, first.within
        ),
        saved: Some(share),
        assuming: "if one program returned what both do".into(),
        recommendation: evidence.fix(&ONCE),
        falsifier: "the programs are called with different values, such as another batch or other parameters"
            .into(),
        status: Status::Estimated,
        links: found
            .iter()
            .take(2)
            .map(|one: &Contained| Link::to("hlo modules").row("modules", &one.module))
            .collect(),
    };
    Outcome::found(said, vec![finding.into_finding(evidence)])
}

#[cfg(test)]
mod tests {
    use haloscope_xspace::write::Value;

    use crate::rule::{Outcome, Verdict};
    use crate::tests::{Made, US, check};

    /// A forward pass of two products on these arguments, and `more` behind it.
    fn program(names: [&str; 2], more: &str) -> String {
        let [x, w] = names;
        format!(
            "HloModule m

ENTRY e {{
  x = f32[64,64]{{1,0}} parameter(0), metadata={{op_name=\"{x}\"}}
  w = f32[64,64]{{1,0}} parameter(1), metadata={{op_name=\"{w}\"}}
  a = f32[64,64]{{1,0}} dot(x, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  t = f32[64,64]{{1,0}} tanh(a)
  b = f32[64,64]{{1,0}} dot(t, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  {more}
}}
"
        )
    }

    /// Ten rounds of 1000 us: a program of 300 us, and one of 600 that does as much and a product more; the first may run less often.
    fn run(names: [&str; 2], every: i64) -> Outcome {
        ran(names, ["x", "params"], |at| (at % every == 0, true))
    }

    /// The same, with the programs that `runs` says of each round.
    fn ran(names: [&str; 2], of_update: [&str; 2], runs: impl Fn(i64) -> (bool, bool)) -> Outcome {
        let mut tpu = Made::tpu(0);
        let mut programs = Vec::new();
        for at in 0..10_i64 {
            let (loss, update) = runs(at);
            if loss {
                programs.push(("jit_loss(7)", at * 1000 * US, 300 * US));
            }
            if update {
                programs.push(("jit_update(8)", (at * 1000 + 350) * US, 600 * US));
            }
        }
        tpu.programs(&programs);
        tpu.op("b", "convolution", "", &[]);
        tpu.op("g", "convolution", "", &[("program_id", Value::Uint(8))]);
        tpu.ops(
            &programs
                .iter()
                .map(|one| (if one.2 == 300 * US { "b" } else { "g" }, "", one.1, one.2))
                .collect::<Vec<_>>(),
        );
        let mut held =
            Made::program(&program(names, "ROOT r = f32[] custom-call(b), custom_call_target=\"sum\""));
        let gradient = "g = f32[64,64]{1,0} dot(t, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n  ROOT r = f32[64,64]{1,0} subtract(w, g)";
        held.more_program("jit_update(8)", &program(of_update, gradient));
        check(&super::RULE, vec![tpu, held])
    }

    #[test]
    fn a_loss_of_its_own_beside_the_gradients_is_found() {
        let found = run(["x", "params"], 1);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        let finding = &found.findings[0];
        assert!(finding.claim.starts_with("jit_loss computes again what jit_update computes"), "{finding:?}");
        assert!(finding.evidence.starts_with("2 of the 2 products"), "{finding:?}");
        // Ten times 300 us of 9950.
        assert!((finding.speedup.unwrap() - 1.0 / (1.0 - 3000.0 / 9950.0)).abs() < 1e-6, "{finding:?}");
    }

    #[test]
    fn other_arguments_and_programs_that_run_now_and_then_are_clear() {
        assert_eq!(run(["x", "teacher"], 1).verdict, Verdict::Clear);
        assert_eq!(run(["held_out", "params"], 1).verdict, Verdict::Clear);
        // Every fifth round: a validation.
        assert_eq!(run(["x", "params"], 5).verdict, Verdict::Clear);
        // One name for all arguments is none.
        let named = ["xla__device_data"; 2];
        assert_eq!(ran(named, named, |_| (true, true)).verdict, Verdict::Clear);
        // One takes the place of the other.
        assert_eq!(ran(["x", "params"], ["x", "params"], |at| (at < 5, at >= 5)).verdict, Verdict::Clear);
    }

    #[test]
    fn without_the_programs_nobody_can_tell() {
        assert_eq!(
            check(&super::RULE, vec![Made::repeating(10, 1000 * US, 400 * US)]).verdict,
            Verdict::Unknown
        );
    }
}
