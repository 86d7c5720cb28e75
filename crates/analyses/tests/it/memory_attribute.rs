//! Whose the memory is, on real compiled programs.

use std::collections::BTreeMap;

use haloscope_analyses as analyses;

use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_report::scope::Scope;
use haloscope_report::{Cell, Report, Table};
use haloscope_time::analysis::{self, Params};

use crate::support::{ask, number, open, run_folder, traces, truth, words};

/// XProf gathers what is smaller in one row without a name.
const SMALL_BYTES: i64 = 16 * 1024;

fn int(table: &Table, row: usize, column: &str) -> i64 {
    match table.cell(row, column) {
        Some(Cell::Int(value)) => *value,
        other => panic!("{column} of row {row} is {other:?}"),
    }
}

fn text<'t>(table: &'t Table, row: usize, column: &str) -> &'t str {
    table.cell(row, column).and_then(Cell::as_text).unwrap_or_default()
}

fn holds(report: &Report) -> bool {
    let identities = report.table("identities").unwrap();
    let row = |row: usize| identities.cell(row, "holds") == Some(&Cell::Flag(true));
    identities.rows.len() >= 6 && (0..identities.rows.len()).all(row)
}

/// Bytes of the buffers by bucket of parameters and by group else, as the rules of `truth.json` put XProf's rows.
fn sums(report: &Report) -> BTreeMap<&'static str, i64> {
    let buffers = report.table("buffers").unwrap();
    let mut sums = BTreeMap::new();
    for row in 0..buffers.rows.len() {
        let bytes = int(buffers, row, "bytes");
        let key = match (text(buffers, row, "group"), text(buffers, row, "bucket")) {
            _ if bytes < SMALL_BYTES => "small",
            ("Parameter", "KV cache") => "kv_cache",
            ("Parameter", "model parameters") => "model_parameters",
            ("Parameter", "other carry state") => "other_carry",
            ("Parameter", _) => "other_parameter",
            ("Output", _) => "output",
            _ => "temporary",
        };
        *sums.entry(key).or_default() += bytes;
    }
    sums
}

fn of_module(profile: &Profile, module: &str) -> Report {
    let mut params = Params::default();
    params.set("module", module);
    let analysis = analyses::find("memory attribute").unwrap();
    analysis::run(analysis, profile, &Scope::default(), &params).unwrap()
}

/// Caches that are neither named nor donated, on four workers: what XProf's rows give by the same rules, to the byte.
#[test]
fn unnamed_caches_of_four_workers() {
    let profile = open("tpu-run-scan");
    let report = ask(&profile, "memory attribute", &[]);
    assert!(words(&report, "module").starts_with("jit_run_scan("));
    assert!(holds(&report));
    let truth = truth("tpu-run-scan");
    let expected = &truth["xprof_memory_viewer"]["every_worker"];
    let buckets: BTreeMap<&str, i64> = expected["buckets_bytes"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(k, v)| (k.as_str(), v.as_i64().unwrap()))
        .collect();
    assert_eq!(sums(&report), buckets);
    assert_eq!(report.value("gradient_markers").unwrap().value, Cell::from("absent"));
    // The copies that the loop works on are the caches too, and are not the parameters' memory.
    let table = report.table("buckets").unwrap();
    assert_eq!(text(table, 0, "bucket"), "KV cache");
    let parts = ["parameter_bytes", "output_bytes", "temporary_bytes"].map(|part| int(table, 0, part));
    assert_eq!(parts, [2 << 26, 2 << 26, 1 << 26]);
    let rules = report.table("rules").unwrap();
    assert!(
        (0..rules.rows.len())
            .any(|row| text(rules, row, "rule") == "cache, by what the program does with it")
    );

    let workers = report.table("workers").unwrap();
    let hosts: Vec<_> = (0..4).map(|row| text(workers, row, "host")).collect();
    assert_eq!(hosts, ["w-0", "w-1", "w-2", "w-3"]);
    for row in 0..workers.rows.len() {
        assert_eq!(int(workers, row, "kv_cache_bytes"), buckets["kv_cache"]);
        assert_eq!(int(workers, row, "model_parameters_bytes"), buckets["model_parameters"]);
        assert_eq!(int(workers, row, "temporary_bytes") / SMALL_BYTES, buckets["temporary"] / SMALL_BYTES);
        let of = |column: &str| int(workers, row, column);
        let parts = of("kv_cache_bytes")
            + of("model_parameters_bytes")
            + of("other_carry_bytes")
            + of("other_parameter_bytes");
        assert_eq!(of("entry_parameters_bytes"), parts);
        let groups = parts + of("temporary_bytes") + of("output_bytes") + of("constant_bytes");
        assert_eq!(of("peak_bytes"), groups);
        assert_eq!(workers.cell(row, "gradient_markers"), Some(&Cell::from("absent")));
    }
    let summary = report.table("summary").unwrap();
    assert_eq!(int(summary, 0, "min_bytes"), int(summary, 0, "max_bytes"));
    assert_eq!(int(summary, 0, "workers"), 4);
}

/// What XProf says of each worker, of one worker alone.
#[test]
fn each_worker_alone_says_the_same() {
    let profile = open("tpu-run-scan");
    let all = sums(&ask(&profile, "memory attribute", &[]));
    for host in ["w-0", "w-3"] {
        let report = ask(&profile, "memory attribute", &[("hosts", host)]);
        assert_eq!(sums(&report), all);
        let workers = report.table("workers").unwrap();
        assert_eq!((workers.rows.len(), text(workers, 0, "host")), (1, host));
    }
}

/// Donated caches that XLA shows as copies without a name; parts of them are fetched in slices and put together again.
#[test]
fn donated_caches_are_followed() {
    let report = ask(&open("tpu-decode"), "memory attribute", &[]);
    assert!(holds(&report));
    assert_eq!(number(&report, "kv_cache_bytes"), 4.0 * f64::from(1 << 20));
    for module in ["decode.v5e", "decode.v6e"] {
        let path = run_folder("../hlo").join(format!("{module}.hlo_proto.pb.gz"));
        let profile = load::open(&load::find(&path).unwrap()).unwrap();
        let report = ask(&profile, "memory attribute", &[]);
        assert!(holds(&report));
        assert_eq!(number(&report, "kv_cache_bytes"), 4.0 * f64::from(1 << 20), "{module}");
        assert_eq!(number(&report, "other_parameter_bytes"), 0.0);
        let parameters = report.table("parameters").unwrap();
        for row in 0..parameters.rows.len() {
            if text(parameters, row, "bucket") == "KV cache" {
                for known in ["donated", "carried", "written", "multiplied"] {
                    let name = text(parameters, row, "name");
                    assert_eq!(
                        parameters.cell(row, known),
                        Some(&Cell::Flag(true)),
                        "{known} of {name} in {module}"
                    );
                }
            }
        }
        let workers = report.table("workers").unwrap();
        assert_eq!((workers.rows.len(), workers.cell(0, "device")), (1, Some(&Cell::Unknown)));
    }
}

#[test]
fn training_has_markers_and_moments() {
    let path = run_folder("../hlo/train_step.v5e.hlo_proto.pb.gz");
    let report = ask(&load::open(&load::find(&path).unwrap()).unwrap(), "memory attribute", &[]);
    assert!(holds(&report) && number(&report, "gradient_markers") > 100.0);
    assert_eq!(number(&report, "optimiser_state_bytes"), f64::from(8 << 20));
    assert_eq!(number(&report, "model_parameters_bytes"), f64::from(8 << 20));
    // The moments are part of the other parameters: tokens and targets are the rest.
    assert_eq!(number(&report, "other_parameter_bytes"), f64::from((8 << 20) + (16 << 10)));
}

/// Every program of the fixtures and of the traces adds up.
#[test]
fn identities_hold_everywhere() {
    let mut runs: Vec<_> =
        std::fs::read_dir(run_folder("../hlo")).unwrap().map(|e| e.unwrap().path()).collect();
    runs.retain(|path| path.to_string_lossy().ends_with(".hlo_proto.pb.gz"));
    runs.extend(crate::support::RUNS.map(run_folder));
    for folder in ["real", "forged"].map(traces).into_iter().flatten() {
        let below = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
        runs.extend(below.filter(|path| path.join("plugins").is_dir()));
    }
    let mut checked = 0;
    for run in runs {
        let profile = load::open(&load::find(&run).unwrap()).unwrap();
        let mut modules: Vec<_> = profile.modules.iter().map(|m| m.label()).collect();
        modules.dedup();
        for module in modules.iter().take(12) {
            let mut params = Params::default();
            params.set("module", module);
            let analysis = analyses::find("memory attribute").unwrap();
            let Ok(report) = analysis::run(analysis, &profile, &Scope::default(), &params) else { continue };
            assert!(holds(&report), "{} {module}: {:?}", run.display(), report.table("identities"));
            checked += 1;
        }
    }
    assert!(checked >= 10, "{checked}");
}

#[test]
fn the_forged_decoder() {
    let Some(folder) = traces("forged/decode_v5e4") else { return };
    let profile = load::open(&load::find(&folder).unwrap()).unwrap();
    let report = ask(&profile, "memory attribute", &[]);
    assert!(holds(&report));
    let sums = sums(&report);
    // 12 caches of 16 MiB, donated; 236.5 MiB of weights that XProf has rows for.
    assert_eq!((sums["kv_cache"], sums["model_parameters"]), (12 << 24, 473 << 19));
    assert_eq!(report.table("workers").unwrap().rows.len(), 4);
    assert_eq!(of_module(&profile, "jit_run_scan").value("peak_bytes"), report.value("peak_bytes"));
}

#[test]
fn rules_of_the_user() {
    let profile = open("tpu-run-scan");
    let analysis = analyses::find("memory attribute").unwrap();
    let ask = |rules: &str| {
        let mut params = Params::default();
        params.set("rules", rules);
        analysis::run(analysis, &profile, &Scope::default(), &params)
    };
    let mine = "[[rule]]\nname = \"bias\"\nbucket = \"logit bias\"\nop_name_prefix = \"logit\"\n";
    let report = ask(mine).unwrap();
    let rules = report.table("rules").unwrap();
    assert_eq!(
        (text(rules, 0, "rule"), text(rules, 0, "from"), int(rules, 0, "bytes")),
        ("bias", "yours", 262_144)
    );
    let said = ask("[[rule]]\nname = 7\n").unwrap_err();
    assert_eq!(said.exit_code(), 2);
    assert!(said.to_string().contains("line 2"), "{said}");
}
