//! How programs of one name differ, which were compiled for one function.

use haloscope_hlo::Module;
use haloscope_time::fix::Fix;

static NOTHING: Fix = Fix {
    jax: "call `jax.jit` once, outside the loop, and keep the result: a lambda or an inner function that is created again is a new function to its cache; jax_explain_cache_misses reports this",
    tensorflow: "create the `tf.function` once, outside the loop, and keep it: one that is created again is traced and compiled again",
    pytorch: "compile once, outside the loop, and keep the result: a function that is created again is new to the cache",
    any: "compile once, outside the loop, and keep the result: a function that is created again is new to the cache",
};

static COMPUTATION: Fix = Fix {
    jax: "pass changing values as arguments, not as constants: a Python number in `static_argnums` or in a closure compiles a program for each of its values; jax_explain_cache_misses says which",
    tensorflow: "pass changing values as tensors: a `tf.function` is traced and compiled again for each value of a Python number",
    pytorch: "pass changing values as tensors: a Python number is a constant of the graph, which is compiled again for each of its values",
    any: "pass changing values as arguments, not as constants: a number of the host's language compiles a program for each of its values",
};

static SHAPES: Fix = Fix {
    jax: "give the function arguments of one shape: pad the batch to one size or to a few buckets, drop the last partial batch, and mask the padding",
    tensorflow: "give the function arguments of one shape: pad the batch to one size or to a few buckets, drop the last partial batch (`drop_remainder`), and mask the padding",
    pytorch: "give the graph inputs of one shape: pad the batch to one size or to a few buckets, drop the last partial batch (`drop_last`), and mask the padding",
    any: "give the program arguments of one shape: pad the batch to one size or to a few buckets, drop the last partial batch, and mask the padding",
};

static COUNT: Fix = Fix::jax_or(
    "give the function the same arguments each time: the structure of a pytree, optional values that are sometimes None",
    "give the function the same arguments each time: the structure of what holds them, optional values that are sometimes None",
);

static NOT_KNOWN: Fix = Fix::jax_or(
    "give the function arguments of one shape, type and sharding: pad or bucket the batch, keep Python numbers that change out of static arguments; jax_log_compiles and jax_explain_cache_misses say what differed",
    "give the program arguments of one shape, type and sharding: pad or bucket the batch, and pass numbers that change as arguments",
);

/// In what programs of one name differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// In nothing: the same program was compiled again.
    Nothing,
    /// In how many parameters they have: the fewest and the most.
    Count(usize, usize),
    /// In shapes or types of parameters: their numbers, and the shapes in words (`f32[8,16]`), each once.
    Shapes(Vec<(usize, Vec<String>)>),
    /// In what they compute from the same parameters, as where a constant differs.
    Computation,
}

/// So many shapes, and parameters, are named.
const LISTED: usize = 3;

impl Difference {
    /// That of these modules, of which so many are different by their fingerprints.
    #[must_use]
    pub fn of(modules: &[&Module], fingerprints: usize) -> Self {
        if fingerprints < 2 {
            return Self::Nothing;
        }
        let shapes: Vec<Vec<String>> = modules
            .iter()
            .map(|module| {
                let parameters = module.computation(module.entry()).parameters();
                parameters.iter().map(|p| format!("{:#}", module.instruction(*p).shape)).collect()
            })
            .collect();
        let counts: Vec<usize> = shapes.iter().map(Vec::len).collect();
        let least = counts.iter().min().copied().unwrap_or(0);
        let most = counts.iter().max().copied().unwrap_or(0);
        if least != most {
            return Self::Count(least, most);
        }
        let mut differing = Vec::new();
        for at in 0..most {
            let mut own: Vec<String> = shapes.iter().filter_map(|shapes| shapes.get(at).cloned()).collect();
            own.sort_unstable();
            own.dedup();
            if own.len() > 1 {
                differing.push((at, own));
            }
        }
        if differing.is_empty() { Self::Computation } else { Self::Shapes(differing) }
    }

    /// What to do about it; `None` stands for two programs that the profile does not hold both.
    #[must_use]
    pub fn fix(this: Option<&Self>) -> &'static Fix {
        match this {
            Some(Self::Nothing) => &NOTHING,
            Some(Self::Computation) => &COMPUTATION,
            Some(Self::Shapes(_)) => &SHAPES,
            Some(Self::Count(..)) => &COUNT,
            None => &NOT_KNOWN,
        }
    }

    /// In words: `parameter 3: f32[256,8] / f32[257,8] and 2 more`.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Nothing => "nothing: the same program was compiled again".to_owned(),
            Self::Count(least, most) => format!("the number of parameters: {least} to {most}"),
            Self::Computation => "what is computed; parameters have the same shapes".to_owned(),
            Self::Shapes(differing) => {
                let one = |(at, shapes): &(usize, Vec<String>)| {
                    let named =
                        shapes.iter().take(LISTED).map(String::as_str).collect::<Vec<_>>().join(" / ");
                    let more = shapes.len().saturating_sub(LISTED);
                    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                    format!("parameter {at}: {named}{more}")
                };
                let named = differing.iter().take(LISTED).map(one).collect::<Vec<_>>().join("; ");
                let more = differing.len().saturating_sub(LISTED);
                if more > 0 { format!("{named}; and {more} more") } else { named }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haloscope_time::fix::WrittenIn;

    fn module(shape: &str, number: &str) -> Module {
        let text = format!(
            "HloModule m\n\nENTRY e {{\n  p = {shape}{{0}} parameter(0)\n  c = f32[] constant({number})\n  ROOT r = {shape}{{0}} negate(p)\n}}\n"
        );
        Module::parse(&text).unwrap()
    }

    #[test]
    fn programs_differ_in_shapes_before_what_they_compute() {
        let (small, large, other) = (module("f32[8]", "1"), module("f32[9]", "1"), module("f32[8]", "2"));
        let shapes = Difference::of(&[&small, &large], 2);
        assert_eq!(shapes.words(), "parameter 0: f32[8] / f32[9]");
        assert_eq!(Difference::of(&[&small, &other], 2), Difference::Computation);
        assert_eq!(Difference::of(&[&small, &small], 1), Difference::Nothing);
    }

    #[test]
    fn what_differs_says_what_to_do() {
        let jax = |difference: Option<Difference>| {
            Difference::fix(difference.as_ref()).for_framework(WrittenIn::Jax)
        };
        assert!(jax(Some(Difference::Nothing)).contains("once, outside the loop"));
        let shapes = Difference::Shapes(vec![(3, vec!["f32[8]".into(), "f32[9]".into()])]);
        assert!(jax(Some(shapes)).contains("one shape"));
        assert!(jax(Some(Difference::Computation)).contains("as arguments"));
        assert!(jax(None).contains("jax_log_compiles"));
        // Another framework is not told JAX's options.
        let keras = Difference::fix(Some(&Difference::Nothing)).for_framework(WrittenIn::TensorFlow);
        assert!(keras.contains("tf.function") && !keras.contains("jax"));
    }
}
