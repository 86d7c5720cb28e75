//! How busy the units of a TPU's core were while kernels ran that were compiled with counters (`_counters_` lines,
//! `tpu_enable_kernel_profiling`).

use crate::select::Selection;
use haloscope_profile::{DeviceKind, LineKind, PlaneId, Profile};
use haloscope_report::{Table, row, units};

/// A unit of the core, while such kernels ran.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelUnit {
    /// Such as `MXU`, `Vector Load`.
    pub name: String,
    /// Mean use, weighted by the samples' time, 0 to 1. From the compiler's schedule laid over measured time, not sampled.
    pub used: f64,
    /// Samples that count.
    pub samples: u64,
    /// Time of these samples, picoseconds.
    pub time_ps: i64,
    /// Samples that cannot be: without length, or longer than all samples together.
    pub malformed: u64,
}

/// A sample of a unit: start and duration, picoseconds, and its use.
type Sample = (i64, i64, f64);

impl KernelUnit {
    /// The units of the selected TPUs' cores, busiest first; none where the profile has no counters of kernels.
    #[must_use]
    pub fn of_selection(profile: &Profile, selection: &Selection<'_>) -> Vec<Self> {
        Self::read(profile, selection, None)
    }

    /// The same while an op of this name ran, such as `matmul.1`: of samples whose middle lies in one of its executions.
    #[must_use]
    pub fn of_op(profile: &Profile, selection: &Selection<'_>, op: &str) -> Vec<Self> {
        Self::read(profile, selection, Some(op))
    }

    /// Units as a table of this id and title.
    #[must_use]
    pub fn table(id: &'static str, title: &'static str, units: &[Self]) -> Table {
        let row = |unit: &Self| {
            row![
                text("unit", "Unit", "The unit of the core, as the compiler names it.", unit.name.as_str()),
                share(
                    "used",
                    "Used",
                    "Mean use while it was sampled, weighted by time: the compiler's schedule mapped to measured time.",
                    unit.used
                ),
                duration(
                    "time_ps",
                    "Time",
                    "Time of the samples that count, summed over devices.",
                    unit.time_ps
                ),
                count("samples", "Samples", "Samples that count.", unit.samples),
                count(
                    "malformed",
                    "Malformed",
                    "Impossible samples, which do not count: without length, or longer than all together.",
                    unit.malformed
                ),
            ]
        };
        Table::of(id, title, units.iter().map(row))
    }

    fn read(profile: &Profile, selection: &Selection<'_>, op: Option<&str>) -> Vec<Self> {
        let mut samples: Vec<(String, Vec<Sample>)> = Vec::new();
        // Of all samples, those of other ops too.
        let mut starts: Option<(i64, i64)> = None;
        let devices = selection.devices.iter().enumerate().filter(|(_, d)| d.kind == DeviceKind::Tpu);
        for (position, device) in devices {
            let executions = op.map(|op| executions(profile, device.plane, op));
            for line in profile.lines_of(device.plane).filter(|line| line.name == "_counters_") {
                let plane = profile.plane(line.plane);
                let source = profile.source_of(plane);
                let Some(key) = plane.stat_id("% util") else { continue };
                let cut = selection.window(position);
                let events = profile.events(line);
                for event in events.iter() {
                    if cut.is_some_and(|c| c.overlap(event.start_ps, event.end_ps) == 0) {
                        continue;
                    }
                    let used = events.stats(source, event.index).find(|s| s.metadata_id == key);
                    let Some(used) = used.and_then(|s| s.value?.as_f64()) else { continue };
                    let (first, last) = starts.unwrap_or((event.start_ps, event.start_ps));
                    starts = Some((first.min(event.start_ps), last.max(event.start_ps)));
                    let middle = event.start_ps + (event.end_ps - event.start_ps) / 2;
                    if executions.as_ref().is_some_and(|all| !is_inside(all, middle)) {
                        continue;
                    }
                    let sample = (event.start_ps, event.end_ps - event.start_ps, used / 100.0);
                    let name = plane.meta_label(source, event.meta);
                    match samples.iter_mut().find(|(own, _)| *own == name) {
                        Some((_, own)) => own.push(sample),
                        None => samples.push((name.into_owned(), vec![sample])),
                    }
                }
            }
        }
        // Starts alone say how long a sample may be, so that a malformed one cannot vouch for itself.
        let longest = starts.map_or(0, |(first, last)| last - first);
        let mut units: Vec<Self> =
            samples.iter().filter_map(|(name, own)| unit(name, own, longest)).collect();
        units.sort_by(|a, b| b.used.total_cmp(&a.used).then(a.name.cmp(&b.name)));
        units
    }
}

/// Starts and ends of an op's executions on a plane, picoseconds, in order.
fn executions(profile: &Profile, plane: PlaneId, op: &str) -> Vec<(i64, i64)> {
    let mut all = Vec::new();
    for line in profile.lines_of(plane).filter(|line| line.kind == LineKind::XlaOps) {
        let plane = profile.plane(line.plane);
        let source = profile.source_of(plane);
        // Without a short name the instruction is there as HLO text.
        let is_op = |label: &str| label.trim_start_matches('%').split(" = ").next() == Some(op);
        let events = profile.events(line);
        let of_op = events.iter().filter(|event| is_op(&plane.meta_label(source, event.meta)));
        all.extend(of_op.map(|event| (event.start_ps, event.end_ps)));
    }
    all.sort_unstable();
    all
}

/// Whether an instant lies in one of these executions, which do not overlap.
fn is_inside(executions: &[(i64, i64)], at: i64) -> bool {
    let next = executions.partition_point(|(start, _)| *start <= at);
    next.checked_sub(1).is_some_and(|index| at < executions[index].1)
}

/// The mean of a unit's samples that can be.
fn unit(name: &str, samples: &[Sample], longest: i64) -> Option<KernelUnit> {
    let is_valid = |sample: &&Sample| (1..=longest.max(1)).contains(&sample.1);
    let valid: Vec<_> = samples.iter().filter(is_valid).collect();
    let time_ps = units::sum(valid.iter().map(|sample| sample.1));
    if time_ps <= 0 {
        return None;
    }
    let used = valid.iter().map(|sample| sample.1 as f64 * sample.2).sum::<f64>() / time_ps as f64;
    let malformed = (samples.len() - valid.len()) as u64;
    Some(KernelUnit { name: name.to_owned(), used, samples: valid.len() as u64, time_ps, malformed })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::Scoped;
    use haloscope_profile::load;
    use haloscope_report::scope::Scope;
    use haloscope_xspace::write::{Event, EventMetadata, Line, Plane, Space, Stat, StatMetadata, Value};

    #[test]
    fn a_sample_longer_than_all_together_does_not_count() {
        // Ten samples of 1 us at 0.2%, and one of 82 ms at 90%: unweighted they would say 8%.
        let mut samples: Vec<_> = (0..10).map(|n| (n * 1_000_000, 1_000_000, 0.002)).collect();
        samples.push((5_000_000, 81_900_000_000, 0.9));
        let unit = unit("MXU", &samples, 9_000_000).unwrap();
        assert!((unit.used - 0.002).abs() < 1e-12);
        assert_eq!((unit.samples, unit.time_ps, unit.malformed), (10, 10_000_000, 1));
        assert_eq!(super::unit("MXU", &[(0, 0, 0.5)], 0), None);
    }

    #[test]
    fn units_are_read_from_the_lines_of_kernels() {
        let mut counters = Line::new(1, "_counters_");
        for (meta, stat, at, us, value) in
            [(1, 1, 0, 10, 60.0), (1, 1, 10, 20, 20.0), (1, 1, 30, 10, 20.0), (2, 2, 0, 10, 4.0)]
        {
            let stats = vec![Stat { metadata_id: stat, value: Value::Double(value) }];
            counters.events.push(Event { stats, ..Event::at(meta, at * 1_000_000, us * 1_000_000) });
        }
        counters.events.push(Event::at(1, 40_000_000, 1));
        let mut ops = Line::new(2, "XLA Ops");
        ops.events = vec![Event::at(3, 6_000_000, 19_000_000), Event::at(4, 25_000_000, 20_000_000)];
        let lines = vec![counters, ops];
        let mut plane = Plane { name: "/device:TPU:0".into(), lines, ..Plane::default() };
        let named = [(1, "MXU"), (2, "Vector Spills"), (3, "one.1"), (4, "%two.1 = f32[] custom-call()")];
        for (id, name) in named {
            plane.event_metadata.push((id, EventMetadata { id, name: name.into(), ..Default::default() }));
        }
        for (id, name) in [(1, "% util"), (2, "spills")] {
            plane.stat_metadata.push((id, StatMetadata { id, name: name.into(), ..Default::default() }));
        }
        let space = Space { planes: vec![plane], ..Space::default() };
        let profile = load::from_bytes("host", space.to_bytes()).unwrap();
        let scope = Scope::default();
        let units = |scope: &Scope| {
            let asked = Scoped::new(&profile, scope);
            KernelUnit::of_selection(&profile, asked.selection().unwrap())
        };
        let all = units(&scope);
        // What has no share in percent is no use of a unit.
        assert_eq!(all.len(), 1, "{all:?}");
        assert_eq!((all[0].name.as_str(), all[0].samples), ("MXU", 3));
        assert!((all[0].used - 0.3).abs() < 1e-9, "a quarter of the time at 60%, the rest at 20%: {all:?}");
        // The middle of the second sample lies in the one op, that of the third in the other.
        let of_op = |op: &str| {
            let asked = Scoped::new(&profile, &scope);
            KernelUnit::of_op(&profile, asked.selection().unwrap(), op)
        };
        for op in ["one.1", "two.1"] {
            let found = of_op(op);
            assert!((found[0].used - 0.2).abs() < 1e-9 && found[0].samples <= 2, "{op}: {found:?}");
        }
        assert!(of_op("one").is_empty() && of_op("three.1").is_empty());
        // Of a part two samples are left, and the second is longer than what their starts allow.
        let cut = units(&Scope { window_ps: Some((0, 12_000_000)), ..Scope::default() });
        assert_eq!((cut.len(), cut[0].samples, cut[0].malformed), (1, 1, 1), "{cut:?}");
        assert!((cut[0].used - 0.6).abs() < 1e-9, "{cut:?}");
    }
}
