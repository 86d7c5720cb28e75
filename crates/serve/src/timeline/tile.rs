//! `/api/timeline/tile`: a window as bytes.

use std::time::Instant;

use axum::Extension;
use axum::extract::State;
use axum::http::{Extensions, HeaderMap, StatusCode, Uri, Version, header};
use axum::response::{IntoResponse, Response};
use haloscope_timeline::Colour;

use crate::answer::Failure;
use crate::app::AppState;
use crate::compute::compute;
use crate::named_run::{look, open};
use crate::query::Query;

/// Marks an answer that is sent as it is: to compress a tile takes longer than to send it to the same machine.
#[derive(Debug, Clone, Copy)]
struct AsItIs;

/// Whether an answer may be compressed.
pub(crate) fn is_compressed(_: StatusCode, _: Version, _: &HeaderMap, marks: &Extensions) -> bool {
    marks.get::<AsItIs>().is_none()
}

pub(super) async fn tile(State(app): AppState, uri: Uri) -> Result<Response, Failure> {
    let query = Query::parse(&uri, &["run", "start", "end", "px", "tracks", "colour"])?;
    let (start_ps, end_ps, px) = (query.number("start")?, query.number("end")?, query.number("px")?);
    let lines = query.lines("tracks")?;
    let colour = match query.get("colour") {
        None => Colour::Category,
        Some(word) => Colour::of(word).ok_or_else(|| {
            let known = Colour::WORDS.join(", ");
            Failure::usage(format!("`colour`: expected one of {known}, found `{word}`"), "")
        })?,
    };
    let size = look(&app, &query).await;
    compute(app, size, move |app| {
        let begun = Instant::now();
        let run = open(app, &query)?;
        let bytes = run.timeline.tile(start_ps, end_ps, px, &lines, colour);
        run.profile.unchanged()?;
        let took = format!("tile;dur={:.3}", begun.elapsed().as_secs_f64() * 1e3);
        let headers = [
            (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
            // Profiles are nobody else's business, as for every answer.
            (header::CACHE_CONTROL, "no-store".to_owned()),
            (header::HeaderName::from_static("server-timing"), took),
        ];
        Ok((headers, Extension(AsItIs), bytes?).into_response())
    })
    .await
}
