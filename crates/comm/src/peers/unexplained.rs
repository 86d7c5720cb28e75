//! Time in collectives that neither the members of their groups nor their messages explain: a wait for somebody who was not captured.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::LATENCY_PS;
use crate::critical_path::{Graph, NONE, Role};
use haloscope_profile::DeviceId;
use haloscope_time::account::Class;
use haloscope_time::stats::mean;

/// What takes a device so many times as long as the quickest one, in one execution of a collective, is no message of its own.
const UNEXPLAINED: i64 = 4;

/// What each device stands in an execution of a collective by itself, without its wait for the members of its group: by op and how many
/// executions of it came before, the device's row and picoseconds.
fn standing_alone(graph: &Graph<'_>) -> BTreeMap<(u32, u32), Vec<(u32, i64)>> {
    let mut before: FxHashMap<(u32, u32), u32> = FxHashMap::default();
    let mut same: BTreeMap<(u32, u32), Vec<(u32, i64)>> = BTreeMap::new();
    for (at, node) in (0_u32..).zip(&graph.nodes) {
        // A collective without its wait for members, a done without what was over before.
        let own = match node.role {
            Role::Join { .. } => Some((node.op, graph.lengths.node[at as usize])),
            Role::Done { transfer } => {
                let issuer = &graph.nodes[graph.transfers[transfer as usize].issued_by as usize];
                let stands = node.end_ps - node.start_ps;
                let begins =
                    graph.transfers[transfer as usize].end_ps - graph.lengths.transfer[transfer as usize];
                let waited = (begins - node.start_ps).clamp(0, stands.max(0));
                (issuer.class == Class::Communication).then_some((issuer.op, stands - waited))
            }
            _ => None,
        };
        let Some((op, length)) = own.filter(|(op, _)| *op != NONE) else { continue };
        let device = graph.device_of(at);
        let nth = before.entry((device, op)).or_default();
        same.entry((op, *nth)).or_default().push((device, length));
        *nth += 1;
    }
    same
}

/// What the device with most of it stands in collectives beyond the quickest of all in the same executions, where that is several
/// times as long: one message is sent everywhere alike, so that the rest is a wait of which the groups know nothing.
pub(super) fn unexplained(graph: &Graph<'_>) -> i64 {
    let mut of_device = vec![0_i64; graph.devices.len()];
    for lengths in standing_alone(graph).into_values() {
        let least = lengths.iter().map(|(_, length)| *length).min().unwrap_or(0).max(0);
        for (device, length) in lengths {
            if length > UNEXPLAINED.saturating_mul(least) && length - least > LATENCY_PS {
                of_device[device as usize] += length - least;
            }
        }
    }
    of_device.into_iter().max().unwrap_or(0)
}

/// By how much the other devices stand longer in the same executions of collectives than these do, beyond their waits for the members
/// of their groups: a mean over the others, picoseconds.
pub(super) fn unexplained_by(graph: &Graph<'_>, some: &[DeviceId]) -> f64 {
    let is_one: Vec<bool> = graph.devices.iter().map(|d| some.contains(&d.id)).collect();
    let mut sum = 0.0;
    for lengths in standing_alone(graph).into_values() {
        let of = |own: bool| -> Vec<f64> {
            let those = lengths.iter().filter(|(device, _)| is_one[*device as usize] == own);
            those.map(|(_, length)| *length as f64).collect()
        };
        if let Some((own, others)) = mean(&of(true)).zip(mean(&of(false))) {
            sum += others - own;
        }
    }
    sum.max(0.0)
}
