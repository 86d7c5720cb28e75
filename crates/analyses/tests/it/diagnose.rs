//! What `diagnose` says of runs whose faults are known.

use haloscope_analyses as analyses;

use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_report::{Report, Table};

use crate::support::{RUNS, ask, column, open, traces, words};

fn texts<'r>(table: &'r Table, id: &str) -> Vec<&'r str> {
    (0..table.rows.len()).filter_map(|row| table.cell(row, id)?.as_text()).collect()
}

fn causes(report: &Report) -> Vec<&str> {
    texts(report.table("causes").unwrap(), "id")
}

fn forged(run: &str) -> Option<Profile> {
    let folder = traces("forged")?;
    Some(load::open(&load::find(&folder.join(run)).unwrap()).unwrap())
}

#[test]
fn every_rule_and_threshold_is_in_the_book() {
    let report = ask(&open("tpu-train"), "diagnose", &[]);
    let book = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/analyses/diagnose.md");
    let book = std::fs::read_to_string(book).unwrap();
    for rule in texts(report.table("checks").unwrap(), "rule") {
        let id = rule.replace(' ', "_");
        assert!(book.contains(&format!("`{id}`")), "no row of the rule {id} in docs/analyses/diagnose.md");
    }
}

#[test]
fn nine_steps_whatever_the_run() {
    for run in RUNS {
        let report = ask(&open(run), "diagnose", &[]);
        let protocol = report.table("protocol").unwrap();
        assert_eq!(protocol.rows.len(), 9, "{run}");
        assert!(texts(protocol, "said").iter().all(|said| !said.is_empty()), "{run}");
        for finding in &report.findings {
            let parts = [
                &finding.claim,
                &finding.evidence,
                &finding.ceiling,
                &finding.recommendation,
                &finding.falsifier,
            ];
            assert!(parts.iter().all(|part| !part.is_empty()), "{run}: {finding:?}");
            for link in &finding.links {
                let known = link.analysis == "timeline" || analyses::find(link.analysis).is_some();
                assert!(known, "{run}: {} leads to {link:?}", finding.id);
            }
        }
    }
}

/// Each instant is in one class and each rule claims time of one: what causes cost together cannot exceed the time. Slow steps are
/// a share of the steps, whatever they went to, and so are stragglers, for whom others wait.
#[test]
fn causes_never_cost_more_than_there_is() {
    let mut profiles: Vec<(String, Profile)> =
        RUNS.iter().map(|run| ((*run).to_owned(), open(run))).collect();
    for run in ["dense_train_v5e16", "decode_v5e4", "moe_v5p4", "input_bound_v6e4", "pallas_attn_B_bq512"] {
        profiles.extend(forged(run).map(|profile| (run.to_owned(), profile)));
    }
    for (run, profile) in profiles {
        let report = ask(&profile, "diagnose", &[]);
        let table = report.table("causes").unwrap();
        let shares = column(table, "saved_share");
        assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)), "{run}: {shares:?}");
        let exclusive: f64 = (0..table.rows.len())
            .filter(|row| {
                !matches!(table.cell(*row, "id").and_then(|c| c.as_text()), Some("step jitter" | "straggler"))
            })
            .filter_map(|row| table.cell(row, "saved_share")?.number())
            .sum();
        assert!(exclusive <= 1.0 + 1e-9, "{run}: causes cost {exclusive} of the active window");
    }
}

#[test]
fn a_run_that_waits_for_input_is_blamed_on_input() {
    let report = ask(&open("tpu-input-bound"), "diagnose", &[]);
    assert_eq!(words(&report, "first_cause"), "input_bound");
    if let Some(profile) = forged("input_bound_v6e4") {
        let report = ask(&profile, "diagnose", &[]);
        assert_eq!(words(&report, "first_cause"), "input_bound");
    }
}

#[test]
fn the_slow_host_comes_first_and_by_name() {
    let Some(profile) = forged("straggler_v6e32") else { return };
    let report = ask(&profile, "diagnose", &[]);
    assert_eq!(words(&report, "first_cause"), "straggler");
    let claim = &report.findings.iter().find(|finding| finding.id == "straggler").unwrap().claim;
    assert!(claim.contains("gke-v6e-32-worker-5"), "{claim}");
}

#[test]
fn an_idle_capture_is_said_below_the_causes() {
    for (run, profile) in [("tpu-decode", Some(open("tpu-decode"))), ("decode_v5e4", forged("decode_v5e4"))] {
        let Some(profile) = profile else { continue };
        let report = ask(&profile, "diagnose", &[]);
        let said = report.findings.iter().position(|finding| finding.id == "diluted_averages").unwrap();
        let causes = report.table("causes").unwrap().rows.len();
        assert!(said >= causes, "{run}: {said} of {causes} causes");
    }
}

#[test]
fn a_clean_run_is_blamed_for_nothing_but_its_collectives() {
    let Some(profile) = forged("dense_train_v5e16") else { return };
    let report = ask(&profile, "diagnose", &[]);
    // Reviewed: 22% of the step are collectives that nothing hides; step 7 is 8% slower, which costs 0.7%.
    let loud = report.table("causes").unwrap();
    let saved = column(loud, "saved_share");
    for (id, share) in causes(&report).iter().zip(saved) {
        assert!(["exposed communication", "step jitter"].contains(id) || share < 0.05, "{id} {share}");
    }
    let jitter = report.findings.iter().find(|finding| finding.id == "step_jitter").unwrap();
    assert!(jitter.claim.contains('7'), "{}", jitter.claim);
}
