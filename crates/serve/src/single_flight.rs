//! Questions that are being answered. Who asks the same meanwhile waits for that answer: a page that many open at once, or
//! that is loaded again and again, computes once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haloscope_report::stop::Token;
use haloscope_report::turns::Turns;
use tokio::sync::OnceCell;

use crate::answer::{Failure, Json};
use crate::asker;
use crate::waiters::{GRACE, Queued, Waiters, Waiting};

/// An answer for all who ask.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) answer: OnceCell<Result<Json, Failure>>,
    pub(crate) waiters: Arc<Waiters>,
    pub(crate) queued: Queued,
}

/// The questions that are being answered. Nothing is kept of those that were.
#[derive(Debug, Default)]
pub(crate) struct SingleFlight(Mutex<Vec<(String, Arc<Shared>)>>);

impl SingleFlight {
    /// The place of the answer to `question`, of which one is computed for as long as one who asked waits for it, and a moment
    /// longer.
    pub(crate) fn cell(&self, question: String, turns: &Arc<Turns>) -> (Arc<Shared>, Option<Waiting>) {
        let mut held = self.lock();
        // One that all have left, or that takes too long, has no answer for who comes now.
        let known = held.iter().filter(|(asked, _)| *asked == question);
        let joined = known.map(|(_, cell)| (Arc::clone(cell), cell.waiters.join()));
        if let Some(joined) = joined.into_iter().find(|(_, waiting)| waiting.is_some()) {
            joined.0.queued.also(asker::current());
            return joined;
        }
        let waiters = Waiters::with_grace(Token::new(None), GRACE);
        let waiting = waiters.join();
        let queued = Queued::new(turns, asker::current());
        let cell = Arc::new(Shared { answer: OnceCell::new(), waiters, queued });
        held.push((question, Arc::clone(&cell)));
        (cell, waiting)
    }

    /// Forgets a question that was answered.
    pub(crate) fn forget(&self, answered: &Arc<Shared>) {
        self.lock().retain(|(_, held)| !Arc::ptr_eq(held, answered));
    }

    /// What is guarded here is whole after every statement, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, Vec<(String, Arc<Shared>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use axum::response::IntoResponse;
    use haloscope_store::Store;

    use super::*;
    use crate::app::App;
    use crate::compute::computed_once;

    #[test]
    fn what_a_hundred_ask_at_once_is_computed_once_and_then_forgotten() {
        let app = Arc::new(App::new(crate::Config::new(Store::in_memory())).unwrap());
        let times = Arc::new(AtomicUsize::new(0));
        let ask = |question: &str, fails: bool| {
            let times = Arc::clone(&times);
            let work = move |_: &App| {
                times.fetch_add(1, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(300));
                if fails { Err(Failure::usage("no", "")) } else { Ok(Json::text("yes".into())) }
            };
            computed_once(Arc::clone(&app), question.to_owned(), work)
        };
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            for (round, fails) in [(1, false), (2, true)] {
                let first = tokio::spawn(ask("a", fails));
                tokio::time::sleep(Duration::from_millis(50)).await;
                // Who asked first leaves before the others come, as who loads a page again.
                first.abort();
                assert!(first.await.unwrap_err().is_cancelled());
                let all: Vec<_> = (0..100).map(|_| tokio::spawn(ask("a", fails))).collect();
                for one in all {
                    assert_eq!(one.await.unwrap().into_response().status(), if fails { 400 } else { 200 });
                }
                assert_eq!(times.load(Ordering::SeqCst), round);
            }
            assert!(app.single_flight.lock().is_empty());
            let two = tokio::join!(ask("a", false), ask("b", false));
            assert!(two.0.is_ok() && two.1.is_ok());
            assert_eq!(times.load(Ordering::SeqCst), 4);
        });
    }
}
