//! The way into the engine: Python's lock is let go, Ctrl-C is heard, a panic becomes an exception, and a process that was forked
//! has threads of its own.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use haloscope_report::stop::{self, Token};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::errors::Trouble;

/// How often Python is asked whether somebody pressed Ctrl-C.
const LOOK: Duration = Duration::from_millis(40);
/// How long work that was stopped is waited for; then it ends by itself, where it next looks.
const LEAVE: Duration = Duration::from_millis(80);
/// As much as the main thread of a program has.
const STACK: usize = 8 << 20;

/// What the last panic said, and where.
static SAID: Mutex<String> = Mutex::new(String::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has panics noted for the exception, and not printed.
pub(crate) fn catch_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        let payload = info.payload();
        let owned = || payload.downcast_ref::<String>().map(String::as_str);
        let said = payload.downcast_ref::<&str>().copied().or_else(owned).unwrap_or("no message");
        *lock(&SAID) = format!("{said} ({place})");
    }));
}

/// Does some work on a thread of its own while this one lets Python go on and listens for Ctrl-C.
///
/// # Errors
/// Those of the work; `BugError` for a panic; what Python raises for Ctrl-C.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Trouble> + Send + 'static,
) -> PyResult<T> {
    py.detach(move || {
        let token = Token::new(None);
        let (tell, told) = mpsc::channel();
        let own = token.clone();
        let answer = move || {
            let done = catch_unwind(AssertUnwindSafe(|| on_own_threads(|| stop::run(&own, work))));
            // Who does not wait any more does not want to know.
            let _ = tell.send(done);
        };
        let begun = thread::Builder::new().name("haloscope".into()).stack_size(STACK).spawn(answer);
        begun.map_err(|error| Trouble::input(format!("no thread could be started: {error}")))?;
        loop {
            match told.recv_timeout(LOOK) {
                Ok(Ok(Ok(done))) => return done.map_err(PyErr::from),
                Ok(Ok(Err(_))) => return Err(Trouble::bug("work stopped that nobody stopped").into()),
                Ok(Err(panic)) => return Err(bug(&*panic).into()),
                Err(RecvTimeoutError::Disconnected) => return Err(Trouble::bug("a thread ended").into()),
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(raised) = Python::attach(|py| py.check_signals()) {
                        token.stop();
                        let _ = told.recv_timeout(LEAVE);
                        return Err(raised);
                    }
                }
            }
        }
    })
}

/// What a panic says.
fn bug(panic: &(dyn Any + Send)) -> Trouble {
    if let Some(error) = stop::refusal(panic) {
        return Trouble::input(error.to_string());
    }
    let own =
        panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let said = std::mem::take(&mut *lock(&SAID));
    // Of several panics at a time the last one was noted.
    let is_same = own.is_none_or(|own| said.starts_with(own));
    Trouble::bug(if is_same && !said.is_empty() { &said } else { own.unwrap_or("no message") })
}

/// The process in which the threads of all were started, and the threads of forked ones.
struct Forked {
    process: u32,
    idle: Vec<ThreadPool>,
}

/// Does work whose parts run side by side. A process that was forked after its parent had done some has none of the threads
/// that it would wait for: there each question takes threads of its own, which are kept for the next.
fn on_own_threads<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    static FIRST: OnceLock<u32> = OnceLock::new();
    static FORKED: Mutex<Option<Forked>> = Mutex::new(None);
    let process = std::process::id();
    if *FIRST.get_or_init(|| process) == process {
        return work();
    }
    let held = {
        let mut forked = lock(&FORKED);
        if forked.as_ref().is_none_or(|forked| forked.process != process) {
            // What a parent of this process kept would wait for threads that are not here: it is left as it is.
            std::mem::forget(forked.replace(Forked { process, idle: Vec::new() }));
        }
        forked.as_mut().and_then(|forked| forked.idle.pop())
    };
    let pool = held.or_else(|| ThreadPoolBuilder::new().stack_size(STACK).build().ok());
    let Some(pool) = pool else { return work() };
    // One question a pool: a thread that waits for a part of one never begins another, which might wait for the first.
    let done = pool.install(work);
    if let Some(forked) = lock(&FORKED).as_mut().filter(|forked| forked.process == process) {
        forked.idle.push(pool);
    }
    done
}
