//! `inference_profile`. The numbers are those of XProf 2.24.2 for the same profile.

use haloscope_profile::Profile;
use haloscope_xspace::write::Value;
use serde_json::{Value as Json, json};

use crate::planes::{Planned, US, space, words};
use crate::support::{ask, made, refused, row};

fn us(start: i64, length: i64) -> (i64, i64) {
    (start * US, length * US)
}

/// Two requests that wait for a batch each, which a thread of its own runs.
pub(crate) fn served() -> Profile {
    let int = Value::Int;
    let mut host = Planned::new("/host:CPU", &[]);
    host.line(1, "rpc", 1_000);
    for i in 0..2 {
        let at = 50 + 400 * i;
        host.event("BatchingSessionRun", us(at, 150), &[("_r", int(1))]);
        let own = [("batching_input_task_size", int(3 + i)), ("_p", int(10 + i)), ("_pt", int(14))];
        host.event("ScheduleWithoutSplit", us(at + 2, 3), &own);
    }
    host.line(2, "batcher", 1_000);
    let mut device = Planned::new("/device:TPU:0", &[]);
    device.line(1, "XLA Modules", 1_000);
    for i in 0..2 {
        let at = 80 + 400 * i;
        host.event("ProcessBatch", us(at, 100), &[("_c", int(10 + i)), ("_ct", int(14)), ("_r", int(1))]);
        let own = [("padding_amount", int(1)), ("batch_size_after_padding", int(4 + i))];
        host.event("ConcatInputTensors", us(at + 2, 4), &own);
        host.event("SessionRun", us(at + 8, 85), &[("model_id", words("m:1"))]);
        host.event("TransferH2DRequest", us(at + 10, 6 + i), &[]);
        host.event("tpu::System::Execute", us(at + 20, 10), &[]);
        let own = [("run_id", int(10 + i)), ("_p", int(10 + i)), ("_pt", int(12))];
        host.event("DoEnqueueProgram", us(at + 25, 2), &own);
        host.event("ReadHbm", us(at + 80, 5), &[]);
        host.event("CompleteCallbacks", us(at + 88, 2), &[]);
        let own = [("run_id", int(10 + i)), ("_c", int(10 + i)), ("_ct", int(12))];
        device.event("jit_f(7)", us(at + 30, 45 - i), &own);
    }
    made(&space(vec![host, device]))
}

#[track_caller]
fn check(table: &Json, rows: &[Json]) {
    for (index, expected) in rows.iter().enumerate() {
        let found = row(table, index);
        for (found, expected) in found.iter().zip(expected.as_array().unwrap()) {
            match (found.as_f64(), expected.as_f64()) {
                (Some(a), Some(b)) => assert!((a - b).abs() < 1e-12, "{found} is not {expected}"),
                _ => assert_eq!(found, expected),
            }
        }
    }
    assert_eq!(table["rows"].as_array().unwrap().len(), rows.len());
}

#[test]
fn requests_and_batches() {
    let tables = ask(&served(), "inference_profile", &[]);
    assert_eq!(tables.as_array().unwrap().len(), 3);
    assert_eq!(tables[0]["p"], json!({"hasBatching": "true", "hasTensorPattern": "false"}));
    check(&tables[0], &[json!(["m:1"])]);
    assert_eq!(tables[1]["p"], json!({"averageLatencyMs": "0.150", "throughput": "3636.4"}));
    let rest = |a: [f64; 7], text: &str| a.iter().map(|v| json!(v)).chain([json!(text)]).collect::<Vec<_>>();
    let request = |head: [Json; 3], size: f64, rate: &str, times: [f64; 7]| {
        Json::from([head.to_vec(), vec![json!(size), json!(0.03), json!(rate)], rest(times, "")].concat())
    };
    let first = [0.014, 0.005, 0.006, 0.005, 0.045, 0.032, 0.013];
    let second = [0.013, 0.005, 0.007, 0.005, 0.044, 0.032, 0.014];
    let mean = [0.013_5, 0.005, 0.006_5, 0.005, 0.044_5, 0.032, 0.013_5];
    let head = |a: &str, b: &str| [json!(a), json!(b), json!(0.15)];
    let rows = [
        request(head("0.000", "2"), 3.0, "N/A", first),
        request(head("50.000", "3"), 4.0, "N/A", second),
        request(head("Batch size 4", "N/A"), 3.0, "1818.2", first),
        request(head("Batch size 5", "N/A"), 4.0, "1818.2", second),
        request(head("Average", "N/A"), 3.0, "3636.4", mean),
    ];
    check(&tables[1], &rows);
    let properties =
        json!({"averageLatencyMs": "0.100", "hasBatchingParam": "false", "throughput": "4000.0"});
    assert_eq!(tables[2]["p"], properties);
    let rows = [
        json!(["0.000", "0", 0.1, 1.0, 4.0, 0.75, 0.03, "N/A", 0.045, "7", ""]),
        json!(["50.000", "1", 0.1, 1.0, 5.0, 0.8, 0.03, "N/A", 0.044, "7", ""]),
        json!(["Batch size 4", "N/A", 0.1, 1.0, 4.0, 0.75, 0.03, "2000.0", 0.045, "7", ""]),
        json!(["Batch size 5", "N/A", 0.1, 1.0, 5.0, 0.8, 0.03, "2000.0", 0.044, "7", ""]),
        json!([
            "Aggregated",
            "N/A",
            0.1,
            1.0,
            4.0,
            0.777_777_777_777_777_8,
            0.03,
            "4000.0",
            0.0445,
            "N/A",
            "N/A"
        ]),
    ];
    check(&tables[2], &rows);
}

#[test]
fn sorted_by_another_column() {
    let by = [("request_column", "Device compute"), ("batch_column", "Device compute")];
    assert_eq!(refused(&served(), "inference_profile", &by).http_status(), 400);
    let tables = ask(&served(), "inference_profile", &by[..1]);
    assert_eq!(row(&tables[1], 0)[1], "3");
}

#[test]
fn nothing_served() {
    let mut host = Planned::new("/host:CPU", &[]);
    host.line(1, "main", 0).event("work", (0, US), &[]);
    let tables = ask(&made(&space(vec![host])), "inference_profile", &[]);
    check(&tables[0], &[json!(["ALL"])]);
    check(&tables[1], &[json!(["Average", "N/A", 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, ""])]);
}
