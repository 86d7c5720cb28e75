//! Numbers as few bytes and back, for what is kept on disk: whole numbers seven bits a byte, signed ones with small numbers of
//! either sign in few bytes. Nothing is believed of bytes that are read.

/// Appends a whole number.
pub fn put_whole(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a signed number.
pub fn put_int(out: &mut Vec<u8>, number: i64) {
    put_whole(out, (number << 1 ^ number >> 63) as u64);
}

/// Appends a float, to the last bit.
pub fn put_float(out: &mut Vec<u8>, number: f64) {
    out.extend(number.to_bits().to_le_bytes());
}

/// Bytes that are read from their beginning. What does not fit is `None`.
pub struct Unpack<'b>(pub &'b [u8]);

impl<'b> Unpack<'b> {
    /// The next bytes.
    pub fn take(&mut self, length: usize) -> Option<&'b [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    /// The next byte.
    pub fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    /// What [`put_whole`] wrote.
    pub fn whole(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// A number of things that follow, each of a byte at least: never more than there are bytes, so that it may be reserved for.
    pub fn count(&mut self) -> Option<usize> {
        usize::try_from(self.whole()?).ok().filter(|count| *count <= self.0.len())
    }

    /// What [`put_int`] wrote.
    pub fn int(&mut self) -> Option<i64> {
        let bits = self.whole()?;
        Some((bits >> 1) as i64 ^ -((bits & 1) as i64))
    }

    /// What [`put_float`] wrote.
    pub fn float(&mut self) -> Option<f64> {
        Some(f64::from_bits(u64::from_le_bytes(self.take(8)?.try_into().ok()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let ints = [0, -1, 1, 63, -64, 64, i64::MAX, i64::MIN];
        let wholes = [0, 127, 128, 1 << 63, u64::MAX];
        let mut out = Vec::new();
        ints.iter().for_each(|number| put_int(&mut out, *number));
        wholes.iter().for_each(|number| put_whole(&mut out, *number));
        put_float(&mut out, -0.1);
        let mut from = Unpack(&out);
        assert!(ints.iter().all(|number| from.int() == Some(*number)));
        assert!(wholes.iter().all(|number| from.whole() == Some(*number)));
        assert_eq!(from.float().map(f64::to_bits), Some((-0.1_f64).to_bits()));
        assert_eq!((from.byte(), from.whole(), from.float()), (None, None, None));
    }

    #[test]
    fn numbers_of_more_than_64_bits_are_none() {
        let nine = [0xff; 9];
        for last in [0x02, 0x7f, 0x80, 0xff] {
            assert_eq!(Unpack(&[&nine[..], &[last]].concat()).whole(), None, "{last}");
        }
        assert_eq!(Unpack(&[&nine[..], &[0x01]].concat()).whole(), Some(u64::MAX));
    }

    #[test]
    fn a_count_is_never_more_than_there_are_bytes() {
        assert_eq!(Unpack(&[3, 0, 0, 0]).count(), Some(3));
        assert_eq!(Unpack(&[3, 0, 0]).count(), None);
    }
}
