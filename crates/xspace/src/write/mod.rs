//! A writer of XSpace messages: fixtures, slices of profiles, tests.
//!
//! The structs mirror the messages field by field, in file order; maps are lists, so that a test can write a key twice.
//! `Space::from(&view)` turns a profile that was read into one that can be changed and written.

mod encoded;
mod from_view;

pub use encoded::EncodedLine;

/// An `XSpace`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Space {
    /// Field 1.
    pub planes: Vec<Plane>,
    /// Field 2.
    pub errors: Vec<String>,
    /// Field 3.
    pub warnings: Vec<String>,
    /// Field 4.
    pub hostnames: Vec<String>,
}

/// An `XPlane`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plane {
    /// Field 1.
    pub id: i64,
    /// Field 2.
    pub name: String,
    /// Field 3.
    pub lines: Vec<Line>,
    /// Field 4, by map key.
    pub event_metadata: Vec<(i64, EventMetadata)>,
    /// Field 5, by map key.
    pub stat_metadata: Vec<(i64, StatMetadata)>,
    /// Field 6.
    pub stats: Vec<Stat>,
}

/// An `XLine`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Line {
    /// Field 1.
    pub id: i64,
    /// Field 2.
    pub name: String,
    /// Field 3.
    pub timestamp_ns: i64,
    /// Field 4.
    pub events: Vec<Event>,
    /// Field 9.
    pub duration_ps: i64,
    /// Field 10.
    pub display_id: i64,
    /// Field 11.
    pub display_name: String,
}

/// An `XEvent`.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Field 1.
    pub metadata_id: i64,
    /// Field 2 or 5.
    pub time: crate::EventTime,
    /// Field 3.
    pub duration_ps: i64,
    /// Field 4.
    pub stats: Vec<Stat>,
}

/// An `XStat`.
#[derive(Debug, Clone, PartialEq)]
pub struct Stat {
    /// Field 1.
    pub metadata_id: i64,
    /// The value.
    pub value: Value,
}

/// The value of an `XStat`.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Field 2.
    Double(f64),
    /// Field 3.
    Uint(u64),
    /// Field 4.
    Int(i64),
    /// Field 5.
    Str(String),
    /// Field 6.
    Bytes(Vec<u8>),
    /// Field 7.
    Ref(u64),
    /// Field 8, compressed already.
    Compressed(Vec<u8>),
}

/// An `XEventMetadata`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EventMetadata {
    /// Field 1.
    pub id: i64,
    /// Field 2.
    pub name: String,
    /// Field 3.
    pub metadata: Vec<u8>,
    /// Field 4.
    pub display_name: String,
    /// Field 5.
    pub stats: Vec<Stat>,
    /// Field 6.
    pub child_ids: Vec<i64>,
}

/// An `XStatMetadata`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StatMetadata {
    /// Field 1.
    pub id: i64,
    /// Field 2.
    pub name: String,
    /// Field 3.
    pub description: String,
}

impl Line {
    /// An empty line.
    #[must_use]
    pub fn new(id: i64, name: &str) -> Self {
        Self { id, name: name.to_owned(), ..Self::default() }
    }
}

impl Event {
    /// An event at `offset_ps` of its line, without stats.
    #[must_use]
    pub fn at(metadata_id: i64, offset_ps: i64, duration_ps: i64) -> Self {
        Self { metadata_id, time: crate::EventTime::OffsetPs(offset_ps), duration_ps, stats: Vec::new() }
    }
}

impl Space {
    /// The message as protobuf. Zero and empty fields are left out, as proto3 does, except in a oneof.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for plane in &self.planes {
            message(&mut out, 1, |out| plane.encode(out));
        }
        for (number, texts) in [(2, &self.errors), (3, &self.warnings), (4, &self.hostnames)] {
            for text in texts {
                bytes(&mut out, number, text.as_bytes());
            }
        }
        out
    }
}

impl Plane {
    fn encode(&self, out: &mut Vec<u8>) {
        int(out, 1, self.id);
        text(out, 2, &self.name);
        for line in &self.lines {
            message(out, 3, |out| line.encode(out));
        }
        for (key, meta) in &self.event_metadata {
            message(out, 4, |out| {
                // Protobuf writes the key of a map entry even where it is 0.
                oneof_int(out, 1, *key as u64);
                message(out, 2, |out| meta.encode(out));
            });
        }
        for (key, meta) in &self.stat_metadata {
            message(out, 5, |out| {
                // Protobuf writes the key of a map entry even where it is 0.
                oneof_int(out, 1, *key as u64);
                message(out, 2, |out| meta.encode(out));
            });
        }
        stats(out, 6, &self.stats);
    }
}

impl Line {
    fn encode(&self, out: &mut Vec<u8>) {
        int(out, 1, self.id);
        text(out, 2, &self.name);
        int(out, 3, self.timestamp_ns);
        for event in &self.events {
            message(out, 4, |out| event.encode(out));
        }
        int(out, 9, self.duration_ps);
        int(out, 10, self.display_id);
        text(out, 11, &self.display_name);
    }
}

impl Event {
    fn encode(&self, out: &mut Vec<u8>) {
        int(out, 1, self.metadata_id);
        if let crate::EventTime::OffsetPs(v) = self.time {
            oneof_int(out, 2, v as u64);
        }
        int(out, 3, self.duration_ps);
        stats(out, 4, &self.stats);
        if let crate::EventTime::Occurrences(v) = self.time {
            oneof_int(out, 5, v as u64);
        }
    }
}

impl Stat {
    fn encode(&self, out: &mut Vec<u8>) {
        int(out, 1, self.metadata_id);
        match &self.value {
            Value::Double(v) => {
                tag(out, 2, 1);
                out.extend_from_slice(&v.to_bits().to_le_bytes());
            }
            Value::Uint(v) => oneof_int(out, 3, *v),
            Value::Int(v) => oneof_int(out, 4, *v as u64),
            Value::Str(v) => bytes(out, 5, v.as_bytes()),
            Value::Bytes(v) => bytes(out, 6, v),
            Value::Ref(v) => oneof_int(out, 7, *v),
            Value::Compressed(v) => bytes(out, 8, v),
        }
    }
}

impl EventMetadata {
    fn encode(&self, out: &mut Vec<u8>) {
        int(out, 1, self.id);
        text(out, 2, &self.name);
        if !self.metadata.is_empty() {
            bytes(out, 3, &self.metadata);
        }
        text(out, 4, &self.display_name);
        stats(out, 5, &self.stats);
        if !self.child_ids.is_empty() {
            message(out, 6, |out| self.child_ids.iter().for_each(|id| varint(out, *id as u64)));
        }
    }
}

impl StatMetadata {
    fn encode(&self, out: &mut Vec<u8>) {
        int(out, 1, self.id);
        text(out, 2, &self.name);
        text(out, 3, &self.description);
    }
}

/// Appends a number as protobuf writes it: seven bits a byte, the lowest first.
pub fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn tag(out: &mut Vec<u8>, number: u32, wire_type: u32) {
    varint(out, u64::from(number << 3 | wire_type));
}

/// Appends a number, 0 too.
pub(crate) fn oneof_int(out: &mut Vec<u8>, number: u32, value: u64) {
    tag(out, number, 0);
    varint(out, value);
}

fn int(out: &mut Vec<u8>, number: u32, value: i64) {
    if value != 0 {
        oneof_int(out, number, value as u64);
    }
}

fn bytes(out: &mut Vec<u8>, number: u32, value: &[u8]) {
    tag(out, number, 2);
    varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

fn text(out: &mut Vec<u8>, number: u32, value: &str) {
    if !value.is_empty() {
        bytes(out, number, value.as_bytes());
    }
}

fn stats(out: &mut Vec<u8>, number: u32, all: &[Stat]) {
    for stat in all {
        message(out, number, |out| stat.encode(out));
    }
}

/// Appends a length-delimited field whose content is there already.
pub(crate) fn field(out: &mut Vec<u8>, number: u32, value: &[u8]) {
    bytes(out, number, value);
}

fn message(out: &mut Vec<u8>, number: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let mut inner = Vec::new();
    body(&mut inner);
    bytes(out, number, &inner);
}
