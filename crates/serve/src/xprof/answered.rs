//! Answers to questions, computed once however many ask, and kept.

use std::sync::Arc;

use haloscope_compat::Answer;

use super::answers::{KEPT, KEPT_BYTES, Key};
use super::reply::Refusal;
use crate::answer::Caught;
use crate::app::App;
use crate::compute::compute_for;

/// The answer to `key`: kept, awaited, or computed by `work`, once however many ask.
pub(super) async fn answered(
    app: Arc<App>,
    key: Key,
    work: impl FnOnce(&App) -> Result<Answer, Refusal> + Send + 'static,
) -> Result<Arc<Answer>, Refusal> {
    let (cell, waiting) = app.answers.cell(&key, &app.turns);
    let (shared, task_app, forget_app) = (cell, Arc::clone(&app), Arc::clone(&app));
    // A task of its own, so that a client that leaves does not take the answer from those who wait. It ends when all have left.
    let task = tokio::spawn(async move {
        let stop = shared.waiters.token().clone();
        let computed = async || {
            let turn =
                shared.queued.take().ok_or_else(|| Caught::Bug("it was computed before".to_owned()))?;
            compute_for(task_app, turn, stop, move |app| work(app).map(Arc::new)).await
        };
        let answer = shared.answer.get_or_init(computed).await.clone();
        if answer.is_err() {
            // The next one to ask tries again; perhaps the profiler was still writing.
            forget_app.answers.forget(&shared);
        }
        answer
    });
    let result = task.await.unwrap_or_else(|error| Err(Caught::Bug(error.to_string()).into()));
    drop(waiting);
    app.answers.trim(KEPT, KEPT_BYTES);
    result
}
