//! Faults as words, for those who keep what they have read.

use crate::{Fault, FaultKind, Faults};

/// The messages that faults name.
const MESSAGES: [&str; 8] =
    ["XSpace", "XPlane", "XLine", "XEvent", "XStat", "XEventMetadata", "XStatMetadata", "map entry"];

/// Words a fault takes: offset, message, kind, and two of the kind's own.
const WORDS: usize = 5;

impl Faults {
    /// The faults as words: how many there were, how many of them are kept, and those.
    #[must_use]
    pub fn to_words(&self) -> Vec<u64> {
        let mut words = vec![self.count(), self.kept().len() as u64];
        for fault in self.kept() {
            let message = MESSAGES.iter().position(|m| *m == fault.message).unwrap_or(MESSAGES.len());
            let (kind, first, second) = match fault.kind {
                FaultKind::CutNumber => (0, 0, 0),
                FaultKind::LongVarint => (1, 0, 0),
                FaultKind::LengthPastEnd { length, left } => (2, length, left),
                FaultKind::FieldZero => (3, 0, 0),
                FaultKind::FieldTooLarge(number) => (4, number, 0),
                FaultKind::UnknownWireType(found) => (5, u64::from(found), 0),
                FaultKind::WrongWireType { field, found } => (6, u64::from(field), u64::from(found)),
            };
            words.extend([fault.offset, message as u64, kind, first, second]);
        }
        words
    }

    /// The faults that [`Faults::to_words`] wrote, all of the words; `None` if these are others.
    #[must_use]
    pub fn from_words(words: &[u64]) -> Option<Self> {
        let (&[count, kept], rest) = words.split_first_chunk()?;
        let (faults, []) = rest.as_chunks::<WORDS>() else { return None };
        if faults.len() as u64 != kept || kept > Self::KEPT as u64 || count < kept {
            return None;
        }
        let fault = |&[offset, message, kind, first, second]: &[u64; WORDS]| {
            let message = MESSAGES.get(usize::try_from(message).ok()?)?;
            let kind = match kind {
                0 => FaultKind::CutNumber,
                1 => FaultKind::LongVarint,
                2 => FaultKind::LengthPastEnd { length: first, left: second },
                3 => FaultKind::FieldZero,
                4 => FaultKind::FieldTooLarge(first),
                5 => FaultKind::UnknownWireType(u8::try_from(first).ok()?),
                6 => FaultKind::WrongWireType {
                    field: u32::try_from(first).ok()?,
                    found: u8::try_from(second).ok()?,
                },
                _ => return None,
            };
            Some(Fault { offset, message, kind })
        };
        Some(Self { kept: faults.iter().map(fault).collect::<Option<_>>()?, count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_the_same_after_words() {
        let kinds = [
            FaultKind::CutNumber,
            FaultKind::LongVarint,
            FaultKind::LengthPastEnd { length: u64::MAX, left: 3 },
            FaultKind::FieldZero,
            FaultKind::FieldTooLarge(1 << 40),
            FaultKind::UnknownWireType(7),
            FaultKind::WrongWireType { field: 4, found: 1 },
        ];
        let mut faults = Faults::default();
        assert_eq!(Faults::from_words(&faults.to_words()), Some(faults.clone()));
        for (i, (message, kind)) in MESSAGES.iter().cycle().zip(kinds.iter().cycle()).take(40).enumerate() {
            faults.push(Fault { offset: i as u64, message, kind: *kind });
            assert_eq!(Faults::from_words(&faults.to_words()), Some(faults.clone()));
        }
        let words = faults.to_words();
        assert_eq!(Faults::from_words(&words[..words.len() - 1]), None);
        let mut other = words;
        other[4] = 99;
        assert_eq!(Faults::from_words(&other), None);
    }
}
