//! Where the time of each op goes: a busy class, of compute the limit of the roofline that it is nearer to.

use super::Class;
use crate::intervals::Intervals;
use crate::nesting::walk_innermost;
use crate::op_meta::OpMeta;
use crate::op_rows::DeviceOps;
use crate::roofline::Bound;
use haloscope_profile::{Device, DeviceKind, Peaks, Profile};

/// Which limit of the roofline an op that computes is nearer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Its FLOPs over the peak take longer than its bytes over the bandwidth.
    Compute,
    /// Its bytes over the bandwidth take longer.
    Memory,
    /// Its FLOPs, its bytes or the device's peaks are not known.
    Unknown,
}

/// How many limits there are.
pub const LIMITS: usize = 3;

/// How many things an op's time may go to: the limits, and the busy classes other than compute.
pub const PLACES: usize = LIMITS + Class::BY_RANK.len() - 1;

impl Limit {
    /// All of them.
    pub const ALL: [Self; LIMITS] = [Self::Compute, Self::Memory, Self::Unknown];

    fn of(bound: Option<Bound>) -> Self {
        match bound {
            Some(Bound::Compute) => Self::Compute,
            Some(Bound::Memory) => Self::Memory,
            None => Self::Unknown,
        }
    }
}

/// Where the time of an op goes. Where several ops run at once, that of the lowest place has the instant.
fn place(meta: &OpMeta<'_>, peaks: &Peaks) -> u8 {
    let place = match Class::of(meta) {
        // The limit is a matter of the ratio of FLOPs to bytes: that of one execution is that of all.
        Class::Compute => Limit::of(bound(meta, peaks)) as usize,
        class => LIMITS + class.rank() - 1,
    };
    place as u8
}

fn bound(meta: &OpMeta<'_>, peaks: &Peaks) -> Option<Bound> {
    meta.work(1, meta.flops, meta.hbm_bytes).against(peaks).bound
}

/// The places of a device's ops, in their order.
pub(crate) fn places(ops: &DeviceOps<'_>, peaks: &Peaks) -> Vec<u8> {
    ops.ops.iter().map(|(meta, _)| place(meta, peaks)).collect()
}

/// True where at each instant one op at most is the innermost one: then sums need no sets of intervals.
pub(crate) fn is_nested(ops: &DeviceOps<'_>) -> bool {
    ops.kind() == DeviceKind::Tpu
}

/// When a device's time went to each place: disjoint.
pub(crate) fn disjoint(profile: &Profile, device: &Device, ops: &DeviceOps<'_>) -> [Intervals; PLACES] {
    let places = places(ops, &device.peaks);
    let mut parts: [Vec<(i64, i64)>; PLACES] = Default::default();
    if let Some(pieces) = ops.shared() {
        for (from, to, owners) in pieces {
            let place = owners.filter_map(|(op, _)| places.get(op as usize)).min();
            if let Some(part) = place.and_then(|place| parts.get_mut(*place as usize)) {
                part.push((from, to));
            }
        }
        return parts.map(Intervals::union_of);
    }
    for (line, rows) in ops.lines(profile) {
        let events = profile.events(line).iter().filter(|e| (rows.of(e) as usize) < places.len());
        walk_innermost(events, |event, from, to| {
            let part = places.get(rows.of(event) as usize).and_then(|place| parts.get_mut(*place as usize));
            let Some(part) = part else { return };
            match part.last_mut() {
                Some(last) if last.1 == from => last.1 = to,
                _ => part.push((from, to)),
            }
        });
    }
    let mut taken = Intervals::default();
    parts.map(|part| {
        let own = Intervals::union_of(part);
        let free = own.minus(&taken);
        taken = taken.union(&own);
        free
    })
}
