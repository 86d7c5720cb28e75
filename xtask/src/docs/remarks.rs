//! Remarks on the data and findings: every one that the code can make is explained in the documentation.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// Where remarks on the data are explained, each under a heading of its own.
const REMARKS: &str = "docs/data-quality.md";
/// Where findings are named: on the page of an analysis, or where the ledger is explained.
const FINDINGS: &str = "docs/analyses";
const LEDGER: &str = "docs/comparison.md";

/// What is not explained, and what is explained but cannot be said any more.
pub(super) fn unexplained(root: &Path) -> Result<Vec<String>> {
    let mut sources = Vec::new();
    for entry in fs::read_dir(root.join("crates"))? {
        collect(&entry?.path().join("src"), &mut sources)?;
    }
    let texts = sources.iter().map(fs::read_to_string).collect::<Result<Vec<_>, _>>()?;
    let remarks = ["notes.add(", "Quality { id:"];
    let said: BTreeSet<&str> = texts
        .iter()
        .flat_map(|text| remarks.into_iter().flat_map(|opening| ids_after(text, opening)))
        .collect();
    let found: BTreeSet<&str> = texts.iter().flat_map(|text| ids_after(text, "Finding { id:")).collect();
    ensure!(!said.is_empty() && !found.is_empty(), "found no remark or no finding in crates/*/src");
    let read =
        |page: &str| fs::read_to_string(root.join(page)).with_context(|| format!("cannot read {page}"));
    let page = read(REMARKS)?;
    let explained: BTreeSet<&str> = headings(&page).collect();
    let mut wrong = Vec::new();
    for id in said.difference(&explained) {
        wrong.push(format!("{REMARKS}: the remark `{id}` is not explained; add a heading ### `{id}`"));
    }
    for id in explained.difference(&said) {
        wrong.push(format!("{REMARKS}: no code makes the remark `{id}` any more; remove its heading"));
    }
    let mut page = read(LEDGER)?;
    for entry in fs::read_dir(root.join(FINDINGS)).with_context(|| format!("cannot read {FINDINGS}"))? {
        page.push_str(&fs::read_to_string(entry?.path())?);
    }
    for id in found.iter().filter(|id| !page.contains(&format!("`{id}`"))) {
        wrong.push(format!("{FINDINGS}: the finding `{id}` is not explained"));
    }
    Ok(wrong)
}

/// Rust files below a folder, those of tests excepted.
fn collect(folder: &Path, out: &mut Vec<std::path::PathBuf>) -> Result<()> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, out)?;
        } else if path.extension().is_some_and(|e| e == "rs")
            && path.file_stem().is_some_and(|s| s != "tests")
        {
            out.push(path);
        }
    }
    Ok(())
}

/// The string literals that stand right behind `opening`, whatever white space is in either.
fn ids_after<'a>(text: &'a str, opening: &str) -> Vec<&'a str> {
    let mut out = Vec::new();
    for (at, _) in text.char_indices() {
        let Some(rest) = strip_loosely(&text[at..], opening) else { continue };
        let literal = rest.trim_start().strip_prefix('"').and_then(|r| r.split_once('"'));
        out.extend(literal.map(|(id, _)| id));
    }
    out
}

/// `text` behind `prefix`; a space in the prefix stands for any white space.
fn strip_loosely<'a>(mut text: &'a str, prefix: &str) -> Option<&'a str> {
    for (i, word) in prefix.split(' ').enumerate() {
        if i > 0 {
            text = text.trim_start();
        }
        text = text.strip_prefix(word)?;
    }
    Some(text)
}

/// Ids in headings of the form ### `id`.
fn headings(page: &str) -> impl Iterator<Item = &str> {
    page.lines().filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_whatever_the_layout() {
        let text = "notes.add(\"one\", x); notes.add(\n    \"two\",\n notes.add(id, \"no\")\nFinding {\n  id: \"three\",\n";
        assert_eq!(ids_after(text, "notes.add("), ["one", "two"]);
        assert_eq!(ids_after(text, "Finding { id:"), ["three"]);
    }

    #[test]
    fn every_remark_of_the_code_is_explained() {
        assert_eq!(unexplained(&crate::root()).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn headings_are_read() {
        let page = "# x\n### `a_b`\ntext `c`\n## `d`\n";
        assert_eq!(headings(page).collect::<Vec<_>>(), ["a_b"]);
    }
}
