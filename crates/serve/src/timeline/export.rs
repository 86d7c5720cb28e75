//! A part of a run as a file in another tool's format. It is sent while it is written, a piece at a time.

use std::io::{self, BufWriter, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::extract::State;
use axum::http::{Uri, header};
use axum::response::Response;
use futures_core::Stream;
use haloscope_report::scope::Scope;
use haloscope_report::stop::{self, Token};
use haloscope_report::turns::Size;
use haloscope_timeline::export::{Ask, Export, Format, Stacks};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::answer::{Caught, Failure};
use crate::app::AppState;
use crate::compute::{blocking, compute};
use crate::named_run::open;
use crate::query::Query;

/// Bytes of a piece, and how many of them wait to be sent.
const PIECE: usize = 256 << 10;
const PIECES: usize = 8;

const KNOWN: [&str; 12] = [
    "run", "format", "start", "end", "tracks", "stacks", "hosts", "devices", "modules", "steps", "window",
    "steady",
];

pub(crate) async fn export(State(app): AppState, uri: Uri) -> Result<Response, Failure> {
    let query = Query::parse(&uri, &KNOWN)?;
    let format = Format::named(query.get("format").unwrap_or("perfetto"))?;
    let ask = ask(&query)?;
    let (run, ask) = compute(Arc::clone(&app), Size::Heavy, move |app| {
        let run = open(app, &query)?;
        // Refused while it can be: once the file is under way, there is no more room for an error.
        Export::of(&run.profile, &ask)?;
        Ok::<_, Failure>((run, ask))
    })
    .await?;
    let name = file_name(&run.info.name, format);
    let permit = Arc::clone(&app.exports).acquire_owned().await;
    let permit = permit.map_err(|error| Failure::from(Caught::Bug(error.to_string())))?;
    let (send, receive) = channel(PIECES);
    // A file may be as large as who reads it is slow, so that it has no deadline: it ends when nobody takes it any more.
    let token = Token::new(None);
    let received = Received { pieces: receive, _leaves: Leaves(token.clone()) };
    // Not awaited: it ends when the file is written. It holds no core of those that compute while it waits for who reads.
    tokio::spawn(blocking(app, move |_| {
        let _held = permit;
        let mut out = BufWriter::with_capacity(PIECE, Pieces(send.clone()));
        let written = stop::run(&token, || {
            let done = stop::or_refused(|| {
                let export = Export::of(&run.profile, &ask)?;
                Ok::<_, haloscope_report::Error>(export.write(format, &mut out).and_then(|_| out.flush()))
            });
            done.unwrap_or_else(|error| Err(io::Error::other(error.to_string())))
        });
        if let Ok(Err(error)) = written {
            // The connection is cut, so that nobody takes a part for the whole.
            let _ = send.blocking_send(Err(error));
        }
        Ok::<_, Failure>(())
    }));
    let disposition = format!("attachment; filename=\"{name}\"");
    let response = Response::builder()
        .header(header::CONTENT_TYPE, format.media_type())
        .header(header::CONTENT_DISPOSITION, disposition)
        .header(header::CACHE_CONTROL, "no-store")
        .body(Body::from_stream(received));
    response.map_err(|error| Failure::usage(error.to_string(), ""))
}

fn ask(query: &Query) -> Result<Ask, Failure> {
    let mut scope = Scope::from_words(|key| query.get(key))?;
    if query.get("start").is_some() || query.get("end").is_some() {
        let (start, end) = (query.number::<i64>("start")?, query.number::<i64>("end")?);
        if start >= end {
            let found = format!("expected a window that ends after it starts, found {start}..{end} ps");
            return Err(Failure::usage(found, ""));
        }
        scope.window_ps = Some((start, end));
    }
    let tracks = query.get("tracks").unwrap_or_default().split(',').map(str::trim);
    let tracks = tracks.filter(|t| !t.is_empty()).map(str::to_owned).collect();
    let stacks = Stacks::named(query.get("stacks").unwrap_or("events"))?;
    Ok(Ask { scope, tracks, stacks })
}

/// What an export is saved as.
fn file_name(run: &str, format: Format) -> String {
    safe_name(run, format.ending())
}

/// A name that every file system takes, with this end.
pub(crate) fn safe_name(run: &str, ending: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let name: String = run.chars().map(safe).take(100).collect();
    format!("{}{ending}", name.trim_start_matches('.'))
}

/// The end that is written to.
struct Pieces(Sender<io::Result<Vec<u8>>>);

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.blocking_send(Ok(bytes.to_vec())).map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The end that is sent.
struct Received {
    pieces: Receiver<io::Result<Vec<u8>>>,
    /// Who reads has left, or has all of it.
    _leaves: Leaves,
}

/// Stops the work when it is dropped.
struct Leaves(Token);

impl Drop for Leaves {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl Stream for Received {
    type Item = io::Result<Vec<u8>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.pieces.poll_recv(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_hold_nothing_that_a_header_or_a_folder_would_read() {
        assert_eq!(file_name("../a b\"\r\n/c", Format::Chrome), "_a_b____c.trace.json");
        assert_eq!(file_name("train", Format::Perfetto), "train.pftrace");
    }
}
