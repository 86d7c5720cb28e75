//! `diagnose` and `hosts` against what was built into runs: the slow host, the slow step, the wait for input.

use std::path::PathBuf;

use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_report::{Finding, Report};

use crate::support::{ask, near, open, traces};

/// Forged sessions with a slow host, a slow step, a wait for input and none of these, each with its truth.
fn runs() -> Vec<(String, Profile, serde_json::Value)> {
    let Some(forged) = traces("forged") else { return Vec::new() };
    let names = ["straggler_v6e32", "dense_train_v5e16", "input_bound_v6e4", "moe_v5p4"];
    let mut folders: Vec<PathBuf> = names.map(|name| forged.join(name)).to_vec();
    folders.retain(|folder| folder.join("truth.json").is_file());
    let read = |folder: PathBuf| {
        let truth = std::fs::read_to_string(folder.join("truth.json")).unwrap();
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let profile = load::open(&load::find(&folder).unwrap()).unwrap();
        (name, profile, serde_json::from_str(&truth).unwrap())
    };
    folders.into_iter().map(read).collect()
}

fn finding<'r>(report: &'r Report, id: &str) -> Option<&'r Finding> {
    report.findings.iter().find(|finding| finding.id == id)
}

#[test]
fn what_was_built_in_is_found_and_nothing_else() {
    for (name, profile, truth) in runs() {
        let report = ask(&profile, "diagnose", &[]);
        slow_host(&name, &profile, &truth, &report);
        slow_step(&name, &truth, &report);
        input(&name, &truth, &report);
    }
}

fn slow_host(name: &str, profile: &Profile, truth: &serde_json::Value, report: &Report) {
    let found = finding(report, "straggler");
    let Some(host) = truth["straggler"]["host"].as_str() else {
        assert!(found.is_none(), "{name}: {found:?}");
        return;
    };
    let found = found.unwrap();
    assert!(found.claim.starts_with(host), "{name}: {}", found.claim);
    let slower = truth["straggler"]["compute_slowdown"].as_f64().unwrap();
    let step_ps = truth["step_time_ms"]["mean"].as_f64().unwrap() * 1e9;
    let hosts = ask(profile, "hosts", &[]);
    let devices = hosts.table("devices").unwrap();
    let row = (0..devices.rows.len())
        .find(|row| devices.cell(*row, "host").unwrap().as_text() == Some(host))
        .unwrap();
    let of = |row: usize, column: &str| devices.cell(row, column).unwrap().number().unwrap();
    let excess = of(row, "work_ps") * (1.0 - 1.0 / slower);
    near(found.speedup.unwrap(), step_ps / (step_ps - excess), 0.02, name);
    // Who is late waits for nobody; each of the others waits for what it works longer.
    near(of(row, "held_up_ps"), 0.0, 1e6, name);
    for other in (0..devices.rows.len()).filter(|other| *other != row) {
        near(of(other, "held_up_ps") / excess, 1.0, 0.02, &format!("{name}: device {other}"));
    }
    let slow = hosts.table("slow_ops").unwrap();
    let sum: f64 =
        (0..slow.rows.len()).map(|row| slow.cell(row, "excess_ps").unwrap().number().unwrap()).sum();
    near(sum / excess, 1.0, 0.05, &format!("{name}: sum of slow ops"));
}

fn slow_step(name: &str, truth: &serde_json::Value, report: &Report) {
    let found = finding(report, "step_jitter");
    let steps: Vec<&str> =
        truth["slow_steps"].as_object().into_iter().flatten().map(|(step, _)| step.as_str()).collect();
    match steps[..] {
        [step] => {
            let claim = &found.unwrap().claim;
            assert!(claim.starts_with(&format!("Step {step} in a run of ")), "{name}: {claim}");
        }
        _ => assert!(found.is_none(), "{name}: {found:?}"),
    }
}

fn input(name: &str, truth: &serde_json::Value, report: &Report) {
    let found = finding(report, "input_bound");
    if truth["input_bound"].as_bool() != Some(true) {
        assert!(found.is_none(), "{name}: {found:?}");
        return;
    }
    let idle = truth["idle"]["between_first_and_last_op"].as_f64().unwrap();
    let found = found.unwrap();
    near(1.0 - 1.0 / found.speedup.unwrap(), idle, 0.02, name);
    assert!(found.claim.contains("TokenizeAndPack"), "{name}: {}", found.claim);
}

#[test]
fn the_projects_own_run_waits_for_input_and_has_its_slow_step() {
    let report = ask(&open("tpu-input-bound"), "diagnose", &[]);
    let found = finding(&report, "input_bound").unwrap();
    assert!(found.claim.ends_with("the slowest stage is `TokenizeAndPack`"), "{}", found.claim);
    let report = ask(&open("tpu-train"), "diagnose", &[]);
    let found = finding(&report, "step_jitter").unwrap();
    assert!(found.claim.starts_with("Step 5 in a run of 7 steps"), "{}", found.claim);
}
