//! Spikes that come back every so many samples.

use super::Spike;

/// Spikes at equal distances.
#[derive(Debug, Clone, PartialEq)]
pub struct Period {
    /// Every so many samples.
    pub every: usize,
    /// The first of them.
    pub first: usize,
    /// The spikes that begin a stall, in order; some of those that were to be expected may be missing.
    pub starts: Vec<usize>,
    /// All samples that are larger for it: those above, and the spikes that follow one at once.
    pub members: Vec<usize>,
    /// The mean extra of a stall, in the samples' unit.
    pub extra: f64,
}

/// Three of a kind are a period; so are two where nothing else is large, a third one would lie beyond the end, and both are
/// about as large.
const SURE: usize = 3;
/// Of the spikes so many must lie on the grid, and of the grid so much must be spikes.
const ON_GRID: f64 = 0.75;
const SEEN: f64 = 0.85;
/// Two stalls are alike if one is at most so much larger.
const ALIKE: f64 = 2.0;

impl Period {
    /// The period of spikes among so many samples; `None` where they have none.
    #[must_use]
    pub(super) fn of(spikes: &[Spike], count: usize) -> Option<Self> {
        // A stall may make the sample that follows longer too.
        let starts: Vec<usize> = spikes
            .iter()
            .enumerate()
            .filter(|(place, spike)| *place == 0 || spikes[place - 1].at + 1 < spike.at)
            .map(|(_, spike)| spike.at)
            .collect();
        let mut steps: Vec<usize> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        steps.sort_unstable();
        steps.dedup();
        let grids = steps.iter().filter(|every| **every > 1).filter_map(|every| grid(&starts, *every, count));
        let (every, on) = grids.max_by_key(|(every, on)| (on.len(), *every))?;
        let alike = || {
            let extra = |at: &usize| spikes.iter().find(|s| s.at == *at).map_or(0.0, |s| s.extra);
            let most = on.iter().map(extra).fold(0.0, f64::max);
            on.iter().map(extra).all(|own| own * ALIKE >= most)
        };
        if on.len() < SURE && !(on.len() == 2 && starts.len() == 2 && alike()) {
            return None;
        }
        let follows = |at: usize| on.contains(&at) || (at > 0 && on.contains(&(at - 1)));
        let members: Vec<usize> = spikes.iter().map(|s| s.at).filter(|at| follows(*at)).collect();
        let all: f64 = spikes.iter().filter(|s| members.contains(&s.at)).map(|s| s.extra).sum();
        Some(Self { every, first: *on.first()?, extra: all / on.len() as f64, starts: on, members })
    }

    /// Whether it was seen often enough to be one for what the numbers alone say.
    #[must_use]
    pub fn is_sure(&self) -> bool {
        self.starts.len() >= SURE
    }
}

/// The spikes on the best grid of this width, if most are, and if most of the grid is spikes: from the first of them to the end,
/// and, for fewer than four, from the start of the run.
fn grid(starts: &[usize], every: usize, count: usize) -> Option<(usize, Vec<usize>)> {
    let phases = starts.iter().map(|at| at % every);
    let on_phase = |phase: usize| starts.iter().copied().filter(move |at| at % every == phase);
    let phase = phases.max_by_key(|phase| (on_phase(*phase).count(), std::cmp::Reverse(*phase)))?;
    let on: Vec<usize> = on_phase(phase).collect();
    let first = *on.first()?;
    let expected = (count - first).div_ceil(every);
    // The first sample of all has nothing before it that could hold it up.
    let from_start = first <= every;
    let holds = on.len() as f64 >= ON_GRID * starts.len() as f64
        && on.len() as f64 >= SEEN * expected as f64
        && (from_start || on.len() > SURE);
    holds.then_some((every, on))
}
