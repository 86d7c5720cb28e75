//! TPU: framework ops, name scopes and source from the stats of ops, and transfers to and from the host's memory.

use std::borrow::Cow;

use haloscope_xspace::StatValue;
use rustc_hash::FxHashMap;

use super::builder::{Builders, Piece};
use super::offload::Offload;
use super::{Derived, DerivedLine, FRAMEWORK_OPS, OpLabels, SCOPES, SOURCE, ties};
use haloscope_event_groups::{Context, Lane};
use haloscope_profile::{Line, Plane, Profile, Source};

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
#[derive(Default)]
struct Meta {
    op: Option<OpLabels>,
    source: Option<u32>,
    is_async: bool,
    offload: bool,
}

pub(super) fn lines(profile: &Profile, plane: &Plane, context: &Context) -> Derived {
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
    let own_stats = keys.op.is_some() || keys.source.is_some() || keys.is_async.is_some();
    // Events that carry their own op or source, which few writers do.
    let mut special: FxHashMap<(u32, u32), Meta> = FxHashMap::default();
    let lanes = profile.lines_of(plane.id).filter_map(|line| Some((line, context.lane(line.id)?)));
    let lanes: Vec<(&Line, &Lane)> = lanes.collect();
    let mut order = Vec::with_capacity(lanes.iter().map(|(_, lane)| lane.len(profile)).sum());
    for (number, (line, lane)) in lanes.iter().enumerate() {
        let events = profile.events(line);
        let (starts, durations) = (lane.starts_ps(profile), lane.durations_ps(profile));
        for (at, meta) in lane.metas(profile).iter().enumerate() {
            let entry = &metas[*meta as usize];
            let mut about = About { is_async: entry.is_async, ..About::default() };
            if own_stats && let Some(row) = lane.row(at) {
                for stat in events.stats(source, row) {
                    keys.note(plane, source, stat.metadata_id, stat.value, &mut about);
                }
            }
            let counts = !about.is_async && (about.op.is_some() || about.source.is_some() || entry.matters());
            if counts && (about.op.is_some() || about.source.is_some()) {
                let labels = &mut derived.labels;
                let known = |op: &Cow<'_, str>| !op.is_empty();
                let meta = Meta {
                    op: about.op.filter(known).map(|op| OpLabels::new(&op, labels)),
                    source: about.source.filter(known).map(|s| labels.intern(&s)).or(entry.source),
                    ..Meta::default()
                };
                special.insert((number as u32, at as u32), meta);
            }
            // All take part in the sort, which decides what comes first among equals.
            order.push((starts[at], durations.at(at), number as u32, at as u32, counts.then_some(*meta)));
        }
    }
    ties::sort(&mut order, |(start, duration, ..)| (*start, *duration));
    let mut lines = Builders::new([&[], &[OPS_LINE], &[]], false);
    let mut offload = Offload::default();
    for (start_ps, duration_ps, number, at, meta) in order {
        let Some(meta) = meta else { continue };
        let group = lanes[number as usize].1.group(at as usize);
        let piece = Piece { start_ps, end_ps: start_ps + duration_ps, group };
        let entry = &metas[meta as usize];
        let own = special.get(&(number, at));
        if let Some(op) = own.and_then(|own| own.op.as_ref()).or(entry.op.as_ref()) {
            lines.add_nested(SCOPES_LINE, &op.scopes, piece, &[]);
            lines.add(OPS_LINE, op.op, piece, None);
        }
        if let Some(label) = own.and_then(|own| own.source).or(entry.source) {
            lines.add(SOURCE_LINE, label, piece, None);
        }
        if entry.offload {
            offload.add(plane, source, meta, piece);
        }
    }
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

impl Meta {
    fn matters(&self) -> bool {
        self.op.is_some() || self.source.is_some() || self.offload
    }
}
