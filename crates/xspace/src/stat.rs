//! `XStat`: a typed fact about an event, an event metadata entry or a plane.

use std::io::Read;

use crate::Faults;
use crate::wire::{Fields, tag_and_varint, varint, varint_before};

const MESSAGE: &str = "XStat";

/// The value of a stat.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StatValue<'a> {
    /// `double_value` (field 2).
    Double(f64),
    /// `uint64_value` (field 3).
    Uint(u64),
    /// `int64_value` (field 4).
    Int(i64),
    /// `str_value` (field 5); UTF-8 as a rule.
    Str(&'a [u8]),
    /// `bytes_value` (field 6).
    Bytes(&'a [u8]),
    /// `ref_value` (field 7): the *name* of that stat metadata entry is the string.
    Ref(u64),
    /// A string compressed with gzip (field 8); see [`StatValue::unzip`].
    Compressed(&'a [u8]),
}

impl StatValue<'_> {
    /// The number, of whichever numeric kind, as a double.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match *self {
            Self::Double(v) => Some(v),
            Self::Uint(v) => Some(v as f64),
            Self::Int(v) => Some(v as f64),
            _ => None,
        }
    }

    /// The number if it is an integer that fits; doubles are not rounded.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        match *self {
            Self::Uint(v) => i64::try_from(v).ok(),
            Self::Int(v) => Some(v),
            _ => None,
        }
    }

    /// The integer as 64 bits, whichever sign the writer chose: program ids and context ids are written both ways.
    #[must_use]
    pub fn as_u64_bits(&self) -> Option<u64> {
        match *self {
            Self::Uint(v) => Some(v),
            Self::Int(v) => Some(v as u64),
            _ => None,
        }
    }

    /// The text of a compressed string, at most `limit` bytes of it.
    ///
    /// # Errors
    /// What the decompressor says of data that is not gzip; `InvalidData` for a text of more than `limit` bytes.
    pub fn unzip(compressed: &[u8], limit: u64) -> std::io::Result<Vec<u8>> {
        let mut text = Vec::new();
        flate2::read::GzDecoder::new(compressed).take(limit.saturating_add(1)).read_to_end(&mut text)?;
        if text.len() as u64 > limit {
            let message = format!("a compressed string of more than {limit} bytes");
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, message));
        }
        Ok(text)
    }
}

/// One stat.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StatView<'a> {
    /// `metadata_id` (field 1): key of the plane's stat metadata.
    pub metadata_id: i64,
    /// The value; `None` where the writer set none or one of a later schema.
    pub value: Option<StatValue<'a>>,
}

/// The bytes of one stat, in the line that holds it. For loops over all events, which want a few numbers and no texts.
#[derive(Debug, Clone, Copy)]
pub struct RawStat<'a> {
    /// Bytes that go on behind the stat as a rule.
    pub(crate) data: &'a [u8],
    pub(crate) from: usize,
    pub(crate) end: usize,
}

impl<'a> RawStat<'a> {
    /// A stat of these bytes.
    #[must_use]
    pub fn of(data: &'a [u8]) -> Self {
        Self { data, from: 0, end: data.len() }
    }

    /// The key, where it stands first and takes one byte: at most 127.
    #[inline(always)]
    #[must_use]
    pub fn small_key(&self) -> Option<u8> {
        let &[tag, key] = self.data.get(self.from..)?.first_chunk()?;
        (tag == 0x08 && key < 0x80 && self.from + 2 <= self.end).then_some(key)
    }

    /// The whole number of a stat with a [small key](Self::small_key), if it is one.
    #[inline(always)]
    #[must_use]
    pub fn int_behind_small_key(&self) -> Option<i64> {
        self.int_at(self.from + 2)
    }

    /// The whole number whose tag is at `at`.
    #[inline(always)]
    fn int_at(&self, at: usize) -> Option<i64> {
        match tag_and_varint(self.data, at, self.end)? {
            (0x18, value, _) => i64::try_from(value).ok(),
            (0x20, value, _) => Some(value as i64),
            _ => None,
        }
    }

    /// The stat, decoded; `None` for a malformed one.
    #[inline]
    #[must_use]
    pub fn view(&self) -> Option<StatView<'a>> {
        StatView::parse(self.data.get(self.from..self.end)?, 0, &mut Faults::default())
    }

    /// The key and the whole number, if it is one; `None` for a malformed stat.
    #[must_use]
    pub fn key_and_int(&self) -> Option<(i64, Option<i64>)> {
        let Self { data, from, end } = *self;
        if data.get(from) == Some(&0x08)
            && let Some((id, pos)) = varint_before(data, from + 1, end)
            && pos < end
        {
            return Some((id as i64, self.int_at(pos)));
        }
        let stat = StatView::parse(data.get(from..end)?, 0, &mut Faults::default())?;
        Some((stat.metadata_id, stat.value.and_then(|v| v.as_i64())))
    }
}

impl<'a> StatView<'a> {
    /// Decodes one stat; a malformed one is reported to `faults` and gives `None`.
    #[inline]
    pub(crate) fn parse(body: &'a [u8], offset: u64, faults: &mut Faults) -> Option<Self> {
        Self::parse_known(body).or_else(|| Self::parse_any(body, offset, faults))
    }

    /// A stat of known fields only, whole, with tags of one byte: what profilers write. `None` for any other, of which
    /// [`StatView::parse_any`] finds what is wrong, if anything is.
    #[inline]
    fn parse_known(body: &'a [u8]) -> Option<Self> {
        let mut stat = Self { metadata_id: 0, value: None };
        let mut pos = 0;
        while let Some(&tag) = body.get(pos) {
            pos += 1;
            if tag == 0x11 {
                let bits = body.get(pos..)?.first_chunk()?;
                stat.value = Some(StatValue::Double(f64::from_le_bytes(*bits)));
                pos += 8;
                continue;
            }
            let (number, next) = varint(body, pos).ok()?;
            pos = next;
            let mut text = || {
                let text = body.get(next..)?.get(..usize::try_from(number).ok()?)?;
                pos += text.len();
                Some(text)
            };
            match tag {
                0x08 => stat.metadata_id = number as i64,
                0x18 => stat.value = Some(StatValue::Uint(number)),
                0x20 => stat.value = Some(StatValue::Int(number as i64)),
                0x2a => stat.value = Some(StatValue::Str(text()?)),
                0x32 => stat.value = Some(StatValue::Bytes(text()?)),
                0x38 => stat.value = Some(StatValue::Ref(number)),
                0x42 => stat.value = Some(StatValue::Compressed(text()?)),
                _ => return None,
            }
        }
        Some(stat)
    }

    #[cold]
    fn parse_any(body: &'a [u8], offset: u64, faults: &mut Faults) -> Option<Self> {
        let mut stat = Self { metadata_id: 0, value: None };
        let mut fields = Fields::new(body, offset);
        for field in fields.by_ref() {
            let part = match field.number {
                1 => field.int(MESSAGE).map(|v| stat.metadata_id = v),
                2 => field.double(MESSAGE).map(|v| stat.value = Some(StatValue::Double(v))),
                3 => field.int(MESSAGE).map(|v| stat.value = Some(StatValue::Uint(v as u64))),
                4 => field.int(MESSAGE).map(|v| stat.value = Some(StatValue::Int(v))),
                5 => field.bytes(MESSAGE).map(|v| stat.value = Some(StatValue::Str(v))),
                6 => field.bytes(MESSAGE).map(|v| stat.value = Some(StatValue::Bytes(v))),
                7 => field.int(MESSAGE).map(|v| stat.value = Some(StatValue::Ref(v as u64))),
                8 => field.bytes(MESSAGE).map(|v| stat.value = Some(StatValue::Compressed(v))),
                _ => Ok(()),
            };
            if let Err(fault) = part {
                faults.push(fault);
                return None;
            }
        }
        match fields.fault(MESSAGE) {
            Some(fault) => {
                faults.push(fault);
                None
            }
            None => Some(stat),
        }
    }
}

/// The stats inside a message, decoded one by one. Malformed ones are left out and kept in [`Stats::faults`]; one that
/// is cut by the end of the message is left out, and the message's own reader has reported the cut.
#[derive(Debug, Clone)]
pub struct Stats<'a> {
    fields: Fields<'a>,
    /// The tag of the message's stats; of one byte in every message that has some.
    tag: u8,
    message: &'static str,
    faults: Faults,
}

impl<'a> Stats<'a> {
    /// The stats in field `number`, at most 15, of `message`, whose content is `body`.
    pub(crate) fn new(body: &'a [u8], offset: u64, number: u8, message: &'static str) -> Self {
        Self { fields: Fields::new(body, offset), tag: number << 3 | 2, message, faults: Faults::default() }
    }

    /// The stats of an event whose bytes stand at `offset` in the file.
    #[must_use]
    pub fn of_event(body: &'a [u8], offset: u64) -> Self {
        // The event's own numbers stand in front of its stats as a rule: step over them without looking at each.
        let mut from = 0;
        while let Some(0x08 | 0x10 | 0x18 | 0x28) = body.get(from) {
            let Ok((_, next)) = varint(body, from + 1) else { break };
            from = next;
        }
        Self::new(&body[from..], offset + from as u64, 4, "XEvent")
    }

    /// What was malformed so far.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        &self.faults
    }
}

impl<'a> Iterator for Stats<'a> {
    type Item = StatView<'a>;

    #[inline]
    fn next(&mut self) -> Option<StatView<'a>> {
        loop {
            let (body, offset) = match self.fields.next_of(self.tag) {
                Some(next) => next,
                None => {
                    let field = self.fields.next()?;
                    if field.number != u32::from(self.tag >> 3) || !field.whole {
                        continue;
                    }
                    match field.bytes(self.message) {
                        Ok(body) => (body, field.content),
                        Err(fault) => {
                            self.faults.push(fault);
                            continue;
                        }
                    }
                }
            };
            if let Some(stat) = StatView::parse(body, offset, &mut self.faults) {
                return Some(stat);
            }
        }
    }
}
