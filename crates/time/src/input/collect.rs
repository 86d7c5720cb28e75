//! Finds stages among the events of a host's threads.

use rustc_hash::FxHashMap;

use super::class::{self, StageClass, StageSource};
use super::{Pipeline, Stage};
use crate::intervals::Intervals;
use crate::nesting::walk_innermost;
use haloscope_profile::{Event, Events, HostId, Line, LineKind, Mark, Plane, Profile, Source};

/// What is gathered of a stage.
struct Found {
    stage: Stage,
    /// When it was the innermost stage, by thread.
    own: Vec<Intervals>,
    /// How often each stage was around it on the same thread.
    parents: FxHashMap<usize, u64>,
    /// Threads, by row.
    lines: Vec<usize>,
}

#[derive(Default)]
struct Collected {
    found: Vec<Found>,
    of: FxHashMap<(String, StageClass, StageSource), usize>,
    /// Who produced a context (type and id), and who consumed one.
    produced: FxHashMap<(u64, u64), usize>,
    consumed: Vec<((u64, u64), usize)>,
}

/// Keys of the stats of stages on one plane.
struct Keys {
    name: Option<i64>,
    category: Option<i64>,
    bytes: Option<i64>,
    produces: [Option<i64>; 2],
    consumes: [Option<i64>; 2],
}

pub(super) fn pipeline(profile: &Profile, host: HostId, cut: Option<&Intervals>) -> Pipeline {
    let mut all = Collected::default();
    let mut has_events = false;
    for plane in profile.planes_of(host).filter(|p| !p.kind.is_device()) {
        let threads = profile.lines_of(plane.id).filter(|l| l.kind == LineKind::Thread && l.event_count > 0);
        let threads: Vec<&Line> = threads.collect();
        has_events |= !threads.is_empty();
        all.plane(profile, plane, &threads, cut);
    }
    all.finish(host, has_events)
}

impl Collected {
    fn plane(&mut self, profile: &Profile, plane: &Plane, threads: &[&Line], cut: Option<&Intervals>) {
        let source = profile.source_of(plane);
        let named: Vec<Option<(StageSource, StageClass)>> =
            (0..plane.metas.len() as u32).map(|m| class::of_name(&plane.meta_label(source, m))).collect();
        let states = plane.stat_id("_ipl_stage_id").is_some();
        let names_any = named.iter().any(Option::is_some);
        let keys = Keys::of(plane);
        for line in threads {
            let is_worker = class::is_worker(&line.name);
            // Lines are decoded only where a stage can be.
            if !(states || names_any || is_worker) {
                continue;
            }
            let events = profile.events(line);
            let stage = |e: &Event| {
                events.has(e.index, Mark::InputStage)
                    || named.get(e.meta as usize).is_some_and(Option::is_some)
            };
            let mut own: Vec<Event> = events.iter().filter(stage).collect();
            let undeclared = own.is_empty() && is_worker;
            if undeclared {
                own = outermost(events);
            }
            let rows: Vec<usize> = own
                .iter()
                .map(|event| {
                    let by_name = named.get(event.meta as usize).copied().flatten();
                    self.row(plane, source, events, event, by_name, &keys)
                })
                .collect();
            self.thread(line.id.index(), &own, &rows, cut);
        }
    }

    /// The row of an event's stage.
    fn row(
        &mut self,
        plane: &Plane,
        source: &Source,
        events: &Events,
        event: &Event,
        by_name: Option<(StageSource, StageClass)>,
        keys: &Keys,
    ) -> usize {
        let label = plane.meta_label(source, event.meta);
        let stated = events.has(event.index, Mark::InputStage);
        let (mut name, mut class, mut bytes) = (None, None, None);
        let (mut produces, mut consumes) = ([None; 2], [None; 2]);
        // The profiler writes constant stats with the event's metadata.
        for stat in plane.meta_stats(source, event.meta).chain(events.stats(source, event.index)) {
            let Some(value) = stat.value else { continue };
            let is = |key: Option<i64>| key == Some(stat.metadata_id);
            if is(keys.name) {
                name = plane.text(source, value).filter(|n| !n.is_empty());
            } else if is(keys.category) {
                class = plane.text(source, value).map(|word| StageClass::stated(&word));
            } else if is(keys.bytes) {
                bytes = value.as_i64();
            }
            for (slot, key) in
                produces.iter_mut().zip(keys.produces).chain(consumes.iter_mut().zip(keys.consumes))
            {
                if is(key) {
                    *slot = value.as_u64_bits();
                }
            }
        }
        let (who, class) = match (stated, by_name) {
            (true, _) => (StageSource::Stated, class.unwrap_or(StageClass::Unknown)),
            (false, Some(named)) => named,
            (false, None) => (StageSource::Worker, StageClass::Unknown),
        };
        let name = name.filter(|_| stated).unwrap_or_else(|| label.clone()).into_owned();
        let row = *self.of.entry((name.clone(), class, who)).or_insert_with(|| {
            let stage = Stage {
                name,
                event: label.into_owned(),
                class,
                source: who,
                calls: 0,
                total_ps: 0,
                self_ps: 0,
                waiting_ps: 0,
                work: Intervals::default(),
                threads: 0,
                called_by: None,
                bytes: None,
                group: 0,
            };
            self.found.push(Found {
                stage,
                own: Vec::new(),
                parents: FxHashMap::default(),
                lines: Vec::new(),
            });
            self.found.len() - 1
        });
        if let Some(more) = bytes {
            let bytes = &mut self.found[row].stage.bytes;
            *bytes = Some(bytes.unwrap_or(0).saturating_add(more));
        }
        if let [Some(kind), Some(id)] = produces {
            self.produced.entry((kind, id)).or_insert(row);
        }
        if let [Some(kind), Some(id)] = consumes {
            self.consumed.push(((kind, id), row));
        }
        row
    }

    /// Adds the stages of one thread; `rows` are those of the events.
    fn thread(&mut self, line: usize, events: &[Event], rows: &[usize], cut: Option<&Intervals>) {
        let mut own: FxHashMap<usize, Vec<(i64, i64)>> = FxHashMap::default();
        let numbered = events.iter().enumerate().map(|(index, e)| Event { index, ..*e });
        walk_innermost(numbered.clone(), |event, from, to| {
            own.entry(rows[event.index]).or_default().push((from, to));
        });
        let mut around: Vec<Event> = Vec::new();
        for event in numbered {
            around.retain(|outer| outer.end_ps > event.start_ps);
            let row = rows[event.index];
            if let Some(outer) = around.iter().rev().find(|outer| rows[outer.index] != row) {
                *self.found[row].parents.entry(rows[outer.index]).or_default() += 1;
            }
            around.push(event);
            let length =
                cut.map_or(event.end_ps - event.start_ps, |c| c.overlap(event.start_ps, event.end_ps));
            if cut.is_none() || length > 0 {
                let stage = &mut self.found[row].stage;
                stage.calls += 1;
                stage.total_ps = stage.total_ps.saturating_add(length);
            }
        }
        let mut own: Vec<_> = own.into_iter().collect();
        own.sort_unstable_by_key(|(row, _)| *row);
        for (row, parts) in own {
            let set = Intervals::union_of(parts);
            let set = cut.map_or_else(|| set.clone(), |c| set.intersect(c));
            if set.is_empty() {
                continue;
            }
            self.found[row].own.push(set);
            self.found[row].lines.push(line);
        }
    }

    fn finish(mut self, host: HostId, has_events: bool) -> Pipeline {
        self.found_callers();
        let unions: Vec<Intervals> = self.found.iter().map(|f| union(&f.own)).collect();
        let mut calls: Vec<Vec<usize>> = vec![Vec::new(); self.found.len()];
        for (row, found) in self.found.iter().enumerate() {
            if let Some(caller) = found.stage.called_by {
                calls[caller].push(row);
            }
        }
        let called: Vec<Vec<usize>> = (0..self.found.len()).map(|row| self.below(row, &calls)).collect();
        for (found, called) in self.found.iter_mut().zip(&called) {
            let busy: Vec<Intervals> = called.iter().map(|row| unions[*row].clone()).collect();
            let busy = union(&busy);
            let stage = &mut found.stage;
            for set in &found.own {
                stage.self_ps = stage.self_ps.saturating_add(set.length());
                stage.waiting_ps = stage.waiting_ps.saturating_add(set.intersect(&busy).length());
            }
            stage.work = union(&found.own).minus(&busy);
            stage.threads = found.lines.len();
        }
        let groups = self.groups();
        let mut walls = vec![Vec::new(); groups.iter().max().map_or(0, |g| g + 1)];
        for (found, group) in self.found.iter_mut().zip(&groups) {
            found.stage.group = *group;
            walls[*group].extend_from_slice(found.stage.work.as_slice());
        }
        // A stage outside of the time looked at is none.
        let mut order: Vec<usize> =
            (0..self.found.len()).filter(|row| self.found[*row].stage.calls > 0).collect();
        order.sort_by_key(|row| {
            let stage = &self.found[*row].stage;
            (std::cmp::Reverse(stage.work_ps()), stage.name.clone(), stage.class)
        });
        let place = |row: usize| order.iter().position(|other| *other == row);
        let stages = order.iter().map(|row| {
            let stage = self.found[*row].stage.clone();
            Stage { called_by: stage.called_by.and_then(place), ..stage }
        });
        Pipeline {
            host,
            has_events,
            stages: stages.collect(),
            groups: walls.into_iter().map(Intervals::union_of).collect(),
        }
    }

    /// Finds for each stage the one that calls it: the one around it, else the one whose context it consumes, else the
    /// tf.data iterator whose name its own continues.
    fn found_callers(&mut self) {
        let mut linked: Vec<Option<usize>> = vec![None; self.found.len()];
        for (context, row) in &self.consumed {
            let producer = self.produced.get(context).copied().filter(|p| p != row);
            linked[*row] = linked[*row].or(producer);
        }
        for (row, linked) in linked.into_iter().enumerate() {
            let found = &self.found[row];
            let around = found
                .parents
                .iter()
                .max_by_key(|(parent, n)| (**n, std::cmp::Reverse(**parent)))
                .map(|(p, _)| *p);
            let name = &found.stage.name;
            let is_outer = |other: &&Found| {
                let outer = &other.stage.name;
                found.stage.source == StageSource::TfData
                    && name.len() > outer.len() + 2
                    && name.starts_with(outer.as_str())
                    && name[outer.len()..].starts_with("::")
            };
            let named = self
                .found
                .iter()
                .enumerate()
                .filter(|(_, f)| is_outer(f))
                .max_by_key(|(_, f)| f.stage.name.len());
            let caller = around.or(linked).or(named.map(|(other, _)| other));
            self.found[row].stage.called_by = caller;
        }
        // Callers in a circle are none.
        for row in 0..self.found.len() {
            let (mut at, mut steps) = (row, 0);
            while let Some(next) = self.found[at].stage.called_by {
                steps += 1;
                if next == row || steps > self.found.len() {
                    self.found[row].stage.called_by = None;
                    break;
                }
                at = next;
            }
        }
    }

    /// The stages that a stage calls, and those that they call; `calls` has those that each calls itself.
    fn below(&self, row: usize, calls: &[Vec<usize>]) -> Vec<usize> {
        // Callers form no circles, so that each comes by once.
        let mut all: Vec<usize> = calls[row].clone();
        let mut next = 0;
        while let Some(at) = all.get(next).copied() {
            all.extend_from_slice(&calls[at]);
            next += 1;
        }
        if class::is_front(&self.found[row].stage.event) {
            // What the program calls for a batch waits for whatever else prepares one.
            let prepares = |f: &Found| {
                !matches!(f.stage.class, StageClass::Enqueue | StageClass::Callback)
                    && !class::is_front(&f.stage.event)
            };
            let others = self.found.iter().enumerate().filter(|(other, f)| *other != row && prepares(f));
            all.extend(others.map(|(other, _)| other));
            all.sort_unstable();
            all.dedup();
        }
        all
    }

    /// A number for each stage, the same for those that share threads.
    fn groups(&self) -> Vec<usize> {
        let mut group: Vec<usize> = (0..self.found.len()).collect();
        let mut first_on: FxHashMap<usize, usize> = FxHashMap::default();
        for (row, found) in self.found.iter().enumerate() {
            for line in &found.lines {
                let (a, b) = (group[row], group[*first_on.entry(*line).or_insert(row)]);
                group.iter_mut().filter(|g| **g == a.max(b)).for_each(|g| *g = a.min(b));
            }
        }
        group
    }
}

impl Keys {
    fn of(plane: &Plane) -> Self {
        Self {
            name: plane.stat_id("_ipl_stage_name"),
            category: plane.stat_id("_ipl_stage_cat"),
            bytes: plane.stat_id("bytes_transferred"),
            produces: ["_pt", "_p"].map(|key| plane.stat_id(key)),
            consumes: ["_ct", "_c"].map(|key| plane.stat_id(key)),
        }
    }
}

fn union(sets: &[Intervals]) -> Intervals {
    Intervals::union_of(sets.iter().flat_map(|s| s.as_slice().iter().copied()).collect())
}

/// The events of a thread that no other is around.
fn outermost(events: &Events) -> Vec<Event> {
    let mut end = i64::MIN;
    let mut is_outer = |e: &Event| {
        let outer = e.start_ps >= end;
        end = end.max(e.end_ps);
        outer
    };
    events.iter().filter(|e| is_outer(e)).collect()
}
