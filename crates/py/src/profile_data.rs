//! The objects of `jax.profiler.ProfileData`: planes, lines, events and stats as they stand in the file, in its order. What JAX
//! gives as an iterator is a sequence here too. Times are exact: JAX cuts them to whole nanoseconds.

use std::collections::HashMap;
use std::ops::{Deref, Range};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use haloscope_profile::load::map::{self, Map};
use haloscope_xspace::{EventTime, EventView, LineView, SpaceView, StatValue, StatView};
use pyo3::exceptions::{PyIndexError, PyStopIteration};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyString};

use crate::errors::Trouble;
use crate::work;

/// The bytes of a file.
enum Held {
    Mapped(Map),
    Python(PyBackedBytes),
}

impl Deref for Held {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Python(bytes) => bytes,
        }
    }
}

/// A file and where in it things are.
struct Space {
    held: Held,
    planes: Vec<PlaneIn>,
}

struct PlaneIn {
    name: String,
    stats: Vec<StatIn>,
    lines: Vec<LineIn>,
    /// Where names of events stand, by their ids, and those that somebody asked for.
    names: HashMap<i64, (Range<usize>, PyOnceLock<Py<PyString>>)>,
    stat_names: HashMap<i64, StatName>,
}

struct StatName {
    text: String,
    made: PyOnceLock<Py<PyString>>,
}

struct LineIn {
    name: String,
    timestamp_ns: i64,
    body: Range<usize>,
    /// Where its events begin in the file, when somebody asked for one.
    events: OnceLock<Vec<u64>>,
}

/// A stat that is kept: of a plane there are few.
enum StatIn {
    Known(i64, Kept),
    Unknown,
}

enum Kept {
    Float(f64),
    Uint(u64),
    Int(i64),
    Bytes(Vec<u8>),
    Text(String),
}

impl Space {
    fn read(held: Held) -> Result<Self, Trouble> {
        let base = held.as_ptr() as usize;
        let range = |part: &[u8]| {
            let from = (part.as_ptr() as usize).saturating_sub(base);
            from..from + part.len()
        };
        let view = SpaceView::parse(&held);
        if let Some(fault) = view.faults.kept().first() {
            return Err(Trouble::input(format!("cannot read the XSpace: {fault}")));
        }
        let planes = view.planes.iter().map(|plane| {
            let names = plane.event_metadata.iter();
            let names = names.map(|(id, meta)| (*id, (range(meta.name), PyOnceLock::new())));
            let stat_names: HashMap<i64, StatName> = plane
                .stat_metadata
                .iter()
                .map(|(id, meta)| (*id, StatName { text: text(meta.name), made: PyOnceLock::new() }))
                .collect();
            PlaneIn {
                name: text(plane.name),
                stats: plane.stats.iter().map(|stat| keep(stat, &stat_names)).collect(),
                lines: plane
                    .lines
                    .iter()
                    .map(|line| LineIn {
                        name: text(line.name),
                        timestamp_ns: line.timestamp_ns,
                        body: range(line.body),
                        events: OnceLock::new(),
                    })
                    .collect(),
                names: names.collect(),
                stat_names,
            }
        });
        let planes = planes.collect();
        drop(view);
        Ok(Self { held, planes })
    }

    /// Refuses what was read of a file that changed meanwhile.
    fn unchanged(&self) -> PyResult<()> {
        if let Held::Mapped(map) = &self.held
            && map.is_cut()
        {
            let message = "the file was cut off while it was read: an answer from it could be wrong";
            return Err(Trouble::changed(message).into());
        }
        Ok(())
    }

    fn line(&self, plane: usize, line: usize) -> &LineIn {
        &self.planes[plane].lines[line]
    }

    /// Where the events of a line begin.
    fn events(&self, plane: usize, line: usize) -> &[u64] {
        let line = self.line(plane, line);
        line.events.get_or_init(|| {
            map::guard();
            let body = self.held.get(line.body.clone()).unwrap_or_default();
            let view = LineView { body, offset: line.body.start as u64, ..LineView::default() };
            let mut events = view.events();
            let mut places = Vec::new();
            while events.next().is_some() {
                places.push(events.at());
            }
            places
        })
    }

    /// The bytes of an event, and where they stand.
    fn event(&self, plane: usize, line: usize, at: u64) -> (&[u8], u64) {
        let end = self.line(plane, line).body.end;
        EventView::body_at(self.held.get(at as usize..end).unwrap_or_default(), at)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What a stat says; a name that nobody knows and a value that is none are as JAX has them.
fn keep(stat: &StatView<'_>, names: &HashMap<i64, StatName>) -> StatIn {
    /// More than any text that a profiler writes.
    const LARGEST: u64 = 64 << 20;
    let Some(value) = stat.value.filter(|_| names.contains_key(&stat.metadata_id)) else {
        return StatIn::Unknown;
    };
    let kept = match value {
        StatValue::Double(number) => Kept::Float(number),
        StatValue::Uint(number) => Kept::Uint(number),
        StatValue::Int(number) => Kept::Int(number),
        StatValue::Str(bytes) => Kept::Text(text(bytes)),
        StatValue::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(words) => Kept::Text(words.to_owned()),
            Err(_) => Kept::Bytes(bytes.to_vec()),
        },
        StatValue::Ref(id) => {
            Kept::Text(names.get(&(id as i64)).map_or_else(String::new, |name| name.text.clone()))
        }
        StatValue::Compressed(bytes) => match StatValue::unzip(bytes, LARGEST) {
            Ok(words) => Kept::Text(text(&words)),
            Err(_) => Kept::Bytes(bytes.to_vec()),
        },
    };
    StatIn::Known(stat.metadata_id, kept)
}

/// Name and value as Python has them.
type Pair<'py> = (Option<Bound<'py, PyString>>, Bound<'py, PyAny>);

fn pair<'py>(py: Python<'py>, stat: StatIn, names: &HashMap<i64, StatName>) -> PyResult<Pair<'py>> {
    let StatIn::Known(id, kept) = stat else { return Ok((None, py.None().into_bound(py))) };
    let name = names
        .get(&id)
        .map(|name| name.made.get_or_init(py, || PyString::new(py, &name.text).unbind()).bind(py).clone());
    let value = match kept {
        Kept::Float(number) => number.into_pyobject(py)?.into_any(),
        Kept::Uint(number) => number.into_pyobject(py)?.into_any(),
        Kept::Int(number) => number.into_pyobject(py)?.into_any(),
        Kept::Text(words) => words.into_pyobject(py)?.into_any(),
        Kept::Bytes(bytes) => PyBytes::new(py, &bytes).into_any(),
    };
    Ok((name, value))
}

/// A profile as JAX's `ProfileData` has it.
#[pyclass(frozen, module = "haloscope._native")]
pub(crate) struct ProfileData(Arc<Space>);

#[pymethods]
impl ProfileData {
    /// Reads a file.
    #[staticmethod]
    fn from_file(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        work::run(py, move || {
            let map = Map::open(&path)
                .map_err(|source| haloscope_report::Error::Io { path: path.clone(), source })?;
            let space = Space::read(Held::Mapped(map))?;
            Ok(Self(Arc::new(space)))
        })
    }

    /// Reads an XSpace in memory, which is not copied.
    #[staticmethod]
    fn from_serialized_xspace(py: Python<'_>, serialized_xspace: PyBackedBytes) -> PyResult<Self> {
        work::run(py, move || Ok(Self(Arc::new(Space::read(Held::Python(serialized_xspace))?))))
    }

    /// What it was read from, as bytes.
    fn serialized_xspace<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.held)
    }

    /// Its planes.
    #[getter]
    fn planes(&self) -> Planes {
        Planes { space: Arc::clone(&self.0), next: AtomicUsize::new(0) }
    }

    /// The plane of this name; `None` where there is none.
    fn find_plane_with_name(&self, name: &str) -> Option<Plane> {
        let plane = self.0.planes.iter().position(|plane| plane.name == name)?;
        Some(Plane { space: Arc::clone(&self.0), plane })
    }

    fn __repr__(&self) -> String {
        format!("ProfileData({} planes)", self.0.planes.len())
    }
}

/// A row of a sequence, counted from its end where it is below 0.
fn place(at: isize, len: usize) -> PyResult<usize> {
    let from = if at < 0 { len.checked_sub(at.unsigned_abs()) } else { Some(at.unsigned_abs()) };
    from.filter(|from| *from < len).ok_or_else(|| PyIndexError::new_err("there is no such item"))
}

/// The next of an iteration over something itself, which is how JAX's are used with `next`.
fn next(next: &AtomicUsize, len: usize) -> PyResult<usize> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    if at < len { Ok(at) } else { Err(PyStopIteration::new_err(())) }
}

/// What JAX gives as an iterator: a sequence that also is one.
macro_rules! sequence {
    ($(#[$doc:meta])* $name:ident of $one:ident { $($field:ident),* } $at:ident, |$own:ident| $len:expr) => {
        $(#[$doc])*
        #[pyclass(frozen, module = "haloscope._native")]
        pub(crate) struct $name {
            space: Arc<Space>,
            $($field: usize,)*
            next: AtomicUsize,
        }

        impl $name {
            fn count(&self) -> usize {
                let $own = self;
                $len
            }
        }

        #[pymethods]
        impl $name {
            fn __len__(&self) -> usize {
                self.count()
            }

            fn __getitem__(&self, at: isize) -> PyResult<$one> {
                $one::of(self, place(at, self.count())?)
            }

            fn __iter__(&self) -> Self {
                Self { space: Arc::clone(&self.space), $($field: self.$field,)* next: AtomicUsize::new(0) }
            }

            fn __next__(&self) -> PyResult<$one> {
                $one::of(self, next(&self.next, self.count())?)
            }
        }
    };
}

sequence!(
    /// The planes of a profile.
    Planes of Plane { } plane, |own| own.space.planes.len()
);
sequence!(
    /// The lines of a plane.
    Lines of Line { plane } line, |own| own.space.planes[own.plane].lines.len()
);
sequence!(
    /// The events of a line.
    Events of Event { plane, line } event, |own| own.space.events(own.plane, own.line).len()
);

/// A device, or a part of a host.
#[pyclass(frozen, module = "haloscope._native")]
pub(crate) struct Plane {
    space: Arc<Space>,
    plane: usize,
}

impl Plane {
    #[expect(clippy::unnecessary_wraps, reason = "events, which are made as this is, may be gone")]
    fn of(planes: &Planes, plane: usize) -> PyResult<Self> {
        Ok(Self { space: Arc::clone(&planes.space), plane })
    }

    fn own(&self) -> &PlaneIn {
        &self.space.planes[self.plane]
    }
}

#[pymethods]
impl Plane {
    /// Its name, such as `/device:TPU:0`.
    #[getter]
    fn name(&self) -> &str {
        &self.own().name
    }

    /// Its lines.
    #[getter]
    fn lines(&self) -> Lines {
        Lines { space: Arc::clone(&self.space), plane: self.plane, next: AtomicUsize::new(0) }
    }

    /// Facts about it: names and values.
    #[getter]
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Vec<Pair<'py>>> {
        let own = self.own();
        own.stats.iter().map(|stat| pair(py, stat.again(), &own.stat_names)).collect()
    }

    fn __repr__(&self) -> String {
        format!("ProfilePlane({:?}, {} lines)", self.own().name, self.own().lines.len())
    }
}

impl StatIn {
    fn again(&self) -> Self {
        match self {
            Self::Unknown => Self::Unknown,
            Self::Known(id, kept) => Self::Known(
                *id,
                match kept {
                    Kept::Float(number) => Kept::Float(*number),
                    Kept::Uint(number) => Kept::Uint(*number),
                    Kept::Int(number) => Kept::Int(*number),
                    Kept::Bytes(bytes) => Kept::Bytes(bytes.clone()),
                    Kept::Text(words) => Kept::Text(words.clone()),
                },
            ),
        }
    }
}

/// A stream or a thread.
#[pyclass(frozen, module = "haloscope._native")]
pub(crate) struct Line {
    space: Arc<Space>,
    plane: usize,
    line: usize,
}

impl Line {
    #[expect(clippy::unnecessary_wraps, reason = "events, which are made as this is, may be gone")]
    fn of(lines: &Lines, line: usize) -> PyResult<Self> {
        Ok(Self { space: Arc::clone(&lines.space), plane: lines.plane, line })
    }
}

#[pymethods]
impl Line {
    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.space.line(self.plane, self.line).name
    }

    /// Its events, in the order of the file.
    #[getter]
    fn events(&self) -> Events {
        let space = Arc::clone(&self.space);
        Events { space, plane: self.plane, line: self.line, next: AtomicUsize::new(0) }
    }

    fn __repr__(&self) -> String {
        format!("ProfileLine({:?})", self.name())
    }
}

/// What ran when.
#[pyclass(frozen, module = "haloscope._native")]
pub(crate) struct Event {
    space: Arc<Space>,
    plane: usize,
    line: usize,
    at: u64,
    id: i64,
    start_ps: i128,
    duration_ps: i64,
}

impl Event {
    fn of(events: &Events, number: usize) -> PyResult<Self> {
        let Events { space, plane, line, .. } = events;
        let places = space.events(*plane, *line);
        let at = places.get(number).copied().unwrap_or_default();
        let (body, offset) = space.event(*plane, *line, at);
        let view = EventView::parse(body, offset);
        space.unchanged()?;
        let view = view.map_err(|fault| Trouble::input(format!("cannot read an event: {fault}")))?;
        let offset_ps = match view.time {
            EventTime::OffsetPs(offset) => offset,
            EventTime::Occurrences(_) => 0,
        };
        let start_ps = i128::from(space.line(*plane, *line).timestamp_ns) * 1000 + i128::from(offset_ps);
        Ok(Self {
            space: Arc::clone(space),
            plane: *plane,
            line: *line,
            at,
            id: view.metadata_id,
            start_ps,
            duration_ps: view.duration_ps,
        })
    }

    fn plane(&self) -> &PlaneIn {
        &self.space.planes[self.plane]
    }
}

/// Picoseconds as nanoseconds: with their fraction where a double has room for it, else without, and never more than the whole
/// nanoseconds that JAX says.
fn ns(ps: i128) -> f64 {
    let (whole, part) = (ps.div_euclid(1000) as f64, ps.rem_euclid(1000) as f64 / 1000.0);
    let sum = whole + part;
    if sum.floor() == whole { sum } else { whole }
}

#[pymethods]
impl Event {
    /// Its name.
    #[getter]
    fn name<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        let Some((range, made)) = self.plane().names.get(&self.id) else { return PyString::new(py, "") };
        let name = || {
            let bytes = self.space.held.get(range.clone()).unwrap_or_default();
            PyString::new(py, &String::from_utf8_lossy(bytes)).unbind()
        };
        made.get_or_init(py, name).bind(py).clone()
    }

    /// Its start in nanoseconds, on the line's clock.
    #[getter]
    fn start_ns(&self) -> f64 {
        ns(self.start_ps)
    }

    /// How long it took, in nanoseconds.
    #[getter]
    fn duration_ns(&self) -> f64 {
        ns(self.duration_ps.into())
    }

    /// Its end in nanoseconds.
    #[getter]
    fn end_ns(&self) -> f64 {
        ns(self.start_ps + i128::from(self.duration_ps))
    }

    /// Its start in picoseconds, exact.
    #[getter]
    fn start_ps(&self) -> i128 {
        self.start_ps
    }

    /// How long it took, in picoseconds, exact.
    #[getter]
    fn duration_ps(&self) -> i64 {
        self.duration_ps
    }

    /// Facts about it: names and values.
    #[getter]
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Vec<Pair<'py>>> {
        let (body, offset) = self.space.event(self.plane, self.line, self.at);
        let names = &self.plane().stat_names;
        let stats = haloscope_xspace::Stats::of_event(body, offset);
        let pairs = stats.map(|stat| pair(py, keep(&stat, names), names)).collect::<PyResult<Vec<_>>>()?;
        self.space.unchanged()?;
        Ok(pairs)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let (name, start, took) = (self.name(py), self.start_ns(), self.duration_ns());
        format!("ProfileEvent({:?}, start_ns={start}, duration_ns={took})", name.to_string_lossy())
    }
}
