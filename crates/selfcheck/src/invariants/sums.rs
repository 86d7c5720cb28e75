//! Parts and wholes inside one report.

use haloscope_report::{Node, Report, Tree, Unit};

use crate::contracts::{COLUMN_SUMS, ROW_SUMS, SHARES_OF_MANY, SHARES_OF_ONE, TREES};
use crate::grid::{Grid, quoted};
use crate::tally::{Tally, is_at_most, is_same};

/// Steps may begin before what the capture's length counts.
const STEP_ROUNDING: f64 = 1.001;

/// Rows, columns and shares of tables.
pub(super) fn parts(report: &Report, tally: &mut Tally) {
    rows(report, tally);
    columns(report, tally);
    shares(report, tally);
}

fn rows(report: &Report, tally: &mut Tally) {
    for sum in ROW_SUMS.iter().filter(|sum| sum.analysis == report.analysis) {
        let grid =
            if sum.grid.is_empty() { Some(Grid::values(report)) } else { Grid::table(report, sum.grid) };
        let Some(grid) = grid else { continue };
        let parts: Option<Vec<usize>> = sum.parts.iter().map(|id| grid.column(id)).collect();
        let Some(parts) = parts else { continue };
        let whole = grid.column(sum.whole);
        for row in 0..grid.len() {
            // `@1` is the whole of which shares are.
            let whole = match whole {
                Some(column) => grid.number(row, column),
                None => (sum.whole == "@1").then_some(1.0),
            };
            let together: Option<f64> = parts.iter().map(|part| grid.number(row, *part)).sum();
            let Some((whole, together)) = whole.zip(together) else { continue };
            // Of shares a rounding is no picosecond.
            let holds = if sum.whole == "@1" {
                (whole - together).abs() < 1e-6
            } else {
                is_same(whole, together, parts.len())
            };
            let unit = grid.columns[parts[0]].unit;
            tally.hold(holds, || {
                let (whole, together) = (quoted(whole, unit), quoted(together, unit));
                let said = format!("{} are together {together}, `{}` is {whole}", list(sum.parts), sum.whole);
                (grid.place(row), said)
            });
        }
    }
}

fn list(ids: &[&str]) -> String {
    ids.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ")
}

fn columns(report: &Report, tally: &mut Tally) {
    let values = Grid::values(report);
    for sum in COLUMN_SUMS.iter().filter(|sum| sum.analysis == report.analysis) {
        let whole = values.column(sum.whole).and_then(|column| values.number(0, column));
        let Some(grid) = Grid::table(report, sum.table) else { continue };
        let Some((whole, together)) = whole.zip(grid.sum(sum.column)) else { continue };
        let holds = if sum.is_part {
            is_at_most(together, whole, grid.len())
        } else {
            is_same(together, whole, grid.len())
        };
        tally.hold(holds, || {
            let unit = grid.column(sum.column).map_or(Unit::None, |column| grid.columns[column].unit);
            let (together, whole) = (quoted(together, unit), quoted(whole, unit));
            let said = format!("`{}` of all rows is {together}, `{}` is {whole}", sum.column, sum.whole);
            (format!("`{}`, table `{}`", report.analysis, sum.table), said)
        });
    }
}

fn shares(report: &Report, tally: &mut Tally) {
    for table in &report.tables {
        if SHARES_OF_MANY.contains(&(report.analysis, table.id)) {
            continue;
        }
        let Some(grid) = Grid::table(report, table.id) else { continue };
        for id in SHARES_OF_ONE {
            let Some(column) = grid.column(id) else { continue };
            if grid.columns[column].unit != Unit::Share {
                continue;
            }
            let together: f64 = (0..grid.len()).filter_map(|row| grid.number(row, column)).sum();
            tally.hold(together <= 1.0 + 1e-6, || {
                let said = format!("`{id}` of all rows is {}", quoted(together, Unit::Share));
                (format!("`{}`, table `{}`", report.analysis, table.id), said)
            });
        }
    }
}

/// Children within their parent.
pub(super) fn trees(report: &Report, tally: &mut Tally) {
    for (analysis, id, columns) in TREES {
        let tree = report.tree(id).filter(|_| *analysis == report.analysis);
        let Some(tree) = tree else { continue };
        let columns: Vec<usize> = columns.iter().filter_map(|id| tree.column(id)).collect();
        tree.nodes.iter().for_each(|node| within(report.analysis, tree, node, &columns, tally));
    }
}

fn within(analysis: &str, tree: &Tree, node: &Node, columns: &[usize], tally: &mut Tally) {
    if node.children.is_empty() {
        return;
    }
    let number = |node: &Node, column: usize| node.values.get(column).and_then(|cell| cell.number());
    for &column in columns {
        let Some(whole) = number(node, column) else { continue };
        let together: f64 = node.children.iter().filter_map(|child| number(child, column)).sum();
        let head = &tree.columns[column];
        let holds = match head.unit {
            Unit::Share => together <= whole + 1e-6,
            _ => is_at_most(together, whole, node.children.len()),
        };
        tally.hold(holds, || {
            let (whole, together) = (quoted(whole, head.unit), quoted(together, head.unit));
            let said = format!("`{}` is {whole}, that of its children {together}", head.id);
            (format!("`{analysis}`, tree `{}`, node {}", tree.id, node.label), said)
        });
    }
    node.children.iter().for_each(|child| within(analysis, tree, child, columns, tally));
}

/// The peak of memory is the largest value of the curve of memory that the same report draws, and stands where that is.
pub(super) fn peaks(report: &Report, tally: &mut Tally) {
    let values = Grid::values(report);
    let value = |id: &str| values.column(id).and_then(|column| values.number(0, column));
    let Some(peak) = value("peak_bytes") else { return };
    let Some(curve) = report.series.iter().find(|series| series.id == "live") else { return };
    let largest = curve.points.iter().map(|point| point[1]).reduce(f64::max);
    let Some(largest) = largest else { return };
    tally.hold(is_same(largest, peak, 1), || {
        let (largest, peak) = (quoted(largest, Unit::Bytes), quoted(peak, Unit::Bytes));
        (values.place(0), format!("`peak_bytes` is {peak}, the largest value of the curve is {largest}"))
    });
    let Some(event) = value("peak_event") else { return };
    let there = curve.points.iter().filter(|point| (point[0] - event).abs() < 0.5).map(|point| point[1]);
    let Some(there) = there.reduce(f64::max) else { return };
    tally.hold(is_same(there, largest, 1), || {
        let (there, largest) = (quoted(there, Unit::Bytes), quoted(largest, Unit::Bytes));
        (
            values.place(0),
            format!("`peak_event` is {event}, where the curve has {there}; its largest value is {largest}"),
        )
    });
}

/// Steps of a device follow each other.
pub(super) fn steps(report: &Report, tally: &mut Tally) {
    let values = Grid::values(report);
    let value = |id: &str| values.column(id).and_then(|column| values.number(0, column));
    let mean = value("step_time_device_mean_ps").or_else(|| value("step_time_mean_ps"));
    // Steps that a window cuts count whole.
    if report.scope.window_ps.is_some() {
        return;
    }
    let Some(((count, mean), span)) = value("step_count").zip(mean).zip(value("capture_span_ps")) else {
        return;
    };
    tally.hold(count * mean <= span * STEP_ROUNDING, || {
        let (mean, span) = (quoted(mean, Unit::Ps), quoted(span, Unit::Ps));
        (values.place(0), format!("{count} steps of {mean} do not fit into {span}"))
    });
}
