//! A log folder that others write to while it is served.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use haloscope_xspace::write::Plane;

use crate::client::{TestServer, profile, set_age};

fn session(server: &TestServer, name: &str) -> PathBuf {
    let folder = server.folder.path().join("plugins/profile").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder.join("host-0.xplane.pb")
}

/// A profile with the plane that complete ones end with.
fn complete() -> Vec<u8> {
    let mut space = profile();
    space.planes.push(Plane { name: "Task Environment".into(), ..Plane::default() });
    space.to_bytes()
}

fn ids(body: &serde_json::Value) -> Vec<&str> {
    body["runs"].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap()).collect()
}

#[test]
fn a_question_about_a_run_that_is_being_written_waits_and_is_answered_of_the_whole() {
    let server = TestServer::start();
    let bytes = complete();
    let done = session(&server, "done");
    std::fs::write(&done, &bytes).unwrap();
    set_age(&done, 50);
    let whole = server.json("/api/report/overview?run=done");
    let path = session(&server, "late");
    let (half, rest) = bytes.split_at(bytes.len() / 2);
    let mut file = File::create(&path).unwrap();
    file.write_all(half).unwrap();
    thread::scope(|scope| {
        let asked = scope.spawn(|| server.json("/api/report/overview?run=late"));
        thread::sleep(Duration::from_millis(1200));
        let runs = server.json("/api/runs");
        assert_eq!((&runs["runs"][0]["id"], &runs["runs"][0]["writing"]), (&"late".into(), &true.into()));
        // Who names no run means one that is complete.
        assert_eq!(runs["default"], "done");
        let newest = server.json("/api/report/overview");
        assert_eq!(newest["provenance"]["files"], whole["provenance"]["files"]);
        file.write_all(rest).unwrap();
        drop(file);
        let answer = asked.join().unwrap();
        assert_eq!((&answer["values"], &answer["quality"]), (&whole["values"], &whole["quality"]));
    });
    assert_eq!(server.json("/api/runs")["default"], "late");
}

#[test]
fn who_asks_for_a_run_that_takes_longer_is_told_to_ask_again() {
    let server = TestServer::start();
    let path = session(&server, "slow");
    let bytes = complete();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    // A moment ago, and it ends in the middle.
    set_age(&path, 3);
    thread::scope(|scope| {
        let asked = scope.spawn(|| server.get("/data?tag=overview_page&run=slow"));
        let begun = Instant::now();
        let answer = server.get("/api/timeline/tracks?run=slow");
        assert!(begun.elapsed() >= Duration::from_secs(4));
        assert_eq!((answer.status, answer.header("retry-after")), (503, "2"));
        let body = answer.json();
        assert_eq!(body["kind"], "writing");
        assert!(
            body["error"].as_str().unwrap().contains("slow/host-0.xplane.pb is still being written"),
            "{body}"
        );
        let xprof = asked.join().unwrap();
        assert!(xprof.status == 503 && xprof.text().contains("still being written"), "{}", xprof.text());
    });
    std::fs::write(&path, &bytes).unwrap();
    set_age(&path, 3);
    assert_eq!(server.get("/api/timeline/tracks?run=slow").status, 200);
}

#[test]
fn a_listing_that_is_known_costs_nothing_until_a_session_comes() {
    let server = TestServer::start();
    let body = server.json("/api/runs");
    let known = format!("/api/runs?known={}", body["listing"].as_str().unwrap());
    for _ in 0..3 {
        let answer = server.get(&known);
        assert_eq!((answer.status, answer.body.len()), (204, 0));
    }
    std::fs::write(session(&server, "new"), profile().to_bytes()).unwrap();
    let begun = Instant::now();
    let now = loop {
        let answer = server.get(&known);
        if answer.status == 200 {
            break answer.json();
        }
        assert!(begun.elapsed() < Duration::from_secs(60));
        thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(ids(&now), ["new", "train", "broken"]);
    assert_ne!(now["listing"], body["listing"]);
    // What nobody could know is no error: the whole list is.
    assert_eq!(ids(&server.json("/api/runs?known=x")).len(), 3);
}

#[test]
fn a_hundred_who_ask_the_same_at_once_get_the_same() {
    let server = TestServer::start();
    let answers: Vec<Vec<u8>> = thread::scope(|scope| {
        let ask = || server.get("/api/report/diagnose?run=train").body;
        let threads: Vec<_> = (0..100).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(answers[0].starts_with(b"{\"analysis\":\"diagnose\""));
    assert!(answers.iter().all(|answer| *answer == answers[0]));
}
