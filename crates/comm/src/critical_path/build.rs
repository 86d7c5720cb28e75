//! Puts the graph of a step together.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::graph::{Graph, GraphDevice, GraphOp, Lane, NONE, Node, Role, Transfer};
use super::lanes::{DeviceLanes, Piece};
use super::parts::{self, Part};
use super::queues;
use haloscope_profile::{Device, HostId, Profile};
use haloscope_report::stop;
use haloscope_time::account::Class;
use haloscope_time::input::input_work;
use haloscope_time::intervals::Intervals;

/// A graph holds no more nodes than this: a quarter of a gigabyte.
pub const MOST_NODES: usize = 4_000_000;
/// An event of the line of asynchronous ops belongs to the start that begins this close to it.
const SAME_TIME_PS: i64 = 2_000;
/// A done that waits for nothing takes less.
const LONGEST_DONE_PS: i64 = 1_000_000;
/// Looking at the host's events is worth it where a device idles for this share of its step.
const SMALLEST_IDLE: f64 = 0.005;

/// What was found and what was not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Facts {
    /// Executions of collectives whose members were joined.
    pub joined: usize,
    /// Those joined over all devices because nothing says which belong together.
    pub guessed: usize,
    /// Those with members that were not captured.
    pub absent: usize,
    /// Those whose measured times contradict that they waited for each other; each counts by itself.
    pub contradicted: usize,
    /// Waits for transfers whose start was not found.
    pub unpaired: usize,
    /// Devices without an op in the step.
    pub silent: usize,
    /// Some device runs several streams, and what they wait for is told by time alone.
    pub several_lanes: bool,
}

/// More nodes than [`MOST_NODES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLarge {
    /// How many there would be.
    pub nodes: usize,
}

/// Members of a barrier to be: their positions in [`Builder::devices`] and their rows.
type Found = FxHashMap<(u32, u32), usize>;

#[derive(Default)]
pub(super) struct Builder<'p> {
    pub(super) graph: Graph<'p>,
    pub(super) facts: Facts,
    row_of_op: FxHashMap<(Option<u64>, String), u32>,
    /// Executions of collectives: op, then for each device the node.
    pub(super) joins: Vec<(u32, Vec<(u32, u32)>)>,
    row_of_join: Found,
    /// Transfers of collectives: op, then for each device the row of the transfer.
    pub(super) moves: Vec<(u32, Vec<(u32, u32)>)>,
    row_of_move: Found,
}

/// The graph of a step; `step` says for each device from when to when it lasted.
///
/// # Errors
/// [`TooLarge`].
pub fn build<'p>(
    profile: &'p Profile,
    step: &[(&'p Device, (i64, i64))],
) -> Result<(Graph<'p>, Facts), TooLarge> {
    let read = |(device, span): &(&'p Device, (i64, i64))| DeviceLanes::read(profile, device, *span);
    let mut devices: Vec<DeviceLanes<'p>> = step.par_iter().map(stop::carried(read)).collect();
    let nodes = devices.iter().map(|d| 2 * d.len()).sum();
    if nodes > MOST_NODES {
        return Err(TooLarge { nodes });
    }
    let all = devices.len();
    devices.retain(|d| !d.is_empty());
    let mut builder = Builder::default();
    builder.facts.silent = all - devices.len();
    builder.facts.several_lanes = devices.iter().any(|d| d.lanes.len() > 1);
    let mut input: FxHashMap<HostId, Intervals> = FxHashMap::default();
    for device in &devices {
        let (idle, span) = (device.idle().length(), device.span.1 - device.span.0);
        if idle as f64 > SMALLEST_IDLE * span as f64 {
            input.entry(device.device.host).or_insert_with(|| input_work(profile, device.device.host));
        }
    }
    let nothing = Intervals::default();
    for device in &devices {
        builder.add(device, input.get(&device.device.host).unwrap_or(&nothing));
    }
    Ok(builder.finish(profile, &devices))
}

impl<'p> Builder<'p> {
    /// Adds a device's lanes.
    fn add(&mut self, device: &DeviceLanes<'p>, input: &Intervals) {
        let position = self.graph.devices.len() as u32;
        let (start_ps, end_ps) = device.span;
        self.graph.devices.push(GraphDevice { id: device.device.id, start_ps, end_ps, offset_ps: 0 });
        let rows: Vec<u32> = device.ops.iter().map(|(meta, module)| self.op(meta, module)).collect();
        let (parts, places) = parts::of(device.device.kind, &device.ops);
        let ends = if device.lanes.len() > 1 { ends_of(&device.lanes) } else { Vec::new() };
        let mut node_of: Vec<Vec<u32>> = Vec::new();
        // Gaps that count from a piece in another lane, which may not have its node yet.
        let mut later: Vec<(u32, (u32, u32))> = Vec::new();
        let mut executions: Vec<u32> = vec![0; device.ops.len()];
        let first_transfer = self.graph.transfers.len();
        for (row, pieces) in (0_u32..).zip(&device.lanes) {
            let lane = self.graph.lanes.len() as u32;
            let first = self.graph.nodes.len() as u32;
            let mut open: Vec<Option<(u32, u32)>> = vec![None; places];
            let mut nodes = Vec::with_capacity(pieces.len());
            let mut now = start_ps;
            for piece in pieces {
                self.gap(device, input, lane, (now, piece.start_ps), &ends, row, &mut later);
                now = piece.end_ps;
                let node = self.graph.nodes.len() as u32;
                nodes.push(node);
                let (op, part) = (rows[piece.op as usize], parts[piece.op as usize]);
                let class = self.graph.ops[op as usize].class;
                let (start_ps, end_ps) = (piece.start_ps, piece.end_ps);
                self.graph.nodes.push(Node { lane, op, class, start_ps, end_ps, role: Role::Work });
                if piece.is_first {
                    let execution = executions[piece.op as usize];
                    executions[piece.op as usize] += 1;
                    self.execution(device, position, node, piece, part, execution, &mut open);
                }
            }
            self.gap(device, input, lane, (now, end_ps), &ends, row, &mut later);
            node_of.push(nodes);
            self.graph.lanes.push(Lane { device: position, first, end: self.graph.nodes.len() as u32 });
        }
        for (gap, (lane, piece)) in later {
            let after = node_of[lane as usize][piece as usize];
            self.graph.nodes[gap as usize].role = Role::Gap { after };
        }
        self.settle_dones(first_transfer);
    }

    /// The row of an op, the same one on all devices.
    fn op(&mut self, meta: &haloscope_time::op_meta::OpMeta<'p>, module: &str) -> u32 {
        let next = self.graph.ops.len() as u32;
        let key = (meta.program_id, meta.name.to_string());
        let row = *self.row_of_op.entry(key).or_insert(next);
        if row == next {
            let class = Class::of(meta);
            self.graph.ops.push(GraphOp { meta: meta.clone(), module: module.to_owned(), class });
        }
        row
    }

    /// What an execution has to do with others: joins it to those of other devices, pairs starts with dones.
    #[expect(clippy::too_many_arguments, reason = "all of it is where the execution stands")]
    fn execution(
        &mut self,
        device: &DeviceLanes<'_>,
        position: u32,
        node: u32,
        piece: &Piece,
        part: Part,
        execution: u32,
        open: &mut [Option<(u32, u32)>],
    ) {
        let op = self.graph.nodes[node as usize].op;
        if part.is_join && piece.is_whole {
            let next = self.joins.len();
            let row = *self.row_of_join.entry((op, execution)).or_insert(next);
            if row == next {
                self.joins.push((op, Vec::new()));
            }
            self.joins[row].1.push((position, node));
        }
        let issued = part.closes.and_then(|place| open[place].take());
        let is_done = part.closes.is_some() && part.opens.is_none();
        match issued {
            Some((issuer, nth)) if is_done && piece.is_whole => {
                self.transfer(device, position, issuer, nth, node);
            }
            None if is_done => self.facts.unpaired += 1,
            _ => {}
        }
        if let Some(place) = part.opens {
            open[place] = Some(issued.unwrap_or((node, execution)));
        }
    }

    /// A transfer from its issue to its done.
    fn transfer(&mut self, device: &DeviceLanes<'_>, position: u32, issuer: u32, nth: u32, done: u32) {
        let (from, to) = (self.graph.nodes[issuer as usize], self.graph.nodes[done as usize]);
        // Where the line of asynchronous ops says that it ended before its done did, that is measured.
        let near = device.in_flight.partition_point(|(start, _)| *start < from.start_ps - SAME_TIME_PS);
        let beside = device.in_flight.get(near).filter(|(start, _)| *start <= from.start_ps + SAME_TIME_PS);
        let measured = beside.map(|(_, end)| *end).filter(|end| *end < to.end_ps && *end >= from.end_ps);
        let row = self.graph.transfers.len() as u32;
        self.graph.transfers.push(Transfer {
            issued_by: issuer,
            awaited_by: done,
            barrier: NONE,
            behind: NONE,
            end_ps: measured.unwrap_or(to.end_ps),
            is_hidden: measured.is_none(),
        });
        self.graph.nodes[done as usize].role = Role::Done { transfer: row };
        if from.class == Class::Communication {
            let next = self.moves.len();
            let group = *self.row_of_move.entry((from.op, nth)).or_insert(next);
            if group == next {
                self.moves.push((from.op, Vec::new()));
            }
            self.moves[group].1.push((position, row));
        }
    }

    /// Decides when the transfers of a device ended whose end nobody measured: the shortest of its dones waited for nothing,
    /// and what another took longer than that, it waited.
    fn settle_dones(&mut self, first_transfer: usize) {
        let graph = &mut self.graph;
        let first = graph.lanes.iter().rev().take_while(|l| l.device as usize + 1 == graph.devices.len());
        let from = first.last().map_or(0, |lane| lane.first as usize);
        let dones = graph.nodes[from..].iter().filter(|n| matches!(n.role, Role::Done { .. }));
        let shortest = dones.clone().map(|n| n.end_ps - n.start_ps).min().unwrap_or(0).min(LONGEST_DONE_PS);
        for done in dones {
            let Role::Done { transfer } = done.role else { continue };
            let row = &mut graph.transfers[transfer as usize];
            if row.is_hidden && transfer as usize >= first_transfer {
                let waited = done.end_ps - done.start_ps > 2 * shortest;
                row.end_ps = if waited { done.end_ps - shortest } else { done.start_ps };
                row.is_hidden = !waited;
            }
        }
        queues::line_up(graph, first_transfer);
    }

    /// Adds the nodes of a gap in a lane.
    #[expect(clippy::too_many_arguments, reason = "all of it is where the gap stands")]
    fn gap(
        &mut self,
        device: &DeviceLanes<'_>,
        input: &Intervals,
        lane: u32,
        (from, to): (i64, i64),
        ends: &[(i64, u32, u32)],
        row: u32,
        later: &mut Vec<(u32, (u32, u32))>,
    ) {
        if from >= to {
            return;
        }
        // With several lanes: what ended last before the gap's end is what was waited for.
        let ended = ends.partition_point(|(end, ..)| *end <= to);
        let other = ended.checked_sub(1).map(|at| ends[at]).filter(|o| o.1 != row && o.0 > from);
        let start = other.map_or(from, |(end, ..)| end);
        let mut parts = device.gap(start, to, input);
        if parts.is_empty() {
            parts.push((start, to, Class::Overhead));
        }
        for (at, (start_ps, end_ps, class)) in parts.into_iter().enumerate() {
            if let (0, Some((_, lane, piece))) = (at, other) {
                later.push((self.graph.nodes.len() as u32, (lane, piece)));
            }
            let role = Role::Gap { after: NONE };
            self.graph.nodes.push(Node { lane, op: NONE, class, start_ps, end_ps, role });
        }
    }
}

/// The ends of all pieces of a device's lanes, by time: end, lane, piece.
fn ends_of(lanes: &[Vec<Piece>]) -> Vec<(i64, u32, u32)> {
    let of_lane = |(lane, pieces): (u32, &Vec<Piece>)| {
        (0_u32..).zip(pieces).map(move |(at, p)| (p.end_ps, lane, at)).collect::<Vec<_>>()
    };
    let mut ends: Vec<_> = (0_u32..).zip(lanes).flat_map(of_lane).collect();
    ends.sort_unstable();
    ends
}
