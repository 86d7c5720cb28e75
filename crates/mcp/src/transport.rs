//! The ways to a server: stdio, and HTTP.

use rmcp::ServiceExt;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use crate::Server;

/// A service that answers HTTP requests: see [`http()`].
pub type Http = StreamableHttpService<Server, LocalSessionManager>;

/// Answers on stdin and stdout until stdin ends.
///
/// # Errors
/// Where the client does not speak the protocol.
pub async fn stdio(server: Server) -> Result<(), String> {
    let running = server.serve(rmcp::transport::io::stdio()).await.map_err(|error| error.to_string())?;
    running.waiting().await.map(drop).map_err(|error| error.to_string())
}

/// The service for HTTP. Who serves it checks Host, Origin and token before a request gets here.
#[must_use]
pub fn http(server: Server) -> Http {
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .with_legacy_session_mode(false)
        .with_json_response(true);
    StreamableHttpService::new(move || Ok(server.clone()), LocalSessionManager::default().into(), config)
}
