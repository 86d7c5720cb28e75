//! `graph_viewer`: an HLO module as text, as a proto, or as a drawing of what lies around one instruction.

use haloscope_core::profile::Profile;
use haloscope_hlo::{Module, TextOptions};

use super::Tool;
use crate::{
    Answer, Error, Hosts, Param, Params,
    modules::{self, MODULE_NAME, PROGRAM_ID},
};

pub(crate) const TOOL: Tool = Tool {
    id: "graph_viewer",
    doc: "An HLO module as a graph or as text",
    hosts: Hosts::All,
    params: &[
        MODULE_NAME,
        PROGRAM_ID,
        Param {
            id: "type",
            doc: "graph, adj_nodes, custom_call, short_txt, long_txt, pb or pbtxt; default graph",
        },
        Param { id: "node_name", doc: "the instruction (or computation) in the middle of the graph" },
        Param { id: "graph_width", doc: "how many steps from it the graph reaches; default 3" },
        Param { id: "show_metadata", doc: "true to write where instructions come from; default false" },
        Param { id: "merge_fusion", doc: "true to draw fusions as one node; default false" },
        Param { id: "format", doc: "of a graph: html or dot; default html" },
    ],
    offered: |profile| !profile.modules.is_empty(),
    answer,
};

/// The kinds of answer, the usual one first.
const TYPES: &[&str] = &["graph", "adj_nodes", "custom_call", "short_txt", "long_txt", "pb", "pbtxt", "json"];

fn answer(profile: &Profile, params: &Params) -> Result<Answer, Error> {
    let kind = params.choice("type", TYPES)?;
    let module = match (modules::chosen(TOOL.id, profile, params), params.get("node_name")) {
        (Err(error @ Error::Usage(_)), Some(node)) => {
            modules::with_instruction(profile, node.trim_start_matches('%')).ok_or(error)?
        }
        (found, _) => found?,
    };
    let with_metadata = params.flag("show_metadata")?;
    if kind == "pb" {
        let source = &profile.sources[module.source];
        return Ok(Answer::bytes(source.slice(module.proto).to_vec()));
    }
    let hlo = &modules::decoded(profile, module)?.module;
    match kind {
        "short_txt" => Ok(text(hlo, &TextOptions { metadata: with_metadata, ..TextOptions::SHORT })),
        "long_txt" => Ok(text(hlo, &TextOptions { metadata: with_metadata, ..TextOptions::LONG })),
        _ => Err(Error::Usage("not yet".into())),
    }
}

/// Text is offered for download.
fn text(module: &Module, options: &TextOptions) -> Answer {
    Answer { content_type: "application/octet-stream", body: module.text(options).into_bytes() }
}
