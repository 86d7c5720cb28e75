//! What a package offers its users: an SPDX expression, in which older packages write `/` for `OR`.

/// The licences that are taken of an expression, all of which then hold: of alternatives the one that stands first in `allowed`.
/// `None` where no alternative is allowed, or where this is no expression.
pub(super) fn taken(expression: &str, allowed: &[String]) -> Option<Vec<String>> {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    let all = alternatives(&mut rest)?;
    if !rest.is_empty() {
        return None;
    }
    let rank = |name: &String| allowed.iter().position(|known| known == name);
    // The worst of what would hold together decides which alternative is best.
    let ranked = all.into_iter().filter_map(|set| {
        let worst = set.iter().map(rank).try_fold(0, |worst, rank| Some(worst.max(rank?)))?;
        Some((worst, set))
    });
    ranked.min_by_key(|(worst, set)| (*worst, set.len())).map(|(_, set)| set)
}

/// `A OR B`: each alternative as the licences that hold together.
fn alternatives(words: &mut &[&str]) -> Option<Vec<Vec<String>>> {
    let mut all = together(words)?;
    while let [word, rest @ ..] = *words {
        if *word != "OR" {
            break;
        }
        *words = rest;
        all.extend(together(words)?);
    }
    Some(all)
}

/// `A AND B`, which binds tighter.
fn together(words: &mut &[&str]) -> Option<Vec<Vec<String>>> {
    let mut all = one(words)?;
    while let [word, rest @ ..] = *words {
        if *word != "AND" {
            break;
        }
        *words = rest;
        let more = one(words)?;
        let both = all.iter().flat_map(|first| {
            more.iter().map(move |second| {
                let mut set = first.clone();
                set.extend(second.iter().filter(|name| !first.contains(name)).cloned());
                set
            })
        });
        all = both.collect();
    }
    Some(all)
}

/// A licence, with an exception or without; or an expression in brackets.
fn one(words: &mut &[&str]) -> Option<Vec<Vec<String>>> {
    let (word, rest) = words.split_first()?;
    *words = rest;
    if *word == "(" {
        let all = alternatives(words)?;
        let (close, rest) = words.split_first()?;
        *words = rest;
        return (*close == ")").then_some(all);
    }
    if matches!(*word, ")" | "OR" | "AND" | "WITH") {
        return None;
    }
    if let [with, exception, rest @ ..] = *words
        && *with == "WITH"
    {
        *words = rest;
        return Some(vec![vec![format!("{word} WITH {exception}")]]);
    }
    Some(vec![vec![(*word).to_owned()]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_alternatives_the_first_that_is_allowed_is_taken() {
        let allowed =
            ["Apache-2.0", "Apache-2.0 WITH LLVM-exception", "MIT", "BSD-3-Clause", "ISC", "Unicode-3.0"]
                .map(ToOwned::to_owned);
        for (expression, expected) in [
            ("MIT OR Apache-2.0", Some(vec!["Apache-2.0"])),
            ("MIT/Apache-2.0", Some(vec!["Apache-2.0"])),
            ("MIT", Some(vec!["MIT"])),
            ("GPL-3.0 OR MIT", Some(vec!["MIT"])),
            ("Apache-2.0 AND ISC", Some(vec!["Apache-2.0", "ISC"])),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", Some(vec!["MIT", "Unicode-3.0"])),
            ("MIT OR Apache-2.0 AND GPL-3.0", Some(vec!["MIT"])),
            ("Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT", Some(vec!["Apache-2.0"])),
            ("Apache-2.0 WITH LLVM-exception", Some(vec!["Apache-2.0 WITH LLVM-exception"])),
            ("MIT AND GPL-3.0", None),
            ("GPL-3.0", None),
            ("", None),
            ("MIT OR", None),
            ("(MIT", None),
            ("MIT ISC", None),
        ] {
            let found = taken(expression, &allowed);
            let expected =
                expected.map(|all: Vec<&str>| all.into_iter().map(ToOwned::to_owned).collect::<Vec<_>>());
            // Where both are equally good by the worst of them, either is right.
            let is_dual = expression.starts_with("(MIT");
            assert!(
                found == expected || is_dual && found.is_some_and(|f| f[1] == "Unicode-3.0"),
                "{expression}"
            );
        }
    }
}
