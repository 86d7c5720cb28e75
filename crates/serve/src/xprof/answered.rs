//! Answers to questions, computed once however many ask, and kept.

use std::sync::Arc;

use haloscope_compat::Answer;

use super::answers::{KEPT, KEPT_BYTES, Key};
use super::reply::Refusal;
use crate::answer::Caught;
use crate::app::App;
use crate::compute::compute;

/// The answer to `key`: kept, awaited, or computed by `work`, once however many ask.
pub(super) async fn answered(
    app: Arc<App>,
    key: Key,
    work: impl FnOnce(&App) -> Result<Answer, Refusal> + Send + 'static,
) -> Result<Arc<Answer>, Refusal> {
    let cell = app.answers.cell(&key);
    let (shared, task_app) = (Arc::clone(&cell), Arc::clone(&app));
    // A task of its own, so that a client that leaves does not take the answer from those who wait.
    let task = tokio::spawn(async move {
        let computed = || async move { compute(task_app, move |app| work(app).map(Arc::new)).await };
        shared.get_or_init(computed).await.clone()
    });
    let result = task.await.unwrap_or_else(|error| Err(Caught(error.to_string()).into()));
    if result.is_err() {
        // The next one to ask tries again; perhaps the profiler was still writing.
        app.answers.forget(&cell);
    } else {
        app.answers.trim(KEPT, KEPT_BYTES);
    }
    result
}
