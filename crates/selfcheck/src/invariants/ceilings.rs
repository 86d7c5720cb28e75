//! What findings promise.

use std::collections::BTreeMap;

use haloscope_report::{Report, Unit};

use crate::grid::{Grid, quoted};
use crate::tally::Tally;

const EPSILON: f64 = 1e-6;

/// A ceiling beside the share that it removes.
pub(super) fn ceilings(report: &Report, tally: &mut Tally) {
    for finding in &report.findings {
        let Some(speedup) = finding.speedup else { continue };
        tally.hold(speedup >= 1.0 - EPSILON && speedup.is_finite(), || {
            (format!("`{}`, finding `{}`", report.analysis, finding.id), format!("its ceiling is {speedup}x"))
        });
    }
    for grid in Grid::all(report) {
        let Some((share, speedup)) = grid.column("saved_share").zip(grid.column("speedup")) else { continue };
        for row in 0..grid.len() {
            let Some((share, speedup)) = grid.number(row, share).zip(grid.number(row, speedup)) else {
                continue;
            };
            let most = 1.0 / (1.0 - share);
            tally.hold(share < 1.0 && speedup <= most * (1.0 + EPSILON), || {
                let said = format!(
                    "{} is removed, which gives at most {most:.4}x; it says {speedup:.4}x",
                    quoted(share, Unit::Share)
                );
                (grid.place(row), said)
            });
        }
    }
    let values = Grid::values(report);
    let value = |id: &str| values.column(id).and_then(|column| values.number(0, column));
    let idle =
        report.findings.iter().find(|finding| finding.id == "idle_time").and_then(|finding| finding.speedup);
    if let Some((idle, share)) = idle.zip(value("idle_share_of_active_window")) {
        let most = 1.0 / (1.0 - share);
        tally.hold(idle <= most * (1.0 + EPSILON), || {
            (
                values.place(0),
                format!("{} is idle, the ceiling of it is {idle:.4}x", quoted(share, Unit::Share)),
            )
        });
    }
}

/// Causes of one rule share no time: they are together at most what there is. Those of several rules may look at the same time.
pub(super) fn claims(report: &Report, tally: &mut Tally) {
    let Some(grid) = Grid::table(report, "causes") else { return };
    let Some((id, share)) = grid.column("id").zip(grid.column("saved_share")) else { return };
    let mut rules: BTreeMap<&str, f64> = BTreeMap::new();
    for row in 0..grid.len() {
        let rule = grid.cell(row, id).and_then(|cell| cell.as_text());
        if let Some((rule, share)) = rule.zip(grid.number(row, share)) {
            *rules.entry(rule).or_default() += share;
        }
    }
    for (rule, together) in rules {
        tally.hold(together <= 1.0 + EPSILON, || {
            let said = format!("{rule}: its causes claim {} together", quoted(together, Unit::Share));
            (format!("`{}`, table `causes`", report.analysis), said)
        });
    }
}
