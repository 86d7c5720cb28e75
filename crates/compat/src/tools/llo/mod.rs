//! `llo`: what the compiler made of a kernel, in the shapes of XProf's `get_llo_static_analysis`, and of its `analyze_llo` and debug
//! string, which the same tool answers under further names.
//!
//! XProf has no HTTP route for them; ours is `/data?tag=llo`. What differs from XProf's answers is in `docs/xprof.md`.

mod analyze;
mod debug;
mod modes;

use haloscope_kernel::carried::{self, Carried};
use haloscope_llo::Module;
use haloscope_profile::Profile;
use serde::Serialize;

use super::Tool;
use crate::{Answer, Error, Hosts, Param, Params};

const HLO_OP: Param = Param {
    id: "hlo_op",
    doc: "the op: its name as `analyze_llo` has it, the HLO instruction, or a part of either; default the first",
};

pub(crate) const TOOL: Tool = Tool {
    id: "llo",
    doc: "What a TPU kernel does in each bundle, as the compiler scheduled it",
    hosts: Hosts::One,
    params: &[
        Param {
            id: "mode",
            doc: "list_ops, region_tree, bundle_util, opcodes, register_pressure, spills, bdi_stalls, target_info, \
                  source_for_bundle, analyze_llo or debug_string; default region_tree",
        },
        HLO_OP,
        Param { id: "bundle", doc: "of source_for_bundle the bundle, of bundle_util the first; default 0" },
    ],
    offered: |_| false,
    answer: |profile, params| answer(profile, params, params.get("mode").unwrap_or("region_tree")),
};

/// XProf's name for it.
pub(crate) const STATIC: Tool = Tool { id: "get_llo_static_analysis", ..TOOL };

pub(crate) const ANALYSIS: Tool = Tool {
    id: "get_llo_analysis",
    doc: "Instructions, opcodes, units and source lines of all TPU kernels",
    params: &[HLO_OP],
    answer: |profile, params| answer(profile, params, "analyze_llo"),
    ..TOOL
};

pub(crate) const DEBUG: Tool = Tool {
    id: "get_llo_debug_string",
    doc: "The instructions of all TPU kernels as text",
    params: &[HLO_OP],
    answer: |profile, params| answer(profile, params, "debug_string"),
    ..TOOL
};

/// A mode of XProf's that is about one op: its name, and its data.
type Mode = (&'static str, fn(&Module<'_>, i64) -> serde_json::Result<serde_json::Value>);

/// The modes, by name.
const MODES: [Mode; 8] = [
    ("bdi_stalls", |module, _| serde_json::to_value(modes::stalls(module))),
    ("bundle_util", |module, bundle| serde_json::to_value(modes::bundles(module, bundle))),
    ("opcodes", |module, _| serde_json::to_value(modes::opcodes(module))),
    ("region_tree", |module, _| serde_json::to_value(modes::regions(module))),
    ("register_pressure", |module, _| serde_json::to_value(modes::registers(module))),
    ("source_for_bundle", |module, bundle| serde_json::to_value(modes::sources(module, bundle))),
    ("spills", |module, _| serde_json::to_value(modes::spills(module))),
    ("target_info", |module, _| serde_json::to_value(modes::target(module))),
];

/// What every answer says of where its numbers come from.
const SEMANTICS: &str = "static_modelled_schedule";

/// XProf's envelope.
#[derive(Serialize)]
struct Envelope<'a> {
    status: &'static str,
    semantics: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    semantics_note: Option<&'static str>,
    mode: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl<'a> Envelope<'a> {
    fn of(mode: &'a str, data: serde_json::Value) -> Self {
        let note = "Static / modelled compiler schedule estimate (NOT measured hardware counters)";
        Self {
            status: "OK",
            semantics: SEMANTICS,
            semantics_note: Some(note),
            mode,
            data: Some(data),
            error: None,
        }
    }

    fn refusal(mode: &'a str, status: &'static str, error: impl Into<String>) -> Self {
        Self {
            status,
            semantics: SEMANTICS,
            semantics_note: None,
            mode,
            data: None,
            error: Some(error.into()),
        }
    }
}

fn answer(profile: &Profile, params: &Params, mode: &str) -> Result<Answer, Error> {
    let hosts = TOOL.hosts.chosen(profile, params)?;
    let bundle = params.number::<i64>("bundle")?.unwrap_or(0);
    let all: Vec<Carried<'_>> =
        carried::all(profile).into_iter().filter(|kernel| hosts.contains(&kernel.host)).collect();
    let op = params.get(HLO_OP.id).unwrap_or_default();
    let of_all = || all.iter().filter(|kernel| kernel.name.contains(op)).collect::<Vec<_>>();
    match mode {
        "analyze_llo" => return Answer::json(&analyze::answer(&of_all()).map_err(unreadable)?),
        "debug_string" => return Ok(Answer::text(debug::text(&of_all()).map_err(unreadable)?)),
        _ => {}
    }
    let Some((_, of_module)) = MODES.iter().find(|(name, _)| *name == mode) else {
        return Answer::json(&match mode {
            "list_ops" if !all.is_empty() => Envelope::of(mode, written(&modes::ops(&all))?),
            "list_ops" => Envelope::refusal(mode, "ERROR", NONE),
            _ => Envelope::refusal(mode, "UNIMPLEMENTED", unknown_mode()),
        });
    };
    let refusal = if all.is_empty() { NONE } else { "No LLO module found matching filter" };
    let Some(kernel) = carried::named(&all, op).first().copied() else {
        return Answer::json(&Envelope::refusal(mode, "ERROR", refusal));
    };
    let module = kernel.read().map_err(|error| unreadable((kernel.name.to_string(), error)))?;
    let data = of_module(&module, bundle).map_err(|error| Error::Internal(error.to_string()))?;
    Answer::json(&Envelope::of(mode, data))
}

const NONE: &str = "Could not load XSpace or no LLO modules found.";

fn unknown_mode() -> String {
    let mut names: Vec<_> = MODES.iter().map(|mode| mode.0).chain(["list_ops"]).collect();
    names.sort_unstable();
    format!("Unknown analysis mode. Supported modes: {}.", names.join(", "))
}

fn written(value: &impl Serialize) -> Result<serde_json::Value, Error> {
    serde_json::to_value(value).map_err(|error| Error::Internal(error.to_string()))
}

fn unreadable((kernel, error): (String, haloscope_llo::Error)) -> Error {
    Error::Internal(format!("the LLO of {kernel}: {error}"))
}
