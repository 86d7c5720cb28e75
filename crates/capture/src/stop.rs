//! A flag that ends a capture early.

use std::sync::Arc;

use tokio::sync::watch;

/// Ends captures that were given it, or a clone of it. Once stopped, it stays so.
#[derive(Debug, Clone)]
pub struct Stop(Arc<watch::Sender<bool>>);

impl Default for Stop {
    fn default() -> Self {
        Self::new()
    }
}

impl Stop {
    /// A flag that is not set.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    /// Ends what is under way: servers are told to end, nothing is written.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }

    /// Whether [`Stop::stop`] was called.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns when it is set.
    pub(crate) async fn stopped(&self) {
        // The sender is held here, so that waiting ends only with the flag.
        let _ = self.0.subscribe().wait_for(|is_set| *is_set).await;
    }
}
