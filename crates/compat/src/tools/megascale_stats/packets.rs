//! A trace as Perfetto's protobuf, gzipped.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use rustc_hash::FxHashMap;

use super::trace::{Counter, Slice, Trace, Track, Value};
use crate::{Answer, Error};

/// Field numbers of `TracePacket`.
mod packet {
    pub(super) const TIMESTAMP: u32 = 8;
    pub(super) const SEQUENCE: u32 = 10;
    pub(super) const EVENT: u32 = 11;
    pub(super) const INTERNED: u32 = 12;
    pub(super) const FLAGS: u32 = 13;
    pub(super) const TRACK: u32 = 60;
}
/// Field numbers of `TrackEvent`, and its kinds.
mod event {
    pub(super) const ANNOTATION: u32 = 4;
    pub(super) const TYPE: u32 = 9;
    pub(super) const NAME: u32 = 10;
    pub(super) const TRACK: u32 = 11;
    pub(super) const COUNT: u32 = 30;
    pub(super) const DOUBLE_COUNT: u32 = 44;
    pub(super) const FLOW: u32 = 47;
    pub(super) const BEGIN: u64 = 1;
    pub(super) const END: u64 = 2;
    pub(super) const INSTANT: u64 = 3;
    pub(super) const COUNTER: u64 = 4;
}

/// A message that is put together.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn uint(&mut self, number: u32, value: u64) {
        self.varint(u64::from(number << 3));
        self.varint(value);
    }

    fn fixed(&mut self, number: u32, bits: u64) {
        self.varint(u64::from(number << 3 | 1));
        self.0.extend(bits.to_le_bytes());
    }

    fn bytes(&mut self, number: u32, bytes: &[u8]) {
        self.varint(u64::from(number << 3 | 2));
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
    }
}

/// The three kinds of words that packets refer to, with their fields of `InternedData`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum InternedKind {
    EventName = 2,
    Key = 3,
    Text = 29,
}

#[derive(Default)]
struct Writer {
    out: Message,
    tracks: u64,
    started: bool,
    words: FxHashMap<(InternedKind, String), u64>,
    /// Words that are new in the packet that is being written.
    interned: Message,
}

/// The trace as XProf's server hands it out.
pub(super) fn write(trace: &Trace) -> Result<Answer, Error> {
    let mut writer = Writer::default();
    writer.counters(trace);
    if !trace.tpus.is_empty() {
        let all = writer.track("2. TPUs", 0, None);
        for (number, tpu) in &trace.tpus {
            let device = writer.track(&format!("/device:TPU:{number}"), all, None);
            tpu.lines.iter().flatten().for_each(|t| writer.slices(t, device));
            if let Some(graphs) = &tpu.graphs {
                let parent = writer.track("Megascale", device, None);
                graphs.iter().for_each(|t| writer.slices(t, parent));
            }
        }
    }
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    let zipped = gzip.write_all(&writer.out.0).and_then(|()| gzip.finish());
    zipped.map(Answer::bytes).map_err(|e| Error::Internal(e.to_string()))
}

impl Writer {
    /// Ends a packet.
    fn packet(&mut self, mut body: Message) {
        const CLEARED_AND_NEEDED: u64 = 3;
        const NEEDED: u64 = 2;
        body.uint(packet::SEQUENCE, 1);
        body.uint(packet::FLAGS, if self.started { NEEDED } else { CLEARED_AND_NEEDED });
        self.started = true;
        if !self.interned.0.is_empty() {
            body.bytes(packet::INTERNED, &std::mem::take(&mut self.interned).0);
        }
        self.out.bytes(1, &body.0);
    }

    /// A new track; its number.
    fn track(&mut self, name: &str, parent: u64, counter: Option<(&str, &str)>) -> u64 {
        self.tracks += 1;
        let mut track = Message::default();
        track.uint(1, self.tracks);
        track.bytes(2, name.as_bytes());
        if parent != 0 {
            track.uint(5, parent);
        }
        if let Some((unit, axis)) = counter {
            let mut counter = Message::default();
            counter.bytes(6, unit.as_bytes());
            counter.bytes(7, axis.as_bytes());
            track.bytes(8, &counter.0);
        }
        let mut body = Message::default();
        body.bytes(packet::TRACK, &track.0);
        self.packet(body);
        self.tracks
    }

    fn counters(&mut self, trace: &Trace) {
        let network = [&trace.rx_bytes, &trace.tx_bytes].iter().any(|c| !c.points.is_empty());
        let graphs = [&trace.collectives, &trace.payload].iter().any(|c| !c.points.is_empty());
        if !network && !graphs {
            return;
        }
        let all = self.track("1. Global Counters", 0, None);
        let whole = |v: i64, event: &mut Message| event.uint(event::COUNT, v as u64);
        if network {
            let parent = self.track("Network", all, None);
            let rate = |v: f64, event: &mut Message| event.fixed(event::DOUBLE_COUNT, v.to_bits());
            let bytes = ("bytes", "outstanding_bytes");
            self.counter("Outstanding Bytes RX", parent, bytes, &trace.rx_bytes, whole);
            self.counter("Outstanding Bytes TX", parent, bytes, &trace.tx_bytes, whole);
            let gbps = ("Gbps", "bandwidth");
            self.counter("Bandwidth RX (Gbps)", parent, gbps, &trace.rx_gbps, rate);
            self.counter("Bandwidth TX (Gbps)", parent, gbps, &trace.tx_gbps, rate);
        }
        if graphs {
            let parent = self.track("Megascale", all, None);
            let count = ("count", "inflight_collectives");
            self.counter("Inflight Collectives", parent, count, &trace.collectives, whole);
            let bytes = ("bytes", "inflight_collective_payload");
            self.counter("Inflight Collective Payload", parent, bytes, &trace.payload, whole);
        }
    }

    fn counter<T: Copy>(
        &mut self,
        name: &str,
        parent: u64,
        unit_and_axis: (&str, &str),
        counter: &Counter<T>,
        put: impl Fn(T, &mut Message),
    ) {
        if counter.points.is_empty() {
            return;
        }
        let track = self.track(name, parent, Some(unit_and_axis));
        for (time_ps, value) in &counter.points {
            let mut event = Message::default();
            event.uint(event::TYPE, event::COUNTER);
            event.uint(event::TRACK, track);
            put(*value, &mut event);
            self.event(*time_ps, &event);
        }
    }

    fn event(&mut self, time_ps: i64, event: &Message) {
        let mut body = Message::default();
        body.uint(packet::TIMESTAMP, (time_ps / 1000) as u64);
        body.bytes(packet::EVENT, &event.0);
        self.packet(body);
    }

    fn slices(&mut self, track: &Track, parent: u64) {
        let number = self.track(&track.name, parent, None);
        for slice in &track.slices {
            self.slice(slice, number);
        }
    }

    fn slice(&mut self, slice: &Slice, track: u64) {
        let instant = slice.duration_ps == 0;
        let mut event = Message::default();
        let name = self.intern(InternedKind::EventName, &slice.name);
        for (key, values) in by_key(&slice.args) {
            let annotation = self.annotation(key, &values);
            event.bytes(event::ANNOTATION, &annotation.0);
        }
        event.uint(event::TYPE, if instant { event::INSTANT } else { event::BEGIN });
        event.uint(event::NAME, name);
        event.uint(event::TRACK, track);
        let at_once = slice.flows_out.iter().filter(|_| instant);
        slice.flows_in.iter().chain(at_once).for_each(|flow| event.fixed(event::FLOW, *flow));
        self.event(slice.start_ps, &event);
        if !instant {
            let mut event = Message::default();
            event.uint(event::TYPE, event::END);
            event.uint(event::TRACK, track);
            slice.flows_out.iter().for_each(|flow| event.fixed(event::FLOW, *flow));
            self.event(slice.end_ps(), &event);
        }
    }

    /// One argument; several values under one key are an array.
    fn annotation(&mut self, key: &str, values: &[&Value]) -> Message {
        const ARRAY: u32 = 12;
        let mut annotation = Message::default();
        let key = self.intern(InternedKind::Key, key);
        annotation.uint(1, key);
        if let [value] = values {
            self.value(value, &mut annotation);
            return annotation;
        }
        for value in values {
            let mut item = Message::default();
            self.value(value, &mut item);
            annotation.bytes(ARRAY, &item.0);
        }
        annotation
    }

    fn value(&mut self, value: &Value, into: &mut Message) {
        match value {
            Value::Uint(v) => into.uint(3, *v),
            Value::Int(v) => into.uint(4, *v as u64),
            Value::Double(v) => into.fixed(5, v.to_bits()),
            Value::Text(text) => {
                let number = self.intern(InternedKind::Text, text);
                into.uint(17, number);
            }
        }
    }

    /// The number of a word, which is written out with the packet that needs it first.
    fn intern(&mut self, kind: InternedKind, text: &str) -> u64 {
        let next = self.words.len() as u64 + 1;
        let number = *self.words.entry((kind, text.to_owned())).or_insert(next);
        if number == next {
            let mut word = Message::default();
            word.uint(1, number);
            word.bytes(2, text.as_bytes());
            self.interned.bytes(kind as u32, &word.0);
        }
        number
    }
}

/// Arguments with the values of each key together, by first appearance.
fn by_key(args: &[(String, Value)]) -> Vec<(&str, Vec<&Value>)> {
    let mut all: Vec<(&str, Vec<&Value>)> = Vec::new();
    for (key, value) in args {
        match all.iter_mut().find(|(k, _)| k == key) {
            Some((_, values)) => values.push(value),
            None => all.push((key, vec![value])),
        }
    }
    all
}
