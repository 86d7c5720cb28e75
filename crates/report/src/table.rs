//! Tables of typed columns, and curves.

use super::{Cell, Column, Columns, Row, Unit};

/// A table: columns defined once, rows of as many cells.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Stable id.
    pub id: &'static str,
    /// What a person reads above it.
    pub title: &'static str,
    /// The columns.
    pub columns: &'static [Column],
    /// Rows, in the order in which they are best read.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table of these rows, in the order in which they are best read; its columns are those of the rows' type, also where there is
    /// none.
    #[must_use]
    pub fn of<C: Columns>(
        id: &'static str,
        title: &'static str,
        rows: impl IntoIterator<Item = Row<C>>,
    ) -> Self {
        Self { id, title, columns: C::COLUMNS, rows: rows.into_iter().map(Row::into_cells).collect() }
    }

    /// Position of a column.
    #[must_use]
    pub fn column(&self, id: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.id == id)
    }

    /// The cell of a row in the column with this id.
    #[must_use]
    pub fn cell(&self, row: usize, column: &str) -> Option<&Cell> {
        self.rows.get(row)?.get(self.column(column)?)
    }
}

/// A curve or a set of points for a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Stable id.
    pub id: String,
    /// What a person reads beside it.
    pub title: String,
    /// Label and unit of x.
    pub x: (&'static str, Unit),
    /// Label and unit of y.
    pub y: (&'static str, Unit),
    /// Points in order of x.
    pub points: Vec<[f64; 2]>,
}
