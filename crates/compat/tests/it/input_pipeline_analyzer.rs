//! `input_pipeline_analyzer`. The numbers are those that XProf 2.24.2 gives for the same bytes.

use haloscope_xspace::write::{Space, Value as Wire};
use serde_json::{Value, json};

use crate::made::{MS, Made, run, space, tpu_host};
use crate::support::{ask, column, open, row};

fn props<'a>(table: &'a Value, keys: &[&str]) -> Vec<&'a str> {
    keys.iter().map(|key| table["p"][key].as_str().unwrap_or("missing")).collect()
}

#[test]
fn steps_of_tpus() {
    let answer = ask(&run(&[("h", tpu_host("left", 0, 3))]), "input_pipeline_analyzer", &[]);
    // Which core waited longest for input.
    assert_eq!(row(&answer[0], 1), ["Core name", "left:1", "left:1", "left:1"]);
    let steps = &answer[1];
    // Where there are SparseCores, nothing is said of those of the first generation.
    assert_eq!(json!(row(steps, 0)[..6]), json!(["0", 27.0, 7.0, 1.5, 49.5, 2.0]));
    assert_eq!(column(steps, "infeedPercentMax"), [7.692_307_692_307_692_5; 3]);
    let keys =
        ["steptime_ms_average", "tc_active_ms_average", "active_steptime_ms_average", "sc_active_ms_average"];
    assert_eq!(props(steps, &keys), ["91.00", "25.50", "25.50", "11.00"]);
    let conclusion = props(steps, &["input_conclusion"])[0];
    assert!(conclusion.starts_with("Your program is MODERATELY input-bound because 7.7% of"), "{conclusion}");
}

#[test]
fn idle_time_of_a_tpu_without_infeed_is_input_where_the_host_worked_on_input() {
    let answer = ask(&open("tpu-input-bound"), "input_pipeline_analyzer", &[]);
    // Groups 0 to 5 are the host's; the device's steps are counted on.
    assert_eq!(column(&answer[1], "stepnum"), ["6", "7", "8", "9", "10", "11"]);
    let stages = column(&answer[2], "opName");
    assert_eq!(stages, ["TokenizeAndPack::Map", "ArrayRecordDataSource::Read", "TransferToDevice H2D"]);
    assert_eq!(column(&answer[2], "timeInMs"), [0.113_661_25, 0.056_830_625, 0.056_830_625]);
    assert_eq!(column(&answer[2], "category"), ["Preprocessing", "Demanded file read", "Enqueue"]);
}

/// A program on the host: three steps, each with stages of an input pipeline and an op.
fn host_with_stages() -> Space {
    let mut made = Made::plane("/host:CPU", 9);
    made.line(1, "python");
    for step in 0..3_i64 {
        let at = step * 100 * MS;
        made.event("train", at, 90 * MS, &[("_r", Wire::Int(1)), ("step_num", Wire::Int(step + 5))]);
        for (id, name, category, from, ms) in [
            (101, "next", "preprocessing", 5, 20),
            (102, "read", "read", 8, 10),
            (103, "put", "enqueue", 40, 10 + step),
        ] {
            let stats = [
                ("_ipl_stage_id", Wire::Int(id)),
                ("_ipl_stage_name", Wire::Str(name.into())),
                ("_ipl_stage_cat", Wire::Str(category.into())),
            ];
            made.event(name, at + from * MS, ms * MS, &stats);
        }
        made.event("op", at + 60 * MS, 20 * MS, &[]);
        // The class of an event without length keeps the time until the next of its class ends.
        made.event("mark", at + 84 * MS, 0, &[]);
    }
    space("cpu", vec![made])
}

#[test]
fn stages_of_an_input_pipeline() {
    let answer = ask(&run(&[("h", host_with_stages())]), "input_pipeline_analyzer", &[]);
    let steps = &answer[1];
    assert_eq!(column(steps, "stepnum"), ["train 5", "train 6", "train 7"]);
    assert_eq!(column(steps, "infeedTimeMs"), [30.0, 31.0, 32.0]);
    assert_eq!(column(steps, "hostComputeTimeMs"), [20.0, 20.0, 20.0]);
    assert_eq!(column(steps, "otherTimeMs"), [40.0, 39.0, 38.0]);
    let conclusion = props(steps, &["input_conclusion"])[0];
    assert!(conclusion.starts_with("Your program is HIGHLY input-bound because 34.4% of"), "{conclusion}");
    let host = &answer[2];
    assert_eq!(column(host, "opName"), ["put", "next", "read"]);
    assert_eq!(column(host, "selfTimeInMs"), [33.0, 30.0, 30.0]);
    let keys = ["enqueue_us", "demanded_file_read_us", "preprocessing_us", "unclassified_nonequeue_us"];
    assert_eq!(props(host, &keys), ["33000.000", "30000.000", "30000.000", "0.000"]);
}

/// A program on a GPU: three steps with events of every class.
fn gpu_host() -> Space {
    let (mut host, mut gpu) = (Made::plane("/host:CPU", 9), Made::plane("/device:GPU:0", 0));
    gpu.fact("device_vendor", Wire::Str("Nvidia".into()));
    gpu.fact("compute_cap_major", Wire::Int(8));
    gpu.fact("compute_cap_minor", Wire::Int(9));
    host.line(1, "python");
    gpu.line(13, "Stream #13(Compute)");
    for step in 0..3_i64 {
        let at = step * 100 * MS;
        host.event("train", at, 90 * MS, &[("_r", Wire::Int(1)), ("step_num", Wire::Int(step))]);
        for (number, (name, from, ms)) in [
            ("MemcpyH2D", 5, 5),
            ("MemcpyHtoD", 12, 4),
            ("gemm_half", 18, 20),
            ("elementwise", 40, 15),
            ("ncclAllReduce", 50, 12),
            ("MemcpyDtoH", 64, 5),
            ("MemcpyDtoD", 71, 3),
        ]
        .into_iter()
        .enumerate()
        {
            let id = [("correlation_id", Wire::Int(step * 10 + number as i64 + 1))];
            host.event("cuLaunchKernel", at + (number as i64 + 1) * MS, MS / 2, &id);
            gpu.event(name, at + from * MS, ms * MS, &id);
        }
    }
    space("gpu", vec![gpu, host])
}

#[test]
fn steps_of_a_gpu() {
    let profile = run(&[("h", gpu_host())]);
    let answer = ask(&profile, "input_pipeline_analyzer", &[]);
    let step = json!(["0", 40.0, 3.0, 7.0, 0.0, 0.0, 4.0, 5.0, 0.0, 10.0]);
    assert_eq!(json!(row(&answer[1], 0)[..10]), step);
    assert_eq!(column(&answer[1], "stepTimeMs"), [69.0, 69.0, 69.0]);
    let overview = ask(&profile, "overview_page", &[]);
    assert_eq!(overview[2]["p"]["device_type"], "Nvidia GPU (Ada Lovelace)");
    assert_eq!(overview[0]["p"]["device_compute_16bit_percent"], "50.0%");
}
