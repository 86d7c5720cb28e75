//! The tree of calls that lead to ops, outermost first.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::lines::{Placed, short};
use crate::source_frames::Frame;
use haloscope_report::{Cell, DEEPEST, Node};

#[derive(Default)]
struct Call<'a, 'p> {
    frame: Option<&'a Frame<'p>>,
    total_ps: i64,
    self_ps: i64,
    ops: u64,
    children: BTreeMap<(&'a str, Option<u32>), Call<'a, 'p>>,
}

/// The outermost calls, of stacks that lead through a file with this in its path. Frames deeper than a tree may have levels
/// count to the last that fits.
pub(super) fn tree<'a>(placed: &'a [Placed<'a, '_>], file: &str, all: i64) -> Vec<Node> {
    let mut root = Call::default();
    for (op, frames) in placed {
        if frames.is_empty() || !frames.iter().any(|f| f.place.file.contains(file)) {
            continue;
        }
        let mut at = &mut root;
        for frame in frames.iter().rev().take(DEEPEST) {
            at = at.children.entry((&frame.place.file, frame.place.line)).or_default();
            at.frame = Some(frame);
            at.total_ps = at.total_ps.saturating_add(op.self_ps);
        }
        at.self_ps = at.self_ps.saturating_add(op.self_ps);
        at.ops += 1;
    }
    nodes(&root, all)
}

fn nodes(call: &Call<'_, '_>, all: i64) -> Vec<Node> {
    let mut children: Vec<_> = call.children.values().collect();
    children.sort_by_key(|child| Reverse(child.total_ps));
    children.into_iter().filter_map(|child| Some(node(child, child.frame?, all))).collect()
}

fn node(call: &Call<'_, '_>, frame: &Frame<'_>, all: i64) -> Node {
    let place = short(&frame.place);
    let label = if frame.function.is_empty() { place } else { format!("{} ({place})", frame.function) };
    let values = vec![
        call.total_ps.into(),
        (all > 0).then(|| call.total_ps as f64 / all as f64).into(),
        call.self_ps.into(),
        call.ops.into(),
        frame.place.file.as_ref().into(),
        frame.place.line.map(i64::from).into(),
        if frame.function.is_empty() { Cell::Unknown } else { frame.function.as_ref().into() },
    ];
    Node { label, values, children: nodes(call, all) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source_frames::Place;
    use haloscope_time::ops::Op;

    #[test]
    fn calls_are_shared_from_the_outside_in() {
        let frame = |line| Frame {
            place: Place { file: "m.py".into(), line: Some(line) },
            function: if line == 1 { "main".into() } else { "".into() },
        };
        let op = |self_ps| Op { self_ps, ..Op::default() };
        let (one, two, three) = (op(50), op(30), op(20));
        let placed =
            [(&one, vec![frame(7), frame(1)]), (&two, vec![frame(8), frame(7), frame(1)]), (&three, vec![])];
        let nodes = tree(&placed, "", 100);
        let [main] = nodes.as_slice() else { panic!("{nodes:?}") };
        assert_eq!((main.label.as_str(), &main.values[0]), ("main (m.py:1)", &Cell::Int(80)));
        let inner = &main.children[0];
        assert_eq!(
            (inner.label.as_str(), &inner.values[0], &inner.values[2]),
            ("m.py:7", &Cell::Int(80), &Cell::Int(50))
        );
        assert_eq!(inner.children[0].values[2], Cell::Int(30));
        assert!(tree(&placed, "other", 100).is_empty());
    }
}
