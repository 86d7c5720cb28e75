//! Listening and stopping.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;

use crate::app::App;
use crate::config::Config;
use crate::connections;
use crate::error::Error;
use crate::page;
use crate::router;

/// How long requests that are being answered are waited for after a signal to stop.
const GRACE: Duration = Duration::from_secs(3);

/// Fewer characters of a token can be guessed.
const LEAST: usize = 16;

/// A server that listens, and answers once [`Server::run`] is awaited.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    addr: SocketAddr,
    token: Option<String>,
    router: Router,
    app: Arc<App>,
}

impl Server {
    /// Listens on the address.
    ///
    /// # Errors
    /// [`Error::TokenNeeded`] for an address that other machines reach without a token, [`Error::ShortToken`] for one of fewer than 16
    /// characters, [`Error::Listen`] if it cannot
    /// be listened on, [`Error::WebRoot`] if the folder of the page is none.
    pub async fn bind(config: Config) -> Result<Self, Error> {
        let addr = config.addr;
        match &config.token {
            None if !addr.ip().to_canonical().is_loopback() => return Err(Error::TokenNeeded(addr)),
            Some(token) => {
                let characters = token.chars().count();
                if characters < LEAST {
                    return Err(Error::ShortToken(characters));
                }
            }
            None => {}
        }
        let listener = TcpListener::bind(addr).await.map_err(|source| Error::Listen { addr, source })?;
        let addr = listener.local_addr()?;
        let token = config.token.clone();
        let shown_in = config.frame_ancestors.clone();
        let app = Arc::new(App::new(Config { addr, ..config })?);
        Ok(Self { listener, addr, router: router::new(addr, token.clone(), &shown_in, &app), token, app })
    }

    /// The address it listens on, with the port that the system chose where 0 was asked for.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.addr
    }

    /// What to open in a browser on this machine, with the token.
    #[must_use]
    pub fn url(&self) -> String {
        let mut url = page::url(self.addr);
        if let Some(token) = &self.token {
            url.push_str("?token=");
            url.extend(form_urlencoded::byte_serialize(token.as_bytes()));
        }
        url
    }

    /// Answers until `shutdown` is ready, then ends captures and finishes what it is answering.
    ///
    /// # Errors
    /// [`Error::System`] if the listener breaks.
    pub async fn run(self, shutdown: impl Future<Output = ()> + Send + 'static) -> Result<(), Error> {
        let app = self.app;
        let (tell, told) = tokio::sync::oneshot::channel();
        let shutdown = async move {
            shutdown.await;
            // Who waits for a capture over XProf's route is answered with its end.
            let _ = tell.send(tokio::task::spawn_blocking(move || app.captures.end()));
        };
        connections::serve(self.listener, self.router, shutdown).await?;
        // What captures had begun to write goes before the process does.
        if let Ok(ending) = told.await {
            let _ = ending.await;
        }
        Ok(())
    }
}

/// Listens and answers until the process is told to stop (Ctrl-C, or SIGTERM), with a runtime of its own. `on_ready` is
/// given what to open in a browser as soon as the server listens.
///
/// # Errors
/// As [`Server::bind`] and [`Server::run`].
pub fn run(config: Config, on_ready: impl FnOnce(&str)) -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let result = runtime.block_on(async {
        let server = Server::bind(config).await?;
        on_ready(&server.url());
        let (tell, told) = tokio::sync::oneshot::channel::<()>();
        let stopping = async move {
            signal().await;
            drop(tell);
            tokio::time::sleep(GRACE).await;
        };
        let running = server.run(async move { drop(told.await) });
        tokio::select! {
            result = running => result,
            () = stopping => Ok(()),
        }
    });
    // An analysis that is still computing must not hold the process.
    runtime.shutdown_background();
    result
}

/// Ready when the process is told to stop. Never, where signals cannot be had: then the default ends the process.
async fn signal() {
    let interrupt = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    let terminate = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminate = std::future::pending::<()>();
    tokio::select! {
        () = interrupt => {}
        () = terminate => {}
    }
}
