//! Which tools have something to show.

use haloscope_profile::Profile;

use crate::tools::{Tool, offered};
use crate::{Answer, Error, Hosts, Params};

pub(crate) const TOOL: Tool = Tool {
    id: "tool_names",
    doc: "the names of the tools that have something to show for a run, with commas between them",
    hosts: Hosts::All,
    params: &[],
    offered: |_| false,
    answer,
};

/// The order in which XProf names tools; what it does not name comes behind, in the order of the page.
const ORDER: [&str; 14] = [
    "trace_viewer@",
    "overview_page",
    "input_pipeline_analyzer",
    "framework_op_stats",
    "memory_profile",
    "op_profile",
    "hlo_stats",
    "roofline_model",
    "kernel_stats",
    "memory_viewer",
    "graph_viewer",
    "megascale_stats",
    "perf_counters",
    "utilization_viewer",
];

fn answer(profile: &Profile, params: &Params) -> Result<Answer, Error> {
    TOOL.hosts.chosen(profile, params)?;
    let mut names: Vec<_> = offered(profile).map(|tool| tool.id).collect();
    names.sort_by_key(|name| ORDER.iter().position(|known| known == name).unwrap_or(ORDER.len()));
    Ok(Answer::text(names.join(",")))
}
