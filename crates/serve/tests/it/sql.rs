//! SQL over HTTP: who may ask it and how much of it. The program that answers is a stand-in here; `tests/query` has the real one.

#[cfg(target_os = "linux")]
use std::path::Path;
#[cfg(target_os = "linux")]
use std::time::{Duration, Instant};

use haloscope_serve::Sql;
use haloscope_sql::Program;
use serde_json::{Value, json};

use crate::client::{Answer, TestServer};

const JSON: &str = "Content-Type: application/json\r\n";

/// A program that describes itself, and answers SQL with what it was called with and its process's number.
const STAND_IN: &str = r#"#!/bin/sh
case "$*" in
*--schema*) echo '{"version":"VERSION","tables":[{"name":"step","doc":"A step.","columns":[]}],"functions":[],"questions":[]}'; exit 0;;
esac
sql=$(cat)
echo $$ > "FOLDER/pid"
case "$sql" in
wait*) exec sleep 600;;
wrong*) echo 'error: SQL: there is no column x (line 1, column 8)' >&2; echo 'hint: the nearest columns are y' >&2; exit 2;;
esac
printf '{"columns":[{"name":"words","kind":"text"}],"is_cut":false,"rows":[["%s"]]}' "$*"
"#;

/// A server with SQL, and the folder of the stand-in.
fn start(change: impl FnOnce(&mut haloscope_serve::Config)) -> (TestServer, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let (text, file) = (folder.path().join("text"), folder.path().join("haloscope-query"));
    let script = STAND_IN.replace("VERSION", env!("CARGO_PKG_VERSION"));
    std::fs::write(&text, script.replace("FOLDER", &folder.path().display().to_string())).unwrap();
    // Not written here: a file that a thread has open as another starts a process is busy, and does not run.
    let installed = std::process::Command::new("install").args(["-m", "755"]).args([&text, &file]).status();
    assert!(installed.unwrap().success());
    let server = TestServer::with(|config| {
        config.sql = Some(Sql::new(Program::at(file)).unwrap());
        change(config);
    });
    (server, folder)
}

fn ask(server: &TestServer, body: &Value) -> Answer {
    server.send("POST", "/api/query", JSON, &body.to_string())
}

#[test]
fn a_server_without_sql_answers_none() {
    let server = TestServer::start();
    assert!(server.get("/api/query").refusal(404).contains("does not answer SQL"));
    assert!(ask(&server, &json!({"sql": "SELECT 1"})).refusal(404).contains("does not answer SQL"));
    assert_eq!(server.json("/api/analyses")["sql"], false);
}

#[test]
fn a_statement_is_asked_of_the_runs_that_are_listed() {
    let (server, _folder) = start(|_| {});
    assert_eq!(server.json("/api/analyses")["sql"], true);
    assert_eq!(server.json("/api/query")["tables"][0]["name"], "step");
    let answer = ask(&server, &json!({"sql": "SELECT 1", "limit": 5, "timeout_s": 3}));
    assert_eq!(answer.status, 200, "{}", answer.text());
    let body = answer.json();
    let words = body["rows"][0][0].as_str().unwrap();
    assert!(words.contains("--limit 5 --timeout 3 --memory-limit 4294967296"), "{words}");
    // The newest run, where none is named.
    let train = server.folder.path().canonicalize().unwrap().join("plugins/profile/train");
    assert!(words.ends_with(&format!("-- {}", train.display())), "{words}");
    // More than may be is what may be.
    let most =
        ask(&server, &json!({"sql": "SELECT 1", "runs": ["train"], "limit": 99_999_999, "timeout_s": 1e6}))
            .text();
    assert!(most.contains("--limit 100000 --timeout 60 "), "{most}");
    // What a run is called is no path.
    for id in ["../train", "/etc", "plugins/profile/train/../../..", "--verbose", "nothing"] {
        assert!(ask(&server, &json!({"sql": "SELECT 1", "runs": [id]})).refusal(404).contains("run"));
    }
}

#[test]
fn what_is_wrong_is_said() {
    let (server, _folder) = start(|_| {});
    let wrong = ask(&server, &json!({"sql": "wrong"}));
    assert!(wrong.refusal(400).contains("line 1, column 8"));
    assert_eq!(wrong.json()["hint"], "the nearest columns are y");
    for body in [
        "",
        "[]",
        "{}",
        "{\"sql\": 1}",
        "{\"sql\": \"x\", \"path\": \"/etc\"}",
        "{\"sql\": \"x\", \"timeout_s\": -1}",
    ] {
        server.send("POST", "/api/query", JSON, body).refusal(400);
    }
    // A form of another page can send no JSON.
    server.send("POST", "/api/query", "Content-Type: text/plain\r\n", "{\"sql\": \"SELECT 1\"}").refusal(400);
    server
        .send(
            "POST",
            "/api/query",
            &format!("{JSON}Sec-Fetch-Site: cross-site\r\n"),
            "{\"sql\": \"SELECT 1\"}",
        )
        .refusal(403);
    let long = json!({"sql": "x".repeat(3 << 20)});
    assert!(ask(&server, &long).status >= 400);
    let many: Vec<String> = (0..33).map(|at| format!("run-{at}")).collect();
    assert!(ask(&server, &json!({"sql": "SELECT 1", "runs": many})).refusal(400).contains("33 runs"));
}

#[test]
fn sql_wants_the_token() {
    let token = "a token of many letters";
    let (server, _folder) = start(|config| config.token = Some(token.to_owned()));
    ask(&server, &json!({"sql": "SELECT 1"})).refusal(401);
    server.get("/api/query").refusal(401);
    let with = format!("{JSON}Authorization: Bearer {token}\r\n");
    assert_eq!(server.send("POST", "/api/query", &with, "{\"sql\": \"SELECT 1\"}").status, 200);
}

#[cfg(target_os = "linux")]
fn is_there(folder: &Path) -> bool {
    let pid = std::fs::read_to_string(folder.join("pid")).unwrap_or_default();
    !pid.trim().is_empty() && Path::new("/proc").join(pid.trim()).exists()
}

#[cfg(target_os = "linux")]
fn becomes(folder: &Path, there: bool) {
    let begun = Instant::now();
    while is_there(folder) != there {
        assert!(begun.elapsed() < Duration::from_secs(20), "{there}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A query that takes too long, or that its client has left, is gone with its process.
#[test]
#[cfg(target_os = "linux")]
fn nothing_runs_on() {
    use std::io::Write;

    let (server, folder) = start(|_| {});
    let late = ask(&server, &json!({"sql": "wait", "timeout_s": 0.1}));
    assert!(late.refusal(422).contains("no answer within 0.1 s"), "{}", late.text());
    assert!(!is_there(folder.path()));

    let body = json!({"sql": "wait"}).to_string();
    let mut client = std::net::TcpStream::connect(("127.0.0.1", server.addr.port())).unwrap();
    let head = format!("Host: 127.0.0.1:{}\r\nContent-Length: {}\r\n{JSON}", server.addr.port(), body.len());
    std::fs::remove_file(folder.path().join("pid")).unwrap();
    write!(client, "POST /api/query HTTP/1.1\r\n{head}\r\n{body}").unwrap();
    becomes(folder.path(), true);
    drop(client);
    becomes(folder.path(), false);
}
