//! Every canned question, held against the analysis that answers the same.

use crate::support::{RUNS, cell, native, number, rows, rows_of, table, text, words};

fn asked(run: &str, name: &str) -> Vec<serde_json::Value> {
    rows_of(run, &[&format!("@{name}")])
}

fn sum(rows: &[serde_json::Value], column: &str) -> i64 {
    rows.iter().map(|row| row[column].as_i64().unwrap()).sum()
}

/// All that are listed can be asked of every run.
#[test]
fn each_is_answered_for_every_run() {
    let list = crate::support::command().arg("--questions").output().unwrap();
    let list = text(&list.stdout);
    let names: Vec<&str> =
        list.lines().filter_map(|line| line.split('`').nth(1)?.strip_prefix('@')).collect();
    assert_eq!(names.len(), 12, "{list}");
    for run in RUNS {
        for name in &names {
            asked(run, name);
        }
    }
}

#[test]
fn top_ops() {
    for run in RUNS {
        let Some(report) = native(run, "ops", &[]) else { continue };
        let ops = table(&report, "ops");
        let found = asked(run, "top-ops");
        assert_eq!(found.len(), ops.rows.len().min(50), "{run}");
        for (row, own) in found.iter().enumerate() {
            assert_eq!(own["self_ps"].as_f64(), cell(ops, row, "self_ps"), "{run} {row}");
        }
        assert_eq!(found[0]["occurrences"].as_f64(), cell(ops, 0, "occurrences"), "{run}");
    }
}

#[test]
fn categories() {
    for run in RUNS {
        let Some(report) = native(run, "ops", &[("by", "category")]) else { continue };
        let ops = table(&report, "ops");
        let found = asked(run, "categories");
        assert_eq!(found.len(), ops.rows.len(), "{run}");
        for row in 0..ops.rows.len() {
            let name = words(ops, row, "name").unwrap();
            let own = found.iter().find(|own| own["category"] == name.as_str()).unwrap();
            assert_eq!(own["self_ps"].as_f64(), cell(ops, row, "self_ps"), "{run} {name}");
            assert_eq!(own["occurrences"].as_f64(), cell(ops, row, "occurrences"), "{run} {name}");
        }
    }
}

#[test]
fn time_by_class() {
    for run in RUNS {
        let Some(report) = native(run, "idle", &[]) else { continue };
        let waterfall = table(&report, "waterfall");
        let found = asked(run, "time-by-class");
        for row in 0..waterfall.rows.len() {
            let class = words(waterfall, row, "class").unwrap();
            let own = found.iter().find(|own| own["class"] == class.as_str()).unwrap();
            assert_eq!(own["total_ps"].as_f64(), cell(waterfall, row, "total_ps"), "{run} {class}");
        }
    }
}

#[test]
fn idle_gaps() {
    for run in RUNS {
        let Some(report) = native(run, "idle", &[]) else { continue };
        let found = asked(run, "idle-gaps");
        let Some(gaps) = report.table("gaps") else {
            assert!(found.is_empty(), "{run}");
            continue;
        };
        assert_eq!(found.len(), gaps.rows.len(), "{run}");
        for (row, own) in found.iter().enumerate() {
            assert_eq!(own["dur_ps"].as_f64(), cell(gaps, row, "duration_ps"), "{run} {row}");
            assert_eq!(own["start_ps"].as_f64(), cell(gaps, row, "start_ps"), "{run} {row}");
        }
    }
}

#[test]
fn slow_steps() {
    for run in RUNS {
        let Some(report) = native(run, "steps", &[]) else { continue };
        let steps = table(&report, "steps");
        let found = asked(run, "slow-steps");
        assert_eq!(found.len(), steps.rows.len(), "{run}");
        for row in 0..steps.rows.len() {
            let step = cell(steps, row, "step").unwrap() as i64;
            let own = found.iter().find(|own| own["step"] == step).unwrap();
            assert_eq!(own["dur_ps"].as_f64(), cell(steps, row, "duration_ps"), "{run} {step}");
            let (a, b) = (own["off_median"].as_f64().unwrap(), cell(steps, row, "off_median").unwrap());
            assert!((a - b).abs() < 1e-12, "{run} {step}: {a} {b}");
        }
    }
}

/// What was longer in the slowest step adds up to what its ops took more than those of the others.
#[test]
fn slow_step_ops() {
    let found = asked("tpu-train", "slow-step-ops");
    assert!(!found.is_empty());
    for own in &found {
        let more = own["slowest_ps"].as_i64().unwrap() - own["others_ps"].as_i64().unwrap();
        assert_eq!(own["more_ps"].as_i64(), Some(more));
    }
    // The slowest step that was not cut is the first of `slow-steps` that is no edge.
    let slowest = asked("tpu-train", "slow-steps").into_iter().find(|step| step["class"] != "edge").unwrap();
    let op = found[0]["op"].as_str().unwrap();
    let sql = format!("SELECT sum(self_ps) FROM event WHERE op = '{op}' AND step = {}", slowest["step"]);
    assert_eq!(number("tpu-train", &sql), found[0]["slowest_ps"].as_i64());
}

#[test]
fn hosts() {
    for run in RUNS {
        let Some(report) = native(run, "ops", &[]) else { continue };
        let found = asked(run, "hosts");
        let ops = table(&report, "ops");
        let all: f64 = (0..ops.rows.len()).filter_map(|row| cell(ops, row, "self_ps")).sum();
        assert_eq!(sum(&found, "self_ps") as f64, all, "{run}");
        assert!(sum(&found, "collective_ps") <= sum(&found, "self_ps"), "{run}");
    }
    assert!(sum(&asked("tpu-train", "hosts"), "collective_ps") > 0);
}

#[test]
fn programs() {
    for run in RUNS {
        let found = asked(run, "programs");
        let Some(report) = native(run, "hlo modules", &[]) else { continue };
        let modules = table(&report, "modules");
        for row in 0..modules.rows.len() {
            let Some(launches) = cell(modules, row, "launches").filter(|launches| *launches > 0.0) else {
                continue;
            };
            let name = words(modules, row, "module").unwrap();
            let id = words(modules, row, "program_id");
            let own: Vec<_> = found
                .iter()
                .filter(|own| own["module"] == name.as_str() && own["program_id"].as_str() == id.as_deref())
                .cloned()
                .collect();
            assert_eq!(sum(&own, "launches") as f64, launches, "{run} {name}");
            assert_eq!(sum(&own, "total_ps") as f64, cell(modules, row, "time_ps").unwrap(), "{run} {name}");
        }
    }
    assert!(!asked("tpu-train", "programs").is_empty());
}

/// Parts of the model add up to the self time of ops that say where they are from.
#[test]
fn scopes() {
    let found = asked("cpu-train", "scopes");
    assert!(found.len() < 30);
    let all = number("cpu-train", "SELECT sum(self_ps) FROM op WHERE framework_op IS NOT NULL").unwrap_or(0);
    assert_eq!(sum(&found, "self_ps"), all);
    let found = asked("tpu-train", "scopes");
    let report = native("tpu-train", "ops", &[("by", "framework-op")]).unwrap();
    let ops = table(&report, "ops");
    let first = found[0]["scope"].as_str().unwrap();
    let own = (0..ops.rows.len()).filter(|row| {
        let name = words(ops, *row, "name").unwrap();
        name == first || name.starts_with(&format!("{first}/"))
    });
    assert_eq!(found[0]["self_ps"].as_f64(), Some(own.filter_map(|row| cell(ops, row, "self_ps")).sum()));
}

#[test]
fn op_percentiles() {
    for run in ["tpu-train", "gpu-train"] {
        let report = native(run, "ops", &[]).unwrap();
        let ops = table(&report, "ops");
        for own in asked(run, "op-percentiles") {
            let same = |row: &usize| words(ops, *row, "name").as_deref() == own["op"].as_str();
            let times: f64 =
                (0..ops.rows.len()).filter(same).filter_map(|row| cell(ops, row, "occurrences")).sum();
            assert_eq!(own["occurrences"].as_f64(), Some(times), "{run} {own}");
            assert!(
                own["p50_ps"].as_f64() <= own["p99_ps"].as_f64()
                    && own["p99_ps"].as_f64() <= own["longest_ps"].as_f64()
            );
        }
    }
}

/// Executions by kind are those of `comm`, and what is exposed there is exposed here.
#[test]
fn collectives() {
    let mut compared = 0;
    for run in RUNS {
        let Some(report) = native(run, "comm", &[]) else { continue };
        let Some(kinds) = report.table("kinds") else {
            assert!(asked(run, "collectives").is_empty(), "{run}");
            continue;
        };
        let found = rows(
            run,
            "SELECT kind, count(*) AS n, sum(exposed_ps) AS exposed_ps FROM collective GROUP BY kind",
        );
        assert_eq!(found.len(), kinds.rows.len(), "{run}");
        for row in 0..kinds.rows.len() {
            let kind = words(kinds, row, "kind").unwrap();
            let own = found.iter().find(|own| own["kind"] == kind.as_str()).unwrap();
            assert_eq!(own["n"].as_f64(), cell(kinds, row, "count"), "{run} {kind}");
            let exposed = cell(kinds, row, "exposed_ps").unwrap();
            assert_eq!(own["exposed_ps"].as_f64() > Some(0.0), exposed > 0.0, "{run} {kind}");
            compared += 1;
        }
        assert_eq!(sum(&asked(run, "collectives"), "exposed_ps"), sum(&found, "exposed_ps"), "{run}");
    }
    assert!(compared > 3, "{compared}");
}

#[test]
fn top_events() {
    for run in RUNS {
        let found = asked(run, "top-events");
        let first = &found[0];
        let sql = format!(
            "SELECT sum(dur_ps) FROM event WHERE kind = '{}' AND name = '{}'",
            first["kind"].as_str().unwrap(),
            first["name"].as_str().unwrap().replace('\'', "''")
        );
        assert_eq!(number(run, &sql), first["dur_ps"].as_i64(), "{run}");
    }
    let all = rows("tpu-train", "SELECT sum(events) AS n FROM line");
    assert_eq!(all[0]["n"].as_i64(), number("tpu-train", "SELECT count(*) FROM event"));
}
