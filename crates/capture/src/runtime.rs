//! The threads that calls run on: this crate's own, so that doors of any kind can wait for them.

use haloscope_remote::PerProcess;
use tokio::runtime::{Builder, Runtime};

use crate::Error;

/// Waiting needs no more; what is written is written on threads that may block.
const WORKERS: usize = 2;

/// The runtime of the process.
///
/// # Errors
/// [`Error::Local`] where the system gives no threads.
pub(crate) fn get() -> Result<&'static Runtime, Error> {
    static RUNTIME: PerProcess<Runtime> = PerProcess::new();
    RUNTIME.get(|| {
        let mut builder = Builder::new_multi_thread();
        let made = builder.worker_threads(WORKERS).thread_name("capture").enable_all().build();
        made.map_err(|source| Error::Local { what: "start threads".into(), source })
    })
}
