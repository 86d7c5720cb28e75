//! What the allocators of a host did while the profiler watched: each allocation and release, and the memory in use after
//! it.
//!
//! Runtimes record an event `MemoryAllocation` or `MemoryDeallocation` on the thread that asks, with the allocator's own
//! account of its memory as stats: what the stack reserves, what is allocated, what is free, and the most that was ever in
//! use.

use std::borrow::Cow;
use std::collections::BTreeMap;

use haloscope_xspace::StatValue;

use haloscope_profile::{HostId, LineId, Plane, PlaneKind, Profile, Source, StatId};

/// What one allocator did.
#[derive(Debug, Clone, Default)]
pub struct Allocator<'p> {
    /// Its name, or the number of its device.
    pub name: String,
    /// What it did, thread by thread and by start within a thread; see [`Allocator::by_time`].
    pub events: Vec<AllocatorEvent<'p>>,
}

/// An allocation or a release. Numbers that the runtime did not record are `None`, texts empty.
#[derive(Debug, Clone, PartialEq)]
pub struct AllocatorEvent<'p> {
    /// The thread that asked.
    pub line: LineId,
    /// The event on that thread.
    pub index: usize,
    /// When, on the run's clock.
    pub start_ps: i64,
    /// Whether memory was given back rather than taken.
    pub is_release: bool,
    /// Reserved for the stack after it.
    pub reserved_bytes: Option<i64>,
    /// Allocated from the heap after it.
    pub allocated_bytes: Option<i64>,
    /// Free after it.
    pub available_bytes: Option<i64>,
    /// Share of the free memory that lies in pieces, from 0 to 1.
    pub fragmentation: Option<f64>,
    /// The most that was ever in use.
    pub peak_bytes: Option<i64>,
    /// What was asked for.
    pub requested_bytes: Option<i64>,
    /// What was given: rounded up to the allocator's unit.
    pub allocation_bytes: Option<i64>,
    /// Where it lies.
    pub address: Option<u64>,
    /// The framework op that asked.
    pub op: Cow<'p, str>,
    /// The group (step) that the file itself puts the event in.
    pub group_id: Option<i64>,
    /// What it is for, such as `output` or `temp`.
    pub region: Cow<'p, str>,
    /// The framework's number of the element type.
    pub data_type: Option<i64>,
    /// The tensor's shape in words.
    pub shape: Cow<'p, str>,
}

impl AllocatorEvent<'_> {
    /// An event without stats.
    fn bare(line: LineId, index: usize, start_ps: i64, is_release: bool) -> Self {
        Self {
            line,
            index,
            start_ps,
            is_release,
            reserved_bytes: None,
            allocated_bytes: None,
            available_bytes: None,
            fragmentation: None,
            peak_bytes: None,
            requested_bytes: None,
            allocation_bytes: None,
            address: None,
            op: Cow::Borrowed(""),
            group_id: None,
            region: Cow::Borrowed(""),
            data_type: None,
            shape: Cow::Borrowed(""),
        }
    }

    /// Reserved and allocated together. What the runtime does not account for counts as nothing: one without a stack
    /// says nothing of it.
    #[must_use]
    pub fn in_use_bytes(&self) -> i64 {
        self.reserved_bytes.unwrap_or(0).saturating_add(self.allocated_bytes.unwrap_or(0))
    }
}

impl<'p> Allocator<'p> {
    /// The events by time; those of one moment in the order of [`Allocator::events`].
    #[must_use]
    pub fn by_time(&self) -> Vec<&AllocatorEvent<'p>> {
        let mut events: Vec<_> = self.events.iter().collect();
        events.sort_by_key(|event| event.start_ps);
        events
    }
}

/// The allocators of a host, by name.
#[must_use]
pub fn allocators(profile: &Profile, host: HostId) -> Vec<Allocator<'_>> {
    let mut found: BTreeMap<String, Vec<AllocatorEvent<'_>>> = BTreeMap::new();
    for plane in profile.planes_of(host).filter(|plane| plane.kind == PlaneKind::Host) {
        let source = profile.source_of(plane);
        let kinds = kinds(plane, source);
        if kinds.iter().all(Option::is_none) {
            continue;
        }
        let keys = Keys::new(plane);
        for line in profile.lines_of(plane.id) {
            let events = profile.events(line);
            for (index, meta) in events.metas().iter().enumerate() {
                let Some(is_release) = kinds.get(*meta as usize).copied().flatten() else { continue };
                let mut event = AllocatorEvent::bare(line.id, index, events.get(index).start_ps, is_release);
                let mut name = String::new();
                for stat in events.stats(source, index) {
                    if let (Some(key), Some(value)) = (keys.of(stat.metadata_id), stat.value) {
                        key.read(&mut event, &mut name, plane, source, value);
                    }
                }
                found.entry(name).or_default().push(event);
            }
        }
    }
    found.into_iter().map(|(name, events)| Allocator { name, events }).collect()
}

/// For each event metadata whether it is a release, or nothing of the kind.
fn kinds(plane: &Plane, source: &Source) -> Vec<Option<bool>> {
    let kind = |name: &[u8]| match name {
        b"MemoryAllocation" => Some(false),
        b"MemoryDeallocation" => Some(true),
        _ => None,
    };
    plane.metas.iter().map(|meta| kind(source.slice(meta.name))).collect()
}

/// A stat of such an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    DeviceNumber,
    AllocatorName,
    Reserved,
    Allocated,
    Available,
    Fragmentation,
    Peak,
    Requested,
    Allocation,
    Address,
    Op,
    Group,
    Region,
    DataType,
    Shape,
}

const KEYS: &[(&str, Key)] = &[
    ("index_on_host", Key::DeviceNumber),
    ("device_ordinal", Key::DeviceNumber),
    ("allocator_name", Key::AllocatorName),
    ("bytes_reserved", Key::Reserved),
    ("bytes_allocated", Key::Allocated),
    ("bytes_available", Key::Available),
    ("fragmentation", Key::Fragmentation),
    ("peak_bytes_in_use", Key::Peak),
    ("requested_bytes", Key::Requested),
    ("allocation_bytes", Key::Allocation),
    ("addr", Key::Address),
    ("tf_op", Key::Op),
    ("group_id", Key::Group),
    ("region_type", Key::Region),
    ("data_type", Key::DataType),
    ("shape", Key::Shape),
];

/// The stats that matter, by their ids in one plane.
struct Keys(Vec<(StatId, Key)>);

impl Keys {
    fn new(plane: &Plane) -> Self {
        Self(KEYS.iter().filter_map(|(name, key)| Some((plane.stat_id(name)?, *key))).collect())
    }

    fn of(&self, id: StatId) -> Option<Key> {
        self.0.iter().find(|entry| entry.0 == id).map(|entry| entry.1)
    }
}

impl Key {
    fn read<'p>(
        self,
        event: &mut AllocatorEvent<'p>,
        name: &mut String,
        plane: &Plane,
        source: &'p Source,
        value: StatValue<'p>,
    ) {
        let number = match value {
            StatValue::Int(value) => Some(value),
            StatValue::Uint(value) => Some(value as i64),
            _ => None,
        };
        let text = || plane.text(source, value).unwrap_or_default();
        match self {
            Self::DeviceNumber => *name = number.unwrap_or(0).to_string(),
            Self::AllocatorName => *name = text().into_owned(),
            Self::Reserved => event.reserved_bytes = number,
            Self::Allocated => event.allocated_bytes = number,
            Self::Available => event.available_bytes = number,
            Self::Fragmentation => {
                event.fragmentation = match value {
                    StatValue::Double(value) => Some(value),
                    _ => number.map(|number| number as f64),
                };
            }
            Self::Peak => event.peak_bytes = number,
            Self::Requested => event.requested_bytes = number,
            Self::Allocation => event.allocation_bytes = number,
            Self::Address => event.address = number.map(|number| number as u64),
            Self::Op => event.op = text(),
            Self::Group => event.group_id = number.or(Some(0)),
            Self::Region => event.region = text(),
            Self::DataType => event.data_type = number.or(Some(0)),
            Self::Shape => event.shape = text(),
        }
    }
}

#[cfg(test)]
mod tests {
    use haloscope_xspace::write::{self, EventMetadata, Line, Space, Stat, StatMetadata, Value};

    use super::*;

    /// Events of a thread that starts at a time: offset in ns, metadata, bytes in use, and what names the allocator.
    fn thread(id: i64, timestamp_ns: i64, events: &[(i64, i64, i64, Stat)]) -> Line {
        let mut line = Line::new(id, "thread");
        line.timestamp_ns = timestamp_ns;
        for (at_ns, kind, allocated, name) in events {
            let mut event = write::Event::at(*kind, at_ns * 1000, 1);
            event.stats = vec![Stat { metadata_id: 1, value: Value::Int(*allocated) }, name.clone()];
            line.events.push(event);
        }
        line
    }

    #[test]
    fn threads_are_on_one_clock() {
        let gpu = || Stat { metadata_id: 2, value: Value::Str("GPU_0_bfc".to_owned()) };
        let chip = || Stat { metadata_id: 3, value: Value::Int(4) };
        let names = [(1, "bytes_allocated"), (2, "allocator_name"), (3, "device_ordinal")];
        let metas = [(1, "MemoryAllocation"), (2, "MemoryDeallocation"), (3, "Memory")];
        let plane = write::Plane {
            name: "/host:CPU".to_owned(),
            lines: vec![
                thread(1, 1000, &[(0, 1, 10, gpu()), (900, 2, 0, gpu()), (950, 3, 5, gpu())]),
                thread(2, 1500, &[(100, 1, 30, gpu()), (200, 1, 7, chip())]),
            ],
            event_metadata: metas
                .map(|(id, name)| {
                    (id, EventMetadata { id, name: name.to_owned(), ..EventMetadata::default() })
                })
                .to_vec(),
            stat_metadata: names
                .map(|(id, name)| (id, StatMetadata { id, name: name.to_owned(), ..StatMetadata::default() }))
                .to_vec(),
            ..write::Plane::default()
        };
        let space = Space { planes: vec![plane], ..Space::default() };
        let profile = Profile::from_files(vec![("host.xplane.pb".into(), Box::new(space.to_bytes()))]);
        let found = allocators(&profile, HostId(0));
        let labels: Vec<_> = found.iter().map(|a| (a.name.as_str(), a.events.len())).collect();
        assert_eq!(labels, [("4", 1), ("GPU_0_bfc", 3)]);
        let start_ps = found[1].events[0].start_ps;
        let seen: Vec<_> = found[1]
            .by_time()
            .iter()
            .map(|e| (e.start_ps - start_ps, e.is_release, e.in_use_bytes()))
            .collect();
        assert_eq!(seen, [(0, false, 10), (600_000, false, 30), (900_000, true, 0)]);
        // Nothing allocated is an account; nobody's word on the rest is none.
        let last = found[1].by_time()[2];
        assert_eq!((last.allocated_bytes, last.reserved_bytes, last.fragmentation), (Some(0), None, None));
    }
}
