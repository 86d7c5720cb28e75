//! A run of many hosts while it is read: answers of those that have been, and how far it is.

use std::time::{Duration, Instant};

use haloscope_xspace::write::{Event, Space};
use serde_json::Value;

use crate::client::{TestServer, profile, set_age};

const HOSTS: usize = 5;

/// A host whose device ran so many steps more than the profile has.
fn host(more: i64) -> Space {
    let mut space = profile();
    let ops = &mut space.planes[0].lines[2];
    let end = 1_000_000_000_i64;
    ops.events.extend((0..more).map(|i| Event::at(3, end + i * 2_000_000, 1_000_000)));
    space
}

/// A server with the run `pod` of several hosts beside its others.
fn pod(more: i64) -> TestServer {
    let server = TestServer::start();
    let folder = server.folder.path().join("plugins/profile/pod");
    std::fs::create_dir_all(&folder).unwrap();
    let bytes = host(more).to_bytes();
    for i in 0..HOSTS {
        let path = folder.join(format!("host-{i}.xplane.pb"));
        std::fs::write(&path, &bytes).unwrap();
        set_age(&path, 100);
    }
    server
}

/// The remark that not all hosts have been read.
fn remark(report: &Value) -> Option<&Value> {
    report["quality"].as_array().unwrap().iter().find(|note| note["id"] == "hosts_being_read")
}

/// The state of the run, whose numbers must fit it.
fn state(server: &TestServer) -> String {
    let body = server.json("/api/progress?run=pod");
    let number = |key: &str| body[key].as_u64().unwrap();
    assert_eq!(body["run"], "pod");
    assert!(number("hosts_done") <= number("hosts") && number("bytes_done") <= number("bytes"), "{body}");
    let state = body["state"].as_str().unwrap().to_owned();
    if state == "read" {
        assert_eq!((number("hosts_done"), number("bytes_done")), (HOSTS as u64, number("bytes")));
    }
    state
}

#[test]
fn answers_of_some_hosts_say_so_and_become_the_answer_of_all() {
    let server = pod(40_000);
    assert_eq!(state(&server), "idle");
    let path = "/api/report/overview?run=pod&partial=yes";
    let begun = Instant::now();
    let mut parts = 0;
    let whole = loop {
        let report = server.json(path);
        assert!(["opening", "reading", "read"].contains(&state(&server).as_str()));
        let Some(note) = remark(&report) else { break report };
        parts += 1;
        // It is the answer over just those hosts, and the first remark is that it is.
        assert_eq!(report["quality"][0], *note);
        let read = report["scope"]["hosts"].as_array().unwrap().len();
        assert!((1..=HOSTS).contains(&read), "{report}");
        let message = note["message"].as_str().unwrap();
        assert!(message.starts_with(&format!("{read} of {HOSTS} hosts")), "{message}");
        assert!(begun.elapsed() < Duration::from_secs(120));
        std::thread::sleep(Duration::from_millis(20));
    };
    // How often there was a part depends on the machine; what comes last does not.
    assert_eq!(whole["scope"]["hosts"].as_array().unwrap().len(), HOSTS, "after {parts} parts");
    let asked_whole = server.json("/api/report/overview?run=pod");
    assert_eq!((&whole["values"], &whole["tables"]), (&asked_whole["values"], &asked_whole["tables"]));
    assert_eq!(state(&server), "read");
}

#[test]
fn who_names_hosts_or_does_not_ask_for_parts_gets_none() {
    let server = pod(0);
    for query in ["", "&partial=no", "&partial=yes&hosts=host-1"] {
        let report = server.json(&format!("/api/report/overview?run=pod{query}"));
        assert_eq!(remark(&report), None, "{query}");
    }
    // Of one host there is no part.
    assert_eq!(remark(&server.json("/api/report/overview?run=train&partial=yes")), None);
    server.get("/api/progress?hosts=x").refusal(400);
    // Nothing is opened to say how far it is, and of what is not there nobody says it.
    assert_eq!(server.json("/api/progress?run=train")["state"], "idle");
    server.get("/api/progress?run=nothing").refusal(404);
}
