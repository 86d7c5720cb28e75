//! Messages and texts that are packed inside of others.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::{GzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};

use super::blob;
use super::words::Words;

/// Unpacked bytes that are looked at; more are left out.
const LONGEST: u64 = 256 << 20;
/// Zstandard's magic number. What is packed with it is left out: nothing here packs it again.
const ZSTANDARD: &[u8] = b"\x28\xb5\x2f\xfd";

/// How bytes are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    /// RFC 1952.
    Gzip,
    /// RFC 1950, with the header of a window of 32 KiB.
    Zlib,
}

impl Packing {
    /// How these bytes are packed; `None` where they are not, or in a way that is not known.
    fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..] => Some(Self::Zlib),
            _ => None,
        }
    }

    /// The bytes as they were before; `None` where they are not packed this way.
    pub(super) fn unpacked(self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut inner = Vec::new();
        match self {
            Self::Gzip => GzDecoder::new(bytes).take(LONGEST).read_to_end(&mut inner).ok()?,
            Self::Zlib => ZlibDecoder::new(bytes).take(LONGEST).read_to_end(&mut inner).ok()?,
        };
        Some(inner)
    }

    /// Packed bytes.
    pub(super) fn packed(self, bytes: &[u8]) -> Vec<u8> {
        let packed = || -> io::Result<Vec<u8>> {
            match self {
                Self::Gzip => {
                    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
                    encoder.write_all(bytes)?;
                    encoder.finish()
                }
                Self::Zlib => {
                    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
                    encoder.write_all(bytes)?;
                    encoder.finish()
                }
            }
        };
        packed().unwrap_or_default()
    }
}

/// [`blob::overwrite`], also of what is packed inside of the bytes. What begins as Zstandard or gzip and cannot be looked into is left
/// out; the two bytes of zlib's header may be other numbers too, so there only what unpacks is packed.
pub(super) fn overwrite(bytes: &mut Vec<u8>, words: &mut Words) {
    match Packing::of(bytes).map(|packing| (packing, packing.unpacked(bytes))) {
        _ if bytes.starts_with(ZSTANDARD) => bytes.clear(),
        Some((packing, Some(mut inner))) => {
            blob::overwrite(&mut inner, words);
            *bytes = packing.packed(&inner);
        }
        Some((Packing::Gzip, None)) => bytes.clear(),
        Some((Packing::Zlib, None)) | None => blob::overwrite(bytes, words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_in_packed_messages_too() {
        let mut words = Words::default();
        words.of("zebrafish_kernel");
        words.is_whole = true;
        for packing in [Packing::Gzip, Packing::Zlib] {
            let mut bytes = packing.packed(b"\x01zebrafish_kernel\x02");
            overwrite(&mut bytes, &mut words);
            let after = packing.unpacked(&bytes).unwrap();
            assert_eq!(after.len(), 18);
            assert!(!String::from_utf8_lossy(&after).contains("zebrafish"));
        }
        let whole = Packing::Gzip.packed(b"\x01zebrafish_kernel\x02");
        for unreadable in [[ZSTANDARD, b"zebrafish"].concat(), whole[..whole.len() - 9].to_vec()] {
            let mut bytes = unreadable;
            overwrite(&mut bytes, &mut words);
            assert!(bytes.is_empty());
        }
    }
}
