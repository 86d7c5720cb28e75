//! The answers that were given last. Who asks what is being computed for somebody else waits for that.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use haloscope_compat::Answer;
use haloscope_report::stop::Token;
use haloscope_report::turns::Turns;
use tokio::sync::OnceCell;

use super::reply::Refusal;
use crate::asker;
use crate::waiters::{GRACE, Queued, Waiters, Waiting};

/// How many answers are kept.
pub(super) const KEPT: usize = 64;
/// How many bytes they may take together.
pub(super) const KEPT_BYTES: usize = 256 << 20;

/// What tells a question from others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    /// The run's id and path.
    pub(super) run: (String, String),
    /// Length in bytes and last change of its files.
    pub(super) state: (u64, SystemTime),
    pub(super) tool: &'static str,
    pub(super) params: Vec<(String, String)>,
}

/// An answer for all who ask.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) answer: OnceCell<Result<Arc<Answer>, Refusal>>,
    pub(super) waiters: Arc<Waiters>,
    pub(super) queued: Queued,
}

/// The answers by question, the one asked for last at the end.
#[derive(Debug, Default)]
pub(crate) struct Answers(Mutex<VecDeque<(Key, Arc<Shared>)>>);

impl Answers {
    /// The place of the answer to `key`. What is there not yet is computed for as long as one who asked waits, and a moment longer.
    pub(super) fn cell(&self, key: &Key, turns: &Arc<Turns>) -> (Arc<Shared>, Option<Waiting>) {
        let mut held = self.lock();
        let at = held.iter().position(|(k, _)| k == key);
        let known = at.and_then(|at| held.remove(at)).map(|slot| {
            let waiting = slot.1.waiters.join();
            (slot, waiting)
        });
        // One that all left before it was there, or that took too long, is computed anew: what it left is a refusal.
        let has_answer = |shared: &Shared| shared.answer.get().is_some_and(Result::is_ok);
        let known = known.filter(|(slot, waiting)| waiting.is_some() || has_answer(&slot.1));
        let (slot, waiting) = known.unwrap_or_else(|| {
            let shared = Shared {
                answer: OnceCell::new(),
                waiters: Waiters::with_grace(Token::new(None), GRACE),
                queued: Queued::new(turns, asker::current()),
            };
            let waiting = shared.waiters.join();
            ((key.clone(), Arc::new(shared)), waiting)
        });
        slot.1.queued.also(asker::current());
        let cell = Arc::clone(&slot.1);
        held.push_back(slot);
        (cell, waiting)
    }

    /// Forgets the answers asked for longest ago. One that is being computed counts, but is not forgotten.
    pub(super) fn trim(&self, kept: usize, kept_bytes: usize) {
        let size = |cell: &Arc<Shared>| match cell.answer.get() {
            Some(Ok(answer)) => answer.body.len(),
            _ => 0,
        };
        let mut held = self.lock();
        let mut bytes: usize = held.iter().map(|(_, cell)| size(cell)).sum();
        while held.len() > kept || bytes > kept_bytes {
            let Some(oldest) = held.iter().position(|(_, cell)| cell.answer.initialized()) else { return };
            let Some((_, cell)) = held.remove(oldest) else { return };
            bytes -= size(&cell);
        }
    }

    /// Forgets an answer.
    pub(super) fn forget(&self, of: &Arc<Shared>) {
        self.lock().retain(|(_, held)| !Arc::ptr_eq(held, of));
    }

    /// What is guarded here is whole after every statement, so a panic elsewhere does not spoil it.
    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<(Key, Arc<Shared>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use axum::http::StatusCode;
    use haloscope_store::Store;

    use super::super::answered::answered;
    use super::*;
    use crate::app::App;

    fn key(n: usize) -> Key {
        let params = vec![("n".to_owned(), n.to_string())];
        Key { run: Default::default(), state: (0, SystemTime::UNIX_EPOCH), tool: "t", params }
    }

    fn app() -> Arc<App> {
        Arc::new(App::new(crate::Config::new(Store::in_memory())).unwrap())
    }

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(work)
    }

    #[test]
    fn what_many_ask_at_once_is_computed_once_even_if_the_first_leaves() {
        let (app, times) = (app(), Arc::new(AtomicUsize::new(0)));
        let ask = || {
            let times = Arc::clone(&times);
            answered(Arc::clone(&app), key(1), move |_| {
                times.fetch_add(1, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(200));
                Ok(Answer::text("answer"))
            })
        };
        block_on(async {
            let first = tokio::spawn(ask());
            tokio::time::sleep(Duration::from_millis(50)).await;
            first.abort();
            assert!(first.await.unwrap_err().is_cancelled());
            let others: Vec<_> = (0..20).map(|_| tokio::spawn(ask())).collect();
            for other in others {
                assert_eq!(other.await.unwrap().unwrap().body, b"answer");
            }
            assert_eq!(ask().await.unwrap().body, b"answer");
        });
        assert_eq!(times.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_refusal_and_a_panic_are_not_kept() {
        let app = app();
        block_on(async {
            let refused = Refusal::new(StatusCode::NOT_FOUND, "not yet");
            let copy = refused.clone();
            let got = answered(Arc::clone(&app), key(1), move |_| Err(copy)).await;
            assert_eq!(got.unwrap_err(), refused);
            let got = answered(Arc::clone(&app), key(1), |_| panic!("boom")).await.unwrap_err();
            assert!(got.status == 500 && got.text.contains("boom"), "{got:?}");
            let got = answered(Arc::clone(&app), key(1), |_| Ok(Answer::text("there"))).await;
            assert_eq!(got.unwrap().body, b"there");
        });
    }

    #[test]
    fn a_refusal_that_is_not_forgotten_yet_is_given_to_nobody() {
        let answers = Answers::default();
        let turns = Turns::new(1);
        let (late, waiting) = answers.cell(&key(1), &turns);
        let refused = Refusal::new(StatusCode::GATEWAY_TIMEOUT, "late");
        late.answer.set(Err(refused)).unwrap();
        late.waiters.token().stop();
        drop(waiting);
        let (next, waiting) = answers.cell(&key(1), &turns);
        assert!(!Arc::ptr_eq(&late, &next) && waiting.is_some());
        // An answer is, also when nobody waits any more.
        next.answer.set(Ok(Arc::new(Answer::text("there")))).unwrap();
        next.waiters.token().stop();
        drop(waiting);
        assert!(Arc::ptr_eq(&next, &answers.cell(&key(1), &turns).0));
    }

    #[test]
    fn the_answers_used_longest_ago_go_first() {
        let app = app();
        block_on(async {
            for n in [1, 2, 3, 1] {
                answered(Arc::clone(&app), key(n), move |_| Ok(Answer::text("x".repeat(10)))).await.unwrap();
            }
        });
        let held = || app.answers.lock().iter().map(|(k, _)| k.params[0].1.clone()).collect::<Vec<_>>();
        assert_eq!(held(), ["2", "3", "1"]);
        app.answers.trim(2, 1000);
        assert_eq!(held(), ["3", "1"]);
        app.answers.trim(2, 19);
        assert_eq!(held(), ["1"]);
        // What is being computed stays, however much there is.
        let (_cell, _waiting) = app.answers.cell(&key(7), &app.turns);
        app.answers.trim(0, 0);
        assert_eq!(held(), ["7"]);
    }
}
