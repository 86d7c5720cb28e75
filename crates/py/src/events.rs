//! Events of lines as one table.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{DataType, Schema, SchemaRef};
use haloscope_profile::{Line, MetaIdx, Profile};
use haloscope_report::{Column, stop};
use rayon::prelude::*;

use crate::errors::Trouble;
use crate::tables::{Table, field};

const COLUMNS: [Column; 6] = [
    Column::text("host", "Host", "The host whose file has the event."),
    Column::text("plane", "Plane", "The device or host part that the line belongs to."),
    Column::text("line", "Line", "The stream or thread."),
    Column::text("name", "Name", "The event's name; for an op of a TPU, its instruction's."),
    Column::duration("start_ps", "Start", "From the start of the run, on the run's clock."),
    Column::duration("duration_ps", "Duration", "How long it took."),
];

/// Which events are wanted; what is `None` wants all.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    /// Lines by their numbers.
    pub(crate) ids: Option<Vec<u32>>,
    /// The name of lines.
    pub(crate) line: Option<String>,
    /// The name of planes, or a part of it.
    pub(crate) plane: Option<String>,
    /// A part of the event's name.
    pub(crate) name: Option<String>,
}

/// The events, line by line, each line's by their starts.
///
/// # Errors
/// What is wrong with the call, where no line is meant; a file that changed meanwhile.
pub(crate) fn table(profile: &Profile, wanted: &Wanted) -> Result<Table, Trouble> {
    let lines = lines(profile, wanted);
    if lines.is_empty() {
        return Err(Trouble::nothing("no line of the run matches; run.lines() has all lines".to_owned()));
    }
    let words = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let kind = |column: &Column| if column.id.ends_with("_ps") { DataType::Int64 } else { words.clone() };
    let fields: Vec<_> = COLUMNS.iter().map(|column| field(column, kind(column))).collect();
    let schema = Arc::new(Schema::new(fields));
    // Host, plane and line are the same for all events of a line: the first word of each, from one buffer.
    let count = |line: &&Line| profile.events(line).len();
    let longest = lines.par_iter().with_max_len(1).map(stop::carried(count)).max().unwrap_or(0);
    let zeros = ScalarBuffer::from(vec![0_i32; longest]);
    let of_line = |line: &&Line| batch(profile, line, wanted.name.as_deref(), &schema, &zeros);
    let batches: Vec<_> =
        lines.par_iter().with_max_len(1).map(stop::carried(of_line)).collect::<Result<_, _>>()?;
    profile.unchanged()?;
    let batches = batches.into_iter().filter(|batch: &RecordBatch| batch.num_rows() > 0).collect();
    Ok(Table::new("events", "Events", schema, batches))
}

fn lines<'p>(profile: &'p Profile, wanted: &Wanted) -> Vec<&'p Line> {
    let plane = |line: &Line, name: &str| profile.plane(line.plane).name == name;
    // A name that is a plane's own means that plane; else the part of a name means all that have it.
    let is_whole =
        wanted.plane.as_ref().is_some_and(|name| profile.lines.iter().any(|line| plane(line, name)));
    let meant = |line: &&Line| {
        wanted.ids.as_ref().is_none_or(|ids| ids.contains(&line.id.0))
            && wanted.line.as_ref().is_none_or(|name| line.name == *name)
            && wanted.plane.as_ref().is_none_or(|name| {
                if is_whole { plane(line, name) } else { profile.plane(line.plane).name.contains(name) }
            })
    };
    profile.lines.iter().filter(meant).collect()
}

fn batch(
    profile: &Profile,
    line: &Line,
    name: Option<&str>,
    schema: &SchemaRef,
    zeros: &ScalarBuffer<i32>,
) -> Result<RecordBatch, Trouble> {
    let (events, plane) = (profile.events(line), profile.plane(line.plane));
    let source = profile.source_of(plane);
    // Names are numbered as they come, so that a batch carries its own and no others.
    let mut numbers = Numbers::new(plane.metas.len(), events.len());
    let mut names = Vec::new();
    let mut number = |meta: MetaIdx| {
        *numbers.of(meta).get_or_insert_with(|| {
            let label = plane.meta_label(source, meta);
            if name.is_some_and(|part| !label.contains(part)) {
                return LEFT_OUT;
            }
            names.push(label);
            names.len() as i32 - 1
        })
    };
    let keys: Vec<i32> = events.metas().iter().map(|meta| number(*meta)).collect();
    let (keys, starts, durations): (Vec<i32>, Vec<i64>, Vec<i64>) = if name.is_none() {
        (keys, events.starts_ps().to_vec(), events.durations_ps().iter().collect())
    } else {
        let rows = keys.iter().zip(events.starts_ps()).zip(events.durations_ps().iter());
        let kept =
            rows.filter(|((key, _), _)| **key != LEFT_OUT).map(|((key, start), took)| (*key, (*start, took)));
        let (keys, times): (Vec<i32>, Vec<(i64, i64)>) = kept.unzip();
        let (starts, durations) = times.into_iter().unzip();
        (keys, starts, durations)
    };
    stop::check();
    let all = keys.len();
    let same = |word: &str| words(zeros.slice(0, all), StringArray::from(vec![word]));
    let times =
        |numbers: Vec<i64>| -> ArrayRef { Arc::new(Int64Array::new(ScalarBuffer::from(numbers), None)) };
    let columns = vec![
        same(&profile.host(plane.host).name)?,
        same(&plane.name)?,
        same(&line.name)?,
        words(keys.into(), StringArray::from_iter_values(names))?,
        times(starts),
        times(durations),
    ];
    Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
}

/// The number of a name that is not wanted.
const LEFT_OUT: i32 = -1;

fn words(keys: ScalarBuffer<i32>, words: StringArray) -> Result<ArrayRef, Trouble> {
    let keys = Int32Array::new(keys, None);
    Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, Arc::new(words))?))
}

/// Numbers by metadata: a list where a line has many events, else a map, because a plane may have many more names than a line.
enum Numbers {
    Many(Vec<Option<i32>>),
    Few(HashMap<MetaIdx, Option<i32>>),
}

impl Numbers {
    fn new(metas: usize, events: usize) -> Self {
        if events >= metas / 8 { Self::Many(vec![None; metas]) } else { Self::Few(HashMap::new()) }
    }

    fn of(&mut self, meta: MetaIdx) -> &mut Option<i32> {
        match self {
            Self::Many(numbers) => {
                let at = meta as usize;
                if at >= numbers.len() {
                    numbers.resize(at + 1, None);
                }
                &mut numbers[at]
            }
            Self::Few(numbers) => numbers.entry(meta).or_default(),
        }
    }
}
