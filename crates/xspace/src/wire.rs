//! Protobuf wire primitives: varints, tags and a cursor over the fields of one message.

use crate::{Fault, FaultKind};

/// The largest field number that protobuf allows.
const LARGEST_FIELD: u64 = (1 << 29) - 1;

/// The value of a field, still undecoded where it is length-delimited.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// Wire type 0.
    Varint(u64),
    /// Wire type 1.
    Fixed64(u64),
    /// Wire type 2. Where the length reached past the end, what there was; [`Fields::fault`] then says so.
    Bytes(&'a [u8]),
    /// Wire type 5.
    Fixed32(u32),
}

impl Value<'_> {
    fn wire_type(&self) -> u8 {
        match self {
            Self::Varint(_) => 0,
            Self::Fixed64(_) => 1,
            Self::Bytes(_) => 2,
            Self::Fixed32(_) => 5,
        }
    }
}

/// One field of a message.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Field<'a> {
    /// Field number, 1 to 2^29 - 1.
    pub number: u32,
    /// Its value.
    pub value: Value<'a>,
    /// Offset in the file of the field's tag.
    pub offset: u64,
    /// Offset in the file of the value (of the content, where length-delimited).
    pub content: u64,
    /// False where the value is length-delimited and was cut short by the end of the data.
    pub whole: bool,
}

/// Reads a varint at `pos`, and the position behind it.
///
/// # Errors
/// [`FaultKind::CutNumber`] at the end of the data, [`FaultKind::LongVarint`] after ten bytes.
#[inline]
pub fn varint(data: &[u8], pos: usize) -> Result<(u64, usize), FaultKind> {
    match data.get(pos) {
        Some(&byte) if byte < 0x80 => Ok((u64::from(byte), pos + 1)),
        Some(_) => long_varint(data, pos),
        None => Err(FaultKind::CutNumber),
    }
}

/// The high bit of each of eight bytes: set in every byte of a varint but its last.
const CONTINUES: u64 = 0x8080_8080_8080_8080;

#[inline]
fn long_varint(data: &[u8], pos: usize) -> Result<(u64, usize), FaultKind> {
    // Offsets and durations take six bytes or so: eight at a time, without a branch a byte.
    if let Some(bytes) = fixed::<8>(data, pos)
        && let Some((value, length)) = from_word(u64::from_le_bytes(bytes))
    {
        return Ok((value, pos + length));
    }
    varint_by_byte(data, pos)
}

/// The varint that a word of eight bytes begins with, and its length; `None` for one of more than eight bytes. Less than 2^56.
#[inline(always)]
pub(crate) fn from_word(word: u64) -> Option<(u64, usize)> {
    let last = !word & CONTINUES;
    if last == 0 {
        return None;
    }
    // What stands below the first high bit that is not set.
    let below = (last & last.wrapping_neg()) - 1;
    Some((joined(word & below), last.trailing_zeros() as usize / 8 + 1))
}

/// A tag of one byte at `pos` and the varint behind it, which ends at `end` at the latest, and the position behind that.
#[inline(always)]
pub(crate) fn tag_and_varint(data: &[u8], pos: usize, end: usize) -> Option<(u8, u64, usize)> {
    // One look at the bounds for both, as long as the data go on for so many bytes.
    if let Some([tag, word @ ..]) = data.get(pos..).and_then(<[u8]>::first_chunk::<9>)
        && let Some((value, length)) = from_word(u64::from_le_bytes(*word))
    {
        let next = pos + 1 + length;
        return (next <= end).then_some((*tag, value, next));
    }
    let (value, next) = varint_before(data, pos + 1, end)?;
    Some((*data.get(pos)?, value, next))
}

/// A varint that ends at `end` at the latest, in data that go on behind it as a rule: what follows is no part of it, but lets
/// eight bytes be read at a time.
#[inline]
pub(crate) fn varint_before(data: &[u8], pos: usize, end: usize) -> Option<(u64, usize)> {
    match data.get(pos) {
        Some(&byte) if byte < 0x80 => Some((u64::from(byte), pos + 1)),
        Some(_) => long_varint(data, pos).ok(),
        None => None,
    }
    .filter(|(_, next)| *next <= end)
}

/// The low seven bits of each byte, put together.
#[inline]
fn joined(word: u64) -> u64 {
    // Each step moves the upper part of every pair down to the lower one: `upper` less, and its share of the place more.
    let w = word & !CONTINUES;
    let w = w - ((w & 0x7f00_7f00_7f00_7f00) >> 1);
    let upper = w & 0x3fff_0000_3fff_0000;
    let w = w - upper + (upper >> 2);
    let upper = w & 0x0fff_ffff_0000_0000;
    w - upper + (upper >> 4)
}

fn varint_by_byte(data: &[u8], pos: usize) -> Result<(u64, usize), FaultKind> {
    let mut value = 0_u64;
    for i in 0..10 {
        let Some(&byte) = data.get(pos + i) else { return Err(FaultKind::CutNumber) };
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            return Ok((value, pos + i + 1));
        }
    }
    Err(FaultKind::LongVarint)
}

/// A cursor over the fields of one message. Iteration ends at the end of the message or at the first malformed field;
/// then [`Fields::fault`] holds what was wrong.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    data: &'a [u8],
    pos: usize,
    base: u64,
    fault: Option<(u64, FaultKind)>,
}

impl<'a> Fields<'a> {
    /// A cursor over `data`, whose first byte stands at `base` in the file.
    #[inline]
    #[must_use]
    pub fn new(data: &'a [u8], base: u64) -> Self {
        Self { data, pos: 0, base, fault: None }
    }

    /// Where the next field begins in the file.
    #[inline]
    pub(crate) fn at(&self) -> u64 {
        self.base + self.pos as u64
    }

    /// What ended the iteration early, if anything did.
    #[must_use]
    pub fn fault(&self, message: &'static str) -> Option<Fault> {
        self.fault.map(|(offset, kind)| Fault { offset, message, kind })
    }

    /// The place in the data of the next field's content, if that is a whole length-delimited one whose tag is the single
    /// byte `tag`; else nothing moves. A shortcut for long lists: [`Iterator::next`] would give the same.
    #[inline]
    pub(crate) fn next_place_of(&mut self, tag: u8) -> Option<(usize, usize)> {
        if self.data.get(self.pos) != Some(&tag) {
            return None;
        }
        let (length, from) = varint(self.data, self.pos + 1).ok()?;
        let end = from.checked_add(usize::try_from(length).ok()?).filter(|end| *end <= self.data.len())?;
        self.pos = end;
        Some((from, end))
    }

    /// As [`Fields::next_place_of`], the content itself and its offset in the file.
    #[inline]
    pub(crate) fn next_of(&mut self, tag: u8) -> Option<(&'a [u8], u64)> {
        let (from, end) = self.next_place_of(tag)?;
        Some((self.data.get(from..end)?, self.base + from as u64))
    }

    /// The message, and the offset in the file of its first byte.
    #[inline]
    pub(crate) fn data(&self) -> (&'a [u8], u64) {
        (self.data, self.base)
    }

    fn fail(&mut self, at: usize, kind: FaultKind) {
        self.fault = Some((self.base + at as u64, kind));
        self.pos = self.data.len();
    }

    #[inline]
    fn read(&mut self) -> Result<Field<'a>, (usize, FaultKind)> {
        let start = self.pos;
        let (tag, after) = varint(self.data, start).map_err(|k| (start, k))?;
        let number = match tag >> 3 {
            0 => return Err((start, FaultKind::FieldZero)),
            n @ 1..=LARGEST_FIELD => n as u32,
            n => return Err((start, FaultKind::FieldTooLarge(n))),
        };
        let mut content = after;
        let mut whole = true;
        let (value, end) = match tag & 7 {
            0 => {
                let (v, end) = varint(self.data, after).map_err(|k| (start, k))?;
                (Value::Varint(v), end)
            }
            1 => {
                let bytes = fixed::<8>(self.data, after).ok_or((start, FaultKind::CutNumber))?;
                (Value::Fixed64(u64::from_le_bytes(bytes)), after + 8)
            }
            2 => {
                let (length, body) = varint(self.data, after).map_err(|k| (start, k))?;
                content = body;
                let left = (self.data.len() - body) as u64;
                let end = if length <= left { body + length as usize } else { self.data.len() };
                if length > left {
                    whole = false;
                    self.fault = Some((self.base + start as u64, FaultKind::LengthPastEnd { length, left }));
                }
                (Value::Bytes(&self.data[body..end]), end)
            }
            5 => {
                let bytes = fixed::<4>(self.data, after).ok_or((start, FaultKind::CutNumber))?;
                (Value::Fixed32(u32::from_le_bytes(bytes)), after + 4)
            }
            other => return Err((start, FaultKind::UnknownWireType(other as u8))),
        };
        self.pos = end;
        let offset = self.base + start as u64;
        Ok(Field { number, value, offset, content: self.base + content as u64, whole })
    }
}

#[inline]
fn fixed<const N: usize>(data: &[u8], pos: usize) -> Option<[u8; N]> {
    data.get(pos..pos.checked_add(N)?)?.try_into().ok()
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    #[inline]
    fn next(&mut self) -> Option<Field<'a>> {
        if self.pos >= self.data.len() {
            return None;
        }
        match self.read() {
            Ok(field) => Some(field),
            Err((at, kind)) => {
                self.fail(at, kind);
                None
            }
        }
    }
}

impl<'a> Field<'a> {
    fn wrong(&self, message: &'static str) -> Fault {
        let kind = FaultKind::WrongWireType { field: self.number, found: self.value.wire_type() };
        Fault { offset: self.offset, message, kind }
    }

    /// The value as a 64-bit integer (`int64` and `uint64` share this form).
    ///
    /// # Errors
    /// [`FaultKind::WrongWireType`] if it is not a varint.
    #[inline]
    pub fn int(&self, message: &'static str) -> Result<i64, Fault> {
        match self.value {
            Value::Varint(v) => Ok(v as i64),
            _ => Err(self.wrong(message)),
        }
    }

    /// The value as bytes (strings, bytes and messages).
    ///
    /// # Errors
    /// [`FaultKind::WrongWireType`] if it is not length-delimited.
    #[inline]
    pub fn bytes(&self, message: &'static str) -> Result<&'a [u8], Fault> {
        match self.value {
            Value::Bytes(b) => Ok(b),
            _ => Err(self.wrong(message)),
        }
    }

    /// The value as a string or another opaque run of bytes: empty where it was cut, because half a name is another
    /// name.
    ///
    /// # Errors
    /// [`FaultKind::WrongWireType`] if it is not length-delimited.
    #[inline]
    pub fn text(&self, message: &'static str) -> Result<&'a [u8], Fault> {
        self.bytes(message).map(|v| if self.whole { v } else { &v[..0] })
    }

    /// The value as a double.
    ///
    /// # Errors
    /// [`FaultKind::WrongWireType`] if it is not eight fixed bytes.
    #[inline]
    pub fn double(&self, message: &'static str) -> Result<f64, Fault> {
        match self.value {
            Value::Fixed64(v) => Ok(f64::from_bits(v)),
            _ => Err(self.wrong(message)),
        }
    }
}
