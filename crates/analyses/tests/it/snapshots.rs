//! Every analysis on every run, as text: read them when they change.

use std::fmt::Write;

use haloscope_analyses as analyses;

use haloscope_report::Error;
use haloscope_report::scope::Scope;
use haloscope_report::{Cell, Report};
use haloscope_time::analysis::{self, Params};

use crate::support::{RUNS, open};

/// Rows of a table that are shown.
const ROWS: usize = 12;

/// Nodes of a tree that are shown.
const NODES: usize = 24;

#[test]
fn every_analysis_on_every_run() {
    insta::with_settings!({snapshot_path => "snapshots", prepend_module_to_snapshot => false, omit_expression => true}, {
        let mut refused = String::new();
        for run in RUNS {
            let profile = open(run);
            for analysis in analyses::ALL {
                match analysis::run(analysis, &profile, &Scope::default(), &Params::default()) {
                    Err(error) => writeln!(refused, "{run} {}: exit code {}: {error}", analysis.id, error.exit_code()).unwrap(),
                    answer => insta::assert_snapshot!(format!("{run}.{}", analysis.slug()), render(answer)),
                }
            }
        }
        insta::assert_snapshot!("refused", refused);
    });
}

#[test]
fn groups_of_ops() {
    insta::with_settings!({snapshot_path => "snapshots", prepend_module_to_snapshot => false, omit_expression => true}, {
        let ops = analyses::find("ops").unwrap();
        for (run, by) in [("tpu-train", "category"), ("tpu-train", "deduplicated"), ("gpu-train", "module"), ("cpu-train", "source")] {
            let mut params = Params::default();
            params.set("by", by);
            let answer = analysis::run(ops, &open(run), &Scope::default(), &params);
            insta::assert_snapshot!(format!("{run}.ops-by-{by}"), render(answer));
        }
        for run in ["tpu-input-bound", "cpu-train"] {
            let mut params = Params::default();
            params.set("on", "host");
            let answer = analysis::run(ops, &open(run), &Scope::default(), &params);
            insta::assert_snapshot!(format!("{run}.ops-on-host"), render(answer));
        }
    });
}

#[test]
fn other_op_profiles() {
    insta::with_settings!({snapshot_path => "snapshots", prepend_module_to_snapshot => false, omit_expression => true}, {
        let profile = analyses::find("op-profile").unwrap();
        for (run, by, idle) in [("tpu-train", "provenance", "exclude"), ("gpu-train", "category", "include"), ("tpu-decode", "source", "exclude")] {
            let mut params = Params::default();
            params.set("by", by);
            params.set("idle", idle);
            let answer = analysis::run(profile, &open(run), &Scope::default(), &params);
            insta::assert_snapshot!(format!("{run}.op-profile-by-{by}"), render(answer));
        }
    });
}

/// The run that has allocator events, and one memory that is not the main one.
#[test]
fn memories() {
    insta::with_settings!({snapshot_path => "snapshots", prepend_module_to_snapshot => false, omit_expression => true}, {
        let asked = |run: &str, id: &str, words: &[(&str, &str)]| {
            let mut params = Params::default();
            words.iter().for_each(|(key, value)| params.set(key, value));
            render(analysis::run(analyses::find(id).unwrap(), &open(run), &Scope::default(), &params))
        };
        insta::assert_snapshot!("tpu-memory.memory-profile", asked("tpu-memory", "memory profile", &[]));
        insta::assert_snapshot!("tpu-memory.memory-peak", asked("tpu-memory", "memory peak", &[]));
        insta::assert_snapshot!("tpu-decode.memory-peak-vmem", asked("tpu-decode", "memory peak", &[("space", "vmem")]));
        insta::assert_snapshot!("tpu-decode.memory-peak-host", asked("tpu-decode", "memory peak", &[("space", "host")]));
    });
}

pub(crate) fn render(answer: Result<Report, Error>) -> String {
    let mut out = String::new();
    let report = match answer {
        Ok(report) => report,
        Err(error) => return format!("exit code {}: {error}", error.exit_code()),
    };
    let scope = &report.scope;
    writeln!(out, "hosts {}; devices {}", scope.hosts.join(", "), scope.devices.join(", ")).unwrap();
    let covered = &report.provenance.coverage;
    writeln!(out, "{} of {} devices", covered.devices, covered.devices_in_profile).unwrap();
    for left_out in &scope.left_out {
        writeln!(out, "left out: {left_out}").unwrap();
    }
    for peak in &report.provenance.peaks {
        let rate = shown(&Cell::Float(peak.rate));
        writeln!(
            out,
            "peak {} of {}: {rate} {} ({})",
            peak.resource,
            peak.device_type,
            peak.unit.symbol(),
            peak.source
        )
        .unwrap();
    }
    for note in &report.quality {
        writeln!(
            out,
            "\n{:?} {}: {}\n  cost: {}\n  cure: {}",
            note.severity, note.id, note.message, note.cost, note.fix
        )
        .unwrap();
    }
    writeln!(out).unwrap();
    for value in &report.values {
        let unit = value.unit.symbol();
        writeln!(out, "{} = {} {unit} ({:?})", value.id, shown(&value.value), value.status).unwrap();
    }
    for tree in &report.trees {
        writeln!(out, "\n{{{}}} {}: {} nodes", tree.id, tree.title, tree.len()).unwrap();
        let heads: Vec<_> = tree.columns.iter().map(|c| c.id).collect();
        writeln!(out, "{}", heads.join(" | ")).unwrap();
        let mut left = NODES;
        tree.walk(&mut |at| {
            if left > 0 {
                left -= 1;
                let cells: Vec<_> = at.node.values.iter().map(shown).collect();
                let indent = "  ".repeat(at.path.len() - 1);
                writeln!(out, "{indent}{}: {}", shown(&at.node.label.as_str().into()), cells.join(" | "))
                    .unwrap();
            }
        });
    }
    for table in &report.tables {
        writeln!(out, "\n[{}] {}: {} rows", table.id, table.title, table.rows.len()).unwrap();
        let heads: Vec<_> = table.columns.iter().map(|c| c.id).collect();
        writeln!(out, "{}", heads.join(" | ")).unwrap();
        for row in table.rows.iter().take(ROWS) {
            let cells: Vec<_> = row.iter().map(shown).collect();
            writeln!(out, "{}", cells.join(" | ")).unwrap();
        }
    }
    for series in &report.series {
        let points: Vec<_> = series
            .points
            .iter()
            .take(ROWS)
            .map(|[x, y]| format!("{}:{}", shown(&Cell::Float(*x)), shown(&Cell::Float(*y))))
            .collect();
        writeln!(out, "\n({}) {}: {}", series.id, series.title, points.join(" ")).unwrap();
    }
    for text in &report.texts {
        let lines: Vec<_> = text.text.lines().take(ROWS).collect();
        writeln!(
            out,
            "\n<{}> {}: {} lines\n{}",
            text.id,
            text.title,
            text.text.lines().count(),
            lines.join("\n")
        )
        .unwrap();
    }
    if let Some(passed) = report.gate.map(haloscope_report::Gate::holds) {
        writeln!(out, "\npassed: {passed:?}").unwrap();
    }
    for f in &report.findings {
        writeln!(
            out,
            "\n{:?} {} ({:?}): {}\n  evidence: {}\n  ceiling: {}\n  lever: {}\n  falsifier: {}",
            f.severity, f.id, f.status, f.claim, f.evidence, f.ceiling, f.recommendation, f.falsifier
        )
        .unwrap();
    }
    out
}

/// A cell with six significant digits at most, so that the order of a sum does not matter.
fn shown(cell: &Cell) -> String {
    match cell {
        Cell::Int(v) => v.to_string(),
        Cell::Float(v) => format!("{v:.5e}").parse::<f64>().map_or_else(|_| v.to_string(), |v| v.to_string()),
        Cell::Text(v) => v.chars().take(90).collect::<String>().replace('\n', " "),
        Cell::Flag(v) => v.to_string(),
        Cell::Unknown => "-".into(),
    }
}
