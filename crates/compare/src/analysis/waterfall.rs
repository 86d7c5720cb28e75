//! Table `waterfall`: what makes up the difference of the step times.

use super::side::Side;
use crate::{Part, Rest};
use haloscope_report::units;
use haloscope_report::{Cell, Table, row};

/// Parts that a row names.
const NAMED: usize = 3;

pub(super) fn table(side: &Side<'_, '_>) -> Table {
    let mut table = Vec::new();
    let largest = side.largest();
    for part in Part::ALL {
        let bar = side.waterfall.bar(part);
        let of_ops = !matches!(part, Part::Idle | Part::Devices | Part::Rest);
        let parts: Vec<(String, i64)> = if of_ops {
            let mut all: Vec<(String, i64)> = largest
                .iter()
                .map(|change| (side.name(change), change.effects.of(&change.group, part)))
                .filter(|(_, ps)| *ps != 0)
                .collect();
            all.sort_by_key(|(_, ps)| std::cmp::Reverse(ps.unsigned_abs()));
            all
        } else {
            rests(side, part)
        };
        let named = parts.iter().take(NAMED).map(|(name, ps)| format!("{name} {}", signed(*ps)));
        let named = named.collect::<Vec<_>>().join(", ");
        let row = row![
            text(
                "kind",
                "Kind",
                "new: ops that only the experiment has; gone: only the baseline; count: executions; work: more or less work in one; efficiency: time for the same work; idle: time without ops; devices: the slowest minus the mean; rest: clocks, modules out of scope, rounding.",
                part.word()
            ),
            duration(
                "delta_ps",
                "Delta",
                "What it adds to the mean step time; the rows add up to the whole, exactly.",
                bar.delta_ps
            ),
            share(
                "share",
                "Of a step",
                "The same divided by the baseline's mean step time.",
                side.share(bar.delta_ps as f64)
            ),
            count(
                "ops",
                "Ops",
                "Ops that take part; unknown if it is not the time of ops.",
                Some(bar.groups).filter(|_| of_ops)
            ),
            prose("largest", "Largest", "Its largest parts.", Cell::words(&named)),
        ];
        table.push(row);
    }
    Table::of("waterfall", "What makes up the step's difference", table)
}

/// Kinds of time without ops that a bar is made of.
fn rests(side: &Side<'_, '_>, part: Part) -> Vec<(String, i64)> {
    let is_own = |(rest, ps): &&(Rest, i64)| Part::of_rest(*rest) == part && *ps != 0;
    let named = side.waterfall.rests.iter().filter(is_own);
    // The row of devices is what its name says.
    named
        .filter(|(rest, _)| *rest != Rest::Devices)
        .map(|(rest, ps)| (rest.phrase().to_owned(), *ps))
        .collect()
}

/// A time with its sign.
pub(super) fn signed(ps: i64) -> String {
    let sign = if ps > 0 { "+" } else { "" };
    format!("{sign}{}", units::duration_ps(ps as f64))
}
