//! In what an instruction differs from the one that it is in another module.

use super::{Alignment, fingerprint};
use crate::{
    index::InstructionIdx,
    instruction::Instruction,
    module::Module,
    shape::{Layout, Shape},
};

/// A way in which two instructions differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Aspect {
    /// Type or extents.
    Shape,
    /// The order of dimensions in memory, or tiling.
    Layout,
    /// Where it lies.
    MemorySpace,
    /// What it does, in the attributes of its opcode.
    Attributes,
    /// Operands that are not each other's and are not computed in the same way.
    Operands,
    /// Something in a computation that it calls.
    Body,
    /// What the backend is asked for.
    BackendConfig,
}

impl Aspect {
    /// In words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Shape => "shape",
            Self::Layout => "layout",
            Self::MemorySpace => "memory space",
            Self::Attributes => "attributes",
            Self::Operands => "operands",
            Self::Body => "body",
            Self::BackendConfig => "backend config",
        }
    }
}

/// A way in which two instructions differ, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Which.
    pub aspect: Aspect,
    /// The two sides in words; empty where there is nothing short to say.
    pub detail: String,
}

impl Alignment<'_> {
    /// In what the instructions of a pair differ; nothing where only names do.
    #[must_use]
    pub fn differences(&self, a: InstructionIdx, b: InstructionIdx) -> Vec<Difference> {
        let (mine, theirs) = (self.a.instruction(a), self.b.instruction(b));
        let mut found = Vec::new();
        let mut add = |aspect, detail: String| found.push(Difference { aspect, detail });
        if self.prints_a.own[a.index()] != self.prints_b.own[b.index()] {
            shapes(&mine.shape, &theirs.shape, &mut add);
            let before = fingerprint::attributes(self.a, a);
            let after = fingerprint::attributes(self.b, b);
            if before != after {
                add(Aspect::Attributes, only_in_each(&before, &after));
            }
        }
        let operands = self.operands(mine, theirs);
        if !operands.is_empty() {
            add(Aspect::Operands, operands.join("; "));
        }
        let own = |prints: &fingerprint::Fingerprints, at: usize| prints.own[at] == prints.with_bodies[at];
        let has_bodies = !own(&self.prints_a, a.index()) || !own(&self.prints_b, b.index());
        if has_bodies {
            let prints = |prints: &fingerprint::Fingerprints, instruction: &Instruction| {
                let called = fingerprint::called(instruction).iter();
                called.map(|c| prints.computations[c.index()]).collect::<Vec<u64>>()
            };
            if prints(&self.prints_a, mine) != prints(&self.prints_b, theirs) {
                add(Aspect::Body, String::new());
            }
        }
        if mine.attributes().backend_config != theirs.attributes().backend_config {
            add(Aspect::BackendConfig, String::new());
        }
        found
    }

    /// Whether two values are each other's or are computed in the same way from the same parameters.
    fn is_same_value(&self, a: InstructionIdx, b: InstructionIdx) -> bool {
        self.in_b(a) == Some(b) || self.prints_a.value[a.index()] == self.prints_b.value[b.index()]
    }

    fn operands(&self, mine: &Instruction, theirs: &Instruction) -> Vec<String> {
        let name = |module: &Module, at: InstructionIdx| module.instruction(at).name.clone();
        let count = mine.operands.len().max(theirs.operands.len());
        let mut found = Vec::new();
        for number in 0..count {
            let said = match (mine.operands.get(number), theirs.operands.get(number)) {
                (Some(a), Some(b)) if self.is_same_value(*a, *b) => continue,
                (Some(a), Some(b)) => format!("{number}: {} -> {}", name(self.a, *a), name(self.b, *b)),
                (Some(a), None) => format!("{number}: {} -> none", name(self.a, *a)),
                (None, Some(b)) => format!("{number}: none -> {}", name(self.b, *b)),
                (None, None) => continue,
            };
            found.push(said);
            if found.len() == MOST_OPERANDS {
                found.push("…".to_owned());
                break;
            }
        }
        found
    }
}

/// Operands that are named.
const MOST_OPERANDS: usize = 4;

fn shapes(a: &Shape, b: &Shape, add: &mut impl FnMut(Aspect, String)) {
    let plain = |shape: &Shape| format!("{shape:#}");
    if plain(a) != plain(b) {
        add(Aspect::Shape, format!("{} -> {}", plain(a), plain(b)));
        return;
    }
    let (a, b) = (a.leaves(), b.leaves());
    let pairs = || a.iter().zip(&b);
    let moved = pairs().find(|(a, b)| a.memory_space() != b.memory_space());
    if let Some((a, b)) = moved {
        add(Aspect::MemorySpace, format!("{} -> {}", a.memory_space(), b.memory_space()));
    }
    let without_space =
        |shape: &Shape| shape.layout.as_deref().map(|layout| Layout { memory_space: 0, ..layout.clone() });
    if let Some((a, b)) = pairs().find(|(a, b)| without_space(a) != without_space(b)) {
        add(Aspect::Layout, format!("{a} -> {b}"));
    }
}

/// What only one of two lists has.
fn only_in_each(a: &[String], b: &[String]) -> String {
    let only = |these: &[String], those: &[String]| {
        let words: Vec<String> =
            these.iter().filter(|text| !those.contains(text)).map(|text| short(text)).collect();
        if words.is_empty() { "none".to_owned() } else { words.join(", ") }
    };
    format!("{} -> {}", only(a, b), only(b, a))
}

/// Characters of an attribute that are shown.
const LONGEST: usize = 80;

fn short(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
