//! `perf_counters`. The numbers are those of XProf 2.24.2 for the same bytes.

use haloscope_compat::{find, offered};
use haloscope_xspace::write::{Space, Value};
use serde_json::{Value as Json, json};

use crate::planes::{Planned, space, words};
use crate::support::{ask, made, refused, row};

/// The v6e's counter of cycles.
const CYCLES: u64 = 3_257_466_888;

fn counters() -> Space {
    let kind = ("device_type_string", words("TPU v6 Lite"));
    let mut tpu = Planned::new("/device:TPU:0", &[("device_id", Value::Int(3)), kind]);
    let own = [
        ("performance_counter_id", Value::Uint(CYCLES)),
        ("counter_value", Value::Uint(1 << 63 | 12_345)),
        ("performance_counter_description", words("Own words")),
        ("performance_counter_sets", words("Own set")),
    ];
    tpu.line(7, "kernel", 0).event("Cycles", (0, 0), &own);
    tpu.event("Negative", (1, 0), &[("counter_value", Value::Int(-5))]);
    tpu.event("Float", (2, 0), &[("counter_value", Value::Double(2.75))]);
    tpu.event("None", (3, 0), &[("other", Value::Int(1))]);
    let ids = [("global_chip_id", Value::Int(5)), ("device_id", Value::Int(9))];
    let mut gpu = Planned::new("/device:GPU:0", &ids);
    gpu.line(1, "stream", 0).event("Gpu", (0, 0), &[("counter_value", Value::Int(3))]);
    let mut lost = Planned::new("/device:TPU:1", &[]);
    lost.line(1, "kernel", 0).event("Lost", (0, 0), &[("counter_value", Value::Int(1))]);
    space(vec![tpu, gpu, lost])
}

fn shown(table: &Json, index: usize) -> (Vec<Json>, Json) {
    (row(table, index), table["rows"][index]["c"][5]["f"].clone())
}

#[test]
fn values_of_every_kind() {
    let table = ask(&made(&counters()), "perf_counters", &[]);
    let values = [
        ("kernel", 7.0, "negative", 18_446_744_073_709_551_616.0, "0xfffffffffffffffb", 3.0),
        ("kernel", 7.0, "float", 0.0, "0x0", 3.0),
        ("stream", 1.0, "gpu", 3.0, "0x3", 5.0),
    ];
    for (index, (kernel, sample, counter, value, hex, chip)) in values.into_iter().enumerate() {
        let expected = vec![json!("host"), json!(chip), json!(kernel), json!(sample), json!(counter)];
        let (found, text) = shown(&table, index + 1);
        assert_eq!(found, [expected, vec![json!(value), json!(""), json!("")]].concat());
        assert_eq!(text, hex);
    }
    assert_eq!(table["rows"].as_array().unwrap().len(), 4, "a plane without a chip is left out");
}

/// XProf puts a sentence of 101 letters and the set `cycle_counter_window` in place of what the profile says.
#[test]
fn the_profile_describes_its_counters() {
    let (found, hex) = shown(&ask(&made(&counters()), "perf_counters", &[]), 0);
    assert_eq!(
        found[4..],
        [json!("cycles"), json!(9_223_372_036_854_788_153.0), json!("Own words"), json!("Own set")]
    );
    assert_eq!(hex, "0x8000000000003039");
}

#[test]
fn names_of_counters() {
    let profile = made(&counters());
    let names = ask(&profile, "perf_counters", &[("names_only", "1"), ("device_type", "v6e")]);
    assert_eq!(names.as_array().unwrap().len(), 900);
    let name = "vf_chip_tc_tcs_tc_misc_tcs_stats_tcs_stats_counters_unprivileged_count_cycles";
    assert_eq!(names[0], json!({"name": name, "val": CYCLES}));
    let refusal = refused(&profile, "perf_counters", &[("names_only", "1"), ("device_type", "v5e")]);
    assert_eq!(refusal.http_status(), 400);
    assert_eq!(refused(&profile, "perf_counters", &[("names_only", "1")]).http_status(), 400);
}

#[test]
fn offered_where_a_tpu_has_counters() {
    let has = |space: &Space| offered(&made(space)).any(|t| t.id == "perf_counters");
    assert!(has(&counters()));
    let mut gpu = Planned::new("/device:GPU:0", &[("device_id", Value::Int(0))]);
    gpu.line(1, "s", 0).event("Gpu", (0, 0), &[("counter_value", Value::Int(3))]);
    assert!(!has(&space(vec![gpu])));
    assert!(find("perf_counters").is_ok());
}
