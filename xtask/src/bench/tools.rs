//! Every tool of XProf's, cold in a fresh process: ours, XProf's, and xprof-rs's where it has the tool.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use serde::Serialize;

use super::{median, peers::Peer, process};
use crate::talk;

/// What is asked beside the tool: what its page asks when it opens.
const ASKED: [(&str, &[(&str, &str)]); 4] = [
    ("op_profile", &[("group_by", "program")]),
    ("trace_viewer@", &[("resolution", "8000")]),
    ("graph_viewer", &[("type", "short_txt")]),
    ("memory_viewer", &[("memory_space", "0")]),
];

/// Tools that need a module and are asked about the first that the profile has.
const OF_A_MODULE: [&str; 2] = ["graph_viewer", "memory_viewer"];

/// The tool's costs in one program; nothing where it has no answer.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Side {
    /// Median of the runs, seconds.
    pub(super) median_s: f64,
    /// Largest peak of resident memory, bytes.
    pub(super) peak_bytes: u64,
}

/// One tool, by program.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Tool {
    pub(super) id: &'static str,
    pub(super) ours: Side,
    pub(super) xprof: Option<Side>,
    pub(super) xprof_rs: Option<Side>,
}

/// Measures every tool that answers for this profile. What a peer does not answer is left empty.
pub(super) fn measure(path: &Path, binary: &Path, peers: &[Peer], runs: u32) -> Result<Vec<Tool>> {
    let mut rows = Vec::new();
    let module = module(path, binary)?;
    for tool in haloscope_compat::TOOLS {
        let mut params: Vec<(&str, &str)> = Vec::new();
        params.extend(ASKED.iter().filter(|(id, _)| *id == tool.id).flat_map(|(_, params)| *params));
        if OF_A_MODULE.contains(&tool.id) {
            let Some(module) = &module else { continue };
            params.push(("module_name", module));
        }
        let command = || {
            let mut command = Command::new(binary);
            command.args(["xprof", tool.id]).arg(path);
            for (key, value) in &params {
                command.arg("-p").arg(format!("{key}={value}"));
            }
            command
        };
        // A profile that cannot feed a tool says nothing of its speed.
        if !command().output()?.status.success() {
            continue;
        }
        talk(&format!("{}: {runs} runs of each", tool.id));
        let ours = side((0..runs).map(|_| process::measure(&command())))?;
        let theirs = |id: &str| {
            let peer = peers.iter().find(|peer| peer.id == id)?;
            let asked = peer.asked(tool.id, &params)?;
            if !asked.answers(path).unwrap_or(false) {
                return None;
            }
            side((0..runs).map(|_| asked.measure(path))).inspect_err(|e| talk(&format!("{id}: {e:#}"))).ok()
        };
        rows.push(Tool { id: tool.id, ours, xprof: theirs("xprof"), xprof_rs: theirs("xprof-rs") });
    }
    Ok(rows)
}

/// The first HLO module as a list names it: `name(program id)`. Another process reads the profile; see [`super`].
fn module(path: &Path, binary: &Path) -> Result<Option<String>> {
    let said = Command::new(binary).arg("inspect").arg(path).args(["--format", "json"]).output()?;
    let report: serde_json::Value = serde_json::from_slice(&said.stdout).unwrap_or_default();
    let tables = report["tables"].as_array().map(Vec::as_slice).unwrap_or_default();
    let rows =
        tables.iter().find(|table| table["id"] == "modules").and_then(|table| table["rows"].as_array());
    let label = |row: &serde_json::Value| Some(format!("{}({})", row[0].as_str()?, row[1].as_str()?));
    Ok(rows.and_then(|rows| rows.iter().filter_map(label).min()))
}

fn side(costs: impl Iterator<Item = Result<process::Cost>>) -> Result<Side> {
    let costs = costs.collect::<Result<Vec<_>>>()?;
    let peak_bytes = costs.iter().filter_map(|c| c.peak_bytes).max().unwrap_or_default();
    ensure!(peak_bytes > 0, "no peak of memory was measured");
    Ok(Side { median_s: median(&costs), peak_bytes })
}
