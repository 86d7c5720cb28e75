//! What analyses and their parameters are called in Python: by the package's methods, and where reports speak of these.

use haloscope_time::analysis::Analysis;

/// Words that Python keeps for itself.
const TAKEN: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// The method of a run that asks an analysis: `memory_peak` of `memory peak`.
#[must_use]
pub fn method(analysis: &Analysis) -> String {
    argument(analysis.id)
}

/// A name as an argument: `_` for what stands between words, and behind a word that Python keeps for itself.
#[must_use]
pub fn argument(id: &str) -> String {
    let name = id.replace(['-', ' '], "_");
    if TAKEN.contains(&name.as_str()) { format!("{name}_") } else { name }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_names_of_python_and_each_means_one_thing() {
        let mut methods = BTreeSet::new();
        for analysis in crate::ALL {
            assert!(methods.insert(method(analysis)), "{}", analysis.id);
            let names: Vec<String> = analysis.params.iter().map(|param| argument(param.id)).collect();
            let different: BTreeSet<&String> = names.iter().collect();
            assert_eq!(names.len(), different.len(), "{}", analysis.id);
            for name in methods.iter().chain(&names) {
                assert!(
                    name.bytes().all(|b| b == b'_' || b.is_ascii_lowercase() || b.is_ascii_digit()),
                    "{name}"
                );
            }
        }
        assert_eq!((argument("if").as_str(), argument("min-bytes").as_str()), ("if_", "min_bytes"));
    }
}
