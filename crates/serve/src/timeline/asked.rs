//! What people ask of the timeline: what an area holds, where a name occurs.

use axum::extract::State;
use axum::http::Uri;
use haloscope_core::derive::timeline::{FLOWS, FlowsOf, Search};
use haloscope_core::profile::LineId;
use haloscope_core::scope::Scope;

use crate::answer::{Json, compute};
use crate::api::{Answer, open};
use crate::query::Query;
use crate::router::AppState;

/// As many rows as a table of totals shows unless more are asked for.
const ROWS: usize = 2000;

pub(super) async fn totals(State(app): AppState, uri: Uri) -> Answer {
    let query = Query::of(&uri, &["run", "start", "end", "tracks", "limit"])?;
    let (start_ps, end_ps) = (query.number("start")?, query.number("end")?);
    let limit = query.number_or("limit", ROWS)?;
    let lines = query.lines("tracks")?;
    compute(app, move |app| Json::of(&open(app, &query)?.timeline.totals(start_ps, end_ps, &lines, limit)?))
        .await
}

pub(super) async fn search(State(app): AppState, uri: Uri) -> Answer {
    let known =
        ["run", "q", "regex", "stat", "min", "max", "start", "end", "tracks", "limit", "after", "before"];
    let query = Query::of(&uri, &known)?;
    let search = Search::from_words(|key| query.get(key))?;
    let lines = query.get("tracks").map(|_| query.lines("tracks")).transpose()?;
    compute(app, move |app| Json::of(&open(app, &query)?.timeline.search(&search, lines.as_deref())?)).await
}

pub(super) async fn steps(State(app): AppState, uri: Uri) -> Answer {
    let query = Query::of(&uri, &["run"])?;
    compute(app, move |app| Json::of(&open(app, &query)?.timeline.steps())).await
}

pub(super) async fn overlap(State(app): AppState, uri: Uri) -> Answer {
    let query = Query::of(&uri, &["run", "start", "end", "px", "devices"])?;
    let (start_ps, end_ps, px) = (query.number("start")?, query.number("end")?, query.number("px")?);
    let devices = Scope::from_words(|key| query.get(key).filter(|_| key == "devices"))?.devices;
    compute(app, move |app| Json::of(&open(app, &query)?.timeline.overlap(start_ps, end_ps, px, devices)?))
        .await
}

pub(super) async fn flows(State(app): AppState, uri: Uri) -> Answer {
    let query = Query::of(&uri, &["run", "start", "end", "tracks", "limit", "track", "event"])?;
    let limit = query.number_or("limit", FLOWS)?;
    if query.get("track").is_some() {
        let of = FlowsOf::Event(LineId(query.number("track")?), query.number("event")?);
        return compute(app, move |app| Json::of(&open(app, &query)?.timeline.flows(of, limit)?)).await;
    }
    let (start_ps, end_ps) = (query.number("start")?, query.number("end")?);
    let lines = query.get("tracks").map(|_| query.lines("tracks")).transpose()?;
    compute(app, move |app| {
        let of = FlowsOf::Window(start_ps, end_ps, lines.as_deref());
        Json::of(&open(app, &query)?.timeline.flows(of, limit)?)
    })
    .await
}

pub(super) async fn clock(State(app): AppState, uri: Uri) -> Answer {
    let query = Query::of(&uri, &["run"])?;
    compute(app, move |app| Json::of(&open(app, &query)?.timeline.clock())).await
}
