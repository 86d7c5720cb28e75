//! What a module takes in memory, told from its bytes before anything is made of them.
//!
//! An instruction of two bytes becomes hundreds in memory. So the parts of a message are counted first, each with what it becomes,
//! in a walk that keeps nothing; a module that takes many times its size is refused.
//!
//! How much it may take beside that is a matter of who reads it ([`Room`]): of a file with many modules each has a part.

use std::mem::size_of;

use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

use crate::{
    error::Error,
    instruction::{Attributes, Computation, Instruction, Metadata},
    proto,
    shape::Shape,
};

/// Memory that a module may take for each of its bytes, and beside it: instructions of compilers take a hundred bytes and more as
/// protos, and become one to two thousand.
const FOR_EACH_BYTE: u64 = 24;
/// Few short instructions, with names of a letter, take twice that: so much more is there whatever is beside.
const FEW: u64 = 64 << 10;
/// The same of text, whose instructions may take 40 bytes, and stand in memory as they are read, all at once.
const FOR_EACH_BYTE_OF_TEXT: u64 = 128;
/// The same of the shapes in a text.
const FOR_EACH_BYTE_OF_SHAPES: u64 = 40;
/// What a number, or a short text, takes on the heap.
const HEAP: usize = 32;

/// A message: what it takes in memory, and which of its fields hold messages.
pub(crate) struct Kind {
    takes: usize,
    fields: &'static [(u32, &'static Kind)],
}

const fn leaf(takes: usize) -> Kind {
    Kind { takes, fields: &[] }
}

const TEXT: usize = size_of::<String>() + HEAP;

static TEXTS: Kind = leaf(TEXT);
static NUMBERS: Kind = leaf(2 * (size_of::<Vec<i64>>() + HEAP));
static MAP: Kind = Kind { takes: 0, fields: &[(1, &ENTRY)] };
/// Nodes of the maps are half full at least.
static ENTRY: Kind = leaf(4 * TEXT);
static METADATA: Kind = leaf(size_of::<Metadata>() + HEAP);
static LAYOUT: Kind = Kind { takes: 0, fields: &[(6, &NUMBERS), (17, &NUMBERS)] };
static SHAPE: Kind =
    Kind { takes: size_of::<proto::Shape>() + size_of::<Shape>(), fields: &[(4, &SHAPE), (5, &LAYOUT)] };
static PROGRAM_SHAPE: Kind = Kind { takes: 0, fields: &[(1, &SHAPE), (2, &SHAPE)] };
static LISTS: Kind = Kind { takes: 0, fields: &[(1, &NUMBERS)] };
static STATISTICS: Kind = Kind { takes: 0, fields: &[(2, &TEXTS)] };
static ORIGINALS: Kind = Kind { takes: 0, fields: &[(1, &ORIGINAL)] };
static ORIGINAL: Kind = leaf(4 * TEXT);
static MESH: Kind = Kind { takes: 0, fields: &[(1, &TEXTS)] };
static MESH_GROUPS: Kind = Kind { takes: 0, fields: &[(1, &MESH), (2, &NUMBERS)] };
static SHARDING: Kind =
    Kind { takes: size_of::<proto::OpSharding>(), fields: &[(5, &SHARDING), (7, &METADATA)] };
static INSTRUCTION: Kind = Kind {
    // Beside it stand its name once more, its users, and what it costs.
    takes: size_of::<Instruction>() + 4 * HEAP,
    fields: &[
        (3, &SHAPE),
        (7, &METADATA),
        (15, &LISTS),
        (17, &NUMBERS),
        (21, &LISTS),
        (29, &SHAPE),
        (40, &SHARDING),
        (49, &NUMBERS),
        (52, &NUMBERS),
        (57, &SHAPE),
        (68, &MAP),
        (74, &NUMBERS),
        (82, &STATISTICS),
        (87, &LISTS),
        (88, &ORIGINALS),
        (93, &MESH_GROUPS),
    ],
};
static COMPUTATION: Kind = Kind { takes: size_of::<Computation>() + 4 * HEAP, fields: &[(2, &INSTRUCTION)] };
static SCHEDULE: Kind = Kind { takes: 0, fields: &[(1, &NUMBERS)] };
static ENTRIES: Kind = Kind { takes: 0, fields: &[(1, &ALIAS)] };
static ALIAS: Kind = leaf(2 * size_of::<proto::AliasEntry>() + 2 * HEAP);
static DEVICES: Kind = Kind { takes: 0, fields: &[(3, &NUMBERS)] };
static FRAMES: Kind = Kind { takes: 0, fields: &[(1, &TEXTS), (2, &TEXTS), (3, &LOCATION), (4, &LOCATION)] };
static LOCATION: Kind = leaf(2 * size_of::<proto::FileLocation>());
static LOGICAL_BUFFER: Kind = leaf(2 * size_of::<proto::LogicalBuffer>() + 2 * HEAP);
static ASSIGNED: Kind = leaf(2 * size_of::<proto::Assigned>());
static ALLOCATION: Kind = Kind { takes: 2 * size_of::<proto::BufferAllocation>(), fields: &[(9, &ASSIGNED)] };
static EVENT: Kind = leaf(2 * size_of::<proto::HeapEvent>());
static TRACE: Kind = Kind { takes: 2 * size_of::<proto::HeapSimulatorTrace>(), fields: &[(1, &EVENT)] };
static BUFFERS: Kind = Kind { takes: 0, fields: &[(1, &LOGICAL_BUFFER), (3, &ALLOCATION), (4, &TRACE)] };

/// An `HloModuleProto`.
pub(crate) static MODULE: Kind = Kind {
    takes: 0,
    fields: &[
        (3, &COMPUTATION),
        (4, &PROGRAM_SHAPE),
        (7, &SCHEDULE),
        (8, &ENTRIES),
        (13, &TEXTS),
        (15, &DEVICES),
        (17, &FRAMES),
        (18, &ENTRIES),
        (19, &MAP),
        (22, &TEXTS),
    ],
};
/// An `HloProto`.
pub(crate) static HLO: Kind = Kind { takes: 0, fields: &[(1, &MODULE), (3, &BUFFERS)] };

/// The memory in which a module may be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Bytes of the module that count: all, unless it was unpacked from few.
    pub counted: u64,
    /// Bytes of memory beside what those may take: some times as many.
    pub beside: u64,
    /// And no more bytes of memory than this: what the system gives the process.
    pub most: u64,
}

impl Room {
    /// Bytes of memory beside for one module alone.
    pub const BESIDE: u64 = 24 << 20;

    /// The room for a module of so many bytes that is alone.
    #[must_use]
    pub fn of(bytes: usize) -> Self {
        Self { counted: bytes as u64, beside: Self::BESIDE, most: u64::MAX }
    }

    /// Bytes of memory, where each byte that counts may take so many.
    fn allowed(self, each: u64) -> u64 {
        let few = self.counted.saturating_mul(FOR_EACH_BYTE).min(FEW);
        self.counted.saturating_mul(each).saturating_add(self.beside.max(few)).min(self.most)
    }
}

/// Refuses a message that takes many times its size.
///
/// # Errors
/// [`Error::TooLarge`].
pub(crate) fn check(bytes: &[u8], kind: &'static Kind, room: Room) -> Result<(), Error> {
    let allowed = room.allowed(FOR_EACH_BYTE);
    let mut takes = 0;
    weigh(bytes, kind, allowed, &mut takes);
    if takes > allowed {
        return Err(Error::TooLarge { bytes: bytes.len(), allowed });
    }
    Ok(())
}

/// As [`check`], of text: an instruction has an `=`, and a shape one of these signs.
///
/// # Errors
/// [`Error::TooLarge`].
pub(crate) fn check_text(text: &str, room: Room) -> Result<(), Error> {
    const INSTRUCTION_TAKES: usize = size_of::<Instruction>() + size_of::<proto::HloInstruction>() + 8 * HEAP;
    const SHAPE_TAKES: usize = 2 * size_of::<proto::Shape>() + size_of::<Shape>();
    // Within attributes `=` stands without spaces.
    let instructions = text.matches(" = ").count() as u64;
    let shapes = text.bytes().filter(|byte| *byte == b'[').count() as u64;
    let parts = [
        (instructions.saturating_mul(INSTRUCTION_TAKES as u64), FOR_EACH_BYTE_OF_TEXT),
        (shapes.saturating_mul(SHAPE_TAKES as u64), FOR_EACH_BYTE_OF_SHAPES),
    ];
    for (takes, each) in parts {
        let allowed = room.allowed(each);
        if takes > allowed {
            return Err(Error::TooLarge { bytes: text.len(), allowed });
        }
    }
    Ok(())
}

/// How many instructions a computation has.
pub(crate) fn instructions(computation: &[u8]) -> usize {
    let mut count = 0;
    fields(computation, |number, part| count += usize::from(number == 2 && part.is_some()));
    count
}

/// Adds what the parts of a message take, until it is more than `most`.
fn weigh(bytes: &[u8], kind: &'static Kind, most: u64, takes: &mut u64) {
    /// What is put aside takes memory too.
    const ASIDE: usize = 2 * size_of::<(&[u8], &Kind)>();
    /// Opcodes whose attributes are there although the message says none: of the first parameter, of an element.
    const WITH_ATTRIBUTES: [&[u8]; 4] =
        [b"parameter", b"get-tuple-element", b"convolution", b"reduce-precision"];
    /// Messages that XLA writes with every instruction, also where there is nothing in them.
    const ALWAYS: [u32; 2] = [68, 82];
    // Messages within messages are put aside, and not gone down into: they may be as deep as they like.
    let mut open = vec![(bytes, kind)];
    while let Some((bytes, kind)) = open.pop() {
        let mut has_attributes = false;
        fields(bytes, |number, part| {
            has_attributes |= match part {
                Some(opcode) if number == 2 => WITH_ATTRIBUTES.contains(&opcode),
                Some([]) if ALWAYS.contains(&number) => false,
                _ => !matches!(number, 1..=3 | 7 | 35..=38),
            };
            let inner = kind.fields.iter().find(|(own, _)| *own == number);
            if let (Some((_, inner)), Some(part)) = (inner, part)
                && *takes <= most
            {
                *takes = takes.saturating_add(inner.takes as u64);
                if !inner.fields.is_empty() && !part.is_empty() {
                    *takes = takes.saturating_add(ASIDE as u64);
                    open.push((part, inner));
                }
            }
        });
        if has_attributes && std::ptr::eq(kind, &raw const INSTRUCTION) {
            *takes = takes.saturating_add(size_of::<Attributes>() as u64);
        }
        if *takes > most {
            return;
        }
    }
}

/// The fields of a message up to the first that is malformed: numbers, and the content of those that have a length.
fn fields<'a>(mut bytes: &'a [u8], mut each: impl FnMut(u32, Option<&'a [u8]>)) {
    while !bytes.is_empty() {
        let Ok((number, wire_type)) = decode_key(&mut bytes) else { return };
        if wire_type != WireType::LengthDelimited {
            if skip_field(wire_type, number, &mut bytes, DecodeContext::default()).is_err() {
                return;
            }
            each(number, None);
            continue;
        }
        let Ok(length) = decode_varint(&mut bytes) else { return };
        let Some((part, rest)) =
            usize::try_from(length).ok().and_then(|length| bytes.split_at_checked(length))
        else {
            return;
        };
        bytes = rest;
        each(number, Some(part));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Module;

    fn field(number: u32, body: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        prost::encoding::encode_key(number, WireType::LengthDelimited, &mut out);
        prost::encoding::encode_varint(body.len() as u64, &mut out);
        out.extend_from_slice(body);
        out
    }

    fn module(computation: &[u8]) -> Vec<u8> {
        field(1, &[field(1, b"m"), field(3, computation)].concat())
    }

    #[test]
    fn instructions_of_two_bytes_are_refused_before_they_are_decoded() {
        let bomb = module(&field(2, b"").repeat(1_000_000));
        let error = Module::from_hlo_proto(&bomb).unwrap_err();
        assert!(matches!(error, Error::TooLarge { .. }), "{error}");
        assert!(error.to_string().contains("memory"), "{error}");
        // Shapes within shapes, and texts.
        let shapes = field(2, &field(3, &field(4, b"").repeat(500_000)));
        assert!(matches!(Module::from_hlo_proto(&module(&shapes)), Err(Error::TooLarge { .. })));
        let texts = field(1, &field(17, &field(1, b"").repeat(5_000_000)));
        assert!(matches!(Module::from_hlo_proto(&texts), Err(Error::TooLarge { .. })));
        let buffers = field(3, &field(1, b"").repeat(1_000_000));
        assert!(matches!(Module::from_hlo_proto(&buffers), Err(Error::TooLarge { .. })));
    }

    #[test]
    fn few_are_decoded_however_short() {
        let few = module(&field(2, b"").repeat(1000));
        assert_eq!(instructions(&field(2, b"").repeat(1000)), 1000);
        assert!(!matches!(Module::from_hlo_proto(&few), Err(Error::TooLarge { .. })));
    }

    #[test]
    fn text_is_weighed_by_its_instructions() {
        let bomb = format!("HloModule m\n\nENTRY e {{\n{}}}\n", "a = f32[] b()\n".repeat(200_000));
        assert!(matches!(Module::parse(&bomb), Err(Error::TooLarge { .. })));
        let small = "HloModule m\n\nENTRY e {\n  ROOT a = f32[] parameter(0)\n}\n";
        assert!(check_text(small, Room { counted: small.len() as u64, beside: 0, most: u64::MAX }).is_ok());
    }

    #[test]
    fn depth_is_no_harm() {
        let mut shape = Vec::new();
        for _ in 0..20_000 {
            shape = field(4, &shape);
            if shape.len() > 4 << 20 {
                break;
            }
        }
        let deep = module(&field(2, &field(3, &shape)));
        assert!(Module::from_hlo_proto(&deep).is_err());
    }

    /// The bytes of a message without some of its fields, below those that a path leads through.
    fn without(bytes: &[u8], path: &[u32], left_out: &[u32]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let begin = rest;
            let (number, wire_type) = decode_key(&mut rest).unwrap();
            if wire_type != WireType::LengthDelimited {
                skip_field(wire_type, number, &mut rest, DecodeContext::default()).unwrap();
                out.extend_from_slice(&begin[..begin.len() - rest.len()]);
                continue;
            }
            let length = decode_varint(&mut rest).unwrap() as usize;
            let (part, behind) = rest.split_at(length);
            rest = behind;
            match path {
                [] if left_out.contains(&number) => {}
                [own, below @ ..] if *own == number => {
                    out.extend(field(number, &without(part, below, left_out)));
                }
                _ => out.extend(field(number, part)),
            }
        }
        out
    }

    #[test]
    fn what_compilers_write_is_far_below_also_without_metadata_and_with_nothing_beside() {
        use std::io::Read;
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");
        let (mut seen, mut most, mut most_of_text) = (0, 0.0_f64, 0.0_f64);
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|ending| ending != "gz") {
                continue;
            }
            let mut whole = Vec::new();
            let packed = std::fs::File::open(&path).unwrap();
            flate2::read::GzDecoder::new(packed).read_to_end(&mut whole).unwrap();
            // Neither metadata nor a backend's configuration, no table of stack frames, no buffer assignment.
            let bare = without(&without(&whole, &[1, 3, 2], &[7, 43]), &[1], &[17]);
            let bare = without(&bare, &[], &[3]);
            let module =
                Module::decode_within(&bare, Room { counted: bare.len() as u64, beside: 0, most: u64::MAX });
            let module = module.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let mut takes = 0;
            weigh(&bare, &HLO, u64::MAX, &mut takes);
            // As a part of something large: nothing is spared for its few instructions.
            most = most.max(takes as f64 / bare.len() as f64);
            let text = module.text(&crate::TextOptions::SHORT);
            let room = Room { counted: text.len() as u64, beside: 0, most: u64::MAX };
            assert!(check_text(&text, room).is_ok(), "{}", path.display());
            let instructions =
                text.matches(" = ").count() * (size_of::<Instruction>() + size_of::<proto::HloInstruction>());
            most_of_text = most_of_text.max(instructions as f64 / text.len() as f64);
            seen += 1;
        }
        assert!(seen > 40 && most > 10.0, "{seen} {most}");
        assert!(most < 0.95 * FOR_EACH_BYTE as f64, "{most}");
        assert!(most_of_text < 0.5 * FOR_EACH_BYTE_OF_TEXT as f64, "{most_of_text}");
    }

    #[test]
    fn a_module_of_many_takes_no_more_than_its_part() {
        // 79,000 empty instructions are just below what one module alone may take.
        let bomb = module(&field(2, b"").repeat(79_000));
        let room = |beside| Room { counted: bomb.len() as u64, beside, most: u64::MAX };
        assert!(!matches!(Module::decode_within(&bomb, room(48 << 20)), Err(Error::TooLarge { .. })));
        let refused = Module::decode_within(&bomb, room(Room::BESIDE / 100)).unwrap_err();
        assert!(refused.to_string().contains("--memory-limit"), "{refused}");
        // What was unpacked from few bytes counts as few.
        let packed = Room { counted: 1000, beside: Room::BESIDE, most: u64::MAX };
        assert!(matches!(Module::decode_within(&bomb, packed), Err(Error::TooLarge { .. })));
        // A small one is read however many there are, in each form.
        let small = module(&[field(2, &[field(1, b"a"), field(2, b"add")].concat())].concat());
        let none = Room { counted: small.len() as u64, beside: 0, most: u64::MAX };
        assert!(!matches!(Module::decode_within(&small, none), Err(Error::TooLarge { .. })));
    }

    #[test]
    fn parameters_have_attributes_that_no_field_says() {
        let weight = |body: &[u8]| {
            let mut takes = 0;
            weigh(body, &INSTRUCTION, u64::MAX, &mut takes);
            takes
        };
        assert!(weight(&field(2, b"parameter")) >= size_of::<Attributes>() as u64);
        assert_eq!(weight(&[field(2, b"add"), field(68, b""), field(82, b"")].concat()), weight(b""));
        assert!(weight(&field(68, &field(1, &field(1, b"k")))) > size_of::<Attributes>() as u64);
    }
}
