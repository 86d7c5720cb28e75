//! Reads parts of lines: which rows are wanted, and the columns of those.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, Int64Array, MapBuilder, MapFieldNames, StringBuilder, UInt32Array, new_null_array,
};
use arrow::compute::take;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::error::{DataFusionError, Result};
use datafusion::physical_plan::metrics::Count;
use haloscope_profile::{Events, Line};
use haloscope_report::Cell;
use haloscope_timeline::stats_of;

use super::columns::{ARGS, Origin, origin};
use super::prune::line_batch;
use super::scan::Part;
use crate::runs::Run;
use crate::stats::Stats;

/// Steps of a device that may overlap.
const MOST_AT_ONCE: usize = 4;

/// What of a line is wanted, by things that many events share.
#[derive(Debug, Clone, Default)]
pub(super) struct Wanted {
    /// By the plane's metadata rows; `None` wants all.
    pub(super) names: Option<Arc<[bool]>>,
    /// By the device's ops, the last for what is no op; `None` wants all.
    pub(super) ops: Option<Arc<[bool]>>,
}

/// The batches of some parts of lines.
pub(crate) struct Reader {
    pub(super) runs: Arc<[Run]>,
    pub(super) parts: Arc<[Part]>,
    pub(super) schema: SchemaRef,
    /// Rows of a batch.
    pub(super) rows: usize,
    /// Rows that may still be given.
    pub(super) left: Option<usize>,
    pub(super) stats: Arc<Stats>,
    pub(super) output_rows: Count,
    pub(super) looked_at: Count,
    /// The part that comes next.
    pub(super) next: usize,
    /// In the part before that: the row that comes next, and the one that does not count any more.
    pub(super) at: Option<(usize, usize)>,
}

impl Iterator for Reader {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.left == Some(0) {
                return None;
            }
            let Some((from, end)) = self.at else {
                let part = self.parts.get(self.next)?;
                let profile = &self.runs[part.run].profile;
                self.at = Some(bounds(part, profile.events(profile.line(part.line))));
                self.next += 1;
                continue;
            };
            let part = self.parts[self.next - 1].clone();
            let run = &self.runs[part.run];
            let line = run.profile.line(part.line);
            let events = run.profile.events(line);
            let most = self.left.map_or(self.rows, |left| left.min(self.rows));
            let (picked, upto) = pick(run, line, &part, events, from, end, most);
            self.at = (upto < end).then_some((upto, end));
            if let Some(left) = &mut self.left {
                *left -= picked.len();
            }
            let looked_at = (upto - from) as u64;
            let share = line.bytes() as f64 / events.len().max(1) as f64;
            self.stats.read(looked_at, picked.len() as u64, (share * looked_at as f64) as u64);
            self.looked_at.add(upto - from);
            self.output_rows.add(picked.len());
            if !picked.is_empty() {
                return Some(batch(run, line, events, picked, &self.schema));
            }
        }
    }
}

/// The rows of a part, from and before, whose starts count.
fn bounds(part: &Part, events: &Events) -> (usize, usize) {
    let (mut from, mut end) = (part.from.min(events.len()), part.before.min(events.len()));
    if let Some((from_ps, before_ps)) = part.start_ps {
        from = from.max(events.rows_before(from_ps));
        end = end.min(events.rows_before(before_ps));
    }
    (from, end.max(from))
}

/// Rows that are wanted, at most so many, and the row up to which was looked.
fn pick(
    run: &Run,
    line: &Line,
    part: &Part,
    events: &Events,
    from: usize,
    end: usize,
    most: usize,
) -> (Vec<u32>, usize) {
    let wanted = &part.wanted;
    if wanted.names.is_none() && wanted.ops.is_none() {
        let upto = end.min(from.saturating_add(most));
        return ((from as u32..upto as u32).collect(), upto);
    }
    let metas = events.metas();
    let ops = wanted.ops.as_ref().zip(run.device_with_ops(line)).map(|(ops, device)| {
        let table = run.ops(device);
        (ops, table.rows(line.id), table.none())
    });
    let mut picked = Vec::with_capacity(most.min(end - from));
    let mut at = from;
    while at < end && picked.len() < most {
        let named = wanted.names.as_ref().is_none_or(|names| names.get(metas[at] as usize) == Some(&true));
        let is_wanted = named
            && ops.as_ref().is_none_or(|(ops, rows, none)| {
                ops.get(rows.at(at, metas[at]).min(*none) as usize) == Some(&true)
            });
        if is_wanted {
            picked.push(at as u32);
        }
        at += 1;
    }
    (picked, at)
}

fn batch(
    run: &Run,
    line: &Line,
    events: &Events,
    picked: Vec<u32>,
    schema: &SchemaRef,
) -> Result<RecordBatch> {
    let rows = picked.len();
    let mut cells = Cells { run, line, events, picked, of_line: None, ops: None };
    let column = |name: &str| -> Result<ArrayRef> {
        match origin(name) {
            Some(Origin::Line(at)) => cells.of_line(at),
            Some(Origin::Op(at)) => cells.of_op(at),
            _ => cells.of_event(name),
        }
    };
    let arrays: Vec<ArrayRef> =
        schema.fields().iter().map(|field| field.name().as_str()).map(column).collect::<Result<_>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)?)
}

/// The cells of a batch.
struct Cells<'a> {
    run: &'a Run,
    line: &'a Line,
    events: &'a Events,
    picked: Vec<u32>,
    /// What holds for all rows.
    of_line: Option<RecordBatch>,
    /// Which op each row is.
    ops: Option<UInt32Array>,
}

impl Cells<'_> {
    fn of_line(&mut self, at: usize) -> Result<ArrayRef> {
        if self.of_line.is_none() {
            self.of_line = Some(line_batch(self.run, &[self.line])?);
        }
        let Some(line) = &self.of_line else {
            return Ok(new_null_array(&arrow::datatypes::DataType::Null, 0));
        };
        let first = UInt32Array::from(vec![0; self.picked.len()]);
        Ok(take(line.column(at), &first, None)?)
    }

    fn of_op(&mut self, at: usize) -> Result<ArrayRef> {
        let Some(device) = self.run.device_with_ops(self.line) else {
            let schema = super::columns::op_schema();
            return Ok(new_null_array(schema.field(at).data_type(), self.picked.len()));
        };
        let table = self.run.ops(device);
        let ops = self.ops.get_or_insert_with(|| {
            let (rows, metas, none) = (table.rows(self.line.id), self.events.metas(), table.none());
            let op = |row: &u32| rows.at(*row as usize, metas[*row as usize]).min(none);
            UInt32Array::from_iter_values(self.picked.iter().map(op))
        });
        Ok(take(table.columns()?.column(at), ops, None)?)
    }

    fn of_event(&self, name: &str) -> Result<ArrayRef> {
        let (run, line, events) = (self.run, self.line, self.events);
        let numbers = |of: &dyn Fn(usize) -> i64| -> Result<ArrayRef> {
            let numbers = self.picked.iter().map(|row| of(*row as usize));
            Ok(Arc::new(Int64Array::from_iter_values(numbers)))
        };
        match name {
            "id" => numbers(&|row| row as i64),
            "name" => {
                let metas = events.metas();
                let metas = UInt32Array::from_iter_values(self.picked.iter().map(|row| metas[*row as usize]));
                Ok(take(run.labels(run.profile.plane(line.plane)), &metas, None)?)
            }
            "start_ps" => {
                let starts = events.starts_ps();
                numbers(&|row| starts[row])
            }
            "dur_ps" => {
                let durations = events.durations_ps();
                numbers(&|row| durations.at(row))
            }
            "end_ps" => numbers(&|row| events.get(row).end_ps),
            "device_dur_ps" => numbers(&|row| {
                let event = events.on_device_clock(row);
                event.end_ps.saturating_sub(event.start_ps)
            }),
            "self_ps" => {
                let own = run.own(line);
                numbers(&|row| own[row])
            }
            "depth" => {
                let depth = run.depth(line);
                numbers(&|row| i64::from(depth[row]))
            }
            "step" => Ok(self.steps()),
            ARGS => self.args(),
            other => Err(DataFusionError::Internal(format!("event has no column {other}"))),
        }
    }

    /// The step in which each row starts; where several hold it, the one that began first.
    fn steps(&self) -> ArrayRef {
        let spans = self.run.device_of(self.line.plane).map_or(&[][..], |device| self.run.spans(device));
        let starts = self.events.starts_ps();
        let step = |row: &u32| {
            let start = starts[*row as usize];
            let begun = spans.partition_point(|span| span.start_ps <= start);
            let mut holds = spans[..begun].iter().rev().take(MOST_AT_ONCE).filter(|span| start < span.end_ps);
            holds.next_back().map(|span| span.number)
        };
        Arc::new(Int64Array::from_iter(self.picked.iter().map(step)))
    }

    fn args(&self) -> Result<ArrayRef> {
        let names = MapFieldNames { entry: "entries".into(), key: "keys".into(), value: "values".into() };
        let mut maps = MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new());
        for row in &self.picked {
            let mut seen: Vec<String> = Vec::new();
            for stat in stats_of(&self.run.profile, self.line, *row as usize) {
                if seen.contains(&stat.name) {
                    continue;
                }
                maps.keys().append_value(&stat.name);
                match &stat.value {
                    Cell::Text(text) => maps.values().append_value(text),
                    Cell::Int(number) => maps.values().append_value(number.to_string()),
                    Cell::Float(number) => maps.values().append_value(number.to_string()),
                    Cell::Flag(flag) => maps.values().append_value(flag.to_string()),
                    Cell::Unknown => maps.values().append_null(),
                }
                seen.push(stat.name);
            }
            maps.append(true)?;
        }
        Ok(Arc::new(maps.finish()))
    }
}
