//! Columns beside the heap: the same to the bit as those just decoded, or none.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use haloscope_profile::{
    ColumnStore, Event, Events, Line, Mark, Profile, Segment, Shared, Source, StoredColumns,
};

use haloscope_xspace::write::{
    Event as WireEvent, EventMetadata, Line as WireLine, Plane, Space, Stat, StatMetadata, Value,
};

use crate::made::{Made, US, bytes};
use crate::support::{RUNS, open};

/// A shelf in memory.
#[derive(Debug, Default)]
struct Memory {
    lines: Mutex<BTreeMap<usize, Vec<Vec<u8>>>>,
    /// Whether it keeps what is not there yet.
    wants: bool,
}

/// Bytes as they lie in a file's pages: aligned.
struct Words(Vec<u64>, usize);

impl Deref for Words {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.0)[..self.1]
    }
}

fn segment(bytes: &[u8]) -> Segment {
    let mut words = vec![0_u64; bytes.len().div_ceil(8)];
    bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
    let shared: Shared = Arc::new(Words(words, bytes.len()));
    Segment::new(shared, 0..bytes.len()).unwrap()
}

impl ColumnStore for Memory {
    fn get(&self, line: usize) -> Option<StoredColumns> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let (head, columns) = lines.get(&line)?.split_first()?;
        Some(StoredColumns { head: segment(head), columns: columns.iter().map(|c| segment(c)).collect() })
    }

    fn wants(&self, _: usize, _: u64) -> bool {
        self.wants
    }

    fn put(&self, line: usize, head: &[u8], columns: &[&[u8]]) -> Option<StoredColumns> {
        let parts = std::iter::once(head).chain(columns.iter().copied()).map(<[u8]>::to_vec).collect();
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).insert(line, parts);
        self.get(line)
    }
}

/// All that an event says.
fn told(events: &Events, source: &Source, row: usize) -> (Event, Event, Event, [bool; 3], i64, String) {
    (
        events.get(row),
        events.on_device_clock(row),
        events.placed(row),
        [Mark::HloOp, Mark::Step, Mark::InputStage].map(|mark| events.has(row, mark)),
        events.wire_duration_ps(source, row),
        format!("{:?}", events.stats(source, row).collect::<Vec<_>>()),
    )
}

fn assert_same(profile: &Profile, line: &Line, events: &Events, other: &Events) {
    let source = profile.source_of(profile.plane(line.plane));
    assert_eq!(events.len(), other.len(), "{}", line.name);
    for row in 0..events.len() {
        assert_eq!(told(events, source, row), told(other, source, row), "{}", line.name);
    }
    assert_eq!((events.negative, events.nameless), (other.negative, other.nameless));
    assert_eq!((&events.aggregated, &events.faults), (&other.aggregated, &other.faults));
    assert_eq!(events.parts().head, other.parts().head);
    assert_eq!(events.parts().columns, other.parts().columns);
}

#[test]
fn columns_from_a_shelf_are_those_that_were_decoded() {
    for run in RUNS {
        let plain = open(run);
        let shelves: Vec<Arc<Memory>> =
            plain.sources.iter().map(|_| Arc::new(Memory { wants: true, ..Memory::default() })).collect();
        // The first profile fills the shelf, the second finds it filled.
        for _ in 0..2 {
            let mut shelved = open(run);
            for (source, column_store) in shelves.iter().enumerate() {
                shelved.set_column_store(source, Arc::<Memory>::clone(column_store));
            }
            for (line, again) in plain.lines.iter().zip(&shelved.lines) {
                assert_same(&plain, line, plain.events(line), shelved.events(again));
            }
        }
        let lines: usize = shelves.iter().map(|column_store| column_store.lines.lock().unwrap().len()).sum();
        assert_eq!(lines, plain.lines.len(), "{run}");
    }
}

/// A device line with all there is to keep: long and short events, device times near and far, out of order.
fn made() -> Profile {
    let mut device = Made::tpu(0);
    let op = device.op("fusion.1", "loop fusion", 1_000, 64);
    let events: Vec<(i64, i64, i64)> = (0..64_i64)
        .map(|i| (op, i * 37 % 64 * 9 * US, if i % 9 == 0 { 40_000 * US } else { 2 * US }))
        .collect();
    device.line("XLA Ops", 0, &events);
    haloscope_profile::load::from_bytes("host0.xplane.pb", bytes(vec![device])).unwrap()
}

#[test]
fn events_are_by_start_and_say_what_the_file_says() {
    for profile in RUNS.map(open).iter().chain([&made()]) {
        for line in &profile.lines {
            let plane = profile.plane(line.plane);
            let source = profile.source_of(plane);
            let space = haloscope_xspace::SpaceView::parse(source.bytes());
            let first =
                plane.id.index() - profile.planes.iter().position(|p| p.source == plane.source).unwrap();
            let view = &space.planes[first].lines[line.id.index() - plane.lines.start];
            let mut expected: Vec<(i64, i64, u32, String)> = Vec::new();
            for event in view.events() {
                if let haloscope_xspace::EventTime::OffsetPs(offset) = event.time {
                    let stats = format!("{:?}", event.stats().collect::<Vec<_>>());
                    let meta = plane.meta_index(event.metadata_id);
                    expected.push((line.base_ps + offset, -event.duration_ps.max(0), meta, stats));
                }
            }
            expected.sort_by_key(|(start, duration, ..)| (*start, *duration));
            let events = profile.events(line);
            let found = events.iter().map(|e| {
                let stats = format!("{:?}", events.stats(source, e.index).collect::<Vec<_>>());
                (e.start_ps, e.start_ps - e.end_ps, e.meta, stats)
            });
            assert!(found.eq(expected), "{}", line.name);
        }
    }
}

/// A line of so many events that it is decoded in parts, on several threads: out of order, with events without a place in
/// time and malformed ones in the middle of parts.
#[test]
fn a_long_line_in_parts_is_the_line_event_by_event() {
    const EVENTS: i64 = 600_000;
    for is_sorted in [true, false] {
        let mut plane = Plane { name: "/device:TPU:0".into(), ..Plane::default() };
        plane.event_metadata =
            (1..9).map(|id| (id, EventMetadata { id, ..EventMetadata::default() })).collect();
        let names = [(1, "device_offset_ps"), (2, "device_duration_ps"), (3, "hlo_op")];
        let name = |(id, name): (i64, &str)| {
            (id, StatMetadata { id, name: name.to_owned(), ..StatMetadata::default() })
        };
        plane.stat_metadata = names.into_iter().map(name).collect();
        let mut line = WireLine::new(1, "XLA Ops");
        for i in 0..EVENTS {
            let at = if is_sorted || i % 70_000 != 5 { i * 1_000 } else { i / 2 * 1_000 };
            let mut event = WireEvent::at(i % 11, at, if i % 1_000 == 0 { 9_000 * US } else { i % 977 });
            if i % 50_021 == 7 {
                event.time = haloscope_xspace::EventTime::Occurrences(3);
            }
            if i % 3 == 0 {
                let ahead = if i % 90_000 == 0 { 9_000 * US } else { i % 5 };
                let stat = |metadata_id, value| Stat { metadata_id, value: Value::Int(value) };
                event.stats = vec![stat(1, at + ahead), stat(2, i % 950), stat(3, 0)];
            }
            line.events.push(event);
        }
        plane.lines.push(line);
        let mut file = Space { planes: vec![plane], ..Space::default() }.to_bytes();
        // Duration's tag becomes one of a field that no event has, of a wire type that nobody uses: such events are left out.
        let places: Vec<usize> = {
            let space = haloscope_xspace::SpaceView::parse(&file);
            let events = space.planes[0].lines[0].events();
            let odd = events.enumerate().filter(|(i, _)| i % 100_003 == 100_000);
            odd.map(|(_, event)| event.offset as usize).collect()
        };
        assert!(places.len() > 4);
        places.iter().for_each(|at| file[*at] = 0x0f);
        let profile = haloscope_profile::load::from_bytes("host0.xplane.pb", file).unwrap();
        let line = &profile.lines[0];
        let events = profile.events(line);
        assert_eq!(events.faults.count(), places.len() as u64);
        assert_eq!(events.aggregated.len(), (0..EVENTS).filter(|i| i % 50_021 == 7).count());
        assert_eq!(events.len(), EVENTS as usize - events.aggregated.len() - places.len());
        let view = &haloscope_xspace::SpaceView::parse(profile.sources[0].bytes()).planes[0].lines[0].clone();
        assert_eq!(view.strides.len(), EVENTS as usize / 65_536);
        let mut expected: Vec<_> = view
            .events()
            .filter_map(|event| {
                let haloscope_xspace::EventTime::OffsetPs(at) = event.time else { return None };
                let number = |key| {
                    let mut stats = event.stats().filter(move |stat| stat.metadata_id == key);
                    stats.next().and_then(|stat| stat.value?.as_i64())
                };
                let start = number(1).unwrap_or(at);
                let end = start + number(2).unwrap_or(event.duration_ps);
                let meta = if event.metadata_id < 9 { event.metadata_id as u32 } else { 0 };
                Some((at, -event.duration_ps, meta, start, end, number(3).is_some()))
            })
            .collect();
        expected.sort_by_key(|(start, duration, ..)| (*start, *duration));
        let found = events.iter().map(|e| {
            let device = events.on_device_clock(e.index);
            let marked = events.has(e.index, Mark::HloOp);
            (e.start_ps, e.start_ps - e.end_ps, e.meta, device.start_ps, device.end_ps, marked)
        });
        for (row, (found, expected)) in found.zip(expected).enumerate() {
            assert_eq!(found, expected, "row {row}");
        }
    }
}

#[test]
fn damaged_columns_are_none_or_do_no_harm() {
    for profile in [made(), open("cpu-train"), open("tpu-train")] {
        let line = profile.lines.iter().max_by_key(|line| line.event_count.min(2_000)).unwrap();
        let plane = profile.plane(line.plane);
        let events = profile.events(line);
        let parts = events.parts();
        let all: Vec<Vec<u8>> =
            std::iter::once(&parts.head[..]).chain(parts.columns).map(<[u8]>::to_vec).collect();
        let of = |all: &[Vec<u8>]| {
            let mut all = all.iter().map(|part| segment(part));
            let kept = StoredColumns { head: all.next().unwrap(), columns: all.collect() };
            Events::from_parts(kept, line, plane)
        };
        assert_same(&profile, line, events, &of(&all).unwrap());
        let (mut refused, mut taken) = (0, 0);
        for part in 0..all.len() {
            for step in 0..all[part].len().min(200) {
                let mut damaged = all.clone();
                let at = step * all[part].len() / all[part].len().min(200);
                damaged[part][at] ^= 0x81;
                match of(&damaged) {
                    None => refused += 1,
                    Some(events) => {
                        let source = profile.source_of(plane);
                        for row in (0..events.len()).step_by(1 + events.len() / 50) {
                            let event = events.get(row);
                            assert!((event.meta as usize) < plane.metas.len());
                            let _ = told(&events, source, row);
                        }
                        taken += 1;
                    }
                }
            }
            let mut cut = all.clone();
            if !cut[part].is_empty() {
                cut[part].truncate(all[part].len() - 8.min(all[part].len()));
                assert!(of(&cut).is_none(), "{part}");
            }
            let mut less = all.clone();
            less.remove(part);
            assert!(of(&less).is_none(), "{part}");
        }
        assert!(refused > 10 && taken > 10, "{refused} refused, {taken} taken");
    }
}
