//! Stack frames: where a timeline's reader finds the long names of ops. They are numbered by a hash of their text, XProf's.

use std::collections::BTreeMap;

/// Names of at most so many bytes are written where they are used.
pub(super) const SHORTEST: usize = 16;
/// Longer names are cut.
const LONGEST: usize = 10_000;

/// Texts by the hash under which XProf keeps them.
#[derive(Debug, Default)]
pub(super) struct Frames(BTreeMap<u64, String>);

/// A long name, cut if it is too long.
pub(super) fn long_name(name: &str) -> std::borrow::Cow<'_, str> {
    if name.len() <= LONGEST {
        return name.into();
    }
    let end = (0..=LONGEST).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
    format!("{}...<truncated>", &name[..end]).into()
}

impl Frames {
    /// Adds a text, if it is long enough.
    pub(super) fn add(&mut self, text: &str) {
        if text.len() > SHORTEST {
            self.0.insert(hash(text), text.to_owned());
        }
    }

    /// The number of a text that was added.
    pub(super) fn number(&self, text: &str) -> Option<usize> {
        let key = hash(text);
        self.0.contains_key(&key).then(|| self.0.range(..key).count() + 1)
    }

    /// Texts in the order of their numbers, from 1.
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.values().map(String::as_str)
    }
}

/// The hash of `@@` and the text that the C++ standard library of XProf's builds computes (`MurmurHash64A`).
fn hash(text: &str) -> u64 {
    const FACTOR: u64 = 0xc6a4_a793_5bd1_e995;
    const SEED: u64 = 0xc70f_6907;
    let shift = |v: u64| v ^ (v >> 47);
    let bytes = [b"@@", text.as_bytes()].concat();
    let mut hash = SEED ^ (bytes.len() as u64).wrapping_mul(FACTOR);
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        let word = shift(u64::from_le_bytes(*word).wrapping_mul(FACTOR)).wrapping_mul(FACTOR);
        hash = (hash ^ word).wrapping_mul(FACTOR);
    }
    if !rest.is_empty() {
        let word = rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        hash = (hash ^ word).wrapping_mul(FACTOR);
    }
    shift(shift(hash).wrapping_mul(FACTOR))
}

/// True for arguments that are told as stack frames, where they are long.
pub(super) fn is_frame(name: &str) -> bool {
    matches!(name, "long_name" | "hlo_text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_numbered_in_the_order_of_their_hashes() {
        // Numbers that XProf 2.24.2 gave in one answer.
        let texts = [
            "[134217756]  0x274: bundle.134217756",
            "jit(matmul_optimized)/pallas_call:",
            "[134217736]  0xc9f: bundle.134217736",
        ];
        let mut frames = Frames::default();
        texts.iter().rev().for_each(|text| frames.add(text));
        frames.add("short");
        assert_eq!(frames.iter().collect::<Vec<_>>(), texts);
        assert_eq!(frames.number(texts[2]), Some(3));
        assert_eq!(frames.number("short"), None);
    }
}
