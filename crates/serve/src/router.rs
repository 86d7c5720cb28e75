//! Which path is answered by what.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, OriginalUri, State};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use haloscope_profile::load::SourceRoot;
use haloscope_store::{Ledger, Store, Watch};
use tokio::sync::Semaphore;
use tower_http::CompressionLevel;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, Predicate};

use crate::answer::Failure;
use crate::capture::{self, Captures};
use crate::config::Config;
use crate::error::Error;
use crate::guard::{self, Guard};
use crate::page::Page;
use crate::retry_unfinished::retry_unfinished;
use crate::single_flight::SingleFlight;
use crate::workers::Workers;
use crate::xprof::{self, Answers};
use crate::{agents, answer, api, docs, ledger, partial, source, timeline};

/// What all requests share.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) store: Arc<Store>,
    pub(crate) page: Page,
    /// Whether that page is another front end's.
    pub(crate) other_page: bool,
    /// As many questions are computed at once as there are cores; the others wait.
    pub(crate) workers: Arc<Semaphore>,
    /// The threads on which they are.
    pub(crate) threads: Workers,
    /// The reports that are being computed.
    pub(crate) single_flight: SingleFlight,
    /// Looks at the folder of runs for as long as the server is there.
    _watch: Watch,
    /// Where the sources of the profiled programs lie, if that is known.
    pub(crate) sources: Option<SourceRoot>,
    /// The history of runs, if there is one.
    pub(crate) ledger: Option<Ledger>,
    /// What XProf's routes answered last.
    pub(crate) answers: Answers,
    /// What is captured from the page.
    pub(crate) captures: Captures,
}

impl App {
    /// What a server at `config.addr` shares.
    pub(crate) fn new(config: Config) -> Result<Self, Error> {
        let Config { addr, token: _, store, web_root, ui, sources, ledger, capture } = config;
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let workers = Arc::new(Semaphore::new(cores));
        let other_page = ui.is_some();
        let page = Page::new(ui.or(web_root))?;
        let store = Arc::new(store);
        Ok(Self {
            _watch: store.watch(api::warm),
            store,
            page,
            other_page,
            workers,
            threads: Workers::new(cores)?,
            single_flight: SingleFlight::default(),
            sources,
            ledger,
            answers: Answers::default(),
            captures: Captures::new(capture, addr),
        })
    }
}

pub(crate) type AppState = State<Arc<App>>;

/// The router of a server that listens on `addr`.
pub(crate) fn new(addr: SocketAddr, token: Option<String>, app: &Arc<App>) -> Router {
    let guard = Arc::new(Guard::new(addr.ip(), token, app.other_page));
    let acting = || middleware::from_fn(guard::acting);
    let token = || middleware::from_fn_with_state(Arc::clone(&guard), guard::token);
    let api = Router::new()
        .route("/version", get(api::version))
        .route("/runs", get(api::runs))
        .route("/analyses", get(api::analyses))
        .route("/report/{analysis}", get(api::report))
        .route("/progress", get(partial::progress))
        .route("/source", get(source::text))
        .route("/ledger", get(ledger::history))
        .route("/ledger/advice", get(ledger::advice))
        .merge(
            Router::new()
                .route("/capture", post(capture::start).layer(acting()).get(capture::all))
                .route("/capture/{id}", delete(capture::cancel).layer(acting()).get(capture::progress))
                .layer(DefaultBodyLimit::max(capture::BODY)),
        )
        .nest("/timeline", timeline::routes())
        .fallback(unknown)
        .layer(middleware::from_fn(retry_unfinished))
        .layer(token());
    let agents = Router::new().route_service("/mcp", agents::service(app, addr)).layer(token());
    let router = Router::new()
        .nest("/api", api)
        .merge(agents)
        // As the page's files they hold nothing of a run, and want no token.
        .route("/docs", get(docs::root))
        .route("/docs/", get(docs::index))
        .route("/docs/{*path}", get(docs::file))
        .merge(xprof::routes().layer(middleware::from_fn(retry_unfinished)).layer(token()));
    let router = if app.other_page {
        let welcome = middleware::from_fn_with_state(Arc::clone(&guard), guard::welcome);
        router.fallback_service(get(xprof::ui::file).layer(welcome).with_state(Arc::clone(app)))
    } else {
        let below = format!("{}/{{*rest}}", xprof::PREFIX);
        router.route(&below, get(xprof::ui::nothing)).fallback(get(crate::page::file))
    };
    let compressed = DefaultPredicate::new().and(timeline::tile::is_compressed);
    router
        .method_not_allowed_fallback(method)
        .with_state(Arc::clone(app))
        .layer(CatchPanicLayer::custom(answer::panicked))
        // A page of this machine gains more from speed than from the last few percent of size.
        .layer(CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(compressed))
        .layer(middleware::from_fn_with_state(Arc::clone(&guard), guard::origin))
        .layer(middleware::map_response_with_state(guard, guard::headers))
}

async fn unknown(OriginalUri(uri): OriginalUri) -> Failure {
    Failure::not_found(
        format!("there is no route {}", uri.path()),
        "the API has /api/version, /api/runs, /api/analyses, /api/report/{analysis}, /api/progress, /api/source, /api/ledger, /api/capture and what docs/timeline.md lists below \
         /api/timeline",
    )
}

async fn method() -> Response {
    Failure::method().into_response()
}
