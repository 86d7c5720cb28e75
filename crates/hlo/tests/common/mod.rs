//! What the tests of this crate share.
#![expect(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    reason = "each test uses a part of it, and it is test code"
)]

use std::{
    io::Read,
    path::{Path, PathBuf},
};

/// A file beside the tests.
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// The unpacked bytes of a gzip file.
pub fn gunzip(path: &Path) -> Vec<u8> {
    let file = std::fs::File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    bytes
}

/// Just enough protobuf to take a profile apart.
pub mod wire {
    /// A field: its number, and its value as a number or as bytes.
    pub struct Field<'a> {
        pub number: u64,
        pub value: u64,
        pub bytes: &'a [u8],
    }

    /// The fields of a message, up to the first that makes no sense.
    pub fn fields(mut rest: &[u8]) -> Vec<Field<'_>> {
        let mut fields = Vec::new();
        while let Some(field) = next(&mut rest) {
            fields.push(field);
        }
        fields
    }

    fn next<'a>(rest: &mut &'a [u8]) -> Option<Field<'a>> {
        let tag = varint(rest)?;
        let (mut value, mut length) = (0, 0);
        match tag & 7 {
            0 => value = varint(rest)?,
            1 => length = 8,
            2 => length = usize::try_from(varint(rest)?).ok()?,
            5 => length = 4,
            _ => return None,
        }
        let bytes = rest.split_off(..length)?;
        Some(Field { number: tag >> 3, value, bytes })
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
}

/// HLO modules of a profile with their names: stats `Hlo Proto` of event metadata.
pub fn modules(profile: &[u8]) -> Vec<(String, Vec<u8>)> {
    use wire::fields;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut modules = Vec::new();
    for plane in fields(profile).iter().filter(|field| field.number == 1) {
        let plane = fields(plane.bytes);
        let of = |number: u64| plane.iter().filter(move |field| field.number == number);
        let value = |entry: &wire::Field<'_>| {
            fields(entry.bytes).into_iter().find(|field| field.number == 2).map(|field| field.bytes.to_vec())
        };
        let is_named = |entry: &wire::Field<'_>| {
            let metadata = value(entry).unwrap_or_default();
            fields(&metadata).iter().any(|f| f.number == 2 && matches!(f.bytes, b"Hlo Proto" | b"HLO Proto"))
        };
        let key = |entry: &wire::Field<'_>| {
            fields(entry.bytes).iter().find(|field| field.number == 1).map_or(0, |field| field.value)
        };
        let Some(id) = of(5).find(|entry| is_named(entry)).map(key) else { continue };
        for entry in of(4) {
            let metadata = value(entry).unwrap_or_default();
            let metadata = fields(&metadata);
            let name =
                metadata.iter().find(|field| field.number == 2).map_or(String::new(), |f| text(f.bytes));
            for stat in metadata.iter().filter(|field| field.number == 5) {
                let stat = fields(stat.bytes);
                if stat.iter().any(|field| field.number == 1 && field.value == id) {
                    let proto = stat.iter().find(|field| field.number == 6);
                    modules.extend(proto.map(|field| (name.clone(), field.bytes.to_vec())));
                }
            }
        }
    }
    modules
}
