use super::super::{Cell, Column, Finding, Link, Node, Series, Table, Text, Tree, Value};
use super::*;

const COLUMNS: &[Column] = &[Column::text("a", "A", "words"), Column::duration("b", "B", "a time")];

/// A report that has something of everything.
fn sample() -> Report {
    let mut table = Table { id: "t", title: "Table", columns: COLUMNS, rows: Vec::new() };
    table.rows.push(vec![Cell::from("one"), Cell::from(-1_i64)]);
    table.rows.push(vec![Cell::Unknown, Cell::from(i64::MIN)]);
    table.rows.push(vec![Cell::Flag(true), Cell::Float(-0.0)]);
    let leaf =
        Node { label: "leaf".into(), values: vec![Cell::Float(0.1), Cell::Flag(false)], children: vec![] };
    let node = Node { children: vec![leaf.clone(), leaf.clone()], ..leaf };
    let value = Value::new("v", "V", Some(1.5), Unit::Ratio, Status::Estimated, "a number");
    let link = Link::to("ops").row("t", "one").param("by", "op").device("TPU:0").steps("2-5").window(1, 2);
    let finding = Finding {
        id: "f",
        variant: Some("of_two"),
        speedup: Some(1.25),
        links: vec![link],
        ..Finding::default()
    };
    let mut report = Report {
        analysis: "overview",
        tables: vec![table],
        trees: vec![Tree { nodes: vec![node], ..Tree::new("tr", "Tree", COLUMNS) }],
        values: vec![value],
        findings: vec![finding],
        series: vec![Series {
            id: "s".into(),
            title: String::new(),
            x: ("x", Unit::Ps),
            y: ("y", Unit::FlopRate),
            points: vec![[1.0, f64::MAX]],
        }],
        texts: vec![Text { id: "x", title: "Text".into(), text: "line\n".into() }],
        gate: Some(Gate::NotComparable),
        ..Report::default()
    };
    report.scope.window_ps = Some([i64::MIN, i64::MAX]);
    report.scope.steps = Some("1".into());
    report.scope.hosts = vec!["w-0".into()];
    report
}

#[test]
fn a_report_comes_back_as_it_was() {
    let report = sample();
    let back = from_bytes(&to_bytes(&report).unwrap()).unwrap();
    assert_eq!(format!("{report:?}"), format!("{back:?}"));
    assert_eq!(report.to_json(), back.to_json());
    let empty = Report::default();
    assert_eq!(format!("{empty:?}"), format!("{:?}", from_bytes(&to_bytes(&empty).unwrap()).unwrap()));
}

#[test]
fn equal_columns_are_stored_once() {
    let bytes = to_bytes(&sample()).unwrap();
    let [a, b] = [from_bytes(&bytes).unwrap(), from_bytes(&bytes).unwrap()];
    assert!(std::ptr::eq(a.tables[0].columns, b.tables[0].columns));
    assert!(std::ptr::eq(a.tables[0].columns, a.trees[0].columns));
    assert!(std::ptr::eq(a.analysis, b.analysis));
}

#[test]
fn other_bytes_are_no_report_or_another_but_never_a_panic() {
    let whole = to_bytes(&sample()).unwrap();
    for at in 0..whole.len() {
        assert!(from_bytes(&whole[..at]).is_none(), "cut at {at}");
        for change in [0x01, 0x7f, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= change;
            let _ = from_bytes(&bytes).map(|report| report.to_json());
        }
    }
    assert!(from_bytes(&[&whole[..], &[0]].concat()).is_none());
}

#[test]
fn a_tree_too_deep_to_be_read_is_not_written() {
    let mut node = Node::default();
    for _ in 0..LEVELS {
        node = Node { children: vec![node], ..Node::default() };
    }
    let tree = Tree { nodes: vec![node], ..Tree::new("t", "", &[]) };
    assert!(to_bytes(&Report { trees: vec![tree], ..Report::default() }).is_none());
}
