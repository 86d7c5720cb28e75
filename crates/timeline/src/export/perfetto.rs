//! Perfetto's protobuf: a `Trace` of `TracePacket`s with `TrackEvent`s.
//!
//! A plane is a process track and a packet sequence of its own, whose first packet clears the incremental state; names are
//! interned once a sequence. A line is a track below it; further lanes are tracks that are to be merged with the first.
//!
//! Perfetto's clock has whole nanoseconds. Starts and ends are cut down to them (so that what nests still nests), and the
//! true ones stand in `start_ps` and `duration_ps`. Where events start before the capture, all times are moved so that
//! none is negative, and `start_ps` still tells the run's clock.

use std::io::{self, Write};

use rustc_hash::FxHashMap;

use haloscope_profile::Event;

use super::choose::ChosenPlane;
use super::proto::Message;
use super::walk::{Begin, Sink, Track};

// Fields, as protos/perfetto/trace/*.proto number them.
mod field {
    pub(super) const TRACE_PACKET: u32 = 1;
    pub(super) const TIMESTAMP: u32 = 8;
    pub(super) const SEQUENCE_ID: u32 = 10;
    pub(super) const TRACK_EVENT: u32 = 11;
    pub(super) const INTERNED_DATA: u32 = 12;
    pub(super) const SEQUENCE_FLAGS: u32 = 13;
    pub(super) const TRACK_DESCRIPTOR: u32 = 60;
    pub(super) const FIRST_PACKET_ON_SEQUENCE: u32 = 87;
    /// `TrackDescriptor`.
    pub(super) mod track {
        pub(in super::super) const UUID: u32 = 1;
        pub(in super::super) const NAME: u32 = 2;
        pub(in super::super) const PROCESS: u32 = 3;
        pub(in super::super) const PARENT_UUID: u32 = 5;
        pub(in super::super) const COUNTER: u32 = 8;
        pub(in super::super) const CHILD_ORDERING: u32 = 11;
        pub(in super::super) const SIBLING_ORDER_RANK: u32 = 12;
        pub(in super::super) const SIBLING_MERGE_BEHAVIOR: u32 = 15;
        pub(in super::super) const SIBLING_MERGE_KEY_INT: u32 = 17;
    }
    /// `TrackEvent`.
    pub(super) mod event {
        pub(in super::super) const CATEGORY_IIDS: u32 = 3;
        pub(in super::super) const DEBUG_ANNOTATIONS: u32 = 4;
        pub(in super::super) const TYPE: u32 = 9;
        pub(in super::super) const NAME_IID: u32 = 10;
        pub(in super::super) const TRACK_UUID: u32 = 11;
        pub(in super::super) const DOUBLE_COUNTER_VALUE: u32 = 44;
    }
    /// `DebugAnnotation`.
    pub(super) mod annotation {
        pub(in super::super) const NAME_IID: u32 = 1;
        pub(in super::super) const INT: u32 = 4;
        pub(in super::super) const DOUBLE: u32 = 5;
        pub(in super::super) const STRING_IID: u32 = 17;
    }
}

const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const COUNTER: u64 = 4;
const STATE_CLEARED: u64 = 1;
const NEEDS_STATE: u64 = 2;
/// Children of a process are shown by their rank.
const EXPLICIT: u64 = 3;
/// Tracks of one parent are shown as one where their key is the same.
const BY_KEY: u64 = 3;

/// Kinds of interned text, by their field in `InternedData`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Category = 1,
    Name = 2,
    Annotation = 3,
    Text = 29,
}

/// A trace being written.
pub(super) struct Perfetto<'w> {
    out: &'w mut dyn Write,
    /// What is added to a time, so that none is negative.
    shift_ps: i64,
    sequence: u64,
    process: u64,
    track: u64,
    flags: u64,
    interned: FxHashMap<(Kind, String), u64>,
    /// Texts that the next packet has to bring along.
    fresh: Message,
    packet: Message,
}

impl<'w> Perfetto<'w> {
    pub(super) fn new(out: &'w mut dyn Write) -> Self {
        Self {
            out,
            shift_ps: 0,
            sequence: 0,
            process: 0,
            track: 0,
            flags: 0,
            interned: FxHashMap::default(),
            fresh: Message::default(),
            packet: Message::default(),
        }
    }

    /// Whole nanoseconds on the trace's clock.
    fn ns(&self, ps: i64) -> u64 {
        ps.saturating_add(self.shift_ps).div_euclid(1000).max(0) as u64
    }

    fn intern(&mut self, kind: Kind, text: &str) -> u64 {
        let key = (kind, text.to_owned());
        let next = self.interned.len() as u64 + 1;
        let id = *self.interned.entry(key).or_insert(next);
        if id == next {
            let mut entry = Message::default();
            entry.uint(1, id).text(2, text);
            self.fresh.message(kind as u32, &entry);
        }
        id
    }

    /// Writes the packet that was begun.
    fn send(&mut self) -> io::Result<()> {
        self.packet.uint(field::SEQUENCE_ID, self.sequence);
        if self.flags == STATE_CLEARED {
            self.packet.uint(field::FIRST_PACKET_ON_SEQUENCE, 1);
        }
        self.packet.uint(field::SEQUENCE_FLAGS, self.flags);
        self.flags = NEEDS_STATE;
        if !self.fresh.is_empty() {
            self.packet.message(field::INTERNED_DATA, &self.fresh);
            self.fresh.clear();
        }
        let mut trace = Message::default();
        trace.message(field::TRACE_PACKET, &self.packet);
        self.packet.clear();
        self.out.write_all(trace.as_bytes())
    }

    fn describe(&mut self, descriptor: &Message) -> io::Result<()> {
        self.packet.message(field::TRACK_DESCRIPTOR, descriptor);
        self.send()
    }

    fn event(&mut self, time_ps: i64, event: &Message) -> io::Result<()> {
        let ns = self.ns(time_ps);
        self.packet.uint(field::TIMESTAMP, ns).message(field::TRACK_EVENT, event);
        self.send()
    }

    fn annotate(&mut self, event: &mut Message, name: &str, value: Value<'_>) {
        let mut annotation = Message::default();
        annotation.uint(field::annotation::NAME_IID, self.intern(Kind::Annotation, name));
        match value {
            Value::Int(v) => annotation.int(field::annotation::INT, v),
            Value::Double(v) => annotation.double(field::annotation::DOUBLE, v),
            Value::Text(v) => annotation.uint(field::annotation::STRING_IID, self.intern(Kind::Text, v)),
        };
        event.message(field::event::DEBUG_ANNOTATIONS, &annotation);
    }
}

#[derive(Clone, Copy)]
enum Value<'a> {
    Int(i64),
    Double(f64),
    Text(&'a str),
}

/// A whole number stays one.
fn number<'a>(value: f64) -> Value<'a> {
    let is_whole = value.fract() == 0.0 && value.abs() < 9e15;
    if is_whole { Value::Int(value as i64) } else { Value::Double(value) }
}

impl Sink for Perfetto<'_> {
    fn start(&mut self, first_ps: i64) -> io::Result<()> {
        // Whole microseconds, so that the shift does not change what is rounded.
        self.shift_ps = first_ps.min(0).div_euclid(1_000_000).saturating_mul(-1_000_000);
        Ok(())
    }

    fn plane(&mut self, chosen: &ChosenPlane<'_>) -> io::Result<()> {
        self.sequence += 1;
        self.flags = STATE_CLEARED;
        self.interned.clear();
        // Ids of processes and tracks are two halves of one space.
        self.process = 1 << 32 | self.sequence;
        let mut process = Message::default();
        process.uint(1, self.sequence).text(6, &chosen.name);
        let mut descriptor = Message::default();
        descriptor
            .uint(field::track::UUID, self.process)
            .message(field::track::PROCESS, &process)
            .uint(field::track::CHILD_ORDERING, EXPLICIT);
        self.describe(&descriptor)
    }

    fn track(&mut self, track: &Track<'_>) -> io::Result<()> {
        self.track = u64::from(track.number) + 1;
        let mut descriptor = Message::default();
        descriptor
            .uint(field::track::UUID, self.track)
            .uint(field::track::PARENT_UUID, self.process)
            .text(field::track::NAME, track.name)
            .uint(field::track::SIBLING_ORDER_RANK, track.rank as u64)
            .uint(field::track::SIBLING_MERGE_BEHAVIOR, BY_KEY)
            .uint(field::track::SIBLING_MERGE_KEY_INT, u64::from(track.line.id.0) + 1);
        self.describe(&descriptor)
    }

    fn begin(&mut self, begin: &Begin<'_>) -> io::Result<()> {
        let (time, facts) = (begin.event, begin.facts);
        let mut event = Message::default();
        event
            .uint(field::event::TYPE, SLICE_BEGIN)
            .uint(field::event::TRACK_UUID, self.track)
            .uint(field::event::NAME_IID, self.intern(Kind::Name, begin.name));
        if let Some(category) = facts.category {
            event.uint(field::event::CATEGORY_IIDS, self.intern(Kind::Category, category));
        }
        self.annotate(&mut event, "start_ps", Value::Int(time.start_ps));
        self.annotate(&mut event, "duration_ps", Value::Int(time.end_ps - time.start_ps));
        let texts = [
            ("hlo_op", facts.hlo_op),
            ("category", facts.category),
            ("module", facts.module),
            ("op_name", facts.scope),
            ("source", facts.source),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                self.annotate(&mut event, name, Value::Text(text));
            }
        }
        for (name, value) in [("flops", facts.flops), ("bytes", facts.bytes)] {
            if let Some(value) = value {
                self.annotate(&mut event, name, number(value));
            }
        }
        if let Some(step) = facts.step {
            self.annotate(&mut event, "step", Value::Int(step));
        }
        self.event(time.start_ps, &event)
    }

    fn end(&mut self, event: &Event) -> io::Result<()> {
        let mut end = Message::default();
        end.uint(field::event::TYPE, SLICE_END).uint(field::event::TRACK_UUID, self.track);
        self.event(event.end_ps, &end)
    }

    fn counter(&mut self, line: &str, name: &str, number: u32, rank: usize) -> io::Result<()> {
        self.track = u64::from(number) + 1;
        let mut descriptor = Message::default();
        descriptor
            .uint(field::track::UUID, self.track)
            .uint(field::track::PARENT_UUID, self.process)
            .text(field::track::NAME, &format!("{line}: {name}"))
            .uint(field::track::SIBLING_ORDER_RANK, rank as u64)
            .message(field::track::COUNTER, &Message::default());
        self.describe(&descriptor)
    }

    fn sample(&mut self, _name: &str, time_ps: i64, value: f64) -> io::Result<()> {
        let mut event = Message::default();
        event
            .uint(field::event::TYPE, COUNTER)
            .uint(field::event::TRACK_UUID, self.track)
            .double(field::event::DOUBLE_COUNTER_VALUE, value);
        self.event(time_ps, &event)
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}
