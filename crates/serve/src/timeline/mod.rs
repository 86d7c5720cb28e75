//! The routes of the timeline. Each reads its parameters, asks the core, and passes on what it says.

pub(crate) mod export;

use axum::Router;
use axum::extract::State;
use axum::http::Uri;
use axum::routing::get;
use haloscope_profile::LineId;
use std::sync::Arc;

use crate::answer::Answer;
use crate::answer::Json;
use crate::api::looked_up;
use crate::app::{App, AppState};
use crate::query::Query;

mod queries;
pub(crate) mod tile;

/// The routes below `/api/timeline`.
pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/tracks", get(tracks))
        .route("/window", get(window))
        .route("/tile", get(tile::tile))
        .route("/counters", get(counters))
        .route("/event", get(event))
        .route("/totals", get(queries::totals))
        .route("/stacks", get(queries::stacks))
        .route("/search", get(queries::search))
        .route("/export", get(export::export))
        .route("/steps", get(queries::steps))
        .route("/overlap", get(queries::overlap))
        .route("/utilisation", get(queries::utilisation))
        .route("/flows", get(queries::flows))
        .route("/clock", get(queries::clock))
}

async fn tracks(State(app): AppState, uri: Uri) -> Answer {
    let query = Query::parse(&uri, &["run"])?;
    looked_up(app, query, move |run| Json::from_value(run.timeline.tracks())).await
}

async fn window(State(app): AppState, uri: Uri) -> Answer {
    let query = Query::parse(&uri, &["run", "start", "end", "px", "tracks"])?;
    let (start_ps, end_ps, px) = (query.number("start")?, query.number("end")?, query.number("px")?);
    let lines = query.lines("tracks")?;
    looked_up(app, query, move |run| Json::from_value(&run.timeline.window(start_ps, end_ps, px, &lines)?))
        .await
}

async fn counters(State(app): AppState, uri: Uri) -> Answer {
    let query = Query::parse(&uri, &["run", "start", "end", "px", "tracks"])?;
    let (start_ps, end_ps, px) = (query.number("start")?, query.number("end")?, query.number("px")?);
    let lines = query.lines("tracks")?;
    looked_up(app, query, move |run| Json::from_value(&run.timeline.counters(start_ps, end_ps, px, &lines)?))
        .await
}

async fn event(State(app): AppState, uri: Uri) -> Answer {
    let query = Query::parse(&uri, &["run", "track", "event"])?;
    let (line, event) = (LineId(query.number("track")?), query.number("event")?);
    looked_up(app, query, move |run| Json::from_value(&run.timeline.event(line, event)?)).await
}
