//! Which words of a profile are the profiler's, the compiler's or the framework's own, and what stands in place of the others.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

/// Words that Haloscope looks for in profiles: a test holds the list against the sources.
const KNOWN: &str = include_str!("words.txt");
/// Names of statistics that XProf's converters and viewer look for.
const STATS: &str = include_str!("stats.txt");
/// Names of JAX's primitives.
const PRIMITIVES: &str = include_str!("primitives.txt");
/// Of what XLA makes names of fusions and computations, beside opcodes.
const PARTS: &str = include_str!("parts.txt");

fn set(text: &'static str) -> BTreeSet<&'static str> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

static ALL: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| {
    let mut all = set(KNOWN);
    all.extend(set(STATS));
    all.extend(set(PRIMITIVES));
    all.extend(set(PARTS));
    all
});
static OF_NAMES: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| set(PARTS));

/// Before names of functions, in names of modules and ops.
const PREFIXES: [&str; 4] = ["jit_", "pmap_", "pjit_", "wrapped_"];

/// With what names of vendors' kernels and calls, and of the runtimes' classes, begin: these stay whole.
const OF_VENDORS: [&str; 45] = [
    "ncclDevKernel",
    "ncclKernel",
    "ncclDevFunc",
    "ncclGroup",
    "ncclAll",
    "ncclReduce",
    "ncclBroadcast",
    "ncclSend",
    "ncclRecv",
    "rcclGenericKernel",
    "mscclKernel",
    "Cijk_",
    "cublas",
    "cudnn",
    "cutlass",
    "hipblas",
    "miopen",
    "MIOpen",
    "__amd_rocclr_",
    "nvjet_",
    "Memcpy",
    "Memset",
    "cuLaunch",
    "cuMemcpy",
    "cuMemset",
    "cuStream",
    "cuEvent",
    "cuGraph",
    "cudaLaunch",
    "cudaMemcpy",
    "cudaMemset",
    "cudaStream",
    "cudaEvent",
    "cudaGraph",
    "hipLaunch",
    "hipMemcpy",
    "hipMemset",
    "hipModuleLaunch",
    "hipExtModuleLaunch",
    "hipStream",
    "hipEvent",
    "hipGraph",
    "PjRt",
    "PJRT",
    "StreamExecutor",
];

/// With what names of vendors' kernels begin that need one of [`MARKS`] too, or the number of an architecture: `sm90_xmma_gemm`.
const OF_CHIPS: [&str; 5] = ["ampere_", "volta_", "turing_", "hopper_", "maxwell_"];

/// Parts of names, in small letters, by which kernels and launches of vendors are known wherever they stand in a name: the part stays,
/// the rest of the name goes.
const MARKS: [&str; 21] = [
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
/// Names are shorter than this: what is longer is data.
const LONGEST_NAME: usize = 128;

/// Whether a vendor gave a kernel or a call this name.
fn is_of_vendor(word: &str) -> bool {
    let is_chips = || {
        let after_sm =
            word.strip_prefix("sm").map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
        let is_numbered = after_sm.is_some_and(|rest| rest.starts_with('_') && rest.len() + 2 < word.len());
        is_numbered || OF_CHIPS.iter().any(|prefix| word.starts_with(prefix))
    };
    OF_VENDORS.iter().any(|prefix| word.starts_with(prefix))
        || (is_chips() && (mark(word).is_some() || word.contains("xmma") || word.contains("conv")))
}

/// Where in a name the first of [`MARKS`] stands.
fn mark(word: &str) -> Option<Range<usize>> {
    let small = word.to_ascii_lowercase();
    let found = MARKS.iter().filter_map(|mark| small.find(mark).map(|at| at..at + mark.len()));
    found.min_by_key(|range| (range.start, usize::MAX - range.len()))
}

/// What words were replaced by. A word has the same replacement wherever it stands, and one of the same length, so that it can be
/// written over the word also where lengths must stay.
#[derive(Debug, Default)]
pub(super) struct Words {
    replaced: BTreeMap<String, String>,
    /// How many replacements of each length there are.
    counts: BTreeMap<usize, u64>,
    /// Looks for the words that there were when it was made, in messages of which only strings are known.
    finder: Option<Finder>,
    /// Whether all words are collected yet; before that none is looked for in such messages.
    pub(super) is_whole: bool,
}

/// Looks for words of [`LEAST_FOUND`] bytes or more, the longest first.
#[derive(Debug)]
struct Finder {
    /// How many words had a replacement when it was made.
    of: usize,
    words: Vec<(String, String)>,
    automaton: AhoCorasick,
}

/// Shorter words are not looked for inside of others: other numbers may look like them.
const LEAST_FOUND: usize = 4;

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
    word.chars().count() <= 1
        || is_of_vendor(word)
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
        if word.len() <= LONGEST_NAME
            && let Some(mark) = mark(word)
        {
            let parts = |words: &mut Self, text: &str| {
                text.split('_').map(|part| words.of(part)).collect::<Vec<_>>().join("_")
            };
            let before = parts(self, &word[..mark.start]);
            return format!("{before}{}{}", &word[mark.clone()], parts(self, &word[mark.end..]));
        }
        self.replace(word)
    }

    /// Where words with a replacement of their length stand in these bytes, also inside of longer ones, and what stands for them.
    pub(super) fn found(&mut self, bytes: &[u8]) -> Vec<(Range<usize>, String)> {
        if !self.is_whole {
            return Vec::new();
        }
        if self.finder.as_ref().is_none_or(|finder| finder.of != self.replaced.len()) {
            self.finder = Finder::of(&self.replaced);
        }
        let Some(finder) = &self.finder else { return Vec::new() };
        let found = finder.automaton.find_iter(bytes);
        found.map(|one| (one.range(), finder.words[one.pattern().as_usize()].1.clone())).collect()
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

    /// Words with their replacements, in the order of the alphabet.
    pub(super) fn into_replaced(self) -> BTreeMap<String, String> {
        self.replaced
    }
}

impl Finder {
    /// `None` where the words are too many to be looked for at once.
    fn of(replaced: &BTreeMap<String, String>) -> Option<Self> {
        let fits = |(word, new): &(&String, &String)| word.len() >= LEAST_FOUND && word.len() == new.len();
        let words: Vec<(String, String)> =
            replaced.iter().filter(fits).map(|(word, new)| (word.clone(), new.clone())).collect();
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(words.iter().map(|(word, _)| word))
            .ok()?;
        Some(Self { of: replaced.len(), words, automaton })
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
        // Of a name that a vendor's mark is part of, the mark stays.
        for (word, mark) in
            [("acme_gemm_secret_kernel", "gemm"), ("ncclSecretThing", "nccl"), ("MyCublasSecret", "Cublas")]
        {
            let new = words.of(word);
            assert!(new.contains(mark) && !new.to_lowercase().contains("secret"), "{word}: {new}");
            assert_eq!(new.len(), word.len(), "{word}: {new}");
        }
        let data = "mfmaSecret".repeat(20);
        assert!(!words.of(&data).contains("Secret"));
        for word in [
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
            "Cijk_Ailk_Bljk_HHS_BH_MT128x64",
            "ampere_sgemm_128x64_nn",
            "sm80_xmma_fprop_implicit_gemm_f16",
            "cudaLaunchKernel",
            "PjRtStreamExecutorLoadedExecutable",
        ] {
            assert_eq!(words.of(word), word);
        }
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
