//! A part of the timeline: what ran between two times on some tracks, added up and event by event.

use haloscope_profile::LineId;
use haloscope_report::scope::Scope;
use haloscope_report::units;
use haloscope_timeline::{Search, Timeline, Track, Tracks};
use serde_json::{Value as Json, json};

use crate::{Arguments, Budget, Draft, Field, Refusal, Rows, Tool, object, property};

/// Rows of each list unless more are asked for.
const LIMIT: usize = 50;
/// Of what is on by default: the tracks of devices that show what ran.
const USUAL: [&str; 4] = ["ops", "async", "stream", "modules"];

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
        property("name", "string", "only events whose names hold this"),
        (
            "limit".to_owned(),
            json!({"type": "integer", "minimum": 1, "default": LIMIT, "description": "of each list, before the budget"}),
        ),
    ];
    let input = object(own.into_iter().chain(Budget::properties()), &[]);
    let description = "What ran in a window of time on one device (or any tracks): totals by op, then the events in time order.";
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
    let limit = arguments.count("limit", 1)?.unwrap_or(LIMIT);
    let chosen = chosen(tracks, arguments)?;
    let (start, end, of) = window(timeline, tracks, arguments)?;
    let lines: Vec<LineId> = chosen.iter().map(|(_, track)| LineId(track.id)).collect();
    let totals = timeline.totals(start, end, &lines, limit)?;
    let (from, to, most) = (start.to_string(), end.to_string(), limit.to_string());
    let name = arguments.text("name")?;
    let search = Search::from_words(|key| match key {
        "start" => Some(from.as_str()),
        "end" => Some(to.as_str()),
        "limit" => Some(most.as_str()),
        "q" => name.as_deref(),
        _ => None,
    })?;
    let found = timeline.search(&search, Some(&lines))?;

    let mut draft = Draft::about("timeline_slice");
    draft.head.extend([("run", json!(run)), ("window_ps", json!([start, end])), ("window_is", json!(of))]);
    draft.values = vec![
        value(
            "busy_ps",
            json!(totals.union_ps),
            "ps",
            "time in which any event of these tracks was going on",
        ),
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

type Chosen<'a> = Vec<(&'a haloscope_timeline::Group, &'a Track)>;

/// The tracks that are asked for: of the device named, else of the first one; of a host where there is no device.
fn chosen<'a>(tracks: &'a Tracks, arguments: &Arguments) -> Result<Chosen<'a>, Refusal> {
    let all = || tracks.groups.iter().flat_map(|group| group.tracks.iter().map(move |track| (group, track)));
    let track = arguments.text("track")?;
    if let Some(id) = track.as_deref().and_then(|text| text.parse::<u32>().ok()) {
        let found: Chosen<'_> = all().filter(|(_, track)| track.id == id).collect();
        let ids: Vec<String> = all().map(|(_, track)| track.id.to_string()).collect();
        return if found.is_empty() {
            Err(Refusal::unknown("track", &id.to_string(), &ids, "`tracks` of an answer lists them"))
        } else {
            Ok(found)
        };
    }
    let device = match arguments.text("device")? {
        Some(name) => {
            let names: Vec<&str> = tracks.groups.iter().filter_map(|group| group.device.as_deref()).collect();
            if !names.contains(&name.as_str()) {
                return Err(Refusal::unknown(
                    "device",
                    &name,
                    &names,
                    "call again with one that the run has",
                ));
            }
            Some(name)
        }
        None => None,
    };
    let of_device = |group: &haloscope_timeline::Group| match &device {
        Some(name) => group.device.as_ref() == Some(name),
        None => true,
    };
    let wanted = |kind: &str| match track.as_deref() {
        Some(word) => word == kind,
        None => USUAL.contains(&kind),
    };
    let mut found: Chosen<'_> =
        all().filter(|(group, track)| of_device(group) && wanted(track.kind) && !track.counter).collect();
    // One device says it: all of them at once would be many lists in one.
    if device.is_none() {
        let first = found
            .iter()
            .find(|(group, _)| group.device.is_some())
            .or_else(|| found.first())
            .map(|(group, _)| group.id.clone());
        found.retain(|(group, _)| Some(&group.id) == first.as_ref());
    }
    if found.is_empty() && track.is_none() {
        found = all().filter(|(group, track)| of_device(group) && !track.counter).collect();
    }
    if found.is_empty() {
        let mut kinds: Vec<&str> = all().map(|(_, track)| track.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        return Err(Refusal::unknown(
            "track",
            track.as_deref().unwrap_or("any"),
            &kinds,
            "call again with a kind of track that the run has",
        ));
    }
    Ok(found)
}

/// The window that is asked for, and what it is.
fn window(
    timeline: &Timeline,
    tracks: &Tracks,
    arguments: &Arguments,
) -> Result<(i64, i64, String), Refusal> {
    if let Some(text) = arguments.text("window")? {
        let scope = Scope::from_words(|key| (key == "window").then_some(text.as_str()))?;
        if let Some((start, end)) = scope.window_ps {
            return Ok((start, end, "as asked".to_owned()));
        }
    }
    let ruler = timeline.steps();
    if let Some(number) = arguments.count("step", 0)? {
        let found = ruler.steps.iter().find(|step| usize::try_from(step.number).ok() == Some(number));
        return match found {
            Some(step) => Ok((step.start_ps, step.end_ps, format!("step {number}"))),
            None => {
                let known: Vec<String> = ruler.steps.iter().map(|step| step.number.to_string()).collect();
                Err(Refusal::unknown(
                    "step",
                    &number.to_string(),
                    &known,
                    "`report` with analysis steps lists them",
                ))
            }
        };
    }
    let steady: Vec<_> =
        ruler.steps.iter().filter(|step| step.class == "steady" && step.end_ps > step.start_ps).collect();
    if let Some(step) = steady.get(steady.len() / 2) {
        return Ok((step.start_ps, step.end_ps, format!("step {}, a steady one", step.number)));
    }
    if tracks.end_ps <= tracks.start_ps {
        return Err(Refusal::new(
            "the run has no events with a place in time",
            "`report` with analysis inspect says what it holds",
        ));
    }
    Ok((tracks.start_ps, tracks.end_ps, "the whole capture: no steady step was found".to_owned()))
}
