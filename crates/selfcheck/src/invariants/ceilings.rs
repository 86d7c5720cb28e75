//! What findings promise.

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

/// The causes of a diagnosis are together at most what there is.
pub(super) fn claims(report: &Report, tally: &mut Tally) {
    let Some(grid) = Grid::table(report, "causes") else { return };
    let Some(column) = grid.column("saved_share") else { return };
    let together: f64 = (0..grid.len()).filter_map(|row| grid.number(row, column)).sum();
    tally.hold(together <= 1.0 + EPSILON, || {
        let said =
            format!("the causes claim {} of the active window together", quoted(together, Unit::Share));
        (format!("`{}`, table `causes`", report.analysis), said)
    });
}
