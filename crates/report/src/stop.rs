//! Work that nobody waits for any more ends.
//!
//! Who computes for others runs the work under a [`Token`]. The loops that take long look at it between two pieces
//! ([`check`]: lines, devices, tens of thousands of events), and where it was stopped they unwind to [`run`]. No answer is made of
//! what was done until then. Without a token, as on the command line, nothing is ever stopped.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crate::Error;

/// Why work was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// Nobody waits for it.
    Left,
    /// It took longer than it may.
    Late,
}

/// What stops a piece of work, whoever holds it.
#[derive(Debug, Clone)]
pub struct Token(Arc<State>);

#[derive(Debug)]
struct State {
    left: AtomicBool,
    until: OnceLock<Instant>,
}

thread_local! {
    static HERE: RefCell<Option<Token>> = const { RefCell::new(None) };
}

impl Token {
    /// Work that may go on until then; `None` for as long as it takes.
    #[must_use]
    pub fn new(until: Option<Instant>) -> Self {
        let until = until.map_or_else(OnceLock::new, OnceLock::from);
        Self(Arc::new(State { left: AtomicBool::new(false), until }))
    }

    /// Lets the work go on until then and no longer, from when it begins: what it waited before does not count. What was said first
    /// holds.
    pub fn until(&self, then: Instant) {
        let _ = self.0.until.set(then);
    }

    /// Stops the work: nobody waits for it.
    pub fn stop(&self) {
        self.0.left.store(true, Ordering::Relaxed);
    }

    /// Why the work is to stop, if it is.
    #[must_use]
    pub fn stopped(&self) -> Option<Stopped> {
        if self.0.left.load(Ordering::Relaxed) {
            return Some(Stopped::Left);
        }
        self.0.until.get().is_some_and(|until| Instant::now() >= *until).then_some(Stopped::Late)
    }
}

/// Does work on this thread that the token stops.
///
/// # Errors
/// Why it was stopped.
///
/// # Panics
/// Where the work does.
pub fn run<T>(token: &Token, work: impl FnOnce() -> T) -> Result<T, Stopped> {
    if let Some(why) = token.stopped() {
        return Err(why);
    }
    let _here = enter(Some(token.clone()));
    // What is unwound through guards what it shares: a lock is whole after every statement, and what is made once is made anew.
    catch_unwind(AssertUnwindSafe(work)).map_err(|thrown| match thrown.downcast::<Stopped>() {
        Ok(why) => *why,
        Err(panic) => resume_unwind(panic),
    })
}

/// Ends the work here if it was stopped. To be asked between two pieces of what takes long: some tens of nanoseconds.
#[inline]
pub fn check() {
    if let Some(why) = HERE.with_borrow(|here| here.as_ref().and_then(Token::stopped)) {
        // Not a panic: no hook is told, and `run` takes it up.
        resume_unwind(Box::new(why));
    }
}

/// An error that unwinds to [`or_refused`].
struct Refused(Error);

/// Ends the work here with an error, from where no error can be given back: [`or_refused`] takes it up. What is made of the work on
/// the way is not kept.
pub fn refuse(error: Error) -> ! {
    // Not a panic: no hook is told.
    resume_unwind(Box::new(Refused(error)))
}

/// Why work was [refused](refuse), of what a thread was unwound with; `None` for a panic.
#[must_use]
pub fn refusal(thrown: &(dyn Any + Send)) -> Option<&Error> {
    thrown.downcast_ref::<Refused>().map(|refused| &refused.0)
}

/// Does work that may be [refused](refuse).
///
/// # Errors
/// Those of the work, and why it was refused.
///
/// # Panics
/// Where the work does.
pub fn or_refused<T, E: From<Error>>(work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => done,
        Err(thrown) => match thrown.downcast::<Refused>() {
            Ok(refused) => Err(refused.0.into()),
            Err(panic) => resume_unwind(panic),
        },
    }
}

/// The same work for other threads, where the token of this one stops it too, before each piece and within.
pub fn carried<A, T>(work: impl Fn(A) -> T + Send + Sync) -> impl Fn(A) -> T + Send + Sync {
    let token = HERE.with_borrow(Clone::clone);
    move |piece| {
        let _here = enter(token.clone());
        check();
        work(piece)
    }
}

/// The token of this thread from here on, until this is dropped.
fn enter(token: Option<Token>) -> impl Drop {
    struct Before(Option<Token>);
    impl Drop for Before {
        fn drop(&mut self) {
            let before = self.0.take();
            HERE.with_borrow_mut(|here| *here = before);
        }
    }
    Before(HERE.with_borrow_mut(|here| std::mem::replace(here, token)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn work_ends_where_it_looks_after_it_was_stopped() {
        let token = Token::new(None);
        let mut pieces = 0;
        let ended = run(&token, || {
            for _ in 0..10 {
                pieces += 1;
                if pieces == 3 {
                    token.stop();
                }
                check();
            }
        });
        assert_eq!((ended, pieces), (Err(Stopped::Left), 3));
        // What was stopped before does not begin, and what nobody stops is done.
        assert_eq!(run(&token, || unreachable!()), Err::<(), _>(Stopped::Left));
        check();
        assert_eq!(run(&Token::new(None), || 7), Ok(7));
    }

    #[test]
    fn work_that_takes_too_long_ends() {
        let token = Token::new(Some(Instant::now() + Duration::from_millis(20)));
        let ended = run(&token, || {
            loop {
                std::thread::sleep(Duration::from_millis(5));
                check();
            }
        });
        assert_eq!(ended, Err::<(), _>(Stopped::Late));
        assert_eq!(run(&token, || ()), Err(Stopped::Late));
        // What may take so long from its begin on is not late before, and once it is said it holds.
        let token = Token::new(None);
        assert_eq!(run(&token, || ()), Ok(()));
        token.until(Instant::now());
        token.until(Instant::now() + Duration::from_secs(60));
        assert_eq!(token.stopped(), Some(Stopped::Late));
    }

    #[test]
    fn other_threads_stop_with_the_one_that_asked_and_with_no_other() {
        let (token, other) = (Token::new(None), Token::new(None));
        let ended = run(&token, || {
            let piece = carried(|at: i32| {
                check();
                if at == 1 {
                    token.stop();
                }
                check();
                at
            });
            let threads = std::thread::scope(|scope| scope.spawn(|| (piece(0), piece(1))).join());
            threads.unwrap_or_else(|thrown| resume_unwind(thrown))
        });
        assert_eq!(ended, Err(Stopped::Left));
        assert_eq!(run(&other, || carried(|at: i32| at)(5)), Ok(5));
    }

    #[test]
    fn work_that_is_refused_is_an_error_where_it_was_asked_for() {
        let refused = or_refused(|| -> Result<(), Error> {
            let _ = run(&Token::new(None), || refuse(Error::Usage("not this".into())));
            Ok(())
        });
        assert_eq!(refused.unwrap_err().to_string(), "not this");
        assert!(matches!(or_refused(|| Ok::<_, Error>(7)), Ok(7)));
        let thrown = catch_unwind(|| or_refused(|| -> Result<(), Error> { panic!("out of range") }));
        assert_eq!(thrown.unwrap_err().downcast_ref::<&str>(), Some(&"out of range"));
    }

    #[test]
    fn a_panic_stays_one() {
        let thrown = catch_unwind(|| run(&Token::new(None), || panic!("out of range")));
        assert_eq!(thrown.unwrap_err().downcast_ref::<&str>(), Some(&"out of range"));
        check();
    }
}
