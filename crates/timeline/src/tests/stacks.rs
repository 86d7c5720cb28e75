//! Name stacks of an area.

use super::*;

fn shown(nodes: &[StackNode]) -> Vec<(&str, Option<u32>, i64, i64, u64)> {
    nodes.iter().map(|n| (n.name.as_str(), n.parent, n.total_ps, n.self_ps, n.count)).collect()
}

#[test]
fn what_lies_in_what_is_added_up_by_name() {
    // A loop twice, with a product and in it a copy, and the copy alone.
    let t =
        one_line("XLA Ops", &[(3, 0, 100), (1, 0, 40), (2, 10, 5), (3, 100, 50), (1, 110, 20), (2, 160, 10)]);
    let all = t.stacks(0, 200, &[LineId(0)], None, 10).unwrap();
    assert_eq!((all.total_ps, all.rows, all.left_out), (160, 4, 0));
    assert_eq!(
        shown(&all.inside),
        [
            ("while", None, 150, 90, 2),
            ("dot.1", Some(0), 60, 55, 2),
            ("copy.2", None, 10, 10, 1),
            ("copy.2", Some(1), 5, 5, 1),
        ]
    );
    // The largest ones hang together.
    assert_eq!(shown(&t.stacks(0, 200, &[LineId(0)], None, 2).unwrap().inside).len(), 2);
    // The window cuts; what began before it is not counted.
    let part = t.stacks(20, 120, &[LineId(0)], None, 10).unwrap();
    assert_eq!(shown(&part.inside), [("while", None, 100, 70, 1), ("dot.1", Some(0), 30, 30, 1)]);
}

#[test]
fn a_name_has_what_it_lay_in_and_what_lay_in_it() {
    let t =
        one_line("XLA Ops", &[(3, 0, 100), (1, 0, 40), (2, 10, 5), (3, 100, 50), (1, 110, 20), (2, 160, 10)]);
    let copy = t.stacks(0, 200, &[LineId(0)], Some("copy.2"), 10).unwrap();
    assert_eq!(shown(&copy.inside), [("copy.2", None, 15, 15, 2)]);
    assert_eq!(
        shown(&copy.around),
        [("copy.2", None, 15, 0, 2), ("dot.1", Some(0), 5, 0, 1), ("while", Some(1), 5, 0, 1)]
    );
    let dot = t.stacks(0, 200, &[LineId(0)], Some("dot.1"), 10).unwrap();
    assert_eq!(shown(&dot.inside), [("dot.1", None, 60, 55, 2), ("copy.2", Some(0), 5, 5, 1)]);
    assert_eq!(t.stacks(0, 200, &[LineId(0)], Some("nothing"), 10).unwrap(), NameStacks::default());
}

#[test]
fn a_name_inside_of_itself_counts_once() {
    let t = one_line("XLA Ops", &[(3, 0, 100), (1, 10, 50), (3, 20, 30)]);
    let own = t.stacks(0, 200, &[LineId(0)], Some("while"), 10).unwrap();
    assert_eq!(own.total_ps, 100);
    assert_eq!(
        shown(&own.inside),
        [("while", None, 100, 50, 1), ("dot.1", Some(0), 50, 20, 1), ("while", Some(1), 30, 30, 1)]
    );
    assert_eq!(shown(&own.around), [("while", None, 100, 0, 1)]);
}

#[test]
fn asynchronous_work_has_no_stacks() {
    let t = one_line("Async XLA Ops", &[(1, 0, 100), (1, 50, 100)]);
    let none = t.stacks(0, 200, &[LineId(0)], None, 10).unwrap();
    assert_eq!(none, NameStacks { left_out: 1, ..NameStacks::default() });
}
