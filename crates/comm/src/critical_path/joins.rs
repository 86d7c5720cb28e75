//! Joins executions of collectives to those of other devices, and measures what each part of the graph took by itself.

use rustc_hash::FxHashMap;

use super::build::{Builder, Facts};
use super::clocks;
use super::graph::{Barrier, Graph, Lengths, NONE, Node, Role, Transfer};
use super::lanes::DeviceLanes;
use super::members::{Group, Groups, device_numbers};
use super::queues;
use haloscope_profile::{Device, DeviceKind, Profile};

impl<'p> Builder<'p> {
    /// Joins what belongs together, and measures each part.
    pub(super) fn finish(mut self, profile: &'p Profile, devices: &[DeviceLanes<'p>]) -> (Graph<'p>, Facts) {
        let all: Vec<&Device> = devices.iter().map(|d| d.device).collect();
        let numbers = device_numbers(profile, &all);
        let mut groups: FxHashMap<u32, (Groups, Vec<Group>)> = FxHashMap::default();
        let mut group = |graph: &Graph<'_>, op: u32, members: &[(u32, u32)]| -> (bool, Vec<Group>) {
            let (found, split) = groups.entry(op).or_insert_with(|| {
                let first = members.first().map_or(0, |m| m.0 as usize);
                let found = Groups::of(profile, all[first], &graph.ops[op as usize].meta);
                let split = found.split(&numbers);
                (found, split)
            });
            (*found == Groups::Unknown, present(split, members))
        };
        let joins = std::mem::take(&mut self.joins);
        let moves = std::mem::take(&mut self.moves);
        let mut joined = Vec::new();
        let mut ends = Vec::new();
        for (op, members) in &joins {
            let (is_guess, found) = group(&self.graph, *op, members);
            for one in found {
                if !is_guess && one.waiting.len() > 1 {
                    let end = |at: &usize| {
                        let (device, node) = members[*at];
                        (device, self.graph.nodes[node as usize].end_ps)
                    };
                    ends.push(one.waiting.iter().map(end).collect());
                }
                self.facts.absent += usize::from(one.is_partial) * one.waiting.len();
                joined.push((is_guess, members, one));
            }
        }
        let is_tpu = all.iter().all(|d| d.kind == DeviceKind::Tpu);
        if is_tpu {
            self.shift(&clocks::offsets(all.len(), &ends));
        }
        for (is_guess, members, one) in joined {
            self.join(is_guess, members, &one);
        }
        for (op, members) in &moves {
            for one in group(&self.graph, *op, members).1 {
                self.join_transfers(members, &one);
            }
        }
        self.join_rest();
        if !self.graph.sort() {
            // Measured times contradict each other: nobody waits for anybody.
            self.facts.contradicted += self.facts.joined;
            self.facts.joined = 0;
            for barrier in 0..self.graph.barriers.len() {
                self.graph.barriers[barrier].members.clear();
            }
            self.alone();
            self.graph.sort();
        }
        queues::estimate(&mut self.graph, &all);
        self.measure();
        (self.graph, self.facts)
    }

    /// Brings all times to one clock.
    fn shift(&mut self, offsets: &[i64]) {
        let graph = &mut self.graph;
        for (device, offset) in graph.devices.iter_mut().zip(offsets) {
            device.offset_ps = *offset;
            device.start_ps -= offset;
            device.end_ps -= offset;
        }
        for row in 0..graph.transfers.len() {
            let device = graph.device_of(graph.transfers[row].issued_by);
            graph.transfers[row].end_ps -= offsets[device as usize];
        }
        for lane in &graph.lanes {
            let offset = offsets[lane.device as usize];
            for node in &mut graph.nodes[lane.first as usize..lane.end as usize] {
                node.start_ps -= offset;
                node.end_ps -= offset;
            }
        }
    }

    fn barrier(&mut self, members: Vec<u32>, at_end: bool) -> u32 {
        self.graph.barriers.push(Barrier { members, at_end });
        self.graph.barriers.len() as u32 - 1
    }

    /// Lets the members of a group leave a collective a while after the last has come. Where one left before another came,
    /// they did not wait for each other.
    fn join(&mut self, is_guess: bool, members: &[(u32, u32)], one: &Group) {
        let node = |at: &usize| members[*at].1;
        let awaited: Vec<u32> = one.waited_for.iter().map(node).collect();
        let last = awaited.iter().map(|n| self.graph.nodes[*n as usize].start_ps).max().unwrap_or(i64::MIN);
        let fits = one.waiting.iter().all(|at| self.graph.nodes[node(at) as usize].end_ps >= last);
        if fits {
            let barrier = self.barrier(awaited, false);
            for at in &one.waiting {
                self.graph.nodes[node(at) as usize].role = Role::Join { barrier };
            }
            let together = one.waited_for.len() > 1;
            self.facts.joined += usize::from(together) * one.waiting.len();
            self.facts.guessed += usize::from(together && is_guess) * one.waiting.len();
        } else {
            self.facts.contradicted += one.waiting.len();
        }
    }

    /// The same for transfers: they begin when the last member has issued its part.
    fn join_transfers(&mut self, members: &[(u32, u32)], one: &Group) {
        let transfer = |at: &usize| self.graph.transfers[members[*at].1 as usize];
        let awaited: Vec<u32> = one.waited_for.iter().map(|at| transfer(at).issued_by).collect();
        let last = awaited.iter().map(|n| self.graph.nodes[*n as usize].end_ps).max().unwrap_or(i64::MIN);
        // What nobody measured may have ended at any time until the op that waits did.
        let until = |t: Transfer| {
            if t.is_hidden { self.graph.nodes[t.awaited_by as usize].end_ps } else { t.end_ps }
        };
        if one.waiting.iter().all(|at| until(transfer(at)) >= last) {
            let barrier = self.barrier(awaited, true);
            for at in &one.waiting {
                self.graph.transfers[members[*at].1 as usize].barrier = barrier;
            }
        } else {
            self.facts.contradicted += one.waiting.len();
        }
    }

    /// Transfers that wait for nobody else begin when they are issued.
    fn join_rest(&mut self) {
        for row in 0..self.graph.transfers.len() {
            if self.graph.transfers[row].barrier == NONE {
                let barrier = self.barrier(vec![self.graph.transfers[row].issued_by], true);
                self.graph.transfers[row].barrier = barrier;
            }
        }
    }

    /// Takes all joins apart.
    fn alone(&mut self) {
        for node in &mut self.graph.nodes {
            if matches!(node.role, Role::Join { .. }) {
                node.role = Role::Work;
            }
        }
        for transfer in &mut self.graph.transfers {
            transfer.barrier = NONE;
        }
        self.join_rest();
    }

    /// How long each part took by itself.
    fn measure(&mut self) {
        let graph = &mut self.graph;
        let at = |barrier: u32| {
            let barrier = &graph.barriers[barrier as usize];
            let time = |m: &u32| {
                let node = graph.nodes[*m as usize];
                if barrier.at_end { node.end_ps } else { node.start_ps }
            };
            barrier.members.iter().map(time).max().unwrap_or(0)
        };
        // A transfer that ends before it could begin takes no time, and ends when it begins.
        let mut landed: Vec<i64> = Vec::with_capacity(graph.transfers.len());
        let mut transfer: Vec<i64> = Vec::with_capacity(graph.transfers.len());
        for row in &graph.transfers {
            let before = if row.behind == NONE { i64::MIN } else { landed[row.behind as usize] };
            let begins = at(row.barrier).max(before);
            transfer.push((row.end_ps - begins).max(0));
            landed.push(row.end_ps.max(begins));
        }
        let length = |node: &Node| match node.role {
            Role::Work | Role::Gap { .. } => node.end_ps - node.start_ps,
            Role::Join { barrier } => node.end_ps - at(barrier),
            Role::Done { transfer: row } => (node.end_ps - node.start_ps.max(landed[row as usize])).max(0),
        };
        let node = graph.nodes.iter().map(length).collect();
        graph.lengths = Lengths { node, transfer };
    }
}

/// Groups of devices as groups of those members that there are: positions in `members`.
fn present(groups: &[Group], members: &[(u32, u32)]) -> Vec<Group> {
    let place = |device: &usize| members.binary_search_by_key(&(*device as u32), |m| m.0).ok();
    let of = |group: &Group| Group {
        is_partial: group.is_partial || group.waited_for.iter().any(|device| place(device).is_none()),
        waiting: group.waiting.iter().filter_map(place).collect(),
        waited_for: group.waited_for.iter().filter_map(place).collect(),
    };
    groups.iter().map(of).filter(|group| !group.waiting.is_empty()).collect()
}
