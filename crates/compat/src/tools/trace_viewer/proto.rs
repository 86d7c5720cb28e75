//! The answer as a `TraceDataResponse` message: columns of differences in place of an object an event, in a Zstandard
//! frame. The frame's blocks are stored as they are: the columns are small already, and whoever sends them far compresses
//! the way.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use haloscope_event_groups::category_name;
use haloscope_xspace::write::varint;

use super::host_data::Value;
use super::json::Part;
use super::tracks::{Row, Trace, Track};

/// Numbers of the fields of `TraceDataResponse` and its parts.
mod field {
    pub(super) const COMPLETE: u32 = 1;
    pub(super) const COUNTERS: u32 = 2;
    pub(super) const ASYNC: u32 = 3;
    pub(super) const METADATA: u32 = 4;
    pub(super) const STRINGS: u32 = 5;
    pub(super) const DETAILS: u32 = 6;
    pub(super) const START: u32 = 7;
    pub(super) const END: u32 = 8;
}

/// The whole answer.
pub(super) fn write(
    parts: &[Part<'_, '_>],
    details: &[(&str, bool)],
    span: Option<(u64, u64)>,
    order: &BTreeMap<u32, u32>,
) -> Vec<u8> {
    let mut message = Vec::new();
    let mut strings = Strings::default();
    strings.number("");
    for (trace, shown) in parts {
        for (track, shown) in trace.tracks.iter().zip(shown.iter()) {
            let positions: Vec<usize> = match shown {
                Some(shown) => shown.iter().map(|at| *at as usize).collect(),
                None => (0..track.len()).collect(),
            };
            if !positions.is_empty() {
                let (number, series) = series(trace, track, &positions, &mut strings);
                bytes(&mut message, number, &series);
            }
        }
    }
    let mut metadata = Vec::new();
    for (trace, _) in parts {
        for (pid, process) in &trace.processes {
            let mut out = Vec::new();
            bytes(&mut out, 1, process.name.as_bytes());
            int(&mut out, 2, u64::from(*pid));
            present(&mut out, 3, u64::from(*order.get(pid).unwrap_or(pid)));
            for (tid, name) in &process.threads {
                let mut thread = Vec::new();
                bytes(&mut thread, 1, name.as_bytes());
                int(&mut thread, 2, u64::from(*tid));
                present(&mut thread, 3, u64::from(*tid));
                bytes(&mut out, 4, &thread);
            }
            bytes(&mut metadata, 1, &out);
        }
    }
    bytes(&mut message, field::METADATA, &metadata);
    for text in &strings.all {
        bytes(&mut message, field::STRINGS, text.as_bytes());
    }
    for (name, on) in details {
        let mut detail = Vec::new();
        bytes(&mut detail, 1, name.as_bytes());
        int(&mut detail, 2, u64::from(*on));
        bytes(&mut message, field::DETAILS, &detail);
    }
    if let Some((start, end)) = span {
        present(&mut message, field::START, start);
        present(&mut message, field::END, end);
    }
    frame(&message)
}

/// Texts by number, each once.
#[derive(Default)]
struct Strings {
    all: Vec<String>,
    numbers: FxHashMap<String, u32>,
}

impl Strings {
    fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.all.len() as u32;
        self.all.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }
}

/// The events of a row: the field that they stand in, and the message.
fn series(
    trace: &Trace<'_>,
    track: &Track<'_>,
    positions: &[usize],
    strings: &mut Strings,
) -> (u32, Vec<u8>) {
    let mut head = Vec::new();
    int(&mut head, 1, u64::from(track.pid));
    let number = match track.row {
        Row::Thread(tid) => {
            int(&mut head, 2, u64::from(tid));
            field::COMPLETE
        }
        row => {
            let name = strings.number(trace.names.get(track.name(positions[0])));
            int(&mut head, 3, u64::from(name));
            if row == Row::Counter { field::COUNTERS } else { field::ASYNC }
        }
    };
    let mut out = Vec::new();
    bytes(&mut out, 1, &head);
    let mut last = 0;
    let deltas = positions.iter().map(|at| {
        let start = track.start(*at);
        start.wrapping_sub(std::mem::replace(&mut last, start))
    });
    packed(&mut out, 2, deltas);
    if track.row != Row::Counter {
        packed(&mut out, 3, positions.iter().map(|at| track.duration(*at)));
    }
    if number == field::COMPLETE {
        let mut known: FxHashMap<u32, u64> = FxHashMap::default();
        let refs = positions.iter().map(|at| {
            let name = track.name(*at);
            *known.entry(name).or_insert_with(|| u64::from(strings.number(trace.names.get(name))))
        });
        let refs: Vec<u64> = refs.collect();
        packed(&mut out, 4, refs.into_iter());
    }
    let mut facts = Vec::new();
    for at in positions {
        facts.clear();
        if track.row == Row::Counter {
            sample(trace, track, *at, &mut facts);
        } else {
            event(track, *at, strings, &mut facts);
        }
        bytes_always(&mut out, 5, &facts);
    }
    (number, out)
}

fn event(track: &Track<'_>, at: usize, strings: &mut Strings, out: &mut Vec<u8>) {
    if let Some(link) = track.link(at) {
        // The field has 32 bits; the lower ones still tell arrows apart.
        int(out, 1, link.id & u64::from(u32::MAX));
        let category = category_name(link.category);
        if !category.is_empty() {
            int(out, 2, u64::from(strings.number(category)));
        }
    }
    int(out, 3, track.group(at).map_or(0, u64::from));
    int(out, 4, u64::from(track.serial.of(at)));
}

fn sample(trace: &Trace<'_>, track: &Track<'_>, at: usize, out: &mut Vec<u8>) {
    let args = trace.args(track, at);
    let first = args
        .iter()
        .find(|(name, value)| !matches!(&**name, "flow" | "group_id" | "_a") && *value != Value::Opaque);
    match first {
        Some((_, Value::Double(value))) => {
            out.push(5 << 3 | 1);
            out.extend_from_slice(&value.to_le_bytes());
        }
        Some((_, Value::Uint(value))) => present(out, 6, *value),
        _ => {}
    }
}

/// A number, left out where it is 0.
fn int(out: &mut Vec<u8>, number: u32, value: u64) {
    if value != 0 {
        present(out, number, value);
    }
}

/// A number that is written even where it is 0.
fn present(out: &mut Vec<u8>, number: u32, value: u64) {
    varint(out, u64::from(number) << 3);
    varint(out, value);
}

/// A text or a message.
fn bytes(out: &mut Vec<u8>, number: u32, value: &[u8]) {
    if !value.is_empty() || number == field::STRINGS {
        bytes_always(out, number, value);
    }
}

fn bytes_always(out: &mut Vec<u8>, number: u32, value: &[u8]) {
    varint(out, u64::from(number) << 3 | 2);
    varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

/// Numbers one after the other.
fn packed(out: &mut Vec<u8>, number: u32, values: impl Iterator<Item = u64>) {
    let mut column = Vec::new();
    values.for_each(|value| varint(&mut column, value));
    bytes(out, number, &column);
}

/// A Zstandard frame that holds the bytes as they are and says how many they are.
fn frame(content: &[u8]) -> Vec<u8> {
    const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
    /// One segment, and a size of 8 bytes.
    const DESCRIPTOR: u8 = 3 << 6 | 1 << 5;
    const BLOCK: usize = 128 * 1024;
    let mut out = Vec::with_capacity(content.len() + content.len() / BLOCK * 3 + 16);
    out.extend_from_slice(&MAGIC);
    out.push(DESCRIPTOR);
    out.extend_from_slice(&(content.len() as u64).to_le_bytes());
    let mut rest = content;
    loop {
        let (block, behind) = rest.split_at(rest.len().min(BLOCK));
        let header = (block.len() as u32) << 3 | u32::from(behind.is_empty());
        out.extend_from_slice(&header.to_le_bytes()[..3]);
        out.extend_from_slice(block);
        rest = behind;
        if rest.is_empty() {
            return out;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_says_its_size_and_ends_with_a_last_block() {
        assert_eq!(
            frame(b"ab"),
            [0x28, 0xb5, 0x2f, 0xfd, 0xe0, 2, 0, 0, 0, 0, 0, 0, 0, 0x11, 0, 0, b'a', b'b']
        );
        assert_eq!(frame(b"").len(), 16);
        // Two blocks: 128 KiB and one byte.
        let long = frame(&vec![7; 128 * 1024 + 1]);
        assert_eq!(long.len(), 13 + 3 + 128 * 1024 + 3 + 1);
        assert_eq!(long[13..16], [0, 0, 0x10]);
        assert_eq!(long[long.len() - 4..], [9, 0, 0, 7]);
    }
}
