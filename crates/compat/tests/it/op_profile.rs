//! `op_profile`. The numbers are those that XProf 2.24.2 gives for the same bytes.

use haloscope_compat::Error;
use serde_json::{Value, json};

use crate::support::{ask, open, refused, text};

/// The child of this name.
#[track_caller]
fn child<'v>(node: &'v Value, name: &str) -> &'v Value {
    let children = node["children"].as_array().unwrap();
    let found = children.iter().find(|child| child["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {}", names(node).join(", ")))
}

fn names(node: &Value) -> Vec<&str> {
    node["children"].as_array().unwrap().iter().map(|child| child["name"].as_str().unwrap()).collect()
}

#[track_caller]
fn near(found: &Value, expected: f64) {
    let found = found.as_f64().unwrap();
    assert!((found - expected).abs() <= 1e-9 * expected.abs(), "found {found}, expected {expected}");
}

#[test]
fn programs_down_to_ops() {
    let profile = open("tpu-train");
    let answer = ask(&profile, "op_profile", &[]);
    assert_eq!((&answer["deviceType"], &answer["aggDvfsTimeScaleMultiplier"]), (&json!("TPU"), &json!(1)));
    let root = &answer["byProgram"];
    assert_eq!(names(root), ["jit_train_step(14606544531147133434)", "IDLE"]);
    // The root's time is that from the first op to the last, summed over four cores of two hosts.
    assert_eq!(root["metrics"]["rawTime"], 64_240_093_750_u64);
    near(&root["metrics"]["flops"], 0.120_765_073_624_089_68);
    near(&root["metrics"]["bandwidthUtils"][0], 0.077_389_885_189_161_64);
    assert_eq!(root["metrics"]["normalizedTimePs"], 106_043_222_500_u64);
    assert_eq!(child(root, "IDLE")["metrics"]["rawTime"], 767_190_000);

    let program = &root["children"][0];
    assert_eq!((&program["numChildren"], &program["metrics"]["occurrences"]), (&json!(22), &json!(0)));
    assert_eq!(
        program["metrics"]["rawBytesAccessedArray"],
        json!([4_071_685_920_u64, 76_479_289_920_u64, 65_562_872_352_u64])
    );
    assert_eq!(names(program)[..3], ["convolution fusion", "all-reduce", "custom fusion"]);

    let group = child(child(program, "convolution fusion"), "fusion.432 and its duplicate(s)");
    assert_eq!((&group["numChildren"], &group["xla"]["provenance"]), (&json!(26), &json!("")));
    assert_eq!(group["metrics"]["occurrences"], 1568);
    near(&group["metrics"]["avgTimePs"], 15_797_905.771_683_674);
    let op = child(group, "fusion.391");
    near(&op["metrics"]["uncappedFlops"], 0.011_157_148_936_839_452);
    near(&op["metrics"]["bandwidthUtils"][0], 0.115_622_402_457_027_33);
    assert_eq!((&op["metrics"]["rawFlops"], &op["numChildren"]), (&json!(141_197_049_856_u64), &json!(4)));
    // Copies of one op that is no fusion keep their scope and get a layout, which nobody fills in.
    let reduces = child(child(program, "all-reduce"), "all-reduce.59 and its duplicate(s)");
    assert_eq!(reduces["xla"]["layout"], json!({ "dimensions": [] }));
    // An op without copies stands for its group.
    let scatter = child(child(program, "custom fusion"), "scatter_custom_fusion");
    assert_eq!(scatter["metrics"]["occurrences"], 32);
    assert!(scatter["xla"].get("layout").is_none());
}

#[test]
fn fusions_down_to_instructions() {
    let answer = ask(&open("tpu-train"), "op_profile", &[("group_by", "category")]);
    let scatter = child(child(&answer["byCategory"], "custom fusion"), "scatter_custom_fusion");
    assert_eq!(names(scatter), ["fusion.207", "scatter_custom_fusion.1"]);
    let inner = child(scatter, "scatter_custom_fusion.1");
    assert_eq!((&inner["numChildren"], &inner["metrics"]["occurrences"]), (&json!(5), &json!(1)));
    assert_eq!((&inner["metrics"]["rawTime"], &inner["xla"]["programId"]), (&json!(0), &json!("0")));
    let mut fused = names(inner);
    fused.sort_unstable();
    assert_eq!(fused, ["reshape.228", "reshape.229", "scatter.3", "transpose.86", "transpose.87"]);
    let zeros = child(scatter, "fusion.207");
    let expression = "%fusion.207 = bf16[4096,256]{1,0:T(8,128)(2,1)} fusion(bf16[]{:T(256)} %param_2.382), kind=kLoop, calls=%fused_computation.242";
    assert_eq!(zeros["xla"]["expression"], expression);
    assert_eq!(zeros["xla"]["category"], "loop fusion");
    assert_eq!(zeros["xla"]["provenance"], "jit(train_step)/transpose(jvp(embed))/scatter-add:");
}

#[test]
fn without_idle_time_shares_are_those_of_busy_time() {
    let answer = ask(&open("tpu-train"), "op_profile", &[("group_by", "category")]);
    assert!(answer.get("byProgram").is_none());
    let (whole, busy) = (&answer["byCategory"], &answer["byCategoryExcludeIdle"]);
    assert_eq!((&whole["numChildren"], &busy["numChildren"]), (&json!(23), &json!(22)));
    assert_eq!(busy["metrics"]["rawTime"], 63_472_903_750_u64);
    near(&child(whole, "all-reduce")["metrics"]["flops"], 0.000_130_079_809_659_566_24);
    near(&child(busy, "all-reduce")["metrics"]["flops"], 0.000_131_652_069_998_651_82);
}

#[test]
fn scopes_down_to_ops() {
    let answer = ask(&open("tpu-train"), "op_profile", &[("group_by", "provenance")]);
    let program = &answer["byProvenance"]["children"][0];
    assert_eq!(program["numChildren"], 17);
    let function = child(program, "jit(train_step)");
    assert_eq!(
        (&function["metrics"]["rawTime"], &function["metrics"]["occurrences"]),
        (&json!(59_365_682_500_u64), &json!(0))
    );
    assert_eq!(names(function)[..3], ["transpose(jvp())", "jvp()", "transpose(jvp(cross_entropy))"]);
    near(&child(function, "jvp()")["metrics"]["flops"], 0.044_172_638_033_341_92);
    // Ops without a scope stand under their category.
    let starts = child(child(program, "async-start"), "slice-start.25 and its duplicate(s)");
    assert_eq!((&starts["numChildren"], &starts["metrics"]["bandwidthUtils"][0]), (&json!(34), &json!(1)));
}

#[test]
fn an_op_says_where_it_comes_from() {
    let answer = ask(&open("tpu-custom-call"), "op_profile", &[]);
    let root = &answer["byProgram"];
    // An event without a place in time counts from the start of its line.
    assert_eq!(root["metrics"]["rawTime"], 81_432_861_250_u64);
    let kernel = &root["children"][1]["children"][0]["children"][0];
    let expression = "%blocked_matmul.1 = bf16[1024,1024]{1,0:T(8,128)(2,1)S(1)} custom-call(bf16[1024,2048]{1,0:T(8,128)(2,1)} \
                      %left.1, bf16[2048,1024]{1,0:T(8,128)(2,1)} %right.1), custom_call_target=\"tpu_custom_call\"";
    let expected = json!({
        "op": "", "expression": expression, "provenance": "jit(pallas_matmul)/matmul/blocked_matmul/pallas_call:",
        "category": "custom-call", "computationPrimitiveSize": 0, "fingerprint": "0", "programId": "17342868964687645945",
        "sourceInfo": { "fileName": "compile.py", "lineNumber": 236, "stackFrame": "" }, "xprofKernelMetadata": ""
    });
    assert_eq!(kernel["xla"], expected);
    // FLOPs that only the kernel's events state do not count.
    assert_eq!(kernel["metrics"]["rawFlops"], 0);
}

#[test]
fn gpu_ops_are_those_of_the_hlo() {
    let answer = ask(&open("gpu-train"), "op_profile", &[]);
    assert_eq!((&answer["deviceType"], &answer["aggDvfsTimeScaleMultiplier"]), (&json!("GPU"), &json!(0)));
    let root = &answer["byProgram"];
    assert_eq!(
        (&root["metrics"]["rawTime"], &root["metrics"]["rawFlops"]),
        (&json!(1_192_517_500), &json!(13_201_697_496_u64))
    );
    near(&root["metrics"]["bandwidthUtils"][0], 0.001_827_074_446_488_987_6);
    let fusions = child(child(root, "jit_convolution(31)"), "output fusion");
    let op = child(fusions, "convert_reduce_fusion.1");
    near(&op["metrics"]["flops"], 0.003_735_034_471_194_814_4);
    assert_eq!((&op["metrics"]["avgTimePs"], &op["numChildren"]), (&json!(3_145_937.5), &json!(0)));
    assert_eq!(op["xla"]["sourceInfo"]["stackFrame"].as_str().unwrap().lines().count(), 6);
    let expression = op["xla"]["expression"].as_str().unwrap();
    assert!(
        expression.starts_with("%convert_reduce_fusion.1 = (f32[8,128]{1,0:T(8,128)S(1)}, "),
        "{expression}"
    );
    assert!(
        expression.ends_with(" %get-tuple-element.19), kind=kOutput, calls=%fused_computation.13"),
        "{expression}"
    );
}

#[test]
fn runs_without_device_ops() {
    let metrics = json!({
        "flops": 0, "bandwidthUtils": [0, 0, 0], "rawTime": 0, "rawFlops": 0, "rawBytesAccessedArray": [0, 0, 0],
        "occurrences": 0, "avgTimePs": 0, "bf16Flops": 0, "uncappedFlops": 0, "normalizedTimePs": 0
    });
    let empty = json!({ "name": "by_program", "metrics": metrics, "children": [], "numChildren": 0 });
    let answer = ask(&open("cpu-infer"), "op_profile", &[]);
    let expected = json!({
        "byProgram": empty, "deviceType": "CPU_ONLY", "byProgramExcludeIdle": empty, "aggDvfsTimeScaleMultiplier": 0
    });
    assert_eq!(answer, expected);
    // Where all is idle, idle time is the root.
    let answer = ask(&open("gpu-amd"), "op_profile", &[]);
    assert_eq!((&answer["deviceType"], &answer["byProgram"]["name"]), (&json!("GPU"), &json!("IDLE")));
    assert_eq!(answer["byProgramExcludeIdle"], empty);
}

#[test]
fn names_and_values_of_parameters_are_checked() {
    let profile = open("tpu-custom-call");
    assert_eq!(
        text(&profile, "hlo_op_profile", &[]),
        text(&profile, "op_profile", &[("group_by", "program")])
    );
    for words in [[("group_by", "module")], [("by", "program")], [("host", "nowhere")]] {
        let error = refused(&profile, "op_profile", &words);
        assert!(matches!(error, Error::Usage(_)), "{error}");
    }
}
