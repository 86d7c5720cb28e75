//! Another front end's files in place of our page: XProf's own page, as `pip install xprof` brings it.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;

use super::PREFIX;
use super::reply::text;
use crate::app::AppState;
use crate::page;

/// Answers every path that is no route: a file, or the page for the paths that it keeps its own places in.
pub(crate) async fn file(State(app): AppState, uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path();
    let below = path.strip_prefix(PREFIX).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let path = below.unwrap_or(path);
    let name = path.strip_prefix('/').unwrap_or(path);
    // A tool's page that is loaded anew: its address has no file's name.
    let is_place = below.is_some() && !name.rsplit('/').next().unwrap_or_default().contains('.');
    let name = if name.is_empty() || name == "local" || is_place { "index.html" } else { name };
    page::response(&app.page, name, &headers).unwrap_or_else(|| text(StatusCode::NOT_FOUND, "Not Found"))
}

/// Answers paths below the prefix where there is no other front end.
pub(crate) async fn nothing() -> Response {
    let hint = "Not Found: this server answers runs, run_tools, hosts, module_list, data, data_csv, version, config and \
                generate_cache here; `haloscope serve --ui DIR` serves XProf's page too";
    text(StatusCode::NOT_FOUND, hint)
}
