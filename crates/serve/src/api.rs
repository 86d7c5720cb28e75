//! The routes of the API. Each reads its parameters, asks the core, and passes on what it says.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use haloscope_analyses as analyses;
use haloscope_analyses::{FAMILIES, Family};
use haloscope_report::scope::Scope;
use haloscope_report::turns::Size;
use haloscope_store::{Run, Store, Tag};
use haloscope_time::analysis::{self, Analysis, MenuGroup, Others, Param, ParamKind, Params};
use serde_json::json;

use crate::answer::{Answer, Failure, Json};
use crate::app::{App, AppState};
use crate::compute::computed_once;
use crate::compute::{blocking, compute};
use crate::named_run::{look, open, run_id};
use crate::partial;
use crate::query::Query;
use crate::shapes::{Analyses, AnalysisInfo, FamilyInfo, ParamInfo, RunInfo, Runs, Stale};

/// What every report takes beside its own parameters.
const SCOPE: [&str; 7] = ["run", "hosts", "devices", "modules", "steps", "window", "steady"];

pub(crate) async fn version(uri: Uri) -> Answer {
    Query::parse(&uri, &[])?;
    Json::from_value(&json!({"name": "haloscope", "version": env!("CARGO_PKG_VERSION")}))
}

/// All runs; with `known`, nothing where the listing is still the one that has this tag.
pub(crate) async fn runs(State(app): AppState, uri: Uri) -> Result<Response, Failure> {
    let query = Query::parse(&uri, &["known"])?;
    let known = query.get("known").and_then(|tag| Tag::from_str_radix(tag, 16).ok());
    // Not computed: a list is there at once, whatever else is asked.
    blocking(app, move |app| {
        let runs = match known {
            None => app.store.list()?,
            // Why the place cannot be listed is to be told, also where the runs are the same.
            Some(_) if app.store.stale().is_some() => app.store.list()?,
            Some(tag) => match app.store.list_unless(tag)? {
                None => return Ok(StatusCode::NO_CONTENT.into_response()),
                Some(runs) => runs,
            },
        };
        let row = |run: &haloscope_store::RunInfo| RunInfo {
            id: run.id.clone(),
            name: run.name.clone(),
            path: run.path.clone(),
            hosts: run.hosts.clone(),
            size_bytes: run.size_bytes,
            modified_ms: run.modified_ms(),
            writing: run.writing,
            dropped: run.dropped,
        };
        let stale = app.store.stale().map(|stale| Stale {
            since_ms: u64::try_from(stale.since.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis())
                .unwrap_or_default(),
            why: stale.why,
        });
        Json::from_value(&Runs {
            default: haloscope_store::newest_of(&runs).map(|run| run.id.clone()),
            listing: format!("{:016x}", Store::tag(&runs)),
            runs: runs.iter().map(row).collect(),
            version: env!("CARGO_PKG_VERSION"),
            stale,
            logdir: app.store.place().unwrap_or_default(),
        })
        .map(IntoResponse::into_response)
    })
    .await
}

/// The registry, whether there is a history of runs beside it, and whether captures are offered: what a menu is made of.
pub(crate) async fn analyses(State(app): AppState, uri: Uri) -> Answer {
    Query::parse(&uri, &[])?;
    Json::from_value(&Analyses {
        analyses: analyses::ALL.iter().copied().map(described).collect(),
        families: FAMILIES
            .iter()
            .map(|&Family { id, label, about, .. }| FamilyInfo { id, label, about })
            .collect(),
        groups: MenuGroup::ALL,
        ledger: app.ledger.is_some(),
        capture: app.captures.is_offered(&app.store),
        sql: app.sql.is_some(),
    })
}

fn described(analysis: &Analysis) -> AnalysisInfo {
    AnalysisInfo {
        id: analysis.slug(),
        name: analysis.id,
        label: analysis.label,
        group: analysis.group,
        family: analysis.family(),
        others: analysis.others().word(),
        takes_many: analysis.others() == Others::Many,
        question: analysis.question,
        needs: analysis.needs,
        params: analysis.params.iter().map(param).collect(),
    }
}

fn param(param: &Param) -> ParamInfo {
    let (kind, choices): (_, &[&str]) = match param.kind {
        ParamKind::Choice(words) => ("choice", words),
        ParamKind::Count => ("count", &[]),
        ParamKind::Quantity => ("quantity", &[]),
        ParamKind::Text | ParamKind::Texts => ("text", &[]),
        ParamKind::Document => ("document", &[]),
        ParamKind::Flag => ("choice", &["", "yes"]),
    };
    ParamInfo { id: param.id, doc: param.doc, kind, choices, default: param.default }
}

/// What a parameter is called in an address: its name, then what it was called before.
fn words(param: &Param) -> impl Iterator<Item = &'static str> + use<> {
    let now = param.id;
    let former = analysis::FORMER.iter().filter(move |(_, word)| *word == now).map(|(former, _)| *former);
    std::iter::once(now).chain(former)
}

/// What an analysis says of a run; with `nothing=204`, an answer without a body where the run holds nothing of it: a page that only looks
/// which questions it can offer has no error in its console then.
pub(crate) async fn report(
    State(app): AppState,
    id: Result<Path<String>, PathRejection>,
    uri: Uri,
) -> Result<Response, Failure> {
    let id = id.map_or_else(|e| e.body_text(), |Path(id)| id);
    let Some(analysis) = analyses::find(&id) else {
        let known: Vec<_> = analyses::ALL.iter().map(|a| a.slug()).collect();
        let error = format!("there is no analysis `{id}`; there are: {}", known.join(", "));
        return Err(Failure::not_found(error, "/api/analyses says which question each answers"));
    };
    let known: Vec<_> = SCOPE
        .into_iter()
        .chain(["partial", "nothing"])
        .chain(analysis.others().word())
        .chain(analysis.params.iter().flat_map(words))
        .collect();
    let query = Query::parse(&uri, &known)?;
    let is_looking = match query.get("nothing") {
        None => false,
        Some("204") => true,
        Some(_) => {
            let hint = "leave it out to get an error if there is nothing";
            return Err(Failure::usage("nothing= accepts only 204", hint));
        }
    };
    match reported(app, analysis, query, uri).await {
        Err(failure) if is_looking && failure.is_nothing() => Ok(StatusCode::NO_CONTENT.into_response()),
        answer => answer.map(IntoResponse::into_response),
    }
}

async fn reported(app: Arc<App>, analysis: &'static Analysis, query: Query, uri: Uri) -> Answer {
    let second = analysis.others().word();
    let scope = Scope::from_words(|key| query.get(key))?;
    // Hosts that were chosen are few, and another run is to be held against the whole.
    let partial = matches!(query.get("partial"), Some("yes" | "true" | "1"))
        && scope.hosts.is_empty()
        && second.is_none_or(|word| query.get(word).is_none());
    let mut params = Params::default();
    for param in analysis.params {
        if let Some(value) = words(param).find_map(|word| query.get(word)) {
            params.set(param.id, value);
        }
    }
    if analysis.is_told(&params) {
        // What it is asked about is the text: no run is needed.
        let work = move |_: &App| Ok(Json::text(analysis::run_alone(analysis, &params)?.to_json()));
        return computed_once(app, uri.to_string(), work).await;
    }
    let asked = Arc::new((query, scope, params));
    let ids_of = move |app: &App, query: &Query| {
        let others =
            second.and_then(|word| query.get(word)).map_or_else(Vec::new, |ids| match analysis.others() {
                // Ids of sessions hold no commas.
                Others::Many | Others::Baseline => ids.split(',').map(|id| id.trim().to_owned()).collect(),
                _ => vec![ids.to_owned()],
            });
        Ok::<Vec<String>, Failure>(std::iter::once(run_id(app, query)?).chain(others).collect())
    };
    // What is kept is there at once, however many cores are busy.
    let kept = Arc::clone(&asked);
    let kept = blocking(Arc::clone(&app), move |app| {
        let (query, scope, params) = &*kept;
        let ids = ids_of(app, query)?;
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        Ok::<_, Failure>(app.store.known(&ids, analysis, scope, params).map(|report| report.to_json()))
    });
    if let Some(report) = kept.await? {
        return Ok(Json::text(report));
    }
    computed_once(app, uri.to_string(), move |app| {
        let (query, scope, params) = &*asked;
        let ids = ids_of(app, query)?;
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        if partial && app.store.known(&ids, analysis, scope, params).is_none() {
            let mut part = scope.clone();
            if let (run, Some(note)) = partial::open(app, query, &mut part)? {
                let mut report = analysis::run(analysis, &run.profile, &part, params)?;
                report.quality.insert(0, note);
                return Ok(Json::text(report.to_json()));
            }
        }
        Ok(Json::text(app.store.report(&ids, analysis, scope, params)?.to_json()))
    })
    .await
}

/// What `work` says of the run that a request names, unless a file of it changed meanwhile.
pub(crate) async fn of_run<T: Send + 'static>(
    app: Arc<App>,
    query: Query,
    work: impl FnOnce(&Run) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    of_run_sized(app, Size::Heavy, query, work).await
}

/// The same for a look at a part of it: it never waits for what is not quick, where the run is open.
pub(crate) async fn looked_up<T: Send + 'static>(
    app: Arc<App>,
    query: Query,
    work: impl FnOnce(&Run) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let size = look(&app, &query).await;
    of_run_sized(app, size, query, work).await
}

async fn of_run_sized<T: Send + 'static>(
    app: Arc<App>,
    size: Size,
    query: Query,
    work: impl FnOnce(&Run) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    compute(app, size, move |app| {
        let run = open(app, &query)?;
        let answer = work(&run);
        run.profile.unchanged()?;
        answer
    })
    .await
}
