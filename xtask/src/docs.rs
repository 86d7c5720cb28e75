//! `cargo xtask docs`: the parts of `docs/` that the code can write itself, and whether they are what it would write.
//!
//! A page keeps its prose. What stands between a pair of markers is written here: the reference of an analysis (from the
//! registry, and from its reports on the fixtures), examples (the program's own output), and lists of pages. Every remark
//! on the data and every finding that the code can make must be explained in the prose, and links must point at something.
//! The page's types are written here too: [`types`].

mod example;
mod links;
mod markers;
mod reference;
mod remarks;
mod runs;
mod types;
mod xprof;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use haloscope_analyses as analyses;
use haloscope_analyses::FAMILIES;
use haloscope_time::analysis::{Also, Analysis};

use crate::{root, say};
use markers::Marker;
use runs::Runs;

/// The run that a new page shows.
const EXAMPLE_RUN: &str = "fixtures/runs/cpu-train";

#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(false))]
pub(crate) struct Args {
    /// Rewrite what is generated
    #[arg(long, group = "what")]
    write: bool,
    /// Fail if anything generated is stale, a remark of the code is not explained, or a link is broken
    #[arg(long, group = "what")]
    check: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let root = root();
    let docs = root.join("docs");
    let runs = Runs::open(&root)?;
    let mut pages = vec![docs.join("README.md"), docs.join("automation.md"), docs.join("xprof.md")];
    for analysis in analyses::ALL {
        let page = docs.join("analyses").join(format!("{}.md", analysis.slug()));
        if !page.exists() && args.write {
            fs::create_dir_all(docs.join("analyses"))?;
            fs::write(&page, skeleton(analysis))?;
        }
        pages.push(page);
    }
    let mut wrong = remarks::unexplained(&root)?;
    wrong.extend(links::broken(&root)?);
    for page in &pages {
        let name = page.strip_prefix(&root).unwrap_or(page).display();
        let old = fs::read_to_string(page)
            .with_context(|| format!("cannot read {name}; `cargo xtask docs --write` starts a page"))?;
        let new = markers::fill(&old, |marker| generate(marker, page, &runs))
            .with_context(|| format!("in {name}"))?;
        if new == old {
            continue;
        }
        if args.write {
            fs::write(page, new).with_context(|| format!("cannot write {name}"))?;
            say(&format!("docs: wrote {name}"));
        } else {
            wrong.push(format!(
                "{name} is stale ({}); rewrite with: cargo xtask docs --write",
                first_difference(&old, &new)
            ));
        }
    }
    let place = root.join(types::PLACE);
    let (old, new) =
        (fs::read_to_string(&place).unwrap_or_default(), types::Shapes::read(&root)?.typescript());
    if new != old && args.write {
        fs::write(&place, new).with_context(|| format!("cannot write {}", types::PLACE))?;
        say(&format!("docs: wrote {}; build the page anew: `npm run build` in web/", types::PLACE));
    } else if new != old {
        let place = types::PLACE;
        wrong.push(format!(
            "{place} is stale ({}); rewrite with: cargo xtask docs --write",
            first_difference(&old, &new)
        ));
    }
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    say(&format!("docs: {} pages are what the code says", pages.len()));
    Ok(())
}

/// What belongs between a pair of markers.
fn generate(marker: &Marker<'_>, page: &Path, runs: &Runs) -> Result<String> {
    match *marker {
        Marker::Example(command) => example::render(command, &root()),
        Marker::Generated => match page.file_stem().and_then(|s| s.to_str()) {
            Some("README") => Ok(index()),
            Some("automation") => Ok(tools()),
            Some("xprof") => xprof::render(&root()),
            Some(id) if analyses::find(id).is_some() => {
                let analysis = analyses::find(id).context("just found")?;
                reference::render(analysis, runs)
            }
            _ => bail!("nothing is generated for this page; remove the markers"),
        },
    }
}

/// The table of analyses.
fn index() -> String {
    let mut out = String::from("| analysis | the question it answers |\n|---|---|\n");
    for analysis in analyses::ALL {
        out += &format!("| [`{}`](analyses/{}.md) | {} |\n", analysis.id, analysis.slug(), analysis.question);
    }
    out
}

/// The tools for agents that the registry gives.
fn tools() -> String {
    let mut out = String::from("| tool | what it says |\n|---|---|\n");
    for analysis in analyses::ALL.iter().filter(|analysis| analysis.also.contains(&Also::Tool)) {
        out += &format!("| `{}` | {} |\n", analysis.slug().replace('-', "_"), analysis.question);
    }
    for family in FAMILIES {
        let words: Vec<String> = analyses::members(family.id).map(|(word, _)| format!("`{word}`")).collect();
        let words = words
            .join(", ")
            .replace(&format!("`{}`", family.usual), &format!("`{}` (the default)", family.usual));
        out += &format!("| `{}` | {}. `what`: {words} |\n", family.id, family.about);
    }
    let slugs: Vec<String> = analyses::ALL.iter().map(|analysis| format!("`{}`", analysis.slug())).collect();
    out += &format!("| `report` | any analysis by its name: {} |\n", slugs.join(", "));
    out
}

fn skeleton(analysis: &Analysis) -> String {
    format!(
        "# `{id}`\n\n{question}\n\n## Example\n\n<!-- example: {id} {EXAMPLE_RUN} -->\n<!-- example: end -->\n\n\
         ## Reference\n\n<!-- generated: start -->\n<!-- generated: end -->\n",
        id = analysis.id,
        question = analysis.question
    )
}

/// Where two texts begin to differ, in words.
fn first_difference(old: &str, new: &str) -> String {
    let line = old.lines().zip(new.lines()).position(|(a, b)| a != b);
    let line = line.unwrap_or_else(|| old.lines().count().min(new.lines().count()));
    let of = |text: &str| text.lines().nth(line).unwrap_or("the end").to_owned();
    format!("line {}: `{}` would be `{}`", line + 1, of(old), of(new))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Here too, so that a change of words fails the tests and not only what comes after them.
    #[test]
    fn the_reference_is_what_the_code_says() {
        run(&Args { check: true, write: false }).unwrap();
    }

    #[test]
    fn a_new_page_has_places_for_all_that_is_generated() {
        let text = skeleton(analyses::ALL[0]);
        let mut kinds = Vec::new();
        let filled = markers::fill(&text, |marker| {
            kinds.push(matches!(marker, Marker::Generated));
            Ok("x\n".into())
        });
        assert_eq!(kinds, [false, true]);
        assert_eq!(filled.unwrap().matches("\nx\n").count(), 2);
    }

    #[test]
    fn the_first_difference_is_named() {
        assert_eq!(first_difference("a\nb\nc", "a\nB\nc"), "line 2: `b` would be `B`");
        assert_eq!(first_difference("a", "a\nb"), "line 2: `the end` would be `b`");
    }

    #[test]
    fn the_index_names_every_analysis() {
        let text = index();
        assert!(analyses::ALL.iter().all(|a| text.contains(&format!("analyses/{}.md", a.slug()))));
    }
}
