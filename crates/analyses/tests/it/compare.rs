//! Runs held against each other: times add up on every run, and what was built into forged pairs is found.

use std::path::Path;

use haloscope_analyses as analyses;
use haloscope_compare::{Group, Matches, Part, Rest, RunSamples, Waterfall};
use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_report::Error;
use haloscope_report::scope::Scope;
use haloscope_report::{Notes, Report, Table};
use haloscope_time::account::{self, Class};
use haloscope_time::analysis::{self, Params};
use haloscope_time::select::Scoped;

use crate::support::{RUNS, ask, column, near, number, open, row_of, scope, traces, unknown, words};

/// The sessions in a folder of `shared/traces`; none where it is not here.
fn sessions(folder: &str) -> Vec<(String, Profile)> {
    let Some(folder) = traces(folder) else { return Vec::new() };
    let mut folders: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    folders.retain(|f| f.join("plugins").is_dir());
    folders.sort();
    let name = |folder: &Path| folder.file_name().unwrap().to_string_lossy().into_owned();
    folders.iter().map(|f| (name(f), load::open(&load::find(f).unwrap()).unwrap())).collect()
}

fn every_run() -> Vec<(String, Profile)> {
    let own = RUNS.iter().map(|name| ((*name).to_owned(), open(name)));
    own.chain(sessions("forged")).chain(sessions("real")).collect()
}

#[test]
fn samples_add_up_to_the_step_time_of_overview() {
    for (name, profile) in every_run() {
        for words in [&[][..], &[("steady", "yes")], &[("modules", "step")]] {
            let scope = scope(words);
            let samples = match RunSamples::of(&Scoped::new(&profile, &scope), &mut Notes::default()) {
                Ok(samples) => samples,
                Err(Error::Nothing(_)) => continue,
                Err(error) => panic!("{name} {words:?}: {error}"),
            };
            for (at, step) in samples.steps.iter().enumerate() {
                let ops: f64 = samples.ops.iter().map(|op| op.step_ps[at]).sum();
                let rest: f64 = samples.remainders.iter().map(|rest| rest.step_ps[at]).sum();
                near(ops + rest, step.time_ps, 1e-3, &format!("{name} {words:?}, step {}", step.number));
            }
            let negative = samples.remainders.iter().find(|r| {
                r.what != Rest::Clocks && r.what != Rest::Devices && r.step_ps.iter().any(|ps| *ps < 0.0)
            });
            assert!(negative.is_none(), "{name} {words:?}: {negative:?}");
            let overview = ask(&profile, "overview", words);
            if samples.has_steps() {
                near(samples.mean_ps(), number(&overview, "step_time_mean_ps"), 0.0, &name);
                near(samples.steps.len() as f64, number(&overview, "step_count"), 0.0, &name);
            } else {
                assert!(unknown(&overview, "step_time_mean_ps"), "{name}");
            }
        }
    }
}

/// The classes of ops and of what is left are those that `idle` and `steps` count.
#[test]
fn classes_of_samples_are_those_of_steps() {
    for (name, profile) in every_run() {
        let Ok(samples) = RunSamples::of(&Scoped::new(&profile, &Scope::default()), &mut Notes::default())
        else {
            continue;
        };
        if !samples.has_steps() || samples.selection.devices.len() > 1 {
            continue;
        }
        let steps = ask(&profile, "steps", &[]);
        let table = steps.table("classes").unwrap();
        for (at, step) in samples.steps.iter().enumerate() {
            let row = (0..table.rows.len())
                .find(|row| table.cell(*row, "step").unwrap().number() == Some(step.number as f64))
                .unwrap();
            for class in Class::ALL {
                let ops = samples.ops.iter().filter(|op| op.class == class).map(|op| op.step_ps[at]);
                let rest = samples.remainders.iter().filter(|r| r.what == Rest::Class(class));
                let own: f64 = ops.chain(rest.map(|r| r.step_ps[at])).sum();
                let expected = table.cell(row, class.column().id).unwrap().number().unwrap();
                near(own, expected, 1e-3, &format!("{name}, step {}, {}", step.number, class.phrase()));
                assert!(
                    class.group() != account::Group::Idle || samples.ops.iter().all(|op| op.class != class)
                );
            }
        }
    }
}

/// Executions of an op times its time are what `ops` says of the same steps.
#[test]
fn samples_agree_with_the_table_of_ops() {
    let profile = open("tpu-train");
    let samples = RunSamples::of(&Scoped::new(&profile, &Scope::default()), &mut Notes::default()).unwrap();
    let ops = ask(&profile, "ops", &[("steps", "0-100000")]);
    let table = ops.table("ops").unwrap();
    let weight = (samples.steps.len() * samples.selection.devices.len()) as f64;
    assert!(samples.ops.len() > 3);
    for op in &samples.ops {
        let row = (0..table.rows.len())
            .find(|row| table.cell(*row, "name").unwrap().as_text() == Some(&op.meta.name))
            .unwrap();
        near(
            op.executions * weight,
            table.cell(row, "occurrences").unwrap().number().unwrap(),
            1e-6,
            &op.meta.name,
        );
        let own = table.cell(row, "self_ps").unwrap().number().unwrap();
        // Tables of ops go by the device's own clock.
        near(op.mean_ps() * weight, own, 0.002 * own + 1e6, &op.meta.name);
    }
}

fn held(baseline: &Profile, experiment: &Profile, params: &[(&str, &str)]) -> Report {
    let mut given = Params::default();
    for (id, value) in params {
        given.set(id, value);
    }
    let analysis = analyses::find("compare").unwrap();
    analysis::run_with(analysis, baseline, &[experiment], &Scope::default(), &given).unwrap()
}

fn cell(table: &Table, row: usize, column: &str) -> f64 {
    table.cell(row, column).unwrap().number().unwrap()
}

/// The waterfall is whole: its rows are the difference of the step times, and the ops' parts are its rows.
#[track_caller]
fn waterfall_is_whole(report: &Report, what: &str) {
    let delta = number(report, "step_delta_ps");
    let waterfall = report.table("waterfall").unwrap();
    near(column(waterfall, "delta_ps").iter().sum(), delta, 0.0, what);
    let steps = number(report, "experiment_step_ps") - number(report, "baseline_step_ps");
    near(delta, steps, 0.5, what);
    let of = |kind: &str| cell(waterfall, row_of(waterfall, kind), "delta_ps");
    let ops = report.table("ops").unwrap();
    let (mut sums, mut effects) = ([0.0; 2], 0.0);
    for row in 0..ops.rows.len() {
        let delta = cell(ops, row, "delta_ps");
        match ops.cell(row, "change").unwrap().as_text().unwrap() {
            "new" => sums[0] += delta,
            "gone" => sums[1] += delta,
            _ => effects += delta,
        }
    }
    near(sums[0], of("new"), 0.0, what);
    near(sums[1], of("gone"), 0.0, what);
    near(effects, of("count") + of("work") + of("efficiency"), 0.0, what);
    // Classes add up too, but for what rounding took.
    let classes = report.table("classes").unwrap();
    near(column(classes, "delta_ps").iter().sum(), steps, 1.0, what);
    // What is left are clocks, and half a picosecond for each number that was rounded.
    let clocks = (0..classes.rows.len()).filter(|row| {
        let class = classes.cell(*row, "class").unwrap().as_text().unwrap();
        [Rest::Clocks, Rest::Modules, Rest::Unrecorded].iter().any(|rest| rest.phrase() == class)
    });
    let clocks: f64 = clocks.map(|row| cell(classes, row, "delta_ps")).sum();
    near(of("rest"), clocks, 0.5 * ops.rows.len() as f64 + 10.0, what);
}

/// The waterfalls of all pairs of these runs, both ways.
fn waterfalls_are_whole(runs: &[(String, Profile)]) {
    let mut samples = Vec::new();
    for (name, profile) in runs {
        // A run without ops cannot be compared.
        if let Ok(run) = RunSamples::of(&Scoped::new(profile, &Scope::default()), &mut Notes::default()) {
            samples.push((name, run));
        }
    }
    assert!(runs.is_empty() || samples.len() > 5);
    for (a, first) in &samples {
        for (b, other) in &samples {
            let what = format!("{a} against {b}");
            let groups: Vec<Group> =
                Group::all(&Matches::of(first, other)).into_iter().map(|(group, _)| group).collect();
            let waterfall = Waterfall::of_groups(first, other, &groups);
            let sum: i64 = waterfall.bars.iter().map(|bar| bar.delta_ps).sum();
            assert_eq!(sum, waterfall.step_delta_ps, "{what}");
            near(sum as f64, other.mean_ps() - first.mean_ps(), 0.5, &what);
            // Every op is in one group.
            for (run, of) in [(first, 0), (other, 1)] {
                let mut seen = vec![0; run.ops.len()];
                for group in &groups {
                    let ops = if of == 0 { &group.a } else { &group.b };
                    ops.iter().for_each(|op| seen[*op] += 1);
                }
                assert!(seen.iter().all(|times| *times == 1), "{what}");
            }
            // What is left are clocks, and half a picosecond for each number that was rounded.
            let clocks: f64 = [Rest::Clocks, Rest::Modules, Rest::Unrecorded]
                .iter()
                .map(|rest| other.rest_ps(*rest) - first.rest_ps(*rest))
                .sum();
            let rest = waterfall.bar(Part::Rest).delta_ps as f64;
            near(rest, clocks, 0.5 * groups.len() as f64 + 10.0, &what);
            if a == b {
                assert!(waterfall.bars.iter().all(|bar| bar.delta_ps == 0 && bar.groups == 0), "{what}");
            }
        }
    }
}

#[test]
fn waterfalls_of_all_fixtures_against_each_other_are_whole() {
    let runs: Vec<(String, Profile)> = RUNS.iter().map(|name| ((*name).to_owned(), open(name))).collect();
    waterfalls_are_whole(&runs);
}

#[test]
fn waterfalls_of_forged_pairs_are_whole() {
    waterfalls_are_whole(&sessions("forged"));
}

#[test]
fn a_run_against_itself_is_unchanged() {
    for name in RUNS {
        let run = open(name);
        let report = held(&run, &run, &[("limit", "0")]);
        waterfall_is_whole(&report, name);
        near(number(&report, "step_delta_ps"), 0.0, 0.0, name);
        near(number(&report, "matched_share"), 1.0, 0.0, name);
        for id in ["ops_changed", "ops_new", "ops_gone", "ops_regrouped", "ops_renamed"] {
            near(number(&report, id), 0.0, 0.0, &format!("{name}: {id}"));
        }
        assert!(["unchanged", "undecided"].contains(&words(&report, "verdict")), "{name}");
        assert!(report.findings.iter().all(|finding| finding.speedup.is_none()), "{name}");
    }
}

#[test]
fn reports_of_unlike_runs_add_up_too() {
    for (a, b) in [("tpu-train", "tpu-decode"), ("gpu-train", "gpu-amd"), ("cpu-train", "cpu-infer")] {
        let report = held(&open(a), &open(b), &[("force", "yes"), ("limit", "0")]);
        waterfall_is_whole(&report, &format!("{a} against {b}"));
    }
}

/// The change column of an op's row.
fn change<'r>(report: &'r Report, op: &str) -> &'r str {
    let ops = report.table("ops").unwrap();
    ops.cell(row_of(ops, op), "change").unwrap().as_text().unwrap()
}

#[test]
fn the_regression_that_was_built_in_is_found() {
    let Some(folder) = traces("forged/dense_train_v5e16_regressed") else { return };
    let truth: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("truth.json")).unwrap()).unwrap();
    let open = |folder: &Path| load::open(&load::find(folder).unwrap()).unwrap();
    let experiment = open(&folder);
    let baseline = open(&folder.with_file_name("dense_train_v5e16"));
    let report = held(&baseline, &experiment, &[("limit", "0")]);
    waterfall_is_whole(&report, "the forged pair");
    assert_eq!(words(&report, "verdict"), "slower");
    let regression = &truth["regression"];
    // truth.json is a mean over all simulated chips, the profile holds a chip a host.
    let built_in = regression["step_delta_ms"].as_f64().unwrap() * 1e9;
    near(number(&report, "step_delta_ps"), built_in, 3e6, "difference of the step times");
    let waterfall = report.table("waterfall").unwrap();
    near(column(waterfall, "delta_ps").iter().sum(), number(&report, "step_delta_ps"), 0.0, "the waterfall");
    assert!(number(&report, "noise_floor_ps") < built_in);

    for op in regression["slower_ops"].as_object().unwrap().keys() {
        assert_eq!(change(&report, op), "slower", "{op}");
    }
    for op in regression["extra_ops"].as_object().unwrap().keys() {
        assert_eq!(change(&report, op), "new", "{op}");
    }
    // What recompilation renamed is the same op.
    assert!(number(&report, "ops_renamed") > 100.0 && number(&report, "matched_share") > 0.99);

    let names = report.table("names").unwrap();
    for (name, delta) in regression["largest_op_name_deltas_ms_per_step"].as_object().unwrap() {
        let row = row_of(names, name);
        let (low, high) = (cell(names, row, "low_ps") / 1e9, cell(names, row, "high_ps") / 1e9);
        let delta = delta.as_f64().unwrap();
        // As it is printed: with four digits behind the point.
        assert!(low - 6e-5 <= delta && delta <= high + 6e-5, "{name}: {delta} is not in {low}..{high}");
    }
}

#[test]
fn the_kernel_with_larger_blocks_is_faster_at_the_same_work() {
    let Some(folder) = traces("forged/pallas_attn_A_bq128") else { return };
    let open = |folder: &Path| load::open(&load::find(folder).unwrap()).unwrap();
    let (small, large) = (open(&folder), open(&folder.with_file_name("pallas_attn_B_bq512")));
    let report = held(&small, &large, &[("limit", "0")]);
    waterfall_is_whole(&report, "the kernel pair");
    assert_eq!(words(&report, "verdict"), "faster");
    let ops = report.table("ops").unwrap();
    let kernel =
        (0..ops.rows.len()).find(|row| ops.cell(*row, "category").unwrap().as_text() == Some("custom-call"));
    let kernel = kernel.unwrap();
    assert_eq!(ops.cell(kernel, "change").unwrap().as_text(), Some("faster"));
    assert_eq!(kernel, 0, "nothing else changed as much");
    let ratio = cell(ops, kernel, "baseline_ps") / cell(ops, kernel, "experiment_ps");
    assert!((10.0..25.0).contains(&ratio), "about 16 times faster: {ratio}");
    let metrics = report.table("metrics").unwrap();
    assert!(metrics.rows.len() > 10);
}

#[test]
fn runs_of_other_work_are_not_compared_unless_asked() {
    let (train, decode) = (open("tpu-train"), open("gpu-train"));
    let report = held(&train, &decode, &[]);
    assert_eq!(words(&report, "verdict"), "not comparable");
    assert!(report.table("waterfall").is_none() && report.table("ops").is_none());
    assert_eq!(report.findings[0].id, "not_comparable");
    for table in ["metrics", "facts", "runs", "steps"] {
        assert!(report.table(table).is_some_and(|t| !t.rows.is_empty()), "{table}");
    }
    let anyway = held(&train, &decode, &[("force", "yes")]);
    assert_ne!(words(&anyway, "verdict"), "not comparable");
    assert!(anyway.table("waterfall").is_some());
    assert!(anyway.findings.iter().any(|finding| finding.id == "not_comparable"));
}

#[test]
fn several_experiments_are_each_held_against_the_baseline() {
    let (train, decode) = (open("tpu-train"), open("tpu-decode"));
    let analysis = analyses::find("compare").unwrap();
    let mut params = Params::default();
    params.set("pick", "2");
    let ask =
        |params: &Params| analysis::run_with(analysis, &train, &[&decode, &train], &Scope::default(), params);
    let report = ask(&params).unwrap();
    let runs = report.table("runs").unwrap();
    assert_eq!(runs.rows.len(), 2);
    near(number(&report, "step_delta_ps"), cell(runs, 1, "step_delta_ps"), 0.0, "the second");
    near(cell(runs, 1, "step_delta_ps"), 0.0, 0.0, "the run against itself");
    for wrong in ["0", "3"] {
        params.set("pick", wrong);
        assert!(matches!(ask(&params), Err(Error::Usage(_))), "{wrong}");
    }
}
