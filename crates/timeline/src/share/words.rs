//! Which words of a profile are the profiler's, the compiler's or the framework's own, and what stands in place of the others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// Words that Haloscope looks for in profiles: a test holds the list against the sources.
const KNOWN: &str = include_str!("words.txt");
/// Names of JAX's primitives.
const PRIMITIVES: &str = include_str!("primitives.txt");
/// Of what XLA makes names of fusions and computations, beside opcodes.
const PARTS: &str = include_str!("parts.txt");

fn set(text: &'static str) -> BTreeSet<&'static str> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

static ALL: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| {
    let mut all = set(KNOWN);
    all.extend(set(PRIMITIVES));
    all.extend(set(PARTS));
    all
});
static OF_NAMES: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| set(PARTS));

/// Before names of functions, in names of modules and ops.
const PREFIXES: [&str; 4] = ["jit_", "pmap_", "pjit_", "wrapped_"];

/// Parts of names of vendors' kernels and calls, and of the runtimes' classes, in small letters: by them such kernels and launches are
/// known, and programs have none of their own.
const OF_VENDORS: [&str; 21] = [
    "pjrt",
    "streamexecutor",
    "memcpy",
    "memset",
    "nccl",
    "rccl",
    "gemm",
    "cutlass",
    "cudnn",
    "cublas",
    "cijk_",
    "rocclr",
    "hipblas",
    "miopen",
    "culaunch",
    "hiplaunch",
    "cudalaunch",
    "wgmma",
    "mfma",
    "copybuffer",
    "tensile",
];

/// What words were replaced by. A word has the same replacement wherever it stands, and one of the same length, so that it can be
/// written over the word also where lengths must stay.
#[derive(Debug, Default)]
pub(super) struct Words {
    replaced: BTreeMap<String, String>,
    /// How many replacements of each length there are.
    counts: BTreeMap<usize, u64>,
}

/// A run of letters, digits and `_`.
pub(super) fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The words of a text and what stands between them, in order; words first where the text begins with one.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = (bool, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let is_word = is_of_word(rest.chars().next()?);
        let end = rest.find(|c| is_of_word(c) != is_word).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some((is_word, piece))
    })
}

/// Whether a word says nothing of the program: a number, a letter, a known word.
pub(super) fn is_known(word: &str) -> bool {
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    // `0x7f3a`, `128x256`, `2d`
    let is_nearly = word.starts_with(|c: char| c.is_ascii_digit())
        && (word.starts_with("0x") || word.bytes().filter(u8::is_ascii_alphabetic).count() <= 2);
    let is_name =
        || word.split('_').all(|part| part.is_empty() || is_number(part) || OF_NAMES.contains(part));
    let is_vendors = || {
        let small = word.to_ascii_lowercase();
        OF_VENDORS.iter().any(|part| small.contains(part))
    };
    word.chars().count() <= 1
        || is_vendors()
        || is_number(word)
        || is_nearly
        || ALL.contains(word)
        || is_name()
}

impl Words {
    /// What stands in place of a word, in a text in which known words stay.
    pub(super) fn of(&mut self, word: &str) -> String {
        if is_known(word) {
            return word.to_owned();
        }
        if let Some(prefix) = PREFIXES.iter().find(|prefix| word.starts_with(**prefix)) {
            return format!("{prefix}{}", self.of(&word[prefix.len()..]));
        }
        // `layer_3`: the number stays.
        let stem = word.trim_end_matches(|c: char| c.is_ascii_digit());
        if let Some(stem) =
            stem.strip_suffix('_').filter(|stem| !stem.is_empty() && stem.len() + 1 < word.len())
        {
            return format!("{}{}", self.of(stem), &word[stem.len()..]);
        }
        self.replace(word)
    }

    /// What stands in place of a word of a path or a host's name, where known words go too.
    pub(super) fn strictly(&mut self, word: &str) -> String {
        let is_plain = word.chars().count() <= 1 || word.bytes().all(|byte| byte.is_ascii_digit());
        if is_plain { word.to_owned() } else { self.replace(word) }
    }

    fn replace(&mut self, word: &str) -> String {
        if let Some(known) = self.replaced.get(word) {
            return known.clone();
        }
        let mut length = word.len().max(2);
        loop {
            let count = self.counts.entry(length).or_default();
            if let Some(new) = numbered(*count, length) {
                *count += 1;
                // What stays must not be taken for what was replaced.
                if is_known(&new) || new == word {
                    continue;
                }
                self.replaced.insert(word.to_owned(), new.clone());
                return new;
            }
            length += 1;
        }
    }

    /// What was put in place of a word already.
    pub(super) fn known(&self, word: &str) -> Option<&str> {
        self.replaced.get(word).map(String::as_str)
    }

    /// Words with their replacements, in the order of the alphabet.
    pub(super) fn into_replaced(self) -> BTreeMap<String, String> {
        self.replaced
    }
}

/// The word of this number and length: `x` and the number to the base of 36. `None` if it has more digits.
fn numbered(number: u64, length: usize) -> Option<String> {
    let mut digits = Vec::new();
    let mut left = number;
    while left > 0 {
        digits.extend(char::from_digit(u32::try_from(left % 36).ok()?, 36));
        left /= 36;
    }
    let room = length.checked_sub(1)?;
    (digits.len() <= room).then(|| {
        let zeros = "0".repeat(room - digits.len());
        format!("x{zeros}{}", digits.iter().rev().collect::<String>())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_program_go_and_those_of_the_compiler_stay() {
        let mut words = Words::default();
        for word in [
            "fusion",
            "dot_general",
            "convert_reduce_fusion",
            "7",
            "v",
            "bf16",
            "0x7fa",
            "XLA",
            "jit",
            "MemcpyH2D",
        ] {
            assert_eq!(words.of(word), word);
        }
        let secret = words.of("secret_model");
        assert_eq!(secret.len(), "secret_model".len());
        assert!(!secret.contains("secret"));
        // In every form that the framework gives to a function's name.
        assert_eq!(words.of("jit_secret_model"), format!("jit_{secret}"));
        assert_eq!(words.of("secret_model_12"), format!("{secret}_12"));
        assert_eq!(words.of("secret_model"), secret);
        assert_ne!(words.of("secret_other"), secret);
        assert_ne!(words.strictly("fusion"), "fusion");
    }

    #[test]
    fn replacements_differ_also_where_words_are_short() {
        let mut words = Words::default();
        let short: BTreeSet<String> = ('a'..='z')
            .flat_map(|a| ('a'..='z').map(move |b| format!("{a}{b}")))
            .map(|word| words.strictly(&word))
            .collect();
        assert_eq!(short.len(), 26 * 26);
    }

    #[test]
    fn a_text_is_its_pieces() {
        let text = "jit(f)/α/dot_general:12";
        assert_eq!(pieces(text).map(|(_, piece)| piece).collect::<String>(), text);
        let words: Vec<&str> = pieces(text).filter(|(is_word, _)| *is_word).map(|(_, piece)| piece).collect();
        assert_eq!(words, ["jit", "f", "α", "dot_general", "12"]);
    }
}
