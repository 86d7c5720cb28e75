//! Table `memory`: what a program's HBM is for at its peak, in both runs.

use std::collections::BTreeMap;

use crate::{Matches, ProgramSide};
use haloscope_program::attribution::{Attribution, Rules, Totals};
use haloscope_program::heap::Buffers;
use haloscope_program::program_memory::ProgramMemory;
use haloscope_report::units;
use haloscope_report::{Finding, Link, Severity, Status, Table, row};

/// The memory space of HBM in layouts.
pub(super) const HBM: i64 = 0;
/// A peak that grew by less than this share is not remarked on.
const WORTH: f64 = 0.01;
/// So many meanings are named in a finding.
const NAMED: usize = 3;

/// The memory of one program in both runs: of those that both have the one that needs most.
pub(super) struct Memory {
    label: String,
    peaks: [i64; 2],
    /// What it is for, and bytes in both; the largest difference first.
    meanings: Vec<(String, [i64; 2])>,
}

impl Memory {
    /// `None` where no program has a buffer assignment in both runs.
    pub(super) fn of(matches: &Matches<'_>) -> Option<Self> {
        // Those that are built in, which tests read.
        let rules = Rules::parse("").ok()?;
        let mut most: Option<Self> = None;
        for pair in &matches.programs {
            let (Some(a), Some(b)) = (&pair.a, &pair.b) else { continue };
            let (Some(before), Some(after)) = (peak(a, &rules), peak(b, &rules)) else { continue };
            if most.as_ref().is_some_and(|most| most.peaks.iter().max() >= [before.0, after.0].iter().max()) {
                continue;
            }
            let label = b.hlo.map(|program| program.label()).unwrap_or_default();
            most = Some(Self { label, peaks: [before.0, after.0], meanings: both(before.1, after.1) });
        }
        most
    }

    pub(super) fn table(&self) -> Table {
        let mut table = Vec::new();
        let rows = std::iter::once(("peak", self.peaks));
        for (what, [a, b]) in rows.chain(self.meanings.iter().map(|(what, bytes)| (what.as_str(), *bytes))) {
            let delta = b.saturating_sub(a);
            let row = row![
                text(
                    "what",
                    "What",
                    "The peak, then what it is used for, by the rules of `memory attribute`.",
                    what
                ),
                bytes(
                    "baseline_bytes",
                    "Baseline",
                    "HBM of the program at its peak in the baseline, as planned by the compiler.",
                    a
                ),
                bytes("experiment_bytes", "Experiment", "The same in the experiment.", b),
                bytes("delta_bytes", "Delta", "Experiment minus baseline.", delta),
                share(
                    "delta_share",
                    "Of the peak",
                    "The delta as a share of the baseline's peak.",
                    self.share(delta)
                ),
            ];
            table.push(row);
        }
        Table::of("memory", "HBM at the peak, by use", table)
    }

    fn share(&self, bytes: i64) -> Option<f64> {
        (self.peaks[0] > 0).then(|| bytes as f64 / self.peaks[0] as f64)
    }

    /// A finding where the peak grew.
    pub(super) fn finding(&self) -> Option<Finding> {
        let [before, after] = self.peaks;
        let growth = after.saturating_sub(before);
        let share = self.share(growth).filter(|share| *share > WORTH)?;
        let grew = self.meanings.iter().map(|(what, [a, b])| (what, b.saturating_sub(*a)));
        let grew: Vec<String> = grew
            .filter(|(_, bytes)| *bytes > 0)
            .take(NAMED)
            .map(|(what, bytes)| format!("{what} +{}", units::bytes(bytes as f64)))
            .collect();
        let sizes = format!("{} to {}", units::bytes(before as f64), units::bytes(after as f64));
        let mut evidence = vec![sizes];
        evidence.extend(grew);
        Some(Finding {
            id: "memory_grew",
            severity: Severity::Warning,
            claim: format!(
                "{} needs {} more HBM at its peak ({})",
                self.label,
                units::bytes(growth as f64),
                units::share(share)
            ),
            evidence: evidence.join("; "),
            recommendation: "the table `buffers` lists the values that grew or are new; `memory diagnose` says what would save memory".into(),
            falsifier: "the allocator events of both runs have the same peak: `memory profile`".into(),
            status: Status::Derived,
            links: vec![
                Link::to("compare").table("buffers"),
                Link::to("memory attribute").param("module", self.label.clone()),
            ],
            ..Finding::default()
        })
    }
}

type Meanings = BTreeMap<String, i64>;

/// The peak of a program, and what it is for; `None` where nobody wrote down its buffers.
fn peak(side: &ProgramSide<'_>, rules: &Rules) -> Option<(i64, Meanings)> {
    let buffers = Buffers::new(&side.hlo?.decoded.module)?;
    let memory = ProgramMemory::new(&buffers, HBM);
    if memory.is_without_trace() {
        return None;
    }
    let attribution = Attribution::of(&memory, rules);
    let mut meanings = Meanings::new();
    for buffer in &attribution.buffers {
        let sum = meanings.entry(attribution.bucket(buffer.rule).to_owned()).or_default();
        *sum = sum.saturating_add(buffer.alive.bytes);
    }
    Some((Totals::of(&attribution).peak_bytes, meanings))
}

fn both(before: Meanings, after: Meanings) -> Vec<(String, [i64; 2])> {
    let mut all: BTreeMap<String, [i64; 2]> = BTreeMap::new();
    for (side, meanings) in [before, after].into_iter().enumerate() {
        for (what, bytes) in meanings {
            all.entry(what).or_default()[side] = bytes;
        }
    }
    let mut all: Vec<(String, [i64; 2])> = all.into_iter().collect();
    all.sort_by_key(|(what, [a, b])| {
        (std::cmp::Reverse(b.abs_diff(*a)), std::cmp::Reverse(*a.max(b)), what.clone())
    });
    all
}
