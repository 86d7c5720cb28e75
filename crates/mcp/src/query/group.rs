//! Rows brought together: `sum(self_ps)` of each `category`.

use std::collections::BTreeMap;

use haloscope_report::{Cell, Column, Kind, Table, Unit};

use super::Wrong;

/// What is computed of the rows of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Aggregate {
    Count,
    Sum(usize),
    Min(usize),
    Max(usize),
}

/// A column of the answer: its name as asked, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Aggregation {
    pub id: String,
    pub unit: Unit,
    pub kind: Kind,
    of: Aggregate,
}

/// Reads `count()`, `sum(self_ps)`, `min(...)`, `max(...)`.
pub(super) fn read(text: &str, table: &Table) -> Result<Aggregation, Wrong> {
    let found = text.trim().strip_suffix(')').and_then(|text| text.split_once('('));
    let (word, inside) = found.ok_or_else(|| {
        format!("with `group`, columns are groups or one of count(), sum(COLUMN), min(COLUMN), max(COLUMN); found `{text}`")
    })?;
    let id = text.trim().to_owned();
    if word == "count" && inside.trim().is_empty() {
        return Ok(Aggregation { id, unit: Unit::Count, kind: Kind::Int, of: Aggregate::Count });
    }
    let at = column(inside.trim(), table)?;
    let Column { unit, kind, id: name, .. } = table.columns[at];
    if matches!(kind, Kind::Text | Kind::Prose | Kind::Flag | Kind::Quantity) {
        return Err(format!("`{text}`: `{name}` is not a number with one unit"));
    }
    let of = match word {
        "sum" if kind == Kind::Rate || matches!(unit, Unit::FlopPerByte | Unit::Ratio) => {
            return Err(format!(
                "`{text}`: rates do not add up; sum the values that they were computed from"
            ));
        }
        "sum" => Aggregate::Sum(at),
        "min" => Aggregate::Min(at),
        "max" => Aggregate::Max(at),
        _ => return Err(format!("expected count, sum, min or max, found `{word}`")),
    };
    Ok(Aggregation { id, unit, kind, of })
}

/// Position of a column; the error lists them.
pub(super) fn column(id: &str, table: &Table) -> Result<usize, Wrong> {
    table.column(id).ok_or_else(|| {
        let ids: Vec<&str> = table.columns.iter().map(|column| column.id).collect();
        format!("table `{}` has no column `{id}`; columns: {}", table.id, ids.join(", "))
    })
}

/// The groups in the order of their first rows: cells of the columns `by`, then what was made.
pub(super) fn group(rows: &[&Vec<Cell>], by: &[usize], made: &[Aggregation]) -> Vec<Vec<Cell>> {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut groups: Vec<(Vec<Cell>, Vec<&Vec<Cell>>)> = Vec::new();
    for row in rows {
        let key: Vec<Cell> = by.iter().map(|at| row.get(*at).cloned().unwrap_or(Cell::Unknown)).collect();
        let place = *places.entry(format!("{key:?}")).or_insert_with(|| {
            groups.push((key, Vec::new()));
            groups.len() - 1
        });
        groups[place].1.push(row);
    }
    let of_group = |(key, rows): (Vec<Cell>, Vec<&Vec<Cell>>)| {
        let cells = made.iter().map(|made| made.cell(&rows));
        key.into_iter().chain(cells).collect()
    };
    groups.into_iter().map(of_group).collect()
}

impl Aggregation {
    /// What is not known in one row is not known of the sum; the least and the largest are those of the rows that are known.
    fn cell(&self, rows: &[&Vec<Cell>]) -> Cell {
        let numbers = |at: usize| rows.iter().map(move |row| row.get(at).and_then(Cell::number));
        match self.of {
            Aggregate::Count => rows.len().into(),
            Aggregate::Sum(at) => {
                let whole = |row: &&Vec<Cell>| match row.get(at) {
                    Some(Cell::Int(value)) => Some(*value),
                    _ => None,
                };
                // Whole numbers stay whole: a double would round picoseconds of long runs.
                let exact = rows.iter().map(whole).try_fold(0_i64, |sum, value| sum.checked_add(value?));
                exact.map_or_else(|| numbers(at).sum::<Option<f64>>().into(), Cell::Int)
            }
            Aggregate::Min(at) => self.shaped(numbers(at).flatten().reduce(f64::min)),
            Aggregate::Max(at) => self.shaped(numbers(at).flatten().reduce(f64::max)),
        }
    }

    fn shaped(&self, value: Option<f64>) -> Cell {
        match value {
            Some(value)
                if value.fract() == 0.0
                    && value.abs() < 9e15
                    && !matches!(self.kind, Kind::Float | Kind::Share | Kind::Rate) =>
            {
                Cell::Int(value as i64)
            }
            value => value.into(),
        }
    }
}
