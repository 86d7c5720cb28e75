use std::borrow::Cow;
use std::path::PathBuf;

use haloscope_xspace::write::{EventMetadata, Plane, Space, Stat, StatMetadata, Value};

use super::form::Order;
use super::{Matches, Seen};
use haloscope_profile::Profile;
use haloscope_time::op_meta::OpMeta;

const BEFORE: &str = "HloModule jit_step

fused.1 {
  p0 = f32[8,16]{1,0} parameter(0)
  p1 = f32[8,16]{1,0} parameter(1)
  m = f32[8,16]{1,0} multiply(p0, p1), metadata={op_name=\"jit(step)/mul\"}
  t = f32[8,16]{1,0} tanh(m), metadata={op_name=\"jit(step)/tanh\"}
  s = f32[8,16]{1,0} sine(t), metadata={op_name=\"jit(step)/sin\"}
  ROOT n = f32[8,16]{1,0} negate(s), metadata={op_name=\"jit(step)/neg\"}
}

ENTRY e {
  x = f32[8,16]{1,0} parameter(0)
  w = f32[16,16]{1,0} parameter(1)
  dot.1 = f32[8,16]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name=\"jit(step)/a/dot\"}
  dot.2 = f32[8,16]{1,0} dot(dot.1, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name=\"jit(step)/b/dot\"}
  fusion.3 = f32[8,16]{1,0} fusion(dot.1, dot.2), kind=kLoop, calls=fused.1
  ROOT exp.4 = f32[8,16]{1,0} exponential(fusion.3), metadata={op_name=\"jit(step)/exp\"}
}
";

/// The same, with names and lines in another order: what was `dot.1` is `dot.2`.
const RENAMED: &str = "HloModule jit_step

body {
  b = f32[8,16]{1,0} parameter(1)
  a = f32[8,16]{1,0} parameter(0)
  x.9 = f32[8,16]{1,0} multiply(a, b), metadata={op_name=\"jit(step)/mul\"}
  y.9 = f32[8,16]{1,0} tanh(x.9), metadata={op_name=\"jit(step)/tanh\"}
  z.9 = f32[8,16]{1,0} sine(y.9), metadata={op_name=\"jit(step)/sin\"}
  ROOT r.9 = f32[8,16]{1,0} negate(z.9), metadata={op_name=\"jit(step)/neg\"}
}

ENTRY top {
  w.7 = f32[16,16]{1,0} parameter(1)
  x.7 = f32[8,16]{1,0} parameter(0)
  dot.2 = f32[8,16]{1,0} dot(x.7, w.7), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name=\"jit(step)/a/dot\"}
  dot.1 = f32[8,16]{1,0} dot(dot.2, w.7), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name=\"jit(step)/b/dot\"}
  fusion.8 = f32[8,16]{1,0} fusion(dot.2, dot.1), kind=kLoop, calls=body
  ROOT exp.1 = f32[8,16]{1,0} exponential(fusion.8), metadata={op_name=\"jit(step)/exp\"}
}
";

/// A profile that holds a program and nothing else; no program where there is no text.
fn profile(hlo: &str) -> Profile {
    let mut plane = Plane { name: "/host:metadata".into(), ..Plane::default() };
    if !hlo.is_empty() {
        let stat = StatMetadata { id: 1, name: "Hlo Proto".into(), description: String::new() };
        plane.stat_metadata.push((1, stat));
        let stats = vec![Stat { metadata_id: 1, value: Value::Bytes(hlo.as_bytes().to_vec()) }];
        let meta = EventMetadata { id: 1, name: "jit_step(7)".into(), stats, ..EventMetadata::default() };
        plane.event_metadata.push((1, meta));
    }
    let bytes = Space { planes: vec![plane], ..Space::default() }.to_bytes();
    Profile::from_files(vec![(PathBuf::from("host.xplane.pb"), Box::new(bytes) as Box<_>)])
}

/// An op: name, category, framework op.
type Op = (&'static str, &'static str, &'static str);

const OPS: [Op; 4] = [
    ("dot.1", "dot", "jit(step)/a/dot"),
    ("dot.2", "dot", "jit(step)/b/dot"),
    ("fusion.3", "loop fusion", ""),
    ("exp.4", "non-fusion elementwise", "jit(step)/exp"),
];

fn meta(op: &Op, expression: &'static str) -> OpMeta<'static> {
    OpMeta {
        name: op.0.into(),
        category: op.1.into(),
        framework_op: op.2.into(),
        expression: expression.into(),
        program_id: Some(7),
        ..OpMeta::default()
    }
}

/// The matches of two runs in words: `dot.1 ~ dot.2 structure`, `- gone`, `+ new`, `a ~ b, c regrouped`.
fn matched(hlo: [&str; 2], ops: [&[OpMeta<'static>]; 2]) -> Vec<String> {
    let profiles = hlo.map(profile);
    let module = Cow::Borrowed("jit_step");
    let seen = ops.map(|ops| -> Vec<Seen<'_, '_>> {
        ops.iter().map(|meta| Seen { meta, module: &module, time_ps: 1.0 }).collect()
    });
    let matches =
        Matches::of_ops([&profiles[0], &profiles[1]], [&seen[0], &seen[1]], &[Order::none(), Order::none()]);
    let names = |side: usize, of: &[usize]| -> String {
        of.iter().map(|op| &*ops[side][*op].name).collect::<Vec<_>>().join(", ")
    };
    let mut lines: Vec<String> = matches
        .pairs
        .iter()
        .map(|p| format!("{} ~ {} {}", names(0, &[p.a]), names(1, &[p.b]), p.how.word()))
        .collect();
    let regrouped = matches.regrouped.iter();
    lines.extend(regrouped.map(|g| format!("{} ~ {} regrouped", names(0, &g.a), names(1, &g.b))));
    lines.extend(matches.gone.iter().map(|op| format!("- {}", names(0, &[*op]))));
    lines.extend(matches.new.iter().map(|op| format!("+ {}", names(1, &[*op]))));
    lines
}

fn metas(ops: &[Op]) -> Vec<OpMeta<'static>> {
    ops.iter().map(|op| meta(op, "")).collect()
}

const RENAMED_OPS: [Op; 4] = [
    ("dot.1", "dot", "jit(step)/b/dot"),
    ("dot.2", "dot", "jit(step)/a/dot"),
    ("fusion.8", "loop fusion", ""),
    ("exp.1", "non-fusion elementwise", "jit(step)/exp"),
];

#[test]
fn a_renamed_program_is_known_by_its_structure() {
    let said = matched([BEFORE, RENAMED], [&metas(&OPS), &metas(&RENAMED_OPS)]);
    let wanted = [
        "dot.1 ~ dot.2 structure",
        "dot.2 ~ dot.1 structure",
        "fusion.3 ~ fusion.8 structure",
        "exp.4 ~ exp.1 structure",
    ];
    assert_eq!(said, wanted);
    // Where one run has no HLO, what is known of the ops has to do.
    let wanted =
        ["dot.1 ~ dot.2 form", "dot.2 ~ dot.1 form", "fusion.3 ~ fusion.8 form", "exp.4 ~ exp.1 form"];
    assert_eq!(matched([BEFORE, ""], [&metas(&OPS), &metas(&RENAMED_OPS)]), wanted);
    assert_eq!(matched(["", ""], [&metas(&OPS), &metas(&RENAMED_OPS)]), wanted);
}

#[test]
fn an_op_in_place_of_another_is_new() {
    let other = RENAMED.replace(
        "exponential(fusion.8), metadata={op_name=\"jit(step)/exp\"}",
        "sort(fusion.8), dimensions={1}, to_apply=less, metadata={op_name=\"jit(step)/sort\"}",
    );
    let less = "less {\n  l = f32[] parameter(0)\n  r = f32[] parameter(1)\n  ROOT c = pred[] compare(l, r), direction=LT\n}\n\nENTRY";
    let other = other.replace("ENTRY", less);
    let mut ops = metas(&RENAMED_OPS);
    ops[3] = meta(&("exp.1", "sort", "jit(step)/sort"), "");
    let said = matched([BEFORE, &other], [&metas(&OPS), &ops]);
    assert_eq!(said[3..], ["- exp.4", "+ exp.1"]);
    assert_eq!(said.len(), 5);
}

#[test]
fn one_fusion_that_became_two_is_regrouped() {
    let halves = "half.1 {
  a = f32[8,16]{1,0} parameter(0)
  b = f32[8,16]{1,0} parameter(1)
  x.9 = f32[8,16]{1,0} multiply(a, b), metadata={op_name=\"jit(step)/mul\"}
  ROOT y.9 = f32[8,16]{1,0} tanh(x.9), metadata={op_name=\"jit(step)/tanh\"}
}

half.2 {
  c = f32[8,16]{1,0} parameter(0)
  z.9 = f32[8,16]{1,0} sine(c), metadata={op_name=\"jit(step)/sin\"}
  ROOT r.9 = f32[8,16]{1,0} negate(z.9), metadata={op_name=\"jit(step)/neg\"}
}

ENTRY";
    let other = RENAMED.replace("ENTRY", halves).replace(
        "fusion.8 = f32[8,16]{1,0} fusion(dot.2, dot.1), kind=kLoop, calls=body",
        "fusion.7 = f32[8,16]{1,0} fusion(dot.2, dot.1), kind=kLoop, calls=half.1\n  fusion.8 = f32[8,16]{1,0} fusion(fusion.7), kind=kLoop, calls=half.2",
    );
    let mut ops = metas(&RENAMED_OPS);
    ops.push(meta(&("fusion.7", "loop fusion", ""), ""));
    let said = matched([BEFORE, &other], [&metas(&OPS), &ops]);
    assert_eq!(said[3..], ["fusion.3 ~ fusion.8, fusion.7 regrouped"]);
    let said = matched([&other, BEFORE], [&ops, &metas(&OPS)]);
    assert_eq!(said[3..], ["fusion.8, fusion.7 ~ fusion.3 regrouped"]);
}

#[test]
fn kernels_with_other_numbers_are_the_same_and_copies_are_no_part_of_work() {
    let kernel = |name, scope| meta(&(name, "kernel without HLO op", scope), "");
    let before =
        [kernel("loop_add_fusion_1", ""), kernel("gemm_3", "jit(f)/dot"), kernel("input_reduce_fusion", "")];
    let after =
        [kernel("gemm_8", "jit(f)/dot"), kernel("input_reduce_fusion_2", ""), kernel("loop_add_fusion", "")];
    let said = matched(["", ""], [&before, &after]);
    assert_eq!(
        said,
        [
            "loop_add_fusion_1 ~ loop_add_fusion form",
            "gemm_3 ~ gemm_8 form",
            "input_reduce_fusion ~ input_reduce_fusion_2 form"
        ]
    );
    // One matmul of a scope that became another matmul and two copies is not three of the same.
    let dot = |name| meta(&(name, "dot", "jit(f)/dot"), "f32[8,8]{1,0} dot");
    let copy = |name| meta(&(name, "data formatting", "jit(f)/dot"), "f32[8,8]{0,1} copy");
    let said = matched(["", ""], [&[dot("dot.1")], &[dot("dot.9"), copy("copy.1"), copy("copy.2")]]);
    assert_eq!(said, ["dot.1 ~ dot.9 form", "+ copy.1", "+ copy.2"]);
}

#[test]
fn ops_of_one_line_that_were_cut_in_two_are_regrouped_without_hlo() {
    let op = |name, category, flops| OpMeta {
        flops: Some(flops),
        ..meta(&(name, category, "jit(f)/attention"), "")
    };
    let before = [op("custom-call.1", "custom-call", 100.0)];
    let two = [op("fusion.1", "loop fusion", 60.0), op("reduce.2", "reduce", 40.0)];
    assert_eq!(matched(["", ""], [&before, &two]), ["custom-call.1 ~ fusion.1, reduce.2 regrouped"]);
    // Other work is other ops.
    let more = [op("fusion.1", "loop fusion", 600.0), op("reduce.2", "reduce", 40.0)];
    assert_eq!(matched(["", ""], [&before, &more]), ["- custom-call.1", "+ fusion.1", "+ reduce.2"]);
}

#[test]
fn names_are_cut_where_a_compiler_counts() {
    let expression = |text: &str| super::form::Expression::of(text);
    let a = expression(
        "%fusion.12 = bf16[8]{0:T(256)} fusion(bf16[8]{0} %p.1, f32[] %c.2), kind=kLoop, calls=%f.7",
    );
    let b =
        expression("%fusion.9 = bf16[8]{0:T(256)} fusion(bf16[8]{0} %p.44, f32[] %q), kind=kLoop, calls=%f");
    assert_eq!(a.all, b.all);
    assert_eq!((&*a.result, &*a.operation), ("bf16[8]{0:T(256)}", "fusion"));
    let cut = expression("%f.1 = (f32[2]{0}, s32[]) fusion(f32[2]{0} %a.1, f32[");
    let cut_earlier = expression("%f.13 = (f32[2]{0}, s32[]) fusion(f32[2]{0} %a.11, f3");
    assert_eq!(cut.all, cut_earlier.all);
    assert_eq!(cut.result, "(f32[2]{0}, s32[])");
}
