//! What the conditions of a query leave of lines and events, before any event is looked at.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, Int64Array, StringViewArray};
use arrow::compute::kernels::cast::cast;
use arrow::datatypes::{DataType, Schema};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::catalog::Session;
use datafusion::common::{Column, DFSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use datafusion::physical_expr::PhysicalExpr;
use haloscope_profile::{Device, Line, Plane};

use super::columns::{LINE_COLUMNS, Origin, line_schema, op_schema, origin};
use crate::runs::{Run, kind_word};

/// What a condition is about, and so how often it is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum About {
    /// What holds for all events of a line: once a line.
    Line,
    /// Names: once a name of a plane.
    Name,
    /// Ops: once an op of a device.
    Op,
    /// Starts, held against a number: by binary search.
    Start,
    /// Steps: once a step of a device; the events are then found by the times of those steps.
    Step,
}

/// What a condition is about; `None` where events must be looked at one by one.
pub(super) fn about(condition: &Expr) -> Option<About> {
    if start_range(condition).is_some() {
        return Some(About::Start);
    }
    let columns = condition.column_refs();
    let all = |is: fn(Origin, &str) -> bool| {
        let mut columns = columns.iter().map(|column| (origin(&column.name), column.name.as_str()));
        columns.all(|(origin, name)| origin.is_some_and(|origin| is(origin, name)))
    };
    match () {
        () if columns.is_empty() => None,
        () if all(|origin, _| matches!(origin, Origin::Line(_))) => Some(About::Line),
        () if all(|_, name| name == "name") => Some(About::Name),
        () if all(|origin, _| matches!(origin, Origin::Op(_))) => Some(About::Op),
        () if all(|_, name| name == "step") => Some(About::Step),
        () => None,
    }
}

impl About {
    /// Whether nothing is left to look at when the condition was applied: the hull of several steps holds more than they do.
    pub(super) fn is_exact(self) -> bool {
        self != Self::Step
    }
}

/// The starts, from and before, that a comparison of `start_ps` with a number allows.
fn start_range(condition: &Expr) -> Option<(i64, i64)> {
    let number = |expr: &Expr| match expr {
        Expr::Literal(ScalarValue::Int64(Some(number)), _) => Some(*number),
        _ => None,
    };
    let is_start = |expr: &Expr| matches!(expr, Expr::Column(Column { name, .. }) if name == "start_ps");
    let after = |number: i64| number.checked_add(1);
    match condition {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let (op, number) = if is_start(left) {
                (*op, number(right)?)
            } else if is_start(right) {
                (op.swap()?, number(left)?)
            } else {
                return None;
            };
            match op {
                Operator::Lt => Some((i64::MIN, number)),
                Operator::LtEq => Some((i64::MIN, after(number)?)),
                Operator::Gt => Some((after(number)?, i64::MAX)),
                Operator::GtEq => Some((number, i64::MAX)),
                Operator::Eq => Some((number, after(number)?)),
                _ => None,
            }
        }
        Expr::Between(between) if !between.negated && is_start(&between.expr) => {
            Some((number(&between.low)?, after(number(&between.high)?)?))
        }
        _ => None,
    }
}

/// Conditions on one kind of thing, ready to be evaluated.
#[derive(Debug, Default, Clone)]
pub(super) struct Conditions(Vec<Arc<dyn PhysicalExpr>>);

impl Conditions {
    /// Those of the conditions that are about this.
    fn of(state: &dyn Session, filters: &[Expr], what: About, schema: &Schema) -> Result<Self> {
        let schema = DFSchema::try_from(schema.clone())?;
        let own = filters.iter().filter(|filter| about(filter) == Some(what));
        // The table may go by another name in the query.
        let own = own.map(|filter| state.create_physical_expr(bare(filter)?, &schema));
        Ok(Self(own.collect::<Result<_>>()?))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// For each row whether all conditions hold: unknown is no.
    fn hold(&self, batch: &RecordBatch) -> Result<Vec<bool>> {
        let mut all = vec![true; batch.num_rows()];
        for condition in &self.0 {
            let array = condition.evaluate(batch)?.into_array(batch.num_rows())?;
            let array = if array.data_type() == &DataType::Boolean {
                array
            } else {
                cast(&array, &DataType::Boolean)?
            };
            let Some(array) = array.as_any().downcast_ref::<BooleanArray>() else { continue };
            for (row, own) in all.iter_mut().enumerate() {
                *own &= array.is_valid(row) && array.value(row);
            }
        }
        Ok(all)
    }
}

/// The condition with columns that name no table.
fn bare(condition: &Expr) -> Result<Expr> {
    use datafusion::common::tree_node::{Transformed, TreeNode};
    let of = |expr: Expr| match expr {
        Expr::Column(column) => Ok(Transformed::yes(Expr::Column(Column::new_unqualified(column.name)))),
        other => Ok(Transformed::no(other)),
    };
    Ok(condition.clone().transform(of)?.data)
}

/// All conditions of a query on `event` that are applied before events are looked at.
#[derive(Debug, Default, Clone)]
pub(super) struct Pruning {
    lines: Conditions,
    names: Conditions,
    ops: Conditions,
    steps: Conditions,
    /// Starts from and before these, picoseconds.
    pub(super) start_ps: Option<(i64, i64)>,
    /// The conditions as words.
    pub(super) words: Vec<String>,
}

impl Pruning {
    pub(super) fn of(state: &dyn Session, filters: &[Expr]) -> Result<Self> {
        let event = super::columns::event_schema();
        let mut start_ps: Option<(i64, i64)> = None;
        for (from, before) in filters.iter().filter_map(start_range) {
            let known = start_ps.get_or_insert((i64::MIN, i64::MAX));
            *known = (known.0.max(from), known.1.min(before));
        }
        let conditions = |what, schema: &Schema| Conditions::of(state, filters, what, schema);
        let only = |name: &str| -> Result<Schema> { Ok(event.project(&[event.index_of(name)?])?) };
        Ok(Self {
            lines: conditions(About::Line, &line_schema())?,
            names: conditions(About::Name, &only("name")?)?,
            ops: conditions(About::Op, &op_schema())?,
            steps: conditions(About::Step, &only("step")?)?,
            start_ps,
            words: filters.iter().filter(|filter| about(filter).is_some()).map(ToString::to_string).collect(),
        })
    }

    /// Which of these lines may have events that are wanted, by what holds for all of their events.
    pub(super) fn lines(&self, run: &Run, lines: &[&Line]) -> Result<Vec<bool>> {
        if self.lines.is_empty() {
            return Ok(vec![true; lines.len()]);
        }
        self.lines.hold(&line_batch(run, lines)?)
    }

    /// Which names of a plane are wanted; `None` where all are.
    pub(super) fn names(&self, run: &Run, plane: &Plane) -> Result<Option<Arc<[bool]>>> {
        if self.names.is_empty() {
            return Ok(None);
        }
        Ok(Some(self.names.hold(&single("name", Arc::clone(run.labels(plane)))?)?.into()))
    }

    /// Which ops of a device are wanted, the last for what is no op; `None` where all are.
    pub(super) fn ops(&self, run: &Run, device: &Device) -> Result<Option<Arc<[bool]>>> {
        // A device's ops are found for who asks of ops alone: on a CPU that takes longer than all else.
        if self.ops.is_empty() {
            return Ok(None);
        }
        Ok(Some(self.ops.hold(run.ops(device).columns()?)?.into()))
    }

    /// Whether events that are no ops are wanted.
    pub(super) fn takes_no_op(&self) -> Result<bool> {
        if self.ops.is_empty() {
            return Ok(true);
        }
        let schema = op_schema();
        let nothing = schema.fields().iter().map(|field| arrow::array::new_null_array(field.data_type(), 1));
        let batch = RecordBatch::try_new(Arc::clone(&schema), nothing.collect())?;
        Ok(self.ops.hold(&batch)? == [true])
    }

    /// The starts, from and before, of the steps that are wanted on the device of a line; `None` where all starts are.
    pub(super) fn step_starts(&self, run: &Run, line: &Line) -> Result<Option<(i64, i64)>> {
        if self.steps.is_empty() {
            return Ok(None);
        }
        let spans = run.device_of(line.plane).map_or(&[][..], |device| run.spans(device));
        let numbers = spans.iter().map(|span| Some(span.number)).chain([None]);
        let wanted = self.steps.hold(&single("step", Arc::new(Int64Array::from_iter(numbers)))?)?;
        // Events in no step may stand anywhere.
        if wanted.last() == Some(&true) {
            return Ok(None);
        }
        let kept = spans.iter().zip(wanted).filter(|(_, wanted)| *wanted).map(|(span, _)| span);
        let hull = |hull: Option<(i64, i64)>, span: &crate::runs::StepSpan| {
            let (from, before) = hull.unwrap_or((i64::MAX, i64::MIN));
            Some((from.min(span.start_ps), before.max(span.end_ps)))
        };
        Ok(Some(kept.fold(None, hull).unwrap_or((0, 0))))
    }
}

fn single(name: &str, array: ArrayRef) -> Result<RecordBatch> {
    let schema = super::columns::event_schema();
    let schema = Arc::new(schema.project(&[schema.index_of(name)?])?);
    let options = RecordBatchOptions::new().with_row_count(Some(array.len()));
    Ok(RecordBatch::try_new_with_options(schema, vec![array], &options)?)
}

/// [`LINE_COLUMNS`] of these lines, a row each.
pub(super) fn line_batch(run: &Run, lines: &[&Line]) -> Result<RecordBatch> {
    let profile = &*run.profile;
    let plane = |line: &Line| profile.plane(line.plane);
    let texts = |cells: Vec<Option<&str>>| -> ArrayRef { Arc::new(StringViewArray::from_iter(cells)) };
    let each = || lines.iter().copied();
    let arrays: Vec<ArrayRef> = LINE_COLUMNS
        .iter()
        .map(|column| match column.id {
            "run" => Arc::new(StringViewArray::from_iter_values(lines.iter().map(|_| run.name.as_str())))
                as ArrayRef,
            "host" => texts(each().map(|line| Some(profile.host(plane(line).host).name.as_str())).collect()),
            "device" => texts(
                each().map(|line| run.device_of(line.plane).map(|device| device.name.as_str())).collect(),
            ),
            "plane" => texts(each().map(|line| Some(plane(line).name.as_str())).collect()),
            "line" => texts(each().map(|line| Some(line.name.as_str())).collect()),
            "kind" => texts(each().map(|line| Some(kind_word(line.kind))).collect()),
            _ => Arc::new(Int64Array::from_iter_values(lines.iter().map(|line| run.line_number(line)))),
        })
        .collect();
    Ok(RecordBatch::try_new(line_schema(), arrays)?)
}
