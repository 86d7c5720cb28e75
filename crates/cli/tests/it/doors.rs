//! One question has one answer by every door: the command line, HTTP and the agents' tools say the same number under the same id.

use haloscope_analyses::ALL;
use haloscope_time::analysis::Others;
use serde_json::{Value, json};

use crate::serving::Serving;
use crate::support::{line, process};

/// Runs of TPUs, GPUs and the CPU, with memory, input and several hosts among them.
const RUNS: [&str; 5] = [
    "fixtures/runs/tpu-train",
    "fixtures/runs/tpu-memory",
    "fixtures/runs/tpu-input-bound",
    "fixtures/runs/gpu-train",
    "fixtures/runs/cpu-infer",
];
/// Tokens: enough for the values of any report.
const BUDGET: usize = 20_000;

/// What an agent is told under each id.
fn told(server: &Serving, run: &str, analysis: &str) -> Option<Value> {
    let arguments = json!({"run": run, "analysis": analysis, "max_tokens": BUDGET});
    let params = json!({"name": "report", "arguments": arguments});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let answer: Value = serde_json::from_str(&server.post("/mcp", &message.to_string())).unwrap();
    let said = &answer["result"];
    (said["isError"] != json!(true)).then(|| said["structuredContent"].clone())
}

#[test]
fn every_door_says_the_same_number_under_the_same_id() {
    let mut compared = 0;
    for folder in RUNS {
        let server = Serving::start(&["serve", folder, "--port", "0"]);
        let runs: Value = serde_json::from_str(&server.body("/api/runs")).unwrap();
        let run = runs["runs"][0]["id"].as_str().unwrap_or_else(|| panic!("{runs}")).to_owned();
        for analysis in ALL.iter().filter(|analysis| analysis.others() == Others::None) {
            let printed = process(&line(analysis, &[folder, "--format", "json"]));
            let page = server.body(&format!("/api/report/{}?run={run}", analysis.slug()));
            let page: Value = serde_json::from_str(&page).unwrap();
            let what = format!("{} of {folder}", analysis.id);
            if printed.code != 0 {
                assert!(page.get("values").is_none(), "{what}: only the page has an answer");
                assert!(told(&server, &run, analysis.id).is_none(), "{what}: only agents have an answer");
                continue;
            }
            let printed: Value = serde_json::from_str(&printed.stdout).unwrap();
            for part in ["scope", "values", "tables", "trees", "series", "findings", "texts", "gate"] {
                assert_eq!(printed[part], page[part], "{what}: {part}");
            }
            let agents =
                told(&server, &run, analysis.id).unwrap_or_else(|| panic!("{what}: agents have none"));
            for (id, said) in agents["values"].as_object().into_iter().flatten() {
                let own = &printed["values"][id];
                assert_eq!(said["unit"], own["unit"], "{what}: unit of {id}");
                assert_eq!(said["status"], own["status"], "{what}: status of {id}");
                // Texts may be cut to the budget, and reals have six digits there.
                let (Some(said), Some(own)) = (said["value"].as_f64(), own["value"].as_f64()) else {
                    assert_eq!(said["value"].is_number(), own["value"].is_number(), "{what}: {id}");
                    continue;
                };
                assert!((said - own).abs() <= 5.1e-6 * own.abs(), "{what}: {id} is {said} and {own}");
                compared += 1;
            }
            for id in agents["unknown"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                assert_eq!(printed["values"][id]["value"], Value::Null, "{what}: {id} is known elsewhere");
            }
        }
    }
    assert!(compared > 300, "{compared} numbers");
}
