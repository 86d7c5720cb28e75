//! The runs that are asked, opened once and kept until the process ends.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use arrow::array::{ArrayRef, StringViewArray};
use haloscope_profile::{
    Device, DeviceId, DeviceKind, Line, LineKind, MetaIdx, Plane, PlaneId, Profile, Source,
};
use haloscope_report::naming;
use haloscope_store::{Cache, FarCopy, Indexes};
use haloscope_time::nesting::walk_own;
use haloscope_time::op_lines::holds_ops;
use haloscope_time::steps::Steps;

use crate::ops::DeviceTable;

/// A run with what several tables need of it, each found when first asked for.
pub(crate) struct Run {
    /// What the column `run` says.
    pub(crate) name: String,
    /// Its files.
    pub(crate) profile: Arc<Profile>,
    /// The number of its first line, and what its file is called, where it is one file of a run.
    first_line: u32,
    shown: Option<String>,
    device_of: Vec<Option<DeviceId>>,
    steps: OnceLock<Steps>,
    spans: Vec<OnceLock<Vec<StepSpan>>>,
    ops: Vec<OnceLock<DeviceTable>>,
    labels: Vec<OnceLock<ArrayRef>>,
    depth: Vec<OnceLock<Vec<u32>>>,
    own: Vec<OnceLock<Vec<i64>>>,
    /// What is known of its files from before.
    indexes: Indexes,
    /// What it is read from, where that was brought here: behind the profile, since it may go with this.
    held: Option<FarCopy>,
}

/// Where a file stands among those of its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Place {
    /// The zero of the run's clock, nanoseconds since 1970.
    pub(crate) zero_ns: Option<i64>,
    /// Whether the run has other files.
    pub(crate) is_one_of_many: bool,
    /// Lines in the files before it.
    pub(crate) first_line: u32,
}

/// A step on a device, picoseconds on the run's clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepSpan {
    pub(crate) start_ps: i64,
    pub(crate) end_ps: i64,
    pub(crate) number: i64,
}

fn empty<T>(many: usize) -> Vec<OnceLock<T>> {
    std::iter::repeat_with(OnceLock::new).take(many).collect()
}

impl Run {
    /// A run without anything in it, whose tables have columns and no rows.
    pub(crate) fn nothing() -> Self {
        Self::of(String::new(), Profile::default())
    }

    /// A run of this name.
    pub(crate) fn of(name: String, profile: Profile) -> Self {
        let of_plane =
            |plane: &Plane| profile.devices.iter().find(|device| device.plane == plane.id).map(|d| d.id);
        Self {
            name,
            first_line: 0,
            shown: None,
            device_of: profile.planes.iter().map(of_plane).collect(),
            steps: OnceLock::new(),
            spans: empty(profile.devices.len()),
            ops: empty(profile.devices.len()),
            labels: empty(profile.planes.len()),
            depth: empty(profile.lines.len()),
            own: empty(profile.lines.len()),
            indexes: Indexes::default(),
            held: None,
            profile: Arc::new(profile),
        }
    }

    /// One file of a run of this name, which is called so in answers.
    pub(crate) fn of_file(name: &str, shown: &str, mut profile: Profile, place: &Place) -> Self {
        profile.stand_among(place.zero_ns, place.is_one_of_many);
        let mut run = Self::of(name.to_owned(), profile);
        (run.first_line, run.shown) = (place.first_line, Some(shown.to_owned()));
        run
    }

    /// Puts one file of a run in another place; `false`, and nothing done, while somebody else has its profile.
    pub(crate) fn placed(&mut self, name: &str, shown: &str, place: &Place) -> bool {
        let held = self.held.take();
        let Some(profile) = Arc::get_mut(&mut self.profile) else {
            self.held = held;
            return false;
        };
        *self = Self::of_file(name, shown, std::mem::take(profile), place);
        self.held = held;
        true
    }

    /// The same, read from a copy that stays as long as it.
    pub(crate) fn holding(self, copy: FarCopy) -> Self {
        Self { held: Some(copy), ..self }
    }

    /// The same, opened with what is known of its files.
    pub(crate) fn known_by(self, indexes: Indexes) -> Self {
        Self { indexes, ..self }
    }

    /// Keeps what was decoded of its files for the next question, as [`Cache::learn`] does.
    pub(crate) fn learn(&self, cache: &Cache) {
        cache.learn(&self.profile, &self.indexes);
    }

    /// The number of a line in its run.
    pub(crate) fn line_number(&self, line: &Line) -> i64 {
        i64::from(self.first_line) + i64::from(line.id.0)
    }

    /// What a file is called in answers.
    pub(crate) fn shown(&self, source: &Source) -> String {
        self.shown.clone().unwrap_or_else(|| naming::shown(&source.path))
    }

    /// The device that a plane shows.
    pub(crate) fn device_of(&self, plane: PlaneId) -> Option<&Device> {
        self.device_of.get(plane.index()).copied().flatten().map(|id| self.profile.device(id))
    }

    /// The device whose ops stand on a line.
    pub(crate) fn device_with_ops(&self, line: &Line) -> Option<&Device> {
        self.device_of(line.plane).filter(|device| holds_ops(device.kind, line.kind))
    }

    /// The steps of the whole run: what kind of step one is depends on all of them.
    pub(crate) fn steps(&self) -> &Steps {
        self.steps.get_or_init(|| {
            let active: Vec<&Device> = self.profile.devices.iter().filter(|device| device.active).collect();
            Steps::find(&self.profile, &active)
        })
    }

    /// The steps of a device by their starts.
    pub(crate) fn spans(&self, device: &Device) -> &[StepSpan] {
        self.spans[device.id.index()].get_or_init(|| {
            let on = |step: &haloscope_time::steps::Step| {
                let at = step.on(device.id)?;
                Some(StepSpan { start_ps: at.start_ps, end_ps: at.end_ps, number: step.number })
            };
            let mut spans: Vec<StepSpan> = self.steps().rows.iter().filter_map(on).collect();
            spans.sort_by_key(|span| (span.start_ps, span.number));
            spans
        })
    }

    /// The ops of a device, and which event is which.
    pub(crate) fn ops(&self, device: &Device) -> &DeviceTable {
        self.ops[device.id.index()].get_or_init(|| DeviceTable::find(&self.profile, device))
    }

    /// What events are called, by the plane's metadata rows.
    pub(crate) fn labels(&self, plane: &Plane) -> &ArrayRef {
        self.labels[plane.id.index()].get_or_init(|| {
            let source = self.profile.source_of(plane);
            let label = |meta: usize| plane.meta_label(source, meta as MetaIdx);
            let labels = (0..plane.metas.len()).map(label);
            Arc::new(StringViewArray::from_iter_values(labels))
        })
    }

    /// In how many events of its line each event lies.
    pub(crate) fn depth(&self, line: &Line) -> &[u32] {
        self.depth[line.id.index()].get_or_init(|| {
            let mut ends: Vec<i64> = Vec::new();
            let depth = |event: haloscope_profile::Event| {
                while ends.pop_if(|end| *end < event.end_ps || *end <= event.start_ps).is_some() {}
                let depth = ends.len() as u32;
                ends.push(event.end_ps);
                depth
            };
            self.profile.events(line).iter().map(depth).collect()
        })
    }

    /// The self time of each event: of ops as `ops` counts it, of others their time less that of events inside.
    pub(crate) fn own(&self, line: &Line) -> &[i64] {
        self.own[line.id.index()].get_or_init(|| {
            let events = self.profile.events(line);
            let mut own = vec![0; events.len()];
            // Kernels of a stream do not nest, and asynchronous ops overlap without belonging to each other.
            if matches!(line.kind, LineKind::Stream | LineKind::AsyncXlaOps) {
                own = events.durations_ps().iter().collect();
            } else {
                walk_own(|| events.iter(), None, |event, time| own[event.index] = time);
            }
            if let Some(device) = self.device_with_ops(line) {
                self.ops(device).put_own(&self.profile, line.id, &mut own);
            }
            own
        })
    }
}

/// What a run is called: its folder or file, and of a session the log folder that it is in.
pub(crate) fn name(path: &Path) -> String {
    let shown = std::path::PathBuf::from(naming::shown(path));
    // What was brought here is called by where it comes from.
    let is_own = shown == path && !haloscope_store::is_elsewhere(path);
    let path = path.canonicalize().ok().filter(|_| is_own).unwrap_or(shown);
    let mut parts = path.iter().rev().map(|part| part.to_string_lossy().into_owned());
    let own = parts.next().unwrap_or_else(|| "run".to_owned());
    match (parts.next().as_deref(), parts.next().as_deref(), parts.next()) {
        (Some("profile"), Some("plugins"), Some(folder)) => format!("{folder}/{own}"),
        _ => own,
    }
}

/// Gives runs of one name a number behind it.
pub(crate) fn tell_apart(runs: &mut [Run]) {
    let mut names: Vec<String> = runs.iter().map(|run| run.name.clone()).collect();
    tell_names_apart(&mut names);
    runs.iter_mut().zip(names).for_each(|(run, name)| run.name = name);
}

/// The same of their names.
pub(crate) fn tell_names_apart(names: &mut [String]) {
    let all = names.to_vec();
    for (at, name) in names.iter_mut().enumerate() {
        let before = all[..at].iter().filter(|other| *other == name).count();
        if all.iter().filter(|other| *other == name).count() > 1 {
            *name = format!("{name}#{}", before + 1);
        }
    }
}

/// The word for a line's kind.
pub(crate) fn kind_word(kind: LineKind) -> &'static str {
    match kind {
        LineKind::XlaOps => "op",
        LineKind::AsyncXlaOps => "async_op",
        LineKind::XlaModules => "module",
        LineKind::Steps => "step",
        LineKind::Stream => "stream",
        LineKind::Thread => "thread",
        LineKind::Counters => "counter",
        LineKind::Derived => "derived",
        LineKind::Other => "other",
    }
}

/// The word for a device's kind.
pub(crate) fn device_word(kind: DeviceKind) -> &'static str {
    kind.word()
}
