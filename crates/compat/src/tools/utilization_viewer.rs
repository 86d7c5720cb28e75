//! `utilization_viewer`: how busy the units of a TPU were, from its hardware counters.

use haloscope_profile::{Plane, Profile, Stat};
use haloscope_program::unit_usage::{Chip, Formulas};
use haloscope_time::counters;

use super::{Tool, perf_counters};
use crate::gviz::{DataTable, Kind};
use crate::{Answer, Error, Hosts, Params};

pub(crate) const TOOL: Tool = Tool {
    id: "utilization_viewer",
    doc: "How busy the units of a TPU v6e or v7x were, from its hardware counters",
    hosts: Hosts::One,
    params: &[],
    offered: perf_counters::offered,
    answer,
};

/// Columns: key, type, heading.
const COLUMNS: [(&str, Kind, &str); 8] = [
    ("host", Kind::Number, "Host"),
    ("device", Kind::Number, "Device"),
    ("sample", Kind::Number, "Sample"),
    ("node", Kind::Number, "Node"),
    ("name", Kind::String, "Name"),
    ("achieved", Kind::Number, "Achieved"),
    ("peak", Kind::Number, "Peak"),
    ("unit", Kind::String, "Unit"),
];

/// The chip of a TPU's plane, if its counters are understood.
pub(super) fn chip(plane: &Plane) -> Option<Chip> {
    let kind = plane.stat("device_type_string").and_then(Stat::as_text)?;
    Chip::of(kind).filter(|_| plane.name.starts_with("/device:TPU:"))
}

/// The formulas of a chip, made once.
pub(super) fn formulas(known: &mut Vec<Formulas>, chip: Chip) -> &Formulas {
    let at = known.iter().position(|f| f.chip() == chip).unwrap_or_else(|| {
        known.push(Formulas::new(chip));
        known.len() - 1
    });
    &known[at]
}

/// The stat `device_id`.
pub(super) fn device_id(plane: &Plane) -> Option<i64> {
    plane.stat("device_id").and_then(Stat::as_i64).filter(|id| *id != -1)
}

fn answer(profile: &Profile, params: &Params) -> Result<Answer, Error> {
    let chosen = TOOL.hosts.chosen(profile, params)?;
    let mut known = Vec::new();
    let mut table = DataTable::new(&COLUMNS);
    for plane in profile.planes.iter().filter(|p| chosen.contains(&p.host)) {
        let (Some(chip), Some(device)) = (chip(plane), device_id(plane)) else { continue };
        let formulas = formulas(&mut known, chip);
        for line in profile.lines_of(plane.id) {
            let sample = counters::sample(profile, line);
            if sample.is_empty() {
                continue;
            }
            for usage in formulas.apply(&sample) {
                table.row([
                    0.0.into(),
                    (device as f64).into(),
                    (line.wire_id as f64).into(),
                    f64::from(usage.node).into(),
                    usage.name.into(),
                    usage.achieved.into(),
                    usage.peak.into(),
                    usage.unit.into(),
                ]);
            }
        }
    }
    Answer::json(&table)
}
