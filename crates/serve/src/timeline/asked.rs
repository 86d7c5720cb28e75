//! What people ask of the timeline: what an area holds, where a name occurs.

use axum::extract::State;
use axum::http::Uri;

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
