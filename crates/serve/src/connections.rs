//! Connections: how many there may be, and how long one may take for what it sends, and for what it is sent.
//!
//! A client that connects and says nothing costs a file descriptor and some kilobytes. Beyond a number that the process's own
//! limit of open files bounds, the one that has been silent longest makes room for who comes next; one that is being answered
//! never does.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::response::Response;
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::time::{Sleep, sleep};
use tower_service::Service;

use crate::asker::Peer;

/// How long a client may take for the head of a request, and be silent between two.
pub(crate) const HEAD: Duration = Duration::from_secs(30);
/// How long a client may take nothing of what it is sent.
const TAKES_NOTHING: Duration = Duration::from_secs(60);
/// More connections are no use: a page opens six.
const MOST: usize = 16 << 10;
/// Open files that are not connections: runs, caches, scratch files.
const FILES: usize = 256;
/// As many connections there may be, however few files may be open.
const LEAST: usize = 64;
/// After the system refused a connection, as where no file is left.
const PAUSE: Duration = Duration::from_millis(50);

/// How many connections there may be where so many files may be open.
fn most(files: Option<usize>) -> usize {
    files.map_or(MOST, |files| files.saturating_sub(FILES).clamp(LEAST, MOST))
}

/// How many files this process may have open; `None` where the system does not say.
fn open_files() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// The connections that there are.
#[derive(Debug)]
struct Open {
    most: usize,
    all: Mutex<BTreeMap<u64, Arc<One>>>,
    /// Goes on with every request: who was heard last.
    now: AtomicU64,
}

/// A connection.
#[derive(Debug, Default)]
struct One {
    state: Mutex<State>,
    close: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Requests that are being answered.
    answering: usize,
    /// When it was heard last.
    heard: u64,
}

/// What is guarded here is whole after every statement, so a panic elsewhere does not spoil it.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Open {
    fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, all: Mutex::default(), now: AtomicU64::new(0) })
    }

    fn tick(&self) -> u64 {
        self.now.fetch_add(1, Ordering::Relaxed)
    }

    /// A place for a connection. Where there is none, one that is silent has to go; `None` where all are being answered.
    fn enter(self: &Arc<Self>) -> Option<Place> {
        let mut all = held(&self.all);
        if all.len() >= self.most {
            let silent = all.iter().filter_map(|(id, one)| {
                let state = held(&one.state);
                (state.answering == 0).then_some((state.heard, *id))
            });
            let (_, oldest) = silent.min()?;
            if let Some(one) = all.remove(&oldest) {
                one.close.notify_one();
            }
        }
        let id = self.tick();
        let one = Arc::new(One::default());
        held(&one.state).heard = id;
        all.insert(id, Arc::clone(&one));
        Some(Place { open: Arc::clone(self), id, one })
    }
}

/// The place of a connection, which it has for as long as this is kept.
#[derive(Debug)]
struct Place {
    open: Arc<Open>,
    id: u64,
    one: Arc<One>,
}

impl Place {
    /// Says that a request is answered for as long as what is returned is kept.
    fn answering(&self) -> Answering {
        let mut state = held(&self.one.state);
        state.answering += 1;
        state.heard = self.open.tick();
        Answering { open: Arc::clone(&self.open), one: Arc::clone(&self.one) }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        held(&self.open.all).remove(&self.id);
    }
}

/// A request that is being answered, until the last byte of the answer was taken.
#[derive(Debug)]
struct Answering {
    open: Arc<Open>,
    one: Arc<One>,
}

impl Drop for Answering {
    fn drop(&mut self) {
        let mut state = held(&self.one.state);
        state.answering -= 1;
        state.heard = self.open.tick();
    }
}

/// The body of an answer, with which the answer ends.
struct Answered {
    body: Body,
    _answering: Answering,
}

impl HttpBody for Answered {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Poll::Ready(ready!(Pin::new(&mut self.body).poll_frame(context)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Answers until `shutdown` is ready, then finishes what it is answering.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let open = Open::new(most(open_files()));
    let (end, ended) = watch::channel(());
    let mut shutdown = pin!(shutdown);
    loop {
        let (stream, peer) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => (stream, Peer(peer.ip())),
                Err(_) => {
                    sleep(PAUSE).await;
                    continue;
                }
            },
            () = &mut shutdown => break,
        };
        // All are being answered: who comes now may try again.
        let Some(place) = open.enter() else { continue };
        let _ = stream.set_nodelay(true);
        tokio::spawn(connection(stream, peer, router.clone(), place, ended.clone()));
    }
    drop(listener);
    drop(ended);
    let _ = end.send(());
    end.closed().await;
    Ok(())
}

async fn connection(
    stream: TcpStream,
    peer: Peer,
    router: Router,
    place: Place,
    mut ended: watch::Receiver<()>,
) {
    let place = &place;
    let answer = |request: hyper::Request<Incoming>| {
        let (answering, mut router) = (place.answering(), router.clone());
        async move {
            let mut request: Request = request.map(Body::new);
            request.extensions_mut().insert(peer);
            let response: Result<Response, Infallible> = router.call(request).await;
            response.map(|response| response.map(|body| Answered { body, _answering: answering }))
        }
    };
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD);
    let mut connection =
        pin!(builder.serve_connection(TokioIo::new(Patient::new(stream, TAKES_NOTHING)), service_fn(answer)));
    let mut is_ending = false;
    loop {
        tokio::select! {
            // What went wrong is the client's, and it has gone.
            _ = connection.as_mut() => return,
            () = place.one.close.notified() => return,
            _ = ended.changed(), if !is_ending => {
                is_ending = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

/// A connection that is given up where its client takes nothing for so long. One that takes a little at a time is waited for.
struct Patient {
    stream: TcpStream,
    most: Duration,
    /// Since when there was no room for what is to be sent.
    waits: Option<Pin<Box<Sleep>>>,
}

impl Patient {
    fn new(stream: TcpStream, most: Duration) -> Self {
        Self { stream, most, waits: None }
    }

    fn written(
        &mut self,
        context: &mut Context<'_>,
        polled: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if polled.is_ready() {
            self.waits = None;
            return polled;
        }
        let most = self.most;
        let waits = self.waits.get_or_insert_with(|| Box::pin(sleep(most)));
        waits.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(context, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.written(context, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_open_files_bounds_connections() {
        assert_eq!(most(Some(1024)), 768);
        assert_eq!(most(Some(100)), LEAST);
        assert_eq!(most(Some(usize::MAX)), MOST);
        assert_eq!(most(None), MOST);
    }

    #[test]
    fn a_client_that_takes_nothing_is_given_up_and_a_slow_one_is_not() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let send_all = async |stream: TcpStream, bytes: usize| {
                let mut patient = Patient::new(stream, Duration::from_millis(400));
                let (piece, mut sent) = (vec![0; 64 << 10], 0);
                while sent < bytes {
                    let write =
                        |context: &mut Context<'_>| Pin::new(&mut patient).poll_write(context, &piece);
                    sent += std::future::poll_fn(write).await?;
                }
                Ok::<_, io::Error>(sent)
            };
            let silent = TcpStream::connect(address).await.unwrap();
            let (stream, _) = listener.accept().await.unwrap();
            let ended = send_all(stream, 1 << 30).await;
            assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::TimedOut);
            drop(silent);
            // This one takes some each 20 ms, for longer than that in all.
            let slow = std::net::TcpStream::connect(address).unwrap();
            let (stream, _) = listener.accept().await.unwrap();
            let most = 24 << 20;
            let reads = std::thread::spawn(move || {
                let (mut slow, mut taken) = (slow, 0);
                let mut into = vec![0; 256 << 10];
                while let Ok(read @ 1..) = io::Read::read(&mut slow, &mut into) {
                    taken += read;
                    std::thread::sleep(Duration::from_millis(5));
                }
                taken
            });
            assert!(send_all(stream, most).await.unwrap() >= most);
            assert!(reads.join().unwrap() >= most);
        });
    }

    #[test]
    fn the_one_that_was_silent_longest_makes_room_and_one_that_is_answered_never() {
        let open = Open::new(3);
        let (one, two, three) = (open.enter().unwrap(), open.enter().unwrap(), open.enter().unwrap());
        // The first is answered now, the second was just before.
        let answering = one.answering();
        drop(two.answering());
        let four = open.enter().unwrap();
        assert!(!held(&open.all).contains_key(&three.id), "it never said anything");
        let five = open.enter().unwrap();
        assert!(!held(&open.all).contains_key(&two.id));
        let all = [four.answering(), five.answering()];
        assert!(open.enter().is_none(), "all are being answered");
        drop(all);
        drop(answering);
        drop(one);
        assert!(open.enter().is_some());
    }
}
