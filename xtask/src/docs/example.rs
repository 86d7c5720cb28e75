//! Examples: what the program prints, without running it.

use std::path::Path;

use anyhow::{Context, Result, bail};
use haloscope_analyses as analyses;
use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_report::present::{self, Layout};
use haloscope_report::scope::Scope;
use haloscope_report::{RunWords, both_words, quoted};
use haloscope_time::analysis::{self, Params};

/// The output of a command line such as `ops fixtures/runs/cpu-train --by category --limit 5`, as a block of a page.
///
/// # Errors
/// A command line that cannot be understood, or whatever the analysis says.
pub(super) fn render(command: &str, root: &Path) -> Result<String> {
    let mut words = command.split_whitespace().peekable();
    let mut id = words.next().context("expected an analysis")?.to_owned();
    if let Some(member) = words.next_if(|next| analyses::find(&format!("{id} {next}")).is_some()) {
        id = format!("{id} {member}");
    }
    let analysis = analyses::find(&id).with_context(|| format!("no analysis `{id}`"))?;
    let run = words.next().context("expected a run after the analysis")?;
    let mut others = Vec::new();
    while let Some(other) = words.next_if(|word| !word.starts_with("--")) {
        others.push(other);
    }
    let options = options(words)?;
    others.extend(options.iter().filter(|(name, _)| *name == BASELINE).map(|(_, path)| *path));
    let option = |name: &str| options.iter().find(|(n, _)| *n == name).map(|(_, value)| *value);
    let one = quoted(run);
    let both = both_words(&id, &one, &others.iter().map(|other| quoted(other)).collect::<Vec<_>>());
    let runs = RunWords { one: &one, both: &both };
    let mut layout = Layout { only: option("table"), runs, ..Layout::default() };
    if let Some(limit) = option("limit") {
        layout.limit = limit.parse().with_context(|| format!("--limit {limit}"))?;
    }
    let mut params = Params::default();
    for (name, value) in &options {
        if !SCOPE.iter().chain(&OUTPUT).chain([&BASELINE]).any(|known| known == name) {
            params.set(name, value);
        }
    }
    let report = if analysis.works_alone() && run.ends_with(".txt") {
        let text = std::fs::read_to_string(root.join(run)).with_context(|| format!("cannot read {run}"))?;
        params.set(haloscope_oom::MESSAGE.id, &text);
        analysis::run_alone(analysis, &params)?
    } else {
        let open = |run: &str| anyhow::Ok(load::open(&load::find(&root.join(run))?)?);
        let profile = open(run)?;
        let others: Vec<Profile> = others.into_iter().map(open).collect::<Result<_>>()?;
        let others: Vec<&Profile> = others.iter().collect();
        let scope = Scope::from_words(option)?;
        analysis::run_with(analysis, &profile, &others, &scope, &params)?
    };
    if let Some(table) = layout.only
        && report.table(table).is_none()
        && report.tree(table).is_none()
    {
        bail!("`{id}` gave no table `{table}`");
    }
    let brief = analysis.brief().filter(|_| layout.only.is_none() && option("all").is_none());
    let mut out = Vec::new();
    if let Some(numbers) = brief {
        present::brief(&report, numbers, &layout, &mut out)?;
    } else if report.texts.is_empty() || !report.tables.is_empty() || !report.trees.is_empty() {
        present::table(&report, &layout, &mut out)?;
    } else {
        present::texts(&report, &mut out)?;
    }
    let out = String::from_utf8(out)?;
    Ok(format!("```console\n$ haloscope {command}\n{}\n```\n", out.trim_end()))
}

/// Options of every analysis that choose a part of the run.
const SCOPE: [&str; 6] = ["hosts", "devices", "modules", "steps", "window", "steady"];
/// The option that names the run to be held against.
const BASELINE: &str = "baseline";
/// Options of every analysis that choose how the answer is written.
const OUTPUT: [&str; 3] = ["table", "limit", "all"];
/// Those that have no value.
const FLAGS: [&str; 2] = ["steady", "all"];

/// Pairs of option and value; [`FLAGS`] have none.
fn options<'a>(words: impl Iterator<Item = &'a str>) -> Result<Vec<(&'a str, &'a str)>> {
    let mut words = words.peekable();
    let mut out = Vec::new();
    while let Some(word) = words.next() {
        let name = word.strip_prefix("--").with_context(|| format!("expected an option, found `{word}`"))?;
        let value = if FLAGS.contains(&name) { "1" } else { words.next().context("expected a value")? };
        out.push((name, value));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_is_what_the_program_prints() {
        let text =
            render("ops fixtures/runs/cpu-train --by module --table ops --limit 2 --steady", &crate::root());
        let text = text.unwrap();
        assert!(
            text.starts_with("```console\n$ haloscope ops fixtures/runs/cpu-train --by module"),
            "{text}"
        );
        assert!(text.contains("\njit_train_step ") && text.ends_with("\n```\n"), "{text}");
        assert!(text.lines().skip(2).all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn a_bad_command_line_is_named() {
        let error = |command| format!("{:#}", render(command, &crate::root()).unwrap_err());
        assert!(error("nothing x").contains("no analysis `nothing`"));
        assert!(error("ops fixtures/runs/cpu-train --by").contains("expected a value"));
        assert!(error("ops fixtures/runs/cpu-train --speed 3").contains("no parameter `speed`"));
        assert!(error("ops fixtures/runs/cpu-train --table x").contains("no table `x`"));
    }
}
