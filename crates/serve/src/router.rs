//! Which path is answered by what.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, OriginalUri, State};
use axum::http::{HeaderMap, Uri};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use tower_http::CompressionLevel;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, Predicate};

use crate::answer::Failure;
use crate::app::{App, AppState};
use crate::bodies;
use crate::config::FrameAncestor;
use crate::guard::{self, Guard};
use crate::retry_unfinished::retry_unfinished;
use crate::{
    agents, answer, api, capture, docs, fleet, ledger, opened, page, partial, share, source, sql, timeline,
    xprof,
};

/// The router of a server that listens on `addr`.
pub(crate) fn new(
    addr: SocketAddr,
    token: Option<String>,
    shown_in: &[FrameAncestor],
    app: &Arc<App>,
) -> Router {
    let guard = Arc::new(Guard::new(addr, token, app.other_page, shown_in));
    let acting = || middleware::from_fn(guard::acting);
    let reading = || middleware::from_fn(guard::reading);
    let token = || middleware::from_fn_with_state(Arc::clone(&guard), guard::token);
    let api = Router::new()
        .route("/version", get(api::version))
        .route("/runs", get(api::runs))
        .route("/analyses", get(api::analyses))
        .route("/report/{analysis}", get(api::report))
        .route("/progress", get(partial::progress))
        .route("/source", get(source::text))
        .route("/fleet", get(fleet::fleet))
        .route("/ledger", get(ledger::history))
        .route("/ledger/advice", get(ledger::advice))
        .merge(
            Router::new()
                .route("/capture", post(capture::start).layer(acting()).get(capture::all))
                .route("/capture/{id}", delete(capture::cancel).layer(acting()).get(capture::progress))
                .layer(DefaultBodyLimit::max(capture::BODY)),
        )
        .route(
            "/query",
            post(sql::ask).layer(acting()).get(sql::about).layer(DefaultBodyLimit::max(sql::BODY)),
        )
        .route("/share", get(share::file))
        .route("/open", post(opened::open).layer(acting()))
        .nest("/timeline", timeline::routes())
        .fallback(unknown)
        .layer(middleware::from_fn(retry_unfinished))
        .layer(token())
        .layer(reading());
    let agents = Router::new()
        .route_service("/mcp", agents::service(app, addr))
        .layer(middleware::from_fn_with_state(agents::BODY, bodies::whole))
        .layer(DefaultBodyLimit::max(agents::BODY))
        .layer(token())
        .layer(reading());
    let router = Router::new()
        .nest("/api", api)
        .merge(agents)
        // As the page's files they hold nothing of a run, and want no token.
        .route("/docs", get(docs::root))
        .route("/docs/", get(docs::index))
        .route("/docs/{*path}", get(docs::file))
        .merge(xprof::routes().layer(middleware::from_fn(retry_unfinished)).layer(token()).layer(reading()));
    let welcome = middleware::from_fn_with_state(Arc::clone(&guard), guard::welcome);
    let router = if app.other_page {
        router.fallback_service(get(xprof::ui::file).layer(welcome).with_state(Arc::clone(app)))
    } else {
        let below = format!("{}/{{*rest}}", xprof::PREFIX);
        router.route(&below, get(xprof::ui::nothing)).fallback(get(page_file).layer(welcome))
    };
    let compressed = DefaultPredicate::new().and(timeline::tile::is_compressed);
    router
        .method_not_allowed_fallback(method)
        .with_state(Arc::clone(app))
        .layer(CatchPanicLayer::custom(answer::panicked))
        // A page of this machine gains more from speed than from the last few percent of size.
        .layer(CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(compressed))
        .layer(middleware::from_fn_with_state(bodies::LONGEST, bodies::in_time))
        .layer(middleware::from_fn_with_state(Arc::clone(&guard), guard::origin))
        .layer(middleware::map_response_with_state(guard, guard::headers))
}

/// Answers every path that is not the API's.
async fn page_file(State(app): AppState, uri: Uri, headers: HeaderMap) -> Response {
    page::answer(&app.page, &uri, &headers)
}

async fn unknown(OriginalUri(uri): OriginalUri) -> Failure {
    Failure::not_found(
        format!("there is no route {}", uri.path()),
        "the API has /api/version, /api/runs, /api/analyses, /api/report/{analysis}, /api/progress, /api/source, /api/fleet, /api/ledger, /api/capture, /api/query, /api/share, /api/open and what docs/timeline.md lists below \
         /api/timeline",
    )
}

async fn method() -> Response {
    Failure::method().into_response()
}
