//! No answer of any tool on any run is over its budget, all follow their schemas, and cursors lead through everything.

use std::collections::BTreeSet;

use haloscope_mcp::{Answer, Server, Tool, tokens};
use serde_json::{Map, Value, json};

use crate::{arguments, compiled, fixtures, runs, server};

/// The calls that a tool's schema allows for: without choices, and with each word of a choice that decides what is answered.
fn calls(tool: &Tool) -> Vec<Map<String, Value>> {
    let mut calls = vec![Map::new()];
    for key in ["analysis", "what"] {
        let words =
            tool.input["properties"].get(key).and_then(|p| p["enum"].as_array()).into_iter().flatten();
        calls.extend(words.map(|word| Map::from_iter([(key.to_owned(), word.clone())])));
    }
    calls
}

fn check(server: &Server, tool: &Tool, call: &Map<String, Value>, budget: usize) -> Option<Answer> {
    let mut call = call.clone();
    call.insert("max_tokens".into(), json!(budget));
    let shown = format!("{} {}", tool.name, Value::Object(call.clone()));
    match server.call(&tool.name, &arguments(Value::Object(call))) {
        Ok(answer) => {
            assert!(tokens(answer.bytes()) <= budget, "{shown}: {} tokens", tokens(answer.bytes()));
            let (schemas, schema) = compiled(&tool.output);
            if let Err(error) = schemas.validate(&answer.structured, schema) {
                panic!("{shown}: {error} in {}", answer.structured);
            }
            Some(answer)
        }
        Err(refusal) => {
            assert!(tokens(refusal.text().len()) <= 200, "{shown}: {refusal:?}");
            assert!(!refusal.next.is_empty() && !refusal.wrong.contains("failed"), "{shown}: {refusal:?}");
            None
        }
    }
}

#[test]
fn no_answer_is_over_its_budget() {
    let folder = fixtures();
    let server = server(&folder);
    let mut answered = BTreeSet::new();
    for run in runs(&folder) {
        for tool in server.tools().iter().filter(|tool| tool.input["properties"].get("max_tokens").is_some())
        {
            for mut call in calls(tool) {
                if tool.input["properties"].get("run").is_some() {
                    call.insert("run".into(), json!(run));
                }
                for budget in [200, 500, 2000, 20_000] {
                    if check(&server, tool, &call, budget).is_some() {
                        answered.insert(tool.name.clone());
                    }
                }
            }
        }
    }
    let silent: Vec<&str> =
        server.tools().iter().map(|tool| tool.name.as_str()).filter(|n| !answered.contains(*n)).collect();
    println!("never answered here: {silent:?}");
    assert!(answered.len() >= 5, "{answered:?}");
}

/// Follows every cursor of an answer to its end; the items of each section that were met, and of how many.
fn walk(server: &Server, name: &str, call: &Value, budget: usize) -> Vec<(String, usize, usize)> {
    let ask = |cursor: Option<&Value>| {
        let mut call = call.clone();
        call["max_tokens"] = json!(budget);
        if let Some(cursor) = cursor {
            call["cursor"] = cursor.clone();
        }
        let answer = server.call(name, &arguments(call)).unwrap();
        assert!(tokens(answer.bytes()) <= budget);
        answer.structured
    };
    let count = |answer: &Value, what: &str| -> usize {
        let len =
            |part: &Value| part.as_array().map_or_else(|| part.as_object().map_or(0, Map::len), Vec::len);
        match what.split_once('.') {
            Some(("tables", id)) => {
                let tables = answer["tables"].as_array().into_iter().flatten();
                tables.filter(|t| t["id"] == id).map(|t| len(&t["rows"])).sum()
            }
            Some(_) => 0,
            None if what == "values" => len(&answer["values"]) + len(&answer["unknown"]),
            None => len(&answer[what]),
        }
    };
    let first = ask(None);
    let mut met = Vec::new();
    for left in first["left_out"].as_array().into_iter().flatten() {
        let what = left["what"].as_str().unwrap();
        if what.starts_with("texts.") {
            continue;
        }
        let mut items = count(&first, what);
        let mut cursor = Some(left["cursor"].clone());
        while let Some(at) = cursor {
            let answer = ask(Some(&at));
            let more = count(&answer, what);
            assert!(more > 0, "{name} {at} brings nothing at {budget}: {answer}");
            items += more;
            cursor = answer["left_out"]
                .as_array()
                .and_then(|left| left.first())
                .map(|left| left["cursor"].clone());
            assert_ne!(cursor.as_ref(), Some(&at));
        }
        met.push((what.to_owned(), items, usize::try_from(left["of"].as_u64().unwrap()).unwrap()));
    }
    met
}

#[test]
fn cursors_lead_through_everything() {
    let server = server(&fixtures());
    for (name, call) in [
        ("diagnose", json!({"run": "tpu-train"})),
        ("memory", json!({"run": "tpu-memory"})),
        ("report", json!({"run": "gpu-train", "analysis": "ops"})),
    ] {
        for budget in [200, 2000] {
            let met = walk(&server, name, &call, budget);
            assert!(!met.is_empty() || budget > 200, "{name}");
            for (what, items, of) in met {
                assert_eq!(items, of, "{name} {what} at {budget}");
            }
        }
    }
}

#[test]
fn what_is_asked_for_is_what_is_told() {
    let server = server(&fixtures());
    let ask = |name: &str, call: Value| server.call(name, &arguments(call));
    let answer = ask("diagnose", json!({"run": "tpu-train"})).unwrap();
    let findings = answer.structured["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["id"] == "exposed_communication").unwrap();
    assert_eq!(finding["look"], "comm tables=kinds find=`all-reduce`");
    assert!(
        answer.text.contains("exposed_communication") && answer.text.contains("first_cause = "),
        "{}",
        answer.text
    );

    let kinds = ask("comm", json!({"run": "tpu-train", "tables": "kinds", "find": "ALL-reduce", "limit": 1}))
        .unwrap();
    let tables = kinds.structured["tables"].as_array().unwrap();
    assert_eq!((tables.len(), tables[0]["rows"].as_array().unwrap().len()), (1, 1));
    assert_eq!(tables[0]["rows"][0][0], "all-reduce");
    assert!(kinds.structured.get("values").is_none());

    let other =
        ask("report", json!({"run": "tpu-train", "analysis": "ops", "params": {"by": "category"}})).unwrap();
    assert_eq!(other.structured["analysis"], "ops");
    let scoped = ask("roofline", json!({"run": "tpu-train", "steps": "2-3"})).unwrap();
    assert_eq!(scoped.structured["scope"], "steps=2-3");
}

#[test]
fn a_refusal_names_the_next_step() {
    let server = server(&fixtures());
    let refused = |name: &str, call: Value| server.call(name, &arguments(call)).unwrap_err().text();
    for (name, call, expected) in [
        ("diagnos", json!({}), "did you mean `diagnose`?"),
        ("diagnose", json!({"run": "tpu-trian"}), "did you mean `tpu-train`?"),
        ("diagnose", json!({"run": "zzz"}), "`xprof_list_runs`"),
        ("diagnose", json!({"runs": "a"}), "did you mean `run`?"),
        ("report", json!({"analysis": "opps"}), "did you mean `ops`?"),
        ("report", json!({"analysis": "ops", "params": {"bye": "x"}}), "it has: by"),
        ("comm", json!({"run": "tpu-train", "tables": "kind"}), "did you mean `kinds`?"),
        ("comm", json!({"run": "tpu-train", "cursor": "here"}), "such as `findings@3`"),
        ("comm", json!({"run": "tpu-train", "cursor": "tables.kinds@99999"}), "take one from `left_out`"),
        ("comm", json!({"run": "tpu-train", "max_tokens": 10}), "at least 200"),
        ("roofline", json!({"run": "tpu-train", "steps": "x"}), "2-5"),
        ("hlo", json!({"run": "tpu-train", "what": "txt"}), "did you mean `text`?"),
        (
            "hlo",
            json!({"run": "tpu-train", "what": "modules", "query": "dot"}),
            "no parameter of `hlo modules` `query`",
        ),
    ] {
        let text = refused(name, call.clone());
        assert!(text.contains(expected), "{name} {call}: {text}");
        assert!(text.contains("\nnext: "), "{text}");
    }
}

/// The text of an error is asked about as it was pasted: no run is needed, and none is opened.
#[test]
fn the_text_of_an_error_needs_no_run() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path());
    let message = "RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of memory on HBM, the total memory required for HLO \
                   temporaries (24.00G) exceeds available HBM (16.00G). HLO module: jit_f.";
    let answer = server.call("oom", &arguments(json!({"message": message}))).unwrap();
    assert_eq!(
        answer.structured["values"]["over_bytes"]["value"],
        json!(8_i64 << 30),
        "{:?}",
        answer.structured
    );
    let refused = server.call("oom", &arguments(json!({"message": "all is well"}))).unwrap_err().text();
    assert!(refused.contains("no message that memory ran out"), "{refused}");
}
