//! Each analysis over each recorded run, in each form.

use std::fs;

use haloscope_core::analyses::ALL;
use insta::assert_snapshot;

use crate::small;
use crate::support::{FIXTURES, filtered, inside, process, root, shown, widest};

#[test]
fn each_analysis_on_each_recorded_run() {
    for run in FIXTURES {
        let name = run.rsplit('/').next().unwrap();
        for analysis in ALL {
            let text = shown(&[analysis.id, run, "--limit", "5"]);
            filtered(|| assert_snapshot!(format!("{name}_{}", analysis.id), text));
        }
    }
}

#[test]
fn each_analysis_on_a_small_tpu() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w-0.xplane.pb");
    fs::write(&path, small::space().to_bytes()).unwrap();
    for analysis in ALL {
        let text = shown(&[analysis.id, path.to_str().unwrap()]);
        filtered(|| assert_snapshot!(format!("small_{}", analysis.id), text));
    }
}

#[test]
fn tables_fit_80_columns() {
    for run in FIXTURES {
        for analysis in ALL {
            let outcome = process(&[analysis.id, run, "--limit", "0"]);
            assert_eq!(outcome.code, 0, "{}", outcome.stderr);
            assert_eq!(outcome.stderr, "");
            let wide: Vec<_> = outcome.stdout.lines().filter(|l| widest(l) > 80).collect();
            assert!(wide.is_empty(), "{} {run}: {wide:#?}", analysis.id);
            assert!(!outcome.stdout.contains('\x1b'), "colours without a terminal");
        }
    }
}

#[test]
fn json_is_the_contract_and_csv_has_its_rows() {
    for run in FIXTURES {
        let run = root().join(run);
        let run = run.to_str().unwrap();
        for analysis in ALL {
            let answer = inside(&[analysis.id, run, "--format", "json"]);
            assert_eq!(answer.code, 0, "{}", answer.stderr);
            let report: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap();
            assert_eq!(report["analysis"], analysis.id);
            assert_eq!(
                answer.stdout,
                process(&[analysis.id, run, "--format", "json"]).stdout,
                "same input, same bytes"
            );
            for table in report["tables"].as_array().unwrap() {
                let id = table["id"].as_str().unwrap();
                let csv = inside(&[analysis.id, run, "--format", "csv", "--table", id]);
                assert_eq!(csv.code, 0, "{}", csv.stderr);
                let header: Vec<_> =
                    table["columns"].as_array().unwrap().iter().map(|c| c["id"].as_str().unwrap()).collect();
                assert_eq!(csv.stdout.lines().next(), Some(header.join(",").as_str()));
                assert!(csv.stdout.lines().count() > table["rows"].as_array().unwrap().len());
            }
        }
    }
}

#[test]
fn colours_and_widths_on_request() {
    let coloured = process(&["overview", FIXTURES[0], "--color", "always"]);
    assert!(coloured.stdout.contains('\x1b'));
    let narrow = process(&["ops", FIXTURES[0], "--width", "60"]);
    assert!(widest(&narrow.stdout) <= 60);
    let wide = process(&["ops", FIXTURES[0], "--width", "400"]);
    assert!(!wide.stdout.contains("left out at"), "{}", wide.stdout);
}

#[test]
fn the_demo_prints_an_overview() {
    let demo = process(&["demo", "--no-serve"]);
    assert_eq!(demo.code, 0, "{}", demo.stderr);
    let overview = process(&["overview", FIXTURES[0]]);
    assert_eq!(demo.stdout, overview.stdout);
}
