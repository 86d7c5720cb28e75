//! The history of runs: where the server was given one, as it is now.

use haloscope_analyses::ledger::{Entry, Metric, Time};
use haloscope_report::Status;
use haloscope_store::Ledger;

use crate::client::TestServer;

fn entry(run: &str, ms: f64) -> Entry {
    let mut entry = Entry::new(Time::from_unix(1_795_344_312), run);
    let (value, unit) = (Some(ms * 1e9), "ps".to_owned());
    let metric = Metric { value, unit, status: Status::Derived, samples: None, rest: Default::default() };
    entry.metrics.insert("step_time_mean_ps".into(), metric);
    entry.labels.insert("model".into(), if ms < 5.0 { "small" } else { "large" }.into());
    entry
}

fn json(body: &[u8]) -> serde_json::Value {
    serde_json::from_slice(body).unwrap()
}

#[test]
fn a_line_that_was_added_is_there_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let writer = Ledger::at(folder.path()).unwrap();
    writer.append(&entry("a", 9.0), "w").unwrap();
    let served = Ledger::at(folder.path()).unwrap();
    let server = TestServer::with(|config| config.ledger = Some(served));
    let entries = |query: &str| {
        let answer = server.get(&format!("/api/ledger{query}"));
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
        json(&answer.body)["values"]["entry_count"]["value"].clone()
    };
    assert_eq!(entries(""), 1);
    assert_eq!(server.get("/api/ledger/advice").status, 422);
    writer.append(&entry("b", 4.0), "other").unwrap();
    assert_eq!(entries(""), 2);
    assert_eq!(entries("?label=model%3Dsmall"), 1);
    assert_eq!(entries("?metric=step_time_mean_ps"), 2);
    let advice = json(&server.get("/api/ledger/advice").body);
    assert_eq!(advice["analysis"], "ledger advise");
    assert_eq!(advice["values"]["advice"]["value"], "undecided");
    assert_eq!(json(&server.get("/api/analyses").body)["ledger"], true);
}

#[test]
fn wrong_questions_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::at(folder.path()).unwrap();
    ledger.append(&entry("a", 9.0), "w").unwrap();
    let server = TestServer::with(|config| config.ledger = Some(ledger));
    for (query, status, words) in [
        ("?metric=speed", 400, "step_time_mean_ps"),
        ("?label=model", 400, "key=value"),
        ("?label=model=tiny", 422, "model=large"),
        ("?path=/etc/passwd", 400, "metric, label"),
    ] {
        let answer = server.get(&format!("/api/ledger{query}"));
        assert_eq!(answer.status, status, "{query}");
        let said = json(&answer.body)["error"].as_str().unwrap().to_owned();
        assert!(said.contains(words), "{query}: {said}");
    }
}

#[test]
fn without_a_ledger_it_says_how_to_give_one() {
    let server = TestServer::start();
    assert_eq!(json(&server.get("/api/analyses").body)["ledger"], false);
    for path in ["/api/ledger", "/api/ledger/advice"] {
        let answer = server.get(path);
        assert_eq!(answer.status, 404);
        assert!(json(&answer.body)["hint"].as_str().unwrap().contains("--ledger"));
    }
}
