//! Links between pages: what they point at is there.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

/// Links in the pages of `docs/` and of the root that point at files that are not there.
pub(super) fn broken(root: &Path) -> Result<Vec<String>> {
    let mut pages = Vec::new();
    collect(&root.join("docs"), true, &mut pages)?;
    collect(root, false, &mut pages)?;
    pages.sort_unstable();
    let mut wrong = Vec::new();
    for page in &pages {
        let text = fs::read_to_string(page)?;
        let folder = page.parent().unwrap_or(root);
        for target in targets(&text).filter(|t| !folder.join(t).exists()) {
            let name = page.strip_prefix(root).unwrap_or(page).display();
            wrong.push(format!("{name}: nothing is at the link {target}"));
        }
    }
    Ok(wrong)
}

fn collect(folder: &Path, deep: bool, out: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            if deep {
                collect(&path, true, out)?;
            }
        } else if path.extension().is_some_and(|e| e == "md") {
            out.push(path);
        }
    }
    Ok(())
}

/// Files that links of a page point at, relative to it; without links to other hosts and within the page.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    // Every second part lies within a fenced block.
    let prose = text.split("```").step_by(2);
    let links = prose.flat_map(|part| part.split("](").skip(1)).filter_map(|rest| rest.split_once(')'));
    let files = links.map(|(target, _)| target.split('#').next().unwrap_or_default());
    files.filter(|target| !target.is_empty() && !target.contains("://"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_links_to_files_count() {
        let page = "[a](x.md#part) `b` [c](https://e.org/) [d](#here) (e)\n```\n[f](g.md)\n```\n[h](../i/)";
        assert_eq!(targets(page).collect::<Vec<_>>(), ["x.md", "../i/"]);
    }

    #[test]
    fn a_broken_link_is_named() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("docs")).unwrap();
        fs::write(root.path().join("docs/a.md"), "[b](b.md) [c](../c.md)").unwrap();
        fs::write(root.path().join("c.md"), "[a](docs/a.md)").unwrap();
        assert_eq!(broken(root.path()).unwrap(), ["docs/a.md: nothing is at the link b.md"]);
    }
}
