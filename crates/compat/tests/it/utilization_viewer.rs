//! `utilization_viewer` and `kernel_utilization`. The numbers are those of XProf 2.24.2 for the same bytes.

use haloscope_xspace::write::{Space, Value};
use serde_json::{Value as Json, json};

use crate::planes::{Planned, US, space, words};
use crate::support::{ask, made, row};

/// Addresses of blocks of counters: the v6e's TensorCore and first memory channel, the v7x's first die.
const V6E: u64 = 3_257_466_888;
const V6E_HBM: u64 = 3_019_980_808;
const V7X_THROTTLE: u64 = 2_847_490_056;
const V7X: u64 = 2_791_874_568;

/// A sample of counters on one chip, beside an op of 80 us.
fn sample(kind: &str, values: &[(u64, f64)]) -> Space {
    let facts = [("device_id", Value::Int(3)), ("device_type_string", words(kind))];
    let mut tpu = Planned::new("/device:TPU:0", &facts);
    tpu.line(10, "sample", 0);
    for (id, value) in values {
        let own = [("performance_counter_id", Value::Uint(*id)), ("counter_value", Value::Double(*value))];
        tpu.event(&format!("c{id}"), (0, 0), &own);
    }
    tpu.line(11, "XLA Ops", 0).event("op", (0, 80 * US), &[]);
    space(vec![tpu])
}

pub(crate) fn v6e() -> Space {
    let tcs = |offset: u64| V6E + offset;
    sample(
        "TPU v6 Lite",
        &[
            (tcs(0), 100_000.0),
            (tcs(512), 50_000.0),
            (tcs(520), 20_000.0),
            (tcs(528), 30_000.0),
            (tcs(464), 5_000.0),
            (tcs(480), 2_000.0),
            (tcs(648), 70_000.0),
            (tcs(656), 10_001.0),
            (tcs(664), 20_000.0),
            (tcs(632), 600.0),
            (tcs(1688), 250.0),
            (V6E_HBM, 100_000.0),
            (V6E_HBM + 32, 7_000.0),
        ],
    )
}

fn rows(space: &Space) -> Vec<(String, f64, f64)> {
    let table = ask(&made(space), "utilization_viewer", &[]);
    let count = table["rows"].as_array().unwrap().len();
    let one = |index| {
        let row = row(&table, index);
        (row[4].as_str().unwrap().to_owned(), row[5].as_f64().unwrap(), row[6].as_f64().unwrap())
    };
    (0..count).map(one).collect()
}

fn of(rows: &[(String, f64, f64)], name: &str) -> (f64, f64) {
    let row = rows.iter().find(|row| row.0 == name).unwrap_or_else(|| panic!("no {name}"));
    (row.1, row.2)
}

#[test]
fn units_of_a_v6e() {
    let rows = rows(&v6e());
    assert_eq!(rows.len(), 58);
    for (name, achieved, peak) in [
        ("VPU Utilization", 250.0, 400_000.0),
        ("No MXU Busy", 50_000.0, 100_000.0),
        ("Avg MXU Busy", 40_000.0, 100_000.0),
        ("MXU0", 24_000.0, 100_000.0),
        ("MXU1", 0.0, 100_000.0),
        ("MXU BF16", 20_000.0, 200_000.0),
        ("MXU I8", 4_000.0, 200_000.0),
        ("Avg XLU Busy", 25_000.5, 100_000.0),
        ("XLU0", 600.0, 25_000.0),
        ("HBM Rd+Wr - core 0", 224_000.0, 93_599_608.714_971_42),
        ("HBM Write Ratio", 224_000.0, 224_000.0),
    ] {
        assert_eq!(of(&rows, name), (achieved, peak), "{name}");
    }
}

/// Doubles below 0 and above 64 bits are held inside.
#[test]
fn values_out_of_range_of_a_v7x() {
    let values = [(V7X_THROTTLE, 1_000.0), (V7X + 80, -500.0), (V7X + 88, 1e30)];
    let rows = rows(&sample("TPU v7x", &values));
    assert_eq!(of(&rows, "Scalar Unit"), (18_446_744_073_709_551_615.0, 2_000.0));
    assert_eq!(of(&rows, "ICI (Read)"), (0.0, 294_947.368_421_052_6));
    assert!(!rows.iter().any(|r| r.0.starts_with("HBM")), "nothing without the core's own cycles");
}

#[test]
fn another_chip_has_no_formulas() {
    let space = sample("TPU v5", &[(V6E, 1_000.0)]);
    assert_eq!(rows(&space), []);
    let found = ask(&made(&space), "kernel_utilization", &[]);
    assert_eq!(found, json!({"devices": [], "status": "SUCCESS"}));
}

fn kernel(space: &Space, words: &[(&str, &str)]) -> Json {
    ask(&made(space), "kernel_utilization", words)["devices"][0]["kernels"][0].clone()
}

#[test]
fn percent_of_a_kernel() {
    let found = kernel(&v6e(), &[]);
    assert_eq!(found["kernel_name"], "default_kernel");
    assert_eq!(found["duration_us"], 80.0);
    let parts = json!({"BF16": 83.33, "FP8": 0.0, "Int4": 0.0, "Int8": 16.67});
    assert_eq!(found["mxu_cycles_breakdown"], parts);
    for (key, value) in [
        ("1 MXU Busy", 20.0),
        ("1 XLU Busy", 10.0),
        ("Avg XLU Busy", 25.0),
        ("HBM Bandwidth Utilization", 0.24),
        ("HBM Write Ratio", 100.0),
        ("MXU0", 24.0),
        ("VPU Utilization", 0.06),
        ("XLU0", 2.4),
    ] {
        assert_eq!(found["other_metrics"][key], value, "{key}");
    }
    assert_eq!(found["mxu_utilization"], 40.0);
    assert_eq!(found["mxu_is_anomaly"], false);
}

#[test]
fn a_kernel_of_which_the_time_is_known() {
    let words = [("duration_us", "100"), ("force_duration", "true")];
    let found = kernel(&v6e(), &words);
    assert_eq!((&found["duration_us"], &found["mxu_utilization"]), (&json!(100.0), &json!(22.86)));
    let only_said = kernel(&v6e(), &words[..1]);
    assert_eq!((&only_said["duration_us"], &only_said["mxu_utilization"]), (&json!(100.0), &json!(40.0)));
    assert_eq!(kernel(&v6e(), &[("kernel", "other")]), Json::Null);
    let other = ask(&made(&v6e()), "kernel_utilization", &[("device_id", "4")]);
    assert_eq!(other["devices"], json!([]));
}

/// The second die counted no cycles: it had as many as fit into the kernel's time.
#[test]
fn a_core_without_cycles() {
    let values = [(V7X_THROTTLE, 1_000.0), (V7X + 80, 500.0)];
    let found = kernel(&sample("TPU v7x", &values), &[]);
    assert_eq!(found["other_metrics"]["Scalar Unit"], 0.16);
}
