//! `cargo xtask measure`: what a command cost, whoever asks.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::process::{Command, Output};

fn measure(script: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask")).args(["measure", "--", "sh", "-c", script]).output().unwrap()
}

#[test]
fn the_peak_is_that_of_the_command_and_not_of_who_asks() {
    // Every page is touched: this process has 300 MB, which a child of its own would begin with.
    let held = std::hint::black_box(vec![1_u8; 300_000_000]);
    let said = measure("echo something");
    let cost: serde_json::Value = serde_json::from_slice(&said.stdout).unwrap();
    let peak_bytes = cost["peak_bytes"].as_u64().unwrap();
    assert!((100_000..50_000_000).contains(&peak_bytes), "{peak_bytes} bytes beside {}", held.len());
    assert!(cost["seconds"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_command_that_needs_memory_has_its_peak() {
    let said = measure("head -c 80000000 /dev/zero | tail -c 80000000 >/dev/null; echo words");
    assert!(said.status.success());
    let cost: serde_json::Value = serde_json::from_slice(&said.stdout).unwrap();
    assert!(cost["peak_bytes"].as_u64().unwrap() > 60_000_000, "{cost}");
}

#[test]
fn a_command_that_fails_is_no_measurement() {
    let said = measure("echo why >&2; exit 3");
    assert!(!said.status.success() && said.stdout.is_empty());
    let talk = String::from_utf8_lossy(&said.stderr);
    assert!(talk.starts_with("why\n") && talk.contains("exit status: 3"), "{talk}");
}
