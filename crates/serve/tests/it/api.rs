//! What each route answers.

use serde_json::json;

use crate::client::TestServer;

#[test]
fn runs_are_listed_with_the_newest_as_default() {
    let server = TestServer::start();
    let body = server.json("/api/runs");
    assert_eq!(body["default"], "train");
    let ids: Vec<_> = body["runs"].as_array().unwrap().iter().map(|r| r["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["train", "broken"]);
    assert_eq!(body["runs"][1]["size_bytes"], 10);
    assert_eq!(body["runs"][0]["hosts"], json!(["host-0"]));
    assert!(body["runs"][0]["modified_ms"].as_u64().unwrap() > 1_600_000_000_000);
    assert_eq!(body["version"], server.json("/api/version")["version"]);
    assert_eq!(body["logdir"], server.folder.path().canonicalize().unwrap().display().to_string());
}

#[test]
fn every_analysis_answers_or_says_why_not() {
    let server = TestServer::start();
    let body = server.json("/api/analyses");
    let all = body["analyses"].as_array().unwrap();
    assert!(all.len() >= 5);
    for analysis in all {
        let id = analysis["id"].as_str().unwrap();
        assert!(!id.contains(' '), "{id} stands in an address");
        for param in analysis["params"].as_array().unwrap() {
            let kind = param["kind"].as_str().unwrap();
            assert!(["choice", "count", "quantity", "text", "document"].contains(&kind));
            assert_eq!(kind == "choice", !param["choices"].as_array().unwrap().is_empty());
        }
        for scope in
            ["", "?steps=1", "?window=0..150us", "?steady=1", "?run=train&hosts=host-0&devices=TPU:0"]
        {
            let answer = server.get(&format!("/api/report/{id}{scope}"));
            match answer.status {
                200 => assert_eq!(answer.json()["analysis"], analysis["name"]),
                _ => assert!(!answer.refusal(422).is_empty()),
            }
        }
    }
}

#[test]
fn the_timeline_has_tracks_windows_and_events() {
    let server = TestServer::start();
    let tracks = server.json("/api/timeline/tracks?run=train");
    assert_eq!((tracks["start_ps"].as_i64(), tracks["end_ps"].as_i64()), (Some(0), Some(300_000_000)));
    let groups = &tracks["groups"];
    assert_eq!((&groups[0]["name"], &groups[0]["kind"]), (&json!("TPU:0"), &json!("device")));
    let ops = json!({
        "id": 2, "name": "XLA Ops", "events": 9, "depth": 2, "kind": "ops", "nests": true, "counter": false,
    });
    assert_eq!(groups[0]["tracks"][2], ops);
    assert_eq!((&groups[0]["host"], &groups[0]["device"]), (&json!("host-0"), &json!("TPU:0")));
    assert_eq!((&groups[1]["kind"], &groups[1]["device"]), (&json!("host"), &json!(null)));
    assert_eq!(tracks["hosts"], json!(["host-0"]));

    let window = server.json("/api/timeline/window?start=0&end=300000000&px=300&tracks=2,3");
    assert_eq!(window["tracks"][0]["id"], 2);
    assert_eq!(window["tracks"][0]["slices"][0], json!([0, 80_000_000, 0, 0, 1, 0]));
    assert_eq!(window["tracks"][0]["slices"][3], json!([10_000_000, 40_000_000, 1, 1, 1, 1]));
    assert_eq!(window["names"], json!(["while.1", "dot.2", "fusion.3", "main"]));
    let coarse = server.json("/api/timeline/window?run=train&start=0&end=300000000&px=1&tracks=2");
    assert_eq!(coarse["tracks"][0]["slices"][0], json!([0, 280_000_000, 0, 0, 3, -1]));

    let event = server.json("/api/timeline/event?track=2&event=0");
    assert_eq!((&event["name"], &event["self_ps"]), (&json!("while.1"), &json!(20_000_000)));
    let event = server.json("/api/timeline/event?track=2&event=1");
    assert_eq!(event["stats"][0], json!({"name": "bytes_accessed", "value": 4096, "unit": "B"}));
}

#[test]
fn a_tile_is_bytes_that_nobody_compresses() {
    let server = TestServer::start();
    let path = "/api/timeline/tile?start=0&end=300000000&px=300&tracks=2,3&colour=category";
    let tile = server.get_with(path, &[("Accept-Encoding", "gzip")]);
    let header = |name: &str| tile.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
    assert_eq!((tile.status, header("content-type")), (200, Some("application/octet-stream")));
    assert_eq!((header("content-encoding"), header("cache-control")), (None, Some("no-store")));
    assert!(header("server-timing").is_some_and(|took| took.starts_with("tile;dur=")));
    let u32_at = |at: usize| u32::from_le_bytes(tile.body[at..at + 4].try_into().unwrap());
    let window = server.json("/api/timeline/window?start=0&end=300000000&px=300&tracks=2,3");
    let slices = window["tracks"].as_array().unwrap().iter().map(|t| t["slices"].as_array().unwrap().len());
    assert_eq!((&tile.body[..4], u32_at(4) as usize, u32_at(8) as usize), (&b"HLT1"[..], 2, slices.sum()));
    assert_eq!(u32_at(12) as usize, window["names"].as_array().unwrap().len());
}

#[test]
fn a_part_of_the_timeline_is_a_file_for_other_tools() {
    let server = TestServer::start();
    let answer = server.get("/api/timeline/export?run=train&format=chrome&start=0&end=50000000&tracks=2");
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/json"));
    assert_eq!(answer.header("content-disposition"), "attachment; filename=\"train.trace.json\"");
    let names: Vec<_> = answer.json()["traceEvents"].as_array().unwrap().clone();
    let names: Vec<_> = names.iter().filter(|e| e["ph"] == "X").map(|e| e["name"].clone()).collect();
    assert_eq!(names, [json!("while.1"), json!("dot.2")]);
    let answer = server.get("/api/timeline/export?run=train&format=folded&tracks=2");
    assert!(answer.text().starts_with("TPU:0;XLA Ops;"), "{}", answer.text());
    assert_eq!(
        server.get("/api/timeline/export?run=train").header("content-type"),
        "application/octet-stream"
    );
}

#[test]
fn what_cannot_be_answered_is_refused_with_words() {
    let server = TestServer::start();
    for (path, status, says) in [
        ("/api/nothing", 404, "/api/nothing"),
        ("/api", 404, "/api"),
        ("/api/report/nothing", 404, "overview"),
        ("/api/report/%ff", 404, "overview"),
        ("/api/report/overview?run=nothing", 404, "nothing"),
        ("/api/report/overview?run=broken", 422, "host-0.xplane.pb"),
        ("/api/report/overview?something=1", 400, "steady"),
        ("/api/report/overview?nothing=1", 400, "accepts only 204"),
        ("/api/report/overview?steps=x", 400, "2-5"),
        ("/api/report/overview?window=3ms..1ms", 400, "3ms..1ms"),
        ("/api/report/overview?run=train&run=broken", 400, "twice"),
        ("/api/runs?x=1", 400, "`x`"),
        ("/api/timeline/tracks?run=..%2f..%2fsecret", 404, "../../secret"),
        ("/api/timeline/window?start=0&end=10&px=5", 400, "tracks"),
        ("/api/timeline/window?start=0&end=ten&px=5&tracks=1", 400, "ten"),
        ("/api/timeline/window?start=9&end=9&px=5&tracks=1", 400, "9..9"),
        ("/api/timeline/window?start=0&end=9&px=999999&tracks=1", 400, "16384"),
        ("/api/timeline/window?start=0&end=9&px=5&tracks=99", 400, "99"),
        ("/api/timeline/tile?start=0&end=9&px=5&tracks=1&colour=red", 400, "category, module, class"),
        ("/api/timeline/event?track=2&event=99", 400, "99"),
        ("/api/timeline/export?format=x", 400, "speedscope"),
        ("/api/timeline/export?start=1", 400, "end"),
        ("/api/timeline/export?run=train&tracks=99", 400, "XLA Ops"),
    ] {
        let error = server.get(path).refusal(status);
        assert!(error.contains(says), "{path}: {error}");
    }
}

#[test]
fn a_client_can_tell_what_cannot_be_read_from_what_is_not_there() {
    let server = TestServer::start();
    let kind = |path: &str| server.get(path).json()["kind"].clone();
    assert_eq!(kind("/api/report/overview?run=broken"), "unreadable");
    assert_eq!(kind("/api/report/overview?run=absent"), "unknown");
    assert_eq!(kind("/api/report/overview?run=train&steps=77"), "nothing");
    // Who only looks whether there is something gets no error.
    let looked = server.get("/api/report/overview?run=train&steps=77&nothing=204");
    assert_eq!((looked.status, looked.body.len()), (204, 0));
    assert!(server.json("/api/report/overview?run=train&nothing=204")["values"].is_object());
    server.get("/api/report/overview?run=none&nothing=204").refusal(404);
    let root = server.folder.path().join("plugins/profile");
    for run in ["train", "broken"] {
        std::fs::remove_dir_all(root.join(run)).unwrap();
    }
    assert_eq!(kind("/api/report/overview"), "nothing");
    assert_eq!(kind("/api/report/overview?run=train"), "unknown");
}

#[test]
fn only_get_is_answered() {
    let server = TestServer::start();
    let host = format!("http://127.0.0.1:{}", server.addr.port());
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    for path in ["/api/runs", "/", "/api/report/overview"] {
        let status = agent.post(format!("{host}{path}")).send("x").unwrap().status();
        assert_eq!(status.as_u16(), 405, "{path}");
    }
    assert_eq!(agent.head(format!("{host}/")).call().unwrap().status().as_u16(), 200);
}

#[test]
fn fifty_clients_at_once_get_the_same_answer() {
    let server = TestServer::start();
    let paths = [
        "/api/timeline/tracks",
        "/api/runs",
        "/",
        "/api/report/inspect",
        "/api/timeline/event?track=2&event=1",
    ];
    let expected: Vec<_> = paths.iter().map(|path| server.get(path).body).collect();
    std::thread::scope(|scope| {
        for client in 0..50 {
            let (server, path, expected) = (&server, paths[client % 5], &expected[client % 5]);
            scope.spawn(move || {
                let answer = server.get(path);
                assert_eq!((answer.status, &answer.body), (200, expected), "{path}");
            });
        }
    });
}

#[test]
fn a_run_that_is_captured_while_the_server_runs_appears() {
    let server = TestServer::start();
    let root = server.folder.path().join("plugins/profile");
    std::fs::create_dir(root.join("later")).unwrap();
    std::fs::copy(root.join("train/host-0.xplane.pb"), root.join("later/host-1.xplane.pb")).unwrap();
    assert_eq!(server.json("/api/runs")["runs"].as_array().unwrap().len(), 3);
    assert_eq!(server.json("/api/timeline/tracks?run=later")["groups"][0]["name"], "TPU:0");
}

/// A text is asked about without a run: none is opened, and none need be there.
#[test]
fn the_text_of_an_error_needs_no_run() {
    let server = TestServer::start();
    let text = "RESOURCE_EXHAUSTED:%20Allocation%20(size=262144)%20would%20exceed%20memory%20(size=2048)%20::%20%23a%20%5Bshape%20=%20's32%5B65536%5D',%20space=sflag,%20tag%20=%20'scratch%20operand'%5D%20::%20k.1";
    let body = server.json(&format!("/api/report/oom?message={text}"));
    let value = |id: &str| body["values"][id]["value"].clone();
    assert_eq!(
        (value("used_bytes"), value("limit_bytes"), value("space")),
        (json!(262_144), json!(2048), json!("sflag"))
    );
    assert!(server.get("/api/report/oom?message=all%20is%20well").refusal(422).contains("no message"));
}
