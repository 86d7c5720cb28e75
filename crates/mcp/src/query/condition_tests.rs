use haloscope_report::{Cell, Column, Table, Unit};

use super::Condition;

const COLUMNS: &[Column] = &[
    Column::text("op", "Op", ""),
    Column::duration("self_ps", "Self", ""),
    Column::share("share", "Share", ""),
    Column::bytes("bytes", "Bytes", ""),
    Column::flag("slow", "Slow", ""),
    Column::text("unit", "Unit", ""),
    Column::quantity("value", "Value", ""),
    Column::rate("rate", "Rate", Unit::FlopRate, ""),
];

fn table() -> Table {
    let mut table = Table { id: "ops", title: "Ops", columns: COLUMNS, rows: Vec::new() };
    let row = |op: &str, self_ps: Option<i64>, share: f64, bytes: i64, slow: bool, unit: &str, value: f64| {
        vec![
            op.into(),
            self_ps.into(),
            share.into(),
            bytes.into(),
            slow.into(),
            unit.into(),
            value.into(),
            Cell::Unknown,
        ]
    };
    table.rows.push(row("copy.1", Some(2_000_000_000), 0.5, 1 << 30, true, "ps", 5e9));
    table.rows.push(row("fusion.2", Some(500), 0.1, 10, false, "share", 0.3));
    table.rows.push(row("copy-done.3", None, 0.4, 20, false, "B", 7.0));
    table
}

/// The rows for which it holds, and those for which nobody knows.
fn rows(text: &str) -> (Vec<usize>, Vec<usize>) {
    let table = table();
    let condition = Condition::read(text, &table).unwrap_or_else(|why| panic!("{text}: {why}"));
    let of = |wanted: Option<bool>| (0..3).filter(|i| condition.holds(&table.rows[*i]) == wanted).collect();
    (of(Some(true)), of(None))
}

fn wrong(text: &str) -> String {
    match Condition::read(text, &table()) {
        Err(why) => why,
        Ok(condition) => panic!("{text} was read as {condition:?}"),
    }
}

#[test]
fn units_are_those_of_the_column() {
    assert_eq!(rows("self_ps > 1ms").0, [0]);
    assert_eq!(rows("self_ps >= 500").0, [0, 1]);
    assert_eq!(rows("self_ps = 0.5 ns").0, [1]);
    assert_eq!(rows("share >= 40%").0, [0, 2]);
    assert_eq!(rows("bytes = 1GiB").0, [0]);
    assert!(wrong("self_ps > 3GiB").contains("`self_ps` is ps"));
    assert!(wrong("bytes > 3parsecs").contains("expected a unit"));
    assert!(wrong("self_ps > 'long'").contains("in ps if it has no unit"));
}

#[test]
fn a_row_with_its_own_unit_is_compared_in_it() {
    assert_eq!(rows("value > 1us"), (vec![0], vec![1, 2]));
    assert_eq!(rows("value > 20%"), (vec![1], vec![0, 2]));
    assert_eq!(rows("value > 1").0, [0, 2]);
}

#[test]
fn texts_are_equal_or_held() {
    assert_eq!(rows("op = 'copy.1'").0, [0]);
    assert_eq!(rows("op ~ 'COPY'").0, [0, 2]);
    assert_eq!(rows("op !~ \"copy\"").0, [1]);
    assert_eq!(rows("op in ('copy.1', 'fusion.2')").0, [0, 1]);
    assert_eq!(rows("op not in ('copy.1')").0, [1, 2]);
}

#[test]
fn what_is_not_known_is_neither_equal_nor_unequal() {
    assert_eq!(rows("self_ps > 0"), (vec![0, 1], vec![2]));
    assert_eq!(rows("not self_ps > 0"), (vec![], vec![2]));
    assert_eq!(rows("self_ps is null").0, [2]);
    assert_eq!(rows("self_ps is not null").0, [0, 1]);
    // The other part decides alone where it can.
    assert_eq!(rows("self_ps > 0 or op ~ 'copy'"), (vec![0, 1, 2], vec![]));
    assert_eq!(rows("self_ps > 0 and op ~ 'fusion'"), (vec![1], vec![]));
    assert_eq!(rows("rate > 1TFLOP/s"), (vec![], vec![0, 1, 2]));
}

#[test]
fn and_binds_more_than_or() {
    assert_eq!(rows("slow or share < 20% and op ~ 'x'").0, [0]);
    assert_eq!(rows("(slow or share < 20%) and op ~ 'fusion'").0, [1]);
    assert_eq!(rows("not slow").0, [1, 2]);
    assert_eq!(rows("slow = false").0, [1, 2]);
}

#[test]
fn a_mistake_says_what_there_is() {
    assert!(wrong("time > 1").contains("columns: op, self_ps"));
    assert!(wrong("op").contains("expected a comparison"));
    assert!(wrong("self_ps > 1 op = 'x'").contains("expected `and`"));
    assert!(wrong("(self_ps > 1").contains("expected `)`"));
    assert!(wrong("").contains("expected a column, found the end"));
    assert!(wrong(&format!("{}slow", "not ".repeat(100))).contains("deep"));
    assert!(wrong("share ~ 1").contains("`~` asks"));
}
