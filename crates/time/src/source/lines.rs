//! Sums by file and by line.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::op_meta::is_container;
use crate::ops::Op;
use crate::ops::analysis::Sums as Work;
use crate::roofline::add_known;
use crate::source_frames::{Frame, Place};
use haloscope_profile::Peaks;
use haloscope_report::Cell;

/// Parts of a path that are shown of a line's file.
const PARTS: usize = 2;

/// An op with its frames, innermost first.
pub(super) type Placed<'a, 'p> = (&'a Op<'p>, Vec<Frame<'p>>);

/// What comes from one place.
#[derive(Default)]
struct Here<'a, 'p> {
    /// Ops whose innermost frame is here, largest first.
    own: Vec<&'a Op<'p>>,
    total_ps: i64,
    function: Cow<'a, str>,
}

/// Sums by file and by line.
pub(super) struct Lines<'a, 'p> {
    files: BTreeMap<&'a str, Here<'a, 'p>>,
    lines: BTreeMap<&'a Place<'p>, Here<'a, 'p>>,
}

impl<'a, 'p> Lines<'a, 'p> {
    /// Of ops that come largest first.
    pub(super) fn of(placed: &'a [Placed<'a, 'p>]) -> Self {
        let mut sums = Self { files: BTreeMap::new(), lines: BTreeMap::new() };
        for (op, frames) in placed {
            for (at, frame) in frames.iter().enumerate() {
                let file = sums.files.entry(&frame.place.file).or_default();
                let line = sums.lines.entry(&frame.place).or_default();
                if line.function.is_empty() {
                    line.function = Cow::Borrowed(&frame.function);
                }
                let seen = &frames[..at];
                if !seen.iter().any(|f| f.place.file == frame.place.file) {
                    file.total_ps = file.total_ps.saturating_add(op.self_ps);
                }
                if !seen.iter().any(|f| f.place == frame.place) {
                    line.total_ps = line.total_ps.saturating_add(op.self_ps);
                }
                if at == 0 {
                    file.own.push(op);
                    line.own.push(op);
                }
            }
        }
        sums
    }

    pub(super) fn file_rows(&self, all: i64, peaks: &Peaks) -> Vec<Vec<Cell>> {
        let mut lines_of: BTreeMap<&str, BTreeSet<Option<u32>>> = BTreeMap::new();
        for place in self.lines.keys() {
            lines_of.entry(&place.file).or_default().insert(place.line);
        }
        let row = |(file, here): (&&str, &Here<'_, '_>)| {
            let n = Numbers::of(here, all, peaks);
            let lines = lines_of.get(file).map(BTreeSet::len);
            let row = vec![
                Cell::from(*file),
                n.self_ps.into(),
                n.share.into(),
                here.total_ps.into(),
                n.flop_share.into(),
                n.hbm_share.into(),
                lines.into(),
                here.own.len().into(),
                n.occurrences.into(),
                n.flops.into(),
                n.bytes.into(),
                n.hbm_bytes.into(),
            ];
            ((n.self_ps, here.total_ps), row)
        };
        sorted(self.files.iter().map(row).collect())
    }

    pub(super) fn line_rows(&self, file: &str, all: i64, peaks: &Peaks) -> Vec<Vec<Cell>> {
        let row = |(place, here): (&&Place<'_>, &Here<'_, '_>)| {
            let n = Numbers::of(here, all, peaks);
            let top = here.own.first();
            let text = |t: Option<&str>| t.filter(|t| !t.is_empty()).map_or(Cell::Unknown, Cell::from);
            let row = vec![
                short(place).into(),
                n.self_ps.into(),
                n.share.into(),
                here.total_ps.into(),
                Cell::Unknown,
                text(top.map(|op| op.meta.name.as_ref())),
                n.flop_share.into(),
                n.hbm_share.into(),
                here.own.len().into(),
                n.occurrences.into(),
                n.flops.into(),
                n.bytes.into(),
                n.hbm_bytes.into(),
                text(Some(&here.function)),
                text(top.map(|op| op.meta.category.as_ref())),
                text(top.map(|op| op.module.as_ref())),
                place.file.as_ref().into(),
                place.line.map(i64::from).into(),
            ];
            ((n.self_ps, here.total_ps), row)
        };
        sorted(self.lines.iter().filter(|(place, _)| place.file.contains(file)).map(row).collect())
    }
}

/// Largest first; equals keep their order, which is that of their names.
fn sorted(mut rows: Vec<((i64, i64), Vec<Cell>)>) -> Vec<Vec<Cell>> {
    rows.sort_by_key(|(size, _)| Reverse(*size));
    rows.into_iter().map(|(_, row)| row).collect()
}

/// The end of the path, and the line.
pub(super) fn short(place: &Place<'_>) -> String {
    let start = place.file.rmatch_indices('/').nth(PARTS - 1).map_or(0, |(at, _)| at + 1);
    let file = &place.file[start..];
    place.line.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}"))
}

struct Numbers {
    self_ps: i64,
    occurrences: u64,
    share: Option<f64>,
    flop_share: Option<f64>,
    hbm_share: Option<f64>,
    flops: Option<f64>,
    bytes: Option<f64>,
    hbm_bytes: Option<f64>,
}

impl Numbers {
    fn of(here: &Here<'_, '_>, all: i64, peaks: &Peaks) -> Self {
        let sums = Work::of(here.own.iter().copied());
        let limits = sums.work().against(peaks);
        let mut bytes = None;
        for op in here.own.iter().filter(|op| !is_container(&op.meta.category)) {
            add_known(&mut bytes, op.bytes);
        }
        Self {
            self_ps: sums.self_ps,
            occurrences: sums.occurrences,
            share: (all > 0).then(|| sums.self_ps as f64 / all as f64),
            flop_share: limits.flop_share,
            hbm_share: limits.hbm_share,
            flops: sums.flops,
            bytes,
            hbm_bytes: sums.hbm_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(file: &'static str, line: u32) -> Frame<'static> {
        Frame { place: Place { file: file.into(), line: Some(line) }, function: "f".into() }
    }

    #[test]
    fn own_time_is_of_the_inner_frame_and_total_of_all() {
        let op = |self_ps| Op { self_ps, occurrences: 1, ..Op::default() };
        let (large, small) = (op(70), op(30));
        // A function that calls itself counts its ops once.
        let placed = [
            (
                &large,
                vec![frame("a/b/m.py", 3), frame("a/b/m.py", 9), frame("a/b/m.py", 9), frame("r.py", 1)],
            ),
            (&small, vec![frame("a/b/m.py", 9), frame("r.py", 1)]),
        ];
        let lines = Lines::of(&placed);
        let rows = lines.line_rows("", 100, &Peaks::default());
        let shown: Vec<_> =
            rows.iter().map(|r| (r[0].as_text().unwrap(), r[1].clone(), r[3].clone())).collect();
        assert_eq!(
            shown,
            [
                ("b/m.py:3", Cell::Int(70), Cell::Int(70)),
                ("b/m.py:9", Cell::Int(30), Cell::Int(100)),
                ("r.py:1", Cell::Int(0), Cell::Int(100)),
            ]
        );
        let files = lines.file_rows(100, &Peaks::default());
        assert_eq!(
            (&files[0][1], &files[0][3], &files[0][6]),
            (&Cell::Int(100), &Cell::Int(100), &Cell::Int(2))
        );
        assert_eq!((&files[1][1], &files[1][3]), (&Cell::Int(0), &Cell::Int(100)));
        assert_eq!(lines.line_rows("r.p", 100, &Peaks::default()).len(), 1);
    }
}
