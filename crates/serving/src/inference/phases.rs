//! Spans that overlap, each instant counted once.

use super::Phases;

/// What a span of a request's time is; a later one hides an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    Preprocess,
    Postprocess,
    BatchFormation,
    Runtime,
    ToDevice,
    FromDevice,
    Device,
}

const COUNT: usize = Phase::Device as usize + 1;

/// A span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) phase: Phase,
    pub(super) start_ps: u64,
    pub(super) end_ps: u64,
}

impl Span {
    /// An end before the start counts as no time.
    pub(super) fn new(phase: Phase, start_ps: u64, end_ps: u64) -> Self {
        Self { phase, start_ps, end_ps: end_ps.max(start_ps) }
    }
}

/// How long each phase lasts from the first start to the last end.
pub(super) fn sum(spans: &[Span]) -> Phases {
    let mut ends: Vec<(u64, i32, Phase)> = Vec::with_capacity(2 * spans.len());
    for span in spans {
        ends.push((span.start_ps, 1, span.phase));
        ends.push((span.end_ps, -1, span.phase));
    }
    ends.sort_by_key(|(time, ..)| *time);
    let mut open = [0_i32; COUNT];
    let mut all = Phases::default();
    for pair in ends.windows(2) {
        let [(time, change, phase), (next, ..)] = pair else { continue };
        open[*phase as usize] += change;
        let last = open.iter().rposition(|count| *count > 0);
        let slot = match last {
            None => &mut all.idle_ps,
            Some(0) => &mut all.preprocess_ps,
            Some(1) => &mut all.postprocess_ps,
            Some(2) => &mut all.batch_formation_ps,
            Some(3) => &mut all.runtime_ps,
            Some(4) => &mut all.to_device_ps,
            Some(5) => &mut all.from_device_ps,
            Some(_) => &mut all.device_ps,
        };
        *slot += next - time;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_later_phase_counts() {
        let spans = [
            Span::new(Phase::Preprocess, 10, 50),
            Span::new(Phase::Device, 40, 60),
            Span::new(Phase::ToDevice, 45, 70),
            Span::new(Phase::Device, 55, 58),
            Span::new(Phase::Runtime, 90, 80),
            Span::new(Phase::Postprocess, 100, 110),
        ];
        let sums = sum(&spans);
        let expected = Phases {
            preprocess_ps: 30,
            device_ps: 20,
            to_device_ps: 10,
            idle_ps: 30,
            postprocess_ps: 10,
            ..Phases::default()
        };
        assert_eq!(sums, expected);
        assert_eq!(sum(&[]), Phases::default());
    }
}
