//! What if: the step run again with parts that take another time.

use rustc_hash::FxHashMap;

use super::graph::{Graph, Lengths, NONE, Role, Schedule};
use crate::straggler;
use haloscope_profile::Peaks;
use haloscope_time::account::{Class, Group};
use haloscope_time::intervals::Intervals;
use haloscope_time::roofline::Work;
use haloscope_time::stats::quantile;

/// Some ops and gaps of a step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// For each op of the graph whether it is one of them.
    pub ops: Vec<bool>,
    /// Classes of gaps.
    pub gaps: Vec<Class>,
}

/// A change to a step.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// These parts take so many times as long.
    Scale(Choice, f64),
    /// These ops take no longer than their FLOPs and bytes do at the device's peaks.
    Roofline(Choice),
    /// Communication goes on beside everything else.
    PerfectOverlap,
    /// Each execution of an op that works takes as long as the median over devices.
    NoStraggler,
}

/// A step with changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Projection {
    /// How long it takes, picoseconds.
    pub step_ps: i64,
    /// How many parts the changes touched: executions of ops, transfers and gaps.
    pub touched: usize,
}

impl Choice {
    fn takes(&self, op: u32, class: Class) -> bool {
        if op == NONE {
            return self.gaps.contains(&class);
        }
        self.ops.get(op as usize).copied().unwrap_or(false)
    }
}

/// The step with some changes made one after the other. `peaks` are those of the graph's devices.
#[must_use]
pub fn project(graph: &Graph<'_>, peaks: &[Peaks], changes: &[&Change]) -> Projection {
    let mut lengths = graph.lengths.clone();
    let mut touched = 0;
    for change in changes {
        touched += match change {
            Change::Scale(choice, factor) => scale(graph, &mut lengths, choice, *factor),
            Change::Roofline(choice) => to_roofline(graph, &mut lengths, choice, peaks),
            Change::NoStraggler => even(graph, &mut lengths),
            Change::PerfectOverlap => 0,
        };
    }
    if !changes.contains(&&Change::PerfectOverlap) {
        return Projection { step_ps: graph.length(&graph.run(&lengths)), touched };
    }
    // Neither can the step be shorter than what is left without communication, nor than the communication of a device.
    let in_flight = communication(graph, &lengths, &graph.run(&lengths));
    let all = Choice {
        ops: graph.ops.iter().map(|op| op.class == Class::Communication).collect(),
        gaps: Vec::new(),
    };
    touched += scale(graph, &mut lengths, &all, 0.0);
    let rest = graph.length(&graph.run(&lengths));
    Projection { step_ps: rest.max(in_flight), touched }
}

fn times(length: i64, factor: f64) -> i64 {
    (length as f64 * factor).round() as i64
}

fn scale(graph: &Graph<'_>, lengths: &mut Lengths, choice: &Choice, factor: f64) -> usize {
    let mut touched = 0;
    for (node, length) in graph.nodes.iter().zip(&mut lengths.node) {
        if choice.takes(node.op, node.class) {
            *length = times(*length, factor);
            touched += 1;
        }
    }
    for (transfer, length) in graph.transfers.iter().zip(&mut lengths.transfer) {
        let issuer = &graph.nodes[transfer.issued_by as usize];
        if choice.takes(issuer.op, issuer.class) {
            *length = times(*length, factor);
            touched += 1;
        }
    }
    touched
}

/// The time that an execution of an op needs at least on the roofline, picoseconds. `None` where FLOPs, bytes or peaks are
/// not known, and for ops of which they mean nothing.
#[must_use]
pub fn floor_ps(graph: &Graph<'_>, op: u32, peaks: &Peaks) -> Option<f64> {
    let op = graph.ops.get(op as usize)?;
    if !matches!(op.class, Class::Compute | Class::Copy) {
        return None;
    }
    let limits = Work { time_ps: 0.0, flops: op.meta.flops, hbm_bytes: op.meta.hbm_bytes }.against(peaks);
    let floor = limits.compute_ps?.max(limits.memory_ps?);
    (floor > 0.0).then_some(floor)
}

fn to_roofline(graph: &Graph<'_>, lengths: &mut Lengths, choice: &Choice, peaks: &[Peaks]) -> usize {
    let mut touched = 0;
    for (at, length) in lengths.node.iter_mut().enumerate() {
        let node = &graph.nodes[at];
        if node.role != Role::Work || node.op == NONE || !choice.takes(node.op, node.class) {
            continue;
        }
        let device = graph.lanes[node.lane as usize].device as usize;
        if let Some(floor) = peaks.get(device).and_then(|peaks| floor_ps(graph, node.op, peaks)) {
            *length = (*length).min(floor.round() as i64);
            touched += 1;
        }
    }
    touched
}

/// Gives each execution of an op that works the median length over devices. Fewer than three devices have no usual one.
fn even(graph: &Graph<'_>, lengths: &mut Lengths) -> usize {
    if graph.devices.len() < straggler::FEWEST {
        return 0;
    }
    let mut executions: FxHashMap<(u32, u32), u32> = FxHashMap::default();
    let mut row_of: FxHashMap<(u32, u32), usize> = FxHashMap::default();
    let mut same: Vec<Vec<usize>> = Vec::new();
    for (at, node) in graph.nodes.iter().enumerate() {
        if node.role != Role::Work || node.op == NONE || node.class.group() != Group::Working {
            continue;
        }
        let device = graph.lanes[node.lane as usize].device;
        let nth = executions.entry((device, node.op)).or_default();
        let row = *row_of.entry((node.op, *nth)).or_insert(same.len());
        *nth += 1;
        if row == same.len() {
            same.push(Vec::new());
        }
        same[row].push(at);
    }
    let mut touched = 0;
    for nodes in same.iter().filter(|nodes| nodes.len() >= straggler::FEWEST) {
        let mut all: Vec<f64> = nodes.iter().map(|at| lengths.node[*at] as f64).collect();
        all.sort_by(f64::total_cmp);
        let median = quantile(&all, 0.5).round() as i64;
        for at in nodes {
            lengths.node[*at] = median;
        }
        touched += nodes.len();
    }
    touched
}

/// The longest time of a device with communication under way, waits for members that come late left out.
fn communication(graph: &Graph<'_>, lengths: &Lengths, schedule: &Schedule) -> i64 {
    let mut parts: Vec<Vec<(i64, i64)>> = vec![Vec::new(); graph.devices.len()];
    for (at, node) in graph.nodes.iter().enumerate() {
        if node.class == Class::Communication && node.op != NONE {
            let end = schedule.node[at];
            parts[graph.lanes[node.lane as usize].device as usize].push((end - lengths.node[at], end));
        }
    }
    for (row, transfer) in (0_u32..).zip(&graph.transfers) {
        if graph.nodes[transfer.issued_by as usize].class == Class::Communication {
            let device = graph.device_of(transfer.issued_by) as usize;
            parts[device].push((graph.begins(schedule, row), schedule.transfer[row as usize]));
        }
    }
    parts.into_iter().map(|parts| Intervals::union_of(parts).length()).max().unwrap_or(0)
}
