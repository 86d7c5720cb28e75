//! Rows whose cells stand beside the columns that they are in.

use std::marker::PhantomData;

use super::{Cell, Column};

/// The columns of a table, as the type of its rows knows them.
pub trait Columns {
    /// The columns, in the order in which they are best read.
    const COLUMNS: &'static [Column];
}

/// A row of the table that has the columns `C`. [`row!`](super::row!) makes it and them in one place, so that a cell cannot stand in
/// another's column; what a function of a row returns is `Row<impl Columns>`.
#[derive(Debug, Clone, PartialEq)]
pub struct Row<C> {
    cells: Vec<Cell>,
    columns: PhantomData<C>,
}

impl<C: Columns> Row<C> {
    /// A row from a cell for each column: what [`row!`](super::row!) calls.
    #[must_use]
    pub fn new<const N: usize>(cells: [Cell; N]) -> Self {
        const { assert!(N == C::COLUMNS.len(), "a cell for each column") };
        Self { cells: cells.into(), columns: PhantomData }
    }

    /// Its cells, in the order of the columns.
    #[must_use]
    pub fn into_cells(self) -> Vec<Cell> {
        self.cells
    }
}

/// A [`Row`]: a list of columns, each with its cell behind what defines it. Columns are made as [`Column`]'s own functions make
/// them, and the cell is whatever [`Cell`] is made from:
///
/// ```
/// use haloscope_report::{Table, Unit, row};
///
/// let ops = [("dot", 12_i64, Some(0.5)), ("copy", 3, None)];
/// let rows = ops.map(|(name, self_ps, flops)| {
///     row![
///         text("name", "Name", "The op's name.", name),
///         duration("self_ps", "Self time", "Time less that of ops inside.", self_ps),
///         float("flops", "FLOPs", Unit::Flop, "FLOPs of one execution.", flops),
///     ]
/// });
/// let table = Table::of("ops", "Ops", rows);
/// assert_eq!(table.columns.len(), table.rows[1].len());
/// ```
///
/// A column that several tables have is a constant, `column(CONSTANT, cell)`. All rows of a table come from one place in the
/// source: of two places the types differ, and the second is refused.
#[macro_export]
macro_rules! row {
    (@column column($column:expr, $cell:expr $(,)?)) => { $column };
    (@column rate($id:expr, $label:expr, $unit:expr, $doc:expr, $cell:expr $(,)?)) => {
        $crate::Column::rate($id, $label, $unit, $doc)
    };
    (@column float($id:expr, $label:expr, $unit:expr, $doc:expr, $cell:expr $(,)?)) => {
        $crate::Column::float($id, $label, $unit, $doc)
    };
    (@column $kind:ident($id:expr, $label:expr, $doc:expr, $cell:expr $(,)?)) => {
        $crate::Column::$kind($id, $label, $doc)
    };
    (@cell column($column:expr, $cell:expr $(,)?)) => { $cell };
    (@cell rate($id:expr, $label:expr, $unit:expr, $doc:expr, $cell:expr $(,)?)) => { $cell };
    (@cell float($id:expr, $label:expr, $unit:expr, $doc:expr, $cell:expr $(,)?)) => { $cell };
    (@cell $kind:ident($id:expr, $label:expr, $doc:expr, $cell:expr $(,)?)) => { $cell };
    ($($kind:ident($($part:tt)*)),* $(,)?) => {{
        enum Own {}
        impl $crate::Columns for Own {
            const COLUMNS: &'static [$crate::Column] =
                &[$($crate::row!(@column $kind($($part)*))),*];
        }
        $crate::Row::<Own>::new([
            $($crate::Cell::from($crate::row!(@cell $kind($($part)*)))),*
        ])
    }};
}

#[cfg(test)]
mod tests {
    use crate::{Cell, Column, Columns, Kind, Row, Table, Unit};

    const PLACE: Column = Column::text("place", "Place", "Where it is.");

    fn of(name: &str, n: Option<usize>) -> Row<impl Columns + use<>> {
        row![
            text("name", "Name", "What it is called.", name),
            count("n", "N", "How many.", n),
            rate("rate", "Rate", Unit::ByteRate, "How fast.", Some(2.5).filter(|_| n.is_some())),
            column(PLACE, if n.is_none() { Cell::Unknown } else { "here".into() }),
        ]
    }

    #[test]
    fn cells_stand_in_their_own_columns() {
        let table = Table::of("t", "T", [of("a", Some(3)), of("b", None)]);
        let kinds: Vec<_> = table.columns.iter().map(|c| (c.id, c.kind, c.unit)).collect();
        let rate = ("rate", Kind::Rate, Unit::ByteRate);
        let text = |id| (id, Kind::Text, Unit::None);
        assert_eq!(kinds, [text("name"), ("n", Kind::Int, Unit::Count), rate, text("place")]);
        assert_eq!(table.cell(0, "n"), Some(&Cell::Int(3)));
        assert_eq!(table.cell(0, "place"), Some(&"here".into()));
        assert_eq!(table.rows[1], ["b".into(), Cell::Unknown, Cell::Unknown, Cell::Unknown]);
    }

    #[test]
    fn a_table_without_rows_has_its_columns() {
        let rows = std::iter::empty::<&str>().map(|name| of(name, None));
        let table = Table::of("t", "T", rows);
        assert_eq!((table.columns.len(), table.rows.len()), (4, 0));
    }
}
