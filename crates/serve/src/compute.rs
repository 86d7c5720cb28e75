//! Where answers are computed: on which threads, and how many at once.

use std::sync::Arc;

use crate::answer::{Caught, Failure, Json, panic_text};
use crate::app::App;

/// Computes an answer on one of the threads for it, as soon as a core is free. A panic in it is an answer too.
pub(crate) async fn compute<T, E>(
    app: Arc<App>,
    work: impl FnOnce(&App) -> Result<T, E> + Send + 'static,
) -> Result<T, E>
where
    T: Send + 'static,
    E: From<Caught> + Send + 'static,
{
    let permit = Arc::clone(&app.workers).acquire_owned().await.map_err(|e| Caught(e.to_string()))?;
    let asking = app.store.begin_request();
    let threads = app.threads.clone();
    let computed = threads.compute(move || {
        // These go with the work: who asked may have left, the core is busy all the same.
        let _held = (permit, asking);
        work(&app)
    });
    match computed.await {
        Ok(answer) => answer,
        Err(Some(panic)) => Err(Caught(panic_text(&*panic).to_owned()).into()),
        Err(None) => Err(Caught("the server is ending".to_owned()).into()),
    }
}

/// Does something short on a thread that may block, such as a look at a folder, however many cores are busy.
pub(crate) async fn blocking<T, E>(
    app: Arc<App>,
    work: impl FnOnce(&App) -> Result<T, E> + Send + 'static,
) -> Result<T, E>
where
    T: Send + 'static,
    E: From<Caught> + Send + 'static,
{
    match tokio::task::spawn_blocking(move || work(&app)).await {
        Ok(answer) => answer,
        Err(error) => Err(match error.try_into_panic() {
            Ok(panic) => Caught(panic_text(&*panic).to_owned()).into(),
            Err(error) => Caught(error.to_string()).into(),
        }),
    }
}

/// The answer to `question`, computed by `work`, once however many ask at the same time.
pub(crate) async fn computed_once(
    app: Arc<App>,
    question: String,
    work: impl FnOnce(&App) -> Result<Json, Failure> + Send + 'static,
) -> Result<Json, Failure> {
    let cell = app.single_flight.cell(question);
    let (shared, task_app) = (Arc::clone(&cell), Arc::clone(&app));
    // A task of its own, so that a client that leaves does not take the answer from those who wait.
    let task = tokio::spawn(async move {
        let answer = shared.get_or_init(|| compute(Arc::clone(&task_app), work)).await.clone();
        task_app.single_flight.forget(&shared);
        answer
    });
    task.await.unwrap_or_else(|error| Err(Caught(error.to_string()).into()))
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;
    use haloscope_store::Store;

    use super::*;

    #[test]
    fn a_panic_is_answered_and_the_next_question_too() {
        let app = Arc::new(App::new(crate::Config::new(Store::in_memory())).unwrap());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for _ in 0..100 {
            let answer = runtime.block_on(compute(Arc::clone(&app), |_| -> Result<Json, Failure> {
                panic!("index out of range")
            }));
            let failure = answer.unwrap_err();
            assert_eq!(failure.status(), StatusCode::INTERNAL_SERVER_ERROR);
            assert!(failure.error().contains("index out of range"));
        }
        let answer = runtime.block_on(compute(app, |_| Ok::<_, Failure>(7)));
        assert_eq!(answer.unwrap(), 7);
    }
}
