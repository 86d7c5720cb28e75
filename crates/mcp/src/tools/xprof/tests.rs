//! The tools on the profiles that the project makes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haloscope_store::Store;
use serde_json::{Value, json};

use crate::{Answer, Arguments, Context, Refusal, Server, Tool};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/runs")
}

fn context() -> Context {
    Context::new(Arc::new(Store::new(&fixtures()).expect("the fixtures")))
}

fn call(name: &str, arguments: Value) -> Result<Answer, Refusal> {
    let Value::Object(arguments) = arguments else { panic!("an object") };
    Server::new(context()).call(name, &Arguments::from(arguments))
}

/// The id of a fixture's run.
fn run(name: &str) -> String {
    let runs = context().store.list().expect("a list");
    let found = runs.into_iter().find(|run| run.id.starts_with(&format!("{name}/")));
    found.expect("a fixture").id
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("expected a number, found {value}"))
}

/// What a tool is asked about a run; `None` for tools that are asked about none.
fn arguments(tool: &Tool, run: &str) -> Value {
    match tool.name.as_str() {
        "xprof_list_runs" => json!({}),
        "xprof_compare" => json!({"run_a": run, "run_b": run}),
        "xprof_raw" => json!({"run": run, "tag": "overview_page"}),
        _ => json!({"run": run}),
    }
}

#[test]
fn answers_follow_their_schemas_and_stay_within_their_budgets() {
    let server = Server::new(context());
    let runs = context().store.list().expect("a list");
    let mut answered = 0;
    for tool in super::all() {
        let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
        compiler.add_resource("tool", Value::Object(tool.output.clone())).expect("a resource");
        let schema = compiler.compile("tool", &mut schemas).expect("a schema");
        for (run, max_tokens) in runs.iter().flat_map(|run| [200, 600, 2000].map(|tokens| (&run.id, tokens)))
        {
            let mut arguments = arguments(&tool, run);
            arguments["max_tokens"] = json!(max_tokens);
            let Value::Object(arguments) = arguments else { panic!("an object") };
            match server.call(&tool.name, &Arguments::from(arguments)) {
                Ok(answer) => {
                    assert!(
                        schemas.validate(&answer.structured, schema).is_ok(),
                        "{} of {run}: {}",
                        tool.name,
                        answer.structured
                    );
                    let most = max_tokens * 7 / 2;
                    assert!(
                        answer.bytes() <= most,
                        "{} of {run}: {} bytes of {most}",
                        tool.name,
                        answer.bytes()
                    );
                    answered += 1;
                }
                Err(refusal) => assert!(!refusal.next.is_empty(), "{} of {run}: {refusal:?}", tool.name),
            }
        }
    }
    assert!(answered > 100, "{answered} answers");
}

#[test]
fn ops_of_the_profile_are_counted_once() {
    let answer =
        call("xprof_op_profile", json!({"run": run("tpu-train"), "max_tokens": 100_000, "limit": 10_000}))
            .expect("an answer");
    let report = {
        let run = context().open(&run("tpu-train")).expect("a run");
        let analysis = haloscope_analyses::find("ops").expect("ops");
        haloscope_time::analysis::run(analysis, &run.profile, &Default::default(), &Default::default())
            .expect("a report")
    };
    let whole = report.value("self_time_ps").and_then(|v| v.value.number()).expect("a time") / 1e6;
    let by_category = answer.structured["by_category"].as_array().expect("categories");
    let sum: f64 = by_category.iter().map(|c| number(&c["total_time_us"])).sum();
    assert!((sum - whole).abs() < 1e-3 * whole, "categories add up to {sum} us, the ops to {whole} us");
    let shares: f64 = by_category.iter().map(|c| number(&c["pct"])).sum();
    assert!((shares - 100.0).abs() < 0.01);
    let ops = answer.structured["top_ops"].as_array().expect("ops");
    let listed: f64 = ops.iter().map(|op| number(&op["self_time_us"])).sum();
    assert!(listed <= whole * 1.001, "an op is listed with its group");
    assert!(ops.iter().all(|op| !op["name"].as_str().unwrap_or_default().contains("duplicate")));
}

#[test]
fn where_xprof_is_wrong_the_reason_stands_beside_it() {
    let answer = call("xprof_overview", json!({"run": run("tpu-decode")})).expect("an answer").structured;
    let idle = number(&answer["summary"]["device_idle_pct"]);
    let ours = number(&answer["haloscope"]["idle_share_of_capture"]["value"]);
    assert!(idle < 10.0 && ours > 0.9, "XProf {idle}%, ours {ours}");
    let differs = answer["differs"].as_array().expect("a list");
    let of_idle = differs.iter().find(|row| row["what"] == "device_idle_pct").expect("idle time differs");
    assert!(of_idle["why"].as_str().is_some_and(|why| why.contains("first to the last op")));
    // XProf never fills these; a 0 would be read as a measurement.
    assert!(answer["summary"]["flop_rate_utilization"].is_null());
}

#[test]
fn categories_choose_framework_ops() {
    let of = |category: &str| {
        let arguments =
            json!({"run": run("tpu-train"), "category": category, "max_tokens": 100_000, "limit": 10_000});
        call("xprof_framework_ops", arguments).expect("an answer").structured
    };
    let total = |answer: &Value| answer["total_ops"].as_u64().expect("a count");
    let parts: u64 = super::categories::all().iter().map(|category| total(&of(category))).sum();
    assert_eq!(parts, total(&of("")), "every op has one category");
    let matmuls = of("matmul, collective");
    let ops = matmuls["ops"].as_array().expect("ops");
    assert!(
        !ops.is_empty() && ops.iter().all(|op| op["category"] == "matmul" || op["category"] == "collective")
    );
    let refused = call("xprof_framework_ops", json!({"run": run("tpu-train"), "category": "matmuls"}))
        .expect_err("a refusal");
    assert!(refused.wrong.contains("did you mean `matmul`"), "{refused:?}");
}

#[test]
fn memory_is_that_of_every_host_and_exact() {
    let answer = call("xprof_memory", json!({"run": run("tpu-memory")})).expect("an answer").structured;
    let allocators = answer["allocators"].as_object().expect("allocators");
    assert!(allocators.values().any(|one| one["peak_usage_bytes"] == 671_088_640_i64), "{allocators:?}");
    let none = call("xprof_memory", json!({"run": run("cpu-train")}));
    assert!(none.is_err_and(|refusal| refusal.next.contains("what=peak")));
}

#[test]
fn a_raw_answer_is_whole_piece_by_piece() {
    let run = run("tpu-decode");
    let profile = Arc::clone(&context().open(&run).expect("a run").profile);
    let params: haloscope_compat::Params = [("", ""); 0].into_iter().collect();
    let whole = haloscope_compat::answer(&profile, "hlo_stats", &params).expect("an answer").body;
    let mut found = String::new();
    let mut cursor = Value::Null;
    for _ in 0..1000 {
        let arguments = json!({"run": run, "tag": "hlo_stats", "cursor": cursor, "max_tokens": 20_000});
        let answer = call("xprof_raw", arguments).expect("an answer").structured;
        found += answer["texts"][0]["text"].as_str().expect("a text");
        cursor = answer["left_out"][0]["cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(found.as_bytes(), whole);
    let wrong = call("xprof_raw", json!({"run": run, "tag": "hlo_stat"})).expect_err("a refusal");
    assert!(wrong.wrong.contains("hlo_stats"), "{wrong:?}");
}

#[test]
fn links_lead_to_the_page_where_there_is_one() {
    let run = run("tpu-train");
    let Value::Object(arguments) = json!({"run": run}) else { panic!("an object") };
    let served = Server::new(context().with_page("http://127.0.0.1:1234/"));
    let answer = served.call("xprof_trace_url", &Arguments::from(arguments)).expect("an answer").structured;
    assert_eq!(answer["trace_viewer"], json!(format!("http://127.0.0.1:1234/?run={run}&page=timeline")));
    assert!(answer.get("command").is_none());
    let alone = call("xprof_trace_url", json!({"run": run})).expect("an answer").structured;
    assert!(alone["command"].as_str().is_some_and(|command| command.starts_with("haloscope serve ")));
}
