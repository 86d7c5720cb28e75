//! Self time by what ops do, by phase, by layer, by source line.

use std::collections::BTreeMap;

use super::facts::Fact;
use haloscope_profile::Peaks;
use haloscope_report::{Column, Table, Unit, row};
use haloscope_time::phase::Phase;
use haloscope_time::roofline::{Limits, Work, add_known};

/// Sums over the ops of a row.
#[derive(Default)]
struct Part {
    self_ps: i64,
    occurrences: u64,
    matmul_ps: i64,
    by_phase: [i64; Phase::ALL.len()],
    shortfall_ps: Option<f64>,
    flops: Option<f64>,
    hbm_bytes: Option<f64>,
}

impl Part {
    fn add(&mut self, fact: &Fact<'_, '_>) {
        let own = fact.op.self_ps;
        self.self_ps = self.self_ps.saturating_add(own);
        self.occurrences += fact.op.occurrences;
        if fact.class.is_matmul() {
            self.matmul_ps = self.matmul_ps.saturating_add(own);
        }
        let phase = &mut self.by_phase[fact.phase as usize];
        *phase = phase.saturating_add(own);
        add_known(&mut self.shortfall_ps, fact.shortfall_ps());
        add_known(&mut self.flops, fact.flops());
        add_known(&mut self.hbm_bytes, fact.own_hbm_bytes());
    }
}

/// A row: the ops of one key, largest first among the others.
struct Line {
    name: String,
    part: Part,
    /// Self time of all ops in the scope, picoseconds.
    all_ps: i64,
    limits: Limits,
}

impl Line {
    fn self_share(&self) -> Option<f64> {
        (self.all_ps > 0).then(|| self.part.self_ps as f64 / self.all_ps as f64)
    }

    fn matmul_share(&self) -> Option<f64> {
        (self.part.self_ps > 0).then(|| self.part.matmul_ps as f64 / self.part.self_ps as f64)
    }

    fn phase_ps(&self, phase: Phase) -> i64 {
        self.part.by_phase[phase as usize]
    }
}

/// Self time by a key, largest first.
fn lines(facts: &[Fact<'_, '_>], peaks: &Peaks, key: impl Fn(&Fact<'_, '_>) -> String) -> Vec<Line> {
    let mut parts: BTreeMap<String, Part> = BTreeMap::new();
    for fact in facts {
        parts.entry(key(fact)).or_default().add(fact);
    }
    let all_ps: i64 = haloscope_report::units::sum(facts.iter().map(|fact| fact.op.self_ps));
    let mut parts: Vec<(String, Part)> = parts.into_iter().collect();
    parts.sort_by_key(|(_, part)| std::cmp::Reverse(part.self_ps));
    let line = |(name, part): (String, Part)| {
        let work = Work { time_ps: part.self_ps as f64, flops: part.flops, hbm_bytes: part.hbm_bytes };
        Line { name, part, all_ps, limits: work.against(peaks) }
    };
    parts.into_iter().map(line).collect()
}

/// The row of a line: its own first columns, those that all breakdowns share, and between them its own others.
macro_rules! line_row {
    ($line:ident, [$($first:tt)*], [$($more:tt)*]) => {
        row![
            $($first)*,
            duration("self_ps", "Self time", "Time minus that of ops directly inside, summed over executions and devices.", $line.part.self_ps),
            share("self_share", "Share", "Share of the self time of all ops in the scope.", $line.self_share()),
            $($more)*
            count("occurrences", "Count", "Executions, summed over devices.", $line.part.occurrences),
            share("flop_share_of_peak", "FLOP/s of peak", "FLOPs per self time, as a share of the device's 16-bit peak.", $line.limits.flop_share),
            share("hbm_share_of_peak", "HBM of peak", "Bytes to and from HBM per self time, as a share of the peak bandwidth.", $line.limits.hbm_share),
            duration("shortfall_ps", "Shortfall", "Time beyond the roofline: for ops that have a limit, time minus max(FLOPs / peak, bytes / bandwidth).", $line.part.shortfall_ps.map(f64::round)),
            float("flops", "FLOPs", Unit::Flop, "FLOPs as counted for the device, without those of while, call and conditional.", $line.part.flops),
            bytes("hbm_bytes", "HBM bytes", "Bytes to and from HBM, without asynchronous copies and transfers, which run during other ops.", $line.part.hbm_bytes),
        ]
    };
}

const MATMUL: Column = Column::share(
    "matmul_share",
    "Matmul",
    "Part of this row's time in products of matrices, kernels for groups of rows included.",
);

pub(super) fn categories(facts: &[Fact<'_, '_>], peaks: &Peaks) -> Table {
    let row = |line: Line| {
        line_row!(
            line,
            [text(
                "category",
                "Category",
                "What the ops do: from the contents of fusions if there is HLO, else from their names.",
                line.name.as_str()
            )],
            []
        )
    };
    let lines = lines(facts, peaks, |fact| fact.class.word().to_owned());
    Table::of("categories", "By kind of work", lines.into_iter().map(row))
}

pub(super) fn phases(facts: &[Fact<'_, '_>], peaks: &Peaks) -> Table {
    let row = |line: Line| {
        line_row!(
            line,
            [text(
                "phase",
                "Phase",
                "forward, backward, recomputation (rematerialised forward), optimiser, other (named, but none of these), unknown (not named).",
                line.name.as_str()
            )],
            [column(MATMUL, line.matmul_share()),]
        )
    };
    let lines = lines(facts, peaks, |fact| fact.phase.word().to_owned());
    Table::of("phases", "By phase", lines.into_iter().map(row))
}

pub(super) fn layers(facts: &[Fact<'_, '_>], peaks: &Peaks) -> Table {
    let row = |line: Line| {
        line_row!(
            line,
            [text(
                "layer",
                "Layer",
                "As named in the scope path; layers that run as one loop share one row.",
                line.name.as_str()
            )],
            [
                duration(
                    "forward_ps",
                    "Forward",
                    "Self time of the forward pass.",
                    line.phase_ps(Phase::Forward)
                ),
                duration(
                    "backward_ps",
                    "Backward",
                    "Self time of the backward pass.",
                    line.phase_ps(Phase::Backward)
                ),
                duration(
                    "recomputation_ps",
                    "Recomputed",
                    "Self time of recomputation.",
                    line.phase_ps(Phase::Recomputation)
                ),
                column(MATMUL, line.matmul_share()),
            ]
        )
    };
    Table::of("layers", "By layer", lines(facts, peaks, |fact| fact.layer()).into_iter().map(row))
}

pub(super) fn source_lines(facts: &[Fact<'_, '_>], peaks: &Peaks) -> Table {
    let row = |line: Line| {
        line_row!(
            line,
            [text("line", "Source line", "File and line that the ops come from.", line.name.as_str())],
            [column(MATMUL, line.matmul_share()),]
        )
    };
    let lines = lines(facts, peaks, |fact| match fact.op.meta.source.as_ref() {
        "" => "(not recorded)".to_owned(),
        line => line.to_owned(),
    });
    Table::of("lines", "By source line", lines.into_iter().map(row))
}
