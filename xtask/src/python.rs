//! `cargo xtask python`: the methods of the Python package that stand for analyses, from the registry, and whether they are what
//! would be written.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result, bail};
use haloscope_analyses::ALL;
use haloscope_analyses::python::{argument, method};
use haloscope_time::analysis::{Analysis, Others, Param, ParamKind};

use crate::{root, say};

/// What is generated.
const PLACE: &str = "python/haloscope/_analyses.py";

#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(false))]
pub(crate) struct Args {
    /// Rewrite what is generated
    #[arg(long, group = "what")]
    write: bool,
    /// Fail if it is stale
    #[arg(long, group = "what")]
    check: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let path = root().join(PLACE);
    let new = module();
    let old = fs::read_to_string(&path).unwrap_or_default();
    if args.write && new != old {
        fs::write(&path, new).with_context(|| format!("cannot write {PLACE}"))?;
        say(&format!("python: wrote {PLACE}"));
    } else if new != old {
        bail!("{PLACE} is stale; rewrite with: cargo xtask python --write");
    }
    say(&format!("python: {} analyses are methods", ALL.len()));
    Ok(())
}

const HEAD: &str = r#"# Written by `cargo xtask python --write` from the registry of analyses: do not edit.
"""One method an analysis, and a function for each that needs no run."""

from __future__ import annotations

from . import _native
from ._asked import Asked, Document, words
from ._report import Report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from ._asked import Baselines, DocumentLike, Names, RunLike, Steps, Texts, Window
"#;

const SCOPE: &str = "        hosts: Names = None,\n        devices: Names = None,\n        modules: Names = None,\n        steps: Steps = None,\n        \
                     window: Window = None,\n        steady: bool = False,\n";

/// The whole module.
fn module() -> String {
    let mut out = HEAD.to_owned();
    out += "\n\nclass Analyses(Asked):\n    \"\"\"What a run can be asked.\"\"\"\n";
    for analysis in ALL {
        out += &one(analysis);
    }
    for analysis in ALL.iter().filter(|analysis| analysis.works_alone()) {
        out += &alone(analysis);
    }
    let named = ALL.iter().filter(|analysis| analysis.works_alone()).map(|analysis| method(analysis));
    let named: Vec<String> = named.map(|name| format!("\"{name}\"")).collect();
    let _ = write!(out, "\n\n__all__ = [\"Analyses\", {}]\n", named.join(", "));
    out
}

/// The method of an analysis.
fn one(analysis: &Analysis) -> String {
    let mut out = format!("\n    def {}(\n        self,\n", method(analysis));
    let others = match analysis.others() {
        Others::None => {
            out += "        *,\n";
            "()"
        }
        Others::One => {
            out += "        other: RunLike | None = None,\n        *,\n";
            "() if other is None else (other,)"
        }
        Others::Many => {
            out += "        *others: RunLike,\n";
            "others"
        }
        Others::Baseline => {
            out += "        baseline: Baselines = None,\n        *,\n";
            "baseline"
        }
    };
    out += SCOPE;
    for param in analysis.params {
        let _ = writeln!(out, "        {}: {} = {},", argument(param.id), hint(param), unset(param));
    }
    out += "    ) -> Report:\n";
    out += &docstring(analysis, "        ");
    let _ =
        writeln!(out, "        return self._ask(\n            \"{}\",\n            {others},", analysis.id);
    out += "            (hosts, devices, modules, steps, window, steady),\n";
    let _ = writeln!(out, "            {},\n        )", values(analysis, "            "));
    out
}

/// The function of an analysis that needs no run.
fn alone(analysis: &Analysis) -> String {
    let mut out = format!("\n\ndef {}(\n    *,\n", method(analysis));
    for param in analysis.params {
        let _ = writeln!(out, "    {}: {} = {},", argument(param.id), hint(param), unset(param));
    }
    out += ") -> Report:\n";
    out += &docstring(analysis, "    ");
    let _ = writeln!(
        out,
        "    return Report(_native.alone(\n        \"{}\",\n        words({}),\n    ))",
        analysis.id,
        values(analysis, "        ")
    );
    out
}

/// The values of parameters by id, as a dictionary.
fn values(analysis: &Analysis, indent: &str) -> String {
    if analysis.params.is_empty() {
        return "{}".to_owned();
    }
    let mut out = "{\n".to_owned();
    for param in analysis.params {
        let name = argument(param.id);
        let value = if param.kind == ParamKind::Document { format!("Document({name})") } else { name };
        let _ = writeln!(out, "{indent}    \"{}\": {value},", param.id);
    }
    out + indent + "}"
}

fn docstring(analysis: &Analysis, indent: &str) -> String {
    let mut out = format!("{indent}\"\"\"{}", escaped(analysis.question));
    if analysis.params.is_empty() {
        return out + "\"\"\"\n";
    }
    out += "\n\n";
    for param in analysis.params {
        let default = if param.default.is_empty() || param.default == "no" {
            String::new()
        } else {
            format!(" [default: {}]", param.default)
        };
        let _ = writeln!(out, "{indent}{}: {}{default}", argument(param.id), escaped(param.doc));
    }
    out + indent + "\"\"\"\n"
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace("\"\"\"", "'''")
}

/// The type of a parameter's values.
fn hint(param: &Param) -> String {
    match param.kind {
        ParamKind::Choice(&["no", "yes"]) => "bool | None".to_owned(),
        ParamKind::Choice(choice) => {
            let quoted: Vec<String> = choice.iter().map(|word| format!("\"{word}\"")).collect();
            format!("Literal[{}] | None", quoted.join(", "))
        }
        ParamKind::Count => "int | None".to_owned(),
        ParamKind::Quantity => "float | str | None".to_owned(),
        ParamKind::Text => "str | int | None".to_owned(),
        ParamKind::Texts => "Texts".to_owned(),
        ParamKind::Document => "DocumentLike".to_owned(),
        ParamKind::Flag => "bool".to_owned(),
    }
}

/// What stands for nothing given.
fn unset(param: &Param) -> &'static str {
    if param.kind == ParamKind::Flag { "False" } else { "None" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_analysis_is_a_method_with_its_parameters() {
        let text = module();
        for analysis in ALL {
            assert!(
                text.contains(&format!("    def {}(\n        self,\n", method(analysis))),
                "{}",
                analysis.id
            );
            for param in analysis.params {
                assert!(text.contains(&format!("        {}: ", argument(param.id))), "{}", param.id);
            }
        }
        assert!(text.contains("\ndef oom(\n    *,\n") && !text.contains("\ndef ops("));
        assert!(text.contains("\"if\": if_,"), "a word of Python's own is no argument");
    }

    #[test]
    fn what_is_committed_is_what_would_be_written() {
        let old = fs::read_to_string(root().join(PLACE)).unwrap();
        assert!(old == module(), "{PLACE} is stale; rewrite with: cargo xtask python --write");
    }
}
