//! Profiles of real programs, where they are at hand: every analysis answers, or says why it does not.

use std::path::{Path, PathBuf};

use haloscope_analyses::ALL;
use haloscope_profile::load;

use crate::support::{inside, line, widest};

#[expect(clippy::print_stdout, reason = "who runs the tests is told which did not run")]
fn traces() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: no folder of traces at {}", folder.display());
    None
}

fn folders(of: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(of) else { return Vec::new() };
    let mut found: Vec<_> = entries.flatten().map(|e| e.path()).collect();
    found.sort();
    found
}

#[test]
fn every_trace_is_answered_or_refused_with_a_reason() {
    let Some(traces) = traces() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let also = scratch.path().join("report.json");
    let beside = format!("json={}", also.display());
    let runs: Vec<_> = ["real", "forged"].iter().flat_map(|kind| folders(&traces.join(kind))).collect();
    assert!(runs.len() > 10, "{runs:?}");
    for run in runs.iter().filter(|r| load::find(r).is_ok()) {
        for analysis in ALL {
            let asked = format!("{} {}", analysis.id, run.display());
            let _ = std::fs::remove_file(&also);
            let arguments = [run.to_str().unwrap(), "--format", "table", "--also", &beside];
            let table = inside(&line(analysis, &arguments));
            let json = std::fs::read_to_string(&also).unwrap_or_default();
            match table.code {
                0 => {
                    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
                    assert!(report["values"].as_object().is_some_and(|v| !v.is_empty()), "{asked}");
                }
                4 => assert!(table.stderr.starts_with("error: ") && table.stdout.is_empty(), "{asked}"),
                code => panic!("{asked}: exit code {code}\n{}", table.stderr),
            }
            if !json.contains("\"texts\":[{") {
                assert!(widest(&table.stdout) <= 80, "{asked}:\n{}", table.stdout);
            }
        }
    }
}

#[test]
fn damaged_traces_get_an_exit_code_and_a_message() {
    let Some(traces) = traces() else { return };
    for file in folders(&traces.join("corrupt")).iter().filter(|f| f.to_string_lossy().contains(".xplane.pb"))
    {
        for analysis in ALL {
            let outcome = inside(&line(analysis, &[file.to_str().unwrap()]));
            let asked = format!("{} {}", analysis.id, file.display());
            if file.ends_with("truncated.xplane.pb") {
                assert!([0, 4].contains(&outcome.code), "{asked}: {}", outcome.stderr);
            } else {
                assert_eq!(outcome.code, 3, "{asked}: {}", outcome.stdout);
                assert!(outcome.stderr.starts_with("error: cannot read "), "{asked}: {}", outcome.stderr);
            }
        }
    }
}
