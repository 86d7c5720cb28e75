//! Continuous profiling: the program records all the time into a ring, and what is in it is taken when something has happened.

use std::time::Duration;

use futures_util::future::try_join_all;

use crate::call::{Connection, END, SNAPSHOT, START};
use crate::proto::{Empty, GetSnapshotRequest, ProfileRequest, ProfileResponse};
use crate::request::servers;
use crate::server::Server;
use crate::session::{Draft, save_file, space_in_reply};
use crate::{Captured, Destination, Error, Event, Options, Stop, Watch, runtime};

/// How long a server may be silent.
const PATIENCE: Duration = Duration::from_secs(60);

/// Starts continuous profiling of a program.
///
/// # Errors
/// [`Error::Unimplemented`] where the server does not offer it, [`Error::Busy`] where it profiles already.
pub fn start(server: &str, options: &Options) -> Result<(), Error> {
    let server = Server::parse(server)?;
    let message = ProfileRequest {
        opts: Some(options.to_proto("", Duration::ZERO, 0)),
        emit_xspace: true,
        ..ProfileRequest::default()
    };
    runtime::get()?.block_on(async {
        let stop = Stop::new();
        let connection = Connection::open(&server, PATIENCE, &stop).await?;
        let Empty {} = connection.call(START, message, Duration::ZERO, &stop, |_| {}).await?;
        Ok(())
    })
}

/// Takes what the servers have in their rings, as one session. Recording goes on.
///
/// # Errors
/// As [`crate::capture`].
pub fn snapshot(
    of: &[String],
    destination: &Destination,
    session: Option<&str>,
    watch: &dyn Watch,
    stop: &Stop,
) -> Result<Captured, Error> {
    let servers = servers(of)?;
    let draft = Draft::begin(destination, session)?;
    let one = async |number: usize, server: &Server| {
        let name = server.to_string();
        watch.event(&Event::Connecting { server: &name });
        let connection = Connection::open(server, PATIENCE, stop).await?;
        let message = GetSnapshotRequest { snapshot_session_id: draft.name.clone() };
        let look = |bytes| {
            if bytes > 0 {
                watch.event(&Event::Receiving { server: &name, bytes });
            }
        };
        let reply: ProfileResponse = connection.call(SNAPSHOT, message, Duration::ZERO, stop, look).await?;
        let space = space_in_reply(&name, reply)?;
        watch.event(&Event::Received { server: &name, bytes: space.len() as u64 });
        save_file(draft.file_path(number), server.clone(), space).await
    };
    let all = servers.iter().enumerate().map(|(number, server)| one(number, server));
    let parts = runtime::get()?.block_on(try_join_all(all))?;
    draft.finish(parts, watch)
}

/// Ends continuous profiling of a program.
///
/// # Errors
/// [`Error::Unimplemented`] where the server does not offer it; else as the server says, such as where it was not started.
pub fn stop(server: &str) -> Result<(), Error> {
    let server = Server::parse(server)?;
    runtime::get()?.block_on(async {
        let stop = Stop::new();
        let connection = Connection::open(&server, PATIENCE, &stop).await?;
        let Empty {} = connection.call(END, Empty {}, Duration::ZERO, &stop, |_| {}).await?;
        Ok(())
    })
}
