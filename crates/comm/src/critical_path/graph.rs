//! The graph of a step: what ran where, and what had to be over before it could go on.
//!
//! A lane is one stream of a device (on a TPU its only one). Its nodes follow each other without a break: pieces of ops, and
//! gaps. Devices are joined by barriers: a collective on each device ends a certain time after its last member arrived.

use haloscope_profile::DeviceId;
use haloscope_time::account::Class;
use haloscope_time::op_meta::OpMeta;

/// No node, no op.
pub const NONE: u32 = u32::MAX;

/// A stretch of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// The lane.
    pub lane: u32,
    /// Row of [`Graph::ops`]; [`NONE`] of gaps.
    pub op: u32,
    /// The class of its time.
    pub class: Class,
    /// Start as measured, picoseconds on the common clock.
    pub start_ps: i64,
    /// End as measured.
    pub end_ps: i64,
    /// What it waits for beside the node before it.
    pub role: Role,
}

/// What a node waits for beside the node before it in its lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Nothing.
    Work,
    /// No op: the time passes from the end of the node before it, or of a node in another lane where that ends later.
    Gap {
        /// The node in another lane, or [`NONE`].
        after: u32,
    },
    /// A collective: it ends some time after all members have arrived.
    Join {
        /// Row of [`Graph::barriers`].
        barrier: u32,
    },
    /// A wait for a transfer.
    Done {
        /// Row of [`Graph::transfers`].
        transfer: u32,
    },
}

/// One stream of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lane {
    /// Row of [`Graph::devices`].
    pub device: u32,
    /// Its first node; the others follow.
    pub first: u32,
    /// The node behind its last.
    pub end: u32,
}

/// A moment that several nodes must have reached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Barrier {
    /// The nodes, by device.
    pub members: Vec<u32>,
    /// True if the ends of the members count, false if their starts do.
    pub at_end: bool,
}

/// A transfer that goes on beside the lanes, from the op that issues it to the one that waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// The node that issues it.
    pub issued_by: u32,
    /// The node that waits for it.
    pub awaited_by: u32,
    /// All that must have issued their part before it can begin.
    pub barrier: u32,
    /// The transfer before it in its queue, or [`NONE`].
    pub behind: u32,
    /// Its end as measured, or as estimated.
    pub end_ps: i64,
    /// True where nobody measured when it ended, but that it was over when the op that waits for it began.
    pub is_hidden: bool,
}

/// An op of the graph.
#[derive(Debug, Clone)]
pub struct GraphOp<'p> {
    /// What the profile says of it.
    pub meta: OpMeta<'p>,
    /// The name of its program.
    pub module: String,
    /// The class of its time.
    pub class: Class,
}

/// A device in the step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GraphDevice {
    /// The device.
    pub id: DeviceId,
    /// When its step starts, on the common clock.
    pub start_ps: i64,
    /// When it ends.
    pub end_ps: i64,
    /// What was taken off its times to get to the common clock.
    pub offset_ps: i64,
}

/// How long each part takes by itself, waits left out. Changing these is asking "what if".
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lengths {
    /// For each node: of a join the time after the last member arrived, of a done that after the transfer's end.
    pub node: Vec<i64>,
    /// For each transfer.
    pub transfer: Vec<i64>,
}

/// When everything happens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Schedule {
    /// Ends of the nodes.
    pub node: Vec<i64>,
    /// Times of the barriers.
    pub barrier: Vec<i64>,
    /// Ends of the transfers.
    pub transfer: Vec<i64>,
}

/// What has a time of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Vertex {
    Node(usize),
    Barrier(usize),
    Transfer(usize),
}

/// The graph of one step on some devices.
#[derive(Debug, Clone, Default)]
pub struct Graph<'p> {
    /// Devices with ops in the step, in the profile's order.
    pub devices: Vec<GraphDevice>,
    /// Lanes by device.
    pub lanes: Vec<Lane>,
    /// Nodes by lane and time.
    pub nodes: Vec<Node>,
    /// Barriers.
    pub barriers: Vec<Barrier>,
    /// Transfers.
    pub transfers: Vec<Transfer>,
    /// Ops.
    pub ops: Vec<GraphOp<'p>>,
    /// How long each part takes by itself.
    pub lengths: Lengths,
    /// Nodes, behind them barriers, behind them transfers, each after all that it waits for.
    order: Vec<u32>,
}

impl Graph<'_> {
    /// From the first device's start to the last one's end.
    #[must_use]
    pub fn span(&self) -> (i64, i64) {
        let start = self.devices.iter().map(|d| d.start_ps).min().unwrap_or(0);
        (start, self.devices.iter().map(|d| d.end_ps).max().unwrap_or(start))
    }

    /// The node before this one in its lane.
    #[must_use]
    pub fn before(&self, node: u32) -> Option<u32> {
        let lane = self.lanes[self.nodes[node as usize].lane as usize];
        (node > lane.first).then(|| node - 1)
    }

    /// The device of a node: a row of [`Graph::devices`].
    #[must_use]
    pub fn device_of(&self, node: u32) -> u32 {
        self.lanes[self.nodes[node as usize].lane as usize].device
    }

    /// When a node's lane gets to it.
    #[must_use]
    pub fn arrival(&self, schedule: &Schedule, node: u32) -> i64 {
        match self.before(node) {
            Some(before) => schedule.node[before as usize],
            None => self.devices[self.device_of(node) as usize].start_ps,
        }
    }

    /// When a member of a barrier reaches it.
    #[must_use]
    pub fn reached(&self, schedule: &Schedule, barrier: &Barrier, member: u32) -> i64 {
        if barrier.at_end { schedule.node[member as usize] } else { self.arrival(schedule, member) }
    }

    /// The member that reaches a barrier last, the first of those that do.
    #[must_use]
    pub fn last_to_reach(&self, schedule: &Schedule, barrier: u32) -> Option<u32> {
        let barrier = &self.barriers[barrier as usize];
        let at = |m: &&u32| (self.reached(schedule, barrier, **m), std::cmp::Reverse(**m));
        barrier.members.iter().max_by_key(at).copied()
    }

    /// When a transfer begins: all have issued it, and the one before it in its queue is over.
    #[must_use]
    pub fn begins(&self, schedule: &Schedule, transfer: u32) -> i64 {
        let row = &self.transfers[transfer as usize];
        let issued = schedule.barrier[row.barrier as usize];
        if row.behind == NONE { issued } else { issued.max(schedule.transfer[row.behind as usize]) }
    }

    /// Lets the step run with parts of these lengths: the order of each lane and what waits for what stay as they were.
    #[must_use]
    pub fn run(&self, lengths: &Lengths) -> Schedule {
        let mut schedule = Schedule {
            node: vec![0; self.nodes.len()],
            barrier: vec![0; self.barriers.len()],
            transfer: vec![0; self.transfers.len()],
        };
        for &vertex in &self.order {
            let at = match self.vertex(vertex) {
                Vertex::Node(at) => at,
                Vertex::Barrier(at) => {
                    let barrier = &self.barriers[at];
                    let reached = barrier.members.iter().map(|m| self.reached(&schedule, barrier, *m));
                    schedule.barrier[at] = reached.max().unwrap_or(0);
                    continue;
                }
                Vertex::Transfer(at) => {
                    let begins = self.begins(&schedule, at as u32);
                    schedule.transfer[at] = begins.saturating_add(lengths.transfer[at]);
                    continue;
                }
            };
            let arrival = self.arrival(&schedule, vertex);
            let begins = match self.nodes[at].role {
                Role::Work | Role::Gap { after: NONE } => arrival,
                Role::Gap { after } => arrival.max(schedule.node[after as usize]),
                Role::Join { barrier } => schedule.barrier[barrier as usize],
                Role::Done { transfer } => arrival.max(schedule.transfer[transfer as usize]),
            };
            schedule.node[at] = begins.saturating_add(lengths.node[at]);
        }
        schedule
    }

    /// The last end of any lane, and the node that has it.
    #[must_use]
    pub fn last(&self, schedule: &Schedule) -> Option<(i64, u32)> {
        let ends = self.lanes.iter().filter(|l| l.end > l.first).map(|l| l.end - 1);
        ends.map(|node| (schedule.node[node as usize], node))
            .max_by_key(|(at, node)| (*at, std::cmp::Reverse(*node)))
    }

    /// How long the step takes when it runs so, picoseconds.
    #[must_use]
    pub fn length(&self, schedule: &Schedule) -> i64 {
        let start = self.span().0;
        self.last(schedule).map_or(0, |(end, _)| end - start)
    }

    /// Everything, each after all that it waits for.
    pub(super) fn order(&self) -> impl DoubleEndedIterator<Item = Vertex> {
        self.order.iter().map(|vertex| self.vertex(*vertex))
    }

    fn vertex(&self, vertex: u32) -> Vertex {
        let (at, nodes) = (vertex as usize, self.nodes.len());
        match at.checked_sub(nodes) {
            None => Vertex::Node(at),
            Some(at) => at.checked_sub(self.barriers.len()).map_or(Vertex::Barrier(at), Vertex::Transfer),
        }
    }

    /// Puts everything in an order in which each comes after all that it waits for. False if there is none, because
    /// measured times contradict each other.
    pub(super) fn sort(&mut self) -> bool {
        let all = self.nodes.len() + self.barriers.len() + self.transfers.len();
        let edges = self.edges();
        let mut waits = vec![0_u32; all];
        let mut first = vec![0_u32; all + 1];
        for (from, to) in &edges {
            waits[*to as usize] += 1;
            first[*from as usize + 1] += 1;
        }
        for at in 1..first.len() {
            first[at] += first[at - 1];
        }
        let mut place = first.clone();
        let mut targets = vec![0_u32; edges.len()];
        for (from, to) in &edges {
            targets[place[*from as usize] as usize] = *to;
            place[*from as usize] += 1;
        }
        let mut order: Vec<u32> = (0_u32..).zip(&waits).filter(|(_, n)| **n == 0).map(|(v, _)| v).collect();
        let mut next = 0;
        while let Some(&vertex) = order.get(next) {
            next += 1;
            for &to in &targets[first[vertex as usize] as usize..first[vertex as usize + 1] as usize] {
                waits[to as usize] -= 1;
                if waits[to as usize] == 0 {
                    order.push(to);
                }
            }
        }
        self.order = order;
        self.order.len() == all
    }

    /// Who waits for whom, as (waited for, waiting).
    fn edges(&self) -> Vec<(u32, u32)> {
        let base = self.nodes.len() as u32;
        let transfers = base + self.barriers.len() as u32;
        let mut edges = Vec::with_capacity(self.nodes.len() * 2);
        for lane in &self.lanes {
            edges.extend((lane.first..lane.end).skip(1).map(|node| (node - 1, node)));
        }
        for (node, at) in (0_u32..).zip(&self.nodes) {
            match at.role {
                Role::Work | Role::Gap { after: NONE } => {}
                Role::Gap { after } => edges.push((after, node)),
                Role::Join { barrier } => edges.push((base + barrier, node)),
                Role::Done { transfer } => edges.push((transfers + transfer, node)),
            }
        }
        for (row, transfer) in (transfers..).zip(&self.transfers) {
            edges.push((base + transfer.barrier, row));
            if transfer.behind != NONE {
                edges.push((transfers + transfer.behind, row));
            }
        }
        for (row, barrier) in (0_u32..).zip(&self.barriers) {
            for &member in &barrier.members {
                let from = if barrier.at_end { Some(member) } else { self.before(member) };
                edges.extend(from.map(|from| (from, base + row)));
            }
        }
        edges
    }
}
