//! What answers SQL.

use std::sync::Arc;

use haloscope_sql::{Program, Refusal, SqlAbout};
use tokio::sync::Semaphore;

/// What answers SQL, and how many queries it does at once.
#[derive(Debug, Clone)]
pub struct Sql {
    pub(crate) program: Program,
    pub(super) about: Arc<SqlAbout>,
    pub(super) at_once: Arc<Semaphore>,
}

impl Sql {
    /// Answers by this program: half as many queries at once as there are cores, since each takes all that are free.
    ///
    /// # Errors
    /// If it cannot be started, or is one of another version.
    pub fn new(program: Program) -> Result<Self, Refusal> {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let about = Arc::new(program.about()?);
        Ok(Self { program, about, at_once: Arc::new(Semaphore::new((cores / 2).max(1))) })
    }
}
