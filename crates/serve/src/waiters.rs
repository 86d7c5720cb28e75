//! Who waits for an answer that is computed once for all who ask.

use std::sync::{Arc, Mutex, PoisonError};

use haloscope_report::stop::Token;

/// The clients that wait for one answer, and what stops its computation when the last of them has left.
#[derive(Debug)]
pub(crate) struct Waiters {
    count: Mutex<usize>,
    token: Token,
}

impl Waiters {
    /// Nobody yet; what they wait for is stopped by this token.
    pub(crate) fn new(token: Token) -> Arc<Self> {
        Arc::new(Self { count: Mutex::new(0), token })
    }

    /// One more, for as long as what is returned is kept. `None` where all have left, or it takes too long: there will be no answer.
    pub(crate) fn join(self: &Arc<Self>) -> Option<Waiting> {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        if self.token.stopped().is_some() {
            return None;
        }
        *count += 1;
        Some(Waiting(Arc::clone(self)))
    }

    /// What stops the computation.
    pub(crate) fn token(&self) -> &Token {
        &self.token
    }
}

/// A client that waits.
#[derive(Debug)]
pub(crate) struct Waiting(Arc<Waiters>);

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut count = self.0.count.lock().unwrap_or_else(PoisonError::into_inner);
        *count -= 1;
        if *count == 0 {
            self.0.token.stop();
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
}
