//! `/api/ledger`: the history of runs, where the server was given one.

use axum::extract::State;
use axum::http::Uri;
use haloscope_analyses::ledger::{self, Ask, Ledger};
use haloscope_report::Error;
use haloscope_report::Report;
use haloscope_report::turns::Size;

use crate::answer::Answer;
use crate::answer::{Failure, Json};
use crate::app::AppState;
use crate::compute::compute;
use crate::query::Query;

/// Entries, metrics and changes. Files that changed are read anew.
pub(crate) async fn history(state: AppState, uri: Uri) -> Answer {
    answer(state, uri, ledger::show).await
}

/// Whether to keep the change of the last entry.
pub(crate) async fn advice(state: AppState, uri: Uri) -> Answer {
    answer(state, uri, ledger::advise).await
}

async fn answer(State(app): AppState, uri: Uri, ask: fn(&Ledger, &Ask) -> Result<Report, Error>) -> Answer {
    let query = Query::parse(&uri, &["metric", "label"])?;
    let asked = Ask { metric: query.get("metric").map(str::to_owned), labels: labels(query.get("label"))? };
    compute(app, Size::Heavy, move |app| {
        let Some(ledger) = &app.ledger else {
            return Err(Failure::not_found(
                "this server was given no ledger",
                "start it with `haloscope serve --ledger PATH`; `haloscope ledger add RUN --ledger PATH` writes to one",
            ));
        };
        Ok(Json::text(ask(&*ledger.read()?, &asked)?.to_json()))
    })
    .await
}

/// Labels as `key=value`, with commas between them.
fn labels(text: Option<&str>) -> Result<std::collections::BTreeMap<String, String>, Failure> {
    let words = text.unwrap_or_default().split(',').map(str::trim).filter(|word| !word.is_empty());
    let pair = |word: &str| match word.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err(Failure::usage(format!("`label`: expected key=value, found `{word}`"), "")),
    };
    words.map(pair).collect()
}
