//! `/api/source`: the text of a source file, where the server was given a folder of sources.

use axum::extract::State;
use axum::http::Uri;
use haloscope_profile::load::NoText;

use crate::answer::Answer;
use crate::answer::{Failure, Json};
use crate::app::AppState;
use crate::compute::blocking;
use crate::query::Query;
use crate::shapes::{SourceState, SourceText};

/// Without a path: whether there is a folder of sources.
pub(crate) async fn text(State(app): AppState, uri: Uri) -> Answer {
    let query = Query::parse(&uri, &["path"])?;
    let path = query.get("path").map(str::to_owned);
    blocking(app, move |app| {
        let Some(path) = path else {
            return Json::from_value(&SourceState { available: app.sources.is_some() });
        };
        let Some(root) = &app.sources else {
            return Err(Failure::not_found(
                "this server was given no source files",
                "start it with `haloscope serve --source-root DIR`, where DIR is a checkout of the profiled program",
            ));
        };
        match root.read(&path) {
            Ok(found) => Json::from_value(&SourceText { path: found.path, text: found.text }),
            Err(why @ NoText::NotFound { .. }) => Err(Failure::not_found(
                why.to_string(),
                "is --source-root the checkout that was profiled? Libraries are outside it",
            )),
            Err(why) => Err(Failure::not_found(why.to_string(), "")),
        }
    })
    .await
}
