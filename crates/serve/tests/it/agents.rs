//! `/mcp`: the tools for agents, behind the same checks as everything else. What the tools say is tested where they live.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use serde_json::{Value, json};

use crate::client::TestServer;

/// The status and the body of a POST of one message.
fn post(server: &TestServer, path: &str, host: &str, headers: &str, message: &Value) -> (u16, String) {
    let body = message.to_string();
    let mut stream = TcpStream::connect(("127.0.0.1", server.addr.port())).unwrap();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let answer = String::from_utf8(bytes).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

fn message(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

fn hello() -> Value {
    let about = json!({"name": "test", "version": "1"});
    message("initialize", &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about}))
}

#[test]
fn agents_list_and_call_tools_over_the_runs_of_the_page() {
    let server = TestServer::start();
    let ask = |message: &Value| {
        let (status, body) = post(&server, "/mcp", "localhost", "", message);
        assert_eq!(status, 200, "{body}");
        let answer: Value = serde_json::from_str(&body).unwrap_or_else(|_| panic!("{body}"));
        answer["result"].clone()
    };
    let said = ask(&hello());
    assert_eq!(said["serverInfo"]["name"], "haloscope");
    assert!(said["instructions"].as_str().unwrap().contains("`diagnose`"));
    let tools = ask(&message("tools/list", &json!({})));
    assert!(tools["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "diagnose"));
    let call =
        |arguments: &Value| ask(&message("tools/call", &json!({"name": "report", "arguments": arguments})));
    let answer = call(&json!({"run": "train", "analysis": "ops"}));
    assert_eq!(answer["structuredContent"]["run"], "train", "{answer}");
    let refused = call(&json!({"run": "broken"}));
    assert!(
        refused["isError"] == true && refused["content"][0]["text"].as_str().unwrap().contains("\nnext: ")
    );
    let runs = ask(&message("resources/read", &json!({"uri": "haloscope://runs"})));
    assert!(runs["contents"][0]["text"].as_str().unwrap().contains("haloscope://runs/train"));
}

#[test]
fn agents_are_held_against_the_same_rules_as_pages() {
    let server = TestServer::with(|config| config.token = Some("secret-secret-16".into()));
    let status = |path: &str, host: &str, headers: &str| post(&server, path, host, headers, &hello()).0;
    assert_eq!(status("/mcp", "localhost", ""), 401);
    assert_eq!(status("/mcp", "localhost", "Authorization: Bearer wrong\r\n"), 401);
    assert_eq!(status("/mcp", "localhost", "Authorization: Bearer secret-secret-16\r\n"), 200);
    assert_eq!(status("/mcp?token=secret-secret-16", "localhost", ""), 200);
    assert_eq!(status("/mcp?token=secret-secret-16", "evil.example", ""), 403);
    assert_eq!(status("/mcp?token=secret-secret-16", "localhost", "Origin: http://evil.example\r\n"), 403);
    // Nothing else takes POST, and there is nothing to read at /mcp.
    assert_eq!(status("/api/runs?token=secret-secret-16", "localhost", ""), 405);
    assert_eq!(server.get("/mcp?token=secret-secret-16").status, 405);
}

#[test]
fn a_message_that_does_not_come_whole_is_the_senders_fault() {
    let server = TestServer::start();
    let sent = |headers: &str, body: &[u8]| {
        let mut stream = TcpStream::connect(("127.0.0.1", server.addr.port())).unwrap();
        let host = "Host: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n";
        let accept = "Accept: application/json, text/event-stream\r\n";
        write!(stream, "POST /mcp HTTP/1.1\r\n{host}{accept}{headers}\r\n").unwrap();
        stream.write_all(body).unwrap();
        // The server may have answered and left.
        let _ = stream.shutdown(Shutdown::Write);
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    let cut = sent("Content-Length: 100\r\n", b"{\"js");
    assert!(cut.starts_with("HTTP/1.1 400 ") && cut.contains("\"error\""), "{cut}");
    let garbled = sent("Transfer-Encoding: chunked\r\n", b"4\r\n{\"js\r\nzz\r\n");
    assert!(garbled.starts_with("HTTP/1.1 400 "), "{garbled}");
    // By its length alone: what is not read is lost with the connection, and the answer with it.
    let large = sent(&format!("Content-Length: {}\r\n", (4 << 20) + 1), b"");
    assert!(large.starts_with("HTTP/1.1 413 ") && large.contains("4 MiB"), "{large}");
}
