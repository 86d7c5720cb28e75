//! Memories of a chip by the numbers that layouts use: `S(1)` in HLO text.

use std::borrow::Cow;

/// Names and numbers, as XProf's page has them. All but 0 and 5 are those of TPUs: XLA for GPUs has its own meaning of 1.
pub(crate) const NAMES: &[(&str, i64)] =
    &[("hbm", 0), ("vmem", 1), ("sflag", 2), ("cmem", 3), ("smem", 4), ("host", 5), ("sparsecore", 6)];

/// The number that a word stands for: a name, or the number itself.
#[must_use]
pub(crate) fn number(word: &str) -> Option<i64> {
    let named = NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)).map(|(_, number)| *number);
    named.or_else(|| word.parse().ok().filter(|number| *number >= 0))
}

/// The name of a memory; `S(9)` where it has none.
#[must_use]
pub(crate) fn name(number: i64) -> Cow<'static, str> {
    let known = NAMES.iter().find(|(_, own)| *own == number);
    known.map_or_else(|| Cow::Owned(format!("S({number})")), |(name, _)| Cow::Borrowed(*name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        assert_eq!(
            ["hbm", "VMEM", "5", "41", "-1", "ram", ""].map(number),
            [Some(0), Some(1), Some(5), Some(41), None, None, None]
        );
        assert_eq!((name(0).as_ref(), name(5).as_ref(), name(9).as_ref()), ("hbm", "host", "S(9)"));
    }
}
