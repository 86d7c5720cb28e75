//! The longest chain through a step, and how much everything beside it may be late.

use super::graph::{Graph, Lengths, NONE, Role, Schedule, Vertex};
use haloscope_time::account::Class;

/// A stretch of the chain. Its segments follow each other without a break from the step's start to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Row of [`Graph::devices`].
    pub device: u32,
    /// Row of [`Graph::ops`]; of a transfer the op that issues it; [`NONE`] where none runs.
    pub op: u32,
    /// What the time goes to.
    pub class: Class,
    /// True where a transfer goes on beside the device's ops.
    pub in_flight: bool,
    /// Start on the common clock, picoseconds.
    pub start_ps: i64,
    /// End.
    pub end_ps: i64,
}

/// The chain that ends last, walked back from the end: at a collective to the member that arrived last, at the wait for a
/// transfer that was still under way to the transfer and to who issued it last, at a gap to whatever ended before it.
#[must_use]
pub fn longest(graph: &Graph<'_>, schedule: &Schedule) -> Vec<Segment> {
    let mut path = Vec::new();
    let Some((_, mut node)) = graph.last(schedule) else { return path };
    let mut push = |device, op, class, in_flight, start_ps: i64, end_ps: i64| {
        if start_ps < end_ps {
            path.push(Segment { device, op, class, in_flight, start_ps, end_ps });
        }
    };
    loop {
        let at = &graph.nodes[node as usize];
        let device = graph.device_of(node);
        let (arrival, end) = (graph.arrival(schedule, node), schedule.node[node as usize]);
        let mut next = graph.before(node);
        match at.role {
            Role::Work => push(device, at.op, at.class, false, arrival, end),
            Role::Gap { after } => {
                let other = Some(after).filter(|a| *a != NONE).map(|a| (schedule.node[a as usize], a));
                match other.filter(|(ended, _)| *ended >= arrival) {
                    Some((ended, after)) => {
                        push(device, at.op, at.class, false, ended, end);
                        next = Some(after);
                    }
                    None => push(device, at.op, at.class, false, arrival, end),
                }
            }
            Role::Join { barrier } => {
                push(device, at.op, at.class, false, schedule.barrier[barrier as usize], end);
                if let Some(last) = graph.last_to_reach(schedule, barrier) {
                    next = graph.before(last);
                    if next.is_none() {
                        node = last;
                    }
                }
            }
            Role::Done { transfer } => {
                let landed = schedule.transfer[transfer as usize];
                push(device, at.op, at.class, false, landed.max(arrival), end);
                if landed > arrival {
                    let mut moving = transfer;
                    loop {
                        let row = &graph.transfers[moving as usize];
                        let issuer = &graph.nodes[row.issued_by as usize];
                        let begins = graph.begins(schedule, moving);
                        push(
                            device,
                            issuer.op,
                            issuer.class,
                            true,
                            begins,
                            schedule.transfer[moving as usize],
                        );
                        if begins > schedule.barrier[row.barrier as usize] {
                            moving = row.behind;
                            continue;
                        }
                        next = graph.last_to_reach(schedule, row.barrier).or(Some(row.issued_by));
                        break;
                    }
                }
            }
        }
        match next {
            Some(before) => node = before,
            None => break,
        }
    }
    // The device whose chain this is may have begun its step after the others.
    let device = graph.device_of(node);
    push(device, NONE, Class::Before, false, graph.span().0, graph.devices[device as usize].start_ps);
    path.reverse();
    path
}

/// By how much each node's end, and each transfer's, may be later before the step ends later, picoseconds.
#[must_use]
pub fn slack(graph: &Graph<'_>, lengths: &Lengths, schedule: &Schedule) -> Lengths {
    let nodes = graph.nodes.len();
    let end = graph.last(schedule).map_or(0, |(end, _)| end);
    let mut latest = vec![end; nodes];
    let mut at_barrier = vec![i64::MAX; graph.barriers.len()];
    let mut landing = vec![i64::MAX; graph.transfers.len()];
    for vertex in graph.order().rev() {
        let at = match vertex {
            Vertex::Node(at) => at,
            Vertex::Barrier(at) => {
                let barrier = &graph.barriers[at];
                for &member in &barrier.members {
                    let from = if barrier.at_end { Some(member) } else { graph.before(member) };
                    if let Some(from) = from {
                        latest[from as usize] = latest[from as usize].min(at_barrier[at]);
                    }
                }
                continue;
            }
            Vertex::Transfer(at) => {
                let (row, begins) = (&graph.transfers[at], landing[at].saturating_sub(lengths.transfer[at]));
                let issued = &mut at_barrier[row.barrier as usize];
                *issued = begins.min(*issued);
                if row.behind != NONE {
                    let before = &mut landing[row.behind as usize];
                    *before = begins.min(*before);
                }
                continue;
            }
        };
        let begins = latest[at].saturating_sub(lengths.node[at]);
        match graph.nodes[at].role {
            Role::Work | Role::Gap { after: NONE } => {}
            Role::Gap { after } => latest[after as usize] = latest[after as usize].min(begins),
            Role::Join { barrier } => {
                at_barrier[barrier as usize] = at_barrier[barrier as usize].min(begins);
                continue;
            }
            Role::Done { transfer } => {
                landing[transfer as usize] = landing[transfer as usize].min(begins);
            }
        }
        if let Some(before) = graph.before(at as u32) {
            latest[before as usize] = latest[before as usize].min(begins);
        }
    }
    let node = latest.iter().zip(&schedule.node).map(|(late, at)| late.saturating_sub(*at)).collect();
    let transfer =
        landing.iter().zip(&schedule.transfer).map(|(late, at)| late.saturating_sub(*at)).collect();
    Lengths { node, transfer }
}
