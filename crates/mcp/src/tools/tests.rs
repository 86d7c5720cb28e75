//! Tools beyond the registry, on the profiles that the project makes.

use std::path::Path;
use std::sync::Arc;

use haloscope_store::Store;
use serde_json::{Value, json};

use crate::{Answer, Arguments, Context, Refusal, Server};

fn context() -> Context {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/runs");
    Context::new(Arc::new(Store::new(&fixtures).expect("the fixtures")))
}

fn call(name: &str, run: &str, mut arguments: Value) -> Result<Answer, Refusal> {
    let context = context();
    let runs = context.store.list().expect("a list");
    let found = runs.into_iter().find(|one| one.id.starts_with(&format!("{run}/"))).expect("a fixture");
    arguments["run"] = json!(found.id);
    let Value::Object(arguments) = arguments else { panic!("an object") };
    Server::new(context).call(name, &Arguments::from(arguments))
}

fn answer(name: &str, run: &str, arguments: Value) -> Value {
    call(name, run, arguments).unwrap_or_else(|refusal| panic!("{refusal:?}")).structured
}

fn table<'a>(answer: &'a Value, id: &str) -> &'a Value {
    let tables = answer["tables"].as_array().expect("tables");
    tables.iter().find(|table| table["id"] == id).unwrap_or_else(|| panic!("no table {id} in {answer}"))
}

#[test]
fn a_slice_counts_as_the_report_of_its_window_does() {
    let device = "tpu-w-0/TPU:0";
    let asked = json!({"step": 4, "device": device, "track": "ops", "limit": 1000, "max_tokens": 90_000});
    let slice = answer("timeline_slice", "tpu-train", asked);
    let window = format!("{}ps..{}ps", slice["window_ps"][0], slice["window_ps"][1]);
    let sum = |rows: &Value| {
        rows["rows"].as_array().expect("rows").iter().filter_map(|row| row[2].as_i64()).sum::<i64>()
    };
    let whole = json!({"analysis": "ops", "window": window, "devices": device, "columns": "name,category,self_ps", "max_tokens": 90_000});
    let ops = answer("query", "tpu-train", whole);
    let (of_slice, of_ops) = (sum(table(&slice, "by_op")), sum(table(&ops, "ops")));
    assert!(of_slice > 0);
    assert_eq!(of_slice, of_ops, "self time by op");
    let events = table(&slice, "events")["rows"].as_array().expect("events").clone();
    let starts: Vec<i64> = events.iter().filter_map(|row| row[0].as_i64()).collect();
    assert!(!starts.is_empty() && starts.is_sorted());
}

#[test]
fn a_slice_without_words_is_a_steady_step() {
    let slice = answer("timeline_slice", "tpu-train", json!({}));
    assert!(slice["window_is"].as_str().is_some_and(|of| of.contains("steady")), "{slice}");
    let step = answer("timeline_slice", "tpu-train", json!({"step": 5}));
    assert_eq!(step["window_is"], "step 5");
    let refused = call("timeline_slice", "tpu-train", json!({"step": 500})).expect_err("a refusal");
    assert!(refused.wrong.contains("there is no step `500`"));
    let device = call("timeline_slice", "tpu-train", json!({"device": "TPU:9"})).expect_err("a refusal");
    assert!(device.next.contains("tpu-w-0/TPU:0"), "{device:?}");
    // A run without devices has threads.
    let cpu = answer("timeline_slice", "cpu-train", json!({"track": "thread"}));
    assert!(!table(&cpu, "events")["rows"].as_array().expect("rows").is_empty());
}

#[test]
fn a_query_says_what_it_left_out_and_what_it_could_not_read() {
    let all = json!({"analysis": "ops", "where": "flop_rate > 1 GFLOP/s or flop_rate is null", "columns": "name", "limit": 3});
    let found = answer("query", "tpu-train", all);
    assert_eq!(table(&found, "ops")["rows"].as_array().map(Vec::len), Some(3));
    assert!(found["rows_matched"].as_u64() > Some(3) && found["rows_before_limit"] == found["rows_matched"]);
    let amd = answer("query", "gpu-amd", json!({"analysis": "ops", "where": "flops > 0"}));
    assert!(amd["rows_unknown"].as_u64() > Some(0), "nobody counted FLOPs: {amd}");
    assert_eq!(amd["rows_matched"], 0);
    let wrong = call("query", "tpu-train", json!({"analysis": "ops", "where": "self_ps > 3 GiB"}))
        .expect_err("a refusal");
    assert!(wrong.wrong.contains("`self_ps` is ps"), "{wrong:?}");
    let table = call("query", "tpu-train", json!({"analysis": "ops", "table": "op"})).expect_err("a refusal");
    assert!(table.next.contains("there are: ops"), "{table:?}");
}

#[test]
fn an_op_comes_with_its_text_and_its_neighbours() {
    let run = "tpu-train";
    let ops = answer(
        "query",
        run,
        json!({"analysis": "ops", "where": "category ~ 'fusion'", "columns": "name", "limit": 1}),
    );
    let op = table(&ops, "ops")["rows"][0][0].as_str().expect("a name").to_owned();
    let found = answer("hlo_op", run, json!({"op": op}));
    let text = found["texts"][0]["text"].as_str().expect("a text");
    assert!(text.contains(&op) && text.contains("fusion("), "{text}");
    assert!(table(&found, "nodes")["rows"].as_array().is_some_and(|rows| rows.len() > 1));
    assert_eq!(table(&found, "nodes")["rows"][0][0], json!(op), "the op itself stands first");
    let refused = call("hlo_op", run, json!({"op": "fusion.99999"})).expect_err("a refusal");
    assert!(refused.wrong.contains("fusion.99999"), "{refused:?}");
}
