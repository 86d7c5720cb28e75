//! Numbers and remarks in words, as every presentation for people writes them.

use super::text::{cut, width, wrap};
use crate::units;
use crate::{Cell, Column, Gate, Kind, Link, Report, RunWords, ScopeSummary, Unit, Value, clean};

/// Links that people are shown of a finding; JSON has all.
pub(super) const MOST_LINKS: usize = 3;

/// What the outcome of what was asked to hold is called.
pub(super) fn gate(gate: Gate) -> &'static str {
    match gate {
        Gate::Passed => "passed",
        Gate::Failed => "failed",
        Gate::NotComparable => "not comparable",
    }
}

/// A headline number in the unit that fits it. A text under an id that ends in `_ps` may be two numbers, `from..to`.
pub(super) fn value(v: &Value) -> String {
    let ends = || v.value.as_text().filter(|_| v.id.ends_with("_ps"))?.split_once("..");
    let times = ends().and_then(|(from, to)| Some((from.parse::<i64>().ok()?, to.parse::<i64>().ok()?)));
    times.map_or_else(
        || quantity(&v.value, v.unit, "unknown"),
        |(from, to)| format!("{} to {}", units::duration_ps(from as f64), units::duration_ps(to as f64)),
    )
}

/// A cell in the unit that fits it; `unknown` stands where it is not known.
pub(super) fn quantity(cell: &Cell, unit: Unit, unknown: &str) -> String {
    let Some(number) = cell.number() else {
        return match cell {
            Cell::Text(text) => text.clone(),
            Cell::Flag(yes) => if *yes { "yes" } else { "no" }.to_owned(),
            _ => unknown.to_owned(),
        };
    };
    match (unit, cell) {
        (Unit::Ps, _) => units::duration_ps(number),
        (Unit::Bytes, _) => units::bytes(number),
        (Unit::Flop, _) => units::flops(number),
        (Unit::FlopRate, _) => units::flop_rate(number),
        (Unit::ByteRate, _) => units::byte_rate(number),
        (Unit::FlopPerByte, _) => format!("{} FLOP/B", units::number(number)),
        (Unit::Share, _) => units::share(number),
        (_, Cell::Int(whole)) => whole.to_string(),
        _ => units::number(number),
    }
}

/// A difference in the unit that fits it, with its sign; of shares in points of percent.
pub(super) fn change(cell: &Cell, unit: Unit, unknown: &str) -> String {
    let Some(number) = cell.number().filter(|n| *n != 0.0) else {
        return quantity(cell, unit, unknown);
    };
    let size = match (cell, unit) {
        (_, Unit::Share) => format!("{} points", units::number(number.abs() * 100.0)),
        (Cell::Int(whole), _) => quantity(&Cell::Int(whole.saturating_abs()), unit, unknown),
        _ => quantity(&Cell::Float(number.abs()), unit, unknown),
    };
    format!("{}{size}", if number > 0.0 { '+' } else { '-' })
}

/// The column with the units of a table's [quantities](Column::quantity), where it has both.
pub(super) fn unit_column(heads: &[Column]) -> Option<usize> {
    heads.iter().any(|head| is_mixed(head.kind)).then(|| heads.iter().position(|head| head.id == "unit"))?
}

/// Whether the cells of such a column are of different units.
pub(super) fn is_mixed(kind: Kind) -> bool {
    matches!(kind, Kind::Quantity | Kind::Change)
}

/// A cell of a [mixed](is_mixed) column.
pub(super) fn mixed(kind: Kind, cell: &Cell, unit: Option<&Cell>, unknown: &str) -> String {
    let unit = Unit::of_word(unit.and_then(Cell::as_text).unwrap_or_default());
    if kind == Kind::Change { change(cell, unit, unknown) } else { quantity(cell, unit, unknown) }
}

/// What to type to see the evidence, and the row to look at as a remark.
fn command(link: &Link, runs: &RunWords<'_>) -> (String, Option<String>) {
    (link.command(runs), link.row.as_ref().map(|row| format!("# {row}")))
}

/// Where to look, in one line; the commands stand between backticks.
pub(super) fn links(links: &[Link], runs: &RunWords<'_>) -> String {
    let word = |link: &Link| match command(link, runs) {
        (command, Some(row)) => format!("`{command}` {row}"),
        (command, None) => format!("`{command}`"),
    };
    links.iter().take(MOST_LINKS).map(word).collect::<Vec<_>>().join(", ")
}

/// A command over as many lines as it needs, joined as a shell joins them.
pub(super) fn shell_lines(command: &str, columns: usize) -> Vec<String> {
    let command = clean(command);
    if width(&command) <= columns {
        return vec![command.into_owned()];
    }
    let mut lines = wrap(&command, columns.saturating_sub(2));
    let last = lines.len().saturating_sub(1);
    lines[..last].iter_mut().for_each(|line| line.push_str(" \\"));
    lines
}

/// The command of a link likewise, with the row to look at behind it.
pub(super) fn command_lines(link: &Link, runs: &RunWords<'_>, columns: usize) -> Vec<String> {
    let (command, row) = command(link, runs);
    let mut lines = shell_lines(&command, columns);
    if let Some(row) = row.map(|row| clean(&row).into_owned()) {
        match lines.last_mut() {
            Some(line) if width(line) + 2 + width(&row) <= columns => *line = format!("{line}  {row}"),
            _ => lines.push(cut(&row, columns).into_owned()),
        }
    }
    lines
}

/// The part of the run that was asked for; empty for all of it.
pub(super) fn scope(scope: &ScopeSummary) -> String {
    let mut parts = Vec::new();
    if !scope.modules.is_empty() {
        parts.push(format!("modules {}", scope.modules.join(", ")));
    }
    parts.extend(scope.steps.as_ref().map(|steps| format!("steps {steps}")));
    if let Some([from, to]) = scope.window_ps {
        parts.push(format!("{} to {}", units::duration_ps(from as f64), units::duration_ps(to as f64)));
    }
    if scope.steady {
        parts.push("steady state".to_owned());
    }
    parts.extend(scope.left_out.iter().map(|what| format!("left out: {what}")));
    parts.join("; ")
}

/// What was read, how much of it the report covers, and against which peaks shares were computed: a line each.
pub(super) fn source(report: &Report) -> Vec<String> {
    let from = &report.provenance;
    if from.files.is_empty() {
        return Vec::new();
    }
    let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let bytes: u64 = from.files.iter().map(|f| f.bytes).sum();
    let mut text = format!("read {} ({})", count(from.files.len(), "file"), units::bytes(bytes as f64));
    text += &format!(" of {}", count(from.hosts.len(), "host"));
    let coverage = from.coverage;
    if coverage.devices < coverage.devices_in_profile {
        text += &format!("; covers {} of {}", coverage.devices, count(coverage.devices_in_profile, "device"));
    } else {
        text += &format!("; covers {}", count(coverage.devices, "device"));
    }
    let mut lines = vec![text];
    for peak in &from.peaks {
        let rate = match peak.unit {
            Unit::FlopRate => units::flop_rate(peak.rate),
            _ => units::byte_rate(peak.rate),
        };
        let source = match peak.source {
            "trace" => "as the profile says",
            "derived" => "derived from clock and core count",
            _ => "from the chip table",
        };
        lines.push(format!("peak {} of {}: {rate} ({source})", peak.resource, peak.device_type));
    }
    lines
}

/// How many rows a table has beyond those shown; nothing where it has none.
pub(super) fn more_rows(more: usize) -> Option<String> {
    match more {
        0 => None,
        1 => Some("1 more row; --limit 0 shows all".to_owned()),
        more => Some(format!("{more} more rows; --limit 0 shows all")),
    }
}

/// How many nodes a tree has beyond those shown; nothing where it has none.
pub(super) fn more_nodes(more: usize, shown: usize) -> Option<String> {
    match more {
        0 => None,
        1 => Some("1 more node; --limit 0 shows all".to_owned()),
        more => Some(format!("the largest nodes of {}; --limit 0 shows all", more + shown)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_signs_and_shares_differ_by_points() {
        let of = |v: f64, unit| change(&Cell::from(v), unit, "-");
        assert_eq!(of(5.03e9, Unit::Ps), "+5.030 ms");
        assert_eq!(of(-1536.0, Unit::Bytes), "-1.500 KiB");
        assert_eq!(of(-0.021, Unit::Share), "-2.100 points");
        assert_eq!(of(0.0, Unit::Share), "0.0%");
        assert_eq!(change(&Cell::Int(-3), Unit::Count, "-"), "-3");
        assert_eq!(change(&Cell::Int(i64::MIN), Unit::Count, "-"), "-9223372036854775807");
        assert_eq!(change(&Cell::Unknown, Unit::Ps, "-"), "-");
        assert_eq!(change(&Cell::from("fusion.1"), Unit::None, "-"), "fusion.1");
    }

    #[test]
    fn every_unit_is_found_by_its_word() {
        for unit in [Unit::Ps, Unit::Bytes, Unit::Flop, Unit::FlopRate, Unit::ByteRate, Unit::FlopPerByte] {
            assert_eq!(Unit::of_word(unit.word()), unit);
        }
        for unit in [Unit::Share, Unit::Count, Unit::Ratio] {
            assert_eq!((Unit::of_word(unit.word()), unit.symbol()), (unit, "1"));
        }
        assert_eq!(Unit::of_word("1"), Unit::None);
    }
}
