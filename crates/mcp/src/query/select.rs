//! A question about a table, answered.

use std::cmp::Ordering;

use haloscope_report::{Cell, Kind, Table, Unit};

use super::Wrong;
use super::condition::Condition;
use super::group::{self, Aggregation};

/// What is asked of a table. Empty lists and texts ask for nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Request {
    /// Ids of columns in the order wanted; with `group` also `sum(id)` and the like. Empty: all, or the groups and `count()`.
    pub columns: Vec<String>,
    /// A condition on a row.
    pub condition: String,
    /// Ids of the columns whose equal values bring rows together.
    pub group: Vec<String>,
    /// Ids, from the smallest to the largest value; `-id` or `id desc` the other way round.
    pub sort: Vec<String>,
}

/// The rows asked for, all of them: who answers cuts them to size.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Selected {
    /// Id, unit and kind of each cell.
    pub columns: Vec<SelectedColumn>,
    pub rows: Vec<Vec<Cell>>,
    /// Rows of the table for which the condition holds.
    pub matched: usize,
    /// Rows left out because the condition rests on what is not known there.
    pub unknown: usize,
}

/// A column of the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SelectedColumn {
    pub id: String,
    pub unit: Unit,
    pub kind: Kind,
}

/// Answers a question about a table.
pub(crate) fn select(table: &Table, asked: &Request) -> Result<Selected, Wrong> {
    let (kept, unknown) = kept(table, asked.condition.trim())?;
    let matched = kept.len();
    let (columns, mut rows) = if asked.group.is_empty() {
        (whole(table), kept.into_iter().cloned().collect())
    } else {
        grouped(table, asked, &kept)?
    };
    for key in asked.sort.iter().rev() {
        sort(&columns, &mut rows, key)?;
    }
    if asked.group.is_empty() && !asked.columns.is_empty() {
        let places =
            asked.columns.iter().map(|id| group::column(id.trim(), table)).collect::<Result<Vec<_>, _>>()?;
        let pick =
            |row: Vec<Cell>| places.iter().map(|at| row.get(*at).cloned().unwrap_or(Cell::Unknown)).collect();
        rows = rows.into_iter().map(pick).collect();
        let columns = places.iter().map(|at| columns[*at].clone()).collect();
        return Ok(Selected { columns, rows, matched, unknown });
    }
    Ok(Selected { columns, rows, matched, unknown })
}

fn kept<'t>(table: &'t Table, condition: &str) -> Result<(Vec<&'t Vec<Cell>>, usize), Wrong> {
    if condition.is_empty() {
        return Ok((table.rows.iter().collect(), 0));
    }
    let condition = Condition::read(condition, table)?;
    let mut unknown = 0;
    let mut kept = Vec::new();
    for row in &table.rows {
        match condition.holds(row) {
            Some(true) => kept.push(row),
            Some(false) => {}
            None => unknown += 1,
        }
    }
    Ok((kept, unknown))
}

fn whole(table: &Table) -> Vec<SelectedColumn> {
    table
        .columns
        .iter()
        .map(|column| SelectedColumn { id: column.id.to_owned(), unit: column.unit, kind: column.kind })
        .collect()
}

type Parts = (Vec<SelectedColumn>, Vec<Vec<Cell>>);

fn grouped(table: &Table, asked: &Request, kept: &[&Vec<Cell>]) -> Result<Parts, Wrong> {
    let by = asked.group.iter().map(|id| group::column(id.trim(), table)).collect::<Result<Vec<_>, _>>()?;
    let own = whole(table);
    let wanted: Vec<&str> = asked
        .columns
        .iter()
        .map(|id| id.trim())
        .filter(|id| !asked.group.iter().any(|g| g.trim() == *id))
        .collect();
    let made: Vec<Aggregation> = if wanted.is_empty() {
        vec![group::read("count()", table)?]
    } else {
        wanted.iter().map(|text| group::read(text, table)).collect::<Result<_, _>>()?
    };
    let columns = by.iter().map(|at| own[*at].clone());
    let columns = columns
        .chain(made.iter().map(|made| SelectedColumn {
            id: made.id.clone(),
            unit: made.unit,
            kind: made.kind,
        }))
        .collect();
    Ok((columns, group::group(kept, &by, &made)))
}

/// Orders the rows by one column; those without a value stand last, whichever the direction.
fn sort(columns: &[SelectedColumn], rows: &mut [Vec<Cell>], key: &str) -> Result<(), Wrong> {
    let key = key.trim();
    let (id, down) = match key.strip_prefix('-') {
        Some(id) => (id.trim(), true),
        None => match key.rsplit_once(' ') {
            Some((id, "desc")) => (id.trim(), true),
            Some((id, "asc")) => (id.trim(), false),
            _ => (key, false),
        },
    };
    let at = columns.iter().position(|column| column.id == id).ok_or_else(|| {
        let ids: Vec<&str> = columns.iter().map(|column| column.id.as_str()).collect();
        format!("cannot sort by `{id}`; the answer has: {}", ids.join(", "))
    })?;
    rows.sort_by(|a, b| {
        let (a, b) = (a.get(at).unwrap_or(&Cell::Unknown), b.get(at).unwrap_or(&Cell::Unknown));
        match (a, b) {
            (Cell::Unknown, Cell::Unknown) => Ordering::Equal,
            (Cell::Unknown, _) => Ordering::Greater,
            (_, Cell::Unknown) => Ordering::Less,
            _ if down => order(b, a),
            _ => order(a, b),
        }
    });
    Ok(())
}

fn order(a: &Cell, b: &Cell) -> Ordering {
    match (a, b) {
        (Cell::Int(a), Cell::Int(b)) => a.cmp(b),
        (Cell::Flag(a), Cell::Flag(b)) => a.cmp(b),
        (Cell::Text(a), Cell::Text(b)) => a.cmp(b),
        _ => a.number().partial_cmp(&b.number()).unwrap_or(Ordering::Equal),
    }
}

#[cfg(test)]
mod tests {
    use haloscope_report::Column;

    use super::*;

    const COLUMNS: &[Column] = &[
        Column::text("op", "Op", ""),
        Column::text("category", "Category", ""),
        Column::duration("self_ps", "Self", ""),
        Column::rate("rate", "Rate", Unit::FlopRate, ""),
    ];

    fn table() -> Table {
        let mut table = Table { id: "ops", title: "Ops", columns: COLUMNS, rows: Vec::new() };
        let row = |op: &str, category: &str, self_ps: Option<i64>| {
            vec![op.into(), category.into(), self_ps.into(), 1.0.into()]
        };
        table.rows = vec![
            row("a", "copy", Some(3)),
            row("b", "fusion", Some(9)),
            row("c", "copy", Some(4)),
            row("d", "other", None),
        ];
        table
    }

    fn asked(columns: &[&str], condition: &str, group: &[&str], sort: &[&str]) -> Request {
        let own = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        Request { columns: own(columns), condition: condition.into(), group: own(group), sort: own(sort) }
    }

    #[test]
    fn rows_are_chosen_ordered_and_cut_to_columns() {
        let found = select(&table(), &asked(&["op"], "self_ps >= 4", &[], &["-self_ps"])).expect("an answer");
        assert_eq!(found.rows, [vec![Cell::from("b")], vec![Cell::from("c")]]);
        assert_eq!((found.matched, found.unknown), (2, 1));
        let all = select(&table(), &asked(&[], "", &[], &["self_ps desc"])).expect("an answer");
        assert_eq!(
            all.rows.last().map(|row| row[0].clone()),
            Some("d".into()),
            "what is not known stands last"
        );
        assert_eq!(all.columns.len(), 4);
    }

    #[test]
    fn groups_add_up_and_unknown_stays_unknown() {
        let found =
            select(&table(), &asked(&["sum(self_ps)", "count()"], "", &["category"], &["-sum(self_ps)"]))
                .expect("an answer");
        let row =
            |category: &str, sum: Option<i64>, count: i64| vec![category.into(), sum.into(), count.into()];
        assert_eq!(found.rows, [row("fusion", Some(9), 1), row("copy", Some(7), 2), row("other", None, 1)]);
        let counted = select(&table(), &asked(&[], "", &["category"], &[])).expect("an answer");
        assert_eq!(counted.columns[1].id, "count()");
        let largest = select(&table(), &asked(&["max(self_ps)"], "", &["category"], &[])).expect("an answer");
        assert_eq!(largest.rows[0], [Cell::from("copy"), Cell::Int(4)]);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let wrong = |asked: &Request| select(&table(), asked).expect_err("a refusal");
        assert!(wrong(&asked(&["sum(rate)"], "", &["category"], &[])).contains("do not add up"));
        assert!(wrong(&asked(&["sum(op)"], "", &["category"], &[])).contains("not a number"));
        assert!(wrong(&asked(&["op"], "", &["category"], &[])).contains("count()"));
        assert!(wrong(&asked(&["nope"], "", &[], &[])).contains("has no column"));
        assert!(wrong(&asked(&[], "", &[], &["nope"])).contains("cannot sort"));
    }
}
