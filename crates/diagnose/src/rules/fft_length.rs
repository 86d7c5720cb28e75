//! Fourier transforms of lengths with a large prime factor, which libraries compute by two transforms of more than twice the length.

use haloscope_hlo::Opcode;

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::names::common;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::thresholds::{FFT_LENGTH, Grade};
use haloscope_report::units;
use haloscope_report::{Link, Status};
use haloscope_time::op_class::body;
use haloscope_time::ops::Op;

pub(super) static RULE: Rule = Rule {
    id: "fft_length",
    standing: Standing::Cause,
    on: ANY,
    needs: "the HLO of the programs, which gives the lengths of transforms",
    threshold: Some(&FFT_LENGTH),
    check,
};

/// A smaller prime factor is computed as a plain sum for little more.
const LEAST_FACTOR: i64 = 50;
/// Nobody transforms so much at a time; damaged files say so.
const LONGEST: i64 = 1 << 28;
/// Bluestein's algorithm (1970) takes two transforms, each of at least twice the length.
const LONGER: f64 = 4.0;

fn check(evidence: &Evidence<'_>) -> Outcome {
    let ops = || evidence.ops().iter().filter(|op| op.self_ps > 0);
    if !evidence.has_programs() {
        return Outcome::unknown(
            "the profile does not have the programs, so the lengths of transforms are unknown",
        );
    }
    let found: Vec<(&Op<'_>, i64)> = ops().filter_map(|op| Some((op, awkward(evidence, op)?))).collect();
    let time: f64 = found.iter().map(|(op, _)| op.self_ps as f64).sum();
    let share = evidence.of_active(time * evidence.compute_scale());
    let said = format!(
        "Fourier transforms of lengths with a large prime factor take {} of the active window",
        units::share(share)
    );
    let Some((first, length)) = found.first().filter(|_| FFT_LENGTH.grade(share) != Grade::Good) else {
        return Outcome::clear(said);
    };
    let good = next_smooth(*length);
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "Fourier transforms of length {length}, which has the prime factor {}, take {} of the active window: {}",
            largest_factor(*length),
            units::share(share),
            common(found.iter().map(|(op, _)| *op))
        ),
        evidence: format!(
            "a length of the prime factors 2, 3, 5 and 7 is transformed directly; the next one is {good}"
        ),
        saved: Some(share * (1.0 - 1.0 / LONGER)),
        assuming: "if a transform of such a length took a quarter of the time: the other way takes two of twice the length".into(),
        recommendation: format!(
            "pad the signal to {good} (`n={good}` of `jnp.fft.fft`), or cut it to a shorter length of small prime factors, where the result may be that of another length; a filter may"
        ),
        falsifier: "a transform of the padded length takes just as long".into(),
        status: Status::Estimated,
        links: vec![Link::to("ops").row("ops", first.meta.name.as_ref()), evidence.timeline_of(first)],
    };
    Outcome::found(said, vec![finding.into_finding(evidence)])
}

/// The length of a transform of an op that has a large prime factor, if one has.
fn awkward(evidence: &Evidence<'_>, op: &Op<'_>) -> Option<i64> {
    let (decoded, index) = evidence.instruction(op)?;
    let transforms = body(&decoded.module, index).into_iter().map(|part| decoded.module.instruction(part));
    let lengths =
        transforms.filter(|hlo| hlo.opcode == Opcode::Fft).flat_map(|hlo| &hlo.attributes().fft_length);
    lengths.copied().find(|length| *length <= LONGEST && largest_factor(*length) > LEAST_FACTOR)
}

fn largest_factor(of: i64) -> i64 {
    let (mut left, mut largest, mut factor) = (of, 1, 2);
    while factor * factor <= left {
        if left % factor == 0 {
            (left, largest) = (left / factor, factor);
        } else {
            factor += 1;
        }
    }
    largest.max(left)
}

/// The next length that has no prime factor above 7.
fn next_smooth(from: i64) -> i64 {
    let rest = |length: i64| {
        [2, 3, 5, 7].into_iter().fold(length, |mut left, factor| {
            while left > 0 && left % factor == 0 {
                left /= factor;
            }
            left
        })
    };
    (from.max(1)..).find(|length| rest(*length) == 1).unwrap_or(from)
}

#[cfg(test)]
mod tests {
    use super::{largest_factor, next_smooth};
    use crate::rule::{Outcome, Verdict};
    use crate::tests::{Made, US, check};

    fn run(length: i64) -> Outcome {
        let mut cpu = Made::cpu_ops(&[("f", 0, 800 * US), ("n", 800 * US, 200 * US)]);
        cpu.line("more");
        let text = format!(
            "HloModule m\n\nENTRY e {{\n  p = c64[64,{length}]{{1,0}} parameter(0)\n  f = c64[64,{length}]{{1,0}} fft(p), fft_type=FFT, fft_length={{{length}}}\n  ROOT n = c64[64,{length}]{{1,0}} negate(f)\n}}\n"
        );
        check(&super::RULE, vec![cpu, Made::program(&text)])
    }

    #[test]
    fn a_prime_length_is_found_and_the_next_good_one_named() {
        let found = run(4099);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        let finding = &found.findings[0];
        assert!(finding.recommendation.starts_with("pad the signal to 4116"), "{finding:?}");
        // Three quarters of 80%.
        assert!((finding.speedup.unwrap() - 1.0 / 0.4).abs() < 1e-9, "{finding:?}");
    }

    #[test]
    fn lengths_of_small_factors_are_clear() {
        for length in [4096, 4320, 4116, 47 * 64] {
            assert_eq!(run(length).verdict, Verdict::Clear, "{length}");
        }
        let unknown = check(&super::RULE, vec![Made::cpu_ops(&[("f", 0, 800 * US)])]);
        assert_eq!(unknown.verdict, Verdict::Unknown);
    }

    #[test]
    fn factors() {
        assert_eq!([1, 2, 12, 97, 4099, 2 * 4099].map(largest_factor), [1, 2, 3, 97, 4099, 4099]);
        assert_eq!((next_smooth(4099), next_smooth(4096)), (4116, 4096));
    }
}
