//! Device time as a tree of programs, categories or scopes down to ops and what is fused in them.

mod fused;
mod kernel_metadata;
mod metrics;
mod tree;
mod write;

use haloscope_profile::Profile;

use crate::db::{self, Hardware, PerfEnv, RunEnv};
use crate::tools::Tool;
use crate::{Answer, Error, Hosts, Param, Params};

use tree::{Grouping, Tree};
use write::{Context, Report};

pub(crate) const TOOL: Tool = Tool {
    id: "op_profile",
    doc: "device time as a tree down to the ops, with FLOP rate and bandwidth beside their limits",
    hosts: Hosts::All,
    params: PARAMS,
    offered: |_| true,
    answer,
};

/// The older name of [`TOOL`].
pub(crate) const ALIAS: Tool = Tool { id: "hlo_op_profile", offered: |_| false, ..TOOL };

const PARAMS: &[Param] = &[Param {
    id: "group_by",
    doc: "what the first levels are: `program` (the default), `category`, or `provenance` (the framework's scopes)",
}];

fn answer(profile: &Profile, params: &Params) -> Result<Answer, Error> {
    let hosts = TOOL.hosts.chosen(profile, params)?;
    let grouping = match params.choice("group_by", &["program", "category", "provenance"])? {
        "category" => Grouping::Category,
        "provenance" => Grouping::Provenance,
        _ => Grouping::Program,
    };
    let db = db::device_ops(profile, &hosts);
    let run = RunEnv::new(profile, &hosts);
    let tree = Tree::build(&db, grouping, &db::program_names(profile, &hosts));
    let context = Context {
        perf: PerfEnv::new(profile, &hosts),
        // XProf looks into fusions on TPUs only.
        fused: (run.hardware == Hardware::Tpu).then(|| fused::Fused::new(profile, &hosts)),
        tree,
    };
    Answer::json(&Report { context: &context, db: &db, hardware: run.hardware })
}
