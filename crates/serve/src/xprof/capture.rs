//! `/capture_profile`: a capture in one request, which is answered when it has ended.
//!
//! Its replies are those of XProf 2.24.2, to the byte where XProf says what is wrong. Where it does not (it has one sentence for
//! all servers that do not answer), the reason follows its sentence.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use haloscope_capture::Options;
use serde_json::json;

use super::python;
use super::reply::reply;
use super::request::DataRequest as Params;
use crate::app::{App, AppState};
use crate::capture::{self, CaptureRequest, Outcome, Why};

const DONE: &str = "Capture profile successfully. Please refresh.";
const NO_TRACE: &str = "UNAVAILABLE: No trace event was collected because there were no responses from clients or the responses did \
                        not have trace data.";

/// A refusal: its status, and what `error` says.
type Refused = (StatusCode, String);

pub(super) async fn profile(State(app): AppState, uri: Uri) -> Response {
    let (status, body) = match captured(app, &uri).await {
        Ok(()) => (StatusCode::OK, json!({ "result": DONE })),
        Err((status, error)) => (status, json!({ "error": error })),
    };
    reply(status, "application/json", python::to_json(&body))
}

async fn captured(app: Arc<App>, uri: &Uri) -> Result<(), Refused> {
    let asked = capture_request(&app, uri)?;
    // Whoever gave up waiting finds the session in the list all the same, as with XProf.
    let job = capture::tell(app, move |app| capture::begin(app, asked)).await;
    let job = job.map_err(|failure| (failure.status(), failure.error().to_owned()))?;
    match job.outcome().await {
        Some(Outcome::Done(..)) => Ok(()),
        Some(Outcome::Failed(why)) => Err(of_peer(message(&why))),
        Some(Outcome::Cancelled) | None => Err(of_peer("CANCELLED: the capture was ended".to_owned())),
    }
}

/// What the request asks for, checked in XProf's order.
fn capture_request(app: &App, uri: &Uri) -> Result<CaptureRequest, Refused> {
    let params = Params::parse(uri);
    let number = |key: &str, or: i64| match params.get(key) {
        None => Ok(or),
        Some(text) => text
            .trim()
            .parse::<i64>()
            .map_err(|_| of_peer(format!("invalid literal for int() with base 10: '{text}'"))),
    };
    let duration = number("duration", 1000)?;
    let retries = number("num_retry", 0)?;
    let mut options = Options::default();
    for (key, or) in [("host_tracer_level", 2), ("device_tracer_level", 1), ("python_tracer_level", 0)] {
        let level = number(key, or)?;
        options
            .set(key, &level.to_string())
            .map_err(|error| of_peer(format!("INVALID_ARGUMENT: {error}")))?;
    }
    // XProf's dialog takes such options and its server passes over them.
    for (key, value) in params.params.keys().filter_map(|key| Some((key, params.get(key)?))) {
        if key.starts_with("tpu_") {
            options.set(key, value).map_err(|error| of_peer(format!("INVALID_ARGUMENT: {error}")))?;
        }
    }
    let delay = number("delay", 0)?;
    if params.get("is_tpu_name") == Some("true") {
        return Err(of_peer("TensorFlow is not installed, but is required to use TPU names.".to_owned()));
    }
    if app.store.root().is_none() {
        return Err(of_peer("logdir is not set, abort capturing.".to_owned()));
    }
    let servers: Vec<String> =
        params.get("service_addr").unwrap_or_default().split(',').map(str::to_owned).collect();
    let workers = params.get("worker_list").unwrap_or_default().split(',');
    let unmeant = |name: &&str| !name.is_empty() && !capture::is_address(name);
    if servers.iter().all(String::is_empty) {
        return Err(invalid("No service address provided."));
    }
    let all = servers.iter().map(|name| name.trim_start_matches("grpc://"));
    if let Some(name) = all.chain(workers.clone()).find(unmeant) {
        return Err(invalid(&format!("Could not interpret \"{name}\" as a host-port pair.")));
    }
    match duration {
        0 => return Err(invalid("duration_ms must be greater than zero.")),
        ..0 => {
            let text = "The maximum profiling session duration must be greater than or equal to the local profiler duration.";
            return Err(invalid(text));
        }
        _ => {}
    }
    if workers.into_iter().any(|name| !name.is_empty()) {
        // What a JAX program answers: only TensorFlow's have a session over workers.
        return Err(of_peer("UNIMPLEMENTED: ".to_owned()));
    }
    let millis = |n: i64| Duration::from_millis(u64::try_from(n).unwrap_or_default());
    let retries = u32::try_from(retries.max(0)).unwrap_or(u32::MAX);
    let asked = CaptureRequest::new(
        &servers,
        millis(duration),
        millis(delay),
        retries,
        options,
        app.captures.hosts(),
    );
    asked.map_err(|failure| (failure.status(), failure.error().to_owned()))
}

/// XProf's words, and what it does not say.
fn message(why: &Why) -> String {
    let hint = if why.hint.is_empty() { String::new() } else { format!(" ({})", why.hint) };
    match why.kind {
        "refused" | "unanswered" | "died" | "other" | "busy" | "empty" | "old" | "failed" => {
            format!("{NO_TRACE} {}{hint}", why.error)
        }
        "unimplemented" => format!("UNIMPLEMENTED: {}{hint}", why.error),
        _ => format!("{}{hint}", why.error),
    }
}

fn invalid(what: &str) -> Refused {
    of_peer(format!("INVALID_ARGUMENT: {what}"))
}

/// XProf answers whatever went wrong with 500.
fn of_peer(text: String) -> Refused {
    (StatusCode::INTERNAL_SERVER_ERROR, text)
}
