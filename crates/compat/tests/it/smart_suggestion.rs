//! `smart_suggestion`. The suggestions are those that XProf 2.24.2 gives for the same bytes.

use haloscope_xspace::write::{Space, Value as Wire};
use serde_json::Value;

use crate::made::{MS, Made, run, space, tpu_host};
use crate::support::{ask, open, refused};

/// A host whose core waits for others in this share of each of five steps.
fn waiting(host: &str, percent: i64) -> Space {
    let mut made = Made::tpu("/device:TPU:0", 2, 0);
    made.line(1, "Steps");
    (0..5).for_each(|step| made.event(&step.to_string(), step * 1000 * MS, 900 * MS, &[]));
    made.line(2, "XLA Ops");
    for step in 0..5_i64 {
        let wait = 9 * percent * MS;
        made.op("fill", step * 1000 * MS + wait, 10 * MS);
        made.event(
            "barrier-cores.1",
            step * 1000 * MS,
            wait,
            &[("device_duration_ps", Wire::Uint(wait as u64))],
        );
    }
    space(host, vec![made])
}

fn rules(answer: &Value) -> Vec<&str> {
    answer["suggestions"].as_array().unwrap().iter().map(|s| s["ruleName"].as_str().unwrap()).collect()
}

#[test]
fn cores_that_wait_for_each_other() {
    let few = run(&[("h", waiting("left", 5))]);
    assert_eq!(rules(&ask(&few, "smart_suggestion", &[])), [""; 0]);
    let many = run(&[("h", waiting("left", 20))]);
    let answer = ask(&many, "smart_suggestion", &[]);
    assert_eq!(rules(&answer), ["BarrierCoresRule"]);
    let text = answer["suggestions"][0]["suggestionText"].as_str().unwrap();
    assert!(text.contains("an average of 20.0% of each step time"), "{text}");
    assert!(text.contains("Investigate Workload Balance"), "{text}");
    let hosts =
        [("a", 20), ("b", 21), ("c", 20), ("d", 60)].map(|(host, percent)| (host, waiting(host, percent)));
    let answer = ask(&run(&hosts), "smart_suggestion", &[]);
    let text = answer["suggestions"][0]["suggestionText"].as_str().unwrap();
    let straggler = "<ul><li>Host <b>d</b> average barrier-cores time fraction: <b>60.0%</b></li></ul>";
    assert!(text.contains(straggler), "{text}");
}

#[test]
fn rules_that_the_open_build_leaves_out_are_asked_for() {
    let profile = open("tpu-input-bound");
    assert_eq!(rules(&ask(&profile, "smart_suggestion", &[("refresh_suggestion", "true")])), [""; 0]);
    assert_eq!(rules(&ask(&profile, "smart_suggestion", &[("rules", "open")])), [""; 0]);
    let idle = run(&[("h", tpu_host("left", 0, 3))]);
    let internal = ask(&idle, "smart_suggestion", &[("rules", "internal")]);
    assert_eq!(rules(&internal), ["TensorCoreIdleBoundRule"]);
    let all = ask(&idle, "smart_suggestion", &[("rules", "all")]);
    assert_eq!(rules(&all), ["TensorCoreIdleBoundRule", "SparseCoreBoundRule"]);
    let error = refused(&profile, "smart_suggestion", &[("rules", "some")]).to_string();
    assert!(error.contains("open, internal, all"), "{error}");
}
