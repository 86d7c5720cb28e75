//! Step 6: compute and memory utilisation as a pair, and what each pair means.

use super::super::thresholds::HIGH_UTILISATION;
use super::{Baseline, Given, Step, Word};
use haloscope_report::units;
use haloscope_report::{Link, Table, row};

/// The four pairs.
struct Pair {
    compute: bool,
    memory: bool,
    means: &'static str,
    next: &'static str,
}

const PAIRS: [Pair; 4] = [
    Pair {
        compute: true,
        memory: false,
        means: "compute-bound: the matrix units are the limit",
        next: "fewer FLOPs or narrower types; more bytes per FLOP cost nothing",
    },
    Pair {
        compute: false,
        memory: true,
        means: "memory-bound: HBM is the limit",
        next: "fewer bytes: fuse, keep values on the chip, narrower types, larger batch or blocks",
    },
    Pair {
        compute: true,
        memory: true,
        means: "balanced, near both limits",
        next: "little is left to gain on this chip: change the algorithm or use more chips",
    },
    Pair {
        compute: false,
        memory: false,
        means: "neither is the limit: latency, waiting, communication or small ops",
        next: "look at idle time, exposed communication and the gap of the largest ops",
    },
];

fn shares(line: &Baseline) -> Option<(f64, f64)> {
    line.limits.flop_share.zip(line.limits.hbm_share)
}

fn holds(pair: &Pair, (compute, memory): (f64, f64)) -> bool {
    let is_high = |share: f64| share >= HIGH_UTILISATION.good;
    pair.compute == is_high(compute) && pair.memory == is_high(memory)
}

/// The pairs, and which of them this run is.
pub(in super::super) fn table(line: &Baseline) -> Table {
    let mut rows = Vec::new();
    let word = |high: bool| if high { "high" } else { "low" };
    for pair in &PAIRS {
        let here = shares(line).map(|shares| holds(pair, shares));
        let row = row![
            text("compute", "Compute", "high or low, of the peak FLOP rate.", word(pair.compute)),
            text("memory", "Memory", "high or low, of the peak HBM bandwidth.", word(pair.memory)),
            flag(
                "holds",
                "Holds",
                "Whether this run is in this row; unknown without peaks, FLOPs or bytes.",
                here
            ),
            prose("means", "Means", "What limits the run then.", pair.means),
            prose("next", "Try", "What to do then.", pair.next),
        ];
        rows.push(row);
    }
    Table::of("utilisation", "Compute and memory utilisation", rows)
}

pub(super) fn step(given: &Given<'_, '_>) -> Step {
    let question = "What do compute and memory utilisation say together?";
    let see = vec![Link::to("diagnose").table("utilisation")];
    let Some(shares) = shares(given.baseline) else {
        let said = "FLOPs, bytes or peaks are not known".into();
        return Step { question, verdict: Word::Unknown, said, see };
    };
    let pair = PAIRS.iter().find(|pair| holds(pair, shares));
    let is_low = pair.is_some_and(|pair| !pair.compute && !pair.memory);
    let line = format!(
        "{} of peak FLOP/s, {} of HBM bandwidth over the active window",
        units::share(shares.0),
        units::share(shares.1)
    );
    Step {
        question,
        verdict: if is_low { Word::Look } else { Word::Good },
        said: format!("{line}: {}", pair.map_or("", |pair| pair.means)),
        see,
    }
}
