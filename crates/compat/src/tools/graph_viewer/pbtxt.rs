//! An `HloProto` in protobuf's text format. Fields that the table of messages does not know are left out.

use std::collections::BTreeMap;
use std::fmt::Write;

use haloscope_hlo::text::c_escape;

const SCHEMA: &str = include_str!("hlo.schema");

/// Messages nested deeper than this are not written; protobuf's own readers stop there too.
const NESTING_LIMIT: usize = 100;

struct Field<'s> {
    name: &'s str,
    /// `repeated`, `optional`, or nothing.
    label: &'s str,
    kind: &'s str,
}

struct Schema<'s> {
    messages: BTreeMap<&'s str, BTreeMap<u64, Field<'s>>>,
    enums: BTreeMap<&'s str, BTreeMap<i64, &'s str>>,
}

impl<'s> Schema<'s> {
    fn read(text: &'s str) -> Self {
        let mut schema = Self { messages: BTreeMap::new(), enums: BTreeMap::new() };
        let (messages, enums) = text.split_once("# enumerations").unwrap_or((text, ""));
        for (name, items) in messages.lines().filter_map(|line| line.split_once(": ")) {
            let field = |item: &'s str| {
                let (number, rest) = item.trim().split_once(' ')?;
                let (name, rest) = rest.split_once(' ')?;
                let (label, kind) = match rest.split_once(' ') {
                    Some((label @ ("repeated" | "optional"), kind)) => (label, kind),
                    _ => ("", rest),
                };
                Some((number.parse().ok()?, Field { name, label, kind }))
            };
            schema.messages.insert(name, items.split(';').filter_map(field).collect());
        }
        for (name, items) in enums.lines().filter_map(|line| line.split_once(": ")) {
            let value = |item: &'s str| {
                let (number, word) = item.trim().split_once(' ')?;
                Some((number.parse().ok()?, word))
            };
            schema.enums.insert(name, items.split(';').filter_map(value).collect());
        }
        schema
    }
}

/// A value on the wire.
#[derive(Clone, Copy)]
enum Wire<'a> {
    Number(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Fixed32(u32),
}

/// The fields of a message, up to the first that makes no sense.
fn fields(mut rest: &[u8]) -> Vec<(u64, Wire<'_>)> {
    let mut fields = Vec::new();
    while let Some(field) = next(&mut rest) {
        fields.push(field);
    }
    fields
}

fn next<'a>(rest: &mut &'a [u8]) -> Option<(u64, Wire<'a>)> {
    let tag = varint(rest)?;
    let value = match tag & 7 {
        0 => Wire::Number(varint(rest)?),
        1 => Wire::Fixed64(u64::from_le_bytes(rest.split_off(..8)?.try_into().ok()?)),
        2 => {
            let length = usize::try_from(varint(rest)?).ok()?;
            Wire::Bytes(rest.split_off(..length)?)
        }
        5 => Wire::Fixed32(u32::from_le_bytes(rest.split_off(..4)?.try_into().ok()?)),
        _ => return None,
    };
    Some((tag >> 3, value))
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = *rest.split_off_first()?;
        value |= u64::from(byte & 127) << shift;
        if byte < 128 {
            return Some(value);
        }
    }
    None
}

/// The text of an encoded `HloProto`.
pub(super) fn text(proto: &[u8]) -> String {
    let schema = Schema::read(SCHEMA);
    let mut text = String::new();
    Printer { schema: &schema, text: &mut text }.message("HloProto", proto, 0);
    text
}

struct Printer<'a> {
    schema: &'a Schema<'a>,
    text: &'a mut String,
}

impl Printer<'_> {
    fn message(&mut self, name: &str, bytes: &[u8], depth: usize) {
        let Some(known) = self.schema.messages.get(name) else { return };
        let mut by_number: BTreeMap<u64, Vec<Wire<'_>>> = BTreeMap::new();
        for (number, value) in fields(bytes) {
            by_number.entry(number).or_default().push(value);
        }
        for (number, values) in by_number {
            let Some(field) = known.get(&number) else { continue };
            if let Some(entry) = field.kind.strip_prefix("map ") {
                self.map(field.name, entry, &values, depth);
            } else if field.label == "repeated" {
                values.into_iter().for_each(|value| self.repeated(field, value, depth));
            } else if let Some(last) = values.last() {
                self.single(field, *last, field.label == "optional", depth);
            }
        }
    }

    /// Entries by key.
    fn map(&mut self, name: &str, entry: &str, values: &[Wire<'_>], depth: usize) {
        let is_number = self
            .schema
            .messages
            .get(entry)
            .and_then(|entry| entry.get(&1))
            .is_some_and(|key| key.kind == "i" || key.kind == "u");
        let mut entries: Vec<(u64, &[u8], &[u8])> = Vec::new();
        for value in values {
            let Wire::Bytes(body) = value else { continue };
            let mut key = (0, &[][..]);
            for (number, value) in fields(body) {
                match (number, value) {
                    (1, Wire::Number(value)) => key.0 = value,
                    (1, Wire::Bytes(value)) => key.1 = value,
                    _ => {}
                }
            }
            entries.push((key.0, key.1, body));
        }
        entries.sort_by_key(|entry| (entry.0, entry.1));
        for (number, word, body) in entries {
            self.open(name, depth);
            let key = if is_number { number.to_string() } else { format!("\"{}\"", c_escape(word)) };
            self.line("key", &key, depth + 1);
            let inner = fields(body).into_iter().rfind(|field| field.0 == 2);
            if let (Some(value), Some(field)) =
                (inner, self.schema.messages.get(entry).and_then(|entry| entry.get(&2)))
            {
                self.single(field, value.1, true, depth + 1);
            }
            self.close(depth);
        }
    }

    fn repeated(&mut self, field: &Field<'_>, value: Wire<'_>, depth: usize) {
        let is_packed = match field.kind {
            "s" | "b" => false,
            "i" | "u" | "t" | "f" | "d" => true,
            kind => kind.starts_with("enum "),
        };
        let Wire::Bytes(mut rest) = value else { return self.single(field, value, true, depth) };
        if !is_packed {
            return self.single(field, value, true, depth);
        }
        while !rest.is_empty() {
            let each = match field.kind {
                "f" => rest
                    .split_off(..4)
                    .and_then(|b| b.try_into().ok())
                    .map(|b| Wire::Fixed32(u32::from_le_bytes(b))),
                "d" => rest
                    .split_off(..8)
                    .and_then(|b| b.try_into().ok())
                    .map(|b| Wire::Fixed64(u64::from_le_bytes(b))),
                _ => varint(&mut rest).map(Wire::Number),
            };
            let Some(each) = each else { return };
            self.single(field, each, true, depth);
        }
    }

    fn single(&mut self, field: &Field<'_>, value: Wire<'_>, even_if_zero: bool, depth: usize) {
        let written = match (field.kind, value) {
            ("s" | "b", Wire::Bytes(bytes)) if even_if_zero || !bytes.is_empty() => {
                format!("\"{}\"", c_escape(bytes))
            }
            ("i", Wire::Number(n)) if even_if_zero || n != 0 => (n as i64).to_string(),
            ("u", Wire::Number(n)) if even_if_zero || n != 0 => n.to_string(),
            ("t", Wire::Number(n)) if even_if_zero || n != 0 => (n != 0).to_string(),
            ("f", Wire::Fixed32(bits)) if even_if_zero || bits != 0 => float(f32::from_bits(bits)),
            ("d", Wire::Fixed64(bits)) if even_if_zero || bits != 0 => double(f64::from_bits(bits)),
            (kind, Wire::Number(n)) if even_if_zero || n != 0 => {
                let Some(name) = kind.strip_prefix("enum ") else { return };
                let words = self.schema.enums.get(name);
                let word = words.and_then(|words| words.get(&i64::from(n as i32)));
                word.map_or_else(|| (n as i32).to_string(), |word| (*word).to_owned())
            }
            ("s" | "b" | "i" | "u" | "t" | "f" | "d", _) => return,
            (message, Wire::Bytes(bytes)) if depth < NESTING_LIMIT => {
                self.open(field.name, depth);
                self.message(message, bytes, depth + 1);
                self.close(depth);
                return;
            }
            _ => return,
        };
        self.line(field.name, &written, depth);
    }

    fn line(&mut self, name: &str, value: &str, depth: usize) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{:1$}{name}: {value}", "", 2 * depth);
    }

    fn open(&mut self, name: &str, depth: usize) {
        let _ = writeln!(self.text, "{:1$}{name} {{", "", 2 * depth);
    }

    fn close(&mut self, depth: usize) {
        let _ = writeln!(self.text, "{:1$}}}", "", 2 * depth);
    }
}

/// The fewest digits that bring a number back.
fn float(value: f32) -> String {
    if value.is_finite() { haloscope_hlo::text::float(value) } else { double(f64::from(value)) }
}

fn double(value: f64) -> String {
    if value.is_nan() { "nan".to_owned() } else { haloscope_hlo::text::double(value) }
}
