//! Ctrl-C and SIGTERM end a capture cleanly: servers are told, and nothing half is left.

use std::thread;

use haloscope_capture::Stop;

/// From now on, a signal to end sets the flag. Where signals cannot be had, the system's way stays.
pub(super) fn ends(stop: &Stop) {
    let stop = stop.clone();
    thread::spawn(move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        if runtime.block_on(signalled()).is_ok() {
            stop.stop();
        }
    });
}

#[cfg(unix)]
async fn signalled() -> std::io::Result<()> {
    use std::future::poll_fn;
    use std::task::Poll;
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    poll_fn(|context| {
        let is_told = interrupt.poll_recv(context).is_ready() || terminate.poll_recv(context).is_ready();
        if is_told { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    Ok(())
}

#[cfg(not(unix))]
async fn signalled() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await
}
