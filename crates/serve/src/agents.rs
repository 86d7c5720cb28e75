//! `/mcp`: the tools for agents, over the same runs as the page. The one path that takes POST: a call is one, and changes nothing.

use std::net::SocketAddr;
use std::sync::Arc;

use haloscope_mcp::{Context, Http, Server, http};

use crate::app::App;
use crate::page;

/// So many bytes a message may have.
pub(crate) const BODY: usize = 4 << 20;

/// The service; [`crate::guard`] has looked at a request before it gets here.
pub(crate) fn service(app: &Arc<App>, addr: SocketAddr) -> Http {
    // Without the token: what an agent is told may end up in places where a secret should not be.
    let context = Context::new(Arc::clone(&app.store)).with_page(page::url(addr));
    let server = Server::new(context);
    let server = match &app.sql {
        Some(sql) => server.with_sql(sql.program.clone()),
        None => server,
    };
    http(server.with_turns(Arc::clone(&app.turns)).with_deadline(app.deadline))
}
