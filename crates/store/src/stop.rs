//! How threads in the background are ended.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use crate::lock;

/// Tells threads to end, and wakes those that wait.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop(Arc<(Mutex<bool>, Condvar)>);

impl Stop {
    pub(crate) fn stop(&self) {
        *lock(&self.0.0) = true;
        self.0.1.notify_all();
    }

    /// Waits as long, or until it is time to end; says whether it is.
    pub(crate) fn wait(&self, pause: Duration) -> bool {
        let guard = lock(&self.0.0);
        let waited = self.0.1.wait_timeout_while(guard, pause, |is_over| !*is_over);
        waited.is_ok_and(|(is_over, _)| *is_over)
    }
}
