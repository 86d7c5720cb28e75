//! A cursor over a section's bytes, with the integers of MLIR's bytecode.

use crate::error::Error;

/// Reads a section from its front; every read is checked against its end.
#[derive(Debug, Clone)]
pub(crate) struct Bytes<'a> {
    all: &'a [u8],
    at: usize,
    section: &'static str,
}

impl<'a> Bytes<'a> {
    pub(crate) fn new(all: &'a [u8], section: &'static str) -> Self {
        Self { all, at: 0, section }
    }

    pub(crate) fn wrong<T>(&self, expected: &'static str) -> Result<T, Error> {
        Err(Error::Malformed { section: self.section, offset: self.at, expected })
    }

    pub(crate) fn left(&self) -> usize {
        self.all.len() - self.at
    }

    pub(crate) fn position(&self) -> usize {
        self.at
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let Some(bytes) = self.at.checked_add(count).and_then(|end| self.all.get(self.at..end)) else {
            return self.wrong("more bytes");
        };
        self.at += count;
        Ok(bytes)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Error> {
        self.take(1).map(|bytes| bytes[0])
    }

    /// An unsigned integer: the trailing zeros of its first byte say how many bytes follow, the bits behind the first one are
    /// the number.
    pub(crate) fn varint(&mut self) -> Result<u64, Error> {
        let first = self.byte()?;
        if first == 0 {
            let bytes = self.take(8)?;
            return Ok(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)));
        }
        let more = first.trailing_zeros();
        let rest = self.take(more as usize)?;
        let high = rest.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
        Ok((high << 8 | u64::from(first)) >> (more + 1))
    }

    /// A signed integer: zigzag.
    pub(crate) fn signed(&mut self) -> Result<i64, Error> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// A number that is used as an index or a count of things of at least a byte each, and so is at most the section's length.
    pub(crate) fn count(&mut self, expected: &'static str) -> Result<usize, Error> {
        let value = self.varint()?;
        match usize::try_from(value) {
            Ok(count) if count <= self.left() => Ok(count),
            _ => self.wrong(expected),
        }
    }

    /// An index below `end`.
    pub(crate) fn index(&mut self, end: usize, expected: &'static str) -> Result<u32, Error> {
        let value = self.varint()?;
        match u32::try_from(value) {
            Ok(index) if (index as usize) < end => Ok(index),
            _ => self.wrong(expected),
        }
    }

    /// As many of something as a count in front says.
    pub(crate) fn list<T>(
        &mut self,
        expected: &'static str,
        mut one: impl FnMut(&mut Self) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let count = self.count(expected)?;
        (0..count).map(|_| one(self)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_all_lengths() {
        let read = |bytes: &[u8]| Bytes::new(bytes, "test").varint();
        assert_eq!(read(&[0x01]), Ok(0));
        assert_eq!(read(&[0xff]), Ok(127));
        assert_eq!(read(&[0x62, 0x09]), Ok(600));
        assert_eq!(read(&[0, 1, 0, 0, 0, 0, 0, 0, 0x80]), Ok(0x8000_0000_0000_0001));
        assert_eq!(read(&[0x80, 1, 2, 3, 4, 5, 6, 7]), Ok(0x0007_0605_0403_0201));
        assert!(read(&[]).is_err() && read(&[0x02]).is_err() && read(&[0, 1]).is_err());
        assert_eq!(Bytes::new(&[0x62, 0x09], "test").signed(), Ok(300));
        assert_eq!(Bytes::new(&[0x07], "test").signed(), Ok(-2));
    }

    #[test]
    fn a_count_is_never_more_than_there_is() {
        assert_eq!(Bytes::new(&[0x05, 1, 1], "test").count("two"), Ok(2));
        assert!(Bytes::new(&[0x07, 1, 1], "test").count("three").is_err());
        assert!(Bytes::new(&[0, 255, 255, 255, 255, 255, 255, 255, 255], "test").count("many").is_err());
    }
}
