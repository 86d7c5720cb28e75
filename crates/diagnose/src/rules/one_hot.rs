//! Lookups done as products with a one-hot matrix.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::names::{common, counted};
use crate::evidence::one_hot::OneHot;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::thresholds::{Grade, ONE_HOT};
use haloscope_report::units;
use haloscope_report::{Link, Status};
use haloscope_time::fix::Fix;

pub(super) static RULE: Rule = Rule {
    id: "one_hot_product",
    standing: Standing::Cause,
    on: ANY,
    needs: "the HLO of the programs, which gives the operands of products",
    threshold: Some(&ONE_HOT),
    check,
};

static LEVER: Fix = Fix {
    jax: "index the table (`table[ids]`, `jnp.take`) instead of `jax.nn.one_hot(ids, n) @ table`; its gradient is then a scatter-add",
    tensorflow: "index the table (`tf.gather`, `tf.nn.embedding_lookup`) instead of `tf.one_hot(ids, n) @ table`; its gradient is then a scatter-add",
    pytorch: "index the table (`table[ids]`, `torch.nn.Embedding`) instead of `one_hot(ids, n) @ table`; its gradient is then a scatter-add",
    any: "index the table instead of multiplying it by a one-hot matrix; its gradient is then a scatter-add",
};

static SUMS: Fix = Fix {
    jax: "sum by index: `jax.ops.segment_sum(values, ids, n)` or `zeros.at[ids].add(values)` instead of `jax.nn.one_hot(ids, n).T @ values`; where there are few classes and large rows the product may be as fast",
    tensorflow: "sum by index: `tf.math.unsorted_segment_sum(values, ids, n)` instead of a product with `tf.one_hot(ids, n)`; where there are few classes and large rows the product may be as fast",
    pytorch: "sum by index: `zeros.index_add_(0, ids, values)` instead of a product with `one_hot(ids, n)`; where there are few classes and large rows the product may be as fast",
    any: "add each row to that of its class instead of multiplying by a one-hot matrix; where there are few classes and large rows the product may be as fast",
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    if !evidence.has_programs() {
        return Outcome::unknown(
            "the profile does not have the programs, so the operands of products are unknown",
        );
    }
    let found = evidence.one_hots();
    let mut ops: Vec<_> = found.iter().map(|one| one.op).collect();
    ops.extend(found.iter().flat_map(|one| one.makers.iter().copied()));
    ops.sort_by_key(|op| std::cmp::Reverse(op.self_ps));
    ops.dedup_by(|a, b| std::ptr::eq(*a, *b));
    let time: f64 = ops.iter().map(|op| op.self_ps as f64).sum::<f64>() * evidence.compute_scale();
    let share = evidence.of_active(time);
    let said = format!("products with a one-hot operand take {} of the active window", units::share(share));
    let Some(first) = found.first().filter(|_| ONE_HOT.grade(share) != Grade::Good) else {
        return Outcome::clear(said);
    };
    let OneHot { op, classes, .. } = first;
    let sums = found.iter().all(|one| one.sums);
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "Products with one-hot matrices take {} of the active window just to {}: {}",
            units::share(share),
            if sums { "sum the rows of each class" } else { "look up rows" },
            common(found.iter().map(|one| one.op)),
        ),
        evidence: format!(
            "{} multiplies by the matrix `index == iota` of {classes} classes; {} in all, with the ops that write such matrices",
            op.meta.name,
            counted(ops.len() as u64, "op"),
        ),
        saved: Some(share),
        assuming: if sums { "if the sums cost nothing" } else { "if the lookup, and the addition of its gradient, cost nothing" }.into(),
        recommendation: evidence.fix(if sums { &SUMS } else { &LEVER }),
        falsifier: "with an indexed table, the gather and its scatter-add take just as long; this can happen if the table is sharded over its rows or has few rows".into(),
        status: Status::Derived,
        links: vec![
            Link::to("hlo counters").table("matmuls"),
            Link::to("ops").row("ops", op.meta.name.as_ref()),
            evidence.timeline_of(op),
        ],
    };
    Outcome::found(said, vec![finding.into_finding(evidence)])
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};
    use haloscope_xspace::write::Value;

    fn run() -> Made {
        let mut tpu = Made::tpu(0);
        tpu.programs(&[("jit_step(7)", 0, 100 * US)]);
        tpu.ops(&[
            ("hot", "loop fusion", 0, 10 * US),
            ("d", "convolution", 10 * US, 50 * US),
            ("n", "loop fusion", 60 * US, 40 * US),
        ]);
        tpu
    }

    /// A fusion compares, and a product of its own multiplies. `other`: what the count is compared with, of 64 rows.
    fn program(other: &str, direction: &str, classes: u64) -> Made {
        let text = format!(
            "HloModule m

make {{
  i = s32[64]{{0}} parameter(0)
  left = s32[64,{classes}]{{1,0}} {other}
  count = s32[64,{classes}]{{1,0}} iota(), iota_dimension=1
  same = pred[64,{classes}]{{1,0}} compare(left, count), direction={direction}
  ROOT out = f32[64,{classes}]{{1,0}} convert(same)
}}

times {{
  a = f32[64,{classes}]{{1,0}} parameter(0)
  b = f32[{classes},16]{{1,0}} parameter(1)
  ROOT m = f32[64,16]{{1,0}} dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
}}

ENTRY e {{
  ids = s32[64]{{0}} parameter(0)
  table = f32[{classes},16]{{1,0}} parameter(1)
  hot = f32[64,{classes}]{{1,0}} fusion(ids), kind=kLoop, calls=make
  d = f32[64,16]{{1,0}} fusion(hot, table), kind=kOutput, calls=times
  ROOT n = f32[64,16]{{1,0}} negate(d)
}}
"
        );
        Made::program(&text)
    }

    const IDS: &str = "broadcast(i), dimensions={0}";

    #[test]
    fn a_product_with_a_one_hot_operand_is_found_with_who_makes_it() {
        let found = check(&super::RULE, vec![run(), program(IDS, "EQ", 512)]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        let finding = &found.findings[0];
        assert!(finding.evidence.contains("512 classes") && finding.claim.contains('d'), "{finding:?}");
        // The product's 50 us and the 10 us in which the matrix is made.
        assert!((finding.speedup.unwrap() - 2.5).abs() < 1e-9, "{finding:?}");
    }

    #[test]
    fn masks_unit_matrices_and_small_tables_are_clear() {
        // A triangle, a unit matrix, a table of eight rows.
        for (other, direction, classes) in
            [(IDS, "GE", 512), ("iota(), iota_dimension=0", "EQ", 512), (IDS, "EQ", 8)]
        {
            let found = check(&super::RULE, vec![run(), program(other, direction, classes)]);
            assert_eq!(found.verdict, Verdict::Clear, "{other} {direction} {classes}: {found:?}");
        }
    }

    #[test]
    fn a_library_s_product_and_a_count_that_is_written_are_found() {
        let mut gpu = Made::named("/device:GPU:0");
        gpu.line("Stream #1(compute)");
        for (name, start, length) in [("count", 0, 20), ("hot", 20, 30), ("d", 50, 40), ("n", 90, 10)] {
            let stats = [
                ("hlo_op", Value::Str(name.into())),
                ("hlo_module", Value::Str("jit_step".into())),
                ("program_id", Value::Uint(7)),
            ];
            gpu.event(name, start * US, length * US, &stats);
        }
        let text = r#"HloModule m

count_it {
  ROOT i = s32[64,4096]{1,0} iota(), iota_dimension=1
}

make {
  count = s32[64,4096]{1,0} parameter(0)
  ids = s32[64]{0} parameter(1)
  left = s32[64,4096]{1,0} broadcast(ids), dimensions={0}
  same = pred[64,4096]{1,0} compare(left, count), direction=EQ
  ROOT out = bf16[64,4096]{1,0} convert(same)
}

ENTRY e {
  ids = s32[64]{0} parameter(0)
  table = bf16[4096,16]{1,0} parameter(1)
  count = s32[64,4096]{1,0} fusion(), kind=kLoop, calls=count_it
  hot = bf16[64,4096]{1,0} fusion(count, ids), kind=kLoop, calls=make
  d = (bf16[64,16]{1,0}, s8[64]{0}) custom-call(hot, table), custom_call_target="__cublas$lt$matmul", backend_config={"gemm_backend_config":{"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"],"rhs_contracting_dimensions":["0"],"lhs_batch_dimensions":[],"rhs_batch_dimensions":[]}}}
  g = bf16[64,16]{1,0} get-tuple-element(d), index=0
  ROOT n = bf16[64,16]{1,0} negate(g)
}
"#;
        let found = check(&super::RULE, vec![gpu, Made::program(text)]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        // All but the last tenth goes.
        assert!((found.findings[0].speedup.unwrap() - 10.0).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn without_the_program_nobody_can_tell() {
        assert_eq!(check(&super::RULE, vec![run()]).verdict, Verdict::Unknown);
    }
}
