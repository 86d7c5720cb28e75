//! What people ask of the timeline, over HTTP.

use serde_json::json;

use super::client::TestServer;

#[test]
fn an_area_has_totals() {
    let server = TestServer::start();
    let totals = server.json("/api/timeline/totals?run=train&start=20000000&end=150000000&tracks=2,3");
    assert_eq!((&totals["events"], &totals["span_ps"]), (&json!(6), &json!(130_000_000)));
    assert_eq!(totals["tracks"][0], json!({"id": 2, "events": 5, "union_ps": 110_000_000}));
    assert_eq!(totals["union_ps"], 130_000_000, "the thread is busy throughout");
    let row = |name: &str| totals["by_op"].as_array().unwrap().iter().find(|r| r["name"] == name).unwrap();
    let dot = row("dot.2");
    assert_eq!((&dot["kind"], &dot["count"], &dot["self_ps"]), (&json!("op"), &json!(1), &json!(70_000_000)));
    assert_eq!((&row("main")["kind"], &row("main")["flops"]), (&json!("thread"), &json!(null)));
    let one = server.json("/api/timeline/totals?start=20000000&end=150000000&tracks=2,3&limit=1");
    assert_eq!((one["by_op"].as_array().unwrap().len(), &one["rows"]), (1, &json!(4)));
}

#[test]
fn an_area_has_stacks() {
    let server = TestServer::start();
    let all = server.json("/api/timeline/stacks?run=train&start=20000000&end=150000000&tracks=2,3");
    let totals = server.json("/api/timeline/totals?run=train&start=20000000&end=150000000&tracks=2,3");
    let of_tracks: i64 =
        totals["tracks"].as_array().unwrap().iter().map(|t| t["union_ps"].as_i64().unwrap()).sum();
    assert_eq!(all["total_ps"], json!(of_tracks), "each track's time counts once");
    let nodes = all["inside"].as_array().unwrap();
    let own: i64 = nodes.iter().map(|n| n["self_ps"].as_i64().unwrap()).sum();
    assert_eq!((own, all["rows"].as_u64().unwrap()), (of_tracks, nodes.len() as u64));
    let dot =
        server.json("/api/timeline/stacks?run=train&start=20000000&end=150000000&tracks=2,3&name=dot.2");
    assert_eq!((&dot["total_ps"], &dot["around"][0]["name"]), (&json!(70_000_000), &json!("dot.2")));
}

#[test]
fn names_are_searched() {
    let server = TestServer::start();
    let found = server.json("/api/timeline/search?run=train&q=DOT&limit=2");
    assert_eq!(
        (&found["count"], &found["total_ps"], &found["more"]),
        (&json!(3), &json!(120_000_000), &json!(true))
    );
    let first = json!({"track": 2, "event": 1, "start_ps": 10_000_000, "duration_ps": 40_000_000, "depth": 1, "name": "dot.2"});
    assert_eq!(found["hits"][0], first);
    assert_eq!(found["by_name"], json!([{"name": "dot.2", "count": 3, "total_ps": 120_000_000}]));
    let next = server.json("/api/timeline/search?q=dot&limit=2&after=110000000,2,4");
    assert_eq!(
        (&next["position"], &next["more"], &next["hits"][0]["event"]),
        (&json!(2), &json!(false), &json!(7))
    );
    // A whole label, and of each track the first hit of each part of a window: the page asks for both.
    assert_eq!(server.json("/api/timeline/search?q=dot.2&exact=1&limit=1")["count"], 3);
    assert_eq!(server.json("/api/timeline/search?q=dot&exact=1")["count"], 0);
    let drawn = server.json("/api/timeline/search?q=dot.2&start=0&end=300000000&columns=1");
    assert_eq!((&drawn["count"], drawn["hits"].as_array().unwrap().len()), (&json!(3), 1));
    let stat = server.json("/api/timeline/search?stat=bytes_accessed%3E4000&tracks=2");
    assert_eq!(stat["count"], 3);
}

#[test]
fn steps_and_gaps_are_told() {
    let server = TestServer::start();
    let ruler = server.json("/api/timeline/steps?run=train");
    assert!(ruler["source"].as_str().unwrap().contains("Steps lines"), "{ruler}");
    // All markers of this run have one number.
    let step = json!({"number": 0, "name": "", "start_ps": 0, "end_ps": 290_000_000, "class": "steady", "devices": 1});
    assert_eq!(ruler["steps"], json!([step]));
    let found = server.json("/api/timeline/overlap?run=train&start=0&end=150000000&px=150&devices=TPU:0");
    let device = &found["devices"][0];
    assert_eq!((&device["device"], &device["async_ps"]), (&json!("TPU:0"), &json!(null)));
    assert_eq!(device["steps"][0]["gap_ps"], 50_000_000);
    assert_eq!(device["gaps"], json!([[80_000_000, 20_000_000, 0]]), "other gaps are behind the window");
}

#[test]
fn busy_time_over_the_run_is_told_in_parts() {
    let server = TestServer::start();
    let tracks = server.json("/api/timeline/tracks?run=train");
    let whole = server.json("/api/timeline/utilisation?run=train&px=1");
    assert_eq!((&whole["start_ps"], &whole["end_ps"]), (&tracks["start_ps"], &tracks["end_ps"]));
    assert_eq!(whole["devices"], 1);
    let parts = server.json("/api/timeline/utilisation?run=train&px=10");
    let shares: Vec<f64> = parts["busy"].as_array().unwrap().iter().map(|b| b.as_f64().unwrap()).collect();
    assert_eq!(shares.len(), 10);
    let mean = shares.iter().sum::<f64>() / 10.0;
    assert!((mean - whole["busy"][0].as_f64().unwrap()).abs() < 1e-9, "{shares:?} {whole}");
}

#[test]
fn arrows_are_those_of_a_window_or_of_an_event() {
    // This run has no launches, contexts or asynchronous ops; `crates/analyses/tests/it/flows.rs` has runs with each.
    let server = TestServer::start();
    let none = json!({"total": 0, "flows": []});
    assert_eq!(server.json("/api/timeline/flows?run=train&start=0&end=300000000&tracks=2,3"), none);
    assert_eq!(server.json("/api/timeline/flows?track=2&event=1&limit=5"), none);
}

#[test]
fn clocks_are_told() {
    let server = TestServer::start();
    let clock = server.json("/api/timeline/clock?run=train");
    assert_eq!(clock["hosts"].as_array().unwrap().len(), 1);
    assert_eq!((&clock["hosts"][0]["host"], &clock["hosts"][0]["offset_ps"]), (&json!("host-0"), &json!(0)));
    assert!(clock["note"].as_str().unwrap().contains("stragglers"));
}

#[test]
fn what_cannot_be_asked_is_refused_with_words() {
    let server = TestServer::start();
    for (path, says) in [
        ("totals?start=5&end=5&tracks=2", "5..5"),
        ("totals?start=0&end=5&tracks=99", "99"),
        ("totals?start=0&end=5&tracks=2&limit=all", "all"),
        ("overlap?start=0&end=5&px=1&devices=TPU:9", "TPU:9"),
        ("overlap?start=0&end=5&px=0", "16384"),
        ("utilisation?px=0", "16384"),
        ("utilisation", "`px`"),
        ("flows?start=0", "`end`"),
        ("flows?track=2&event=99", "99"),
        ("flows?start=0&end=9&tracks=77", "77"),
        ("search?q=(a&regex=1", "unclosed group"),
        ("search?q=a&tracks=99", "99"),
    ] {
        let error = server.get(&format!("/api/timeline/{path}")).refusal(400);
        assert!(error.contains(says), "{path}: {error}");
    }
}
