//! Which part of a step an op belongs to: forward, backward, recomputation, optimiser. Read from the scope path.
//!
//! Paths are compared component by component and word by word, never by substring: scopes nest, and a word that occurs
//! somewhere in the path, or inside another word, says nothing (a substring match counts 79% where 27.5% are true).

use super::gradients::is_of_gradient;
use haloscope_event_groups::framework_op::is_tensorflow_type;

/// A part of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// The model as written.
    Forward,
    /// Gradients.
    Backward,
    /// The forward pass again, for the backward pass: rematerialisation.
    Recomputation,
    /// The update of the parameters.
    Optimiser,
    /// Named by the framework, and none of these.
    Other,
    /// The framework did not name it.
    Unknown,
}

impl Phase {
    /// All of them, in the order of a step.
    pub const ALL: [Self; 6] =
        [Self::Forward, Self::Backward, Self::Recomputation, Self::Optimiser, Self::Other, Self::Unknown];

    /// The word used in tables.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Backward => "backward",
            Self::Recomputation => "recomputation",
            Self::Optimiser => "optimiser",
            Self::Other => "other",
            Self::Unknown => "unknown",
        }
    }

    /// The phase of an op by its name, its scope path and the type that the framework gives it. `of_training` says whether
    /// its program computes gradients; in one that does not, everything that has a name is the forward pass.
    #[must_use]
    pub fn of(name: &str, framework_op: &str, op_type: &str, of_training: bool) -> Self {
        if name.split('.').any(is_rematerialised) {
            return Self::Recomputation;
        }
        if framework_op.is_empty() {
            return Self::Unknown;
        }
        let marks = Marks::of(framework_op);
        if marks.recomputed {
            Self::Recomputation
        } else if marks.transposed || is_of_tensorflow_gradient(framework_op, op_type) {
            Self::Backward
        } else if marks.differentiated {
            Self::Forward
        } else if marks.optimiser {
            Self::Optimiser
        } else if words(framework_op.rsplit('/').next().unwrap_or_default()).any(is_backward_kernel) {
            Self::Backward
        } else if of_training {
            Self::Other
        } else {
            Self::Forward
        }
    }
}

/// Whether an op is a sign that its program computes gradients.
#[must_use]
pub fn is_of_training(framework_op: &str, op_type: &str) -> bool {
    let marks = Marks::of(framework_op);
    marks.recomputed
        || marks.transposed
        || marks.differentiated
        || is_of_tensorflow_gradient(framework_op, op_type)
}

/// TensorFlow names the scopes of its gradients.
fn is_of_tensorflow_gradient(framework_op: &str, op_type: &str) -> bool {
    is_tensorflow_type(op_type) && is_of_gradient(framework_op, op_type)
}

/// The components of a scope path: what stands between slashes that are in no bracket.
pub fn components(path: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(path);
    std::iter::from_fn(move || {
        let text = rest?;
        let mut depth = 0_usize;
        for (at, c) in text.char_indices() {
            match c {
                '(' | '[' => depth += 1,
                ')' | ']' => depth = depth.saturating_sub(1),
                '/' if depth == 0 => {
                    rest = text.get(at + 1..);
                    return text.get(..at);
                }
                _ => {}
            }
        }
        rest = None;
        Some(text)
    })
}

/// What the scopes of a path say.
#[derive(Default)]
struct Marks {
    recomputed: bool,
    transposed: bool,
    differentiated: bool,
    optimiser: bool,
}

impl Marks {
    fn of(path: &str) -> Self {
        let mut marks = Self::default();
        let mut all = components(path).peekable();
        while let Some(component) = all.next() {
            // `vmap(transpose(jvp(mlp)))`: the transformations, then what they were applied to.
            let mut parts = component.split('(');
            let inner = parts.next_back().unwrap_or_default().trim_end_matches(')');
            let transforms: Vec<&str> = parts.collect();
            let differentiated = transforms.contains(&"jvp");
            // The last component is the op itself, which may be called transpose.
            let is_scope = all.peek().is_some() || differentiated;
            marks.recomputed |= inner == "rematted_computation";
            marks.transposed |= is_scope && transforms.contains(&"transpose");
            marks.differentiated |= differentiated;
            marks.optimiser |= is_scope && is_optimiser(inner);
        }
        marks
    }
}

/// Scopes in which people and libraries update parameters.
fn is_optimiser(scope: &str) -> bool {
    const NAMES: [&str; 19] = [
        "adafactor",
        "adagrad",
        "adam",
        "adamw",
        "apply_gradient",
        "apply_gradients",
        "apply_updates",
        "lamb",
        "lion",
        "muon",
        "optax",
        "optimiser",
        "optimizer",
        "optimizer_step",
        "optimizer_update",
        "rmsprop",
        "sgd",
        "shampoo",
        "update_params",
    ];
    NAMES.iter().any(|name| scope.eq_ignore_ascii_case(name))
}

/// XLA names what it computes a second time to save memory `fusion.3.remat2`.
fn is_rematerialised(word: &str) -> bool {
    word.strip_prefix("remat").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric())
}

/// Words in the names of kernels that compute gradients: of grouped products and of attention.
fn is_backward_kernel(word: &str) -> bool {
    ["tgmm", "dkv", "dq", "bwd", "backward"].contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str) -> Phase {
        Phase::of("fusion.1", path, "", true)
    }

    #[test]
    fn phases_of_a_training_step() {
        assert_eq!(of("jit(step)/jvp(mlp)/dot_general"), Phase::Forward);
        assert_eq!(of("jit(step)/jvp()/while/body/closed_call/layer/dot_general"), Phase::Forward);
        assert_eq!(of("jit(step)/transpose(jvp(mlp))/dot_general"), Phase::Backward);
        assert_eq!(of("jit(step)/transpose(jvp())/while/body/checkpoint/layer/dot_general"), Phase::Backward);
        assert_eq!(of("jit(step)/vmap(transpose(jvp(mlp)))/dot_general"), Phase::Backward);
        let again = "jit(step)/transpose(jvp())/while/body/checkpoint/rematted_computation/layer/dot_general";
        assert_eq!(of(again), Phase::Recomputation);
        assert_eq!(of("jit(step)/optimizer/sub"), Phase::Optimiser);
        assert_eq!(of("jit(step)/jit(adamw)/mul"), Phase::Optimiser);
        assert_eq!(of("jit(step)/convert_element_type"), Phase::Other);
        assert_eq!(of(""), Phase::Unknown);
        assert_eq!(Phase::of("fusion.3.remat2", "", "", true), Phase::Recomputation);
        assert_eq!(Phase::of("dot", "gradient_tape/model/MatMul", "MatMul", true), Phase::Backward);
    }

    #[test]
    fn words_inside_words_say_nothing() {
        // The op itself is a transpose; a scope's name holds the words.
        assert_eq!(of("jit(step)/jvp(mlp)/transpose"), Phase::Forward);
        assert_eq!(of("jit(step)/block/transpose(permutation=1)"), Phase::Other);
        assert_eq!(of("jit(step)/my_transpose(x)/add"), Phase::Other);
        assert_eq!(of("jit(step)/jvp(no_rematted_computation_here)/add"), Phase::Forward);
        assert_eq!(of("jit(step)/jvp(optimizer_state_reader)/add"), Phase::Forward);
        assert_eq!(of("jit(step)/madam/add"), Phase::Other);
        assert_eq!(of("jit(step)/optimizer"), Phase::Other);
        // The scope of an optimiser inside of the differentiated part is part of that.
        assert_eq!(of("jit(step)/transpose(jvp(optimizer))/mul"), Phase::Backward);
        // `checkpoint` alone marks what may be recomputed, not what was.
        assert_eq!(of("jit(step)/jvp(checkpoint)/add"), Phase::Forward);
        assert_eq!(Phase::of("remaths.1", "jit(f)/jvp(x)/add", "", true), Phase::Forward);
    }

    #[test]
    fn inference_is_all_forward() {
        assert_eq!(Phase::of("fusion", "jit(decode)/layer_0/dot_general", "", false), Phase::Forward);
        assert!(!is_of_training("jit(decode)/layer_0/transpose", ""));
        assert!(is_of_training("jit(step)/jvp(mlp)/add", ""));
    }

    #[test]
    fn kernels_of_gradients() {
        assert_eq!(of("jit(step)/moe/tgmm"), Phase::Backward);
        assert_eq!(of("jit(step)/splash_mha_dkv_no_residuals"), Phase::Backward);
        assert_eq!(of("jit(step)/splash_mha_fwd"), Phase::Other);
    }

    #[test]
    fn slashes_in_brackets_divide_nothing() {
        let parts: Vec<&str> = components("jit(f)/transpose(jvp(a/b))/bsd,df->bsf/dot").collect();
        assert_eq!(parts, ["jit(f)", "transpose(jvp(a/b))", "bsd,df->bsf", "dot"]);
        assert_eq!(components("a)/b").collect::<Vec<_>>(), ["a)", "b"]);
        assert_eq!(components("(a/b").collect::<Vec<_>>(), ["(a/b"]);
        assert_eq!(components("").count(), 1);
    }
}
