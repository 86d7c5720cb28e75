//! Who caused what: contexts that one event produces and another consumes, known by the events' names and stats.

use super::facts::{Facts, Keys};
use haloscope_profile::{Plane, PlaneKind, Source};

/// A kind of context, as the profiler numbers them.
pub(super) mod kind {
    pub(in super::super) const LEGACY: i64 = 1;
    pub(in super::super) const GPU_LAUNCH: i64 = 9;
    pub(in super::super) const TPU_STREAM: i64 = 11;
    pub(in super::super) const TPU_LAUNCH: i64 = 12;
    /// The last that is known; numbers above it count as 0.
    pub(in super::super) const LAST: i64 = 17;
}

/// Lower bits of `run_id` that the device's events carry.
const RUN_ID_BITS: u64 = (1 << 27) - 1;

/// What is read into the events of one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// They are roots of this level.
    Root(i64),
    /// TensorFlow's executor starts a TPU program, by step and iteration.
    Executor { produces: bool },
    /// A request of the TPU runtime's queue, by request and queue.
    Queue { produces: bool },
    /// A launch on a TPU, by device, queue, run and core type.
    Launch { produces: bool },
    /// A launch that nothing is joined to.
    LaunchPart,
}

const RULES: [(&str, Rule); 20] = [
    ("ProcessBatch", Rule::Root(2)),
    ("OrbaxServing::ProcessBatch", Rule::Root(2)),
    ("BatchingSessionRun", Rule::Root(1)),
    ("ExecutorState::Process", Rule::Executor { produces: true }),
    ("TpuExecuteOp", Rule::Executor { produces: false }),
    ("EnqueueRequestLocked", Rule::Queue { produces: true }),
    ("RunProgramRequest", Rule::Queue { produces: false }),
    ("HostCallbackRequest", Rule::Queue { produces: false }),
    ("TransferH2DRequest", Rule::Queue { produces: false }),
    ("TransferPreprocessedH2DRequest", Rule::Queue { produces: false }),
    ("TransferD2HRequest", Rule::Queue { produces: false }),
    ("OnDeviceSendRequest", Rule::Queue { produces: false }),
    ("OnDeviceRecvRequest", Rule::Queue { produces: false }),
    ("OnDeviceSendRecvLocalRequest", Rule::Queue { produces: false }),
    ("CustomWait", Rule::Queue { produces: false }),
    ("OnDeviceSendRequestMulti", Rule::Queue { produces: false }),
    ("OnDeviceRecvRequestMulti", Rule::Queue { produces: false }),
    ("PjrtAsyncWait", Rule::Queue { produces: false }),
    ("DoEnqueueProgram", Rule::Launch { produces: true }),
    ("CompleteCallbacks", Rule::Launch { produces: false }),
];

/// The rules for one plane's events.
#[derive(Debug)]
pub(super) struct Rules {
    /// By metadata row; empty where none has one.
    by_meta: Vec<Option<Rule>>,
    /// The number of the TensorCore, if module executions of the plane are joined to their launches.
    module_device: Option<u64>,
}

impl Rules {
    pub(super) fn of(plane: &Plane, source: &Source, keys: &Keys) -> Self {
        let applies = |rule: Rule| match rule {
            Rule::Root(_) => true,
            Rule::Executor { .. } => keys.has("id") && keys.has("iter_num"),
            Rule::Queue { .. } => keys.has("request_id") && keys.has("queue_addr"),
            Rule::Launch { .. } => ["device_ordinal", "queue_id", "run_id"].iter().all(|name| keys.has(name)),
            Rule::LaunchPart => keys.has("run_id"),
        };
        let mut by_meta = Vec::new();
        for (row, meta) in plane.metas.iter().enumerate() {
            let name = source.slice(meta.name);
            let found = RULES.iter().find(|(n, _)| n.as_bytes() == name).map(|(_, rule)| *rule);
            let part = (name == b"DoEnqueueContinuationProgram").then_some(Rule::LaunchPart);
            if let Some(rule) = found.or(part).filter(|rule| applies(*rule)) {
                by_meta.resize(plane.metas.len(), None);
                by_meta[row] = Some(rule);
            }
        }
        let joined = plane.kind == PlaneKind::Tpu && keys.has("queue_id") && keys.has("run_id");
        Self { by_meta, module_device: plane.ordinal.filter(|_| joined).map(u64::from) }
    }

    /// True if no event's name implies anything.
    pub(super) fn is_empty(&self) -> bool {
        self.by_meta.is_empty()
    }

    /// True if the names of such events imply anything.
    pub(super) fn apply_to(&self, meta: u32) -> bool {
        self.by_meta.get(meta as usize).is_some_and(Option::is_some)
    }

    /// Adds to an event's facts what its name implies.
    pub(super) fn apply(&self, meta: u32, facts: &mut Facts) {
        let Some(Some(rule)) = self.by_meta.get(meta as usize) else { return };
        if matches!(rule, Rule::Launch { .. } | Rule::LaunchPart) {
            facts.run_id = facts.run_id.map(|id| id & RUN_ID_BITS);
        }
        let (produces, kind, parts) = match *rule {
            Rule::Root(level) => {
                facts.root = Some(level);
                return;
            }
            Rule::LaunchPart => return,
            Rule::Executor { produces } => (produces, kind::LEGACY, vec![facts.step_id, facts.iter_num]),
            Rule::Queue { produces } => {
                (produces, kind::TPU_STREAM, vec![facts.request_id, facts.queue_addr])
            }
            Rule::Launch { produces } => {
                let core_type = Some(facts.core_type.unwrap_or(0));
                let parts = vec![facts.device_ordinal, facts.queue_id, facts.run_id, core_type];
                (produces, kind::TPU_LAUNCH, parts)
            }
        };
        let Some(parts) = parts.into_iter().collect::<Option<Vec<_>>>() else { return };
        let id = mix(&parts);
        if produces {
            (facts.producer_type, facts.producer_id) = (Some(kind), Some(id));
        } else {
            (facts.consumer_type, facts.consumer_id) = (Some(kind), Some(id));
        }
    }

    /// Joins a module's execution to its launch. For events of the line `XLA Modules`.
    pub(super) fn apply_to_module(&self, facts: &mut Facts) {
        if let (Some(device), Some(queue), Some(run)) = (self.module_device, facts.queue_id, facts.run_id) {
            facts.consumer_type = Some(kind::TPU_LAUNCH);
            facts.consumer_id = Some(mix(&[device, queue, run, facts.core_type.unwrap_or(0)]));
        }
    }
}

/// One number for several; the same in every process.
pub(super) fn mix(parts: &[u64]) -> u64 {
    let step = |hash: u64, part: &u64| {
        let mixed = (hash ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ (mixed >> 32)
    };
    parts.iter().fold(parts.len() as u64, step)
}
