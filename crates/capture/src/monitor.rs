//! What a server says of itself: `Monitor`.

use std::time::Duration;

use crate::call::{Connection, MONITOR};
use crate::options::milliseconds;
use crate::proto::{MonitorRequest, MonitorResponse};
use crate::server::Server;
use crate::{Error, Stop, runtime};

/// How long a server may be silent beyond the duration.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a server says of its devices after watching them for `duration`, as text; a higher `level` (1 or 2) says more.
/// Cloud TPU's own service offers it, JAX's does not.
///
/// # Errors
/// [`Error::Unimplemented`] where the server does not offer it; else as [`crate::capture`].
pub fn monitor(server: &str, duration: Duration, level: i32) -> Result<String, Error> {
    let server = Server::parse(server)?;
    let message =
        MonitorRequest { duration_ms: milliseconds(duration), monitoring_level: level, timestamp: true };
    runtime::get()?.block_on(async {
        let stop = Stop::new();
        let connection = Connection::open(&server, PATIENCE, &stop).await?;
        let said: MonitorResponse = connection.call(MONITOR, message, duration, &stop, |_| {}).await?;
        Ok(said.data)
    })
}
