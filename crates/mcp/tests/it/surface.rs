//! All that an agent is told before it calls something, in one file, so that whoever changes a word of it sees what it costs.

use std::path::Path;

use haloscope_mcp::tokens;
use serde_json::{Value, json};

use crate::{arguments, compiled, fixtures, server};

/// `tools/list` stands in every conversation of every agent that has the server.
const MOST: usize = 12_000;

#[test]
fn what_agents_are_told_is_what_was_reviewed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/surface.json");
    let mut now = server(&fixtures()).surface();
    let size = |part: &Value| tokens(part.to_string().len());
    now["tokens"] = json!({"instructions": size(&now["instructions"]), "tools": size(&now["tools"])});
    let text = format!("{now:#}\n");
    if std::env::var_os("HALOSCOPE_UPDATE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let reviewed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        reviewed == text,
        "the surface for agents changed; look at the difference that `HALOSCOPE_UPDATE=1 cargo test -p haloscope-mcp` writes to {}",
        path.display()
    );
    assert!(size(&now["tools"]) < MOST, "{}", now["tokens"]);
}

#[test]
fn schemas_are_schemas_and_names_are_names() {
    for tool in server(&fixtures()).tools() {
        for schema in [&tool.input, &tool.output] {
            compiled(schema);
        }
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        assert!(tool.name.chars().all(plain) && !tool.description.is_empty(), "{}", tool.name);
    }
}

#[test]
fn the_prompt_goes_through_nine_steps_of_the_run() {
    let server = server(&fixtures());
    let text = server.prompt(&arguments(json!({"run": "tpu-train"}))).unwrap();
    for step in
        ["\n1. What is the baseline? [", "\n5. What dominates? [", "\n9. How to tell that a change helped? ["]
    {
        assert!(text.contains(step), "{text}");
    }
    assert!(text.contains("(hlo what=counters)") && text.contains("(report analysis=overview)"), "{text}");
    let refusal = server.prompt(&arguments(json!({"run": "tpu-trian"}))).unwrap_err();
    assert!(refusal.wrong.contains("did you mean `tpu-train`?"), "{refusal:?}");
}

#[test]
fn resources_lead_from_the_runs_to_a_report() {
    let server = server(&fixtures());
    let all = server.resource("haloscope://runs").unwrap();
    let listed = all["runs"].as_array().unwrap();
    let first = server.resource(listed[0]["uri"].as_str().unwrap()).unwrap();
    assert!(!first["devices"].as_array().unwrap().is_empty());
    let report =
        first["reports"].as_array().unwrap().iter().find(|uri| uri.as_str().unwrap().ends_with("/overview"));
    let report = server.resource(report.unwrap().as_str().unwrap()).unwrap();
    assert_eq!(report["run"], first["id"]);
    assert!(report["values"]["device_count"]["value"].as_u64().unwrap() > 0);
    for wrong in [
        "haloscope://runs/none",
        "haloscope://runs/tpu-train/none",
        "haloscope://x",
        "file:///etc/passwd",
        "",
    ] {
        assert!(server.resource(wrong).is_err(), "{wrong}");
    }
}
