//! Instructions and computations by name, and what was meant where there is none.

use haloscope_hlo::{ComputationIdx, InstructionIdx, Module};

use haloscope_report::Error;

/// Names that a message suggests.
const SUGGESTED: usize = 5;

/// Longer names are not compared letter by letter.
const LONGEST: usize = 64;

/// The instruction of a name, with or without `%`; that of a computation stands for its root.
pub(super) fn instruction(module: &Module, name: &str) -> Result<InstructionIdx, Error> {
    let bare = name.strip_prefix('%').unwrap_or(name);
    let root = || module.computation_by_name(bare).map(|found| module.computation(found).root);
    module.instruction_by_name(bare).or_else(root).ok_or_else(|| {
        let names = module.instructions().map(|(_, i)| i.name.as_str());
        unknown("instruction", bare, names, &module.name)
    })
}

/// The computation of a name, with or without `%`.
pub(super) fn computation(module: &Module, name: &str) -> Result<ComputationIdx, Error> {
    let bare = name.strip_prefix('%').unwrap_or(name);
    module.computation_by_name(bare).ok_or_else(|| {
        let names = module.computations().map(|(_, c)| c.name.as_str());
        unknown("computation", bare, names, &module.name)
    })
}

fn unknown<'n>(kind: &str, name: &str, names: impl Iterator<Item = &'n str>, module: &str) -> Error {
    let near = nearest(name, names).join(", ");
    Error::Usage(format!("no {kind} `{name}` in `{module}`; similar: {near}"))
}

/// The names that are most like one: first those that it is a part of, then by the letters to change.
pub fn nearest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let rank = |other: &'n str| {
        let part = !name.is_empty() && other.contains(name);
        (if part { other.len() - name.len() } else { 1_000 + distance(name, other) }, other)
    };
    let mut ranked: Vec<(usize, &str)> = names.map(rank).collect();
    ranked.sort_unstable();
    ranked.dedup();
    ranked.into_iter().take(SUGGESTED).map(|(_, name)| name).collect()
}

/// Letters to change, add or leave out to make one name of another (Levenshtein's distance).
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len().max(b.len()) > LONGEST {
        return a.len().max(b.len());
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut before = i;
        for (j, y) in b.iter().enumerate() {
            let change = before + usize::from(x != y);
            before = row[j + 1];
            let left = row[j];
            row[j + 1] = change.min(before + 1).min(if j == 0 { i + 2 } else { left + 1 });
        }
        row[0] = i + 1;
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_counted() {
        for (a, b, letters) in
            [("", "", 0), ("a", "", 1), ("", "ab", 2), ("fusion.1", "fusion.12", 1), ("kitten", "sitting", 3)]
        {
            assert_eq!(distance(a, b), letters, "{a} {b}");
            assert_eq!(distance(b, a), letters, "{b} {a}");
        }
    }

    #[test]
    fn parts_come_first() {
        let names = ["add.1", "fusion.11", "fuson", "loop_fusion.1", "fusion.1.clone"];
        assert_eq!(
            nearest("fusion.1", names.into_iter()),
            ["fusion.11", "loop_fusion.1", "fusion.1.clone", "fuson", "add.1"]
        );
    }
}
