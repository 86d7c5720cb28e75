//! What is known of a collective, and what it should take by that.

use std::collections::BTreeMap;

use super::{Op, key};
use crate::group_lists::Groups;
use crate::groups::Extent;
use crate::links::factor;
use crate::mesh::{Mesh, axes_of};
use crate::message;
use haloscope_profile::{DeviceId, Profile};
use haloscope_time::hlo_costs::Costs;
use haloscope_time::op_meta::OpMeta;

/// What takes less is latency rather than bandwidth, picoseconds: where nobody knows what links carry, the time it takes...
pub(super) const BANDWIDTH_PS: f64 = 50e6;
/// ... else the time that its bytes need.
pub(super) const BANDWIDTH_OF_BYTES_PS: f64 = 20e6;
/// What large messages reach of what links can carry: 80 to 95% (JAX's scaling book measures 95% from 10 MB on).
pub(super) const USUAL_ALL: f64 = 0.85;
/// A message goes on from chip to chip, as often as a square of all members is long and wide, picoseconds each time (JAX's scaling book: about
/// a microsecond a hop).
const HOP_PS: f64 = 1e6;

/// What goes over one link.
pub(super) const HOP: &str = "collective-permute";

/// What a collective sends: its kind, axis, members and bytes over the links of a device.
pub(super) type Message<'k> = (&'k str, &'k str, u64, u64);

/// What is known of a collective.
pub(super) struct Known {
    pub(super) axis: String,
    pub(super) kind: String,
    pub(super) members: u64,
    pub(super) bytes: Option<f64>,
    /// It computes as well, in a fusion.
    pub(super) is_fused: bool,
    /// All devices that the program runs on are members.
    pub(super) is_whole: bool,
}

/// What is known of collectives, of ops of these devices.
pub(super) fn facts<'p>(
    profile: &'p Profile,
    ops: impl Iterator<Item = (DeviceId, Vec<OpMeta<'p>>)>,
) -> BTreeMap<Op, Known> {
    let mut found: BTreeMap<Op, (OpMeta<'_>, Groups, Option<Extent>)> = BTreeMap::new();
    let mut bytes: BTreeMap<Op, (String, Option<f64>)> = BTreeMap::new();
    for (device, ops) in ops {
        let costs = Costs::new(profile, profile.device(device));
        for meta in ops {
            let key = key(&meta);
            if found.contains_key(&key) {
                continue;
            }
            let module = meta.program_id.and_then(|id| costs.program(id));
            let Some(groups) = Groups::of(module, &meta, None) else { continue };
            let instruction = module.and_then(|m| Some((m, message::collective(m, &meta.name)?)));
            let size = instruction
                .and_then(|(m, i)| message::bytes(m, i))
                .or_else(|| message::bytes_of_text(&meta.expression));
            let word = message::word(&meta);
            let kind = if word.is_empty() {
                instruction.map(|(_, i)| message::kind(i).into_owned()).unwrap_or_default()
            } else {
                word.to_owned()
            };
            bytes.insert(key.clone(), (kind, size));
            found.insert(key, (meta, groups, module.map(Extent::of)));
        }
    }
    let mesh = Mesh::of_groups(found.values().map(|(_, groups, _)| groups));
    let one = |(key, (meta, groups, extent)): (Op, (OpMeta<'_>, Groups, Option<Extent>))| {
        let (kind, size) = bytes.remove(&key).unwrap_or_default();
        let all = extent.and_then(|extent| extent.partitions?.checked_mul(extent.replicas.unwrap_or(1)));
        let known = Known {
            axis: axes_of(&groups, mesh.as_ref()),
            kind,
            members: groups.size.unwrap_or(0),
            bytes: size,
            is_fused: meta.category.contains("fusion") || meta.name.contains("fusion"),
            is_whole: all.is_some() && all == groups.size,
        };
        (key, known)
    };
    found.into_iter().map(one).collect()
}

impl Known {
    /// The part of what the two links of an axis carry that a collective can have of it. A hop of a permute goes over one. In an exchange
    /// of all with all messages go on from device to device, in a ring of n over n/4 links each on average; of all chips of a slice,
    /// a rectangle, half of the messages cross its middle, over as many links as its shorter side has chips.
    pub(super) fn reachable(&self) -> f64 {
        let members = self.members.max(1);
        match self.kind.as_str() {
            HOP => 0.5,
            kind if kind.contains("all-to-all") => {
                let ring = 4.0 / members as f64;
                let side = 1_u64 << u64::from(members.next_power_of_two().ilog2()).div_ceil(2);
                let slice = if self.is_whole { 2.0 / side as f64 } else { 0.0 };
                ring.max(slice).min(1.0)
            }
            _ => 1.0,
        }
    }

    /// How long its bytes take at all of what the two links of an axis carry, bytes a second: picoseconds.
    pub(super) fn bytes_ps(&self, could: f64) -> Option<f64> {
        Some(self.moved()? / (could * self.reachable()) * 1e12)
    }

    /// How long its message goes from chip to chip, picoseconds: of a permute one way, and no further than to the next.
    pub(super) fn latency_ps(&self) -> f64 {
        if self.kind == HOP { HOP_PS } else { 2.0 * HOP_PS * (self.members.max(1) as f64).sqrt() }
    }

    /// What an execution should take where the two links of an axis carry so much, bytes a second: picoseconds.
    pub(super) fn expected_ps(&self, could: f64) -> Option<f64> {
        Some(self.bytes_ps(could)? / USUAL_ALL + self.latency_ps())
    }

    /// Whether bandwidth tells how long it takes, by its bytes where it is known what the two links of an axis could carry, bytes a
    /// second: a slow link makes small messages long as well.
    pub(super) fn is_large(&self, time_ps: f64, could: Option<f64>) -> bool {
        match could.and_then(|could| self.bytes_ps(could)) {
            // What takes less than its bytes do at all that links carry does not send them.
            Some(bytes_ps) => bytes_ps >= BANDWIDTH_OF_BYTES_PS && time_ps >= bytes_ps.min(BANDWIDTH_PS),
            None => time_ps >= BANDWIDTH_PS,
        }
    }

    /// Whether its way takes longer than its bytes, where the two links of an axis could carry so much, bytes a second.
    pub(super) fn is_small(&self, could: f64) -> bool {
        self.bytes_ps(could).is_some_and(|ps| ps < self.latency_ps())
    }

    /// Whether these are all of its members.
    pub(super) fn has_all(&self, members: &[u32]) -> bool {
        self.members > 0 && members.len() as u64 == self.members
    }

    /// What it sends, where its bytes are known.
    pub(super) fn message(&self) -> Option<Message<'_>> {
        Some((&self.kind, &self.axis, self.members, self.moved()? as u64))
    }

    /// Bytes over each device's links, the factor of its kind in it.
    pub(super) fn moved(&self) -> Option<f64> {
        self.bytes.zip(factor(&self.kind, self.members)).map(|(bytes, by)| bytes * by).filter(|b| *b > 0.0)
    }
}
