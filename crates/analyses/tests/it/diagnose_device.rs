//! Diagnosis on the device's side against the ground truth of forged TPU sessions, where they are at hand.

use haloscope_profile::load;
use haloscope_report::Finding;

use crate::support::{ask, near, traces};

fn findings(session: &str) -> Option<(Vec<Finding>, serde_json::Value)> {
    let folder = traces("forged")?.join(session);
    let truth = std::fs::read_to_string(folder.join("truth.json")).ok()?;
    let profile = load::open(&load::find(&folder).unwrap()).unwrap();
    Some((ask(&profile, "diagnose", &[]).findings, serde_json::from_str(&truth).unwrap()))
}

/// The share of the active window that a finding says would go.
fn saved(finding: &Finding) -> f64 {
    1.0 - 1.0 / finding.speedup.unwrap()
}

#[test]
fn the_op_that_was_slowed_is_named_with_what_it_costs() {
    let Some((findings, truth)) = findings("dense_train_v5e16_regressed") else { return };
    let slow: Vec<_> = findings.iter().filter(|f| f.id == "below_roofline").collect();
    let (name, built_in) = truth["regression"]["slower_ops"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(slow.len(), 1, "{slow:?}");
    assert!(slow[0].claim.starts_with(name.as_str()), "{} is not {name}", slow[0].claim);
    let added_ms = built_in["added_ms_per_step"].as_f64().unwrap();
    let step_ms = truth["step_time_ms"]["mean"].as_f64().unwrap();
    near(saved(slow[0]) * step_ms / added_ms, 1.0, 0.1, "what the slow op adds to a step");
}

#[test]
fn nothing_that_is_not_there_is_found_in_clean_runs() {
    const NEVER: [&str; 7] = [
        "below_roofline",
        "data_formatting",
        "defensive_copies",
        "unfused_relayouts",
        "many_small_ops",
        "wide_precision",
        "kernel_starved",
    ];
    for session in ["dense_train_v5e16", "decode_v5e4", "moe_v5p4", "input_bound_v6e4", "straggler_v6e32"] {
        let Some((findings, _)) = findings(session) else { return };
        for finding in &findings {
            assert!(!NEVER.contains(&finding.id), "{session}: {finding:?}");
        }
    }
}

#[test]
fn waiting_for_the_straggler_is_not_communication() {
    let Some((findings, _)) = findings("straggler_v6e32") else { return };
    for finding in findings.iter().filter(|f| f.id == "exposed_communication") {
        assert_eq!(finding.explained_by, Some("straggler"), "{finding:?}");
        assert!(finding.speedup.is_none_or(|speedup| speedup < 1.05), "{finding:?}");
    }
}

#[test]
fn exposed_communication_is_that_built_in() {
    for session in ["dense_train_v5e16", "moe_v5p4"] {
        let Some((findings, truth)) = findings(session) else { return };
        let own = findings.iter().filter(|f| f.id == "exposed_communication");
        let share: f64 = own.map(saved).sum();
        let step_ms = truth["step_time_ms"]["mean"].as_f64().unwrap();
        let built_in = truth["exposed_communication_ms_per_step"].as_f64().unwrap() / step_ms;
        // Kinds that cost less than a hundredth of the window have no finding.
        assert!(share <= built_in * 1.01 && share > built_in - 0.02, "{session}: {share} of {built_in}");
    }
}
