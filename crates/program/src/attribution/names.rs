//! What names and shapes say: whose op a buffer is, which pass it belongs to, how large the vocabulary is.

use haloscope_hlo::{Instruction, Module, Opcode, Shape};

use super::EntryParameter;
use haloscope_time::gradients;

/// Instructions that are walked back at most in search of a name.
const STEPS_BACK: usize = 64;

/// The smallest vocabulary: byte-level ones have 256 words, and then logits are not what fills the memory.
const SMALLEST_VOCABULARY: i64 = 1000;

/// Words in the names of parameters that have a row for each word of the vocabulary.
const VOCABULARY_WORDS: [&str; 6] = ["embed", "lm_head", "vocab", "wte", "logits", "output_head"];

/// A pass of a training step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Computes the loss.
    Forward,
    /// Computes the gradients.
    Backward,
}

impl Phase {
    /// The pass that an op's name says; `None` where it says none.
    #[must_use]
    pub fn of(op_name: &str, op_type: &str) -> Option<Self> {
        if gradients::is_of_gradient(op_name, op_type) {
            return Some(Self::Backward);
        }
        op_name.split('/').any(|part| part.starts_with("jvp(")).then_some(Self::Forward)
    }
}

/// Whether a component of a scope path is what JAX puts between the scopes that an author named: loops and their parts, checkpoints,
/// calls, transformations.
#[must_use]
pub fn is_frame(component: &str) -> bool {
    const FRAMES: [&str; 9] = [
        "main",
        "while",
        "body",
        "cond",
        "scan",
        "closed_call",
        "checkpoint",
        "rematted_computation",
        "shard_map",
    ];
    component.contains('(') || FRAMES.contains(&component)
}

/// Name and type of the op that a value comes from. A copy, a loop's result or a fusion without a name of its own has that of
/// what it copies, of the loop's last round, or of the fusion's result. Empty where there is none.
#[must_use]
pub fn op_name<'m>(module: &'m Module, from: &'m Instruction, path: &[i64]) -> (&'m str, &'m str) {
    let mut at = from;
    let mut path = path.to_vec();
    for _ in 0..STEPS_BACK {
        if let Some(name) = at.op_name().filter(|name| !name.is_empty()) {
            let op_type = at.metadata.as_ref().and_then(|m| m.op_type.as_deref()).unwrap_or_default();
            return (name, op_type);
        }
        let root = || {
            let called = at.called_computations.first()?;
            Some(module.computation(*called).root)
        };
        let element = path.first().and_then(|step| usize::try_from(*step).ok());
        let next = match at.opcode {
            Opcode::Copy | Opcode::Bitcast | Opcode::OptimizationBarrier => at.operands.first().copied(),
            Opcode::CopyStart | Opcode::CopyDone | Opcode::AsyncDone | Opcode::AsyncUpdate => {
                path.clear();
                at.operands.first().copied()
            }
            Opcode::Tuple => {
                path.drain(..usize::from(element.is_some()));
                element.and_then(|element| at.operands.get(element).copied())
            }
            Opcode::GetTupleElement => {
                path.insert(0, at.attributes().tuple_index.unwrap_or(0));
                at.operands.first().copied()
            }
            Opcode::While | Opcode::Fusion | Opcode::Call => root(),
            Opcode::AsyncStart => {
                path.clear();
                root()
            }
            _ => None,
        };
        match next {
            Some(next) => at = module.instruction(next),
            None => break,
        }
    }
    ("", "")
}

/// How many instructions belong to the backward pass by name; `None` where no instruction has a name.
pub(super) fn gradient_markers(module: &Module) -> Option<usize> {
    let (mut named, mut marked) = (false, 0);
    for (_, instruction) in module.instructions() {
        let Some(name) = instruction.op_name().filter(|name| !name.is_empty()) else { continue };
        named = true;
        let op_type = instruction.metadata.as_ref().and_then(|m| m.op_type.as_deref()).unwrap_or_default();
        marked += usize::from(gradients::is_of_gradient(name, op_type));
    }
    named.then_some(marked)
}

/// A shape without its layout: `bf16[8,128]`.
pub(super) fn array(shape: &Shape) -> String {
    if shape.is_tuple() {
        return shape.to_string();
    }
    let extents: Vec<String> = shape.dimensions.iter().map(ToString::to_string).collect();
    format!("{}[{}]", shape.element_type.name(), extents.join(","))
}

/// Extents that only the vocabulary has.
#[derive(Debug)]
pub(super) struct Vocabulary(Vec<i64>);

impl Vocabulary {
    /// The largest extent of each parameter whose name says embedding or output head, unless a parameter of another kind has
    /// the same: then it may be a width, a batch or a length.
    pub(super) fn new(parameters: &[EntryParameter<'_>]) -> Self {
        let (mut largest, mut others) = (Vec::new(), Vec::new());
        for parameter in parameters {
            let name = parameter.name().to_lowercase();
            let extents = &parameter.shape.dimensions;
            // A table of positions has a row for each place, not for each word.
            let is_meant = VOCABULARY_WORDS.iter().any(|word| name.contains(word)) && !name.contains("pos");
            if is_meant {
                largest.extend(extents.iter().max());
            } else {
                others.extend(extents);
            }
        }
        others.sort_unstable();
        largest.sort_unstable();
        largest.dedup();
        largest.retain(|extent| *extent >= SMALLEST_VOCABULARY && others.binary_search(extent).is_err());
        Self(largest)
    }

    pub(super) fn is_in(&self, shape: &Shape) -> bool {
        shape.dimensions.len() >= 2
            && shape.dimensions.iter().any(|extent| self.0.binary_search(extent).is_ok())
    }
}
