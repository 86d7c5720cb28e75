//! One quantity, one number: what the reports of one scope say of the same thing.

use std::collections::BTreeMap;

use haloscope_report::{Report, Unit};

use crate::contracts::{Cells, ONES, OTHER_MEANINGS};
use crate::grid::{Grid, quoted};
use crate::tally::{CLOCKS, Tally, is_at_most, is_same};

/// Quantities that several reports name.
pub(super) fn one(reports: &[Report], tally: &mut Tally) {
    for one in ONES {
        // A window cuts steps: which of them count is said by each.
        if one.is_of_steps && reports.iter().any(|report| report.scope.window_ps.is_some()) {
            continue;
        }
        let mut known = one.of.iter().filter_map(|cells| Some((cells, sum(reports, cells)?)));
        let Some((first, expected)) = known.next() else { continue };
        for (cells, (found, unit)) in known {
            let roundings = first.rows.len() + cells.rows.len() + 2;
            tally.hold(is_same(found, expected.0, roundings), || {
                let (a, b) = (quoted(expected.0, unit), quoted(found, unit));
                let said = format!("`{}` says {a}, `{}` says {b}", first.analysis, cells.analysis);
                (one.says.to_owned(), said)
            });
        }
    }
}

/// The sum of cells; `None` where a report, a row or a cell lacks. A row that a table leaves out because it is 0 is 0.
fn sum(reports: &[Report], cells: &Cells) -> Option<(f64, Unit)> {
    let report = reports.iter().find(|report| report.analysis == cells.analysis)?;
    let grid =
        if cells.table.is_empty() { Some(Grid::values(report)) } else { Grid::table(report, cells.table) }?;
    let column = grid.column(cells.column)?;
    let unit = grid.columns[column].unit;
    if grid.len() == 0 {
        return None;
    }
    let is_meant = |row: &usize| {
        let first = grid.cell(*row, 0).and_then(|cell| cell.as_text());
        cells.rows.is_empty() || first.is_some_and(|name| cells.rows.contains(&name))
    };
    let together: Option<f64> = (0..grid.len()).filter(is_meant).map(|row| grid.number(row, column)).sum();
    together.map(|together| (together, unit))
}

/// Headline values of one id.
pub(super) fn same_id(reports: &[Report], tally: &mut Tally) {
    let mut first: BTreeMap<&str, (&str, f64)> = BTreeMap::new();
    for report in reports {
        let values = Grid::values(report);
        for (column, head) in values.columns.iter().enumerate() {
            let differs = OTHER_MEANINGS.iter().any(|(id, analyses)| {
                *id == head.id && (analyses.is_empty() || analyses.contains(&report.analysis))
            });
            let Some(found) = values.number(0, column).filter(|_| !differs) else { continue };
            let Some((analysis, expected)) = first.get(head.id) else {
                first.insert(head.id, (report.analysis, found));
                continue;
            };
            let roundings = usize::from(matches!(head.unit, Unit::Ps | Unit::Bytes));
            tally.hold(is_same(found, *expected, roundings), || {
                let (a, b) = (quoted(*expected, head.unit), quoted(found, head.unit));
                (format!("`{}`", head.id), format!("`{analysis}` says {a}, `{}` says {b}", report.analysis))
            });
        }
    }
}

/// Ops of one device share its time. Kernels on several streams of a GPU do not: their times are their own.
pub(super) fn ops_within_wall(reports: &[Report], tally: &mut Tally) {
    let of = |id: &str| reports.iter().find(|report| report.analysis == id);
    let Some((ops, overview)) = of("ops").zip(of("overview")) else { return };
    if overview.scope.devices.iter().any(|name| name.contains("GPU")) {
        return;
    }
    let values = Grid::values(ops);
    let own = values.column("self_time_ps").and_then(|column| values.number(0, column));
    let Some(devices) = Grid::table(overview, "devices") else { return };
    let Some((own, wall)) = own.zip(devices.sum("active_window_ps")) else { return };
    let clocks = if overview.scope.devices.iter().any(|name| name.contains("TPU")) { CLOCKS } else { 0.0 };
    tally.hold(is_at_most(own, wall * (1.0 + clocks), devices.len()), || {
        let (own, wall) = (quoted(own, Unit::Ps), quoted(wall, Unit::Ps));
        (values.place(0), format!("self times are together {own}, the active windows {wall}"))
    });
}
