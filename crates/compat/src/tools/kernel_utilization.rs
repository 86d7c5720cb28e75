//! `kernel_utilization`: the units of a TPU over each kernel, in percent, from its hardware counters.

use std::collections::BTreeMap;

use haloscope_profile::{Line, LineKind, Plane, Profile, Stat};
use haloscope_program::unit_usage::{Formulas, Usage};
use haloscope_time::counters;
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::utilization_viewer::{chip, device_id, formulas};
use super::{Tool, perf_counters};
use crate::{Answer, Error, Hosts, Param, Params};

pub(crate) const TOOL: Tool = Tool {
    id: "kernel_utilization",
    doc: "How busy the units of a TPU v6e or v7x were in each kernel that was captured with counters",
    hosts: Hosts::One,
    params: &[
        Param { id: "kernel", doc: "only the kernel of this name" },
        Param { id: "device_id", doc: "only the device of this number" },
        Param { id: "duration_us", doc: "how long the kernel took, in microseconds, if you know it better" },
        Param { id: "force_duration", doc: "true: cycles too are those of duration_us" },
    ],
    offered: perf_counters::offered,
    answer,
};

/// XProf gives every sample this name.
const KERNEL: &str = "default_kernel";

#[derive(Serialize)]
struct Found {
    devices: Vec<Device>,
    status: &'static str,
}

#[derive(Serialize)]
struct Device {
    device_id: i64,
    device_type: String,
    kernels: Vec<Kernel>,
}

#[derive(Serialize)]
struct Kernel {
    duration_us: f64,
    kernel_name: &'static str,
    mxu_cycles_breakdown: Breakdown,
    mxu_is_anomaly: bool,
    mxu_utilization: f64,
    other_metrics: BTreeMap<String, f64>,
}

/// Percent of the cycles of the matrix units by the type of their operands.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Breakdown {
    #[serde(rename = "BF16")]
    bf16: f64,
    #[serde(rename = "FP8")]
    fp8: f64,
    int4: f64,
    int8: f64,
}

fn answer(profile: &Profile, params: &Params) -> Result<Answer, Error> {
    let chosen = TOOL.hosts.chosen(profile, params)?;
    // What is no number of a device chooses none away.
    let device = params.number::<i64>("device_id")?;
    let duration_us = params.number::<f64>("duration_us")?.filter(|us| *us > 0.0);
    let forced = params.flag("force_duration")?;
    let named = params.get("kernel").is_none_or(|name| name == KERNEL);
    let mut known = Vec::new();
    let mut devices = Vec::new();
    for plane in profile.planes.iter().filter(|p| chosen.contains(&p.host)) {
        let Some(chip) = chip(plane) else { continue };
        let id = device_id(plane).or(plane.ordinal.map(i64::from)).unwrap_or(-1);
        if device.is_some_and(|wanted| wanted != id) {
            continue;
        }
        let formulas = formulas(&mut known, chip);
        let lines = profile.lines_of(plane.id).filter(|_| named);
        let kernels = lines.filter_map(|line| kernel(profile, plane, line, formulas, duration_us, forced));
        let device_type = plane.stat("device_type_string").and_then(Stat::as_text).unwrap_or_default();
        let kernels = kernels.collect();
        devices.push(Device { device_id: id, device_type: device_type.to_owned(), kernels });
    }
    Answer::json(&Found { devices, status: "SUCCESS" })
}

/// How long a kernel took, in microseconds: the longest event among its counters, else the first op or step beside them.
fn measured_us(profile: &Profile, plane: &Plane, line: &Line) -> Option<f64> {
    let first = |line: &Line| profile.events(line).durations_ps().iter().find(|ps| *ps > 0);
    let around = || {
        let lines = [LineKind::XlaOps, LineKind::Steps].into_iter();
        let mut lines = lines.filter_map(|kind| profile.lines_of(plane.id).find(|l| l.kind == kind));
        lines.find_map(first)
    };
    let longest = profile.events(line).durations_ps().iter().max().filter(|ps| *ps > 0);
    longest.or_else(around).map(|ps| ps as f64 / 1e6)
}

fn kernel(
    profile: &Profile,
    plane: &Plane,
    line: &Line,
    formulas: &Formulas,
    given_us: Option<f64>,
    forced: bool,
) -> Option<Kernel> {
    let mut sample = counters::sample(profile, line);
    if sample.is_empty() {
        return None;
    }
    let hz = formulas.chip().hz();
    let counted = |sample: &FxHashMap<u64, u64>| {
        let cycles = formulas.cycle_ids().iter().filter_map(|id| sample.get(id)).max();
        cycles.map_or(0.0, |cycles| *cycles as f64 / hz * 1e6)
    };
    let duration_us =
        given_us.or_else(|| measured_us(profile, plane, line)).unwrap_or_else(|| counted(&sample));
    // A core that did not count its cycles had as many as fit.
    for id in formulas.cycle_ids() {
        let cycles = sample.entry(*id).or_default();
        if *cycles == 0 || (forced && given_us.is_some()) {
            *cycles = (duration_us * hz / 1e6).round() as u64;
        }
    }
    let metrics = merge(formulas.apply(&sample));
    let share = |name: &str| metrics.iter().find(|m| m.name == name);
    let mxu = share("Avg MXU Busy").map_or(0.0, |m| round(100.0 * m.achieved / m.peak));
    Some(Kernel {
        duration_us,
        kernel_name: KERNEL,
        mxu_cycles_breakdown: breakdown(&metrics),
        mxu_is_anomaly: mxu > 100.0,
        mxu_utilization: mxu,
        other_metrics: others(&metrics),
    })
}

/// Sums over the cores of a chip; what has no peak is left out.
fn merge(all: Vec<Usage>) -> Vec<Usage> {
    let mut merged: Vec<Usage> = Vec::new();
    for mut usage in all.into_iter().filter(|u| u.peak > 0.0) {
        if usage.name.starts_with("HBM Rd+Wr") {
            "HBM Bandwidth Utilization".clone_into(&mut usage.name);
        }
        match merged.iter_mut().find(|m| m.name == usage.name) {
            Some(sum) => {
                sum.achieved += usage.achieved;
                sum.peak += usage.peak;
            }
            None => merged.push(usage),
        }
    }
    merged
}

/// Two decimals.
fn round(percent: f64) -> f64 {
    (percent * 100.0).round() / 100.0
}

fn breakdown(metrics: &[Usage]) -> Breakdown {
    let cycles = |name: &str| metrics.iter().find(|m| m.name == name).map_or(0.0, |m| m.achieved);
    let parts = ["MXU BF16", "MXU E4M3 + E5M2", "MXU I4", "MXU I8"].map(cycles);
    let all: f64 = parts.iter().sum();
    let [bf16, fp8, int4, int8] = parts.map(|part| if all > 0.0 { round(100.0 * part / all) } else { 0.0 });
    Breakdown { bf16, fp8, int4, int8 }
}

fn others(metrics: &[Usage]) -> BTreeMap<String, f64> {
    const ELSEWHERE: [&str; 5] = ["Avg MXU Busy", "MXU BF16", "MXU E4M3 + E5M2", "MXU I4", "MXU I8"];
    let shown = metrics.iter().filter(|m| !ELSEWHERE.contains(&m.name.as_str()));
    shown.map(|m| (m.name.clone(), round((100.0 * m.achieved / m.peak).clamp(0.0, 100.0)))).collect()
}
