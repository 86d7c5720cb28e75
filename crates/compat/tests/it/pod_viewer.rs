//! `pod_viewer`. The numbers are those that XProf 2.24.2 gives for the same bytes.

use serde_json::{Value, json};

use crate::made::{run, tpu_host};
use crate::support::{ask, open};

fn steps(answer: &Value) -> &Vec<Value> {
    answer["podStatsSequence"]["podStatsMap"].as_array().unwrap()
}

#[test]
fn parts_of_a_tpu_step() {
    let answer = ask(&run(&[("h", tpu_host("left", 0, 3))]), "pod_viewer", &[]);
    assert_eq!((steps(&answer).len(), answer["deviceType"].as_str()), (3, Some("TPU v5p")));
    let cores = steps(&answer)[1]["podStatsPerCore"].as_object().unwrap();
    // The SparseCore has no place in it.
    assert_eq!(cores.keys().collect::<Vec<_>>(), ["2", "3"]);
    let core = &cores["3"];
    assert_eq!((core["hostName"].as_str(), core["totalDurationUs"].as_f64()), (Some("left"), Some(91_000.0)));
    let parts = json!({
        "1": 22_000.0, "2": 3_000.0, "3": 4_000.0, "4": 0.0, "5": 0.0, "6": 13_000.0, "7": 4_000.0, "8": 0.0,
        "9": 45_000.0
    });
    assert_eq!((&core["stepBreakdownUs"], core["bottleneck"].as_str()), (&parts, Some("All others")));
}

#[test]
fn hosts_are_counted_by_name() {
    // XProf counts hosts in the order in which the folder lists their files: with `b` listed first it answers "right"
    // for core 2 and "left" for core 1002. See fixtures/parity/known.json.
    let hosts = [("a", tpu_host("left", 0, 3)), ("b", tpu_host("right", 200, 4))];
    let answer = ask(&run(&hosts), "pod_viewer", &[]);
    assert_eq!(steps(&answer).len(), 1);
    let cores = &steps(&answer)[0]["podStatsPerCore"];
    let place = |core: &str| (cores[core]["hostName"].as_str(), cores[core]["stepBreakdownUs"]["1"].as_f64());
    assert_eq!(place("2"), (Some("left"), Some(22_000.0)));
    assert_eq!(place("1002"), (Some("right"), Some(20_000.0)));
}

#[test]
fn a_program_on_the_host() {
    let answer = ask(&open("cpu-train"), "pod_viewer", &[]);
    let numbers: Vec<_> = steps(&answer).iter().map(|s| s["stepNum"].as_i64().unwrap()).collect();
    assert_eq!(numbers, (1..=8).collect::<Vec<_>>());
    let core = &steps(&answer)[0]["podStatsPerCore"]["1"];
    assert_eq!(
        (core["hostName"].as_str(), core["totalDurationUs"].as_f64()),
        (Some("host0"), Some(12_274.73))
    );
    assert_eq!(core["stepBreakdownUs"]["4"], 529.459);
    assert_eq!(
        (core["stepBreakdownUs"]["9"].as_f64(), core["bottleneck"].as_str()),
        (Some(11_745.271), Some("All others"))
    );
}

#[test]
fn without_steps_it_says_why() {
    let answer = ask(&open("tpu-decode"), "pod_viewer", &[]);
    assert!(steps(&answer).is_empty());
    let warning = answer["diagnostics"]["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with("No step marker observed"), "{warning}");
    // Cores that the profiler did not describe have no place.
    let undescribed = ask(&open("tpu-train"), "pod_viewer", &[]);
    assert_eq!((steps(&undescribed).len(), &steps(&undescribed)[0]["podStatsPerCore"]), (7, &json!({})));
}
