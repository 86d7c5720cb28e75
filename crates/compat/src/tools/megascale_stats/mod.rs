//! `megascale_stats`: collectives between slices, as a table or as a Perfetto trace.

mod graph;
mod packets;
mod table;
mod trace;

use haloscope_profile::{HostId, Profile};
use haloscope_time::transfers;

use super::Tool;
use crate::{Answer, Error, Hosts, Param, Params};

pub(crate) const TOOL: Tool = Tool {
    id: "megascale_stats",
    doc: "Collectives between slices: the time that they have and the time that they take",
    hosts: Hosts::OneOrAll,
    params: &[
        Param { id: "perfetto", doc: "true: a gzipped Perfetto trace instead of the table" },
        Param { id: "group_tiny_events", doc: "false: the trace keeps ops of less than 1 ns (default true)" },
    ],
    offered: |profile| !profile.hosts.is_empty() && transfers::recorded(profile, HostId(0)),
    answer,
};

fn answer(profile: &Profile, params: &Params) -> Result<Answer, Error> {
    let chosen = TOOL.hosts.chosen(profile, params)?;
    if !params.flag("perfetto")? {
        return table::answer(profile, &chosen);
    }
    let grouped = params.get("group_tiny_events").is_none() || params.flag("group_tiny_events")?;
    let host = chosen.first().copied().unwrap_or(HostId(0));
    let mut trace = trace::load(profile, host);
    graph::process(&mut trace, grouped);
    packets::write(&trace)
}
