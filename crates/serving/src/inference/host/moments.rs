//! When what happened in the groups of requests and batches.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::super::phases::{Phase, Span};
use super::{Kind, Moments, Reader, Seen, whole};
use haloscope_profile::{HostId, PlaneKind, split_label};

impl Reader<'_> {
    /// A request lasts from the first start to the last end of its events.
    pub(super) fn set_times(&mut self) {
        for seen in self.seen.values().flatten() {
            if let Some(open) = self.requests.get_mut(&seen.group) {
                let request = &mut open.request;
                let known = request.start_ps != 0;
                request.start_ps = if known { request.start_ps.min(seen.start_ps) } else { seen.start_ps };
                request.end_ps = request.end_ps.max(seen.end_ps);
            }
        }
        for seen in self.of_kind(Kind::Schedule) {
            let size = whole(self.stat(&seen, self.keys.task_size));
            if let (Some(open), Some(size)) = (self.requests.get_mut(&seen.group), size) {
                open.request.batching_size = size as i32;
            }
        }
    }

    pub(super) fn find_batches(&mut self) {
        for seen in self.of_kind(Kind::ProcessBatch) {
            if self.children(seen.group).is_none() {
                continue;
            }
            let parents: Vec<i64> = self.parents(seen.group).collect();
            let open = self.batches.entry(seen.group).or_default();
            open.batch.id = seen.group;
            open.batch.start_ps = seen.start_ps;
            open.batch.end_ps = seen.end_ps;
            open.batch.requests = parents;
        }
        for seen in self.of_kind(Kind::Padding) {
            let numbers = [self.keys.padding, self.keys.size].map(|key| whole(self.stat(&seen, key)));
            if let (Some(open), [Some(padding), Some(size)]) = (self.batches.get_mut(&seen.group), numbers) {
                open.batch.padding = padding as i32;
                open.batch.size = size as i32;
            }
        }
        for open in self.batches.values_mut() {
            let first = open.batch.requests.first().and_then(|id| self.requests.get(id));
            // Without a request that is known XProf leaves the first model.
            open.batch.model = first.map_or(Some(0), |request| request.request.model);
        }
    }

    /// The requests that an event of a group belongs to: that of the group, and those that led to it.
    pub(super) fn owners(&self, group: i64) -> Vec<i64> {
        let all = std::iter::once(group).chain(self.parents(group));
        all.filter(|id| self.requests.contains_key(id)).collect()
    }

    pub(super) fn note_moments(&mut self) {
        type Set = fn(&mut Moments, u64);
        let kinds: [(Kind, Set); 5] = [
            (Kind::Schedule, |m, at| m.schedule = Some(at)),
            (Kind::Padding, |m, at| m.padding = Some(at)),
            (Kind::Execute, |m, at| m.execute = Some(at)),
            (Kind::Launch, |m, at| m.launch = Some(m.launch.map_or(at, |first| first.min(at)))),
            (Kind::Callback, |m, at| m.callback = Some(at)),
        ];
        for (kind, set) in kinds {
            for seen in self.of_kind(kind) {
                for owner in self.owners(seen.group) {
                    if let Some(open) = self.requests.get_mut(&owner) {
                        set(open.moments.entry(seen.group).or_default(), seen.start_ps);
                    }
                }
            }
        }
        for seen in self.of_kind(Kind::Tensor) {
            if let Some(open) = self.requests.get_mut(&seen.group) {
                open.tensors.push(seen);
            } else if let Some(open) = self.batches.get_mut(&seen.group) {
                open.tensors.push(seen);
            }
        }
    }

    pub(super) fn add(&mut self, group: i64, span: Span) {
        for owner in self.owners(group) {
            if let Some(open) = self.requests.get_mut(&owner) {
                open.spans.push(span);
            }
        }
        if let Some(open) = self.batches.get_mut(&group) {
            open.device.extend((span.phase == Phase::Device).then_some(span));
        }
    }

    /// Transfers and programs. Gives the programs of each group.
    pub(super) fn note_spans(&mut self, host: HostId) -> FxHashMap<i64, Vec<u64>> {
        for (kind, phase) in [(Kind::FromDevice, Phase::FromDevice), (Kind::ToDevice, Phase::ToDevice)] {
            for seen in self.of_kind(kind) {
                self.add(seen.group, Span::new(phase, seen.start_ps, seen.end_ps));
            }
        }
        for (issue, done, phase) in [
            (Kind::ToDeviceIssue, Kind::ToDeviceDone, Phase::ToDevice),
            (Kind::FromDeviceIssue, Kind::FromDeviceDone, Phase::FromDevice),
        ] {
            let by_id = |kind| -> Vec<(i64, Seen)> {
                let id = |seen: &Seen| whole(self.stat(seen, self.keys.consumer));
                self.of_kind(kind).into_iter().filter_map(|seen| Some((id(&seen)?, seen))).collect()
            };
            let mut transfers: BTreeMap<i64, (Seen, Option<Seen>)> = BTreeMap::new();
            for (id, seen) in by_id(issue) {
                transfers.insert(id, (seen, None));
            }
            for (id, seen) in by_id(done) {
                if let Some((start, end)) = transfers.get_mut(&id)
                    && start.start_ps < seen.start_ps
                {
                    *end = Some(seen);
                }
            }
            for (start, end) in transfers.into_values().filter_map(|(start, end)| Some((start, end?))) {
                self.add(start.group, Span::new(phase, start.start_ps, end.end_ps));
            }
        }
        self.note_programs(host)
    }

    pub(super) fn note_programs(&mut self, host: HostId) -> FxHashMap<i64, Vec<u64>> {
        let profile = self.profile;
        let mut programs: FxHashMap<i64, Vec<u64>> = FxHashMap::default();
        for plane in profile.planes_of(host).filter(|p| p.kind == PlaneKind::Tpu) {
            let source = profile.source_of(plane);
            let program_key = plane.stat_id("program_id");
            for line in profile.lines_of(plane.id).filter(|l| l.name == "XLA Modules") {
                let Some(lane) = self.context.lane(line.id) else { continue };
                let events = profile.events(line);
                let (starts, lengths) = (lane.starts_ps(profile), lane.durations_ps(profile));
                for (position, &start) in starts.iter().enumerate() {
                    let Some(group) = lane.group(position).map(i64::from) else { continue };
                    let at = |ps: i64| u64::try_from(ps.saturating_add(line.to_wire_ps())).unwrap_or(0);
                    self.add(
                        group,
                        Span::new(Phase::Device, at(start), at(start.saturating_add(lengths.at(position)))),
                    );
                    let Some(row) = lane.row(position) else { continue };
                    let meta = events.get(row).meta;
                    let own = events.stat(source, row, program_key);
                    let stat = own.or_else(|| {
                        let mut stats = plane.meta_stats(source, meta);
                        stats.find(|s| Some(s.metadata_id) == program_key).and_then(|s| s.value)
                    });
                    let named = || split_label(&source.text(plane.metas[meta as usize].name)).1;
                    let program = stat.map(|v| v.as_u64_bits().unwrap_or(0)).or_else(named);
                    let known = programs.entry(group).or_default();
                    if let Some(program) = program.filter(|p| !known.contains(p)) {
                        known.push(program);
                    }
                }
            }
        }
        programs
    }
}
