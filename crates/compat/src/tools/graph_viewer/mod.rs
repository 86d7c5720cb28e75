//! `graph_viewer`: an HLO module as text, as a proto, or as a drawing of what lies around one instruction.

mod pbtxt;

use std::borrow::Cow;

use haloscope_hlo::{ComputationIdx, Form, InstructionIdx, Module, TextOptions};
use haloscope_hlo_graph::{Drawing, Graph, Scope};
use haloscope_profile::{HloModule, Profile};

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
    if matches!(kind, "pb" | "pbtxt") {
        let proto = proto(profile, module)?;
        return Ok(Answer::bytes(if kind == "pb" {
            proto.into_owned()
        } else {
            pbtxt::text(&proto).into_bytes()
        }));
    }
    let hlo = &modules::decoded(profile, module)?.module;
    match kind {
        "short_txt" => Ok(text(
            hlo,
            &TextOptions { metadata: with_metadata, former_queues: false, ..TextOptions::SHORT },
        )),
        "long_txt" => {
            Ok(text(hlo, &TextOptions { metadata: with_metadata, former_queues: false, ..TextOptions::LONG }))
        }
        "graph" => match params.choice("format", &["html", "dot"])? {
            "dot" => Ok(Answer::html(graph(hlo, params)?.dot())),
            _ => Ok(Answer::html(graph(hlo, params)?.page())),
        },
        "adj_nodes" => Answer::json(&Adjacent::new(hlo, instruction(hlo, params)?)),
        _ => Err(custom_call(hlo, params)),
    }
}

/// The module as an `HloProto`.
fn proto<'p>(profile: &'p Profile, module: &HloModule) -> Result<Cow<'p, [u8]>, Error> {
    let bytes = profile.sources[module.source].slice(module.proto);
    match Form::of(bytes) {
        Some(Form::Text) => Err(Error::Missing {
            tool: TOOL.id,
            missing: format!("the module {} as HLO text, and no HLO proto of it", module.label()),
            remedy:
                "ask for `type=short_txt` or `long_txt`, or dump the program with `--xla_dump_hlo_as_proto`"
                    .to_owned(),
        }),
        Some(Form::ModuleProto) => Ok(Cow::Owned(hlo_proto(bytes))),
        Some(Form::HloProto) | None => Ok(Cow::Borrowed(bytes)),
    }
}

/// A message whose first field is the module: an `HloProto` without buffers.
fn hlo_proto(module: &[u8]) -> Vec<u8> {
    let mut out = vec![1 << 3 | 2];
    let mut length = module.len();
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend_from_slice(module);
    out
}

/// Why there is no text of a kernel: it is MLIR's bytecode, which only MLIR can read.
fn custom_call(hlo: &Module, params: &Params) -> Error {
    let index = match instruction(hlo, params) {
        Ok(index) => index,
        Err(error) => return error,
    };
    let instruction = hlo.instruction(index);
    let has_body = instruction.attributes().backend_config.windows(BODY.len()).any(|window| window == BODY);
    let missing = match has_body {
        true => format!("the kernel of `{}` as MLIR bytecode, which is not read here", instruction.name),
        false => format!(
            "no `custom_call_config` with a `body` in the backend's configuration of `{}`",
            instruction.name
        ),
    };
    let remedy = "ask for `type=pb` and read the kernel with MLIR, or dump it with `--xla_mosaic_dump_to`";
    Error::Missing { tool: TOOL.id, missing, remedy: remedy.to_owned() }
}

/// Where a configuration holds a kernel.
const BODY: &[u8] = b"\"body\":";

/// An instruction or a computation by name, whatever the case of its letters.
enum Named {
    Instruction(InstructionIdx),
    Computation(ComputationIdx),
}

fn named(hlo: &Module, params: &Params) -> Result<Named, Error> {
    let name = params.get("node_name").ok_or_else(|| {
        Error::Usage(format!("{}: `node_name` must name an instruction or a computation", TOOL.id))
    })?;
    let bare = name.strip_prefix('%').unwrap_or(name);
    let computation = hlo.computations().find(|(_, c)| c.name.eq_ignore_ascii_case(bare));
    if let Some((index, _)) = computation {
        return Ok(Named::Computation(index));
    }
    let exact = hlo.instruction_by_name(bare);
    let alike =
        || hlo.instructions().find(|(_, i)| i.name.eq_ignore_ascii_case(bare)).map(|(index, _)| index);
    exact
        .or_else(alike)
        .map(Named::Instruction)
        .ok_or_else(|| Error::Usage(format!("Couldn't find HloInstruction or HloComputation named {name}.")))
}

fn instruction(hlo: &Module, params: &Params) -> Result<InstructionIdx, Error> {
    match named(hlo, params)? {
        Named::Instruction(index) => Ok(index),
        Named::Computation(_) => Err(Error::Usage(format!(
            "{}: `node_name` names a computation; an instruction is needed here",
            TOOL.id
        ))),
    }
}

fn graph(hlo: &Module, params: &Params) -> Result<Graph, Error> {
    let radius = params.number("graph_width")?.unwrap_or(3);
    let (scope, outermost, label) = match named(hlo, params)? {
        Named::Computation(index) => (Scope::Whole, index, String::new()),
        Named::Instruction(index) => {
            let name = &hlo.instruction(index).name;
            let label = format!("Neighborhood of {radius} nodes around {name}");
            (Scope::around(hlo, index, radius), hlo.instruction(index).computation, label)
        }
    };
    let drawing = Drawing {
        module: hlo,
        scope,
        outermost,
        label,
        with_backend_config: params.flag("show_metadata")?,
        with_fusions: !params.flag("merge_fusion")?,
    };
    Ok(drawing.graph())
}

/// Instructions beyond tuples that are looked at for [`Adjacent`].
const MOST_NEIGHBOURS: usize = 1 << 20;

/// What an instruction reads and who reads it; tuples that are taken apart on the way do not count.
#[derive(serde::Serialize)]
struct Adjacent<'m> {
    consumer_names: Vec<&'m str>,
    operand_names: Vec<&'m str>,
}

impl<'m> Adjacent<'m> {
    fn new(hlo: &'m Module, index: InstructionIdx) -> Self {
        let follow = |next: &dyn Fn(InstructionIdx) -> Vec<InstructionIdx>| {
            let mut names = Vec::new();
            let mut todo: Vec<InstructionIdx> = next(index).into_iter().rev().collect();
            // Parts that are taken from each other in a circle, which no compiler writes, are given up.
            let mut left = MOST_NEIGHBOURS;
            while let Some(at) = todo.pop() {
                let name = hlo.instruction(at).name.as_str();
                if name.starts_with("get-tuple-element") {
                    let beyond = next(at);
                    let Some(rest) = left.checked_sub(beyond.len() + 1) else { break };
                    left = rest;
                    todo.extend(beyond.into_iter().rev());
                } else {
                    names.push(name);
                }
            }
            names
        };
        Self {
            consumer_names: follow(&|at| hlo.users(at).to_vec()),
            operand_names: follow(&|at| hlo.instruction(at).operands.clone()),
        }
    }
}

/// Text is offered for download.
fn text(module: &Module, options: &TextOptions) -> Answer {
    Answer { content_type: "application/octet-stream", body: module.text(options).into_bytes() }
}
