//! The routes of SQL.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, Uri, header};
use haloscope_profile::load;
use haloscope_report::turns::Size;
use haloscope_sql::{LONGEST, MOST_MEMORY, MOST_RUNS, MOST_SQL, Question};
use serde::Deserialize;

use super::program::Sql;
use crate::answer::{Answer, Failure, Json};
use crate::app::{App, AppState};
use crate::compute::compute;
use crate::named_run::run_id;
use crate::query::Query;

/// The largest body of a request, in bytes: SQL as JSON has a backslash before some of its letters.
pub(crate) const BODY: usize = 2 * MOST_SQL;

/// Rows of an answer unless others are asked for, and at most.
const ROWS: usize = 1_000;
const MOST_ROWS: usize = 100_000;

/// `GET /api/query`: tables, functions and canned questions.
pub(crate) async fn about(State(app): AppState, uri: Uri) -> Answer {
    Query::parse(&uri, &[])?;
    Json::from_value(&*offered(&app)?.about)
}

fn offered(app: &App) -> Result<Sql, Failure> {
    app.sql.clone().ok_or_else(|| {
        Failure::not_found(
            "this server does not answer SQL",
            "start it with `haloscope serve --sql`; haloscope-query must be installed",
        )
    })
}

/// The body of a request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    /// One statement, or `@` and the name of a canned question.
    sql: String,
    /// Ids of runs; the newest where none is named.
    #[serde(default)]
    runs: Vec<String>,
    /// Most rows.
    limit: Option<usize>,
    /// Seconds that it may take.
    timeout_s: Option<f64>,
}

/// `POST /api/query`: the rows of one statement.
pub(crate) async fn ask(
    State(app): AppState,
    headers: HeaderMap,
    uri: Uri,
    body: Result<Bytes, BytesRejection>,
) -> Answer {
    Query::parse(&uri, &[])?;
    let sql = offered(&app)?;
    // A form of another page cannot send this type without asking first.
    let kind = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    if !kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json")) {
        return Err(Failure::usage("expected a body of the type application/json", ""));
    }
    let body = body.map_err(|error| Failure::usage(error.body_text(), ""))?;
    let asked: Body = serde_json::from_slice(&body).map_err(|error| {
        Failure::usage(
            format!("the request is not a valid query: {error}"),
            "as in {\"sql\": \"SELECT * FROM step\", \"runs\": [\"ID\"], \"limit\": 1000, \"timeout_s\": 30}",
        )
    })?;
    let longest = app.deadline.map_or(LONGEST, |most| most.min(LONGEST));
    let memory = load::memory_limit().map_or(MOST_MEMORY, |limit| limit.min(MOST_MEMORY));
    let timeout = match asked.timeout_s.map(Duration::try_from_secs_f64) {
        None => longest,
        Some(Ok(seconds)) => seconds.min(longest),
        Some(Err(_)) => return Err(Failure::usage("timeout_s: expected seconds, such as 30 or 0.5", "")),
    };
    if asked.runs.len() > MOST_RUNS {
        return Err(Failure::usage(format!("{} runs are more than {MOST_RUNS}", asked.runs.len()), ""));
    }
    let rows = asked.limit.unwrap_or(ROWS).clamp(1, MOST_ROWS);
    let _one = Arc::clone(&sql.at_once).acquire_owned().await;
    compute(app, Size::Heavy, move |app| {
        let runs = paths(app, &asked.runs)?;
        let question = Question { runs, sql: asked.sql, rows, timeout, memory };
        Json::from_value(&sql.program.ask(&question)?)
    })
    .await
}

/// Where the runs with these ids are, the newest where none is named.
fn paths(app: &App, ids: &[String]) -> Result<Vec<PathBuf>, Failure> {
    let newest = if ids.is_empty() { vec![run_id(app, &Query::default())?] } else { Vec::new() };
    let path = |id: &String| match app.store.files_here(id)? {
        Some(files) => Ok(files.path),
        None => Err(Failure::nothing(
            "this run is in memory and has no file",
            "`haloscope demo --save DIR` writes it",
        )),
    };
    ids.iter().chain(&newest).map(path).collect()
}
