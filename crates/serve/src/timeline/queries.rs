//! What people ask of the timeline: what an area holds, where a name occurs.

use axum::extract::State;
use axum::http::Uri;
use haloscope_profile::LineId;
use haloscope_report::scope::Scope;
use haloscope_timeline::{FLOWS, FlowsOf, Search};

use crate::answer::Answer;
use crate::answer::Json;
use crate::api::of_run;
use crate::app::AppState;
use crate::query::Query;

/// As many rows as a table of totals shows unless more are asked for.
const ROWS: usize = 2000;

pub(super) async fn totals(State(app): AppState, uri: Uri) -> Answer {
    let query = Query::parse(&uri, &["run", "start", "end", "tracks", "limit"])?;
    let (start_ps, end_ps) = (query.number("start")?, query.number("end")?);
    let limit = query.number_or("limit", ROWS)?;
    let lines = query.lines("tracks")?;
    of_run(app, query, move |run| Json::from_value(&run.timeline.totals(start_ps, end_ps, &lines, limit)?))
        .await
}

pub(super) async fn stacks(State(app): AppState, uri: Uri) -> Answer {
    let query = Query::parse(&uri, &["run", "start", "end", "tracks", "name", "limit"])?;
    let (start_ps, end_ps) = (query.number("start")?, query.number("end")?);
    let limit = query.number_or("limit", ROWS)?;
    let lines = query.lines("tracks")?;
    let name = query.get("name").map(str::to_owned);
    of_run(app, query, move |run| {
        Json::from_value(&run.timeline.stacks(start_ps, end_ps, &lines, name.as_deref(), limit)?)
    })
    .await
}

pub(super) async fn search(State(app): AppState, uri: Uri) -> Answer {
    let known = [
        "run", "q", "exact", "regex", "stat", "min", "max", "start", "end", "tracks", "limit", "columns",
        "after", "before",
    ];
    let query = Query::parse(&uri, &known)?;
    let search = Search::from_words(|key| query.get(key))?;
    let lines = query.get("tracks").map(|_| query.lines("tracks")).transpose()?;
    of_run(app, query, move |run| Json::from_value(&run.timeline.search(&search, lines.as_deref())?)).await
}

pub(super) async fn steps(State(app): AppState, uri: Uri) -> Answer {
    let query = Query::parse(&uri, &["run"])?;
    of_run(app, query, move |run| Json::from_value(&run.timeline.steps())).await
}

pub(super) async fn overlap(State(app): AppState, uri: Uri) -> Answer {
    let query = Query::parse(&uri, &["run", "start", "end", "px", "devices"])?;
    let (start_ps, end_ps, px) = (query.number("start")?, query.number("end")?, query.number("px")?);
    let devices = Scope::from_words(|key| query.get(key).filter(|_| key == "devices"))?.devices;
    of_run(app, query, move |run| Json::from_value(&run.timeline.overlap(start_ps, end_ps, px, devices)?))
        .await
}

pub(super) async fn utilisation(State(app): AppState, uri: Uri) -> Answer {
    let query = Query::parse(&uri, &["run", "px"])?;
    let px = query.number("px")?;
    of_run(app, query, move |run| Json::from_value(&run.timeline.utilisation(px)?)).await
}

pub(super) async fn flows(State(app): AppState, uri: Uri) -> Answer {
    let query = Query::parse(&uri, &["run", "start", "end", "tracks", "limit", "track", "event"])?;
    let limit = query.number_or("limit", FLOWS)?;
    if query.get("track").is_some() {
        let of = FlowsOf::Event(LineId(query.number("track")?), query.number("event")?);
        return of_run(app, query, move |run| Json::from_value(&run.timeline.flows(of, limit)?)).await;
    }
    let (start_ps, end_ps) = (query.number("start")?, query.number("end")?);
    let lines = query.get("tracks").map(|_| query.lines("tracks")).transpose()?;
    of_run(app, query, move |run| {
        let of = FlowsOf::Window(start_ps, end_ps, lines.as_deref());
        Json::from_value(&run.timeline.flows(of, limit)?)
    })
    .await
}

pub(super) async fn clock(State(app): AppState, uri: Uri) -> Answer {
    let query = Query::parse(&uri, &["run"])?;
    of_run(app, query, move |run| Json::from_value(&run.timeline.clock())).await
}
