//! GPU kernels by total time.

use haloscope_profile::{HostId, PlaneKind, Profile};

use crate::db::{Kernel, kernels};
use crate::gviz::{Cell, DataTable, Kind};
use crate::tools::Tool;
use crate::{Answer, Error, Hosts, Params};

pub(crate) const TOOL: Tool = Tool {
    id: "kernel_stats",
    doc: "GPU kernels by launch and framework op: how often, how long, on tensor cores or not",
    hosts: Hosts::All,
    params: &[],
    offered: |profile| profile.planes_of(HostId(0)).any(|plane| plane.name.starts_with("/device:GPU:")),
    answer,
};

const COLUMNS: [(&str, Kind, &str); 15] = [
    ("rank", Kind::Number, "Rank"),
    ("kernel_name", Kind::String, "Kernel Name"),
    ("registers_per_thread", Kind::Number, "Registers per thread"),
    ("shmem_bytes", Kind::Number, "Shared Mem bytes"),
    ("block_dim", Kind::String, "Block dim"),
    ("grid_dim", Kind::String, "Grid dim"),
    ("occupancy_pct", Kind::Number, "Theoretical Occupancy %"),
    ("is_op_tensor_core_eligible", Kind::Boolean, "Op is TensorCore eligible"),
    ("is_kernel_using_tensor_core", Kind::Boolean, "Kernel uses TensorCore"),
    ("op_name", Kind::String, "Op Name"),
    ("occurrences", Kind::Number, "Occurrences"),
    ("total_duration_us", Kind::Number, "Total Duration (μs)"),
    ("avg_duration_us", Kind::Number, "Avg Duration (μs)"),
    ("min_duration_us", Kind::Number, "Min Duration (μs)"),
    ("max_duration_us", Kind::Number, "Max Duration (μs)"),
];

fn answer(profile: &Profile, params: &Params) -> Result<Answer, Error> {
    if !profile.planes.iter().any(|plane| plane.kind == PlaneKind::Gpu) {
        return Err(Error::Missing {
            tool: TOOL.id,
            missing: "no `/device:GPU:N` plane".to_owned(),
            remedy: "capture on a machine with a GPU, with the device tracer on".to_owned(),
        });
    }
    let rows = kernels(profile, &TOOL.hosts.chosen(profile, params)?);
    let mut table = DataTable::new(&COLUMNS);
    for (index, kernel) in rows.iter().enumerate() {
        table.row(cells(index + 1, kernel));
    }
    Answer::json(&table)
}

/// The answer to a run without a GPU as XProf's library gives it to programs: the table without rows.
pub(crate) fn without_kernels() -> Result<Answer, Error> {
    Answer::json(&DataTable::new(&COLUMNS))
}

fn cells(rank: usize, kernel: &Kernel<'_>) -> [Cell; 15] {
    let launch = &kernel.launch;
    let three = |[x, y, z]: [u32; 3]| Cell::from(format!("{x},{y},{z}"));
    let us = |ns: u64| Cell::from(ns as f64 / 1e3);
    [
        Cell::from(rank as f64),
        Cell::from(&*kernel.name),
        Cell::from(f64::from(launch.registers)),
        Cell::from(launch.shared_bytes() as f64),
        three(launch.block),
        three(launch.grid),
        Cell::from(launch.occupancy_percent),
        Cell::from(kernel.could_use_tensor_cores),
        Cell::from(kernel.uses_tensor_cores),
        Cell::from(&*kernel.framework_op),
        Cell::from(kernel.occurrences as f64),
        us(kernel.total_ns),
        // Whole nanoseconds, as the durations themselves.
        us(kernel.total_ns / kernel.occurrences.max(1)),
        us(kernel.min_ns),
        us(kernel.max_ns),
    ]
}
