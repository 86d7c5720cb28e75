//! `haloscope mcp`: nothing but the protocol on stdout. What the tools say is tested where they live.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{FIXTURES, command};

#[test]
fn stdout_is_the_protocol_and_stderr_is_talk() {
    let mut child = command(&["mcp", FIXTURES[0]])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut to = child.stdin.take().unwrap();
    let mut from = BufReader::new(child.stdout.take().unwrap());
    let mut ask = |message: Value| {
        writeln!(to, "{message}").unwrap();
        let mut line = String::new();
        from.read_line(&mut line).unwrap();
        serde_json::from_str::<Value>(&line).unwrap_or_else(|_| panic!("{line}"))["result"].clone()
    };
    let about = json!({"name": "test", "version": "1"});
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about});
    let said = ask(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}));
    assert_eq!(said["serverInfo"]["name"], "haloscope");
    let call = json!({"name": "report", "arguments": {"analysis": "overview"}});
    let answer = ask(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}));
    assert_eq!(answer["structuredContent"]["analysis"], "overview", "{answer}");
    drop(to);
    let mut rest = String::new();
    from.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("note: 1 run in "), "{output:?}");
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let output = command(&["mcp", "no/such/folder"]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(output.stdout.is_empty() && String::from_utf8_lossy(&output.stderr).contains("no/such/folder"));
}
