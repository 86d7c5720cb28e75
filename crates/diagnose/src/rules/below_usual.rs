//! All ops that one limit binds are slower than is usual on the chip: not the ops are slow, but what they share.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::names::common;
use crate::evidence::uniform::{Reached, Uniform};
use crate::evidence::work::{Limits, Roof};
use crate::rule::{Outcome, Rule, Standing};
use crate::thresholds::{BELOW_USUAL, Grade};
use haloscope_profile::DeviceKind;
use haloscope_report::units;
use haloscope_report::{Link, Status, capitalized};
use haloscope_time::ops::Op;

const NEEDS: &str = "FLOPs and bytes of ops, the device's peaks, and a chip with known usual rates";

pub(super) static MEMORY: Rule = Rule {
    id: "slow_memory",
    standing: Standing::Cause,
    on: &[DeviceKind::Tpu],
    needs: NEEDS,
    threshold: Some(&BELOW_USUAL),
    check: memory,
};

pub(super) static COMPUTE: Rule = Rule {
    id: "slow_compute",
    standing: Standing::Cause,
    on: &[DeviceKind::Tpu],
    needs: NEEDS,
    threshold: Some(&BELOW_USUAL),
    check: compute,
};

/// A limit holds an op up where what it explains, at the rate that the run reaches, is the op's time within these factors.
const HOLDS: (f64, f64) = (0.9, 1.15);

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
    let Some(mut usual) = evidence.usual(roof) else {
        return Outcome::unknown("the usual rates of this chip are not in the table");
    };
    let uniform = match evidence.reached(roof) {
        Reached::Alike(uniform) => uniform,
        Reached::Mixed(seen) => return Outcome::clear(format!("{seen}, which reach different rates")),
        Reached::Usual(seen) => {
            return Outcome::clear(format!("{seen}; enough of them reach the usual rate"));
        }
        Reached::Few(seen) => {
            return Outcome::unknown(format!("{seen}: too few to judge the chip"));
        }
    };
    let Uniform { reached, fill, .. } = uniform;
    // What ops fill of the unit with the operand that fills it less is no fault; what they may gain is what they could fill with the other.
    usual.low *= fill.least;
    usual.high *= fill.most;
    let range = format!(
        "{} to {} is usual{}",
        units::share(usual.low),
        units::share(usual.high),
        if fill.least < 1.0 { " for sizes that do not fill whole matrix units" } else { "" }
    );
    let said = format!("{} reach {} of {}; {range}", bound(roof), units::share(reached), roof.words());
    let memory = evidence.memory_rate().or_else(|| Some(evidence.usual(Roof::Hbm)?.high)).unwrap_or(1.0);
    let matrix = evidence.usual(Roof::Matrix).map_or(1.0, |usual| usual.high);
    let rates = Rates { reached, high: usual.high, memory, matrix };
    let held: Vec<(&Op<'_>, f64)> = evidence
        .bound()
        .filter_map(|(op, limits)| Some((op, saved_ps(evidence.even_ps(op), &limits, roof, rates)?)))
        .collect();
    let saved = evidence.of_active(held.iter().map(|(_, saved)| saved).sum());
    let Some((first, _)) = held.first().filter(|_| BELOW_USUAL.grade(reached / usual.low) != Grade::Good)
    else {
        return Outcome::clear(said);
    };
    let Uniform { ops, agreeing, share, .. } = uniform;
    let type_name =
        evidence.selection.devices.first().map_or("this chip", |device| device.type_name.as_str());
    let of = common(held.iter().map(|(op, _)| *op));
    let finding = Cause {
        id: rule.id,
        claim: format!(
            "{} run at {} of {}, all alike; {range} on {type_name}",
            capitalized(bound(roof)),
            units::share(reached),
            roof.words(),
        ),
        evidence: format!(
            "{ops} ops with no other limit take {} of the active window; {} of that is in ops within 8% of this rate, so no single op is the cause; all ops that this rate slows down: {of}; usual rate from {}{}",
            units::share(share),
            units::share(agreeing),
            usual.source,
            if evidence.unevenness() > 1.0 { "; the extra time of slow devices is not counted here, see straggler" } else { "" },
        ),
        saved: Some(saved),
        assuming: format!("if they ran at {}, the best usual rate", units::share(usual.high)),
        recommendation: recommendation(roof).into(),
        falsifier: match roof {
            Roof::Hbm => "a copy of a large array, alone on this chip, reaches the same share of the bandwidth on every chip of this kind: then the peak or the usual range is wrong",
            _ => "one large bfloat16 product, alone on this chip, reaches the same share of the peak on every chip of this kind",
        }
        .into(),
        status: Status::Estimated,
        links: vec![Link::to("roofline").row("ops", first.meta.name.as_ref()), evidence.timeline_of(first)],
    };
    Outcome::found(said, vec![finding.into_finding(evidence)])
}

/// Shares of the peaks.
#[derive(Clone, Copy)]
struct Rates {
    /// What the run's ops reach of the limit that is looked at, and the most that is usual of it.
    reached: f64,
    high: f64,
    /// What the run's ops reach of HBM, else the most that is usual.
    memory: f64,
    /// The most that is usual of the matrix units.
    matrix: f64,
}

/// What an op of so long would take less if this limit let it run at `high` of the peak and not at `reached`; `None` where it is not
/// this limit that holds it up. A product that memory limits, and that is slower than it by as much as the others are slower than
/// usual, is held up by the same.
fn saved_ps(time_ps: f64, limits: &Limits, roof: Roof, rates: Rates) -> Option<f64> {
    let Rates { reached, high, .. } = rates;
    let holds = |now_ps: f64| (HOLDS.0 * time_ps..=HOLDS.1 * time_ps).contains(&now_ps);
    let others = [Roof::Matrix, Roof::Vector, Roof::Hbm, Roof::Vmem, Roof::Exp];
    let next = |memory: f64| {
        let rate = |other: Roof| match other {
            Roof::Hbm => memory,
            Roof::Matrix => rates.matrix,
            _ => 1.0,
        };
        let of = |other: Roof| limits.of(other) / rate(other);
        others.into_iter().filter(|other| *other != roof).map(of).fold(0.0, f64::max)
    };
    let own = limits.of(roof);
    let usual = (own / high).max(next(rates.memory));
    let slowed = roof == Roof::Matrix && own > 0.0 && holds(usual * high / reached.max(0.01));
    let saved = if slowed {
        time_ps - usual
    } else if holds(own / reached.max(0.01)) {
        time_ps - (own / high).max(next(1.0))
    } else {
        return None;
    };
    (saved > 0.0).then_some(saved)
}

fn bound(roof: Roof) -> &'static str {
    match roof {
        Roof::Hbm => "memory-bound ops",
        _ => "large products and convolutions",
    }
}

fn recommendation(roof: Roof) -> &'static str {
    match roof {
        Roof::Hbm => {
            "find what else uses this memory: another process on the chip, copies in the background, offload; run a copy of a large array alone on this chip and on another, and replace the chip that stays slow"
        }
        _ => {
            "run one large bfloat16 product alone on this chip and on another: a chip that stays slow is throttled (power, heat) or broken; where all are equal look at the precision that products are done in"
        }
    }
}

#[cfg(test)]
mod tests {
    use haloscope_xspace::write::Value;

    use crate::rule::Verdict;
    use crate::tests::{MS, Made, US, check, check_hosts};

    /// Ops that move 0.819 GB each, a millisecond at all of a v5e's bandwidth, and take so many microseconds.
    fn streams(lengths: &[i64], category: &str) -> Made {
        let mut tpu = Made::tpu(0);
        let stats = [("flops", Value::Double(1e6)), ("bytes_accessed", Value::Double(0.819e9))];
        let names: Vec<String> = (1..=lengths.len()).map(|n| format!("fusion.{n}")).collect();
        for name in &names {
            tpu.op(name, category, "", &stats);
        }
        let mut at = 0;
        let mut ops = Vec::new();
        for (name, length) in names.iter().zip(lengths) {
            ops.push((name.as_str(), "", at, length * US));
            at += length * US;
        }
        tpu.programs(&[("jit_step(7)", 0, at)]);
        tpu.ops(&ops);
        tpu
    }

    #[test]
    fn memory_bound_ops_that_are_all_slow_alike_are_found() {
        let found = check(&super::MEMORY, vec![streams(&[2000, 2020, 1990, 2010, 2000], "loop fusion")]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        let finding = &found.findings[0];
        assert!(finding.claim.contains("at 50.") && finding.claim.contains("80.0% to 92.0%"), "{finding:?}");
        // From 2 ms to 1 / 0.92.
        assert!((finding.speedup.unwrap() - 2.004 * 0.92).abs() < 0.01, "{finding:?}");
        // Nobody else claims that time.
        let ops = check(
            &super::super::below_roofline::RULE,
            vec![streams(&[2000, 2020, 1990, 2010, 2000], "loop fusion")],
        );
        assert_eq!(ops.verdict, Verdict::Clear, "{ops:?}");
    }

    #[test]
    fn what_is_usual_is_clear() {
        assert_eq!(check(&super::MEMORY, vec![streams(&[1160; 5], "loop fusion")]).verdict, Verdict::Clear);
        // A little less than usual is no finding yet.
        assert_eq!(check(&super::MEMORY, vec![streams(&[1330; 5], "loop fusion")]).verdict, Verdict::Clear);
    }

    #[test]
    fn ops_that_are_slow_each_in_its_way_are_no_slow_memory() {
        let found = check(&super::MEMORY, vec![streams(&[1600, 2000, 2500, 3100, 3900], "loop fusion")]);
        assert_eq!(found.verdict, Verdict::Clear, "{found:?}");
    }

    #[test]
    fn doubtful_bytes_and_few_ops_do_not_tell() {
        let found = check(&super::MEMORY, vec![streams(&[2000; 5], "dynamic-update-slice")]);
        assert_eq!(found.verdict, Verdict::Unknown, "{found:?}");
        assert_eq!(check(&super::MEMORY, vec![streams(&[2000; 2], "loop fusion")]).verdict, Verdict::Unknown);
        // Three do where they agree closely.
        let three =
            |last: i64| check(&super::MEMORY, vec![streams(&[2000, 2010, last], "loop fusion")]).verdict;
        assert_eq!((three(2020), three(2100)), (Verdict::Found, Verdict::Unknown));
    }

    /// A host in whose eight steps four ops move 0.819 GB each, in so many microseconds, and then wait for the others.
    fn streaming_host(length: i64) -> Vec<Made> {
        let (step, mut tpu) = (10_000 * US, Made::tpu(0));
        let stats = [("flops", Value::Double(1e6)), ("bytes_accessed", Value::Double(0.819e9))];
        let names = ["fusion.1", "fusion.2", "fusion.3", "fusion.4"];
        names.iter().for_each(|name| tpu.op(name, "loop fusion", "", &stats));
        let starts = || (0..8).map(|i| i * step);
        tpu.steps(&starts().enumerate().map(|(i, at)| (i as i64, at, step)).collect::<Vec<_>>());
        tpu.programs(&starts().map(|at| ("jit_step(7)", at, step)).collect::<Vec<_>>());
        let mut ops = Vec::new();
        for at in starts() {
            ops.extend((0..).zip(names).map(|(n, name)| (name, "", at + n * length * US, length * US)));
            ops.push(("all-reduce.1", "all-reduce", at + 4 * length * US, step - 4 * length * US));
        }
        tpu.ops(&ops);
        vec![tpu]
    }

    #[test]
    fn memory_is_not_slow_for_a_device_that_is_slow_by_itself() {
        let found = |lengths: [i64; 3]| {
            let hosts = ["a", "b", "c"].into_iter().zip(lengths.map(streaming_host)).collect();
            check_hosts(&super::MEMORY, hosts).verdict
        };
        // 86% of the bandwidth on two of three, half of that on the third: 65% over all.
        assert_eq!(found([1160, 1160, 2320]), Verdict::Clear);
        // Near miss: the others are slow too.
        assert_eq!(found([1800, 1800, 2400]), Verdict::Found);
    }

    #[test]
    fn without_bytes_nobody_can_tell() {
        let mut tpu = Made::tpu(0);
        tpu.ops(&[("kernel.1", "custom-call", 0, MS)]);
        assert_eq!(check(&super::MEMORY, vec![tpu.clone()]).verdict, Verdict::Unknown);
        assert_eq!(check(&super::COMPUTE, vec![tpu]).verdict, Verdict::Unknown);
    }

    /// Five products of 4096 x 4096 by 4096 x 4096, 137.4 GFLOP each: 0.698 ms at all of a v5e's peak.
    fn products(length: i64, kind: &str) -> Vec<Made> {
        summed(5, 4096, length, kind)
    }

    /// So many products of 4096 x 4096, summed over so many: 33.6 MFLOP each of these, 0.17 us at all of a v5e's peak.
    fn summed(count: usize, over: u64, length: i64, kind: &str) -> Vec<Made> {
        dots(&vec![([4096, over, 4096], length); count], kind)
    }

    /// Products of R x K by K x N, by these sides and their time, of numbers of this type.
    fn dots(all: &[([u64; 3], i64)], kind: &str) -> Vec<Made> {
        let mut tpu = Made::tpu(0);
        let mut text = "HloModule m\n\nENTRY e {\n".to_owned();
        let names: Vec<String> = (0..all.len()).map(|n| format!("d.{n}")).collect();
        let (mut ops, mut at) = (Vec::new(), 0);
        for (n, (([rows, over, columns], length), name)) in all.iter().zip(&names).enumerate() {
            let flops = 2.0 * (rows * over * columns) as f64;
            let stats = [("flops", Value::Double(flops)), ("bytes_accessed", Value::Double(1e6))];
            tpu.op(name, "convolution", "", &stats);
            let root = if n + 1 == all.len() { "ROOT " } else { "" };
            text.push_str(&format!(
                "  p{n} = {kind}[{rows},{over}]{{1,0}} parameter({})\n  q{n} = {kind}[{over},{columns}]{{1,0}} parameter({})\n  \
                 {root}{name} = f32[{rows},{columns}]{{1,0}} dot(p{n}, q{n}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n",
                2 * n,
                2 * n + 1
            ));
            ops.push((name.as_str(), "", at, *length));
            at += length;
        }
        text.push_str("}\n");
        tpu.programs(&[("jit_step(7)", 0, at)]);
        tpu.ops(&ops);
        vec![tpu, Made::program(&text)]
    }

    #[test]
    fn large_products_that_are_all_slow_alike_are_found() {
        let found = check(&super::COMPUTE, products(1400 * US, "bf16"));
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        assert!((found.findings[0].speedup.unwrap() - 1.4 * 0.95 / 0.6974).abs() < 0.01, "{found:?}");
        assert_eq!(check(&super::COMPUTE, products(760 * US, "bf16")).verdict, Verdict::Clear);
        // Products of 32 bits take several passes, for which `wide_precision` is there.
        assert_eq!(check(&super::COMPUTE, products(1400 * US, "f32")).verdict, Verdict::Unknown);
    }

    #[test]
    fn products_that_sum_over_a_thousand_tell_where_six_agree() {
        let found = |count, over, us| check(&super::COMPUTE, summed(count, over, us * US, "bf16"));
        // 0.174 ms at all of the peak.
        let six = found(6, 1024, 350);
        assert_eq!(six.verdict, Verdict::Found, "{six:?}");
        assert!((six.findings[0].speedup.unwrap() - 350.0 * 0.95 / 174.4).abs() < 0.02, "{six:?}");
        assert_eq!(found(6, 1024, 195).verdict, Verdict::Clear);
        // Near misses: five of them; sums that are shorter still.
        assert_eq!(found(5, 1024, 350).verdict, Verdict::Unknown);
        assert_eq!(found(6, 1000, 350).verdict, Verdict::Unknown);
    }

    /// Products of 8192 x K by K x N in bfloat16, each at this share of a v5e's peak.
    fn shapes(all: &[(u64, u64, f64)]) -> Vec<Made> {
        let dot = |(over, columns, share): &(u64, u64, f64)| {
            let flops = 2.0 * (8192 * over * columns) as f64;
            ([8192, *over, *columns], (flops / 197.0 / share) as i64)
        };
        dots(&all.iter().map(dot).collect::<Vec<_>>(), "bf16")
    }

    #[test]
    fn products_of_short_sides_tell_where_many_shapes_reach_the_same() {
        let sides = [
            (768, 768),
            (768, 3072),
            (3072, 768),
            (512, 768),
            (768, 512),
            (768, 1536),
            (1536, 768),
            (640, 768),
        ];
        let found = |count: usize, share: fn(usize) -> f64| {
            let all: Vec<_> = sides
                .iter()
                .take(count)
                .enumerate()
                .map(|(n, (k, columns))| (*k, *columns, share(n)))
                .collect();
            check(&super::COMPUTE, shapes(&all))
        };
        let eight = found(8, |_| 0.5);
        assert_eq!(eight.verdict, Verdict::Found, "{eight:?}");
        assert!((eight.findings[0].speedup.unwrap() - 0.95 / 0.5).abs() < 0.02, "{eight:?}");
        assert_eq!(found(8, |_| 0.9).verdict, Verdict::Clear);
        // Near misses: seven; each as good as its shape lets it be; one shape only.
        assert_eq!(found(7, |_| 0.5).verdict, Verdict::Unknown);
        assert_eq!(found(8, |n| 0.46 + 0.01 * n as f64).verdict, Verdict::Unknown);
        assert_eq!(check(&super::COMPUTE, shapes(&[(768, 768, 0.5); 8])).verdict, Verdict::Unknown);
    }

    #[test]
    fn a_chip_is_not_slow_where_some_products_reach_what_is_usual() {
        let with = |well: i64, us: i64| {
            let mut made = products(1400 * US, "bf16");
            let stats = [("flops", Value::Double(13.74e9)), ("bytes_accessed", Value::Double(1e6))];
            let names: Vec<String> = (1..=well).map(|n| format!("e.{n}")).collect();
            let mut ops = Vec::new();
            for (at, name) in (0..).zip(&names) {
                made[0].op(name, "convolution", "", &stats);
                ops.push((name.as_str(), "", (7000 + at * us) * US, us * US));
            }
            made[0].ops(&ops);
            check(&super::COMPUTE, made).verdict
        };
        // 13.74 GFLOP take 69.8 us at all of the peak: at 75 us they reach 93% of it.
        assert_eq!(with(6, 75), Verdict::Clear);
        // Near misses: three of them; six at half of the peak.
        assert_eq!((with(3, 75), with(6, 140)), (Verdict::Found, Verdict::Found));
    }

    /// Three convolutions of 3 x 3 patches of so many features, to as many, over 16 images of 64 x 64: so many microseconds each.
    fn convolutions(features: u64, length: i64) -> Vec<Made> {
        let mut tpu = Made::tpu(0);
        let flops = 2.0 * (16 * 64 * 64 * 9 * features * features) as f64;
        let stats = [("flops", Value::Double(flops)), ("bytes_accessed", Value::Double(1e6))];
        let image = format!("bf16[16,64,64,{features}]{{3,2,1,0}}");
        let mut text = format!(
            "HloModule m\n\nENTRY e {{\n  p = {image} parameter(0)\n  k = bf16[3,3,{features},{features}]{{3,2,1,0}} parameter(1)\n"
        );
        let names: Vec<String> = (1..=3).map(|n| format!("c.{n}")).collect();
        for (n, name) in names.iter().enumerate() {
            tpu.op(name, "convolution", "", &stats);
            let root = if n == 2 { "ROOT " } else { "" };
            text.push_str(&format!("  {root}{name} = {image} convolution(p, k), window={{size=3x3 pad=1_1x1_1}}, dim_labels=b01f_01io->b01f\n"));
        }
        text.push_str("}\n");
        tpu.programs(&[("jit_step(7)", 0, 3 * length)]);
        let ops: Vec<_> =
            (0..).zip(&names).map(|(n, name)| (name.as_str(), "", n * length, length)).collect();
        tpu.ops(&ops);
        vec![tpu, Made::program(&text)]
    }

    #[test]
    fn convolutions_of_features_that_do_not_fill_a_unit_are_held_to_what_they_can_fill() {
        // 96 of 128 features, 864 of 896 summed: 55.2 us at all of the peak, so that 57.9% to 91.6% is usual. 50% of the peak is less than
        // nine tenths of that, and the ceiling is what the operand that fills the unit better could reach.
        let found = check(&super::COMPUTE, convolutions(96, 110 * US));
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        let finding = &found.findings[0];
        assert!((finding.speedup.unwrap() - 1.825).abs() < 0.02, "{finding:?}");
        assert!(
            finding.claim.contains("is usual for sizes that do not fill whole matrix units"),
            "{}",
            finding.claim
        );
        // Near misses: as slow as padding may make them; so few features that most of the unit is padding.
        assert_eq!(check(&super::COMPUTE, convolutions(96, 100 * US)).verdict, Verdict::Clear);
        assert_eq!(check(&super::COMPUTE, convolutions(60, 110 * US)).verdict, Verdict::Unknown);
    }
}
