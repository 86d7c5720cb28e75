//! Ctrl-C and SIGTERM: the capture ends, the program is told, and its end is waited for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Scope;

use haloscope_capture::Stop;
use tokio::sync::Notify;

use super::child::{Child, Signal};

/// Ends the watching.
pub(super) struct Signals(Arc<Notify>);

impl Signals {
    pub(super) fn end(self) {
        self.0.notify_one();
    }
}

/// From now on, signals to us end the capture and go to the program. If signals cannot be had, the system's way stays.
pub(super) fn forward<'scope>(
    scope: &'scope Scope<'scope, '_>,
    child: &'scope Child,
    stop: &Stop,
    is_interrupted: &'scope AtomicBool,
) -> Signals {
    let done = Arc::new(Notify::new());
    let ended = Arc::clone(&done);
    let stop = stop.clone();
    let (is_ready, ready) = std::sync::mpsc::channel();
    scope.spawn(move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async {
            let Ok(mut sources) = Sources::new() else { return };
            let _ = is_ready.send(());
            while let Some(signal) = sources.next(&ended).await {
                is_interrupted.store(true, Ordering::Relaxed);
                stop.stop();
                // A terminal tells the program itself. Twice might end it before it has cleaned up.
                if signal == Signal::Terminate || !is_from_terminal() {
                    child.signal(signal);
                }
            }
        });
    });
    // A signal between the start of the program and here is the system's.
    let _ = ready.recv();
    Signals(done)
}

#[cfg(unix)]
struct Sources {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Sources {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// The next signal; `None` when `done` says so.
    async fn next(&mut self, done: &Notify) -> Option<Signal> {
        use std::pin::pin;
        use std::task::Poll;
        let mut done = pin!(done.notified());
        std::future::poll_fn(|context| {
            if self.interrupt.poll_recv(context).is_ready() {
                return Poll::Ready(Some(Signal::Interrupt));
            }
            if self.terminate.poll_recv(context).is_ready() {
                return Poll::Ready(Some(Signal::Terminate));
            }
            done.as_mut().poll(context).map(|()| None)
        })
        .await
    }
}

#[cfg(not(unix))]
struct Sources;

#[cfg(not(unix))]
impl Sources {
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self, done: &Notify) -> Option<Signal> {
        use std::pin::pin;
        use std::task::Poll;
        let (mut done, mut pressed) = (pin!(done.notified()), pin!(tokio::signal::ctrl_c()));
        std::future::poll_fn(|context| {
            if pressed.as_mut().poll(context).is_ready() {
                return Poll::Ready(Some(Signal::Interrupt));
            }
            done.as_mut().poll(context).map(|()| None)
        })
        .await
    }
}

/// Whether Ctrl-C reaches the program as it reaches us: both are in the group that the terminal shows.
#[cfg(unix)]
fn is_from_terminal() -> bool {
    let Ok(terminal) = std::fs::File::open("/dev/tty") else { return false };
    rustix::termios::tcgetpgrp(&terminal).is_ok_and(|group| group == rustix::process::getpgrp())
}

#[cfg(not(unix))]
fn is_from_terminal() -> bool {
    true
}
