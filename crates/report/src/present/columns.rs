//! One unit and one number of decimals for a whole column, so that its numbers can be compared by eye.

use crate::{Cell, Column, Kind, Unit, clean};

const TIME: &[(f64, &str)] = &[(1e3, "ns"), (1e6, "us"), (1e9, "ms"), (1e12, "s")];
const SIZE: &[(f64, &str)] = &[
    (1.0, "B"),
    (1024.0, "KiB"),
    (1_048_576.0, "MiB"),
    (1_073_741_824.0, "GiB"),
    (1_099_511_627_776.0, "TiB"),
];
const FLOP: &[(f64, &str)] =
    &[(1.0, "FLOP"), (1e3, "kFLOP"), (1e6, "MFLOP"), (1e9, "GFLOP"), (1e12, "TFLOP"), (1e15, "PFLOP")];
const FLOP_RATE: &[(f64, &str)] = &[(1e6, "MFLOP/s"), (1e9, "GFLOP/s"), (1e12, "TFLOP/s"), (1e15, "PFLOP/s")];
const BYTE_RATE: &[(f64, &str)] = &[(1e3, "kB/s"), (1e6, "MB/s"), (1e9, "GB/s"), (1e12, "TB/s")];

/// A column in which a number would be larger than this takes the next larger unit.
const WIDEST: f64 = 1e5;

/// How the cells of a column are written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Format {
    scale: f64,
    decimals: usize,
    /// The unit in the header; empty for counts and words.
    pub unit: &'static str,
    /// True for numbers, which line up at the right.
    pub right: bool,
}

impl Format {
    /// The unit in which the median of the column's nonzero numbers reads well.
    pub(super) fn choose<'a>(column: &Column, cells: impl Iterator<Item = &'a Cell>) -> Self {
        let mut sizes: Vec<f64> = cells.filter_map(Cell::number).map(f64::abs).filter(|v| *v > 0.0).collect();
        sizes.sort_by(f64::total_cmp);
        let median = sizes.get(sizes.len().saturating_sub(1) / 2).copied().unwrap_or(0.0);
        let largest = sizes.last().copied().unwrap_or(0.0);
        let ladder = match column.unit {
            Unit::Ps => TIME,
            Unit::Bytes => SIZE,
            Unit::Flop => FLOP,
            Unit::FlopRate => FLOP_RATE,
            Unit::ByteRate => BYTE_RATE,
            Unit::Share => &[(0.01, "%")],
            Unit::FlopPerByte => &[(1.0, "FLOP/B")],
            Unit::Count | Unit::Ratio | Unit::None => &[(1.0, "")],
        };
        let (scale, unit) = pick(ladder, median, largest);
        let right = !matches!(column.kind, Kind::Text | Kind::Prose | Kind::Flag);
        Self { scale, decimals: decimals(column, scale, median, largest), unit, right }
    }

    /// The text of a cell; `-` where it is unknown.
    pub(super) fn cell(&self, cell: &Cell) -> String {
        match cell {
            Cell::Int(v) if self.scale == 1.0 && self.decimals == 0 => v.to_string(),
            Cell::Int(v) => self.number(*v as f64),
            Cell::Float(v) => self.number(*v),
            // An empty name is a name too; a blank would look like a mistake in the table.
            Cell::Text(text) if text.is_empty() => "\"\"".to_owned(),
            Cell::Text(text) => clean(text).into_owned(),
            Cell::Flag(v) => if *v { "yes" } else { "no" }.to_owned(),
            Cell::Unknown => "-".to_owned(),
        }
    }

    fn number(&self, v: f64) -> String {
        let v = v / self.scale;
        let digits = self.decimals;
        if v == 0.0 {
            return "0".to_owned();
        }
        // A number that is not zero never reads as zero.
        let least = 10f64.powi(-i32::try_from(digits).unwrap_or(0));
        if v.abs() < least / 2.0 {
            let sign = if v < 0.0 { ">-" } else { "<" };
            return format!("{sign}{least:.digits$}");
        }
        if v.abs() >= 1e12 { format!("{v:.2e}") } else { format!("{v:.digits$}") }
    }
}

fn pick(ladder: &[(f64, &'static str)], median: f64, largest: f64) -> (f64, &'static str) {
    let fits = ladder.iter().rposition(|(scale, _)| median >= *scale).unwrap_or(0);
    let rest = ladder.get(fits..).unwrap_or_default();
    let step = rest.iter().find(|(scale, _)| largest / scale < WIDEST).or(rest.last());
    step.copied().unwrap_or((1.0, ""))
}

fn decimals(column: &Column, scale: f64, median: f64, largest: f64) -> usize {
    let (middle, top) = (median / scale, largest / scale);
    match (column.kind, column.unit) {
        (Kind::Int, Unit::Count | Unit::None | Unit::Ratio) => 0,
        (_, Unit::Bytes) if scale == 1.0 => 0,
        (_, Unit::Share) => {
            if middle < 1.0 && top < 10.0 && top > 0.0 {
                2
            } else {
                1
            }
        }
        _ if top >= 99.995 => 1,
        _ if top >= 9.9995 => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(column: Column, cells: &[Cell]) -> (String, Vec<String>) {
        let format = Format::choose(&column, cells.iter());
        (format.unit.to_owned(), cells.iter().map(|c| format.cell(c)).collect())
    }

    fn of(column: Column, values: &[f64]) -> (String, Vec<String>) {
        let cells: Vec<_> = values.iter().map(|v| Cell::from(*v)).collect();
        shown(column, &cells)
    }

    #[test]
    fn the_median_decides_the_unit() {
        let time = Column::duration("t", "t", "");
        assert_eq!(
            of(time, &[1_500_000.0, 2e6, 400.0]),
            ("us".into(), vec!["1.500".into(), "2.000".into(), "<0.001".into()])
        );
        assert_eq!(of(time, &[2.5e9, 0.0, 0.0]), ("ms".into(), vec!["2.500".into(), "0".into(), "0".into()]));
        assert_eq!(of(time, &[500.0, 2e12, 600.0]).0, "ms");
        assert_eq!(of(Column::bytes("b", "b", ""), &[1_048_576.0]), ("MiB".into(), vec!["1.000".into()]));
        assert_eq!(of(Column::rate("r", "r", Unit::ByteRate, ""), &[8.19e11]).0, "GB/s");
        assert_eq!(
            of(Column::rate("r", "r", Unit::FlopRate, ""), &[1.97e14]),
            ("TFLOP/s".into(), vec!["197.0".into()])
        );
    }

    #[test]
    fn not_zero_does_not_read_as_zero() {
        let share = Column::share("s", "s", "");
        assert_eq!(
            of(share, &[0.5, 0.000_01, 0.0, -0.000_01, 0.6, 0.7]).1,
            ["50.0", "<0.1", "0", ">-0.1", "60.0", "70.0"]
        );
        assert_eq!(of(share, &[0.005, 0.004]).1, ["0.50", "0.40"]);
    }

    #[test]
    fn whole_numbers_and_the_unknown_stay_as_they_are() {
        let count = Column::count("n", "n", "");
        assert_eq!(
            shown(count, &[Cell::Int(i64::MAX), Cell::Unknown, Cell::Int(-3)]).1,
            ["9223372036854775807", "-", "-3"]
        );
        assert_eq!(shown(Column::flag("f", "f", ""), &[true.into(), Cell::Unknown]).1, ["yes", "-"]);
    }
}
