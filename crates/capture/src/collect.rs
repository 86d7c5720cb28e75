//! One session of one or several servers.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures_util::future::try_join_all;
use prost::bytes::Bytes;
use tokio::time::sleep;

use crate::call::{Connection, PROFILE};
use crate::options::milliseconds;
use crate::proto::{ProfileRequest, ProfileResponse};
use crate::server::Server;
use crate::session::{Draft, DraftFile, PROFILES, now_name, save_file, space_in_reply};
use crate::{Captured, Destination, Error, Event, File, Request, Stop, Watch, runtime};

/// Several servers are told this long before the common start, so that all know of it in time.
const LEAD: Duration = Duration::from_millis(300);
/// Between attempts: so long at first, and twice that after each, up to the longest.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Where servers cannot write. Those that send their profiles do not look at it; those that are too old for that and write them
/// say so, and leave nothing in the program's folder.
const NOWHERE: &str = "/dev/null/haloscope";

/// Profiles the servers of a request at one time, and lays what they recorded below `destination` as one session: whole, or not
/// at all. With [`Request::on_server`] the servers write themselves, and `destination` is not used.
///
/// Blocks until it is done, failed or stopped.
///
/// # Errors
/// [`Error`], of the first server that failed.
pub fn capture(
    request: &Request,
    destination: &Destination,
    watch: &dyn Watch,
    stop: &Stop,
) -> Result<Captured, Error> {
    let servers = request.check()?;
    let runtime = runtime::get()?;
    if let Some(log_folder) = &request.on_server {
        let session = request.session.clone().unwrap_or_else(now_name);
        let root = below(log_folder, PROFILES);
        let asked =
            Collection { request, servers: &servers, session: &session, draft: None, root, watch, stop };
        runtime.block_on(asked.with_retries())?;
        return Ok(elsewhere(log_folder, session, &servers));
    }
    let draft = Draft::begin(destination, request.session.as_deref())?;
    let session = draft.name.clone();
    let root = NOWHERE.to_owned();
    let mut asked =
        Collection { request, servers: &servers, session: &session, draft: Some(&draft), root, watch, stop };
    let mut parts = runtime.block_on(asked.with_retries());
    // What an old server on this machine writes can be had all the same.
    if matches!(parts, Err(Error::Old { .. })) && servers.iter().all(Server::is_here) {
        asked.root = draft.writable()?;
        parts = runtime.block_on(asked.with_retries());
    }
    let parts = parts?;
    if stop.is_stopped() {
        return Err(Error::Stopped);
    }
    draft.finish(parts, watch)
}

/// What is asked of whom.
struct Collection<'a> {
    request: &'a Request,
    servers: &'a [Server],
    session: &'a str,
    /// Where profiles go; `None` where servers write them.
    draft: Option<&'a Draft>,
    /// The folder that servers write to which do not send their profiles.
    root: String,
    watch: &'a dyn Watch,
    stop: &'a Stop,
}

impl Collection<'_> {
    async fn with_retries(&self) -> Result<Vec<DraftFile>, Error> {
        let mut pause = PAUSE;
        let mut attempt = 1;
        loop {
            let error = match self.once().await {
                Ok(parts) => return Ok(parts),
                Err(error) if attempt <= self.request.retries && error.may_pass() => error,
                Err(error) => return Err(error),
            };
            attempt += 1;
            let (server, why) = (error.server().unwrap_or_default(), error.to_string());
            self.watch.event(&Event::Retrying { server, attempt, why: &why });
            self.wait(pause).await?;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// All servers, once. The first that fails ends the calls to the others.
    async fn once(&self) -> Result<Vec<DraftFile>, Error> {
        let connections = try_join_all(self.servers.iter().map(|server| self.connect(server))).await?;
        // The clock of one server alone need not be trusted: it starts when it is asked.
        let lead = if connections.len() > 1 { LEAD } else { Duration::ZERO };
        let wait = self.request.delay.max(lead);
        let (start, start_time) = (Instant::now() + wait, SystemTime::now() + wait);
        if !self.request.delay.is_zero() {
            self.watch.event(&Event::Waiting { until: start_time });
        }
        self.wait(wait.saturating_sub(lead)).await?;
        let start_ns = if lead.is_zero() { 0 } else { nanoseconds(start_time) };
        let numbered = connections.iter().enumerate();
        let kept =
            try_join_all(numbered.map(|(number, at)| self.profile(number, at, start, start_ns))).await?;
        Ok(kept.into_iter().flatten().collect())
    }

    async fn connect(&self, server: &Server) -> Result<Connection, Error> {
        self.watch.event(&Event::Connecting { server: &server.to_string() });
        Connection::open(server, self.request.timeout, self.stop).await
    }

    async fn profile(
        &self,
        number: usize,
        at: &Connection,
        start: Instant,
        start_ns: u64,
    ) -> Result<Option<DraftFile>, Error> {
        let (server, of) = (at.name(), self.request.duration);
        let busy = start.saturating_duration_since(Instant::now()) + of;
        let look = |bytes| {
            if bytes > 0 {
                self.watch.event(&Event::Receiving { server: &server, bytes });
            } else {
                let elapsed = start.elapsed().min(of);
                self.watch.event(&Event::Profiling { server: &server, elapsed, of });
            }
        };
        let message = self.message(&at.server, start_ns);
        let reply = at.call(PROFILE, message, busy, self.stop, look).await;
        let reply: ProfileResponse = reply.map_err(|error| self.or_old(error))?;
        let Some(draft) = self.draft else {
            return if reply.empty_trace { Err(Error::Empty { server }) } else { Ok(None) };
        };
        let space = match space_in_reply(&server, reply) {
            Err(Error::Old { server }) => self.written(&at.server).ok_or(Error::Old { server })?,
            other => other?,
        };
        self.watch.event(&Event::Received { server: &server, bytes: space.len() as u64 });
        Ok(Some(save_file(draft.file_path(number), at.server.clone(), space).await?))
    }

    /// What an old server says of the folder that it cannot write to means that it is old.
    fn or_old(&self, error: Error) -> Error {
        match error {
            Error::Failed { server, message, .. }
                if self.root == NOWHERE && message.contains("/dev/null") =>
            {
                Error::Old { server }
            }
            other => other,
        }
    }

    /// What a server of this machine wrote in place of sending it.
    fn written(&self, server: &Server) -> Option<Bytes> {
        let path = Path::new(&self.root).join(self.session).join(host_name(server) + ".xplane.pb");
        std::fs::read(path).ok().filter(|bytes| !bytes.is_empty()).map(Bytes::from)
    }

    fn message(&self, server: &Server, start_ns: u64) -> ProfileRequest {
        let Request { options, duration, .. } = self.request;
        ProfileRequest {
            duration_ms: milliseconds(*duration),
            opts: Some(options.to_proto(self.session, *duration, start_ns)),
            repository_root: self.root.clone(),
            session_id: self.session.to_owned(),
            host_name: host_name(server),
            emit_xspace: self.draft.is_some(),
            ..ProfileRequest::default()
        }
    }

    async fn wait(&self, duration: Duration) -> Result<(), Error> {
        tokio::select! {
            () = sleep(duration) => Ok(()),
            () = self.stop.stopped() => Err(Error::Stopped),
        }
    }
}

/// What a server that writes itself is to call its file.
fn host_name(server: &Server) -> String {
    format!("{}_{}", server.host.replace(':', "_"), server.port)
}

fn below(root: &str, path: &str) -> String {
    format!("{}/{path}", root.trim_end_matches('/'))
}

fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or_default()
}

/// A session that servers wrote themselves.
fn elsewhere(root: &str, session: String, servers: &[Server]) -> Captured {
    let file = |server: &Server| File {
        name: host_name(server) + ".xplane.pb",
        host: server.host.clone(),
        server: server.to_string(),
        bytes: 0,
    };
    let path = below(root, &format!("{PROFILES}/{session}"));
    let remark = format!(
        "the servers were asked to write the session to {path} on their own disks; whether they did was not checked"
    );
    Captured { session, path, files: servers.iter().map(file).collect(), remarks: vec![remark] }
}
