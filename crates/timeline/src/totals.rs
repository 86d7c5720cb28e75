//! Totals of an area: some tracks, and a window of time.
//!
//! The events of op lines are counted by the code that the analysis `ops` runs on, with the same window, so that both say
//! the same to the picosecond. Events of other lines are cut to the window and counted by name.

use std::borrow::Cow;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::{Timeline, label, nests};
use haloscope_profile::{Device, Event, Line, LineId, LineKind, MetaIdx};
use haloscope_report::Error;
use haloscope_report::stop;
use haloscope_time::intervals::Intervals;
use haloscope_time::nesting::walk_own;
use haloscope_time::op_lines::holds_ops;
use haloscope_time::op_meta::is_container;
use haloscope_time::op_sums::Sums;
use haloscope_time::ops::{self, Op};
use haloscope_time::roofline::add_known;

/// What ran in an area of the timeline.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Totals {
    /// Events with a part in the window, of all chosen tracks.
    pub events: u64,
    /// The length of the window, picoseconds.
    pub span_ps: i64,
    /// Time in which an event of at least one chosen track was going on, picoseconds, as drawn. At most `span_ps`.
    pub union_ps: i64,
    /// Number of rows that there are; [`Totals::by_op`] may hold fewer.
    pub rows: usize,
    /// By op and by name, largest self time first, those without one by total time behind.
    pub by_op: Vec<NameTotal>,
    /// Ops by category, largest self time first. Events of other lines are not here: they are views of the same time.
    pub by_category: Vec<CategoryTotal>,
    /// The chosen tracks, in the order asked, each once.
    pub tracks: Vec<TrackTotal>,
}

/// The executions of an op, or the events of one name.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct NameTotal {
    /// The op, or the events' label.
    pub name: String,
    /// `op`, or what sort of track the events are on.
    pub kind: &'static str,
    /// The HLO category; `None` where the profile states none.
    pub category: Option<String>,
    /// The HLO module; `None` where it is not known, and for events that are no ops.
    pub module: Option<String>,
    /// The program's id in digits, which a double could not hold; `None` likewise.
    pub program: Option<String>,
    /// Those that start in the window.
    pub count: u64,
    /// Time in the window, picoseconds.
    pub total_ps: i64,
    /// Time in the window less that of what ran inside, picoseconds; `None` on lines whose events do not nest.
    pub self_ps: Option<i64>,
    /// FLOPs; an execution that is partly in the window counts by its share of time. `None` where nobody counted them.
    pub flops: Option<f64>,
    /// Bytes accessed in all memories, likewise.
    pub bytes: Option<f64>,
}

/// The ops of one category.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct CategoryTotal {
    /// As the profiler names it; `(not recorded)` where it does not.
    pub name: String,
    /// Executions that start in the window.
    pub count: u64,
    /// Self time in the window, picoseconds.
    pub self_ps: i64,
    /// FLOPs, without those of `while`, `call` and `conditional`, whose FLOPs are those of the ops inside.
    pub flops: Option<f64>,
    /// Bytes accessed, likewise.
    pub bytes: Option<f64>,
}

/// A chosen track.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct TrackTotal {
    /// The line.
    pub id: u32,
    /// Its events with a part in the window.
    pub events: u64,
    /// Time in which any of them was going on, picoseconds.
    pub union_ps: i64,
}

/// What one line has in the window.
struct OfLine {
    events: u64,
    union: Intervals,
    /// Sums of the events that are no ops, by metadata row; self time is `None` where events do not nest.
    named: Vec<(MetaIdx, Sums, bool)>,
}

impl Timeline {
    /// Totals of an area: what `lines` have between two times (picoseconds on the run's clock, the end excluded), with
    /// the `limit` largest rows.
    ///
    /// If all op lines of a device are chosen, its rows are those of the analysis `ops` with this window on this device.
    ///
    /// # Errors
    /// [`Error::Usage`] for an empty window and for a line that there is not.
    pub fn totals(
        &self,
        start_ps: i64,
        end_ps: i64,
        lines: &[LineId],
        limit: usize,
    ) -> Result<Totals, Error> {
        if start_ps >= end_ps {
            return Err(Error::Usage(format!(
                "expected a window that ends after it starts, found {start_ps}..{end_ps} ps"
            )));
        }
        let mut chosen: Vec<&Line> = Vec::new();
        for id in &self.recorded(lines) {
            let line = self.line(*id)?;
            if !chosen.iter().any(|l| l.id == line.id) {
                chosen.push(line);
            }
        }
        let cut = Intervals::one(start_ps, end_ps);
        let of_lines: Vec<OfLine> =
            chosen.par_iter().map(stop::carried(|line: &&Line| self.of_line(line, &cut))).collect();
        let ops = self.ops_of(&chosen, &cut);
        let mut rows: Vec<NameTotal> = ops.iter().map(op_row).collect();
        rows.extend(self.named_rows(&chosen, &of_lines));
        let key = |row: &NameTotal| (row.self_ps.is_none(), -row.self_ps.unwrap_or(row.total_ps));
        rows.sort_by(|a, b| {
            (key(a), &a.name, a.kind, &a.program).cmp(&(key(b), &b.name, b.kind, &b.program))
        });
        let count = rows.len();
        rows.truncate(limit);
        let union = of_lines.iter().flat_map(|l| l.union.as_slice().iter().copied()).collect();
        let track = |(line, of): (&&Line, &OfLine)| TrackTotal {
            id: line.id.0,
            events: of.events,
            union_ps: of.union.length(),
        };
        Ok(Totals {
            events: of_lines.iter().map(|l| l.events).sum(),
            span_ps: cut.length(),
            union_ps: Intervals::union_of(union).length(),
            rows: count,
            by_op: rows,
            by_category: by_category(&ops),
            tracks: chosen.iter().zip(&of_lines).map(track).collect(),
        })
    }

    /// The device whose ops stand on a line.
    fn device_of(&self, line: &Line) -> Option<&Device> {
        self.profile.devices.iter().find(|d| d.plane == line.plane && holds_ops(d.kind, line.kind))
    }

    fn ops_of(&self, chosen: &[&Line], cut: &Intervals) -> Vec<Op<'_>> {
        let on =
            |device: &Device| chosen.iter().any(|l| self.device_of(l).is_some_and(|d| d.id == device.id));
        let devices: Vec<&Device> = self.profile.devices.iter().filter(|d| on(d)).collect();
        let takes = |id: LineId| chosen.iter().any(|l| l.id == id);
        let of_device = |device: &&Device| {
            let plain =
                || ops::of_lines(&self.profile, self.kept.ops(&self.profile, device), Some(cut), takes);
            ops::of_lines_in(&self.profile, device, cut, takes).unwrap_or_else(plain)
        };
        let parts: Vec<Vec<Op<'_>>> = devices.par_iter().map(stop::carried(of_device)).collect();
        ops::together(parts.into_iter().flatten())
    }

    fn of_line(&self, line: &Line, cut: &Intervals) -> OfLine {
        let events = self.profile.events(line);
        let (from, to) = cut.hull().unwrap_or((0, 0));
        let inside = || (0..events.rows_before(to)).map(|i| events.get(i)).filter(|e| e.touches(from, to));
        let mut count = 0;
        let union = inside().inspect(|_| count += 1).map(|e| (e.start_ps.max(from), e.end_ps.min(to)));
        let union = Intervals::union_of_sorted(union);
        let rows = self.device_of(line).map(|device| {
            let ops = self.kept.ops(&self.profile, device);
            (ops.rows_of(line.id), ops.ops.len())
        });
        let is_op = |e: &Event| rows.is_some_and(|(rows, ops)| (rows.of(e) as usize) < ops);
        let mut sums: FxHashMap<MetaIdx, Sums> = FxHashMap::default();
        let nests = nests(line);
        let mut add = |event: &Event, own| {
            if !is_op(event) {
                sums.entry(event.meta).or_default().add(event, own, Some(cut));
            }
        };
        match line.kind {
            // All of them are ops.
            LineKind::XlaOps | LineKind::Stream if rows.is_some() => {}
            _ if nests => walk_own(inside, Some(cut), |event, own| add(&event, own)),
            _ => inside().for_each(|event| add(&event, 0)),
        }
        let mut named: Vec<_> = sums.into_iter().map(|(meta, sum)| (meta, sum, nests)).collect();
        named.sort_unstable_by_key(|(meta, ..)| *meta);
        OfLine { events: count, union, named }
    }

    /// Events that are no ops, by name and sort of track.
    fn named_rows(&self, chosen: &[&Line], of_lines: &[OfLine]) -> Vec<NameTotal> {
        let mut rows: Vec<NameTotal> = Vec::new();
        let mut row_of: FxHashMap<(&'static str, String), usize> = FxHashMap::default();
        for (line, of) in chosen.iter().zip(of_lines) {
            let plane = self.profile.plane(line.plane);
            let kind = kind_word(line.kind);
            for (meta, sum, nests) in &of.named {
                let name = label(&self.profile, plane, *meta);
                let row = *row_of.entry((kind, name.into_owned())).or_insert_with_key(|(_, name)| {
                    rows.push(NameTotal::named(name, kind, *nests));
                    rows.len() - 1
                });
                let row = &mut rows[row];
                row.count += sum.occurrences;
                row.total_ps = row.total_ps.saturating_add(sum.total_ps);
                row.self_ps = row.self_ps.map(|own| own.saturating_add(sum.self_ps));
            }
        }
        rows
    }
}

impl NameTotal {
    fn named(name: &str, kind: &'static str, nests: bool) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            category: None,
            module: None,
            program: None,
            count: 0,
            total_ps: 0,
            self_ps: nests.then_some(0),
            flops: None,
            bytes: None,
        }
    }
}

fn op_row(op: &Op<'_>) -> NameTotal {
    let text = |t: &Cow<'_, str>| (!t.is_empty()).then(|| t.clone().into_owned());
    NameTotal {
        name: op.meta.name.clone().into_owned(),
        kind: "op",
        category: text(&op.meta.category),
        module: text(&op.module),
        program: op.meta.program_id.map(|id| id.to_string()),
        count: op.occurrences,
        total_ps: op.total_ps,
        self_ps: Some(op.self_ps),
        flops: op.flops,
        bytes: op.bytes,
    }
}

/// The same groups as `ops --by category`.
fn by_category(ops: &[Op<'_>]) -> Vec<CategoryTotal> {
    let mut rows: Vec<CategoryTotal> = Vec::new();
    let mut row_of: FxHashMap<&str, usize> = FxHashMap::default();
    for op in ops {
        let row = *row_of.entry(&op.meta.category).or_insert_with_key(|name| {
            let name = if name.is_empty() { "(not recorded)" } else { name };
            rows.push(CategoryTotal {
                name: name.to_owned(),
                count: 0,
                self_ps: 0,
                flops: None,
                bytes: None,
            });
            rows.len() - 1
        });
        let row = &mut rows[row];
        row.count += op.occurrences;
        row.self_ps = row.self_ps.saturating_add(op.self_ps);
        if !is_container(&op.meta.category) {
            add_known(&mut row.flops, op.flops);
            add_known(&mut row.bytes, op.bytes);
        }
    }
    rows.sort_by(|a, b| (b.self_ps, &a.name).cmp(&(a.self_ps, &b.name)));
    rows
}

/// What sort of track a line is.
fn kind_word(kind: LineKind) -> &'static str {
    match kind {
        LineKind::Steps => "steps",
        LineKind::XlaModules => "modules",
        LineKind::XlaOps => "ops",
        LineKind::AsyncXlaOps => "async",
        LineKind::Stream => "stream",
        LineKind::Thread => "thread",
        LineKind::Counters => "counters",
        LineKind::Derived => "derived",
        LineKind::Other => "other",
    }
}
