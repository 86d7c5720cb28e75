//! The tables of `audit flags`.

use super::check::{Conflict, Missing};
use super::stalls::Stalls;
use crate::flags::table::{self, Kind, Release, Standing};
use crate::flags::{Given, Lost, Use};
use haloscope_report::{Cell, Table, row};

fn some(text: &str) -> Option<&str> {
    Some(text).filter(|t| !t.is_empty())
}

/// The status of a flag in words, its kind and the release.
pub(super) fn status(
    one: &Use,
    asked: &[&'static Release],
) -> (&'static str, Option<Kind>, Option<&'static Release>) {
    match table::standing(&one.name, asked) {
        Standing::Known(release, kind) => ("known", Some(kind), Some(release)),
        Standing::Retired(release) => ("retired", Some(Kind::Retired), Some(release)),
        Standing::Renamed(_) => ("renamed", None, None),
        Standing::Missing(_) => ("unknown", None, None),
        Standing::NotKnownHere => ("not known here", None, None),
    }
}

pub(super) fn flags(given: &Given, asked: &[&'static Release]) -> Table {
    let mut rows = Vec::new();
    for one in &given.uses {
        let (status, kind, release) = status(one, asked);
        let known = table::find(&one.name);
        let renamed = known.filter(|k| k.name != one.name).map(|k| format!("now {}. {}", k.name, k.does));
        let effect = match one.lost {
            None => "yes".to_owned(),
            Some(Lost::Repeated(line)) => format!("no: again in line {line}"),
            Some(Lost::Overwritten(line)) => format!("no: line {line} starts over"),
        };
        let row = row![
            text("flag", "Flag", "Name.", one.name.as_str()),
            text(
                "value",
                "Value",
                "Value as given; `true` or `false` for a flag without one.",
                one.value.as_str()
            ),
            text(
                "status",
                "Status",
                "`known`; `renamed`; `retired` or `unknown` in the release in use; `not known here` if the release is not known and no list has it, which does not make it wrong.",
                status
            ),
            text("effect", "Effect", "`yes`, or which line removes it.", effect),
            text(
                "intent",
                "For",
                "What it is for; unknown if the table does not say.",
                known.map(|k| k.intent.as_str())
            ),
            text("does", "What it does", "What it does.", renamed.or_else(|| known.map(|k| k.does.clone()))),
            text(
                "default",
                "Default",
                "Its default, as the source says.",
                known.and_then(|k| some(&k.default))
            ),
            text("kind", "Takes", "The values that the release accepts.", kind.and_then(Kind::word)),
            text(
                "since",
                "Known in",
                "The release whose list has it.",
                release.map(|r| format!("{} {}", r.library, r.version))
            ),
            text(
                "variable",
                "Variable",
                "The environment variable that the text assigns.",
                one.variable.as_deref()
            ),
            count("line", "Line", "Its place in the text.", one.line),
            text("source", "Source", "The source of what it does.", known.map(|k| k.source.as_str())),
        ];
        rows.push(row);
    }
    Table::of("flags", "Flags", rows)
}

pub(super) fn conflicts(conflicts: &[Conflict]) -> Table {
    let mut table = Vec::new();
    for one in conflicts {
        let row = row![
            text("flag", "Flag", "The flag as given.", one.flag.as_str()),
            text("with", "With", "What it conflicts with.", some(&one.with)),
            text("why", "Why", "What goes wrong.", one.why.as_str()),
            text("lever", "Write instead", "The text to use.", one.recommendation.as_str()),
            text(
                "status",
                "Known",
                "`given` if the text has both; `by default` if it depends on a stated default or on an assumed release.",
                if one.by_default { "by default" } else { "given" }
            ),
            count("line", "Line", "The flag's place in the text.", one.line),
            text("rule", "Rule", "The finding's id.", one.id.replace('_', " ")),
            text("source", "Source", "The source.", one.source.as_str()),
        ];
        table.push(row);
    }
    Table::of("conflicts", "Conflicts", table)
}

pub(super) fn missing(missing: &[Missing<'_>]) -> Table {
    let mut table = Vec::new();
    for one in missing {
        let row = row![
            text("flag", "Flag", "A flag that could help.", one.known.name.as_str()),
            text("stall", "Stall", "The time that it is for.", one.stall.kind),
            share(
                "stall_share",
                "Of window",
                "That measured time as a share of the devices' active windows.",
                one.stall.share
            ),
            duration("stall_ps", "Time", "That time, summed over devices.", one.stall.total_ps),
            text(
                "lever",
                "Add",
                "The text to add, with the flags that it needs.",
                one.recommendation.as_str()
            ),
            text(
                "now",
                "Now",
                "The current value in the text; unknown if there is none.",
                one.now.as_deref()
            ),
            text("default", "Default", "Its default; unknown if no source says.", some(&one.known.default)),
            text("does", "What it does", "What it does.", one.known.does.as_str()),
            text(
                "since",
                "Known in",
                "The release whose list has it.",
                one.release.map_or(Cell::Unknown, |r| format!("{} {}", r.library, r.version).into())
            ),
            text("source", "Source", "The source.", one.known.source.as_str()),
        ];
        table.push(row);
    }
    Table::of("missing", "Missing flags for measured stalls", table)
}

pub(super) fn stalls(stalls: &Stalls) -> Table {
    let mut table = Vec::new();
    for one in &stalls.all {
        let for_it = |k: &&table::Known| {
            let fits = if k.name.starts_with("xla_gpu_") { stalls.is_gpu } else { stalls.is_tpu };
            fits && k.stalls.iter().any(|s| s == one.kind)
        };
        let flags = table::all().iter().filter(for_it).count();
        let row = row![
            text(
                "stall",
                "Stall",
                "A kind of collective, transfers to and from the host, or waits for asynchronous copies.",
                one.kind
            ),
            share("stall_share", "Of window", "Share of the devices' active windows.", one.share),
            duration(
                "stall_ps",
                "Time",
                "Time in such ops (self time, waits included), summed over devices.",
                one.total_ps
            ),
            count(
                "flags",
                "Flags",
                "Flags of the table that are meant for it, for this kind of device.",
                flags
            ),
        ];
        table.push(row);
    }
    Table::of("stalls", "What the run waits for", table)
}
