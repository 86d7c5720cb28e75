//! Parts of chunks that are packed, and a cursor over bytes.

use std::io::Read;

use haloscope_xspace::wire;

use super::Why;

/// How parts of a chunk are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Brotli,
    Zstd,
    Snappy,
}

impl Compression {
    pub(crate) fn from_byte(byte: u8) -> Result<Self, Why> {
        match byte {
            0 => Ok(Self::None),
            b'b' => Ok(Self::Brotli),
            b'z' => Ok(Self::Zstd),
            b's' => Ok(Self::Snappy),
            other => Err(format!("a chunk packed in the unknown way {other:#04x}").into()),
        }
    }

    /// Unpacks bytes that may not be more than that.
    pub(crate) fn unpack(self, packed: &[u8], most: Most) -> Result<Vec<u8>, Why> {
        if self == Self::None {
            most.check(packed.len() as u64)?;
            return Ok(packed.to_vec());
        }
        let mut bytes = Cursor::new(packed);
        let length = bytes.number()?;
        most.check(length)?;
        let packed = bytes.rest();
        let mut out = Vec::new();
        // One byte more than was said shows that there are more.
        match self {
            Self::None => {}
            Self::Brotli => {
                brotli_decompressor::Decompressor::new(packed, 64 << 10)
                    .take(length + 1)
                    .read_to_end(&mut out)
                    .map_err(|error| format!("brotli: {error}"))?;
            }
            Self::Zstd => {
                ruzstd::decoding::StreamingDecoder::new(packed)
                    .map_err(|error| format!("zstd: {error}"))?
                    .take(length + 1)
                    .read_to_end(&mut out)
                    .map_err(|error| format!("zstd: {error}"))?;
            }
            Self::Snappy => {
                let said = snap::raw::decompress_len(packed).map_err(|error| format!("snappy: {error}"))?;
                // A byte of snappy stands for 32 at most.
                if said as u64 != length || length > (packed.len() as u64).saturating_mul(32) {
                    return Err("snappy: another length than was said".into());
                }
                out = snap::raw::Decoder::new()
                    .decompress_vec(packed)
                    .map_err(|error| format!("snappy: {error}"))?;
            }
        }
        if out.len() as u64 != length {
            return Err(format!("unpacked to another length than the {length} bytes that were said").into());
        }
        Ok(out)
    }
}

/// Bytes that a part may unpack to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Most {
    pub(crate) bytes: u64,
    /// Whether that is what is left of the file's bound, and less than such a part may have.
    is_bound: bool,
}

impl Most {
    /// As many as such a part has; more would be damage.
    pub(crate) fn of(bytes: u64) -> Self {
        Self { bytes, is_bound: false }
    }

    /// The same, of which no more than this is left.
    pub(crate) fn within(self, left: u64) -> Self {
        if self.bytes <= left { self } else { Self { bytes: left, is_bound: true } }
    }

    fn check(self, length: u64) -> Result<(), Why> {
        match self {
            Self { bytes, .. } if length <= bytes => Ok(()),
            Self { is_bound: true, .. } => Err(Why::TooMuch(length)),
            Self { bytes, .. } => Err(format!("a part that unpacks to more than {bytes} bytes").into()),
        }
    }
}

/// A cursor over bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a> {
    data: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(data: &'a [u8]) -> Self {
        Self { data, at: 0 }
    }

    pub(crate) fn left(&self) -> usize {
        self.data.len() - self.at
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.data.get(self.at..).unwrap_or_default()
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        let byte = *self.data.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    pub(crate) fn number(&mut self) -> Result<u64, Why> {
        let (value, next) = wire::varint(self.data, self.at).map_err(|_| "a number is cut".to_owned())?;
        self.at = next;
        Ok(value)
    }

    /// A number that fits into 32 bits.
    pub(crate) fn small(&mut self) -> Result<u32, Why> {
        let value = self.number()?;
        u32::try_from(value).map_err(|_| format!("a number of 32 bits is {value}").into())
    }

    pub(crate) fn take(&mut self, length: u64) -> Result<&'a [u8], Why> {
        let end = usize::try_from(length).ok().and_then(|length| self.at.checked_add(length));
        let part = end.and_then(|end| self.data.get(self.at..end));
        let part = part.ok_or_else(|| format!("{length} bytes expected, {} found", self.left()))?;
        self.at += part.len();
        Ok(part)
    }
}
