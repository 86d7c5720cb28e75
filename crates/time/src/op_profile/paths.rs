//! Under which groups an op stands.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::ops::Op;
use haloscope_report::DEEPEST;

/// What ops are called that do not say where they come from.
const NOT_RECORDED: &str = "(not recorded)";

/// Levels beside those of scopes: the root, the program, copies, the op.
const OTHER_LEVELS: usize = 4;

/// One level of an op's path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Step<'a> {
    pub(super) kind: &'static str,
    pub(super) label: Cow<'a, str>,
}

/// Knows how programs are labelled.
pub(super) struct Paths {
    /// For each module's name the first program of that name, and whether others have it too.
    programs: FxHashMap<String, (Option<u64>, bool)>,
}

impl Paths {
    pub(super) fn of(ops: &[Op<'_>]) -> Self {
        let mut programs: FxHashMap<String, (Option<u64>, bool)> = FxHashMap::default();
        for op in ops {
            let entry = programs.entry(op.module.to_string()).or_insert((op.meta.program_id, false));
            entry.1 |= entry.0 != op.meta.program_id;
        }
        Self { programs }
    }

    /// The groups around an op, outermost first.
    pub(super) fn path<'a>(&self, op: &'a Op<'_>, by: &str) -> Vec<Step<'a>> {
        let category = Step { kind: "category", label: named(&op.meta.category) };
        let mut path = match by {
            "category" => vec![category],
            "provenance" => {
                let scopes = scopes(&op.meta.framework_op).into_iter();
                let scopes = scopes.map(|label| Step { kind: "scope", label });
                std::iter::once(self.program(op)).chain(scopes).collect()
            }
            "source" => source(&op.meta.source),
            _ => vec![self.program(op), category],
        };
        let copies =
            if op.meta.deduplicated_name.is_empty() { &op.meta.name } else { &op.meta.deduplicated_name };
        path.push(Step { kind: "duplicates", label: Cow::Borrowed(copies.as_ref()) });
        path
    }

    fn program<'a>(&self, op: &'a Op<'_>) -> Step<'a> {
        let several = self.programs.get(op.module.as_ref()).is_some_and(|(_, several)| *several);
        let label = match op.meta.program_id {
            Some(id) if several || op.module.is_empty() => Cow::Owned(format!("{}({id})", op.module)),
            _ => named(&op.module),
        };
        Step { kind: "program", label }
    }
}

fn named(text: &str) -> Cow<'_, str> {
    Cow::Borrowed(if text.is_empty() { NOT_RECORDED } else { text })
}

/// The scopes of a path, outermost first; a slash in brackets, as in `jvp(a/b)`, ends none. Those too deep to be shown are one.
fn scopes(path: &str) -> Vec<Cow<'_, str>> {
    let mut parts = Vec::new();
    let (mut from, mut open) = (0, 0_usize);
    for (at, byte) in path.bytes().enumerate() {
        match byte {
            b'(' | b'[' => open += 1,
            b')' | b']' => open = open.saturating_sub(1),
            b'/' if open == 0 => {
                parts.push(&path[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&path[from..]);
    parts.retain(|part| !part.is_empty());
    let most = DEEPEST - OTHER_LEVELS;
    if parts.is_empty() {
        return vec![Cow::Borrowed(NOT_RECORDED)];
    }
    if parts.len() <= most {
        return parts.into_iter().map(Cow::Borrowed).collect();
    }
    let rest = parts.split_off(most - 1).join("/");
    parts.into_iter().map(Cow::Borrowed).chain([Cow::Owned(rest)]).collect()
}

/// `model.py:127`: the file and the line.
fn source(text: &str) -> Vec<Step<'_>> {
    let number = text.rsplit_once(':').filter(|(_, line)| line.parse::<u32>().is_ok());
    let step = |kind, label| Step { kind, label };
    match number {
        Some((file, line)) => vec![step("file", named(file)), step("line", Cow::Borrowed(line))],
        None => vec![step("file", named(text))],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_end_at_slashes_outside_of_brackets() {
        assert_eq!(scopes("jit(f)/jvp(a/b)//dot_general"), ["jit(f)", "jvp(a/b)", "dot_general"]);
        assert_eq!(scopes(""), [NOT_RECORDED]);
        assert_eq!(scopes("a)/b"), ["a)", "b"]);
        let deep = scopes(&"a/".repeat(100_000)).len();
        assert_eq!(deep, DEEPEST - OTHER_LEVELS);
    }

    #[test]
    fn a_source_is_a_file_and_a_line() {
        let labels = |text| source(text).into_iter().map(|s| s.label.into_owned()).collect::<Vec<_>>();
        assert_eq!(labels("C:/a/model.py:12"), ["C:/a/model.py", "12"]);
        assert_eq!(labels("model.py"), ["model.py"]);
        assert_eq!(labels(""), [NOT_RECORDED]);
    }
}
