//! Copies and changes of layout that nothing more special explains.

use super::copies::{Group, group, list, of_ops, standing, unknown_share};
use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::copies::Purpose;
use crate::evidence::names::counted;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::thresholds::{DATA_FORMATTING, Grade};
use haloscope_report::units;
use haloscope_report::{Link, Status};
use haloscope_time::account::Class;
use haloscope_time::fix::Fix;

pub(super) static RULE: Rule = Rule {
    id: "data_formatting",
    standing: Standing::Cost,
    on: ANY,
    needs: "ops with their categories",
    threshold: Some(&DATA_FORMATTING),
    check,
};

/// Where a value is an argument or a result of the program.
static AT_EDGE: Fix = Fix::jax_or(
    "let the compiler choose the layouts of arguments and results (`Format(Layout.AUTO)` in `jax.jit`), and keep the value in that layout from call to call",
    "keep the value in the program's layout between calls: create it on the device, as the result of a program",
);

fn check(evidence: &Evidence<'_>) -> Outcome {
    if evidence.ops().iter().all(|op| op.meta.category.is_empty()) {
        return Outcome::unknown("the profile does not say the ops' categories");
    }
    let all = evidence.share(Class::Copy);
    let movers = evidence.movers();
    let rest = group(evidence, movers, |purpose| matches!(purpose, Purpose::Other { .. } | Purpose::Unknown));
    let said = format!(
        "copies and changes of layout take {} of the active window, {} of it for no known reason",
        units::share(all.max(rest.share)),
        units::share(rest.share),
    );
    if DATA_FORMATTING.grade(rest.share) == Grade::Good {
        return Outcome::clear(said);
    }
    Outcome::found(said, vec![finding(evidence, &rest)]).standing(standing(evidence, rest.share))
}

fn finding(evidence: &Evidence<'_>, rest: &Group<'_, '_>) -> haloscope_report::Finding {
    let unknown = unknown_share(rest);
    let unseen = if unknown > 0.5 * rest.share {
        "; the profile does not hold their program, so their purpose is unknown"
    } else {
        ""
    };
    let why = rest.movers.first().and_then(|mover| match &mover.purpose {
        Purpose::Other { detail } if !detail.is_empty() => Some((mover.op.meta.name.as_ref(), detail)),
        _ => None,
    });
    // Where a value comes or goes in another layout, the caller may leave the layout to the compiler.
    let is_at_edge =
        why.is_some_and(|(_, why)| why.contains("argument arrives") || why.contains("output leaves"));
    let why = why.map_or_else(String::new, |(name, why)| format!("; {name}: {why}"));
    let mut links = vec![Link::to("ops").param("by", "category"), Link::to("hlo counters").table("copies")];
    links.extend(rest.movers.first().map(|mover| evidence.timeline_of(mover.op)));
    Cause {
        id: RULE.id,
        claim: format!(
            "Copies and changes of layout take {} of the active window: {}",
            units::share(rest.share),
            list(evidence, rest),
        ),
        evidence: format!(
            "{} that move data and compute nothing, while no other op runs{}{why}{unseen}",
            counted(rest.movers.len() as u64, "op"),
            of_ops(evidence, rest),
        ),
        saved: Some(rest.share),
        assuming: "if none of this were needed".into(),
        recommendation: if is_at_edge {
            evidence.fix(&AT_EDGE)
        } else {
            "write each value in the layout in which it is read: change the order of dimensions in einsums, move transposes to where they fuse, avoid reshapes across tiled dimensions".into()
        },
        falsifier: "without these copies the ops around them take that much longer, because they read the other layout".into(),
        status: Status::Derived,
        links,
    }
    .into_finding(evidence)
}

#[cfg(test)]
mod tests {
    use crate::rule::{Standing, Verdict};
    use crate::tests::{Made, US, check};
    use haloscope_xspace::write::Value;

    fn run(copies: i64) -> Made {
        let mut tpu = Made::tpu(0);
        tpu.programs(&[("jit_step(7)", 0, 1000 * US)]);
        tpu.ops(&[
            ("fusion.1", "loop fusion", 0, (1000 - copies) * US),
            ("copy.1", "data formatting", (1000 - copies) * US, copies * US),
        ]);
        tpu
    }

    #[test]
    fn a_tenth_of_the_time_in_copies_is_found() {
        let found = check(&super::RULE, vec![run(100)]);
        assert_eq!(found.verdict, Verdict::Found);
        assert!(found.findings[0].claim.contains("copy.1"), "{found:?}");
        assert!((found.findings[0].speedup.unwrap() - 1.0 / 0.9).abs() < 1e-9);
    }

    #[test]
    fn kernels_that_only_transpose_are_copies_too() {
        let mut gpu = Made::tpu(0);
        gpu.ops(&[
            ("gemm.1", "custom-call", 0, 400 * US),
            ("input_transpose_fusion_1", "fusion", 400 * US, 600 * US),
        ]);
        let found = check(&super::RULE, vec![gpu]);
        assert!(found.findings[0].claim.starts_with("Copies and changes of layout take 60.0%"), "{found:?}");
        assert_eq!(found.standing, Some(Standing::Cause));
    }

    #[test]
    fn what_slow_memory_adds_to_copies_is_not_their_fault() {
        // Five ops that move 0.819 GB each, so many microseconds long, and 30% of the time in a copy.
        let standing = |length: i64| {
            let mut tpu = Made::tpu(0);
            let stats = [("flops", Value::Double(1e6)), ("bytes_accessed", Value::Double(0.819e9))];
            let names: Vec<String> = (1..=5).map(|n| format!("fusion.{n}")).collect();
            names.iter().for_each(|name| tpu.op(name, "loop fusion", "", &stats));
            let at = |n: i64| n * length * US;
            let mut ops: Vec<_> =
                (0..).zip(&names).map(|(n, name)| (name.as_str(), "", at(n), length * US)).collect();
            ops.push(("copy.1", "data formatting", at(5), at(5) * 3 / 7));
            tpu.programs(&[("jit_step(7)", 0, at(5) * 10 / 7)]);
            tpu.ops(&ops);
            check(&super::RULE, vec![tpu]).standing
        };
        // At 86% of the bandwidth, and at half of it.
        assert_eq!((standing(1160), standing(2000)), (Some(Standing::Cause), Some(Standing::Cost)));
    }

    #[test]
    fn a_few_copies_are_clear() {
        assert_eq!(check(&super::RULE, vec![run(40)]).verdict, Verdict::Clear);
    }

    #[test]
    fn without_categories_nobody_can_tell() {
        let mut tpu = Made::tpu(0);
        tpu.ops(&[("copy.1", "", 0, 400 * US)]);
        assert_eq!(check(&super::RULE, vec![tpu]).verdict, Verdict::Unknown);
    }
}
