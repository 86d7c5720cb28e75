//! What goes on inside kernels that were compiled with region markers: stages of their pipelines, and how busy their units are.

use super::Evidence;
use haloscope_profile::{DeviceKind, Line};
use haloscope_report::units;

/// Time in the stages of pipelined kernels, picoseconds, summed over devices.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Stages {
    /// `ep_wait_in`: waits until a block is there.
    pub wait_in_ps: i64,
    /// `ep_wait_out`: waits until a result is written.
    pub wait_out_ps: i64,
    /// `ep_run_kernel`: the kernel's body; 0 where it has no marker.
    pub run_ps: i64,
    /// `ep_run_kernel` events: blocks.
    pub blocks: u64,
}

/// How busy a unit of the core was while kernels with counters ran.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Unit {
    /// Such as `MXU`, `Vector Load`.
    pub name: String,
    /// Mean use, weighted by the samples' time, 0 to 1. From the compiler's schedule laid over measured time, not sampled.
    pub used: f64,
    /// Samples that cannot be: without length, or longer than all samples together.
    pub malformed: u64,
}

/// A sample of a unit: start and duration, picoseconds, and its use.
type Sample = (i64, i64, f64);

impl Evidence<'_> {
    /// The stages of pipelined kernels; `None` where the profile has no such markers.
    pub(crate) fn stages(&self) -> Option<Stages> {
        let mut sum = Stages::default();
        let mut is_there = false;
        for (position, line) in self.tpu_lines("XLA TraceMe") {
            let plane = self.profile.plane(line.plane);
            let source = self.profile.source_of(plane);
            let cut = self.selection.window(position);
            for event in self.profile.events(line).iter() {
                let length =
                    cut.map_or(event.end_ps - event.start_ps, |c| c.overlap(event.start_ps, event.end_ps));
                let slot = match plane.meta_label(source, event.meta).as_ref() {
                    "ep_wait_in" => &mut sum.wait_in_ps,
                    "ep_wait_out" => &mut sum.wait_out_ps,
                    "ep_run_kernel" => {
                        sum.blocks += u64::from(length > 0);
                        &mut sum.run_ps
                    }
                    _ => continue,
                };
                is_there = true;
                *slot = slot.saturating_add(length);
            }
        }
        is_there.then_some(sum)
    }

    /// The units of the core, busiest first; none where the profile has no counters of kernels.
    pub(crate) fn units(&self) -> Vec<Unit> {
        let mut samples: Vec<(String, Vec<Sample>)> = Vec::new();
        for (position, line) in self.tpu_lines("_counters_") {
            let plane = self.profile.plane(line.plane);
            let source = self.profile.source_of(plane);
            let Some(key) = plane.stat_id("% util") else { continue };
            let cut = self.selection.window(position);
            let events = self.profile.events(line);
            for event in events.iter() {
                if cut.is_some_and(|c| c.overlap(event.start_ps, event.end_ps) == 0) {
                    continue;
                }
                let used = events.stats(source, event.index).find(|s| s.metadata_id == key);
                let Some(used) = used.and_then(|s| s.value?.as_f64()) else { continue };
                let sample = (event.start_ps, event.end_ps - event.start_ps, used / 100.0);
                let name = plane.meta_label(source, event.meta);
                match samples.iter_mut().find(|(own, _)| *own == name) {
                    Some((_, own)) => own.push(sample),
                    None => samples.push((name.into_owned(), vec![sample])),
                }
            }
        }
        // Starts alone say how long a sample may be, so that a malformed one cannot vouch for itself.
        let starts = || samples.iter().flat_map(|(_, own)| own.iter().map(|sample| sample.0));
        let longest = starts().max().zip(starts().min()).map_or(0, |(last, first)| last - first);
        let mut units: Vec<Unit> =
            samples.iter().filter_map(|(name, own)| unit(name, own, longest)).collect();
        units.sort_by(|a, b| b.used.total_cmp(&a.used).then(a.name.cmp(&b.name)));
        units
    }

    fn tpu_lines<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (usize, &'a Line)> {
        let devices = self.selection.devices.iter().enumerate().filter(|(_, d)| d.kind == DeviceKind::Tpu);
        devices.flat_map(move |(position, device)| {
            let lines = self.profile.lines_of(device.plane).filter(move |line| line.name == name);
            lines.map(move |line| (position, line))
        })
    }
}

/// The mean of a unit's samples that can be.
fn unit(name: &str, samples: &[Sample], longest: i64) -> Option<Unit> {
    let is_valid = |sample: &&Sample| (1..=longest.max(1)).contains(&sample.1);
    let valid: Vec<_> = samples.iter().filter(is_valid).collect();
    let time = units::sum(valid.iter().map(|sample| sample.1));
    if time <= 0 {
        return None;
    }
    let used = valid.iter().map(|sample| sample.1 as f64 * sample.2).sum::<f64>() / time as f64;
    Some(Unit { name: name.to_owned(), used, malformed: (samples.len() - valid.len()) as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_longer_than_all_together_does_not_count() {
        // Ten samples of 1 us at 0.2%, and one of 82 ms at 90%: unweighted they would say 8%.
        let mut samples: Vec<_> = (0..10).map(|n| (n * 1_000_000, 1_000_000, 0.002)).collect();
        samples.push((5_000_000, 81_900_000_000, 0.9));
        let unit = unit("MXU", &samples, 9_000_000).unwrap();
        assert!((unit.used - 0.002).abs() < 1e-12);
        assert_eq!(unit.malformed, 1);
        assert_eq!(super::unit("MXU", &[(0, 0, 0.5)], 0), None);
    }
}
