//! Who waits for an answer that is computed once for all who ask.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haloscope_report::stop::Token;
use haloscope_report::turns::{Client, Place, Size, Turns, Wait};
use tokio::runtime::Handle;

/// How long an answer that all who asked for it have left is still computed.
pub(crate) const GRACE: Duration = Duration::from_secs(1);

/// The clients that wait for one answer, and what stops its computation when the last of them has left.
#[derive(Debug)]
pub(crate) struct Waiters {
    here: Mutex<Here>,
    token: Token,
    /// For so long after the last one left somebody may still join: who loads a page again leaves, and then asks the same.
    grace: Duration,
}

#[derive(Debug, Default)]
struct Here {
    count: usize,
    /// How often the last one left.
    empties: u64,
}

impl Waiters {
    /// Nobody yet; what they wait for is stopped by this token as soon as the last one leaves.
    pub(crate) fn new(token: Token) -> Arc<Self> {
        Self::with_grace(token, Duration::ZERO)
    }

    /// The same, for an answer that others may ask for: it is stopped when nobody has come for so long after the last one left.
    pub(crate) fn with_grace(token: Token, grace: Duration) -> Arc<Self> {
        Arc::new(Self { here: Mutex::default(), token, grace })
    }

    /// One more, for as long as what is returned is kept. `None` where the work was stopped, or takes too long: there will be no
    /// answer.
    pub(crate) fn join(self: &Arc<Self>) -> Option<Waiting> {
        let mut here = self.lock();
        if self.token.stopped().is_some() {
            return None;
        }
        here.count += 1;
        Some(Waiting(Arc::clone(self)))
    }

    /// What stops the computation.
    pub(crate) fn token(&self) -> &Token {
        &self.token
    }

    /// What is guarded here is whole after every statement, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, Here> {
        self.here.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A client that waits.
#[derive(Debug)]
pub(crate) struct Waiting(Arc<Waiters>);

impl Drop for Waiting {
    fn drop(&mut self) {
        let empties = {
            let mut here = self.0.lock();
            here.count -= 1;
            if here.count > 0 {
                return;
            }
            here.empties += 1;
            here.empties
        };
        let empty = Empty { waiters: Arc::clone(&self.0), empties };
        let grace = self.0.grace;
        if let Some(runtime) = Handle::try_current().ok().filter(|_| !grace.is_zero()) {
            runtime.spawn(async move {
                let _empty = empty;
                tokio::time::sleep(grace).await;
            });
        }
    }
}

/// The place of a computation among those that wait for a worker: it is done in the turn of whichever client that waits for it has
/// one first.
#[derive(Debug)]
pub(crate) struct Queued {
    place: Place,
    wait: Mutex<Option<Wait>>,
}

impl Queued {
    /// Queues a computation that may take any time, for a client.
    pub(crate) fn new(turns: &Arc<Turns>, client: Client) -> Self {
        let wait = turns.wait(client, Size::Heavy);
        Self { place: wait.place(), wait: Mutex::new(Some(wait)) }
    }

    /// Another client waits for it too.
    pub(crate) fn also(&self, client: Client) {
        self.place.also(client);
    }

    /// What whoever computes it waits for; `None` where that was taken.
    pub(crate) fn take(&self) -> Option<Wait> {
        self.wait.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Nobody waits. Unless somebody has come meanwhile the work is stopped when this is dropped: after the grace, or with the server.
struct Empty {
    waiters: Arc<Waiters>,
    empties: u64,
}

impl Drop for Empty {
    fn drop(&mut self) {
        // Under the lock, so that nobody joins in between.
        let here = self.waiters.lock();
        if here.count == 0 && here.empties == self.empties {
            self.waiters.token.stop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_to_leave_stops_the_work() {
        let waiters = Waiters::new(Token::new(None));
        let (one, two) = (waiters.join(), waiters.join());
        drop(one);
        let three = waiters.join();
        assert!(three.is_some() && waiters.token().stopped().is_none());
        drop(two);
        assert!(waiters.token().stopped().is_none());
        drop(three);
        assert!(waiters.token().stopped().is_some() && waiters.join().is_none());
    }

    #[test]
    fn within_the_grace_who_comes_back_keeps_the_work() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let wait = |millis| tokio::time::sleep(Duration::from_millis(millis));
        let waiters = Waiters::with_grace(Token::new(None), Duration::from_millis(500));
        runtime.block_on(async {
            drop(waiters.join());
            wait(10).await;
            let back = waiters.join();
            wait(1000).await;
            assert!(back.is_some() && waiters.token().stopped().is_none());
            drop(back);
            while waiters.token().stopped().is_none() {
                wait(10).await;
            }
            assert!(waiters.join().is_none());
        });
        // The work does not outlive a server that ends meanwhile.
        let waiters = Waiters::with_grace(Token::new(None), Duration::from_secs(60));
        runtime.block_on(async { drop(waiters.join()) });
        assert!(waiters.token().stopped().is_none());
        drop(runtime);
        assert!(waiters.token().stopped().is_some());
    }
}
