//! Groups: roots and what they caused.

use haloscope_xspace::StatValue;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::facts::Facts;
use super::forest::{Forest, NONE};
use super::{EventType, Group, Lane, is_tpu, tpu};
use haloscope_profile::{HostId, Plane, PlaneId, PlaneKind, Profile, Source};

/// Where an event stands: lane and position.
type Place = (u32, u32);

/// The events that matter to grouping, by lane and position, ascending.
#[derive(Debug, Default)]
pub(super) struct Collected {
    roots: Vec<(Place, i64)>,
    producers: Vec<End>,
    consumers: Vec<End>,
    launches: Vec<(Place, u64)>,
    asynchronous: FxHashSet<Place>,
    /// Events with a step id: `id`, and `iter_num` where it is there.
    steps: Vec<(Place, u64, Option<u64>)>,
}

/// A context: its kind, its id, and the process that it belongs to.
type Context = (i64, u64, Option<i64>);

/// One end of a context, and the event.
#[derive(Debug, Clone, Copy)]
struct End {
    key: Context,
    place: Place,
}

/// What some events of one lane say that matters to grouping, by position, ascending.
#[derive(Debug, Default)]
pub(super) struct Notes {
    roots: Vec<(u32, i64)>,
    producers: Vec<(u32, Context)>,
    consumers: Vec<(u32, Context)>,
    launches: Vec<(u32, u64)>,
    asynchronous: Vec<u32>,
    steps: Vec<(u32, u64, Option<u64>)>,
}

impl Notes {
    pub(super) fn note(&mut self, position: u32, facts: &Facts) {
        if let (Some(kind), Some(id)) = (facts.producer_type, facts.producer_id) {
            self.producers.push((position, (kind, id, facts.pid)));
        }
        if let (Some(kind), Some(id)) = (facts.consumer_type, facts.consumer_id) {
            self.consumers.push((position, (kind, id, facts.pid)));
        }
        if let Some(level) = facts.root {
            self.roots.push((position, level));
        }
        if let Some(id) = facts.correlation_id {
            self.launches.push((position, id));
        }
        if facts.is_async {
            self.asynchronous.push(position);
        }
        if let Some(id) = facts.step_id {
            self.steps.push((position, id, facts.iter_num));
        }
    }
}

impl Collected {
    /// Makes room for all of these at once.
    pub(super) fn make_room<'n>(&mut self, all: impl Iterator<Item = &'n Notes> + Clone) {
        self.producers.reserve_exact(all.clone().map(|notes| notes.producers.len()).sum());
        self.consumers.reserve_exact(all.clone().map(|notes| notes.consumers.len()).sum());
        self.launches.reserve_exact(all.clone().map(|notes| notes.launches.len()).sum());
        self.steps.reserve_exact(all.map(|notes| notes.steps.len()).sum());
    }

    /// Adds what the events of a lane say that come next.
    pub(super) fn add(&mut self, lane: u32, notes: Notes) {
        let end = |(position, key)| End { key, place: (lane, position) };
        self.producers.extend(notes.producers.into_iter().map(end));
        self.consumers.extend(notes.consumers.into_iter().map(end));
        self.roots.extend(notes.roots.into_iter().map(|(at, level)| ((lane, at), level)));
        self.launches.extend(notes.launches.into_iter().map(|(at, id)| ((lane, at), id)));
        self.asynchronous.extend(notes.asynchronous.into_iter().map(|at| (lane, at)));
        self.steps.extend(notes.steps.into_iter().map(|(at, id, iteration)| ((lane, at), id, iteration)));
    }
}

/// More producers and consumers of one context than these are not joined: every one with every other would be too many.
const CROWD: usize = 64;

pub(super) struct Grouper<'a> {
    pub(super) profile: &'a Profile,
    pub(super) lanes: &'a mut [Lane],
    pub(super) forest: Forest,
    /// The first node of each lane, `NONE` for those whose events are no nodes.
    first: Vec<u32>,
    /// The first node of each lane that has some, and the lane.
    starts: Vec<(u32, u32)>,
    /// Event types by metadata row, of planes whose events are looked at.
    types: FxHashMap<PlaneId, Vec<EventType>>,
    pub(super) group_of: Vec<u32>,
    levels: FxHashMap<u32, i64>,
    pub(super) groups: Vec<Group>,
}

/// Groups the events of the lanes.
pub(super) fn find(
    profile: &Profile,
    host: HostId,
    lanes: &mut [Lane],
    mut collected: Collected,
) -> Vec<Group> {
    let mut grouper = Grouper {
        profile,
        forest: Forest::default(),
        first: vec![NONE; lanes.len()],
        starts: Vec::new(),
        types: FxHashMap::default(),
        group_of: Vec::new(),
        levels: FxHashMap::default(),
        groups: Vec::new(),
        lanes,
    };
    grouper.add_legacy_roots(&mut collected);
    let cores = tpu::Cores::of(profile, host, grouper.lanes);
    let has_eager = grouper.types.values().flatten().any(|t| *t == EventType::EagerExecute);
    let has_iterations = collected.steps.iter().any(|(.., iteration)| iteration.is_some());
    if collected.roots.is_empty() && cores.is_empty() && !has_iterations && !has_eager {
        return Vec::new();
    }
    grouper.add_nodes(&collected, &cores);
    let first = grouper.first.iter().zip(0..).filter(|(first, _)| **first != NONE);
    grouper.starts = first.map(|(first, lane)| (*first, lane)).collect();
    grouper.connect_threads(&collected);
    grouper.connect_contexts(&collected, &cores);
    grouper.connect_loops(&collected);
    grouper.forest.seal();
    grouper.group_of = vec![super::NO_GROUP; grouper.forest.len()];
    grouper.group_roots(&collected);
    grouper.group_cores(&cores);
    if has_eager {
        grouper.note_eager(&collected);
    }
    grouper.write_back()
}

impl Grouper<'_> {
    fn plane_of(&self, lane: usize) -> &Plane {
        self.profile.plane(self.profile.line(self.lanes[lane].line).plane)
    }

    fn type_of(&self, (lane, position): Place) -> EventType {
        let lane = lane as usize;
        let meta = self.lanes[lane].metas(self.profile)[position as usize];
        let table = self.types.get(&self.plane_of(lane).id);
        table.and_then(|t| t.get(meta as usize)).copied().unwrap_or_default()
    }

    /// Events called `TraceContext` are roots of level 1 unless they say another.
    fn add_legacy_roots(&mut self, collected: &mut Collected) {
        for lane in 0..self.lanes.len() {
            let plane = self.profile.plane(self.profile.line(self.lanes[lane].line).plane);
            if is_tpu(plane) {
                continue;
            }
            let source = self.profile.source_of(plane);
            let read = || plane.metas.iter().map(|m| EventType::of(&source.text(m.name))).collect();
            let types: &Vec<EventType> = self.types.entry(plane.id).or_insert_with(read);
            let Some(meta) = types.iter().position(|t| *t == EventType::TraceContext) else { continue };
            let metas = self.lanes[lane].metas(self.profile).iter().enumerate();
            let places = metas.filter(|(_, m)| **m as usize == meta).map(|(i, _)| (lane as u32, i as u32));
            let known: FxHashSet<Place> = collected.roots.iter().map(|(place, _)| *place).collect();
            collected.roots.extend(places.filter(|p| !known.contains(p)).map(|place| (place, 1)));
        }
        // On TPU planes nothing is a root by itself.
        let lanes = &*self.lanes;
        let profile = self.profile;
        collected
            .roots
            .retain(|((lane, _), _)| !is_tpu(profile.plane(profile.line(lanes[*lane as usize].line).plane)));
    }

    fn add_nodes(&mut self, collected: &Collected, cores: &tpu::Cores) {
        for lane in 0..self.lanes.len() {
            let line = &self.lanes[lane];
            let len = line.len(self.profile);
            if is_tpu(self.plane_of(lane)) {
                if cores.is_grouping_lane(lane) {
                    self.first[lane] = self.forest.add(len);
                }
                continue;
            }
            let first = self.forest.add(len);
            self.first[lane] = first;
            let (starts, durations) = (line.starts_ps(self.profile), line.durations_ps(self.profile));
            let skip = |i: usize| {
                !collected.asynchronous.is_empty()
                    && collected.asynchronous.contains(&(lane as u32, i as u32))
            };
            self.forest.nest(first, starts, durations, skip);
        }
    }

    fn node(&self, (lane, position): Place) -> Option<u32> {
        let first = self.first[lane as usize];
        (first != NONE).then(|| first + position)
    }

    pub(super) fn node_at(&self, lane: usize, position: usize) -> Option<u32> {
        self.node((lane as u32, position as u32))
    }

    fn place(&self, node: u32) -> Place {
        let after = self.starts.partition_point(|(first, _)| *first <= node);
        let (first, lane) = self.starts[..after].last().copied().unwrap_or_default();
        (lane, node - first)
    }

    /// Edges that the stats of two events of certain types make: a step and its iterator, a launch and its kernel.
    fn connect_threads(&mut self, collected: &Collected) {
        let mut executors = FxHashMap::default();
        for (place, id, iteration) in &collected.steps {
            if let (Some(iteration), Some(node)) = (iteration, self.node(*place))
                && self.type_of(*place) == EventType::ExecutorProcess
            {
                executors.insert((*id, *iteration), node);
            }
        }
        for (place, id, iteration) in &collected.steps {
            if let Some(parent) = iteration.and_then(|i| executors.get(&(*id, i)))
                && let Some(child) = self.node(*place)
                && self.type_of(*place) == EventType::IteratorGetNext
            {
                self.forest.connect(*parent, child);
            }
        }
        let launches =
            collected.launches.iter().filter(|(place, _)| self.type_of(*place) == EventType::Other);
        let launches: Vec<(bool, u64, u32)> = launches
            .filter_map(|(place, id)| {
                let is_host = self.plane_of(place.0 as usize).kind == PlaneKind::Host;
                Some((is_host, *id, self.node(*place)?))
            })
            .collect();
        let by_id: FxHashMap<u64, u32> =
            launches.iter().filter(|(is_host, ..)| *is_host).map(|(_, id, node)| (*id, *node)).collect();
        for (_, id, child) in launches.iter().filter(|(is_host, ..)| !is_host) {
            if let Some(parent) = by_id.get(id) {
                self.forest.connect(*parent, *child);
            }
        }
    }

    /// Every producer of a context caused every consumer of it.
    fn connect_contexts(&mut self, collected: &Collected, cores: &tpu::Cores) {
        let ends = |ends: &[End]| {
            let mut ends: Vec<_> = ends
                .iter()
                .filter_map(|end| {
                    let node = cores.step_of(self.profile, self.lanes, end.place);
                    let node = node.map_or_else(|| self.node(end.place), |place| self.node(place));
                    Some((end.key, node?))
                })
                .collect();
            // Stable: events of one context stay in their order.
            ends.par_sort_by_key(|(key, _)| *key);
            ends
        };
        let (producers, consumers) = (ends(&collected.producers), ends(&collected.consumers));
        let mut from = 0;
        for made in producers.chunk_by(|a, b| a.0 == b.0) {
            let key = made[0].0;
            from += consumers[from..].partition_point(|(k, _)| *k < key);
            let used = consumers[from..].partition_point(|(k, _)| *k == key);
            if made.len() >= CROWD && used >= CROWD {
                continue;
            }
            for (_, parent) in made {
                for (_, child) in &consumers[from..from + used] {
                    self.forest.connect(*parent, *child);
                }
            }
        }
    }

    /// TensorFlow loops: the first executor event of an iteration is a root, the others are caused by it.
    fn connect_loops(&mut self, collected: &Collected) {
        let data_steps = self.data_steps(collected);
        let mut loops: std::collections::BTreeMap<u64, std::collections::BTreeMap<u64, Vec<Place>>> =
            std::collections::BTreeMap::new();
        for (place, id, iteration) in &collected.steps {
            let Some(iteration) = iteration else { continue };
            if self.type_of(*place) == EventType::ExecutorProcess && !data_steps.contains(id) {
                loops.entry(*id).or_default().entry(*iteration).or_default().push(*place);
            }
        }
        loops.retain(|_, iterations| !(iterations.len() == 1 && iterations.contains_key(&0)));
        for places in loops.into_values().flat_map(std::collections::BTreeMap::into_values) {
            let starts = |p: &Place| self.start_ps(*p);
            let Some(first) = places.iter().copied().min_by_key(starts) else { continue };
            let Some(root) = self.node(first) else { continue };
            self.levels.insert(root, LOOP_LEVEL);
            for node in
                places.iter().filter(|p| **p != first).filter_map(|p| self.node(*p)).collect::<Vec<_>>()
            {
                self.forest.connect(root, node);
            }
        }
    }

    /// Steps of functions that `tf.data` calls, which are no steps of a model.
    fn data_steps(&self, collected: &Collected) -> FxHashSet<u64> {
        let steps = collected.steps.iter();
        steps.filter(|(p, ..)| self.type_of(*p) == EventType::TfDataFunction).map(|(_, id, _)| *id).collect()
    }

    fn start_ps(&self, (lane, position): Place) -> i64 {
        self.lanes[lane as usize].starts_ps(self.profile)[position as usize]
    }

    fn group_roots(&mut self, collected: &Collected) {
        let mut roots: Vec<(i64, i64, u32)> = Vec::new();
        if self.levels.is_empty() {
            let data_steps = self.data_steps(collected);
            let of_data: FxHashSet<Place> = collected
                .steps
                .iter()
                .filter(|(_, id, _)| data_steps.contains(id))
                .map(|(place, ..)| *place)
                .collect();
            for (place, level) in collected.roots.iter().filter(|(place, _)| !of_data.contains(place)) {
                let Some(node) = self.node(*place) else { continue };
                self.levels.insert(node, *level);
                roots.push((-level, self.start_ps(*place), node));
            }
            // All roots have a level, also those that start nothing.
            for (place, level) in &collected.roots {
                if let Some(node) = self.node(*place) {
                    self.levels.insert(node, *level);
                }
            }
            roots.sort_unstable();
            for (.., node) in roots {
                if self.needs_group(node) {
                    self.start_group(node);
                }
            }
        } else {
            // Sorted below, since the order of a map means nothing.
            #[expect(clippy::iter_over_hash_type, reason = "sorted by start before use")]
            for node in self.levels.keys() {
                roots.push((0, self.start_ps(self.place(*node)), *node));
            }
            roots.sort_unstable();
            self.levels.clear();
            for (.., node) in roots {
                self.start_group(node);
            }
        }
    }

    /// True unless the event has a group or will get one from a root of the same level that caused it.
    pub(super) fn needs_group(&self, node: u32) -> bool {
        if self.group_of[node as usize] != super::NO_GROUP {
            return false;
        }
        let level = self.levels.get(&node).copied().unwrap_or(0);
        let other = |n: u32| (n != node && self.levels.get(&n) == Some(&level)).then_some(());
        self.forest.nearest_cause(node, other).is_none()
    }

    /// Opens the next group at a root.
    fn start_group(&mut self, root: u32) {
        self.open_group(root, self.groups.len() as u32);
    }

    /// Gives a group to an event and to all that it caused and that has none; where there is one, the two are related.
    pub(super) fn open_group(&mut self, root: u32, group: u32) {
        if self.groups.len() <= group as usize {
            self.groups.resize(group as usize + 1, Group::default());
        }
        let (group_of, groups) = (&mut self.group_of, &mut self.groups);
        self.forest.spread(root, |node| match group_of[node as usize] {
            super::NO_GROUP => {
                group_of[node as usize] = group;
                true
            }
            other => {
                if other != group {
                    insert(&mut groups[group as usize].children, other);
                    insert(&mut groups[other as usize].parents, group);
                }
                false
            }
        });
        let place = self.place(root);
        let implicit = self.is_implicit(place);
        let name = self.group_name(root, place, implicit, group);
        if !implicit {
            self.lanes[place.0 as usize].named.push((place.1, group));
        }
        self.groups[group as usize].name = name;
    }

    fn is_implicit(&self, place: Place) -> bool {
        let line = self.profile.line(self.lanes[place.0 as usize].line);
        tpu::is_grouping_line(&line.name)
            || matches!(self.type_of(place), EventType::ImplicitRoot | EventType::ExecutorProcess)
    }

    /// The graph's type or the root's name, and the number of the iteration, the step or the group.
    fn group_name(&self, root: u32, place: Place, implicit: bool, group: u32) -> String {
        let text =
            |node| self.stat(node, "graph_type").and_then(|(plane, source, value)| plane.text(source, value));
        let graph = self.forest.nearest_cause(root, text);
        let number = |name| {
            let read = |node| self.stat(node, name).and_then(|(.., value)| value.as_u64_bits());
            self.forest.nearest_cause(root, read)
        };
        let number = number("iter_num")
            .or_else(|| number("step_num"))
            .map_or_else(|| group.to_string(), |n| (n as i64).to_string());
        let name = match graph {
            Some(graph) => graph.into_owned(),
            None if implicit => return number,
            None => {
                let line = self.profile.line(self.lanes[place.0 as usize].line);
                let plane = self.profile.plane(line.plane);
                let meta = self.lanes[place.0 as usize].metas(self.profile)[place.1 as usize];
                self.profile.source_of(plane).text(plane.metas[meta as usize].name).into_owned()
            }
        };
        format!("{name} {number}")
    }

    fn stat(&self, node: u32, name: &str) -> Option<(&Plane, &Source, StatValue<'_>)> {
        let (lane, position) = self.place(node);
        let lane = &self.lanes[lane as usize];
        let line = self.profile.line(lane.line);
        let plane = self.profile.plane(line.plane);
        let id = plane.stat_id(name)?;
        let source = self.profile.source_of(plane);
        let value = self.profile.events(line).stat(source, lane.row(position as usize)?, Some(id))?;
        Some((plane, source, value))
    }

    /// Cores whose steps nothing on the host started are taken to step together, from the first step on.
    fn group_cores(&mut self, cores: &tpu::Cores) {
        let nodes: Vec<Vec<u32>> = cores
            .tensor_cores()
            .map(|lane| {
                let len = self.lanes[lane].len(self.profile);
                (0..len).filter_map(|i| self.node_at(lane, i)).collect()
            })
            .collect();
        if !nodes.iter().flatten().all(|node| self.needs_group(*node)) {
            return;
        }
        let first = self.groups.len() as u32;
        for core in nodes {
            let mut next = first;
            for node in core {
                if self.needs_group(node) {
                    self.open_group(node, next);
                    next += 1;
                }
            }
        }
    }

    /// Notes the ops and kernels that an eagerly executed op, and not a function, caused.
    fn note_eager(&mut self, collected: &Collected) {
        let launches = collected.launches.iter().map(|(place, _)| *place);
        let mut places: Vec<Place> = launches.filter(|p| self.type_of(*p) == EventType::Other).collect();
        for lane in 0..self.lanes.len() {
            let len = self.lanes[lane].len(self.profile) as u32;
            let all = (0..len).map(|at| (lane as u32, at));
            places.extend(all.filter(|place| self.type_of(*place) == EventType::TfOp));
        }
        for place in places {
            let Some(node) = self.node(place) else { continue };
            let is_cause = |n: u32| self.type_of(self.place(n)) == EventType::EagerExecute;
            let cause = self.forest.nearest_cause(node, |n| is_cause(n).then_some(n));
            let function =
                cause.map(|n| self.stat(n, "is_func").is_none_or(|(.., v)| v.as_u64_bits() != Some(0)));
            if function == Some(false) {
                self.lanes[place.0 as usize].eager.push(place.1);
            }
        }
        self.lanes.iter_mut().for_each(|lane| lane.eager.sort_unstable());
    }

    fn write_back(self) -> Vec<Group> {
        for (lane, first) in self.lanes.iter_mut().zip(&self.first) {
            if *first == NONE {
                continue;
            }
            let len = lane.len(self.profile);
            let groups = &self.group_of[*first as usize..*first as usize + len];
            if groups.iter().any(|g| *g != super::NO_GROUP) {
                lane.groups = groups.to_vec();
            }
            lane.named.sort_unstable();
        }
        self.groups
    }
}

/// Marks the roots of loops while they are collected.
const LOOP_LEVEL: i64 = -1;

fn insert(sorted: &mut Vec<u32>, value: u32) {
    if let Err(at) = sorted.binary_search(&value) {
        sorted.insert(at, value);
    }
}
