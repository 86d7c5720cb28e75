//! Flags of launch scripts, through the real binary.

use std::fs;

use crate::support::process;

const SCRIPT: &str = "fixtures/flags/launch.sh";
const RELEASES: [&str; 2] = ["--version", "libtpu-0.0.52,jaxlib-0.10.2"];

#[test]
fn a_script_alone_and_with_a_run() {
    let alone = process(&[&["audit", "flags", SCRIPT], &RELEASES[..], &["--format", "json"]].concat());
    assert_eq!(alone.code, 0, "{}", alone.stderr);
    let report: serde_json::Value = serde_json::from_str(&alone.stdout).unwrap();
    assert_eq!(report["values"]["conflict_count"]["value"], 5);
    assert!(report["values"]["missing_count"]["value"].is_null());
    let recommendations: Vec<_> =
        report["findings"].as_array().unwrap().iter().map(|f| f["lever"].as_str().unwrap()).collect();
    assert!(
        recommendations.contains(&"--xla_tpu_enable_async_collective_fusion_fuse_all_gather=false"),
        "{recommendations:?}"
    );

    let both =
        process(&["audit", "flags", "fixtures/runs/tpu-train", "--script", SCRIPT, "--format", "json"]);
    assert_eq!(both.code, 0, "{}", both.stderr);
    let report: serde_json::Value = serde_json::from_str(&both.stdout).unwrap();
    assert_eq!(report["values"]["flag_count"]["value"], 10);
    assert!(report["values"]["missing_count"]["value"].is_number());
}

#[test]
fn what_is_no_run_and_what_has_no_flags() {
    // Other questions refuse a script, and say who takes it.
    let other = process(&["overview", SCRIPT]);
    assert_eq!(other.code, 4);
    assert!(other.stderr.contains("audit flags"), "{}", other.stderr);
    // A text without flags is no input at all.
    let folder = tempfile::tempdir().unwrap();
    let words = folder.path().join("notes.txt");
    fs::write(&words, "python3 train.py\n").unwrap();
    let words = words.to_str().unwrap();
    let refused = process(&["audit", "flags", words]);
    assert_eq!(refused.code, 3);
    assert!(refused.stderr.contains("flags"), "{}", refused.stderr);
    let nothing = process(&["audit", "flags", "fixtures/runs/tpu-train", "--script", words]);
    assert_eq!(nothing.code, 4, "{}", nothing.stderr);
    let version = process(&["audit", "flags", SCRIPT, "--version", "newest"]);
    assert_eq!(version.code, 2, "{}", version.stderr);
}
