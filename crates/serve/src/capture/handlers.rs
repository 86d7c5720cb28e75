//! The routes of captures.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, PathRejection};
use axum::extract::{self, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use haloscope_capture::Destination;

use super::hosts::CaptureHosts;
use super::job::Job;
use super::request::CaptureRequest;
use crate::answer::{Answer, Failure, Json};
use crate::app::{App, AppState};
use crate::compute::blocking;
use crate::query::Query;
use crate::shapes;

/// Begins a capture for whoever may have it done.
pub(crate) fn begin(app: &Arc<App>, asked: CaptureRequest) -> Result<Arc<Job>, Failure> {
    let folder = app.captures.place(&app.store).map_err(|why| Failure::forbidden(why, ""))?;
    let work = move |job: &Job| {
        haloscope_capture::capture(&job.asked.request, &Destination::Folder(folder), job, &job.stop)
    };
    app.captures.begin(&app.store, asked, work)
}

/// `GET /api/capture`: whether something can be captured, of which servers, and the captures so far.
pub(crate) async fn all(State(app): AppState, uri: Uri) -> Answer {
    Query::parse(&uri, &[])?;
    blocking(app, |app| {
        let captures = &app.captures;
        let place = captures.place(&app.store);
        let jobs: Vec<_> = captures.lock().iter().rev().map(|job| job.told()).collect();
        Json::from_value(&shapes::Captures {
            available: place.is_ok(),
            why: place.as_ref().err().copied(),
            folder: place.as_ref().ok().map(|path| path.display().to_string()),
            any_server: captures.hosts == CaptureHosts::Any,
            servers: captures.hosts.rules().into_iter().map(str::to_owned).collect(),
            captures: jobs,
        })
    })
    .await
}

/// `POST /api/capture`: begins one.
pub(crate) async fn start(
    State(app): AppState,
    headers: HeaderMap,
    uri: Uri,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Failure> {
    Query::parse(&uri, &[])?;
    // A form of another page cannot send this type without asking first.
    let kind = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    if !kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json")) {
        return Err(Failure::usage("expected a body of the type application/json", ""));
    }
    let body = body.map_err(|error| Failure::usage(error.body_text(), ""))?;
    let asked = CaptureRequest::parse(&body, &app.captures.hosts)?;
    let job = tell(app, move |app| begin(app, asked)).await?;
    Ok((StatusCode::ACCEPTED, Json::from_value(&job.told())?).into_response())
}

type Id = Result<extract::Path<String>, PathRejection>;

fn named(app: &App, id: Id) -> Result<Arc<Job>, Failure> {
    app.captures.find(&id.map_or_else(|e| e.body_text(), |extract::Path(id)| id))
}

/// `GET /api/capture/{id}`: how far it is.
pub(crate) async fn progress(State(app): AppState, id: Id, uri: Uri) -> Answer {
    Query::parse(&uri, &[])?;
    Json::from_value(&named(&app, id)?.told())
}

/// `DELETE /api/capture/{id}`: ends it. Nothing is written of one that has not come that far.
pub(crate) async fn cancel(State(app): AppState, id: Id, uri: Uri) -> Answer {
    Query::parse(&uri, &[])?;
    let job = named(&app, id)?;
    job.stop.stop();
    Json::from_value(&job.told())
}

/// As [`blocking`], with the application to hand on.
pub(crate) async fn tell<T: Send + 'static>(
    app: Arc<App>,
    work: impl FnOnce(&Arc<App>) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let own = Arc::clone(&app);
    blocking(app, move |_| work(&own)).await
}
