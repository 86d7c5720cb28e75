//! The requests and batches of one host.

mod moments;

use std::collections::{BTreeMap, BTreeSet};

use haloscope_xspace::StatValue;
use rustc_hash::FxHashMap;

use super::phases::{Phase, Span, sum};
use super::{Batch, Request, Tensors};
use haloscope_event_groups::Context;
use haloscope_profile::{HostId, LineId, Plane, PlaneKind, Profile, StatId};

/// What a host served. Models and patterns are rows of its own lists.
#[derive(Debug, Default)]
pub(super) struct Served {
    pub(super) requests: Vec<Request>,
    pub(super) batches: Vec<Batch>,
    pub(super) models: Vec<String>,
    pub(super) patterns: Vec<String>,
}

/// What an event of a host is to serving, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Kind {
    Other,
    SessionRun,
    RunGraph,
    BatchingSessionRun,
    TfrtModelRun,
    ServingModelRun,
    /// Begins `ModelServerRequest_`: a request where it is a root.
    ModelServerRequest,
    ProcessBatch,
    Padding,
    Schedule,
    FromDevice,
    ToDevice,
    ToDeviceIssue,
    ToDeviceDone,
    FromDeviceIssue,
    FromDeviceDone,
    Execute,
    Launch,
    Callback,
    Tensor,
}

impl Kind {
    fn of(name: &str) -> Self {
        match name {
            "SessionRun" => Self::SessionRun,
            "RunGraph" => Self::RunGraph,
            "BatchingSessionRun" => Self::BatchingSessionRun,
            "TfrtModelRun" => Self::TfrtModelRun,
            "ServingModelRun" => Self::ServingModelRun,
            "ProcessBatch" | "OrbaxServing::ProcessBatch" => Self::ProcessBatch,
            "ConcatInputTensors"
            | "OrbaxServing::ConcatInputBuffers"
            | "MergeInputTensors"
            | "BrainSessionRun" => Self::Padding,
            "ScheduleWithSplit"
            | "ScheduleWithoutSplit"
            | "ScheduleWithEagerSplit"
            | "ASBSQueue::Schedule" => Self::Schedule,
            "ReadHbm" | "TransferD2HRequest" => Self::FromDevice,
            "WriteHbm" | "TransferH2DRequest" | "TransferPreprocessedH2DRequest" => Self::ToDevice,
            "tpu::System::TransferToDevice=>IssueEvent" => Self::ToDeviceIssue,
            "tpu::System::TransferToDevice=>IssueEvent=>Done" => Self::ToDeviceDone,
            "tpu::System::TransferFromDevice=>IssueEvent" => Self::FromDeviceIssue,
            "tpu::System::TransferFromDevice=>IssueEvent=>Done" => Self::FromDeviceDone,
            "TPUPartitionedCallOp-ExecuteLocal"
            | "TPUPartitionedCallOp-ExecuteRemote"
            | "TPUPartitionedCallOp-InitializeVarOnTPU"
            | "tpu::System::Execute" => Self::Execute,
            "DoEnqueueProgram" | "DoEnqueueContinuationProgram" => Self::Launch,
            "CompleteCallbacks" => Self::Callback,
            "Linearize" | "Delinearize" | "TransferBufferFromDevice-FastPath" => Self::Tensor,
            _ if name.starts_with("ModelServerRequest_") => Self::ModelServerRequest,
            _ => Self::Other,
        }
    }
}

/// An event that says something of serving.
#[derive(Debug, Clone, Copy)]
struct Seen {
    line: LineId,
    row: usize,
    group: i64,
    start_ps: u64,
    end_ps: u64,
}

/// When things happened in one group of a request.
#[derive(Debug, Clone, Copy, Default)]
struct Moments {
    schedule: Option<u64>,
    padding: Option<u64>,
    execute: Option<u64>,
    launch: Option<u64>,
    callback: Option<u64>,
}

#[derive(Debug, Default)]
struct OpenRequest {
    request: Request,
    moments: BTreeMap<i64, Moments>,
    spans: Vec<Span>,
    tensors: Vec<Seen>,
}

#[derive(Debug, Default)]
struct OpenBatch {
    batch: Batch,
    device: Vec<Span>,
    tensors: Vec<Seen>,
}

/// Keys of the stats that are read, on the host's plane.
struct Keys {
    root: Option<StatId>,
    model: Option<StatId>,
    consumer: Option<StatId>,
    task_size: Option<StatId>,
    padding: Option<StatId>,
    size: Option<StatId>,
    shape: Option<StatId>,
    layout: Option<StatId>,
}

struct Reader<'a> {
    profile: &'a Profile,
    context: &'a Context,
    plane: &'a Plane,
    keys: Keys,
    seen: BTreeMap<Kind, Vec<Seen>>,
    requests: BTreeMap<i64, OpenRequest>,
    batches: BTreeMap<i64, OpenBatch>,
    served: Served,
}

pub(super) fn read(profile: &Profile, host: HostId) -> Served {
    let Some(plane) = profile.planes_of(host).find(|p| p.kind == PlaneKind::Host) else {
        return Served::default();
    };
    let context = Context::of(profile, host);
    let id = |name| plane.stat_id(name);
    let keys = Keys {
        root: id("_r"),
        model: id("model_id"),
        consumer: id("_c"),
        task_size: id("batching_input_task_size"),
        padding: id("padding_amount"),
        size: id("batch_size_after_padding"),
        shape: id("shape"),
        layout: id("layout"),
    };
    let mut reader = Reader {
        profile,
        context: &context,
        plane,
        keys,
        seen: BTreeMap::new(),
        requests: BTreeMap::new(),
        batches: BTreeMap::new(),
        served: Served::default(),
    };
    let roots = reader.look();
    reader.find_requests(&roots);
    if reader.requests.is_empty() && !reader.seen.contains_key(&Kind::ProcessBatch) {
        return reader.served;
    }
    reader.set_times();
    reader.find_batches();
    reader.note_moments();
    let programs = reader.note_spans(host);
    reader.set_delays();
    reader.finish(&programs)
}

fn whole(value: Option<StatValue<'_>>) -> Option<i64> {
    // XProf reads the signed field only, which is 0 where another one is set.
    value.map(|v| if let StatValue::Int(v) = v { v } else { 0 })
}

impl Reader<'_> {
    fn stat(&self, seen: &Seen, id: Option<StatId>) -> Option<StatValue<'_>> {
        let events = self.profile.events(self.profile.line(seen.line));
        events.stat(self.profile.source_of(self.plane), seen.row, id)
    }

    fn of_kind(&self, kind: Kind) -> Vec<Seen> {
        self.seen.get(&kind).cloned().unwrap_or_default()
    }

    /// The groups that led to a group.
    fn parents(&self, group: i64) -> impl Iterator<Item = i64> + use<'_> {
        let group = usize::try_from(group).ok().and_then(|g| self.context.groups.get(g));
        group.into_iter().flat_map(|g| g.parents.iter().map(|p| i64::from(*p)))
    }

    /// The groups that a group led to; `None` for a group that grouping did not make.
    fn children(&self, group: i64) -> Option<Vec<i64>> {
        let group = self.context.groups.get(usize::try_from(group).ok()?)?;
        Some(group.children.iter().map(|c| i64::from(*c)).collect())
    }

    /// Sorts the host's events of groups by what they are. Gives the roots that users marked.
    fn look(&mut self) -> Vec<Seen> {
        let source = self.profile.source_of(self.plane);
        let kinds: Vec<Kind> = self.plane.metas.iter().map(|m| Kind::of(&source.text(m.name))).collect();
        let mut roots = Vec::new();
        for line in self.profile.lines_of(self.plane.id) {
            let Some(lane) = self.context.lane(line.id) else { continue };
            let events = self.profile.events(line);
            for position in 0..lane.len(self.profile) {
                let Some(group) = lane.group(position) else { continue };
                let Some(row) = lane.row(position) else { continue };
                let event = events.get(row);
                let at = |ps: i64| u64::try_from(ps.saturating_add(line.to_wire_ps())).unwrap_or(0);
                let seen = Seen {
                    line: line.id,
                    row,
                    group: i64::from(group),
                    start_ps: at(event.start_ps),
                    end_ps: at(event.end_ps),
                };
                let kind = kinds.get(event.meta as usize).copied().unwrap_or(Kind::Other);
                let level = whole(self.stat(&seen, self.keys.root));
                if level == Some(-1) || (level == Some(1) && kind == Kind::ModelServerRequest) {
                    roots.push(seen);
                }
                // Every event of a group counts for the request's time.
                self.seen.entry(kind).or_default().push(seen);
            }
        }
        roots
    }

    fn model_index(&mut self, name: Option<String>) -> Option<usize> {
        let name = name.filter(|n| !n.is_empty())?;
        let models = &mut self.served.models;
        Some(models.iter().position(|m| *m == name).unwrap_or_else(|| {
            models.push(name);
            models.len() - 1
        }))
    }

    /// The model that a group names.
    fn models_by_group(&self, roots: &[Seen]) -> FxHashMap<i64, String> {
        let mut models = FxHashMap::default();
        let kinds = [Kind::SessionRun, Kind::TfrtModelRun, Kind::ServingModelRun];
        let named = kinds.iter().filter_map(|k| self.seen.get(k)).flatten().chain(roots);
        for seen in named {
            let Some(value) = self.stat(seen, self.keys.model) else { continue };
            let source = self.profile.source_of(self.plane);
            let name = match value {
                StatValue::Int(v) => v.to_string(),
                StatValue::Uint(v) => v.to_string(),
                StatValue::Double(v) => v.to_string(),
                text => self.plane.text(source, text).unwrap_or_default().into_owned(),
            };
            models.insert(seen.group, name);
        }
        models
    }

    fn find_requests(&mut self, roots: &[Seen]) {
        let batches: BTreeSet<i64> = self.of_kind(Kind::ProcessBatch).iter().map(|s| s.group).collect();
        let models = self.models_by_group(roots);
        let has = |kind| self.seen.contains_key(&kind);
        let kinds: &[Kind] = if has(Kind::BatchingSessionRun) {
            &[Kind::BatchingSessionRun]
        } else if has(Kind::TfrtModelRun) {
            &[Kind::TfrtModelRun]
        } else if has(Kind::ServingModelRun) {
            &[Kind::ServingModelRun]
        } else {
            &[Kind::SessionRun, Kind::RunGraph]
        };
        let known = kinds.iter().flat_map(|k| self.of_kind(*k).into_iter().map(|s| (*k, s)));
        let own = roots.iter().map(|s| (Kind::ModelServerRequest, *s));
        for (kind, seen) in known.chain(own).collect::<Vec<_>>() {
            let group = seen.group;
            if batches.contains(&group) || self.requests.contains_key(&group) {
                continue;
            }
            let children = self.children(group);
            let model = match (&children, kind) {
                // Without groups of its own making XProf leaves the first model.
                (None, _) => Some(0),
                (Some(children), Kind::BatchingSessionRun) => match children.first() {
                    Some(child) => self.model_index(models.get(child).cloned()),
                    None => Some(0),
                },
                (Some(children), Kind::ModelServerRequest) => match models.get(&group) {
                    Some(name) => self.model_index(Some(name.clone())),
                    None if children.is_empty() => Some(0),
                    None => self.common_model(children, &models),
                },
                (Some(_), _) => self.model_index(models.get(&group).cloned()),
            };
            let request =
                Request { id: group, model, batches: children.unwrap_or_default(), ..Request::default() };
            self.requests.insert(group, OpenRequest { request, ..OpenRequest::default() });
        }
    }

    /// The model of all groups, if they name the same one.
    fn common_model(&mut self, groups: &[i64], models: &FxHashMap<i64, String>) -> Option<usize> {
        let mut common = None;
        let mut same = true;
        for group in groups {
            let model = self.model_index(models.get(group).cloned());
            match common {
                None => common = model,
                Some(_) => same &= model == common,
            }
        }
        common.filter(|_| same)
    }

    fn set_delays(&mut self) {
        for open in self.requests.values_mut() {
            let request = &mut open.request;
            // XProf means the first and the last batch, and takes the one with the lowest number for both.
            let batch = request.batches.iter().find_map(|id| self.batches.get(id)).map(|b| &b.batch);
            if let Some(batch) = batch {
                request.batching_delay_ps = batch.start_ps.wrapping_sub(request.start_ps);
                request.end_ps = request.end_ps.max(batch.end_ps);
            }
        }
        for open in self.batches.values_mut() {
            let requests = open.batch.requests.iter().filter_map(|id| self.requests.get(id));
            if let Some(first) = requests.map(|r| r.request.start_ps).min() {
                open.batch.delay_ps = open.batch.start_ps.wrapping_sub(first);
            }
        }
    }

    /// Shapes and layouts of tensors as one text; `None` where one does not say.
    fn pattern(&self, tensors: &[Seen]) -> Option<String> {
        let source = self.profile.source_of(self.plane);
        let text = |seen: &Seen, key| self.plane.text(source, self.stat(seen, key)?);
        let line = |seen: &Seen| {
            let events = self.profile.events(self.profile.line(seen.line));
            let name = source.text(self.plane.metas[events.get(seen.row).meta as usize].name);
            Some(format!("{name} {} {}", text(seen, self.keys.shape)?, text(seen, self.keys.layout)?))
        };
        let mut lines = tensors.iter().map(line).collect::<Option<Vec<_>>>()?;
        lines.sort_unstable();
        Some(lines.join("<br>")).filter(|p| !p.is_empty())
    }

    fn tensors(&mut self, tensors: &[Seen]) -> Option<Tensors> {
        let pattern = self.pattern(tensors)?;
        let patterns = &mut self.served.patterns;
        let at = patterns.iter().position(|p| *p == pattern).unwrap_or_else(|| {
            patterns.push(pattern);
            patterns.len() - 1
        });
        let duration_ps = tensors.iter().map(|s| s.end_ps - s.start_ps).sum();
        Some(Tensors { pattern: at, duration_ps })
    }

    fn finish(mut self, programs: &FxHashMap<i64, Vec<u64>>) -> Served {
        for mut open in std::mem::take(&mut self.requests).into_values() {
            open.close();
            open.request.tensors = self.tensors(&open.tensors);
            if open.request.start_ps != open.request.end_ps {
                self.served.requests.push(open.request);
            }
        }
        for mut open in std::mem::take(&mut self.batches).into_values() {
            open.batch.device_ps = sum(&open.device).device_ps;
            open.batch.tensors = self.tensors(&open.tensors);
            open.batch.programs = programs.get(&open.batch.id).cloned().unwrap_or_default();
            self.served.batches.push(open.batch);
        }
        self.served
    }
}

impl OpenRequest {
    /// Adds the host's phases, which lie between moments, and sums up.
    fn close(&mut self) {
        let (start, end) = (self.request.start_ps, self.request.end_ps);
        let mut add = |phase, from: u64, to: u64| self.spans.push(Span::new(phase, from, to));
        for moments in self.moments.values() {
            if let (Some(execute), Some(launch)) = (moments.execute, moments.launch) {
                add(Phase::Runtime, execute, launch);
            }
        }
        let all = || self.moments.values();
        if let Some(execute) = all().filter_map(|m| m.execute).min() {
            add(Phase::Preprocess, start, execute);
        }
        let schedule = all().find_map(|m| m.schedule);
        let padding = all().filter_map(|m| m.padding).min();
        if let (Some(schedule), Some(padding)) = (schedule, padding) {
            add(Phase::BatchFormation, schedule, padding);
        }
        let callback = all().filter_map(|m| m.callback).max();
        let device = || self.spans.iter().filter(|s| s.phase == Phase::Device).map(|s| s.end_ps).max();
        if let Some(from) = callback.or_else(device) {
            self.spans.push(Span::new(Phase::Postprocess, from, end));
        }
        self.request.phases = sum(&self.spans);
    }
}
