//! The threads that compute: as many as there are cores, always the same ones.
//!
//! A thread's allocator keeps what it has given back for that thread's next question. Were every question computed on another
//! thread, as many heaps would grow to the size of the largest question.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tokio::sync::oneshot;

type Job = Box<dyn FnOnce() + Send>;

/// Threads that compute what they are given, one thing after the other.
#[derive(Debug, Clone)]
pub(crate) struct Workers(Sender<Job>);

impl Workers {
    /// As many threads; they end when the last clone is dropped and they have done what they were given.
    pub(crate) fn new(threads: usize) -> std::io::Result<Self> {
        let (send, receive) = channel::<Job>();
        let receive = Arc::new(Mutex::new(receive));
        for _ in 0..threads.max(1) {
            let receive = Arc::clone(&receive);
            let next = move || receive.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let work = move || {
                while let Ok(job) = next() {
                    job();
                }
            };
            thread::Builder::new().name("haloscope-answer".to_owned()).spawn(work)?;
        }
        Ok(Self(send))
    }

    /// Computes something on one of the threads. A panic in it is handed over.
    ///
    /// # Errors
    /// The panic; none where the threads have ended.
    pub(crate) async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Option<Box<dyn std::any::Any + Send>>> {
        let (tell, told) = oneshot::channel();
        let job = move || {
            // Who asked may have left.
            let _ = tell.send(catch_unwind(AssertUnwindSafe(work)));
        };
        self.0.send(Box::new(job)).map_err(|_| None)?;
        told.await.map_err(|_| None)?.map_err(Some)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn what_is_computed_is_computed_on_the_same_threads_also_after_a_panic() {
        let workers = Workers::new(2).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut threads = BTreeSet::new();
        for i in 0..50 {
            let id = runtime.block_on(workers.compute(move || {
                assert!(i % 5 != 0, "five");
                format!("{:?}", thread::current().id())
            }));
            match id {
                Ok(id) => drop(threads.insert(id)),
                Err(panic) => assert!(i % 5 == 0 && panic.is_some()),
            }
        }
        assert!((1..=2).contains(&threads.len()), "{threads:?}");
    }
}
