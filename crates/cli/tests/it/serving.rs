//! The server as the command line starts it. What it answers is tested where it lives.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};

use crate::support::{FIXTURES, command, process};

/// A server that ends with the test.
pub(crate) struct Serving {
    child: Child,
    address: String,
    before: String,
}

impl Serving {
    /// Serves without a token, whoever else uses this machine.
    pub(crate) fn start(args: &[&str]) -> Self {
        let mut child =
            command(args).arg("--no-token").stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut before = String::new();
        let address = loop {
            let mut line = String::new();
            assert!(lines.read_line(&mut line).unwrap() > 0, "ended after:\n{before}");
            if let Some(url) = line.strip_prefix("serving at http://") {
                break url.trim_end().trim_end_matches('/').to_owned();
            }
            before += &line;
        };
        Self { child, address, before }
    }

    fn get(&self, path: &str) -> String {
        self.send(&format!("GET {path} HTTP/1.1"), "")
    }

    fn send(&self, first: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(
            stream,
            "{first}\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        )
        .unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// What an answer holds behind its head.
    pub(crate) fn body(&self, path: &str) -> String {
        let answer = self.get(path);
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    /// The same of a message that is posted.
    pub(crate) fn post(&self, path: &str, body: &str) -> String {
        let answer = self.send(&format!("POST {path} HTTP/1.1"), body);
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_demo_serves_the_profile_it_shows() {
    let server = Serving::start(&["demo", "--port", "0"]);
    assert!(server.before.contains("Devices wait for input"), "{}", server.before);
    let runs = server.get("/api/runs");
    assert!(runs.starts_with("HTTP/1.1 200"), "{runs}");
    assert!(runs.contains("\"demo\""), "{runs}");
}

#[test]
fn a_folder_is_served() {
    let server = Serving::start(&["serve", FIXTURES[0], "--port", "0"]);
    assert_eq!(server.before, "");
    assert!(server.get("/api/runs").contains("2026_01_01_00_00_00"));
}

#[test]
fn a_port_that_was_asked_for_is_not_replaced() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let outcome = process(&["serve", FIXTURES[0], "--port", &port]);
    assert_eq!(outcome.code, 3);
    assert_eq!(outcome.stdout, "");
    assert!(outcome.stderr.contains("error: cannot listen on 127.0.0.1:"), "{}", outcome.stderr);
}

#[test]
fn other_machines_need_a_token() {
    let outcome = process(&["serve", FIXTURES[0], "--host", "0.0.0.0", "--port", "0", "--no-token"]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("--token"), "{}", outcome.stderr);
    let both = ["serve", FIXTURES[0], "--port", "0", "--no-token", "--token", "0123456789abcdef"];
    assert_eq!(process(&both).code, 2);
}

#[test]
fn a_token_is_made_up_where_other_machines_reach_the_server() {
    let mut tokens = Vec::new();
    for _ in 0..2 {
        let args = ["serve", FIXTURES[0], "--host", "0.0.0.0", "--port", "0"];
        let mut child = command(&args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (address, token) = line.trim_end().split_once("/?token=").unwrap();
        assert!(token.len() == 64 && token.bytes().all(|b| b.is_ascii_hexdigit()), "{token}");
        let address = address.rsplit_once(':').unwrap().1;
        let server = Serving { child, address: format!("127.0.0.1:{address}"), before: String::new() };
        assert!(server.get("/api/runs").starts_with("HTTP/1.1 401"));
        assert!(server.get(&format!("/api/runs?token={token}")).starts_with("HTTP/1.1 200"));
        tokens.push(token.to_owned());
    }
    assert_ne!(tokens[0], tokens[1]);
}

#[test]
fn a_token_that_can_be_guessed_is_refused() {
    for short in ["", "SECRET", "fifteen-letters"] {
        let outcome = process(&["serve", FIXTURES[0], "--port", "0", "--token", short]);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{}", outcome.stderr);
        let says = |part: &str| outcome.stderr.contains(part);
        assert!(
            says("at least 16") && says("openssl rand") && (short.is_empty() || !says(short)),
            "{}",
            outcome.stderr
        );
    }
}

#[test]
fn another_page_and_other_folders_are_served_where_asked() {
    let page = tempfile::tempdir().unwrap();
    std::fs::write(page.path().join("index.html"), "another page").unwrap();
    let (page, other) = (page.path().display().to_string(), crate::support::root().join(FIXTURES[1]));
    let other = other.display().to_string();
    let server = Serving::start(&["serve", FIXTURES[0], "--port", "0", "--ui", &page, "--root", &other]);
    assert!(server.get("/data/plugin/profile/").ends_with("another page"));
    assert!(server.get("/runs").ends_with("[\"2026_01_01_00_00_00\"]"));
    let named = server.get(&format!("/hosts?session_path={other}/plugins/profile/2026_01_01_00_00_00"));
    assert!(named.ends_with("[{\"hostname\": \"host0\"}]"), "{named}");
    assert!(server.get("/runs?session_path=/").starts_with("HTTP/1.1 403"));
}

#[test]
fn folders_that_are_not_there_are_named() {
    for flag in ["--root", "--ui"] {
        let outcome = process(&["serve", FIXTURES[0], "--port", "0", flag, "no/such/folder"]);
        assert_eq!(outcome.code, 3, "{}", outcome.stderr);
        assert!(outcome.stderr.contains("no/such/folder"), "{}", outcome.stderr);
    }
}
