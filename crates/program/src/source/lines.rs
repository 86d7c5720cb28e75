//! Sums by file and by line.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::columns::OPS;
use crate::source_frames::{Frame, Place};
use haloscope_profile::Peaks;
use haloscope_report::{Cell, Column, Row, Table, Unit, row};
use haloscope_time::op_meta::is_container;
use haloscope_time::ops::Op;
use haloscope_time::ops::analysis::Sums as Work;
use haloscope_time::roofline::add_known;

const SELF: Column = Column::duration(
    "self_ps",
    "Own time",
    "Self time of the ops that come from here: whose innermost frame it is. Summed over devices.",
);
const SHARE: Column =
    Column::share("share", "Share", "Own time as a share of the self time of all ops in the scope.");
const TOTAL: Column = Column::duration(
    "total_ps",
    "With callees",
    "Self time of the ops that have this anywhere in their stack, each op once.",
);
const FLOP_SHARE: Column = Column::share(
    "flop_share_of_peak",
    "FLOP/s of peak",
    "FLOPs per own time, as a share of the peak of one device.",
);
const HBM_SHARE: Column = Column::share(
    "hbm_share_of_peak",
    "HBM of peak",
    "Bytes to and from HBM per own time, as a share of the peak of one device.",
);
const OCCURRENCES: Column =
    Column::count("occurrences", "Count", "Executions of these ops, summed over devices.");
const FLOPS: Column = Column::float(
    "flops",
    "FLOPs",
    Unit::Flop,
    "FLOPs of all executions of these ops; without while, call and conditional, because the ops inside them are counted.",
);
const BYTES: Column =
    Column::bytes("bytes_accessed", "Bytes", "Bytes accessed by all executions, in all memories.");
const HBM_BYTES: Column = Column::bytes("hbm_bytes", "HBM bytes", "Bytes to and from HBM of all executions.");

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

    pub(super) fn by_file(&self, all: i64, peaks: &Peaks) -> Table {
        let mut lines_of: BTreeMap<&str, BTreeSet<Option<u32>>> = BTreeMap::new();
        for place in self.lines.keys() {
            lines_of.entry(&place.file).or_default().insert(place.line);
        }
        let row = |(file, here): (&&str, &Here<'_, '_>)| {
            let n = Numbers::of(here, all, peaks);
            let lines = lines_of.get(file).map(BTreeSet::len);
            let row = row![
                text("file", "File", "The file's path as the profile has it.", *file),
                column(SELF, n.self_ps),
                column(SHARE, n.share),
                column(TOTAL, here.total_ps),
                column(FLOP_SHARE, n.flop_share),
                column(HBM_SHARE, n.hbm_share),
                count("lines", "Lines", "Lines that an op's stack names.", lines),
                column(OPS, here.own.len()),
                column(OCCURRENCES, n.occurrences),
                column(FLOPS, n.flops),
                column(BYTES, n.bytes),
                column(HBM_BYTES, n.hbm_bytes),
            ];
            ((n.self_ps, here.total_ps), row)
        };
        Table::of("files", "Source files by own time", sorted(self.files.iter().map(row).collect()))
    }

    pub(super) fn by_line(&self, file: &str, all: i64, peaks: &Peaks) -> Table {
        let row = |(place, here): (&&Place<'_>, &Here<'_, '_>)| {
            let n = Numbers::of(here, all, peaks);
            let top = here.own.first();
            let text = |t: Option<&str>| t.filter(|t| !t.is_empty()).map_or(Cell::Unknown, Cell::from);
            let row = row![
                text("place", "Line", "The end of the file's path, and the line.", short(place)),
                column(SELF, n.self_ps),
                column(SHARE, n.share),
                column(TOTAL, here.total_ps),
                text(
                    "text",
                    "Text",
                    "The line's text. The command line fills it with `--source-root`; the page asks the server for it.",
                    Cell::Unknown
                ),
                text(
                    "top_op",
                    "Largest op",
                    "The op from here that takes the most time.",
                    text(top.map(|op| op.meta.name.as_ref()))
                ),
                column(FLOP_SHARE, n.flop_share),
                column(HBM_SHARE, n.hbm_share),
                column(OPS, here.own.len()),
                column(OCCURRENCES, n.occurrences),
                column(FLOPS, n.flops),
                column(BYTES, n.bytes),
                column(HBM_BYTES, n.hbm_bytes),
                text(
                    "function",
                    "Function",
                    "The function around the line, if the compiler recorded it.",
                    text(Some(&here.function))
                ),
                text(
                    "category",
                    "Category",
                    "HLO category of the largest op.",
                    text(top.map(|op| op.meta.category.as_ref()))
                ),
                text(
                    "module",
                    "Module",
                    "The HLO module of the largest op.",
                    text(top.map(|op| op.module.as_ref()))
                ),
                text("file", "File", "The file's path as the profile has it.", place.file.as_ref()),
                count("line", "Number", "The line in the file, from 1.", place.line.map(i64::from)),
            ];
            ((n.self_ps, here.total_ps), row)
        };
        let lines = self.lines.iter().filter(|(place, _)| place.file.contains(file));
        Table::of("lines", "Source lines by own time", sorted(lines.map(row).collect()))
    }
}

/// Largest first; equals keep their order, which is that of their names.
fn sorted<C>(mut rows: Vec<((i64, i64), Row<C>)>) -> impl Iterator<Item = Row<C>> {
    rows.sort_by_key(|(size, _)| Reverse(*size));
    rows.into_iter().map(|(_, row)| row)
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
        let rows = lines.by_line("", 100, &Peaks::default()).rows;
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
        let files = lines.by_file(100, &Peaks::default()).rows;
        assert_eq!(
            (&files[0][1], &files[0][3], &files[0][6]),
            (&Cell::Int(100), &Cell::Int(100), &Cell::Int(2))
        );
        assert_eq!((&files[1][1], &files[1][3]), (&Cell::Int(0), &Cell::Int(100)));
        assert_eq!(lines.by_line("r.p", 100, &Peaks::default()).rows.len(), 1);
    }
}
