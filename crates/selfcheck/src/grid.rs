//! A report as grids of cells: its headline values as one row, its tables, its trees node by node.

use haloscope_report::{Cell, Kind, Report, Unit};

/// Rows of cells under columns.
pub(crate) struct Grid<'r> {
    analysis: &'static str,
    /// The table's id; empty for the headline values.
    pub id: &'static str,
    pub columns: Vec<Head>,
    rows: Rows<'r>,
}

/// What a column is.
#[derive(Clone, Copy)]
pub(crate) struct Head {
    pub id: &'static str,
    pub unit: Unit,
    /// Whether it holds differences.
    pub is_change: bool,
}

enum Rows<'r> {
    Values(&'r Report),
    Table(&'r [Vec<Cell>]),
    Nodes(Vec<&'r [Cell]>),
}

impl<'r> Grid<'r> {
    /// The headline values.
    pub(crate) fn values(report: &'r Report) -> Self {
        let head = |v: &haloscope_report::Value| Head { id: v.id, unit: v.unit, is_change: false };
        let columns = report.values.iter().map(head).collect();
        Self { analysis: report.analysis, id: "", columns, rows: Rows::Values(report) }
    }

    /// A table.
    pub(crate) fn table(report: &'r Report, id: &str) -> Option<Self> {
        report.table(id).map(|table| Self::of_table(report, table))
    }

    fn of_table(report: &'r Report, table: &'r haloscope_report::Table) -> Self {
        let columns = heads(table.columns);
        Self { analysis: report.analysis, id: table.id, columns, rows: Rows::Table(&table.rows) }
    }

    /// All grids of a report.
    pub(crate) fn all(report: &'r Report) -> Vec<Self> {
        let mut all = vec![Self::values(report)];
        all.extend(report.tables.iter().map(|table| Self::of_table(report, table)));
        all.extend(report.trees.iter().map(|tree| {
            let mut nodes = Vec::new();
            tree.walk(&mut |at| nodes.push(at.node.values.as_slice()));
            let columns = heads(tree.columns);
            Self { analysis: report.analysis, id: tree.id, columns, rows: Rows::Nodes(nodes) }
        }));
        all
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        match &self.rows {
            Rows::Values(_) => 1,
            Rows::Table(rows) => rows.len(),
            Rows::Nodes(nodes) => nodes.len(),
        }
    }

    /// A cell.
    pub(crate) fn cell(&self, row: usize, column: usize) -> Option<&'r Cell> {
        match &self.rows {
            Rows::Values(report) => report.values.get(column).map(|v| &v.value),
            Rows::Table(rows) => rows.get(row)?.get(column),
            Rows::Nodes(nodes) => nodes.get(row)?.get(column),
        }
    }

    /// The number in a cell; `None` where nobody knows it.
    pub(crate) fn number(&self, row: usize, column: usize) -> Option<f64> {
        self.cell(row, column)?.number()
    }

    /// Position of a column.
    pub(crate) fn column(&self, id: &str) -> Option<usize> {
        self.columns.iter().position(|head| head.id == id)
    }

    /// The sum of a column; `None` where there is no such column, no row, or a cell that nobody knows.
    pub(crate) fn sum(&self, id: &str) -> Option<f64> {
        let column = self.column(id)?;
        if self.len() == 0 {
            return None;
        }
        (0..self.len()).map(|row| self.number(row, column)).sum()
    }

    /// Where a row stands: `comm, table devices, row 3 (TPU:0)`.
    pub(crate) fn place(&self, row: usize) -> String {
        match &self.rows {
            Rows::Values(_) => format!("`{}`", self.analysis),
            Rows::Table(rows) => {
                let first = rows.get(row).and_then(|cells| cells.iter().find_map(Cell::as_text));
                let name = first.map(|name| format!(" ({name})")).unwrap_or_default();
                format!("`{}`, table `{}`, row {}{name}", self.analysis, self.id, row + 1)
            }
            Rows::Nodes(_) => format!("`{}`, tree `{}`, node {}", self.analysis, self.id, row + 1),
        }
    }
}

fn heads(columns: &[haloscope_report::Column]) -> Vec<Head> {
    let head = |c: &haloscope_report::Column| Head {
        id: c.id,
        unit: c.unit,
        is_change: matches!(c.kind, Kind::Change | Kind::Quantity),
    };
    columns.iter().map(head).collect()
}

/// A number as it is quoted: times in microseconds, the rest plainly.
pub(crate) fn quoted(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Ps => haloscope_report::units::duration_ps(value),
        Unit::Bytes => haloscope_report::units::bytes(value),
        Unit::Share => haloscope_report::units::share(value),
        _ => format!("{value}"),
    }
}
