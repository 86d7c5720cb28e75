//! Whether the experts of a mixture of experts have as much to do on one device as on another.

use std::collections::{BTreeMap, BTreeSet};

use haloscope_profile::DeviceId;
use haloscope_time::account::Class;
use haloscope_time::op_meta::OpMeta;
use haloscope_time::op_rows::DeviceOps;
use haloscope_time::ops::Op;
use haloscope_time::phase;
use rustc_hash::FxHashMap;

use super::Evidence;

/// What of the experts' time differs between devices.
#[derive(Debug, Clone)]
pub(crate) struct Experts<'e, 'p> {
    /// The ops of experts, in the order of the ops.
    pub ops: Vec<&'e Op<'p>>,
    /// The share of the active window that they have.
    pub share: f64,
    /// Each time that the experts run: the time of the device that takes longest beyond the median of the others, of that median.
    pub spread: f64,
    /// The same of all other ops that compute.
    pub rest: f64,
    /// What the longest take beyond the others, without what the other ops' spread makes of it: a share of the active window.
    pub excess: f64,
    /// The device that is it in most of that time, with the part of it.
    pub fullest: Option<(DeviceId, f64)>,
}

/// What is seen of experts.
#[derive(Debug, Clone)]
pub(crate) enum Seen<'e, 'p> {
    /// No op is an expert's.
    None,
    /// They cannot be compared; why.
    Unknown(String),
    /// They can.
    Compared(Experts<'e, 'p>),
}

/// What runs as often in the same program: experts or not, forward or backward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Group {
    is_expert: bool,
    program: Option<u64>,
    occurrences: u64,
    is_backward: bool,
}

/// Words in scopes and kernels of experts themselves; those of the layer around them, in which a router and attention may be
/// too, count where there are none of these.
const EXPERTS: [&str; 6] = ["expert", "ragged_dot", "ragged-dot", "gmm", "megablox", "grouped_matmul"];
/// Words for the layer around them.
const LAYERS: [&str; 2] = ["moe", "mixture_of_experts"];
/// Experts that take less than this share of the active window are not looked at.
const WORTH: f64 = 0.005;

impl<'p> Evidence<'p> {
    /// What the experts of each device take, against those of the others.
    pub(crate) fn experts(&self) -> Seen<'_, 'p> {
        let computes = |op: &&Op<'p>| Class::of(&op.meta) == Class::Compute && op.self_ps > 0;
        let named = |words: &[&str]| -> Vec<&Op<'p>> {
            self.ops().iter().filter(computes).filter(|op| is_called(&op.meta, words)).collect()
        };
        let share = |ops: &[&Op<'p>]| {
            self.of_active(ops.iter().map(|op| op.self_ps as f64).sum::<f64>() * self.compute_scale())
        };
        let narrow = named(&EXPERTS);
        let ops = if share(&narrow) >= WORTH { narrow } else { named(&LAYERS) };
        if share(&ops) < WORTH {
            return Seen::None;
        }
        let devices = self.selection.devices.len();
        if devices < 2 {
            return Seen::Unknown(
                "the profile has one device, so its experts cannot be compared with others".into(),
            );
        }
        let experts: Vec<(Option<u64>, &str)> =
            ops.iter().map(|op| (op.meta.program_id, op.meta.name.as_ref())).collect();
        let mut groups: FxHashMap<(Option<u64>, &str), Group> = FxHashMap::default();
        let everywhere =
            |op: &&Op<'p>| op.devices as usize == devices && op.occurrences.is_multiple_of(devices as u64);
        for op in self.ops().iter().filter(computes).filter(everywhere) {
            let key = (op.meta.program_id, op.meta.name.as_ref());
            let group = Group {
                is_expert: experts.contains(&key),
                program: op.meta.program_id,
                occurrences: op.occurrences / devices as u64,
                is_backward: op.meta.framework_op.contains("transpose("),
            };
            groups.insert(key, group);
        }
        let times = self.times_of(&groups);
        let (mut expert, mut rest) = (Spread::default(), Spread::default());
        for (group, of_devices) in &times {
            let spread = if group.is_expert { &mut expert } else { &mut rest };
            spread.add(of_devices);
        }
        if expert.usual_ps <= 0.0 {
            return Seen::Unknown("the experts do not run equally often on all devices".into());
        }
        let rest_share = if rest.usual_ps > 0.0 { rest.excess_ps / rest.usual_ps } else { 0.0 };
        let excess_ps = (expert.excess_ps - rest_share * expert.usual_ps).max(0.0);
        let fullest = expert.by_device.iter().max_by(|a, b| a.1.total_cmp(b.1));
        let fullest = fullest.and_then(|(at, ps)| {
            let device = self.selection.devices.get(*at)?;
            Some((device.id, ps / expert.excess_ps.max(1.0)))
        });
        Seen::Compared(Experts {
            share: share(&ops),
            ops,
            spread: expert.excess_ps / expert.usual_ps,
            rest: rest_share,
            excess: self.of_active(excess_ps * devices as f64),
            fullest,
        })
    }

    /// By group and device the time of each round, picoseconds: the ops of the group that ran for the first time, for the second
    /// time, and so on. Groups that did not run equally often on all devices are left out.
    fn times_of(&self, groups: &FxHashMap<(Option<u64>, &str), Group>) -> BTreeMap<Group, Vec<Vec<f64>>> {
        let mut times: BTreeMap<Group, Vec<Vec<f64>>> = BTreeMap::new();
        let mut unequal: Vec<Group> = Vec::new();
        let all: BTreeSet<Group> = groups.values().copied().collect();
        for (position, device) in self.selection.devices.iter().enumerate() {
            let found = DeviceOps::find(self.profile, device);
            let of_row: Vec<Option<Group>> = found
                .ops
                .iter()
                .map(|(meta, _)| groups.get(&(meta.program_id, meta.name.as_ref())).copied())
                .collect();
            let mut rounds = vec![0_u64; of_row.len()];
            let mut own: FxHashMap<Group, Vec<f64>> = FxHashMap::default();
            found.walk(self.profile, self.selection.window(position), |row, _, self_ps| {
                let Some(Some(group)) = of_row.get(row) else { return };
                let sums = own.entry(*group).or_insert_with(|| vec![0.0; group.occurrences as usize]);
                if let Some(sum) = sums.get_mut(rounds[row] as usize) {
                    *sum += self_ps as f64;
                }
                rounds[row] += 1;
            });
            let differs = of_row.iter().zip(&rounds);
            unequal.extend(differs.filter_map(|(group, rounds)| group.filter(|g| g.occurrences != *rounds)));
            for group in &all {
                if let Some(sums) = own.remove(group) {
                    times.entry(*group).or_default().push(sums);
                }
            }
        }
        let devices = self.selection.devices.len();
        times.retain(|group, of_devices| of_devices.len() == devices && !unequal.contains(group));
        times
    }
}

/// How far the longest is from the median of the others, and that median, summed over rounds, picoseconds.
#[derive(Debug, Default)]
struct Spread {
    excess_ps: f64,
    usual_ps: f64,
    by_device: BTreeMap<usize, f64>,
}

impl Spread {
    /// Adds rounds: the times of each device.
    fn add(&mut self, of_devices: &[Vec<f64>]) {
        let rounds = of_devices.iter().map(Vec::len).min().unwrap_or(0);
        for round in 0..rounds {
            let mut all: Vec<(f64, usize)> =
                of_devices.iter().enumerate().filter_map(|(at, own)| Some((*own.get(round)?, at))).collect();
            all.sort_by(|a, b| a.0.total_cmp(&b.0));
            let Some((longest, others)) = all.split_last() else { continue };
            let Some(middle) = median(others) else { continue };
            let excess = longest.0 - middle;
            self.excess_ps += excess;
            self.usual_ps += middle;
            *self.by_device.entry(longest.1).or_default() += excess;
        }
    }
}

/// The middle of what is sorted; of an even number the mean of both.
fn median(sorted: &[(f64, usize)]) -> Option<f64> {
    let upper = sorted.get(sorted.len() / 2)?.0;
    let lower = sorted.get(sorted.len().saturating_sub(1) / 2)?.0;
    Some(f64::midpoint(lower, upper))
}

/// Whether a scope of an op, or the kernel that it is, is called so.
fn is_called(meta: &OpMeta<'_>, words: &[&str]) -> bool {
    let holds = |text: &str| {
        let text = text.to_ascii_lowercase();
        words.iter().any(|word| begins_a_word(&text, word))
    };
    phase::components(&meta.framework_op).any(holds) || holds(&meta.name) || meta.category.contains("ragged")
}

/// Whether a text holds a word, or one that begins with it: `moe` in `moe_layer` and `MoeBlock_0`, and not in `smoe`.
fn begins_a_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| !text[..at].ends_with(|before: char| before.is_ascii_alphabetic()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn experts_are_known_by_their_scopes_and_kernels() {
        let called = |path: &'static str, name: &'static str, words: &[&str]| {
            let meta = OpMeta { framework_op: path.into(), name: name.into(), ..OpMeta::default() };
            is_called(&meta, words)
        };
        assert!(called("jit(f)/jvp(moe_layer)/expert_mlp/dot_general", "fusion.1", &EXPERTS));
        assert!(called("jit(f)/transpose(jvp(Experts_0))/mul", "fusion.1", &EXPERTS));
        assert!(called("", "gmm.3", &EXPERTS));
        assert!(called("jit(f)/moe_layer/attention/dot", "fusion.1", &LAYERS));
        assert!(!called("jit(f)/smoe/attention/dot", "fusion.1", &LAYERS));
        assert!(!called("jit(f)/mlp/dot_general", "fusion.1", &EXPERTS));
    }

    #[test]
    fn the_longest_is_held_against_the_median_of_the_others() {
        let mut spread = Spread::default();
        spread.add(&[vec![1.0, 1.0], vec![1.0, 3.0], vec![2.0, 1.0], vec![1.0, 1.0]]);
        assert_eq!((spread.excess_ps, spread.usual_ps), (3.0, 2.0));
        assert_eq!(spread.by_device, BTreeMap::from([(1, 2.0), (2, 1.0)]));
    }
}
