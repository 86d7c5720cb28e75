//! Work on elements that are not there: matrix units and tiles that are not filled, batches and sequences that are padded.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::names::{common, counted};
use crate::evidence::padding::{Wasted, Way};
use crate::rule::{Outcome, Rule, Standing};
use crate::thresholds::{Grade, PADDING};
use haloscope_profile::DeviceKind;
use haloscope_report::units;
use haloscope_report::{Link, Status};
use haloscope_time::ops::Op;

pub(super) static RULE: Rule = Rule {
    id: "padding_waste",
    standing: Standing::Cost,
    on: &[DeviceKind::Tpu],
    needs: "the HLO of the programs, FLOPs and bytes of ops, and a TPU with known tiles",
    threshold: Some(&PADDING),
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    if evidence.pieces().is_empty() {
        return Outcome::unknown("FLOPs and bytes of ops, or the device's peaks, are not known");
    }
    let Some(all) = evidence.padding() else {
        return Outcome::unknown(
            "the profile does not have the programs, or the tiles of this chip are not known",
        );
    };
    // An op that is slower than its like has a finding of its own, with what it fills in the evidence.
    let claimed = super::below_roofline::claimed(evidence);
    let wasted: Vec<(&Op<'_>, &Wasted)> = all
        .iter()
        .filter(|one| !claimed.contains(&one.op))
        .filter_map(|one| Some((evidence.ops().get(one.op)?, one)))
        .collect();
    let sum = |of: &mut dyn Iterator<Item = &Wasted>| evidence.of_active(of.map(|one| one.saved_ps).sum());
    let share = sum(&mut wasted.iter().map(|one| one.1));
    let said = format!(
        "padding costs {} of the active window in ops limited by the matrix unit or HBM",
        units::share(share)
    );
    let Some((op, first)) = wasted.first().filter(|_| PADDING.grade(share) != Grade::Good) else {
        return Outcome::clear(said);
    };
    let of = |way: Way| wasted.iter().map(|one| one.1).filter(move |one| one.way == way);
    let parts: Vec<String> = [Way::Unit, Way::Tiles, Way::Pad]
        .iter()
        .filter(|way| of(**way).count() > 0)
        .map(|way| {
            let cost = units::share(sum(&mut of(*way)));
            format!("{} {cost} in {}", words(*way), counted(of(*way).count() as u64, "op"))
        })
        .collect();
    let Wasted { way, detail, .. } = first;
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "{} of the active window goes to elements that are only padding: {}",
            units::share(share),
            common(wasted.iter().map(|one| one.0)),
        ),
        evidence: format!("{}; {}: {detail}", parts.join(", "), op.meta.name),
        saved: Some(share),
        assuming: "if there were no padding and the rest of these ops ran just as fast".into(),
        recommendation: match way {
            Way::Unit => "make the sides of products multiples of the matrix unit's (128, on v6e and later 256): hidden sizes, heads, vocabulary; or fold a short side into another",
            Way::Tiles => "give large arrays a last dimension that is a multiple of 128 and one before it that is a multiple of 8, or reorder the dimensions: short last dimensions take whole tiles",
            Way::Pad => "pad less: sort or pack by length, use more buckets, or a batch that divides evenly",
        }
        .into(),
        falsifier: "the ops take just as long with sides that are whole multiples and the same useful FLOPs and bytes".into(),
        status: Status::Estimated,
        links: vec![
            Link::to("compute").table("audit"),
            Link::to("ops").row("ops", op.meta.name.as_ref()),
            evidence.timeline_of(op),
        ],
    };
    Outcome::found(said, vec![finding.into_finding(evidence)])
}

fn words(way: Way) -> &'static str {
    match way {
        Way::Unit => "matrix units that are not filled",
        Way::Tiles => "tiles in memory that are not filled",
        Way::Pad => "operands that the program pads",
    }
}

#[cfg(test)]
mod tests {
    use haloscope_xspace::write::Value;

    use crate::rule::{Outcome, Verdict};
    use crate::tests::{MS, Made, check};

    /// A v5e that multiplies for this long and adds for as long; the product has so many FLOPs, the sum so many bytes.
    fn run(each: i64, flops: f64, bytes: f64) -> Made {
        let mut tpu = Made::tpu(0);
        let stats = |flops: f64, bytes: f64| {
            [("flops", Value::Double(flops)), ("bytes_accessed", Value::Double(bytes))]
        };
        tpu.op("d", "convolution", "", &stats(flops, 1e6));
        tpu.op("n", "loop fusion", "", &stats(1e3, bytes));
        tpu.programs(&[("jit_step(7)", 0, 2 * each)]);
        tpu.ops(&[("d", "", 0, each), ("n", "", each, each)]);
        tpu
    }

    /// A product that is summed over so many, and the negative of an array with such a last dimension.
    fn program(k: u64, last: u64) -> Made {
        Made::program(&format!(
            "HloModule m

ENTRY e {{
  p = bf16[8192,{k}]{{1,0:T(8,128)(2,1)}} parameter(0)
  q = bf16[{k},8192]{{1,0:T(8,128)(2,1)}} parameter(1)
  d = bf16[8192,8192]{{1,0:T(8,128)(2,1)}} dot(p, q), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  a = f32[65536,{last}]{{1,0:T(8,128)}} parameter(2)
  n = f32[65536,{last}]{{1,0:T(8,128)}} negate(a)
  ROOT t = (bf16[8192,8192]{{1,0:T(8,128)(2,1)}}, f32[65536,{last}]{{1,0:T(8,128)}}) tuple(d, n)
}}
"
        ))
    }

    /// FLOPs of the product that is summed over `k`, and the time of twice as many on a v5e.
    fn flops(k: u64) -> f64 {
        2.0 * 8192.0 * 8192.0 * k as f64
    }

    fn asked(k: u64, last: u64, each: i64, bytes: f64) -> Outcome {
        check(&super::RULE, vec![run(each, flops(k), bytes), program(k, last)])
    }

    #[test]
    fn a_unit_that_is_half_filled_is_found() {
        // 64 of 128 are summed over: 8.59 GFLOP take 43.6 us, with padding 87.2 us, and the op 100 us.
        let found = asked(64, 128, MS / 10, 1e6);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        let finding = &found.findings[0];
        // Half of the op's half of the window.
        assert!((finding.speedup.unwrap() - 1.0 / 0.75).abs() < 1e-6, "{finding:?}");
        assert!(finding.evidence.contains("summed over 64 of 128"), "{finding:?}");
    }

    #[test]
    fn tiles_that_are_half_filled_are_found_where_memory_holds_the_op_up() {
        // 64 of 128 elements in each row: 67.1 MB of tiles, which take 81.9 us at all of the bandwidth.
        let found = asked(128, 64, MS / 10, 67.1e6);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        assert!((found.findings[0].speedup.unwrap() - 1.0 / 0.75).abs() < 1e-6, "{found:?}");
        assert!(found.findings[0].evidence.contains("50% of its tiles are padding"), "{found:?}");
    }

    #[test]
    fn tiles_have_to_fit_into_the_time_where_elements_alone_were_counted() {
        // 33.6 MB of elements, 67.1 MB of tiles: these take 81.9 us.
        assert_eq!(asked(128, 64, MS / 10, 33.55e6).verdict, Verdict::Found);
        let quick = asked(128, 64, 6 * MS / 100, 33.55e6);
        assert_eq!(quick.verdict, Verdict::Clear, "{quick:?}");
    }

    #[test]
    fn whole_tiles_are_clear_and_so_is_padding_that_holds_nobody_up() {
        assert_eq!(asked(128, 128, MS / 10, 67.1e6).verdict, Verdict::Clear);
        // Ops that take three times as long as their padded work would are held up by something else.
        assert_eq!(asked(64, 64, MS / 3, 67.1e6).verdict, Verdict::Clear);
        // And one that is faster than its padding allows does not work on it.
        assert_eq!(asked(64, 128, MS / 20, 1e6).verdict, Verdict::Clear);
    }

    /// The product of an operand that is padded from so many rows to 8192.
    fn padded_from(rows: u64) -> Made {
        let more = 8192 - rows;
        Made::program(&format!(
            "HloModule m

ENTRY e {{
  s = bf16[{rows},128]{{1,0}} parameter(0)
  q = bf16[128,8192]{{1,0}} parameter(1)
  z = bf16[] constant(0)
  p = bf16[8192,128]{{1,0}} pad(s, z), padding=0_{more}x0_0
  d = bf16[8192,8192]{{1,0}} dot(p, q), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  ROOT n = bf16[8192,8192]{{1,0}} negate(d)
}}
"
        ))
    }

    #[test]
    fn rows_that_the_program_adds_are_found() {
        let found = check(&super::RULE, vec![run(MS / 10, flops(128), 1e6), padded_from(6144)]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        // A quarter of the op's half of the window.
        assert!((found.findings[0].speedup.unwrap() - 1.0 / 0.875).abs() < 1e-6, "{found:?}");
        assert!(found.findings[0].evidence.contains("bf16[8192,128] of bf16[6144,128]"), "{found:?}");
        let few = check(&super::RULE, vec![run(MS / 10, flops(128), 1e6), padded_from(8000)]);
        assert_eq!(few.verdict, Verdict::Clear, "{few:?}");
    }

    #[test]
    fn without_the_program_or_its_flops_nobody_can_tell() {
        assert_eq!(check(&super::RULE, vec![run(MS / 10, flops(64), 1e6)]).verdict, Verdict::Unknown);
        let mut bare = Made::tpu(0);
        bare.ops(&[("d", "convolution", 0, MS)]);
        assert_eq!(check(&super::RULE, vec![bare, program(64, 64)]).verdict, Verdict::Unknown);
    }
}
