//! Parts of a scope beside the whole.

use haloscope_report::{Report, Unit};

use crate::contracts::ADDITIVE;
use crate::grid::{Grid, quoted};
use crate::tally::{CLOCKS, Tally, is_same};

/// What adds up over parts of a scope.
pub(super) fn split(whole: &Report, parts: &[Report], tally: &mut Tally) {
    for (_, table, column) in ADDITIVE.iter().filter(|(analysis, ..)| *analysis == whole.analysis) {
        let Some((all, unit)) = sum(whole, table, column) else { continue };
        let together: f64 =
            parts.iter().filter_map(|part| sum(part, table, column)).map(|(part, _)| part).sum();
        let is_timed =
            *column == "self_time_ps" && whole.scope.devices.iter().any(|name| name.contains("TPU"));
        let is_near = is_timed && (together - all).abs() <= CLOCKS * all;
        tally.hold(is_near || is_same(together, all, parts.len()), || {
            let (together, all) = (quoted(together, unit), quoted(all, unit));
            let place = Grid::values(whole).place(0);
            (place, format!("`{column}` of {} parts is together {together}, of the whole {all}", parts.len()))
        });
    }
}

fn sum(report: &Report, table: &str, column: &str) -> Option<(f64, Unit)> {
    let grid = if table.is_empty() { Some(Grid::values(report)) } else { Grid::table(report, table) }?;
    Some((grid.sum(column)?, grid.columns[grid.column(column)?].unit))
}
