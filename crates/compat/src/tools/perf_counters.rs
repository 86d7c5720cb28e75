//! `perf_counters`: hardware counters as they were read.

use std::borrow::Cow;

use haloscope_profile::{Host, Line, Plane, Profile};
use haloscope_program::counter_names;
use haloscope_time::counters;
use haloscope_xspace::StatValue;
use serde::Serialize;

use super::Tool;
use crate::gviz::{Cell, DataTable, Kind};
use crate::{Answer, Error, Hosts, Param, Params};

pub(crate) const TOOL: Tool = Tool {
    id: "perf_counters",
    doc: "Hardware counters of TPUs and GPUs, as they were read",
    hosts: Hosts::OneOrAll,
    params: &[
        Param { id: "names_only", doc: "1: only list the counters that a kind of chip has" },
        Param { id: "device_type", doc: "the kind of chip for names_only: v6e or v7x" },
    ],
    offered,
    answer,
};

/// Columns: key, type, heading.
const COLUMNS: [(&str, Kind, &str); 8] = [
    ("Host", Kind::String, "Host"),
    ("Chip", Kind::Number, "Chip"),
    ("Kernel", Kind::String, "Kernel"),
    ("Sample", Kind::Number, "Sample"),
    ("Counter", Kind::String, "Counter"),
    ("Value", Kind::Number, "Value (Hex)"),
    ("Description", Kind::String, "Description"),
    ("Set", Kind::String, "Set"),
];

fn is_tpu(plane: &Plane) -> bool {
    plane.name.starts_with("/device:TPU:")
}

/// Some event of a TPU carries a counter's value.
pub(super) fn offered(profile: &Profile) -> bool {
    // Discovery looks at the first file only.
    let planes = profile.planes.iter().filter(|p| p.source == 0 && is_tpu(p));
    planes.into_iter().any(|plane| counters::any(profile, plane.id))
}

fn answer(profile: &Profile, params: &Params) -> Result<Answer, Error> {
    if params.get("names_only") == Some("1") {
        return names(params);
    }
    let chosen = TOOL.hosts.chosen(profile, params)?;
    let mut table = DataTable::new(&COLUMNS);
    for plane in &profile.planes {
        let shown = is_tpu(plane) || plane.name.starts_with("/device:GPU:");
        if !shown || !chosen.contains(&plane.host) {
            continue;
        }
        let Some(chip) = counters::chip_id(plane) else { continue };
        for line in profile.lines_of(plane.id) {
            rows(&mut table, profile, plane, line, chip);
        }
    }
    Answer::json(&table)
}

fn rows(table: &mut DataTable, profile: &Profile, plane: &Plane, line: &Line, chip: i64) {
    let ids = ["counter_value", "performance_counter_description", "performance_counter_sets"]
        .map(|name| plane.stat_id(name));
    if ids[0].is_none() {
        return;
    }
    let source = profile.source_of(plane);
    let host: &Host = profile.host(plane.host);
    let events = profile.events(line);
    for event in events.iter() {
        let mut found: [Option<StatValue<'_>>; 3] = [None; 3];
        for stat in events.stats(source, event.index) {
            if let Some(slot) = ids.iter().position(|id| *id == Some(stat.metadata_id)) {
                found[slot] = found[slot].or(stat.value);
            }
        }
        let Some(value) = found[0].map(counters::count) else { continue };
        let text = |value: Option<StatValue<'_>>| -> String {
            value.and_then(|v| plane.text(source, v)).map(Cow::into_owned).unwrap_or_default()
        };
        table.row([
            host.name.as_str().into(),
            (chip as f64).into(),
            line.name.as_str().into(),
            (line.wire_id as f64).into(),
            source.text(plane.metas[event.meta as usize].name).to_ascii_lowercase().into(),
            Cell::Shown(value as f64, format!("{value:#x}")),
            text(found[1]).into(),
            text(found[2]).into(),
        ]);
    }
}

#[derive(Serialize)]
struct Name {
    name: String,
    val: u64,
}

fn names(params: &Params) -> Result<Answer, Error> {
    let kinds = counter_names::KINDS.join(" or ");
    let Some(kind) = params.get("device_type") else {
        return Err(Error::Usage(format!("perf_counters: names_only needs device_type={kinds}")));
    };
    let Some(all) = counter_names::counters(kind) else {
        return Err(Error::Usage(format!(
            "perf_counters: no counters are known of `{kind}`; expected {kinds}"
        )));
    };
    Answer::json(&all.into_iter().map(|c| Name { name: c.name, val: c.id }).collect::<Vec<_>>())
}
