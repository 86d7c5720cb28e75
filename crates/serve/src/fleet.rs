//! `/api/fleet`: the runs of the place, a row each.

use axum::extract::State;
use axum::http::Uri;
use haloscope_report::turns::Size;
use haloscope_store::since;

use crate::answer::{Answer, Failure, Json};
use crate::app::AppState;
use crate::compute::compute;
use crate::query::Query;

/// What is known of each run; those of which nothing is kept are read first.
pub(crate) async fn fleet(State(app): AppState, uri: Uri) -> Answer {
    let query = Query::parse(&uri, &["since"])?;
    let from = query.get("since").map(since).transpose();
    let from = from.map_err(|expected| Failure::usage(format!("`since`: {expected}"), ""))?;
    compute(app, Size::Heavy, move |app| {
        let fleet = app.store.fleet(from, |_, _, _| ())?;
        Ok(Json::text(fleet.report().to_json()))
    })
    .await
}
