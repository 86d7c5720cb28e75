//! A part of the timeline: what ran between two times on some tracks, added up and event by event.

use haloscope_report::scope::{Scope, StepRange};
use haloscope_report::units;
use haloscope_time::analysis::LIMIT;
use haloscope_timeline::{Absent, SliceQuery, Timeline, TimelineSlice, Track};
use serde_json::{Value as Json, json};

use crate::{Arguments, Budget, Draft, Field, Refusal, Rows, Tool, object, property};

/// Rows of each list unless more are asked for.
const ROWS: usize = 50;

pub(super) fn tool() -> Tool {
    let own = [
        property("run", "string", "id; else the newest"),
        property("device", "string", "as tables print it, TPU:0; else the first"),
        property("window", "string", "1ms..20ms; else a steady step"),
        property("step", "integer", "the window of this step"),
        property(
            "track",
            "string",
            "an id from `tracks`, or a kind: steps, modules, ops, async, stream, thread",
        ),
        property("name", "string", "only events whose names contain this"),
        (
            LIMIT.id.to_owned(),
            json!({"type": "integer", "minimum": 1, "default": ROWS, "description": "of each list, before the budget"}),
        ),
    ];
    let budget = Budget::properties().into_iter().filter(|(name, _)| name != LIMIT.id);
    let input = object(own.into_iter().chain(budget), &[]);
    let description = "What ran in a time window on one device (or any tracks): totals by op, then the events in time order.";
    Tool::new("timeline_slice", "timeline slice", description, input, |context, arguments| {
        let budget = Budget::from_arguments(arguments)?;
        let run = context.run(arguments, "run")?;
        let draft = slice(&run.info.id, &run.timeline, arguments);
        run.profile.unchanged()?;
        budget.fit(&draft?)
    })
}

fn slice(run: &str, timeline: &Timeline, arguments: &Arguments) -> Result<Draft, Refusal> {
    let tracks = timeline.tracks();
    let query = SliceQuery {
        devices: arguments.text("device")?.into_iter().collect(),
        track: arguments.text("track")?,
        window_ps: match arguments.text("window")? {
            Some(text) => Scope::from_words(|key| (key == "window").then_some(text.as_str()))?.window_ps,
            None => None,
        },
        steps: arguments.count("step", 0)?.map(|step| StepRange::parse(&step.to_string())).transpose()?,
        name: arguments.text("name")?,
        limit: arguments.count(LIMIT.id, 1)?.unwrap_or(ROWS),
    };
    let TimelineSlice { window_ps: (start, end), window_is, chosen, totals, found } =
        timeline.slice(&query).map_err(refusal)?;

    let mut draft = Draft::about("timeline_slice");
    draft.head.extend([
        ("run", json!(run)),
        ("window_ps", json!([start, end])),
        ("window_is", json!(window_is)),
    ]);
    draft.values = vec![
        value("busy_ps", json!(totals.union_ps), "ps", "time in which any event of these tracks ran"),
        value("span_ps", json!(totals.span_ps), "ps", "the length of the window"),
        value("events", json!(totals.events), "1", "events with a part in the window"),
        value("matching_events", json!(found.count), "1", "events that are listed, all of them"),
    ];
    let by_op = totals.by_op.iter().map(|row| {
        vec![
            json!(row.name),
            json!(row.category),
            json!(row.self_ps),
            json!(row.total_ps),
            json!(row.count),
            json!(row.flops),
            json!(row.bytes),
            json!(row.kind),
        ]
    });
    draft.tables.push(rows(
        "by_op",
        "time in the window by op",
        &[
            ("name", ""),
            ("category", ""),
            ("self_ps", "ps"),
            ("total_ps", "ps"),
            ("count", "1"),
            ("flops", "FLOP"),
            ("bytes", "B"),
            ("kind", ""),
        ],
        by_op.collect(),
    ));
    let events = found.hits.iter().map(|hit| {
        vec![json!(hit.start_ps), json!(hit.duration_ps), json!(hit.name), json!(hit.depth), json!(hit.track)]
    });
    draft.tables.push(rows(
        "events",
        "events in time order",
        &[("start_ps", "ps"), ("duration_ps", "ps"), ("name", ""), ("depth", "1"), ("track", "")],
        events.collect(),
    ));
    let all = tracks.groups.iter().flat_map(|group| group.tracks.iter().map(move |track| (group, track)));
    let shown = |track: &Track| chosen.iter().any(|(_, other)| other.id == track.id);
    let mut listed: Vec<_> = all.map(|(group, track)| (!shown(track), group, track)).collect();
    listed.sort_by_key(|(hidden, ..)| *hidden);
    let row = |(hidden, group, track): (bool, &haloscope_timeline::Group, &Track)| {
        vec![
            json!(track.id),
            json!(group.name),
            json!(track.name),
            json!(track.kind),
            json!(track.events),
            json!(!hidden),
        ]
    };
    draft.tables.push(rows(
        "tracks",
        "all tracks, those of this answer first",
        &[("track", ""), ("group", ""), ("name", ""), ("kind", ""), ("events", "1"), ("chosen", "")],
        listed.into_iter().map(row).collect(),
    ));
    if found.more {
        draft.next.push(format!("events of {}: a larger `limit` or a narrower `window`", found.count));
    }
    Ok(draft)
}

fn value(id: &str, value: Json, unit: &str, what: &str) -> crate::Value {
    let number = value.as_f64().unwrap_or(0.0);
    let said = if unit == "ps" { units::duration_ps(number) } else { units::number(number) };
    let shown = format!("{said}: {what}");
    crate::Value { id: id.to_owned(), value, unit: unit.to_owned(), status: "measured".to_owned(), shown }
}

fn rows(id: &str, title: &str, columns: &[(&str, &str)], rows: Vec<Vec<Json>>) -> Rows {
    let columns = columns.iter().map(|(id, unit)| Field::new(*id, *unit)).collect();
    Rows {
        id: id.to_owned(),
        title: title.to_owned(),
        status: "measured".to_owned(),
        columns,
        rows,
        on_demand: false,
    }
}

/// What to call next where the run has no such part.
fn refusal(absent: Absent) -> Refusal {
    match absent {
        Absent::Other(error) => error.into(),
        Absent::Events => Refusal::new(
            "the run has no events with a place in time",
            "`report` with analysis inspect says what it has",
        ),
        Absent::Word { what, found, known } => {
            let next = match what {
                "step" => "`report` with analysis steps lists them",
                "track" if found.parse::<u32>().is_ok() => "`tracks` of an answer lists them",
                "track" => "call again with a kind of track that the run has",
                _ => "call again with one that the run has",
            };
            Refusal::unknown(what, &found, &known, next)
        }
    }
}
