//! `pod_viewer`: where the time of each step went, core by core.

use std::collections::BTreeMap;

use haloscope_profile::Profile;
use serde::Serialize;

use super::Tool;
use crate::steps::tpu_step::CoreTimes;
use crate::steps::{Breakdown, Class, CoreStep, Environment, StepDb, diagnostics};
use crate::{Answer, Error, Hosts, Params};

pub(crate) const TOOL: Tool = Tool {
    id: "pod_viewer",
    doc: "Where the time of each step went, core by core",
    hosts: Hosts::All,
    params: &[],
    offered: |_| false,
    answer,
};

/// What the time of a step is shown as, numbered from 1.
const PARTS: [&str; 9] = [
    "Device compute",
    "Device to device",
    "Device collective communication",
    "Host compute",
    "Kernel launch",
    "Input",
    "Output",
    "Compilation",
    "All others",
];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Pod<'a> {
    pod_stats_sequence: Sequence<'a>,
    diagnostics: Diagnostics,
    step_breakdown_events: Vec<Part>,
    device_type: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Sequence<'a> {
    pod_stats_map: Vec<Step<'a>>,
}

#[derive(Serialize)]
struct Diagnostics {
    info: [(); 0],
    warnings: Vec<String>,
    errors: [(); 0],
}

#[derive(Serialize)]
struct Part {
    id: usize,
    name: &'static str,
}

/// A step. What XProf's open build leaves empty is so here.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Step<'a> {
    step_num: i64,
    pod_stats_per_core: BTreeMap<u32, Core<'a>>,
    channel_db: [(); 0],
    core_id_to_replica_id_map: BTreeMap<u32, u32>,
    all_reduce_op_db: [(); 0],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Core<'a> {
    host_name: &'a str,
    chip_id: u32,
    node_id: u32,
    step_num: i64,
    total_duration_us: f64,
    bottleneck: &'static str,
    step_breakdown_us: BTreeMap<usize, f64>,
}

fn answer(profile: &Profile, params: &Params) -> Result<Answer, Error> {
    let hosts = TOOL.hosts.chosen(profile, params)?;
    let environment = Environment::new(profile, &hosts);
    let db = StepDb::new(profile, &hosts, &environment);
    let steps = db.rows.iter().map(|row| {
        // Cores that the profiler did not describe, and SparseCores, have no place.
        let placed = row.cores.iter().filter_map(|(id, core)| {
            let place = environment.cores.get(id)?;
            let parts = parts(core)?;
            Some((*id, Core::new(row.number, &place.host, core.duration_ps, &parts)))
        });
        Step {
            step_num: row.number,
            pod_stats_per_core: placed.collect(),
            channel_db: [],
            core_id_to_replica_id_map: BTreeMap::new(),
            all_reduce_op_db: [],
        }
    });
    Answer::json(&Pod {
        pod_stats_sequence: Sequence { pod_stats_map: steps.collect() },
        diagnostics: Diagnostics { info: [], warnings: diagnostics::step_warnings(&db), errors: [] },
        step_breakdown_events: (1..).zip(PARTS).map(|(id, name)| Part { id, name }).collect(),
        device_type: &environment.run.device_type,
    })
}

impl<'a> Core<'a> {
    fn new(step_num: i64, host_name: &'a str, duration_ps: i64, parts: &[i64; 9]) -> Self {
        // The longest; of equals that whose name comes last.
        let longest = parts.iter().zip(PARTS).max().map_or("", |(_, name)| name);
        Self {
            host_name,
            chip_id: 0,
            node_id: 0,
            step_num,
            total_duration_us: us(duration_ps),
            bottleneck: longest,
            step_breakdown_us: (1..).zip(parts).map(|(id, ps)| (id, us(*ps))).collect(),
        }
    }
}

fn us(ps: i64) -> f64 {
    ps as f64 / 1e6
}

/// The time of each of [`PARTS`], picoseconds; `None` for SparseCores.
fn parts(core: &CoreStep) -> Option<[i64; 9]> {
    match &core.breakdown {
        Breakdown::TensorCore(categories) => {
            let times = CoreTimes::new(categories, core.duration_ps);
            let device = times.send_recv + times.async_done + times.megacore;
            let input = times.infeed + times.host_recv + times.sparse_wait + times.sparse_transform;
            let output = times.outfeed + times.host_send + times.sparse_outfeed;
            let compute = times.ops - device - times.all_reduce - input - output;
            Some([compute, device, times.all_reduce, 0, 0, input, output, 0, times.idle])
        }
        Breakdown::SparseCore { .. } => None,
        Breakdown::Generic(times) => {
            let of = |classes: &[Class]| classes.iter().filter_map(|c| times.get(c)).sum();
            Some([
                of(&[Class::Compute32, Class::Compute16]),
                of(&[Class::DeviceToDevice]),
                of(&[Class::Collectives]),
                of(&[Class::HostCompute]),
                of(&[Class::HostPrepare]),
                of(&[Class::HostWaitInput, Class::HostToDevice]),
                of(&[Class::DeviceToHost]),
                0,
                of(&[Class::Unknown]),
            ])
        }
    }
}
