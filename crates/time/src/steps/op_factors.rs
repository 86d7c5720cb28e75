//! By how much ops are slower in some steps than in others.

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::account::{Class, Group};
use crate::intervals::Intervals;
use crate::op_rows::DeviceOps;
use haloscope_profile::{Device, Profile};
use haloscope_report::stop;

/// An op in slow steps against the same op in good ones.
#[derive(Debug, Clone, PartialEq)]
pub struct OpFactor {
    /// The instruction's name.
    pub op: String,
    /// Its framework scope.
    pub path: String,
    /// Mean self time of an execution in the good steps, picoseconds.
    pub usual_ps: f64,
    /// The same in the slow ones, over it.
    pub factor: f64,
    /// What all its executions in the slow steps take beyond that, picoseconds, summed over devices.
    pub excess_ps: f64,
    /// What they would have taken, picoseconds, summed over devices.
    pub weight_ps: f64,
}

/// The ops that work, those with the largest excess first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OpFactors(pub Vec<OpFactor>);

/// Ops are slow alike where this share of their time lies in ops that are slower by about the same factor.
const ALIKE: f64 = 0.8;
/// "About the same": this far from the mean one, of what it is above 1; ops spread by as much as the other number.
const NEAR: f64 = 0.25;
const SPREAD: f64 = 0.012;
/// Devices that are looked at: ops that all of them run are slow on all, or the device is named by its steps.
const DEVICES: usize = 8;

impl OpFactors {
    /// Compares the ops of two sets of time, one of each by device.
    #[must_use]
    pub fn of(profile: &Profile, devices: &[(&Device, Intervals, Intervals)]) -> Self {
        type Sums = BTreeMap<(String, String), [f64; 4]>;
        let of_device = |(device, slow, good): &(&Device, Intervals, Intervals)| {
            let ops = DeviceOps::find(profile, device);
            let mut sums = vec![[0.0_f64; 4]; ops.ops.len()];
            for (set, at) in [(slow, 0), (good, 2)] {
                ops.walk(profile, Some(set), |row, event, self_ps| {
                    // One that lies on the edge of a step is in neither.
                    let inside = set.overlap(event.start_ps, event.end_ps) == event.end_ps - event.start_ps;
                    if let Some(sum) = sums.get_mut(row).filter(|_| inside) {
                        sum[at] += self_ps as f64;
                        sum[at + 1] += 1.0;
                    }
                });
            }
            let mut own: Sums = BTreeMap::new();
            for ((meta, _), sum) in ops.ops.iter().zip(sums) {
                let class = Class::of(meta);
                if class.group() != Group::Working || class == Class::Overhead {
                    continue;
                }
                let key = (meta.name.to_string(), meta.framework_op.to_string());
                let all = own.entry(key).or_default();
                all.iter_mut().zip(sum).for_each(|(all, own)| *all += own);
            }
            own
        };
        let each: Vec<Sums> = devices.par_iter().take(DEVICES).map(stop::carried(of_device)).collect();
        let mut all: Sums = BTreeMap::new();
        for (key, sum) in each.into_iter().flatten() {
            let own = all.entry(key).or_default();
            own.iter_mut().zip(sum).for_each(|(own, sum)| *own += sum);
        }
        let factor = |((op, path), [slow, runs, good, usual]): ((String, String), [f64; 4])| {
            let usual_ps = (usual > 0.0 && good > 0.0).then(|| good / usual)?;
            let weight_ps = usual_ps * runs;
            let factor = (runs > 0.0).then(|| slow / runs / usual_ps)?;
            Some(OpFactor { op, path, usual_ps, factor, excess_ps: slow - weight_ps, weight_ps })
        };
        let mut ops: Vec<OpFactor> = all.into_iter().filter_map(factor).collect();
        ops.sort_by(|a, b| b.excess_ps.total_cmp(&a.excess_ps).then_with(|| a.op.cmp(&b.op)));
        Self(ops)
    }

    /// The factor of all ops together; `None` without ops.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        let usual: f64 = self.0.iter().map(|op| op.weight_ps).sum();
        let excess: f64 = self.0.iter().map(|op| op.excess_ps).sum();
        (usual > 0.0).then(|| 1.0 + excess / usual)
    }

    /// The factor, where all ops are slower by about the same.
    #[must_use]
    pub fn alike(&self) -> Option<f64> {
        let mean = self.mean().filter(|mean| *mean > 1.0)?;
        let usual: f64 = self.0.iter().map(|op| op.weight_ps).sum();
        let near = (NEAR * (mean - 1.0)).max(SPREAD);
        let is_alike = |op: &&OpFactor| (op.factor - mean).abs() < near && op.factor > 1.0;
        let alike: f64 = self.0.iter().filter(is_alike).map(|op| op.weight_ps).sum();
        (alike > ALIKE * usual).then_some(mean)
    }

    /// The op with the largest excess, and its share of all excess.
    #[must_use]
    pub fn first(&self) -> Option<(&OpFactor, f64)> {
        let first = self.0.first().filter(|op| op.excess_ps > 0.0)?;
        let all: f64 = self.0.iter().map(|op| op.excess_ps.max(0.0)).sum();
        Some((first, first.excess_ps / all.max(1.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factors(all: &[(f64, f64)]) -> OpFactors {
        let op = |(at, (weight_ps, factor)): (usize, &(f64, f64))| OpFactor {
            op: format!("fusion.{at}"),
            path: String::new(),
            usual_ps: *weight_ps,
            factor: *factor,
            excess_ps: weight_ps * (factor - 1.0),
            weight_ps: *weight_ps,
        };
        OpFactors(all.iter().enumerate().map(op).collect())
    }

    #[test]
    fn ops_that_are_slow_alike_are_told_from_one_slow_op() {
        let alike = factors(&[(50.0, 1.21), (30.0, 1.19), (10.0, 1.2), (5.0, 1.0)]);
        assert!(alike.alike().is_some_and(|factor| (factor - 1.19).abs() < 0.02));
        let one = factors(&[(50.0, 1.6), (30.0, 1.0), (10.0, 1.01), (5.0, 1.0)]);
        assert_eq!(one.alike(), None);
        assert_eq!(one.first().map(|(op, _)| op.op.as_str()), Some("fusion.0"));
        assert_eq!(factors(&[(50.0, 0.9)]).alike(), None, "faster is not slow alike");
        assert_eq!(OpFactors::default().mean(), None);
    }
}
