//! A line on a terminal that says how far the reading has come, while somebody waits.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use haloscope_profile::load::Part;
use haloscope_report::units;

/// What is done sooner than this needs no progress.
const PATIENCE: Duration = Duration::from_millis(600);
const BETWEEN: Duration = Duration::from_millis(100);

/// Does `work`; if that takes long and stderr is a terminal, a line there says `what` is done and what `part` of it, and is
/// gone again at the end.
pub(crate) fn while_doing<T>(what: &str, part: impl Fn() -> Part + Sync, work: impl FnOnce() -> T) -> T {
    let is_wanted = io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
    if !is_wanted {
        return work();
    }
    let (done, waits) = mpsc::channel::<()>();
    let part = &part;
    thread::scope(|scope| {
        scope.spawn(move || draw(what, part, &waits));
        let outcome = work();
        drop(done);
        outcome
    })
}

/// Draws until the other end of the channel is gone.
fn draw(what: &str, part: &impl Fn() -> Part, done: &mpsc::Receiver<()>) {
    let mut err = io::stderr();
    let mut wait = PATIENCE;
    let mut width = 0;
    while done.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
        let text = progress_line(what, &part());
        width = text.chars().count();
        // Nobody is hurt if a terminal takes no more.
        let _ = write!(err, "\r{text}\x1b[K");
        let _ = err.flush();
        wait = BETWEEN;
    }
    if width > 0 {
        let _ = write!(err, "\r\x1b[K");
    }
}

/// `reading events: 12 of 64 hosts, 612.0 MiB of 3.131 GiB`.
fn progress_line(what: &str, part: &Part) -> String {
    let hosts = match part.all_files {
        0 | 1 => String::new(),
        all => format!("{} of {all} hosts, ", part.files),
    };
    let size = |bytes: u64| units::bytes(bytes as f64);
    format!("{what}: {hosts}{} of {}", size(part.bytes), size(part.all_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_counted_where_there_are_several() {
        let part = Part { files: 12, all_files: 64, bytes: 612 << 20, all_bytes: 3 << 30 };
        assert_eq!(progress_line("opening", &part), "opening: 12 of 64 hosts, 612.0 MiB of 3.000 GiB");
        let one = Part { files: 0, all_files: 1, ..part };
        assert_eq!(progress_line("opening", &one), "opening: 612.0 MiB of 3.000 GiB");
        assert_eq!(while_doing("opening", || part, || 7), 7);
    }
}
