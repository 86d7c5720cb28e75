//! What is matched, as groups of ops.

use super::matching::{How, Matches};
use super::waterfall::Group;

impl Group {
    /// The groups of a match, and how each pair was known again: pairs, then what was regrouped, is gone, is new.
    #[must_use]
    pub fn all(matches: &Matches<'_>) -> Vec<(Self, Option<How>)> {
        let pairs = matches.pairs.iter().map(|p| (Self { a: vec![p.a], b: vec![p.b] }, Some(p.how)));
        let regrouped = matches.regrouped.iter().map(|r| (Self { a: r.a.clone(), b: r.b.clone() }, None));
        let gone = matches.gone.iter().map(|a| (Self { a: vec![*a], b: Vec::new() }, None));
        let new = matches.new.iter().map(|b| (Self { a: Vec::new(), b: vec![*b] }, None));
        pairs.chain(regrouped).chain(gone).chain(new).collect()
    }
}
