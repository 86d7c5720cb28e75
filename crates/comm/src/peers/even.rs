//! Parts of a graph given the lengths that their peers have.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::{Members, SlowLinks, key, median, members};
use crate::critical_path::{Graph, Lengths, NONE, Node, Role};
use haloscope_profile::DeviceId;
use haloscope_time::account::{Class, Group};
use haloscope_time::stats::mean;

fn times(length: i64, factor: f64) -> i64 {
    (length as f64 * factor).round() as i64
}

/// Executions by op and how many pieces of it came before on the device: the device's row and the node.
fn executions(graph: &Graph<'_>, takes: impl Fn(&Node) -> bool) -> BTreeMap<(u32, u32), Vec<(u32, usize)>> {
    let mut before: FxHashMap<(u32, u32), u32> = FxHashMap::default();
    let mut same: BTreeMap<(u32, u32), Vec<(u32, usize)>> = BTreeMap::new();
    for (at, node) in graph.nodes.iter().enumerate().filter(|(_, node)| takes(node)) {
        let device = graph.device_of(at as u32);
        let nth = before.entry((device, node.op)).or_default();
        same.entry((node.op, *nth)).or_default().push((device, at));
        *nth += 1;
    }
    same
}

/// Gives executions on slow devices the mean length that the others' median has; without slow ones each the median of all.
pub(super) fn even_work(graph: &Graph<'_>, lengths: &mut Lengths, slow: Option<&[DeviceId]>) {
    let is_slow: Vec<bool> =
        graph.devices.iter().map(|d| slow.is_none_or(|slow| slow.contains(&d.id))).collect();
    let works =
        |node: &Node| node.role == Role::Work && node.op != NONE && node.class.group() == Group::Working;
    for nodes in executions(graph, works).into_values() {
        let length = |takes: bool| -> Vec<f64> {
            let some =
                nodes.iter().filter(|(device, _)| slow.is_none() || is_slow[*device as usize] == takes);
            some.map(|(_, at)| lengths.node[*at] as f64).collect()
        };
        let (own, others) = (length(true), length(false));
        let (Some(own), false) = (mean(&own), others.is_empty()) else { continue };
        let usual = median(&others);
        for (device, at) in &nodes {
            if slow.is_none() {
                lengths.node[*at] = usual.round() as i64;
            } else if is_slow[*device as usize] && own > 0.0 {
                lengths.node[*at] = times(lengths.node[*at], usual / own);
            }
        }
    }
}

/// The op before which a device waits, and how many executions of it came before.
type Place = (u32, u32);
/// A device, and its nodes without work.
type Waits = (u32, Vec<usize>);

/// Caps what a device idles or waits for its host at one place by the median of what the others do there.
pub(super) fn even_starts(graph: &Graph<'_>, lengths: &mut Lengths) {
    let mut places: BTreeMap<Place, Vec<Waits>> = BTreeMap::new();
    for lane in &graph.lanes {
        let mut seen: FxHashMap<u32, u32> = FxHashMap::default();
        let mut open: Vec<usize> = Vec::new();
        for at in lane.first..lane.end {
            let node = &graph.nodes[at as usize];
            let waits = matches!(node.class, Class::HostTransfer | Class::Infeed);
            if waits || (node.op == NONE && node.class.group() == Group::Idle) {
                open.push(at as usize);
            }
            if node.op == NONE || waits {
                continue;
            }
            let nth = seen.entry(node.op).or_default();
            if !open.is_empty() {
                places.entry((node.op, *nth)).or_default().push((lane.device, std::mem::take(&mut open)));
            }
            *nth += 1;
        }
    }
    let devices = graph.devices.len();
    for found in places.into_values() {
        let sum = |nodes: &[usize]| nodes.iter().map(|at| lengths.node[*at] as f64).sum::<f64>();
        let sums: Vec<f64> = found.iter().map(|(_, nodes)| sum(nodes)).collect();
        let mut changes: Vec<(usize, f64)> = Vec::new();
        for (position, (_, nodes)) in found.iter().enumerate() {
            let mut others: Vec<f64> =
                sums.iter().enumerate().filter(|(at, _)| *at != position).map(|(_, s)| *s).collect();
            others.resize(devices.saturating_sub(1).max(others.len()), 0.0);
            let (own, usual) = (sums[position], median(&others));
            if usual < own {
                changes.extend(nodes.iter().map(|at| (*at, usual / own)));
            }
        }
        for (at, by) in changes {
            lengths.node[at] = times(lengths.node[at], by);
        }
    }
}

/// The graph with no device that begins later than the median of the others does.
pub(super) fn begun_together<'p>(graph: &Graph<'p>) -> Graph<'p> {
    let mut together = graph.clone();
    let starts: Vec<f64> = graph.devices.iter().map(|d| d.start_ps as f64).collect();
    for (at, device) in together.devices.iter_mut().enumerate() {
        let others: Vec<f64> =
            starts.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, start)| *start).collect();
        if !others.is_empty() {
            device.start_ps = device.start_ps.min(median(&others).round() as i64);
        }
    }
    together
}

/// Gives collectives in slow groups the lengths of their peers.
pub(super) fn even_links(graph: &Graph<'_>, lengths: &mut Lengths, links: &SlowLinks) {
    let ops: Vec<Option<&BTreeMap<Members, f64>>> =
        graph.ops.iter().map(|op| links.factors.get(&key(&op.meta))).collect();
    let of = |op: u32, barrier: u32| {
        ops.get(op as usize).copied().flatten()?.get(&members(graph, barrier)).copied()
    };
    for (at, node) in graph.nodes.iter().enumerate() {
        if let Role::Join { barrier } = node.role
            && let Some(by) = of(node.op, barrier)
        {
            lengths.node[at] = times(lengths.node[at], by);
        }
    }
    for (row, transfer) in graph.transfers.iter().enumerate() {
        if let Some(by) = of(graph.nodes[transfer.issued_by as usize].op, transfer.barrier) {
            lengths.transfer[row] = times(lengths.transfer[row], by);
        }
    }
}
