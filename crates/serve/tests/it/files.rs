//! Runs as files: what the page saves, and what is dropped on it.

use haloscope_profile::load;

use crate::client::{TestServer, profile};

const BYTES: &str = "Content-Type: application/octet-stream\r\n";

#[test]
fn a_dropped_profile_is_a_run_like_others() {
    let server = TestServer::start();
    let bytes = profile().to_bytes();
    let opened = server.send_bytes("POST", "/api/open?name=mine.xplane.pb", BYTES, &bytes);
    assert_eq!(opened.status, 200, "{}", opened.text());
    assert_eq!(opened.json()["run"], "(opened)/mine.xplane.pb");
    let again = server.send_bytes("POST", "/api/open?name=mine.xplane.pb", BYTES, &bytes);
    assert_eq!(again.json()["run"], "(opened)/mine.xplane.pb (2)");
    let runs = server.json("/api/runs");
    let ids: Vec<&str> =
        runs["runs"].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap()).collect();
    // They stand behind the place's own runs, and nobody else is shown one.
    assert_eq!(ids[2..], ["(opened)/mine.xplane.pb (2)", "(opened)/mine.xplane.pb"], "{ids:?}");
    let dropped: Vec<bool> =
        runs["runs"].as_array().unwrap().iter().map(|run| run["dropped"].as_bool().unwrap()).collect();
    assert_eq!(dropped, [false, false, true, true]);
    assert!(ids[..2].contains(&runs["default"].as_str().unwrap()), "{runs}");
    assert_eq!(server.json("/api/fleet")["tables"][0]["rows"].as_array().unwrap().len(), 2);
    let of = |run: &str| server.json(&format!("/api/report/ops?run={run}"))["tables"].clone();
    assert_eq!(of("(opened)/mine.xplane.pb"), of("train"));
    // Nothing of it is written.
    let folder = server.folder.path().join("plugins/profile");
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 2);
}

#[test]
fn what_is_no_profile_is_refused_and_so_are_other_pages() {
    let server = TestServer::start();
    let send = |headers: &str, body: &[u8]| server.send_bytes("POST", "/api/open?name=x", headers, body);
    send(BYTES, b"no profile at all").refusal(422);
    send(BYTES, b"").refusal(400);
    send("Content-Type: text/plain\r\n", b"x").refusal(400);
    send(&format!("{BYTES}Origin: http://evil.example\r\n"), b"x").refusal(403);
    send(&format!("{BYTES}Sec-Fetch-Site: cross-site\r\n"), b"x").refusal(403);
    assert_eq!(server.json("/api/runs")["runs"].as_array().unwrap().len(), 2);
}

#[test]
fn a_run_is_saved_as_report_as_slice_and_under_other_names() {
    let server = TestServer::start();
    let get = |words: &str| server.get(&format!("/api/share?run=train&{words}"));
    let report = get("what=report");
    assert_eq!(report.status, 200, "{}", report.text());
    assert_eq!(report.header("content-disposition"), "attachment; filename=\"train-report.html\"");
    assert!(report.text().contains("<script id=\"data\""));
    let slice = get("what=slice&window=100us..190us");
    assert_eq!(slice.status, 200, "{}", slice.text());
    assert_eq!(slice.header("content-disposition"), "attachment; filename=\"train-slice.xplane.pb\"");
    let part = load::from_bytes("slice.xplane.pb", slice.body).unwrap();
    let events =
        |profile: &haloscope_profile::Profile| profile.lines.iter().map(|line| line.event_count).sum::<u64>();
    let whole = load::from_bytes("whole.xplane.pb", profile().to_bytes()).unwrap();
    assert!(events(&part) > 0 && events(&part) < events(&whole));
    let redacted = get("what=redacted");
    assert_eq!(redacted.status, 200, "{}", redacted.text());
    let saved = redacted.header("content-disposition").to_owned();
    assert!(!saved.contains("train") && saved.ends_with("-redacted.xplane.pb\""), "{saved}");
    assert_eq!(get("what=redacted&host=host-0").body, redacted.body);
    assert_eq!(events(&load::from_bytes("r.xplane.pb", redacted.body).unwrap()), events(&whole));
    let names = get("what=names").text();
    assert!(names.starts_with("kind,word,replacement\r\n"), "{names}");
    get("what=everything").refusal(400);
    let missing = get("what=slice&host=nobody").refusal(400);
    assert!(missing.contains("must be one of"), "{missing}");
}
