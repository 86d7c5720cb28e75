//! `overview_page`. The numbers are those that XProf 2.24.2 gives for the same bytes.

use serde_json::Value;

use crate::made::{run, tpu_host};
use crate::support::{ask, open, row};

fn prop<'a>(table: &'a Value, key: &str) -> &'a str {
    table["p"][key].as_str().unwrap_or("missing")
}

#[test]
fn tpus() {
    let answer = ask(&open("tpu-train"), "overview_page", &[]);
    let analysis = &answer[0];
    for (key, value) in [
        ("device_idle_time_percent", "1.2%"),
        ("device_duty_cycle_percent", "98.7%"),
        ("device_duty_cycle_high_confidence_percent", "98.7%"),
        ("host_idle_time_percent", "100.0%"),
        ("tc_active_ms_average", "1.92"),
    ] {
        assert_eq!(prop(analysis, key), value, "{key}");
    }
    let run = &answer[2];
    assert_eq!((prop(run, "host_count"), prop(run, "device_core_count")), ("2", "4"));
    assert_eq!((prop(run, "is_training"), prop(run, "task_count")), ("true", "2 (num tasks per host = 1)"));
    // Steps of TPUs are looked at as if they were those of GPUs: nothing is found.
    assert_eq!((prop(&answer[3], "bottleneck"), prop(&answer[3], "statement")), ("", ""));
    assert_eq!(answer[3]["rows"].as_array().unwrap().len(), 7);
    assert_eq!(answer[5], serde_json::json!({}));
}

#[test]
fn a_chip_computes_while_any_of_its_cores_does() {
    let answer = ask(&run(&[("h", tpu_host("left", 0, 3))]), "overview_page", &[]);
    let analysis = &answer[0];
    let keys = ["device_duty_cycle_percent", "idle_time_high_confidence_ps", "device_idle_time_percent"];
    assert_eq!(keys.map(|key| prop(analysis, key)), ["39.8%", "3.11e+11", "54.6%"]);
    assert_eq!(prop(analysis, "sc_active_ms_average"), "11.00");
}

#[test]
fn custom_calls_are_uncertain_unless_their_events_state_flops() {
    // The FLOPs of the kernel are a multiple of 2^32, of which XProf keeps nothing; and an event without a place in time
    // stands at the start of its line, 81 ms before the program.
    let answer = ask(&open("tpu-custom-call"), "overview_page", &[]);
    let keys = [
        "device_duty_cycle_percent",
        "device_duty_cycle_high_confidence_percent",
        "idle_time_high_confidence_ps",
    ];
    assert_eq!(keys.map(|key| prop(&answer[0], key)), ["0.1%", "0.0%", "8.14108e+10"]);
}

#[test]
fn gpus() {
    let answer = ask(&open("gpu-train"), "overview_page", &[]);
    let analysis = &answer[0];
    assert_eq!(
        (analysis["cols"].as_array().unwrap().len(), analysis["rows"].as_array().unwrap().len()),
        (7, 10)
    );
    assert_eq!(row(analysis, 0)[2..4], ["gather", "jit(convolution)/jvp(head)/jit(take_along_axis)/gather"]);
    assert_eq!(prop(&answer[3], "bottleneck"), "unknown");
    assert_eq!(row(&answer[6], 0)[0], "WARNING");
}
