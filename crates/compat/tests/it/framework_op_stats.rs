//! `framework_op_stats`. The numbers are those that XProf 2.24.2 gives for the same bytes.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::{ask, near, open, record, text};

/// How many rows there are with idle time, and without.
fn lengths(answer: &Value) -> [usize; 2] {
    [0, 1].map(|i| answer[i]["rows"].as_array().unwrap().len())
}

fn words(row: &BTreeMap<String, Value>) -> Value {
    json!([
        row["rank"],
        row["host_or_device"],
        row["type"],
        row["operation"],
        row["occurrences"],
        row["bound_by"]
    ])
}

#[test]
fn ops_of_devices_by_the_frameworks_names() {
    let profile = open("tpu-train");
    let answer = ask(&profile, "framework_op_stats", &[]);
    assert_eq!((lengths(&answer), answer[0]["cols"].as_array().unwrap().len()), ([234, 232], 19));
    let kind = json!({"architecture_type": "Unknown", "task_type": "Training"});
    assert_eq!((&answer[0]["p"], &answer[1]["p"]), (&kind, &kind));
    let first = record(&answer[0], 0);
    let name = "jit(train_step)/transpose(jvp())/while/body/closed_call/checkpoint/rematted_computation/decoder_layer/\
                feed_forward/dot_general";
    assert_eq!(words(&first), json!([1.0, "Device", "dot_general", name, 64.0, "HBM"]));
    near(&first["total_time"], 7_637.213_75);
    near(&first["avg_self_time"], 119.331_464_843_75);
    near(&first["device_total_self_time_percent"], 0.118_885_470_181_929_8);
    near(&first["model_flop_rate"], 18_092.612_764_177_25);
    near(&first["measured_memory_bw"], 871.683_128_837_040_3);
    near(&first["operational_intensity"], 19.330_486_209_518_593);
    assert_eq!(first["eager"], "Function");
    near(&record(&answer[0], 2)["device_cumulative_total_self_time_percent"], 0.327_057_858_628_981_2);
    assert_eq!(words(&record(&answer[0], 233)), json!([234.0, "Host", "IDLE", "IDLE", 0.0, "Unknown"]));
    // Asked for one host, XProf answers for all.
    let one = text(&profile, "framework_op_stats", &[("host", "tpu-w-1")]);
    assert_eq!(one, text(&profile, "framework_op_stats", &[]));
}

#[test]
fn ops_of_hosts_follow_those_of_devices() {
    let answer = ask(&open("tpu-input-bound"), "framework_op_stats", &[]);
    assert_eq!(lengths(&answer), [29, 27]);
    let idle = record(&answer[0], 0);
    assert_eq!(words(&idle), json!([1.0, "Device", "IDLE", "IDLE", 0.0, "Unknown"]));
    near(&idle["total_self_time"], 277.8);
    near(&idle["device_total_self_time_percent"], 0.634_679_476_012_462_9);
    let host = |rank: usize| record(&answer[0], rank - 1);
    assert_eq!(words(&host(26)), json!([26.0, "Host", "IDLE", "IDLE", 0.0, "Unknown"]));
    near(&host(26)["total_time"], 804.528_75);
    near(&host(26)["host_total_self_time_percent"], 0.779_694_505_385_345);
    let tokenize = "TokenizeAndPack::Map";
    assert_eq!(words(&host(27)), json!([27.0, "Host", "preprocessing", tokenize, 5.0, "Unknown"]));
    near(&host(27)["total_time"], 113.661_25);
    near(&host(27)["Host_cumulative_total_self_time_percent"], 0.889_847_252_692_672_5);
    assert_eq!(
        words(&host(28)),
        json!([28.0, "Host", "read", "ArrayRecordDataSource::Read", 5.0, "Unknown"])
    );
    near(&host(29)["host_total_self_time_percent"], 0.055_076_373_653_663_746);
}

#[test]
fn gpus_tell_of_their_tensor_cores() {
    let answer = ask(&open("gpu-train"), "framework_op_stats", &[]);
    assert_eq!((lengths(&answer), answer[0]["cols"].as_array().unwrap().len()), ([26, 24], 20));
    assert_eq!(answer[0]["p"]["task_type"], "Training");
    near(&record(&answer[0], 0)["device_total_self_time_percent"], 0.539_696_482_441_557_4);
    let gather = record(&answer[0], 1);
    let name = "jit(convolution)/jvp(head)/jit(take_along_axis)/gather";
    assert_eq!(words(&gather), json!([2.0, "Device", "gather", name, 8.0, "HBM"]));
    near(&gather["total_time"], 48.44);
    near(&gather["measured_flop_rate"], 0.027_745_664_739_884_393);
    near(&gather["operational_intensity"], 0.477_272_727_272_727_3);
    assert_eq!(gather["gpu_tensorcore_utilization"], 0.0);
}

#[test]
fn without_ops_there_is_idle_time() {
    for (run, rows, idle) in [("cpu-train", [1, 0], 0.0), ("gpu-amd", [2, 0], 428.0)] {
        let answer = ask(&open(run), "framework_op_stats", &[]);
        assert_eq!((lengths(&answer), &answer[0]["p"]["task_type"]), (rows, &json!("Inference")));
        assert_eq!(record(&answer[0], 0)["total_self_time"], idle);
    }
}
