//! The columns of `event`.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use haloscope_report::{Column, Unit};

use crate::tables::schema::{RUN, field};

/// What holds for all events of a line.
pub(crate) const LINE_COLUMNS: [Column; 7] = [
    RUN,
    Column::text("host", "Host", "The host whose file has the event."),
    Column::text("device", "Device", "The device of the plane; unknown on planes without one."),
    Column::text("plane", "Plane", "The device or host part that the line belongs to."),
    Column::text("line", "Line", "The stream, thread or view."),
    Column::text(
        "kind",
        "Kind",
        "What the line shows: op, async_op, module, step, stream, thread, counter, derived, other. Lines of a device repeat each other, so use it in every sum.",
    ),
    Column::count("line_id", "Line number", "The line's number in the run, as in the table line."),
];

/// What is said of the op that an event is, of one execution.
pub(crate) const OP_COLUMNS: [Column; 10] = [
    Column::text(
        "op",
        "Op",
        "The HLO instruction or kernel that the event executes; unknown if it is not an op.",
    ),
    Column::text("category", "Category", "The op's category."),
    Column::text("module", "Module", "The program of the op."),
    Column::text("program_id", "Program", "The program's id, as text: ids have 64 bits."),
    Column::text("framework_op", "Framework op", "The scope path in the framework."),
    Column::text("source", "Source", "File and line in the user's program."),
    Column::float(
        "flops",
        "FLOPs",
        Unit::Flop,
        "FLOPs of one execution; for while, call and conditional, those of the ops inside.",
    ),
    Column::float(
        "model_flops",
        "Model FLOPs",
        Unit::Flop,
        "FLOPs of one execution as the model is written.",
    ),
    Column::float("bytes", "Bytes", Unit::Bytes, "Bytes that one execution accesses in all memories."),
    Column::float("hbm_bytes", "HBM bytes", Unit::Bytes, "Bytes of one execution to and from HBM."),
];

/// What each event has of its own.
pub(crate) const OWN_COLUMNS: [Column; 10] = [
    Column::count("id", "Event", "The event's row on its line, by start."),
    Column::text("name", "Name", "The event's name; for an op of a TPU, its instruction's."),
    Column::duration(
        "start_ps",
        "Start",
        "On the run's clock, from the earliest capture start of its hosts.",
    ),
    Column::duration("dur_ps", "Time", "How long it took on the run's clock."),
    Column::duration("end_ps", "End", "On the run's clock."),
    Column::duration(
        "device_dur_ps",
        "Time on the device's clock",
        "How long it took by the device's own clock, which is used for ops; dur_ps if none was recorded.",
    ),
    Column::duration(
        "self_ps",
        "Self time",
        "For an op, as in `ops`; for another event, its time minus that of events inside.",
    ),
    Column::count("depth", "Depth", "How many events of its line it is nested in."),
    Column::count("step", "Step", "The step in which it starts, on the device of its plane."),
    Column::text("args", "Args", "Its stats, then those of its metadata: a map of texts, args['key']."),
];

/// The column that is a map.
pub(crate) const ARGS: &str = "args";

/// Where a column's cells come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Position in [`LINE_COLUMNS`].
    Line(usize),
    /// Position in [`OWN_COLUMNS`].
    Own(usize),
    /// Position in [`OP_COLUMNS`].
    Op(usize),
}

/// All columns in their order.
pub(crate) fn all() -> impl Iterator<Item = (&'static Column, Origin)> {
    let line = LINE_COLUMNS.iter().enumerate().map(|(at, column)| (column, Origin::Line(at)));
    let own = OWN_COLUMNS.iter().enumerate().map(|(at, column)| (column, Origin::Own(at)));
    let op = OP_COLUMNS.iter().enumerate().map(|(at, column)| (column, Origin::Op(at)));
    line.chain(own).chain(op)
}

/// Where the cells of the column of this name come from.
pub(crate) fn origin(name: &str) -> Option<Origin> {
    all().find(|(column, _)| column.id == name).map(|(_, origin)| origin)
}

/// The schema of `event`.
pub(crate) fn event_schema() -> SchemaRef {
    let of = |(column, _): (&Column, Origin)| match column.id {
        ARGS => field(column, map_type()),
        id if id.ends_with("_ps") || column.unit == Unit::Count => field(column, DataType::Int64),
        _ if column.unit == Unit::None => field(column, DataType::Utf8View),
        _ => field(column, DataType::Float64),
    };
    Arc::new(Schema::new(all().map(of).collect::<Vec<_>>()))
}

/// The fields of [`OP_COLUMNS`].
pub(crate) fn op_schema() -> SchemaRef {
    part_of(|origin| matches!(origin, Origin::Op(_)))
}

/// The fields of [`LINE_COLUMNS`].
pub(crate) fn line_schema() -> SchemaRef {
    part_of(|origin| matches!(origin, Origin::Line(_)))
}

fn part_of(takes: impl Fn(Origin) -> bool) -> SchemaRef {
    let schema = event_schema();
    let fields = schema.fields().iter().zip(all()).filter(|(_, (_, origin))| takes(*origin));
    Arc::new(Schema::new(fields.map(|(field, _)| Arc::clone(field)).collect::<Fields>()))
}

/// A map from texts to texts.
fn map_type() -> DataType {
    let entries = Fields::from(vec![
        Field::new("keys", DataType::Utf8, false),
        Field::new("values", DataType::Utf8, true),
    ]);
    DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entries), false)), false)
}
