//! The tables of `audit flags`.

use super::check::{Conflict, Missing};
use super::stalls::Stalls;
use crate::flags::table::{self, Kind, Release, Standing};
use crate::flags::{Given, Lost, Use};
use haloscope_report::{Cell, Column, Table};

const FLAGS: &[Column] = &[
    Column::text("flag", "Flag", "Name."),
    Column::text("value", "Value", "Value as given; `true` or `false` for a flag without one."),
    Column::text(
        "status",
        "Status",
        "`known`; `renamed`; `retired` or `unknown` in the release in use; `not known here` where the release is not known and no list has it, which does not make it wrong.",
    ),
    Column::text("effect", "Effect", "`yes`, or which line takes it away."),
    Column::text("intent", "For", "What it is for; unknown where the table does not say."),
    Column::text("does", "What it does", "What it does."),
    Column::text("default", "Default", "Its value where nobody sets it, as the source says."),
    Column::text("kind", "Takes", "What values the release takes."),
    Column::text("since", "Known in", "The release whose list has it."),
    Column::text("variable", "Variable", "The environment variable that the text assigns."),
    Column::count("line", "Line", "Where it stands in the text."),
    Column::text("source", "Source", "Who says what it does."),
];

const CONFLICTS: &[Column] = &[
    Column::text("flag", "Flag", "The flag as given."),
    Column::text("with", "With", "What it does not go with."),
    Column::text("why", "Why", "What goes wrong."),
    Column::text("lever", "Write instead", "The text to use."),
    Column::text(
        "status",
        "Known",
        "`given` where the text says both; `by default` where it rests on a stated default, or on a release that is assumed.",
    ),
    Column::count("line", "Line", "Where the flag stands."),
    Column::text("rule", "Rule", "The finding's id."),
    Column::text("source", "Source", "Who says so."),
];

const MISSING: &[Column] = &[
    Column::text("flag", "Flag", "A flag that could help."),
    Column::text("stall", "Stall", "The time that it is for."),
    Column::share("stall_share", "Of window", "That time, measured, over the devices' active windows."),
    Column::duration("stall_ps", "Time", "That time, summed over devices."),
    Column::text("lever", "Add", "The text to add, with the flags that must stand beside it."),
    Column::text("now", "Now", "What the text has now; unknown where it has nothing."),
    Column::text("default", "Default", "Its value where nobody sets it; unknown where no source says."),
    Column::text("does", "What it does", "What it does."),
    Column::text("since", "Known in", "The release whose list has it."),
    Column::text("source", "Source", "Who says so."),
];

const STALLS: &[Column] = &[
    Column::text(
        "stall",
        "Stall",
        "A kind of collective, transfers to and from the host, or waits for asynchronous copies.",
    ),
    Column::share("stall_share", "Of window", "Over the devices' active windows."),
    Column::duration(
        "stall_ps",
        "Time",
        "Time in such ops (self time, waits included), summed over devices.",
    ),
    Column::count("flags", "Flags", "Flags of the table that are meant for it, for this kind of device."),
];

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
    let mut table = Table::new("flags", "Flags", FLAGS);
    for one in &given.uses {
        let (status, kind, release) = status(one, asked);
        let known = table::find(&one.name);
        let renamed = known.filter(|k| k.name != one.name).map(|k| format!("now {}. {}", k.name, k.does));
        let effect = match one.lost {
            None => "yes".to_owned(),
            Some(Lost::Repeated(line)) => format!("no: again in line {line}"),
            Some(Lost::Overwritten(line)) => format!("no: line {line} starts anew"),
        };
        table.push(vec![
            one.name.as_str().into(),
            one.value.as_str().into(),
            status.into(),
            effect.into(),
            known.map(|k| k.intent.as_str()).into(),
            renamed.or_else(|| known.map(|k| k.does.clone())).into(),
            known.and_then(|k| some(&k.default)).into(),
            kind.and_then(Kind::word).into(),
            release.map(|r| format!("{} {}", r.library, r.version)).into(),
            one.variable.as_deref().into(),
            one.line.into(),
            known.map(|k| k.source.as_str()).into(),
        ]);
    }
    table
}

pub(super) fn conflicts(conflicts: &[Conflict]) -> Table {
    let mut table = Table::new("conflicts", "What does not fit", CONFLICTS);
    for one in conflicts {
        table.push(vec![
            one.flag.as_str().into(),
            some(&one.with).into(),
            one.why.as_str().into(),
            one.lever.as_str().into(),
            if one.by_default { "by default" } else { "given" }.into(),
            one.line.into(),
            one.id.replace('_', " ").into(),
            one.source.as_str().into(),
        ]);
    }
    table
}

pub(super) fn missing(missing: &[Missing<'_>]) -> Table {
    let mut table = Table::new("missing", "Missing for a stall that was measured", MISSING);
    for one in missing {
        table.push(vec![
            one.known.name.as_str().into(),
            one.stall.kind.into(),
            one.stall.share.into(),
            one.stall.total_ps.into(),
            one.lever.as_str().into(),
            one.now.as_deref().into(),
            some(&one.known.default).into(),
            one.known.does.as_str().into(),
            one.release.map_or(Cell::Unknown, |r| format!("{} {}", r.library, r.version).into()),
            one.known.source.as_str().into(),
        ]);
    }
    table
}

pub(super) fn stalls(stalls: &Stalls) -> Table {
    let mut table = Table::new("stalls", "What the run waits for", STALLS);
    for one in &stalls.all {
        let for_it = |k: &&table::Known| {
            let fits = if k.name.starts_with("xla_gpu_") { stalls.is_gpu } else { stalls.is_tpu };
            fits && k.stalls.iter().any(|s| s == one.kind)
        };
        let flags = table::all().iter().filter(for_it).count();
        table.push(vec![one.kind.into(), one.share.into(), one.total_ps.into(), flags.into()]);
    }
    table
}
