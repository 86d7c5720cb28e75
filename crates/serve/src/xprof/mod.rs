//! The routes of XProf's own server, with its bodies: what its page, and whoever asks it by HTTP, asks for.
//!
//! Each is there with and without the prefix under which TensorBoard has it. Two things are stricter than XProf's: an unknown
//! tool or parameter is refused with a list of what there is, and folders are read only below the roots given at the start.

mod answered;
mod answers;
mod capture;
mod csv;
mod lists;
mod python;
mod reply;
mod request;
pub(crate) mod ui;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::middleware::from_fn;
use axum::response::Response;
use axum::routing::{MethodRouter, get, post};
use haloscope_compat::Answer;
use haloscope_store::Body;
use serde_json::json;

use answered::answered;
pub(crate) use answers::Answers;

use crate::app::{App, AppState};
use crate::asker;
use crate::compute::blocking;
use crate::guard;
use reply::{Refusal, json, reply, text};
use request::DataRequest;

/// Under which TensorBoard serves XProf.
pub(crate) const PREFIX: &str = "/data/plugin/profile";

/// The XProf whose answers these are.
pub(crate) const VERSION: &str = "2.24.2";

/// The tools that `/generate_cache` takes where none are named.
const CACHED: [&str; 2] = ["overview_page", "trace_viewer@"];

type Outcome = Result<Response, Refusal>;

/// The routes.
pub(crate) fn routes() -> Router<Arc<App>> {
    let all: [(&str, MethodRouter<Arc<App>>); 10] = [
        ("runs", get(lists::runs)),
        ("run_tools", get(lists::run_tools)),
        ("hosts", get(lists::hosts)),
        ("module_list", get(lists::module_list)),
        ("data", get(data)),
        ("data_csv", get(data_csv)),
        ("version", get(version)),
        ("config", get(config)),
        ("generate_cache", post(generate_cache).get(needs_post)),
        ("capture_profile", get(capture::profile).post(capture::profile).layer(from_fn(guard::acting))),
    ];
    // XProf's page asks for its graphs below `///data`, which XProf's server reads as `/data`.
    let prefixes = [String::new(), PREFIX.to_owned(), format!("//{PREFIX}")];
    let mut router = Router::new();
    for (name, handler) in all {
        for prefix in &prefixes {
            for end in ["", "/"] {
                router = router.route(&format!("{prefix}/{name}{end}"), handler.clone());
            }
        }
    }
    router
}

async fn data(State(app): AppState, uri: Uri) -> Outcome {
    let answer = answer(app, DataRequest::parse(&uri)).await?;
    Ok(reply(StatusCode::OK, answer.content_type, answer.body.clone()))
}

async fn data_csv(State(app): AppState, uri: Uri) -> Outcome {
    let asked = DataRequest::parse(&uri);
    let name = csv::file_name(asked.get("tag"), asked.get("run"), asked.get("host"));
    let answer = answer(Arc::clone(&app), asked).await?;
    if answer.content_type != "application/json" {
        return Err(Refusal::new(StatusCode::BAD_REQUEST, "CSV format not supported for this tool type"));
    }
    let body = blocking(app, move |_| csv::first_table(&answer.body)).await?;
    let mut response = reply(StatusCode::OK, "text/csv", body);
    let disposition = format!("attachment; filename=\"{name}\"");
    if let Ok(value) = HeaderValue::from_str(&disposition) {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, value);
    }
    Ok(response)
}

/// The answer to a question, computed or kept.
async fn answer(app: Arc<App>, asked: DataRequest) -> Result<Arc<Answer>, Refusal> {
    let tool = haloscope_compat::find(asked.get("tag").unwrap_or_default())?;
    let asked = asked.for_tool(tool, app.other_page);
    let (asked, place) = blocking(Arc::clone(&app), move |app| {
        let place = asked.place(&app.store)?.ok_or_else(|| asked.no_run())?;
        asked.check_hosts(&place.info)?;
        Ok::<_, Refusal>((asked, place))
    })
    .await?;
    let key = place.key(tool.id, &asked.params);
    answered(app, key, move |app| {
        let Some(id) = place.id() else {
            let run = place.open(&app.store)?;
            return Ok(haloscope_compat::answer(&run.profile, tool.id, &asked.params)?);
        };
        let question = (format!("xprof {}", tool.id), tool.words(&asked.params));
        let body = app.store.body(id, (&question.0, question.1.as_deref()), |run| {
            let answer = haloscope_compat::answer(&run.profile, tool.id, &asked.params)?;
            Ok::<_, Refusal>(Body { content_type: answer.content_type.to_owned(), bytes: answer.body })
        })?;
        match Answer::given_before(&body.content_type, body.bytes) {
            Some(answer) => Ok(answer),
            None => Ok(haloscope_compat::answer(&place.open(&app.store)?.profile, tool.id, &asked.params)?),
        }
    })
    .await
}

async fn version() -> Response {
    text(StatusCode::OK, VERSION)
}

async fn config(State(app): AppState) -> Outcome {
    let hide = !blocking(app, |app| Ok::<_, Refusal>(app.captures.is_offered(&app.store))).await?;
    json(&json!({"hideCaptureProfileButton": hide, "srcPathPrefix": null, "enableTabNameLabel": false}))
}

async fn needs_post() -> Refusal {
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed")
}

/// Computes answers before somebody asks. Nothing is written beside the profile: they are kept as others are.
async fn generate_cache(State(app): AppState, uri: Uri) -> Outcome {
    let asked = DataRequest::parse(&uri);
    if asked.get("session_path").is_none() {
        return Err(Refusal::new(StatusCode::BAD_REQUEST, "Missing \"session_path\" parameter"));
    }
    let named: Vec<String> = match asked.get("tools") {
        Some(tools) => tools.split(',').map(|t| t.trim().to_owned()).collect(),
        None => CACHED.map(str::to_owned).to_vec(),
    };
    let (name, wanted) = blocking(Arc::clone(&app), move |app| {
        let place = asked
            .place(&app.store)?
            .ok_or_else(|| Refusal::new(StatusCode::NOT_FOUND, "No XPlane files found in session_path"))?;
        let run = place.open(&app.store)?;
        let offered = lists::offered(&run.profile).into_iter().filter(|tool| named.iter().any(|n| n == tool));
        // As a page asks that has just been opened: for the first host of the list.
        let ask = |tool: &'static str| {
            let host = lists::host_names(&place.info, Some(tool)).into_iter().next();
            asked.with(&[("tag", Some(tool)), ("host", host.as_deref()), ("tools", None)])
        };
        Ok::<_, Refusal>((place.info.name.clone(), offered.map(ask).collect::<Vec<_>>()))
    })
    .await?;
    if wanted.is_empty() {
        let error = format!("No valid XPlane tools found or specified for caching in run {name}.");
        return Err(Refusal::new(StatusCode::BAD_REQUEST, error));
    }
    tokio::spawn(asker::on_behalf(asker::current(), async move {
        for asked in wanted {
            // Whoever asks later hears why there is none.
            drop(answer(Arc::clone(&app), asked).await);
        }
    }));
    let accepted = json!({"status": "ACCEPTED", "message": "Cache generation started"});
    Ok(reply(StatusCode::ACCEPTED, "application/json", python::to_json(&accepted)))
}
