//! From the bytes of files to tables.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use haloscope_xspace::{EventMetadataView, Faults, LineView, PlaneView, RawLine, SpaceView, StatValue};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::module::split_label;
use super::{
    Bytes, EventMeta, HloModule, Host, HostId, Line, LineId, LineKind, Plane, PlaneId, PlaneKind, Profile,
    Source, Span, Stat,
};
use super::{device, memo};
use haloscope_report::units::LARGEST_PS;

/// Line timestamps above this are nanoseconds since 1970; below, since the start of the capture.
const EPOCH_NS: i64 = 100_000_000_000_000_000;

/// Events that a line of a part may say that it had.
const MOST_LEFT_OUT: u64 = 1 << 40;

/// Endings of files, without `.gz`, before which the host's name stands.
const ENDINGS: [&str; 5] = [".xplane.pb", ".xplane.riegeli", ".pb", ".trace.json", ".json"];

impl Profile {
    /// A profile from the bytes of one or more files, in the order given. Damage is kept in [`Source::faults`].
    #[must_use]
    pub fn from_files(files: Vec<(PathBuf, Bytes)>) -> Self {
        let files = files.into_iter().map(|(path, bytes)| (path, bytes, None)).collect();
        Self::from_known_files(files, |_| ())
    }

    pub(super) fn add_file(&mut self, mut source: Source) {
        let index = self.sources.len();
        source.first_line = self.lines.len();
        let host = HostId(self.hosts.len() as u32);
        let space = SpaceView::parse_with(source.bytes(), read_lines);
        let (mut planes, modules) = (Vec::new(), self.modules.len());
        for view in &space.planes {
            let id = PlaneId((self.planes.len() + planes.len()) as u32);
            let first = self.lines.len();
            let kind = PlaneKind::of(&String::from_utf8_lossy(view.name));
            for line in &view.lines {
                let line = make_line(LineId(self.lines.len() as u32), id, kind, line, &source);
                self.lines.push(line);
            }
            let plane = make_plane(id, host, index, first..self.lines.len(), view, &source);
            if plane.kind == PlaneKind::Metadata {
                self.modules.extend(find_modules(&plane, &source));
            }
            planes.push(plane);
        }
        self.hosts.push(make_host(&source.path, &planes));
        self.planes.append(&mut planes);
        let texts = |all: &[&[u8]]| all.iter().map(|t| String::from_utf8_lossy(t).into_owned()).collect();
        let (errors, warnings, hostnames) =
            (texts(&space.errors), texts(&space.warnings), texts(&space.hostnames));
        let faults = space.faults.clone();
        drop(space);
        (source.errors, source.warnings, source.hostnames) = (errors, warnings, hostnames);
        source.faults = faults;
        source.modules = self.modules.len() - modules;
        self.sources.push(source);
    }

    /// Puts all hosts on one clock whose zero is the earliest capture start.
    pub(super) fn set_clocks(&mut self) {
        let (zero_ns, first_line_ns) = self.earliest_ns();
        // Without a start time the first line's own epoch time is the best zero there is.
        self.set_clocks_from(zero_ns.or(first_line_ns));
    }

    /// When the first capture and the first line with an epoch time of its own begin, nanoseconds since 1970.
    #[must_use]
    pub fn earliest_ns(&self) -> (Option<i64>, Option<i64>) {
        let epoch_lines = self.lines.iter().map(|l| l.timestamp_ns).filter(|ns| *ns > EPOCH_NS);
        (self.hosts.iter().filter_map(|h| h.start_ns).min(), epoch_lines.min())
    }

    /// Places what was opened alone among the files of its run: on the run's clock, whose zero is `zero_ns` in nanoseconds since 1970, and
    /// with devices that are called as those of one host of several. Events that were decoded are decoded anew.
    pub fn stand_among(&mut self, zero_ns: Option<i64>, is_one_of_many: bool) {
        self.set_clocks_from(zero_ns);
        self.lines.iter_mut().for_each(|line| line.events = OnceLock::new());
        self.memo = memo::Memo::default();
        self.devices = device::find_among(self, is_one_of_many);
    }

    fn set_clocks_from(&mut self, zero_ns: Option<i64>) {
        for host in &mut self.hosts {
            if let (Some(zero), Some(start)) = (zero_ns, host.start_ns) {
                let at =
                    |ns: i64| ns.saturating_sub(zero).saturating_mul(1000).clamp(-LARGEST_PS, LARGEST_PS);
                host.base_ps = at(start);
                host.capture_ps = host.stop_ns.filter(|stop| *stop > start).map(|stop| (at(start), at(stop)));
            }
        }
        for line in &mut self.lines {
            let timestamp_ns = line.timestamp_ns;
            let host = &self.hosts[self.planes[line.plane.index()].host.index()];
            line.base_ps = match zero_ns {
                Some(zero) if timestamp_ns > EPOCH_NS => {
                    timestamp_ns.saturating_sub(zero).saturating_mul(1000)
                }
                _ => timestamp_ns.saturating_mul(1000).saturating_add(host.base_ps),
            };
        }
    }
}

/// Reads the headers of lines, in parallel where they are large.
fn read_lines<'a>(lines: &[RawLine<'a>]) -> Vec<(LineView<'a>, Faults)> {
    /// Less is read before another thread is awake.
    const LARGE: usize = 1 << 20;
    if lines.iter().map(RawLine::len).sum::<usize>() < LARGE {
        return lines.iter().map(RawLine::read).collect();
    }
    lines.par_iter().with_max_len(1).map(RawLine::read).collect()
}

fn make_line(id: LineId, plane: PlaneId, kind: PlaneKind, view: &LineView<'_>, source: &Source) -> Line {
    let name = if view.display_name.is_empty() { view.name } else { view.display_name };
    let name = String::from_utf8_lossy(name).into_owned();
    Line {
        id,
        plane,
        wire_id: view.id,
        display_id: view.display_id,
        timestamp_ns: view.timestamp_ns,
        kind: LineKind::of(&name, kind.is_device()),
        name,
        // What a part says of a line that is not in it is held against nothing: no sum of such numbers comes near the largest.
        event_count: view.event_count.saturating_add(view.left_out.min(MOST_LEFT_OUT)),
        is_left_out: view.left_out > 0,
        // The clock is set once all hosts are known; until then this holds the timestamp in nanoseconds.
        base_ps: view.timestamp_ns,
        body: Span { len: view.body.len() as u64, ..source.span_of(view.body) },
        strides: view.strides.as_slice().into(),
        events: OnceLock::new(),
    }
}

fn make_plane(
    id: PlaneId,
    host: HostId,
    source_index: usize,
    lines: std::ops::Range<usize>,
    view: &PlaneView<'_>,
    source: &Source,
) -> Plane {
    let name = String::from_utf8_lossy(view.name).into_owned();
    let mut plane = Plane {
        id,
        wire_id: view.id,
        host,
        source: source_index,
        kind: PlaneKind::of(&name),
        ordinal: name.rsplit(':').next().and_then(|n| n.parse().ok()),
        name,
        lines,
        metas: vec![EventMeta { id: i64::MIN, ..EventMeta::default() }],
        stats: Vec::new(),
        meta_of: FxHashMap::default(),
        stat_names: FxHashMap::default(),
        stat_ids: FxHashMap::default(),
    };
    for (key, meta) in &view.event_metadata {
        let row = plane.metas.len() as u32;
        plane.metas.push(EventMeta {
            id: *key,
            name: source.span_of(meta.name),
            display_name: source.span_of(meta.display_name),
            body: source.span_of(meta.body()),
        });
        // A key may repeat: in proto3 the last entry counts.
        plane.meta_of.insert(*key, row);
    }
    for (key, meta) in &view.stat_metadata {
        plane.stat_names.insert(*key, source.span_of(meta.name));
        plane.stat_ids.insert(meta.name.to_vec(), *key);
    }
    for stat in &view.stats {
        let Some(value) = stat.value else { continue };
        let value = match value {
            StatValue::Double(v) => Stat::Number(v),
            StatValue::Bytes(bytes) => Stat::Bytes(source.span_of(bytes)),
            StatValue::Int(v) => Stat::Int(v),
            StatValue::Uint(v) => Stat::Int(v as i64),
            text => Stat::Text(plane.text(source, text).unwrap_or_default().into_owned()),
        };
        let name = plane.stat_name(source, stat.metadata_id).into_owned();
        plane.stats.push((name, value));
    }
    plane
}

pub(super) fn make_host(path: &Path, planes: &[Plane]) -> Host {
    let file = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let name = file.strip_suffix(".gz").unwrap_or(&file);
    let name = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
    let time = |stat| {
        let planes = planes.iter().filter(|p| p.kind == PlaneKind::TaskEnvironment);
        planes.filter_map(|p| p.stat(stat)?.as_i64()).find(|v| *v > 0)
    };
    let facts = planes.iter().filter(|p| p.kind == PlaneKind::Metadata).flat_map(|p| &p.stats);
    let environment = facts.filter_map(|(name, stat)| match stat {
        Stat::Text(text) => Some((name.clone(), text.clone())),
        Stat::Int(v) => Some((name.clone(), v.to_string())),
        Stat::Number(v) => Some((name.clone(), v.to_string())),
        Stat::Bytes(_) => None,
    });
    Host {
        name: name.to_owned(),
        start_ns: time("profile_start_time"),
        stop_ns: time("profile_stop_time"),
        capture_ps: None,
        base_ps: 0,
        environment: environment.collect(),
    }
}

/// The modules of a metadata plane: event metadata with a stat `Hlo Proto` (`HLO Proto` in older files).
fn find_modules(plane: &Plane, source: &Source) -> Vec<HloModule> {
    let Some(proto_id) = plane.stat_id("Hlo Proto").or_else(|| plane.stat_id("HLO Proto")) else {
        return Vec::new();
    };
    let module = |meta: &EventMeta| {
        let view = EventMetadataView::new(source.slice(meta.body), meta.body.at);
        let stat = view.stats().find(|s| s.metadata_id == proto_id)?;
        let Some(StatValue::Bytes(proto) | StatValue::Str(proto)) = stat.value else { return None };
        let label = source.text(meta.name);
        let (name, program_id) = split_label(&label);
        Some(HloModule {
            host: plane.host,
            source: plane.source,
            name: name.to_owned(),
            program_id,
            proto: source.span_of(proto),
            stage: None,
            decoded: OnceLock::new(),
            first: OnceLock::new(),
        })
    };
    plane.metas.iter().filter_map(module).collect()
}
