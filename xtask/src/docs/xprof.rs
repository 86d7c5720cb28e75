//! The generated part of `docs/xprof.md`: the tools with their parameters, and where their answers are knowingly not XProf's.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use haloscope_compat::{Hosts, TOOLS};
use serde::Deserialize;

use super::reference::cell;

/// An entry of `fixtures/parity/known.json`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    /// The tool, or `*` for all.
    tool: String,
    /// A regular expression on the path of the leaf.
    path: String,
    /// Why XProf's answer is not given.
    why: String,
}

/// The tables as Markdown.
///
/// # Errors
/// A list of known differences that cannot be read, or names a tool that is not there.
pub(super) fn render(root: &Path) -> Result<String> {
    let path = root.join("fixtures/parity/known.json");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let known: Vec<Known> = serde_json::from_str(&text).with_context(|| format!("in {}", path.display()))?;
    if let Some(stray) = known.iter().find(|k| k.tool != "*" && !TOOLS.iter().any(|tool| tool.id == k.tool)) {
        anyhow::bail!("{}: there is no tool `{}`", path.display(), stray.tool);
    }
    Ok(tools() + &differences(&known))
}

fn tools() -> String {
    let mut out =
        String::from("## Tools\n\n| tool | what it shows | hosts | parameters |\n|---|---|---|---|\n");
    for tool in TOOLS {
        let hosts = match tool.hosts {
            Hosts::One => "one",
            Hosts::OneOrAll => "one or `ALL_HOSTS`",
            Hosts::All => "all together",
            Hosts::Several => "any, `hosts=a,b`",
        };
        let params: Vec<_> = tool.params.iter().map(|p| format!("`{}`: {}", p.id, cell(p.doc))).collect();
        let params = if params.is_empty() { "none".to_owned() } else { params.join("<br>") };
        out += &format!("| `{}` | {} | {hosts} | {params} |\n", tool.id, cell(tool.doc));
    }
    out
}

fn differences(known: &[Known]) -> String {
    let mut out = String::from("\n## Known differences\n\n");
    if known.is_empty() {
        out += "None.\n";
        return out;
    }
    out += "Where XProf 2.24.2 contradicts its own definition. A test holds both answers.\n\n";
    out += "| tool | where in the answer | why |\n|---|---|---|\n";
    for Known { tool, path, why } in known {
        let tool = if tool == "*" { "every tool".to_owned() } else { format!("`{tool}`") };
        out += &format!("| {tool} | `{}` | {} |\n", cell(path), cell(why));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_and_parameter_is_listed_and_every_difference_has_a_reason() {
        let text = render(&crate::root()).unwrap();
        for tool in TOOLS {
            assert!(text.contains(&format!("| `{}` | ", tool.id)), "{}", tool.id);
            assert!(tool.params.iter().all(|p| text.contains(&format!("`{}`: ", p.id))), "{}", tool.id);
        }
    }

    #[test]
    fn a_difference_is_a_row() {
        let known = |tool: &str| Known { tool: tool.into(), path: "a|b".into(), why: "wrong".into() };
        let text = differences(&[known("*"), known("hlo_stats")]);
        assert!(
            text.ends_with("| every tool | `a\\|b` | wrong |\n| `hlo_stats` | `a\\|b` | wrong |\n"),
            "{text}"
        );
        assert!(differences(&[]).ends_with("None.\n"));
    }
}
