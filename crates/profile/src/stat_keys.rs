//! Which keys the stats of a line's events have: a plane names stats that most of its lines' events never carry.

/// Keys that may stand on the events of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StatKeys {
    /// A bit for each key below 128.
    small: u128,
    /// Any other key may.
    others: bool,
}

impl StatKeys {
    /// Any key at all: nobody looked.
    pub(super) const ANY: Self = Self { small: u128::MAX, others: true };
    /// None.
    pub(super) const NONE: Self = Self { small: 0, others: false };

    /// Those of two parts of a line.
    pub(super) fn union(self, other: Self) -> Self {
        Self { small: self.small | other.small, others: self.others || other.others }
    }

    /// True if an event may carry a stat with this key.
    pub(super) fn may_have(self, id: i64) -> bool {
        match u32::try_from(id).ok().and_then(|id| 1_u128.checked_shl(id)) {
            Some(bit) => self.small & bit != 0,
            None => self.others,
        }
    }

    /// As three words, for keeping.
    pub(super) fn to_words(self) -> [u64; 3] {
        [self.small as u64, (self.small >> 64) as u64, u64::from(self.others)]
    }

    /// What [`StatKeys::to_words`] made.
    pub(super) fn from_words([low, high, others]: [u64; 3]) -> Self {
        Self { small: u128::from(low) | u128::from(high) << 64, others: others != 0 }
    }
}

/// Notes keys while events are decoded: one store a stat.
pub(super) struct Seen {
    small: [bool; 128],
    others: bool,
}

impl Seen {
    /// None so far, but for keys that are looked for anyhow.
    pub(super) fn new(anyhow: impl Fn(u8) -> bool) -> Self {
        Self { small: std::array::from_fn(|key| anyhow(key as u8)), others: false }
    }

    /// Notes a key below 128.
    #[inline(always)]
    pub(super) fn small(&mut self, key: u8) {
        self.small[usize::from(key & 0x7f)] = true;
    }

    /// Notes another key.
    pub(super) fn other(&mut self) {
        self.others = true;
    }

    pub(super) fn keys(&self) -> StatKeys {
        let bit = |all: u128, (key, seen): (u32, &bool)| all | u128::from(*seen) << key;
        StatKeys { small: (0..).zip(&self.small).fold(0, bit), others: self.others }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_that_were_seen_and_nothing_else() {
        let mut seen = Seen::new(|key| key == 3);
        for key in [0, 63, 64, 127] {
            seen.small(key);
        }
        let keys = seen.keys();
        let known: Vec<i64> = (-2..300).filter(|id| keys.may_have(*id)).collect();
        assert_eq!(known, [0, 3, 63, 64, 127]);
        assert_eq!(StatKeys::from_words(keys.to_words()), keys);
        seen.other();
        assert!(seen.keys().may_have(300) && seen.keys().may_have(-1) && !seen.keys().may_have(5));
        assert_eq!(keys.union(StatKeys::NONE), keys);
        assert_eq!(keys.union(StatKeys::ANY), StatKeys::ANY);
    }
}
