//! Logits, and what a loss makes of them: values of each token for each word, told by the names of ops.

use std::collections::BTreeSet;

use haloscope_hlo::Module;

/// Last extents from which a value is taken for one of each word of a vocabulary.
const WORDS: i64 = 4096;
/// What stands in the names of ops that make logits, and losses of them, and of none else.
const OF_LOSS: [&str; 7] =
    ["log_softmax", "logsumexp", "cross_entropy", "nll_loss", "logits", "lm_head", "unembed"];

/// Words and elements of a value of each token for each word, whatever the dimensions of its tokens.
pub(crate) type Logits = (i64, i64);

/// What logits of these extents are; `None` where there are too few words, or no tokens.
pub(crate) fn logits(extents: &[i64]) -> Option<Logits> {
    let words = *extents.last().filter(|words| extents.len() > 1 && **words >= WORDS)?;
    Some((words, extents.iter().try_fold(1_i64, |all, n| all.checked_mul(*n))?))
}

/// Whether an op's name says that it is of a loss.
pub(crate) fn is_of_loss(op_name: &str) -> bool {
    OF_LOSS.iter().any(|word| op_name.contains(word))
}

/// The logits of a program: values of whose instructions an op's name says so, also inside of fusions.
pub(crate) fn in_module(module: &Module) -> BTreeSet<Logits> {
    let of = |instruction: &haloscope_hlo::Instruction| {
        logits(&instruction.shape.dimensions).filter(|_| instruction.op_name().is_some_and(is_of_loss))
    };
    module.instructions().filter_map(|(_, instruction)| of(instruction)).collect()
}
