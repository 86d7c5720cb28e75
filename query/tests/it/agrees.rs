//! What SQL sums equals what the analyses answer, on every run.

use std::collections::BTreeMap;

use crate::support::{RUNS, cell, native, number, rows, table, words};

/// Self times and executions by program and op, from events and from the table of ops, are those of `ops`.
#[test]
fn ops_are_those_of_ops() {
    for run in RUNS {
        let Some(report) = native(run, "ops", &[]) else { continue };
        let ops = table(&report, "ops");
        let mut expected: BTreeMap<String, (f64, f64)> = BTreeMap::new();
        for row in 0..ops.rows.len() {
            let own = expected.entry(words(ops, row, "name").unwrap()).or_default();
            own.0 += cell(ops, row, "self_ps").unwrap();
            own.1 += cell(ops, row, "occurrences").unwrap();
        }
        let found = |sql: &str| -> BTreeMap<String, (f64, f64)> {
            let rows = rows(run, sql).into_iter();
            rows.map(|row| {
                (
                    row["op"].as_str().unwrap().to_owned(),
                    (row["s"].as_f64().unwrap(), row["n"].as_f64().unwrap()),
                )
            })
            .collect()
        };
        let of_ops = found("SELECT op, sum(self_ps) s, sum(occurrences) n FROM op GROUP BY op");
        assert_eq!(of_ops, expected, "{run}");
        let of_events =
            found("SELECT op, sum(self_ps) s, count(*) n FROM event WHERE op IS NOT NULL GROUP BY op");
        assert_eq!(of_events, expected, "{run}");
    }
}

/// The time of ops by the device's own clock is the total of `ops`, where no op works on several threads at once.
#[test]
fn totals_are_on_the_devices_clock() {
    for run in RUNS.iter().filter(|run| !run.starts_with("cpu")) {
        let total = number(run, "SELECT sum(total_ps) FROM op");
        assert_eq!(number(run, "SELECT sum(device_dur_ps) FROM event WHERE op IS NOT NULL"), total, "{run}");
    }
}

#[test]
fn steps_are_those_of_steps() {
    for run in RUNS {
        let Some(report) = native(run, "steps", &[]) else {
            assert_eq!(number(run, "SELECT count(*) FROM step"), Some(0), "{run}");
            continue;
        };
        let steps = table(&report, "steps");
        let found = rows(
            run,
            "SELECT step, max(dur_ps) AS dur_ps, min(start_ps) AS start_ps FROM step GROUP BY step ORDER BY 3, 1",
        );
        assert_eq!(found.len(), steps.rows.len(), "{run}");
        let total: f64 = found.iter().map(|row| row["dur_ps"].as_f64().unwrap()).sum();
        let expected: f64 = (0..steps.rows.len()).filter_map(|row| cell(steps, row, "duration_ps")).sum();
        assert_eq!(total, expected, "{run}");
    }
}

/// The account of `idle`, class by class, and its parts add up to the captures.
#[test]
fn the_account_is_that_of_idle() {
    for run in RUNS {
        let Some(report) = native(run, "idle", &[]) else { continue };
        let waterfall = table(&report, "waterfall");
        let found = rows(run, "SELECT class, sum(time_ps) AS time_ps FROM account GROUP BY class");
        assert_eq!(found.len(), waterfall.rows.len(), "{run}");
        for row in 0..waterfall.rows.len() {
            let class = words(waterfall, row, "class").unwrap();
            let own = found.iter().find(|own| own["class"] == class.as_str()).unwrap();
            assert_eq!(own["time_ps"].as_f64(), cell(waterfall, row, "total_ps"), "{run}: {class}");
        }
    }
}

/// When no op ran on a TPU, from its events alone: the capture less the union of its ops is what the account calls idle.
#[test]
fn idle_time_follows_from_events() {
    for run in ["tpu-train", "tpu-input-bound"] {
        let busy = rows(
            run,
            "SELECT device, union_ps(start_ps, end_ps) AS busy_ps FROM event WHERE kind = 'op' GROUP BY device ORDER BY device",
        );
        let idle = rows(
            run,
            "SELECT device, sum(time_ps) AS idle_ps FROM account WHERE class_group = 'idle' GROUP BY device ORDER BY device",
        );
        let all =
            rows(run, "SELECT device, sum(time_ps) AS all_ps FROM account GROUP BY device ORDER BY device");
        assert!(!all.is_empty());
        for ((busy, idle), all) in busy.iter().zip(&idle).zip(&all) {
            let of = |row: &serde_json::Value, column: &str| row[column].as_i64().unwrap();
            // Gaps below 10 us inside of one program are the program's own.
            let gap = of(all, "all_ps") - of(idle, "idle_ps") - of(busy, "busy_ps");
            assert!((0..=of(all, "all_ps") / 10).contains(&gap), "{run} {}: {gap}", busy["device"]);
        }
    }
}

/// Every table of every analysis is a table of SQL, with as many rows and columns, and the run in front.
#[test]
fn every_table_of_every_analysis_can_be_asked() {
    let mut asked = 0;
    for run in ["tpu-train", "gpu-train", "cpu-train"] {
        for analysis in haloscope_analyses::ALL {
            if analysis.others().word().is_some() {
                continue;
            }
            let mut params = haloscope_time::analysis::Params::default();
            for param in analysis.params {
                if param.id == "limit" {
                    params.set("limit", "5");
                }
            }
            let profile = crate::support::profile(run);
            let scope = haloscope_report::scope::Scope::default();
            let Ok(report) = haloscope_time::analysis::run(analysis, &profile, &scope, &params) else {
                continue;
            };
            let limit =
                if analysis.params.iter().any(|param| param.id == "limit") { ", 'limit=5'" } else { "" };
            for table in report.tables.iter().take(2) {
                let sql = format!("SELECT * FROM analysis('{}', 'table={}'{limit})", analysis.id, table.id);
                let found = rows(run, &sql);
                assert_eq!(found.len(), table.rows.len(), "{run}: {sql}");
                if let Some(first) = found.first() {
                    let own = usize::from(table.columns.iter().all(|column| column.id != "run"));
                    assert_eq!(first.as_object().unwrap().len(), table.columns.len() + own, "{run}: {sql}");
                }
                asked += 1;
            }
        }
    }
    assert!(asked > 60, "{asked}");
}

/// Unknown is NULL, and never 0.
#[test]
fn unknown_is_null() {
    let row = &rows(
        "gpu-amd",
        "SELECT count(*) AS n, count(flops) AS known, count(*) FILTER (WHERE flops IS NULL) AS unknown FROM event WHERE op IS NOT NULL",
    )[0];
    assert!(row["unknown"].as_i64() > Some(0), "{row}");
    assert_eq!(number("tpu-train", "SELECT count(op) FROM event WHERE kind = 'thread'"), Some(0));
    assert_eq!(number("tpu-train", "SELECT count(device) FROM event WHERE plane LIKE '/host:%'"), Some(0));
    assert_eq!(
        number("tpu-train", "SELECT sum(dur_ps) FROM event WHERE name = 'there is no such event'"),
        None
    );
}

/// Lines of a device repeat each other: without `kind` a sum counts the same time several times.
#[test]
fn a_sum_needs_the_kind() {
    let all = number("tpu-train", "SELECT sum(dur_ps) FROM event WHERE device IS NOT NULL").unwrap();
    let ops = number("tpu-train", "SELECT sum(self_ps) FROM event WHERE device IS NOT NULL AND kind = 'op'")
        .unwrap();
    assert!(all > 2 * ops, "{all} {ops}");
    let kinds =
        number("tpu-train", "SELECT count(DISTINCT kind) FROM line WHERE device IS NOT NULL").unwrap();
    assert!(kinds > 3, "{kinds}");
}

/// The class of a step is that of the whole run, on every host.
#[test]
fn classes_of_steps_are_the_runs() {
    let found = rows(
        "tpu-train",
        "SELECT step, count(DISTINCT class) AS classes, count(DISTINCT host) AS hosts FROM step GROUP BY step",
    );
    assert!(!found.is_empty());
    assert!(found.iter().all(|row| row["classes"] == 1 && row["hosts"] == 2), "{found:?}");
}

/// Quantiles are exact, and those of reports.
#[test]
fn quantiles_are_exact() {
    let row = &rows(
        "tpu-train",
        "SELECT p50(x) AS p50, p90(x) AS p90, p99(x) AS p99 FROM generate_series(1, 101) AS t(x)",
    )[0];
    assert_eq!(
        (row["p50"].as_f64(), row["p90"].as_f64(), row["p99"].as_f64()),
        (Some(51.0), Some(91.0), Some(100.0))
    );
}

/// Several runs are told apart by the column `run`, also where both are called the same.
#[test]
fn several_runs_are_one_database() {
    let output = crate::support::command()
        .args([
            crate::support::fixture("tpu-gate"),
            crate::support::fixture("tpu-gate-slower"),
            crate::support::fixture("tpu-gate"),
        ])
        .args(["SELECT run, count(*) AS n FROM event GROUP BY run ORDER BY run", "--format", "csv"])
        .output()
        .unwrap();
    let text = crate::support::text(&output.stdout);
    let runs: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(runs.len(), 3, "{text}");
    assert_eq!(runs.iter().filter(|run| run.contains('#')).count(), 2, "{text}");
    let each = number("tpu-gate", "SELECT count(*) FROM event").unwrap();
    assert!(runs[0].ends_with(&format!(",{each}")), "{text}");
}
