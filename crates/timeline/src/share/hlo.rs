//! Names inside serialised HLO: modules, computations, instructions, scopes, sources, buffers. The fields are those of XLA's `hlo.proto`.

use haloscope_xspace::wire::{Fields, Value};
use haloscope_xspace::write::varint;

use super::packing;
use super::texts::Texts;

/// What a length-delimited field holds.
enum Holds {
    Text,
    /// Of a private configuration: text as a rule.
    Configuration,
    Message(&'static [(u32, Holds)]),
    /// Numbers.
    Raw,
}

use Holds::{Configuration, Message, Raw, Text};

const HLO: &[(u32, Holds)] = &[(1, Message(MODULE)), (3, Message(BUFFERS))];
const MODULE: &[(u32, Holds)] = &[
    (1, Text),
    (2, Text),
    (3, Message(COMPUTATION)),
    (4, Message(SIGNATURE)),
    (17, Message(&[(1, Text), (2, Text)])),
    (19, Message(ATTRIBUTES)),
    (22, Configuration),
];
const COMPUTATION: &[(u32, Holds)] =
    &[(1, Text), (2, Message(INSTRUCTION)), (4, Message(SIGNATURE)), (8, Text)];
/// Names of parameters beside their shapes.
const SIGNATURE: &[(u32, Holds)] = &[(3, Text)];
const INSTRUCTION: &[(u32, Holds)] = &[
    (1, Text),
    (7, Message(&[(1, Text), (2, Text), (3, Text), (12, Text), (16, Text)])),
    (8, Raw),
    (28, Text),
    (43, Configuration),
    (68, Message(ATTRIBUTES)),
    (79, Text),
    (99, Message(&[(1, Configuration)])),
];
const ATTRIBUTES: &[(u32, Holds)] = &[(1, Message(&[(1, Text), (2, Configuration)]))];
const BUFFERS: &[(u32, Holds)] =
    &[(1, Message(&[(3, Message(&[(2, Text)]))])), (4, Message(&[(1, Message(&[(3, Text), (4, Text)]))]))];

/// The proto with other names. What is malformed in it is left out, as every reader does.
pub(super) fn redacted(proto: &[u8], texts: &mut Texts) -> Vec<u8> {
    message(proto, HLO, texts)
}

fn message(bytes: &[u8], known: &[(u32, Holds)], texts: &mut Texts) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for field in Fields::new(bytes, 0).filter(|field| field.whole) {
        match field.value {
            Value::Varint(value) => {
                tag(&mut out, field.number, 0);
                varint(&mut out, value);
            }
            Value::Fixed64(value) => {
                tag(&mut out, field.number, 1);
                out.extend(value.to_le_bytes());
            }
            Value::Fixed32(value) => {
                tag(&mut out, field.number, 5);
                out.extend(value.to_le_bytes());
            }
            Value::Bytes(value) => {
                let holds = known.iter().find(|(number, _)| *number == field.number).map(|(_, holds)| holds);
                let new = match (holds, std::str::from_utf8(value)) {
                    (Some(Raw), _) => value.to_vec(),
                    (Some(Message(inner)), _) => message(value, inner, texts),
                    (Some(Text), Ok(text)) => texts.text(text).into_bytes(),
                    (Some(Configuration), Ok(text)) if !text.contains(is_binary) => {
                        texts.text(text).into_bytes()
                    }
                    // Of other messages only the words are known.
                    _ => {
                        let mut value = value.to_vec();
                        packing::overwrite(&mut value, texts.words());
                        value
                    }
                };
                tag(&mut out, field.number, 2);
                varint(&mut out, new.len() as u64);
                out.extend(new);
            }
        }
    }
    out
}

/// Whether texts have no such character.
fn is_binary(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\r' | '\t')
}

fn tag(out: &mut Vec<u8>, number: u32, wire_type: u32) {
    varint(out, u64::from(number << 3 | wire_type));
}
