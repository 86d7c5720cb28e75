//! What a single number, or a pair of them, may be.

use haloscope_report::{Report, Unit};

use crate::contracts::{AT_MOST, FREE_SHARES, FREE_TABLES, MODELLED_SHARES, PEAKS, RISING, SIGNED};
use crate::grid::{Grid, Head, quoted};
use crate::tally::{Tally, is_at_most};

/// A rate may pass its peak by this much: clocks and counts are not exact.
const ABOVE_PEAK: f64 = 1.02;

/// Rounding of sums of shares.
const EPSILON: f64 = 1e-6;

fn grids(report: &Report) -> impl Iterator<Item = Grid<'_>> {
    let is_free = |grid: &Grid<'_>| {
        FREE_TABLES.iter().any(|(analysis, table)| *analysis == report.analysis && *table == grid.id)
    };
    Grid::all(report).into_iter().filter(move |grid| !is_free(grid))
}

/// Shares lie between 0 and 1; those that rest on a model within 2% of it.
pub(super) fn shares(report: &Report, tally: &mut Tally) {
    for grid in grids(report) {
        for (column, head) in grid.columns.iter().enumerate() {
            let is_share = head.unit == Unit::Share && !head.is_change;
            if !is_share || FREE_SHARES.contains(&head.id) {
                continue;
            }
            let is_modelled = MODELLED_SHARES.iter().any(|word| head.id.contains(word));
            let slack = if is_modelled { ABOVE_PEAK - 1.0 } else { EPSILON };
            for row in 0..grid.len() {
                let Some(share) = grid.number(row, column) else { continue };
                tally.hold((-slack..=1.0 + slack).contains(&share), || {
                    (grid.place(row), format!("`{}` is {}", head.id, quoted(share, Unit::Share)))
                });
            }
        }
    }
}

/// Lengths, sizes and counts are not below 0, but where they are differences or places.
pub(super) fn not_negative(report: &Report, tally: &mut Tally) {
    for grid in grids(report) {
        for (column, head) in grid.columns.iter().enumerate() {
            if !is_amount(head) {
                continue;
            }
            for row in 0..grid.len() {
                let Some(amount) = grid.number(row, column) else { continue };
                tally.hold(amount >= 0.0, || {
                    (grid.place(row), format!("`{}` is {}", head.id, quoted(amount, head.unit)))
                });
            }
        }
    }
}

fn is_amount(head: &Head) -> bool {
    let measured = matches!(head.unit, Unit::Ps | Unit::Bytes | Unit::Count | Unit::Flop);
    let is_signed = || head.id.split('_').any(|word| SIGNED.contains(&word)) || SIGNED.contains(&head.id);
    // What each of three things adds to a difference.
    let is_contribution = || ["count_ps", "work_ps", "efficiency_ps"].contains(&head.id);
    measured && !head.is_change && !is_signed() && !is_contribution()
}

/// Pairs that have an order, and the statistics of a sample.
pub(super) fn ordered(report: &Report, tally: &mut Tally) {
    for grid in grids(report) {
        for (low, high) in pairs(&grid) {
            let (from, to) = (&grid.columns[low], &grid.columns[high]);
            for row in 0..grid.len() {
                let Some((a, b)) = grid.number(row, low).zip(grid.number(row, high)) else { continue };
                tally.hold(is_at_most(a, b, 1), || {
                    let (a, b) = (quoted(a, from.unit), quoted(b, to.unit));
                    (grid.place(row), format!("`{}` is {a}, `{}` is {b}", from.id, to.id))
                });
            }
        }
    }
}

/// The columns of a grid of which the first must be at most the second.
fn pairs(grid: &Grid<'_>) -> Vec<(usize, usize)> {
    let named = AT_MOST.iter().filter_map(|(a, b)| grid.column(a).zip(grid.column(b)));
    let mut pairs: Vec<(usize, usize)> = named.collect();
    let with = |id: &str, from: &str, to: &str| {
        let words: Vec<&str> = id.split('_').map(|word| if word == from { to } else { word }).collect();
        grid.column(&words.join("_"))
    };
    for (at, head) in grid.columns.iter().enumerate() {
        let Some(word) = head.id.split('_').find(|word| RISING.contains(word)) else { continue };
        let next = RISING.iter().skip_while(|other| **other != word).skip(1);
        pairs.extend(next.filter_map(|other| Some((at, with(head.id, word, other)?))).take(1));
        let mean = with(head.id, word, "mean");
        match word {
            "min" => pairs.extend(mean.map(|mean| (at, mean))),
            "max" => pairs.extend(mean.map(|mean| (mean, at))),
            _ => {}
        }
    }
    pairs
}

/// Rates that stand beside their peak, and those of the whole device.
pub(super) fn below_peak(report: &Report, tally: &mut Tally) {
    // Then the rate is known to be wrong, and no share was made of it.
    if report.quality.iter().any(|note| note.id == "rates_above_peak") {
        return;
    }
    for grid in Grid::all(report) {
        for (rate, peak) in PEAKS.iter().filter_map(|(a, b)| grid.column(a).zip(grid.column(b))) {
            let head = grid.columns[rate];
            for row in 0..grid.len() {
                let Some((a, b)) = grid.number(row, rate).zip(grid.number(row, peak)) else { continue };
                tally.hold(a <= b * ABOVE_PEAK, || {
                    (grid.place(row), format!("`{}` is {a:.4e}, its peak is {b:.4e}", head.id))
                });
            }
        }
    }
    let values = Grid::values(report);
    for (id, resource) in [("flop_rate", "flops"), ("hbm_rate", "hbm")] {
        let peaks = report.provenance.peaks.iter().filter(|peak| peak.resource == resource);
        let largest = peaks.map(|peak| peak.rate).reduce(f64::max);
        let rate = values.column(id).and_then(|column| values.number(0, column));
        let Some((rate, peak)) = rate.zip(largest) else { continue };
        tally.hold(rate <= peak * ABOVE_PEAK, || {
            (values.place(0), format!("`{id}` is {rate:.4e}, the peak is {peak:.4e}"))
        });
    }
}
