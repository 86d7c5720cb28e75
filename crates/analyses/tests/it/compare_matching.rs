//! Ops of one run known again in another.

use haloscope_analyses as analyses;
use haloscope_compare::{How, Matches, RunSamples};
use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_report::scope::Scope;
use haloscope_report::{Notes, Report};
use haloscope_time::analysis::{self, Params};
use haloscope_time::select::Scoped;

use crate::support::{RUNS, ask, column, near, number, open, row_of, traces};

fn forged(name: &str) -> Option<(Profile, serde_json::Value)> {
    let folder = traces(&format!("forged/{name}"))?;
    let truth = std::fs::read_to_string(folder.join("truth.json")).unwrap();
    Some((load::open(&load::find(&folder).unwrap()).unwrap(), serde_json::from_str(&truth).unwrap()))
}

fn samples(profile: &Profile) -> RunSamples<'_> {
    RunSamples::of(&Scoped::new(profile, &Scope::default()), &mut Notes::default()).unwrap()
}

fn time(run: &RunSamples<'_>, op: usize) -> f64 {
    run.ops[op].step_ps.iter().sum::<f64>() / run.steps.len() as f64
}

/// What holds of all matches: every op is in one list, once.
fn check(matches: &Matches<'_>, a: &RunSamples<'_>, b: &RunSamples<'_>) {
    let grouped = |of: usize| {
        matches.regrouped.iter().flat_map(move |g| if of == 0 { g.a.clone() } else { g.b.clone() })
    };
    let mut ops: Vec<usize> = matches.pairs.iter().map(|p| p.a).chain(grouped(0)).collect();
    ops.extend(&matches.gone);
    ops.sort_unstable();
    assert_eq!(ops, (0..a.ops.len()).collect::<Vec<_>>());
    let mut ops: Vec<usize> = matches.pairs.iter().map(|p| p.b).chain(grouped(1)).collect();
    ops.extend(&matches.new);
    ops.sort_unstable();
    assert_eq!(ops, (0..b.ops.len()).collect::<Vec<_>>());
    let one_to_many = |g: &haloscope_compare::Regrouped| (g.a.len() == 1) != (g.b.len() == 1);
    assert!(matches.regrouped.iter().all(one_to_many), "{:?}", matches.regrouped);
}

#[test]
fn a_run_is_itself() {
    for name in RUNS {
        let (left, right) = (open(name), open(name));
        let Ok(a) = RunSamples::of(&Scoped::new(&left, &Scope::default()), &mut Notes::default()) else {
            continue;
        };
        let b = samples(&right);
        let matches = Matches::of(&a, &b);
        check(&matches, &a, &b);
        assert_eq!(matches.pairs.len(), a.ops.len(), "{name}");
        for pair in &matches.pairs {
            assert_eq!(pair.a, pair.b, "{name}: {} is {}", a.ops[pair.a].meta.name, b.ops[pair.b].meta.name);
        }
    }
}

#[test]
fn what_a_recompilation_renamed_is_known_again_and_what_it_added_is_new() {
    let Some((before, _)) = forged("dense_train_v5e16") else { return };
    let Some((after, truth)) = forged("dense_train_v5e16_regressed") else { return };
    let (a, b) = (samples(&before), samples(&after));
    let matches = Matches::of(&a, &b);
    check(&matches, &a, &b);
    let name = |run: &RunSamples<'_>, op: usize| run.ops[op].meta.name.to_string();
    let partner = |wanted: &str| {
        let place = b.ops.iter().position(|op| op.meta.name == wanted).unwrap();
        let pair = matches.pairs.iter().find(|pair| pair.b == place).unwrap();
        (name(&a, pair.a), pair.how)
    };
    // The slowed fusion has another number now.
    assert_eq!(partner("fusion.462"), ("fusion.467".to_owned(), How::Structure));
    for op in truth["regression"]["extra_ops"].as_object().unwrap().keys() {
        let place = b.ops.iter().position(|own| own.meta.name == *op).unwrap();
        assert!(matches.new.contains(&place), "{op} is not new");
    }
    // Waits whose beginning went elsewhere are all that is gone.
    assert!(matches.gone.iter().all(|op| time(&a, *op) < 1e6));
    let share = matches.matched_share(|op| time(&a, op)).unwrap();
    assert!(share > 0.999, "{share}");
    // Two fusions do now what one did.
    let grouped =
        |of: &[usize], run: &RunSamples<'_>| -> Vec<String> { of.iter().map(|op| name(run, *op)).collect() };
    let regrouped: Vec<_> =
        matches.regrouped.iter().map(|g| (grouped(&g.a, &a), grouped(&g.b, &b))).collect();
    let words = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(regrouped, [(words(&["fusion.694"]), words(&["fusion.695", "fusion.693"]))]);
    // The other way round what was new is gone.
    let back = Matches::of(&b, &a);
    check(&back, &b, &a);
    assert_eq!(back.gone, matches.new);
    assert_eq!(back.new, matches.gone);
}

fn held(baseline: &Profile, experiment: &Profile) -> Report {
    let analysis = analyses::find("compare").unwrap();
    let mut params = Params::default();
    params.set("limit", "0");
    analysis::run_with(analysis, baseline, &[experiment], &Scope::default(), &params).unwrap()
}

#[test]
fn programs_copies_and_memory_of_a_regression_are_told() {
    let Some((before, _)) = forged("dense_train_v5e16") else { return };
    let Some((after, truth)) = forged("dense_train_v5e16_regressed") else { return };
    let report = held(&before, &after);
    let programs = report.table("programs").unwrap();
    assert_eq!(programs.rows.len(), 1);
    assert_eq!(programs.cell(0, "how").unwrap().as_text(), Some("name"));
    // Every copy that was built in, with its time. One of them is a fusion.
    let copies = report.table("copies").unwrap();
    let extra = truth["regression"]["extra_ops"].as_object().unwrap();
    for (op, said) in extra {
        let row = row_of(copies, op);
        let cell = |column: &str| copies.cell(row, column).unwrap();
        assert_eq!(cell("change").as_text(), Some("new"), "{op}");
        let expected = said["ms_per_step"].as_f64().unwrap() * 1e9;
        near(cell("delta_ps").number().unwrap(), expected, 0.01 * expected, op);
        assert!(!cell("purpose").as_text().unwrap().is_empty(), "{op}");
    }
    // The memory of both is what each says of itself.
    let memory = report.table("memory").unwrap();
    for (run, column) in [(&before, "baseline_bytes"), (&after, "experiment_bytes")] {
        let own = number(&ask(run, "memory attribute", &[]), "peak_bytes");
        near(memory.cell(0, column).unwrap().number().unwrap(), own, 0.0, column);
    }
    for column_id in ["baseline_bytes", "experiment_bytes", "delta_bytes"] {
        let all = column(memory, column_id);
        near(all[1..].iter().sum(), all[0], 0.0, column_id);
    }
    let buffers = report.table("buffers").unwrap();
    assert!(!buffers.rows.is_empty());
    for row in 0..buffers.rows.len() {
        let cell = |column: &str| buffers.cell(row, column).unwrap().number().unwrap();
        near(cell("experiment_bytes") - cell("baseline_bytes"), cell("delta_bytes"), 0.0, "a value");
    }
}

#[test]
fn a_run_against_itself_needs_nothing_else() {
    for name in ["tpu-train", "cpu-train", "gpu-train"] {
        let report = held(&open(name), &open(name));
        let rows = |id: &str| report.table(id).map(|table| table.rows.len());
        assert!(rows("copies").is_none_or(|rows| rows == 0), "{name}");
        assert!(rows("buffers").is_none_or(|rows| rows == 0), "{name}");
        assert!(!report.findings.iter().any(|finding| finding.id == "memory_grew"), "{name}");
        let programs = report.table("programs").unwrap();
        near(column(programs, "delta_ps").iter().map(|ps| ps.abs()).sum(), 0.0, 0.0, name);
    }
}
