//! Numbers with units, in the unit that a column has.

use super::Wrong;

/// Units by symbol: the base unit as reports write it, and how much of it one is.
const UNITS: &[(&str, &str, f64)] = &[
    ("ps", "ps", 1.0),
    ("ns", "ps", 1e3),
    ("us", "ps", 1e6),
    ("µs", "ps", 1e6),
    ("ms", "ps", 1e9),
    ("s", "ps", 1e12),
    ("B", "B", 1.0),
    ("kB", "B", 1e3),
    ("MB", "B", 1e6),
    ("GB", "B", 1e9),
    ("TB", "B", 1e12),
    ("KiB", "B", 1024.0),
    ("MiB", "B", 1_048_576.0),
    ("GiB", "B", 1_073_741_824.0),
    ("TiB", "B", 1_099_511_627_776.0),
    ("FLOP", "FLOP", 1.0),
    ("MFLOP", "FLOP", 1e6),
    ("GFLOP", "FLOP", 1e9),
    ("TFLOP", "FLOP", 1e12),
    ("FLOP/s", "FLOP/s", 1.0),
    ("GFLOP/s", "FLOP/s", 1e9),
    ("TFLOP/s", "FLOP/s", 1e12),
    ("B/s", "B/s", 1.0),
    ("MB/s", "B/s", 1e6),
    ("GB/s", "B/s", 1e9),
    ("TB/s", "B/s", 1e12),
    ("FLOP/B", "FLOP/B", 1.0),
    ("%", "1", 0.01),
];

/// A number as it is compared: in the base unit, which is empty where none was given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Quantity {
    pub value: f64,
    pub unit: &'static str,
}

pub(super) fn is_unit(word: &str) -> bool {
    UNITS.iter().any(|(symbol, ..)| *symbol == word)
}

pub(super) fn quantity(value: f64, unit: &str) -> Result<Quantity, Wrong> {
    if unit.is_empty() {
        return Ok(Quantity { value, unit: "" });
    }
    let known = UNITS.iter().find(|(symbol, ..)| *symbol == unit);
    let (_, base, scale) = known.ok_or_else(|| {
        let all: Vec<&str> = UNITS.iter().map(|(symbol, ..)| *symbol).collect();
        format!("expected a unit, one of {}; found `{unit}`", all.join(", "))
    })?;
    Ok(Quantity { value: value * scale, unit: base })
}
