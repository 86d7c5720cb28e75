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
