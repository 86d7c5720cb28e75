//! Kernels out of stored programs.

use std::io::Read;
use std::path::{Path, PathBuf};

/// The folder `../shared` beside the checkout; `None`, and a word on why, where it is not there.
pub(crate) fn shared(below: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(below);
    if !path.is_dir() {
        println!("skipped: no {}", path.display());
        return None;
    }
    Some(path)
}

/// A file, unpacked where it is packed.
pub(crate) fn read(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return bytes;
    }
    let mut out = Vec::new();
    flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut out).expect("a gzip file");
    out
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let (mut value, mut shift) = (0, 0);
    loop {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 127) << shift;
        shift += 7;
        if *byte < 128 {
            return Some(value);
        }
        if shift > 63 {
            return None;
        }
    }
}

/// Fields of a message that are bytes.
fn fields(mut bytes: &[u8]) -> Vec<(u64, &[u8])> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let Some(tag) = varint(&mut bytes) else { break };
        let length = match tag & 7 {
            0 if varint(&mut bytes).is_some() => continue,
            1 => 8,
            5 => 4,
            2 => match varint(&mut bytes) {
                Some(length) => length as usize,
                None => break,
            },
            _ => break,
        };
        let Some((field, rest)) = bytes.split_at_checked(length) else { break };
        if tag & 7 == 2 {
            all.push((tag >> 3, field));
        }
        bytes = rest;
    }
    all
}

/// Name and bytecode of each kernel of an `HloProto`.
pub(crate) fn kernels_of_hlo(proto: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let module = fields(proto).into_iter().find(|(number, _)| *number == 1).map_or(&[][..], |(_, m)| m);
    for (_, computation) in fields(module).into_iter().filter(|(number, _)| *number == 3) {
        for (_, instruction) in fields(computation).into_iter().filter(|(number, _)| *number == 2) {
            let parts = fields(instruction);
            let part = |wanted: u64| parts.iter().find(|(n, _)| *n == wanted).map_or(&[][..], |(_, b)| b);
            if part(28) == b"tpu_custom_call"
                && let Some(body) = haloscope_mosaic::body(part(43)).expect("base64")
            {
                all.push((String::from_utf8_lossy(part(1)).into_owned(), body));
            }
        }
    }
    all
}

/// Name and bytecode of each kernel of an XSpace.
pub(crate) fn kernels_of_profile(space: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for (_, plane) in fields(space).into_iter().filter(|(number, _)| *number == 1) {
        for (_, entry) in fields(plane).into_iter().filter(|(number, _)| *number == 4) {
            for (_, metadata) in fields(entry).into_iter().filter(|(number, _)| *number == 2) {
                for (_, stat) in fields(metadata).into_iter().filter(|(number, _)| *number == 5) {
                    let values = fields(stat).into_iter().filter(|(n, b)| *n == 6 && b.len() > 100);
                    all.extend(values.flat_map(|(_, bytes)| kernels_of_hlo(bytes)));
                }
            }
        }
    }
    all
}
