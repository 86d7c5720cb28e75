//! What an event's stats say about who caused it and what it belongs to.

use haloscope_xspace::StatValue;

use haloscope_profile::{Events, Plane, Source};

/// The stats that grouping and flows need, of one event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// `_pt`, `_p`: what kind of context the event produces, and which.
    pub(super) producer_type: Option<i64>,
    pub(super) producer_id: Option<u64>,
    /// `_ct`, `_c`: what it consumes.
    pub(super) consumer_type: Option<i64>,
    pub(super) consumer_id: Option<u64>,
    /// `_pid`: the process of the producer, where it is another one.
    pub(super) pid: Option<i64>,
    /// `_r`: the event is a root of this level.
    pub(super) root: Option<i64>,
    /// `_a`.
    pub(super) is_async: bool,
    pub(super) correlation_id: Option<u64>,
    /// `id`: a step of TensorFlow's, or what a queue is about.
    pub(super) step_id: Option<u64>,
    pub(super) iter_num: Option<u64>,
    pub(super) run_id: Option<u64>,
    pub(super) queue_id: Option<u64>,
    pub(super) core_type: Option<u64>,
    pub(super) device_ordinal: Option<u64>,
    pub(super) request_id: Option<u64>,
    pub(super) queue_addr: Option<u64>,
    /// `flow`: a link that the profiler drew.
    pub(super) flow: Option<u64>,
    /// `group_id`, from a profiler that grouped already.
    pub(super) group: Option<i64>,
    /// True if the event has a `step_name`.
    pub(super) has_step_name: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    ProducerType,
    ProducerId,
    ConsumerType,
    ConsumerId,
    Pid,
    Root,
    Async,
    Correlation,
    StepId,
    IterNum,
    RunId,
    QueueId,
    CoreType,
    DeviceOrdinal,
    RequestId,
    QueueAddr,
    Flow,
    Group,
    StepName,
}

const KEYS: [(&str, Key); 19] = [
    ("_pt", Key::ProducerType),
    ("_p", Key::ProducerId),
    ("_ct", Key::ConsumerType),
    ("_c", Key::ConsumerId),
    ("_pid", Key::Pid),
    ("_r", Key::Root),
    ("_a", Key::Async),
    ("correlation_id", Key::Correlation),
    ("id", Key::StepId),
    ("iter_num", Key::IterNum),
    ("run_id", Key::RunId),
    ("queue_id", Key::QueueId),
    ("core_type", Key::CoreType),
    ("device_ordinal", Key::DeviceOrdinal),
    ("request_id", Key::RequestId),
    ("queue_addr", Key::QueueAddr),
    ("flow", Key::Flow),
    ("group_id", Key::Group),
    ("step_name", Key::StepName),
];

/// The keys of those stats on one plane.
#[derive(Debug, Default)]
pub(super) struct Keys {
    ids: Vec<(i64, Key)>,
    /// Of the least ids, as far as [`NEAR`]: the place in `ids`, or [`NO_KEY`].
    near: Vec<u8>,
}

/// Ids below are looked up at once; those of profilers are.
const NEAR: i64 = 1024;
const NO_KEY: u8 = u8::MAX;

impl Keys {
    pub(super) fn of(plane: &Plane) -> Self {
        let ids = KEYS.iter().filter_map(|(name, key)| Some((plane.stat_id(name)?, *key)));
        let ids: Vec<(i64, Key)> = ids.collect();
        let mut near = vec![NO_KEY; NEAR as usize];
        for (place, (id, _)) in ids.iter().enumerate().rev() {
            if let Some(slot) = usize::try_from(*id).ok().and_then(|id| near.get_mut(id)) {
                *slot = place as u8;
            }
        }
        Self { ids, near }
    }

    /// True if no event of the plane can have any of them.
    pub(super) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// True if none of these events has any of them.
    pub(super) fn none_of(&self, events: &Events) -> bool {
        !self.ids.iter().any(|(id, _)| events.may_carry(*id))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        let wanted = KEYS.iter().find(|(n, _)| *n == name).map(|(_, key)| *key);
        self.ids.iter().any(|(_, key)| Some(*key) == wanted)
    }

    fn key(&self, id: i64) -> Option<Key> {
        match usize::try_from(id).ok().and_then(|id| self.near.get(id)) {
            Some(place) => self.ids.get(usize::from(*place)).map(|(_, key)| *key),
            None => self.ids.iter().find(|(known, _)| *known == id).map(|(_, key)| *key),
        }
    }

    /// The facts of an event.
    pub(super) fn read(&self, events: &Events, source: &Source, row: usize) -> Facts {
        let mut facts = Facts::default();
        self.add(events, source, row, &mut facts);
        facts
    }

    /// Adds the facts of an event; false if there are none.
    pub(super) fn add(&self, events: &Events, source: &Source, row: usize, facts: &mut Facts) -> bool {
        let mut any = false;
        events.raw_stats(source, row, |stat| {
            // The key alone tells of most stats that they mean nothing here.
            if stat.small_key().is_some_and(|key| self.key(key.into()).is_none()) {
                return;
            }
            let Some(stat) = stat.view() else { return };
            if let Some(key) = self.key(stat.metadata_id) {
                facts.set(key, stat.value);
                any = true;
            }
        });
        any
    }
}

impl Facts {
    fn set(&mut self, key: Key, value: Option<StatValue<'_>>) {
        let bits = value.and_then(|v| v.as_u64_bits());
        let number = bits.map(|b| b as i64);
        match key {
            Key::ProducerType => self.producer_type = number,
            Key::ProducerId => self.producer_id = bits,
            Key::ConsumerType => self.consumer_type = number,
            Key::ConsumerId => self.consumer_id = bits,
            Key::Pid => self.pid = number,
            Key::Root => self.root = number,
            // Whoever writes it means it: XProf looks for the stat and not at its value when it draws the event.
            Key::Async => self.is_async = number != Some(0),
            Key::Correlation => self.correlation_id = bits,
            Key::StepId => self.step_id = bits,
            Key::IterNum => self.iter_num = bits,
            Key::RunId => self.run_id = bits,
            Key::QueueId => self.queue_id = bits,
            Key::CoreType => self.core_type = bits,
            Key::DeviceOrdinal => self.device_ordinal = bits,
            Key::RequestId => self.request_id = bits,
            Key::QueueAddr => self.queue_addr = bits,
            Key::Flow => self.flow = bits,
            Key::Group => self.group = number,
            Key::StepName => self.has_step_name = true,
        }
    }
}
