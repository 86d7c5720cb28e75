//! Transfers in the order in which a device carries them out, and how long those lasted that nobody waited for.

use super::graph::{Graph, NONE};
use haloscope_profile::Device;
use haloscope_time::account::Class;
use haloscope_time::stats::quantile;

/// The sorts of transfers that do not stand in each other's way.
const QUEUES: [Class; 3] = [Class::Communication, Class::HostTransfer, Class::AsyncWait];

/// Lines up the transfers of the device added last: of two of one sort the later begins when the earlier is over, unless it was
/// measured to end before it.
pub(super) fn line_up(graph: &mut Graph<'_>, first_transfer: usize) {
    for class in QUEUES {
        let mut last: Option<usize> = None;
        for row in first_transfer..graph.transfers.len() {
            let transfer = graph.transfers[row];
            if transfer.is_hidden || graph.nodes[transfer.issued_by as usize].class != class {
                continue;
            }
            // Rows stand in the order of their dones; what was issued later is not waited for.
            let issued = |t: usize| graph.nodes[graph.transfers[t].issued_by as usize].start_ps;
            if let Some(before) = last
                && issued(before) <= issued(row)
                && graph.transfers[before].end_ps <= transfer.end_ps
            {
                graph.transfers[row].behind = before as u32;
            }
            last = Some(row);
        }
    }
}

/// Estimates the ends of transfers that nobody waited for and nobody timed: from their bytes and the median rate of those of
/// their sort that somebody timed, for copies else from the device's bandwidth; without either they take no time. None is later
/// than measured.
pub(super) fn estimate(graph: &mut Graph<'_>, devices: &[&Device]) {
    let begins = |graph: &Graph<'_>, row: usize| {
        let barrier = &graph.barriers[graph.transfers[row].barrier as usize];
        barrier.members.iter().map(|m| graph.nodes[*m as usize].end_ps).max().unwrap_or(0)
    };
    for class in QUEUES {
        let is_own = |graph: &Graph<'_>, row: usize| {
            graph.nodes[graph.transfers[row].issued_by as usize].class == class
        };
        let bytes = |graph: &Graph<'_>, row: usize| {
            let op = graph.nodes[graph.transfers[row].issued_by as usize].op;
            graph.ops[op as usize].meta.bytes.filter(|b| *b > 0.0)
        };
        // Picoseconds a byte.
        let timed = (0..graph.transfers.len()).filter(|row| is_own(graph, *row)).filter_map(|row| {
            let transfer = &graph.transfers[row];
            let since = match transfer.behind {
                NONE => begins(graph, row),
                before => begins(graph, row).max(graph.transfers[before as usize].end_ps),
            };
            let length =
                (!transfer.is_hidden && transfer.end_ps > since).then_some(transfer.end_ps - since)?;
            Some(length as f64 / bytes(graph, row)?)
        });
        let mut timed: Vec<f64> = timed.collect();
        timed.sort_by(f64::total_cmp);
        let usual = (!timed.is_empty()).then(|| quantile(&timed, 0.5));
        for row in 0..graph.transfers.len() {
            let transfer = graph.transfers[row];
            if !transfer.is_hidden || !is_own(graph, row) {
                continue;
            }
            let device = devices.get(graph.device_of(transfer.issued_by) as usize);
            let peak = device.and_then(|d| d.peaks.hbm).filter(|_| class == Class::AsyncWait);
            let rate = usual.or(peak.map(|peak| 1e12 / peak.rate));
            let length = rate.zip(bytes(graph, row)).map_or(0.0, |(rate, bytes)| rate * bytes);
            graph.transfers[row].end_ps =
                begins(graph, row).saturating_add(length as i64).min(transfer.end_ps);
        }
    }
}
