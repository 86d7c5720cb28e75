//! Captures over HTTP: who may ask for them, and what becomes of those that come to nothing. `profiler` has those that
//! succeed, `web/tests/e2e/capture.mjs` those of a real program.

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::time::{Duration, Instant};

use haloscope_serve::CaptureHosts;
use haloscope_store::Store;
use serde_json::{Value, json};

use crate::client::{Answer, TestServer};

const JSON: &str = "Content-Type: application/json\r\n";

fn with(hosts: &str) -> TestServer {
    TestServer::with(|config| config.capture = hosts.parse().unwrap())
}

fn ask(server: &TestServer, body: &Value) -> Answer {
    server.send("POST", "/api/capture", JSON, &body.to_string())
}

/// An address at which nothing listens.
fn nobody() -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    format!("127.0.0.1:{}", listener.local_addr().unwrap().port())
}

/// What the capture says once it has this state.
fn until(server: &TestServer, id: &str, state: &str) -> Value {
    let begun = Instant::now();
    loop {
        let body = server.json(&format!("/api/capture/{id}"));
        if body["state"] == state {
            return body;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{state}: {body}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// All that lies where sessions are, hidden things too.
fn sessions(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder.join("plugins/profile")).unwrap();
    let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_is_offered_is_said() {
    let server = TestServer::start();
    let body = server.json("/api/capture");
    let folder = server.folder.path().canonicalize().unwrap().display().to_string();
    assert_eq!((&body["available"], &body["folder"]), (&true.into(), &folder.into()));
    assert_eq!(
        (&body["any_server"], &body["servers"], &body["captures"]),
        (&true.into(), &json!([]), &json!([]))
    );
    assert_eq!(server.json("/api/analyses")["capture"], true);
    assert_eq!(server.json("/config")["hideCaptureProfileButton"], false);

    let some = with("localhost:9999, *.tpu.internal").json("/api/capture");
    assert_eq!(
        (&some["any_server"], &some["servers"]),
        (&false.into(), &json!(["localhost:9999", "*.tpu.internal"]))
    );

    let session = TestServer::with(|config| {
        let root = config.store.root().unwrap().join("plugins/profile/train");
        config.store = Store::new(&root).unwrap();
    });
    let memory = TestServer::with(|config| config.store = Store::in_memory());
    for (server, why) in
        [(with("none"), "--capture-hosts"), (session, "one session"), (memory, "no local folder")]
    {
        let body = server.json("/api/capture");
        assert_eq!((&body["available"], &body["folder"]), (&false.into(), &Value::Null));
        assert!(body["why"].as_str().unwrap().contains(why), "{body}");
        assert_eq!(server.json("/api/analyses")["capture"], false);
        assert_eq!(server.json("/config")["hideCaptureProfileButton"], true);
        ask(&server, &json!({"servers": ["localhost:1"]})).refusal(403);
    }
}

#[test]
fn other_sites_cannot_make_a_browser_capture() {
    let server = with("localhost");
    let host = format!("127.0.0.1:{}", server.addr.port());
    let body = json!({"servers": [nobody().replace("127.0.0.1", "localhost")]}).to_string();
    let own = format!("Origin: http://{host}\r\nSec-Fetch-Site: same-origin\r\n{JSON}");
    assert_eq!(server.send("POST", "/api/capture", &own, &body).status, 202);
    for (headers, status) in [
        (format!("Origin: http://evil.example\r\n{JSON}"), 403),
        (format!("Origin: null\r\n{JSON}"), 403),
        (format!("Sec-Fetch-Site: cross-site\r\n{JSON}"), 403),
        (format!("Sec-Fetch-Site: same-site\r\n{JSON}"), 403),
        (format!("Sec-Fetch-Site: none\r\n{JSON}"), 403),
        // What a form may send.
        ("Content-Type: text/plain\r\n".to_owned(), 400),
        ("Content-Type: application/x-www-form-urlencoded\r\n".to_owned(), 400),
        (String::new(), 400),
    ] {
        server.send("POST", "/api/capture", &headers, &body).refusal(status);
    }
    for path in ["/capture_profile", "/data/plugin/profile/capture_profile"] {
        // A picture on another page sends no Origin.
        let asked = format!("{path}?service_addr=localhost:1");
        for site in ["cross-site", "same-site", "none"] {
            let headers = format!("Host: {host}\r\nSec-Fetch-Site: {site}\r\n");
            server.raw(&asked, &headers).refusal(403);
        }
    }
    server.send("DELETE", "/api/capture/1", "Sec-Fetch-Site: cross-site\r\n", "").refusal(403);
    assert_eq!(server.json("/api/capture")["captures"].as_array().unwrap().len(), 1);
}

#[test]
fn a_token_is_needed_where_one_is_set() {
    let server = TestServer::with(|config| config.token = Some("secret-secret-16".into()));
    let body = json!({"servers": [nobody()]}).to_string();
    server.send("POST", "/api/capture", JSON, &body).refusal(401);
    assert_eq!(server.get("/capture_profile?service_addr=localhost:1").status, 401);
    let headers = format!("Authorization: Bearer secret-secret-16\r\n{JSON}");
    assert_eq!(server.send("POST", "/api/capture", &headers, &body).status, 202);
}

#[test]
fn only_servers_that_are_named_are_asked() {
    let server = with("localhost:9999,10.0.0.0/8");
    for other in ["localhost:22", "evil.example:9999", "11.0.0.1:9999", "169.254.169.254:80"] {
        let error = ask(&server, &json!({"servers": [other]})).refusal(403);
        assert!(error.contains(other) && error.contains("localhost:9999, 10.0.0.0/8"), "{error}");
        let answer = server.get(&format!("/capture_profile?service_addr={other}"));
        assert_eq!(answer.status, 403);
        assert!(answer.json()["error"].as_str().unwrap().contains("may not ask"), "{}", answer.text());
    }
    // All of them, or none is asked.
    ask(&server, &json!({"servers": ["localhost:9999", "localhost:22"]})).refusal(403);
    assert_eq!(server.json("/api/capture")["captures"], json!([]));
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let server = TestServer::start();
    for body in [
        json!({}),
        json!({"servers": ["localhost"]}),
        json!({"servers": ["localhost:1"], "session": "../../x"}),
        json!({"servers": ["localhost:1"], "on_server": "/etc"}),
        json!({"servers": ["localhost:1"], "options": ["x".repeat(70_000)]}),
    ] {
        ask(&server, &body).refusal(400);
    }
    server.get("/api/capture/7").refusal(404);
    server.send("DELETE", "/api/capture/7", "", "").refusal(404);
    assert_eq!(server.send("PUT", "/api/capture", JSON, "{}").status, 405);
    server.get("/api/capture?x=1").refusal(400);
}

#[test]
fn a_server_that_is_not_there_is_named_and_nothing_is_left() {
    let server = TestServer::start();
    let at = nobody();
    let answer = ask(&server, &json!({"servers": [at], "duration_ms": 100}));
    assert_eq!(answer.status, 202);
    let body = answer.json();
    assert_eq!((&body["duration_ms"], &body["servers"][0]["server"]), (&100.into(), &at.as_str().into()));
    let body = until(&server, body["id"].as_str().unwrap(), "failed");
    assert_eq!(body["kind"], "refused");
    assert!(body["error"].as_str().unwrap().starts_with(&at), "{body}");
    assert!(body["hint"].as_str().unwrap().contains("start_server"), "{body}");
    assert_eq!((&body["session"], &body["run"], &body["files"]), (&Value::Null, &Value::Null, &json!([])));
    assert_eq!(sessions(server.folder.path()), ["broken", "train"]);
}

#[test]
fn a_capture_that_hangs_can_be_ended() {
    let server = TestServer::start();
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let at = format!("localhost:{}", silent.local_addr().unwrap().port());
    let id = ask(&server, &json!({"servers": [at], "duration_ms": 100})).json()["id"].clone();
    let id = id.as_str().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let state = server.json(&format!("/api/capture/{id}"))["state"].clone();
    assert!(!["done", "failed", "cancelled"].contains(&state.as_str().unwrap()), "{state}");
    let begun = Instant::now();
    assert_eq!(server.send("DELETE", &format!("/api/capture/{id}"), "", "").status, 200);
    let body = until(&server, id, "cancelled");
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert_eq!(body["error"], Value::Null);
    assert_eq!(sessions(server.folder.path()), ["broken", "train"]);
}

#[test]
fn a_server_that_ends_ends_its_captures() {
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let at = format!("localhost:{}", silent.local_addr().unwrap().port());
    let server = TestServer::start();
    let folder = server.folder.path().to_owned();
    assert_eq!(ask(&server, &json!({"servers": [at]})).status, 202);
    std::thread::sleep(Duration::from_millis(200));
    let begun = Instant::now();
    server.stop_and(|| assert_eq!(sessions(&folder), ["broken", "train"]));
    assert!(begun.elapsed() < Duration::from_secs(30));
}

#[test]
fn a_capture_beyond_this_machine_is_off_unless_it_is_asked_for() {
    let reached = |capture: CaptureHosts| {
        TestServer::with(|config| {
            config.addr.set_ip(Ipv4Addr::UNSPECIFIED.into());
            config.token = Some("t-t-t-t-t-t-t-t-".into());
            config.capture = capture;
        })
    };
    let server = reached(CaptureHosts::Unsaid);
    assert_eq!(server.json("/api/capture?token=t-t-t-t-t-t-t-t-")["available"], false);
    let body = json!({"servers": [nobody()]}).to_string();
    server.send("POST", "/api/capture?token=t-t-t-t-t-t-t-t-", JSON, &body).refusal(403);
    let server = reached(CaptureHosts::Any);
    assert_eq!(server.send("POST", "/api/capture?token=t-t-t-t-t-t-t-t-", JSON, &body).status, 202);
}

#[test]
fn xprofs_route_answers_as_xprof_does() {
    let server = TestServer::start();
    // What the server of xprof 2.24.2 gives; it drops the connection where `duration` is no number.
    for (query, error) in [
        (
            "service_addr=localhost:1&is_tpu_name=true",
            "TensorFlow is not installed, but is required to use TPU names.",
        ),
        ("service_addr=localhost:1&duration=0", "INVALID_ARGUMENT: duration_ms must be greater than zero."),
        ("service_addr=&duration=100", "INVALID_ARGUMENT: No service address provided."),
        (
            "service_addr=localhost:1&duration=-5",
            "INVALID_ARGUMENT: The maximum profiling session duration must be greater than or equal to the local profiler \
             duration.",
        ),
        ("service_addr=localhost:1&duration=200&worker_list=localhost:1", "UNIMPLEMENTED: "),
        (
            "service_addr=localhost&duration=200",
            "INVALID_ARGUMENT: Could not interpret \"localhost\" as a host-port pair.",
        ),
        (
            "service_addr=localhost:1&duration=200&worker_list=a,b",
            "INVALID_ARGUMENT: Could not interpret \"a\" as a host-port pair.",
        ),
        ("service_addr=localhost:1&duration=abc", "invalid literal for int() with base 10: 'abc'"),
    ] {
        for prefix in ["", "/data/plugin/profile"] {
            let answer = server.get(&format!("{prefix}/capture_profile?{query}"));
            assert_eq!((answer.status, answer.header("content-type")), (500, "application/json"), "{query}");
            let escaped = error.replace('"', "\\\"");
            assert_eq!(answer.text(), format!("{{\"error\": \"{escaped}\"}}"), "{query}");
        }
    }
    let at = nobody();
    for method in ["GET", "POST"] {
        let path = format!("/capture_profile?service_addr=grpc://{at}&duration=100&num_retry=-1");
        let answer = server.send(method, &path, "", "");
        assert_eq!(answer.status, 500);
        let error = answer.json()["error"].as_str().unwrap().to_owned();
        // XProf's sentence, and then what it does not say.
        let start = "UNAVAILABLE: No trace event was collected because there were no responses from clients or the responses did \
                     not have trace data.";
        assert!(error.starts_with(start) && error.contains(&at), "{error}");
    }
    let memory = TestServer::with(|config| config.store = Store::in_memory());
    let answer = memory.get("/capture_profile?service_addr=localhost:1");
    assert_eq!(
        (answer.status, answer.text().as_str()),
        (500, r#"{"error": "logdir is not set, abort capturing."}"#)
    );
}
