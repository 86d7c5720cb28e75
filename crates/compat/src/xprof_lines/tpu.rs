//! TPU: framework ops, name scopes and source from the stats of ops, and transfers to and from the host's memory.

use std::borrow::Cow;

use haloscope_xspace::StatValue;
use rustc_hash::FxHashMap;

use super::builder::{Builders, Labels, Piece};
use super::in_order::{self, At, Times};
use super::offload::Offload;
use super::{Derived, DerivedLine, FRAMEWORK_OPS, OpLabels, SCOPES, SOURCE, ties};
use haloscope_event_groups::{Context, Lane};
use haloscope_profile::{Line, MetaIdx, Plane, Profile, Source};

const OPS_LINE: usize = 0;
const SCOPES_LINE: usize = 1;
const SOURCE_LINE: usize = 2;

/// What an event is about: its framework op and its source position, as text.
#[derive(Debug, Clone, Default)]
struct About<'p> {
    op: Option<Cow<'p, str>>,
    source: Option<Cow<'p, str>>,
    is_async: bool,
}

struct Keys {
    op: Option<i64>,
    source: Option<i64>,
    is_async: Option<i64>,
}

impl Keys {
    fn note<'p>(
        &self,
        plane: &Plane,
        source: &'p Source,
        id: i64,
        value: Option<StatValue<'p>>,
        to: &mut About<'p>,
    ) {
        let id = Some(id);
        let text = || value.and_then(|v| plane.text(source, v)).unwrap_or_default();
        if id == self.op {
            to.op = Some(text());
        } else if id == self.source {
            to.source = Some(text());
        } else if id == self.is_async {
            to.is_async = value.and_then(|v| v.as_u64_bits()) != Some(0);
        }
    }
}

/// What a metadata entry makes of its events.
#[derive(Default, PartialEq)]
struct Meta {
    op: Option<OpLabels>,
    source: Option<u32>,
    is_async: bool,
    offload: bool,
}

pub(super) fn lines(profile: &Profile, plane: &Plane, context: &Context) -> Derived {
    lines_by(profile, plane, context, false)
}

/// The same; if `as_sorted`, by the sort whether or not it decides anything.
fn lines_by(profile: &Profile, plane: &Plane, context: &Context, as_sorted: bool) -> Derived {
    let source = profile.source_of(plane);
    let keys =
        Keys { op: plane.stat_id("tf_op"), source: plane.stat_id("source"), is_async: plane.stat_id("_a") };
    let mut derived = Derived::default();
    let mut metas = Vec::with_capacity(plane.metas.len());
    for row in 0..plane.metas.len() as u32 {
        let mut about = About::default();
        for stat in plane.meta_stats(source, row) {
            keys.note(plane, source, stat.metadata_id, stat.value, &mut about);
        }
        metas.push(Meta {
            op: about.op.filter(|op| !op.is_empty()).map(|op| OpLabels::new(&op, &mut derived.labels)),
            source: about.source.filter(|s| !s.is_empty()).map(|s| derived.labels.intern(&s)),
            is_async: about.is_async,
            offload: super::offload::is_offload(plane, source, row),
        });
    }
    let lanes = profile.lines_of(plane.id).filter_map(|line| Some((line, context.lane(line.id)?)));
    let lanes: Vec<Counted<'_>> = lanes
        .map(|(line, lane)| Counted::new(profile, plane, (line, lane), &keys, &metas, &mut derived.labels))
        .collect();
    let mut found = Found::new(profile, plane, &lanes, &metas);
    if as_sorted || !found.add_all() {
        found = Found::new(profile, plane, &lanes, &metas);
        found.add_all_as_sorted();
    }
    let Found { mut lines, offload, .. } = found;
    lines.close(SCOPES_LINE, 0);
    let [ops, scopes, positions] = lines.lines.map(|line| line.events);
    derived.lines = vec![
        DerivedLine::new(SCOPES, "Framework Name Scope", scopes),
        DerivedLine::new(FRAMEWORK_OPS, "Framework Ops", ops),
        DerivedLine::new(SOURCE, "Source code", positions),
    ];
    derived.lines.extend(offload.into_lines(&mut derived.labels));
    derived
}

/// A line, and which of its events count.
struct Counted<'p> {
    lane: &'p Lane,
    times: Times<'p>,
    metas: &'p [MetaIdx],
    /// Whether each counts, where the events say so themselves; else their metadata does.
    counts: Option<Vec<bool>>,
    /// Events that carry their own op or source, which few writers do.
    own: FxHashMap<u32, Meta>,
}

impl<'p> Counted<'p> {
    fn new(
        profile: &'p Profile,
        plane: &Plane,
        (line, lane): (&'p Line, &'p Lane),
        keys: &Keys,
        metas: &[Meta],
        labels: &mut Labels,
    ) -> Self {
        let times = Times { starts: lane.starts_ps(profile), durations: lane.durations_ps(profile) };
        let mut counted =
            Self { lane, times, metas: lane.metas(profile), counts: None, own: FxHashMap::default() };
        let (events, source) = (profile.events(line), profile.source_of(plane));
        if ![keys.op, keys.source, keys.is_async].iter().flatten().any(|id| events.may_carry(*id)) {
            return counted;
        }
        let mut count = |(at, meta): (u32, &MetaIdx)| {
            let entry = &metas[*meta as usize];
            let mut about = About { is_async: entry.is_async, ..About::default() };
            if let Some(row) = lane.row(at as usize) {
                for stat in events.stats(source, row) {
                    keys.note(plane, source, stat.metadata_id, stat.value, &mut about);
                }
            }
            let says = about.op.is_some() || about.source.is_some();
            let counts = !about.is_async && (says || entry.matters());
            if counts && says {
                let known = |op: &Cow<'_, str>| !op.is_empty();
                let meta = Meta {
                    op: about.op.filter(known).map(|op| OpLabels::new(&op, labels)),
                    source: about.source.filter(known).map(|s| labels.intern(&s)).or(entry.source),
                    ..Meta::default()
                };
                counted.own.insert(at, meta);
            }
            counts
        };
        counted.counts = Some((0_u32..).zip(counted.metas).map(&mut count).collect());
        counted
    }

    fn counts(&self, metas: &[Meta], at: u32) -> bool {
        let entry = || &metas[self.metas[at as usize] as usize];
        self.counts
            .as_ref()
            .map_or_else(|| !entry().is_async && entry().matters(), |counts| counts[at as usize])
    }
}

/// The derived lines while they are found.
struct Found<'a> {
    profile: &'a Profile,
    plane: &'a Plane,
    lanes: &'a [Counted<'a>],
    metas: &'a [Meta],
    lines: Builders<3>,
    offload: Offload,
}

impl<'a> Found<'a> {
    fn new(profile: &'a Profile, plane: &'a Plane, lanes: &'a [Counted<'a>], metas: &'a [Meta]) -> Self {
        let lines = Builders::new([&[], &[OPS_LINE], &[]], false);
        Self { profile, plane, lanes, metas, lines, offload: Offload::default() }
    }

    /// Adds all events by start and duration. False as soon as there are two whose order is not told by that, and matters.
    fn add_all(&mut self) -> bool {
        let times: Vec<Times<'_>> = self.lanes.iter().map(|lane| lane.times).collect();
        in_order::walk(&times, |start_ps, same| {
            let is_told = |equals: &[At]| {
                let mut counted = equals.iter().filter(|at| self.counts(at));
                let first = counted.next();
                first.is_none_or(|first| counted.all(|other| self.are_alike(first, other)))
            };
            if same.len() > 1 && !same.chunk_by(|a, b| a.0 == b.0).all(is_told) {
                return false;
            }
            same.iter().for_each(|at| self.add(start_ps, at));
            true
        })
    }

    /// The same in the order of a sort, which decides what comes first among equals. All take part in it.
    fn add_all_as_sorted(&mut self) {
        let mut order = Vec::with_capacity(self.lanes.iter().map(|lane| lane.metas.len()).sum());
        for (number, lane) in (0_u32..).zip(self.lanes) {
            let times = lane.times.starts.iter().zip(lane.times.durations.iter());
            order
                .extend((0_u32..).zip(times).map(|(at, (start, duration))| (*start, (duration, number, at))));
        }
        ties::sort(&mut order, |(start, (duration, ..))| (*start, *duration));
        order.iter().for_each(|(start_ps, at)| self.add(*start_ps, at));
    }

    fn counts(&self, (_, number, at): &At) -> bool {
        self.lanes[*number as usize].counts(self.metas, *at)
    }

    /// True for events of one time that leave the same behind, whichever comes first.
    fn are_alike(&self, a: &At, b: &At) -> bool {
        let of = |(_, number, at): &At| {
            let lane = &self.lanes[*number as usize];
            let meta = lane.metas[*at as usize];
            (lane.own.contains_key(at), lane.lane.group(*at as usize), meta, &self.metas[meta as usize])
        };
        let ((a_own, a_group, a, a_meta), (b_own, b_group, b, b_meta)) = (of(a), of(b));
        let is_same = a == b || (!a_meta.offload && !b_meta.offload && a_meta == b_meta);
        !a_own && !b_own && a_group == b_group && is_same
    }

    fn add(&mut self, start_ps: i64, at: &At) {
        if !self.counts(at) {
            return;
        }
        let (duration_ps, number, at) = *at;
        let lane = &self.lanes[number as usize];
        let piece = Piece { start_ps, end_ps: start_ps + duration_ps, group: lane.lane.group(at as usize) };
        let meta = lane.metas[at as usize];
        let entry = &self.metas[meta as usize];
        let own = if lane.own.is_empty() { None } else { lane.own.get(&at) };
        let lines = &mut self.lines;
        if let Some(op) = own.and_then(|own| own.op.as_ref()).or(entry.op.as_ref()) {
            lines.add_nested(SCOPES_LINE, &op.scopes, piece, &[]);
            lines.add(OPS_LINE, op.op, piece, None);
        }
        if let Some(label) = own.and_then(|own| own.source).or(entry.source) {
            lines.add(SOURCE_LINE, label, piece, None);
        }
        if entry.offload {
            self.offload.add(self.plane, self.profile.source_of(self.plane), meta, piece);
        }
    }
}

impl Meta {
    fn matters(&self) -> bool {
        self.op.is_some() || self.source.is_some() || self.offload
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use haloscope_profile::{HostId, PlaneKind, load};

    use super::*;

    fn fixture(run: &str) -> Profile {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/runs").join(run);
        load::open(&load::find(&folder).unwrap()).unwrap()
    }

    #[test]
    fn lines_are_those_of_the_sort() {
        let mut events = 0;
        for run in
            ["tpu-train", "tpu-decode", "tpu-input-bound", "tpu-run-scan", "tpu-custom-call", "tpu-gate"]
        {
            let profile = fixture(run);
            for host in (0..profile.hosts.len()).map(|host| HostId(host as u32)) {
                let context = Context::of(&profile, host);
                for plane in profile.planes_of(host).filter(|plane| plane.kind == PlaneKind::Tpu) {
                    let [merged, sorted] =
                        [false, true].map(|as_sorted| lines_by(&profile, plane, &context, as_sorted));
                    assert_eq!(merged.labels.as_slice(), sorted.labels.as_slice(), "{run}");
                    assert_eq!(merged.lines.len(), sorted.lines.len(), "{run}");
                    for (merged, sorted) in merged.lines.iter().zip(&sorted.lines) {
                        assert!(merged.events.iter().eq(sorted.events.iter()), "{run}: {}", merged.name);
                        assert_eq!(merged.details, sorted.details, "{run}: {}", merged.name);
                        events += merged.events.len();
                    }
                }
            }
        }
        assert!(events > 1000, "{events} events");
    }

    #[test]
    fn keys_that_a_line_does_not_have_are_on_none_of_its_events() {
        let mut absent = 0;
        for run in ["tpu-train", "tpu-input-bound", "cpu-train", "gpu-train"] {
            let profile = fixture(run);
            for line in &profile.lines {
                let (plane, events) = (profile.plane(line.plane), profile.events(line));
                let source = profile.source_of(plane);
                let names = [
                    "tf_op",
                    "source",
                    "_a",
                    "_pt",
                    "_c",
                    "_r",
                    "run_id",
                    "correlation_id",
                    "hlo_op",
                    "step_num",
                ];
                for id in names.iter().filter_map(|name| plane.stat_id(name)) {
                    let any =
                        (0..events.len()).any(|row| events.stats(source, row).any(|s| s.metadata_id == id));
                    assert!(events.may_carry(id) || !any, "{run}: {} has the key {id}", line.name);
                    absent += usize::from(!events.may_carry(id));
                }
            }
        }
        assert!(absent > 10, "{absent} keys that a plane names and a line lacks");
    }
}
