//! Where answers are computed: on which threads, and how many at once.

use std::sync::Arc;
use std::time::Instant;

use haloscope_report::stop::{self, Stopped, Token};

use crate::answer::{Caught, Failure, Json, panic_text};
use crate::app::App;
use crate::waiters::Waiters;

/// Computes an answer on one of the threads for it, as soon as a core is free. A panic in it is an answer too. Where who waits
/// for this leaves, as when a client hangs up, it ends where it next looks; and where it takes longer than an answer may.
pub(crate) async fn compute<T, E>(
    app: Arc<App>,
    work: impl FnOnce(&App) -> Result<T, E> + Send + 'static,
) -> Result<T, E>
where
    T: Send + 'static,
    E: From<Caught> + Send + 'static,
{
    let waiters = Waiters::new(Token::new(None));
    let _waiting = waiters.join();
    compute_for(app, waiters.token().clone(), work).await
}

/// The same, for whoever holds the token. What an answer may take counts from where it is computed, and not from where it waits for
/// a core.
pub(crate) async fn compute_for<T, E>(
    app: Arc<App>,
    token: Token,
    work: impl FnOnce(&App) -> Result<T, E> + Send + 'static,
) -> Result<T, E>
where
    T: Send + 'static,
    E: From<Caught> + Send + 'static,
{
    let permit = Arc::clone(&app.workers).acquire_owned().await.map_err(|e| Caught::Bug(e.to_string()))?;
    let asking = app.store.begin_request();
    let threads = app.threads.clone();
    let deadline = app.deadline;
    let computed = threads.compute(move || {
        // These go with the work: who asked may have left, the core is busy all the same.
        let _held = (permit, asking);
        if let Some(then) = deadline.and_then(|most| Instant::now().checked_add(most)) {
            token.until(then);
        }
        stop::run(&token, || work(&app))
    });
    match computed.await {
        Ok(Ok(answer)) => answer,
        Ok(Err(Stopped::Late)) => Err(Caught::Late(deadline.unwrap_or_default()).into()),
        Ok(Err(Stopped::Left)) => Err(Caught::Left.into()),
        Err(Some(panic)) => Err(Caught::Bug(panic_text(&*panic).to_owned()).into()),
        Err(None) => Err(Caught::Bug("the server is ending".to_owned()).into()),
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
            Ok(panic) => Caught::Bug(panic_text(&*panic).to_owned()).into(),
            Err(error) => Caught::Bug(error.to_string()).into(),
        }),
    }
}

/// The answer to `question`, computed by `work`, once however many ask at the same time.
pub(crate) async fn computed_once(
    app: Arc<App>,
    question: String,
    work: impl FnOnce(&App) -> Result<Json, Failure> + Send + 'static,
) -> Result<Json, Failure> {
    let (cell, waiting) = app.single_flight.cell(question);
    let (shared, task_app) = (Arc::clone(&cell), Arc::clone(&app));
    // A task of its own, so that a client that leaves does not take the answer from those who wait. It ends when all have left.
    let task = tokio::spawn(async move {
        let computed = || compute_for(Arc::clone(&task_app), shared.waiters.token().clone(), work);
        let answer = shared.answer.get_or_init(computed).await.clone();
        task_app.single_flight.forget(&shared);
        answer
    });
    let answer = task.await.unwrap_or_else(|error| Err(Caught::Bug(error.to_string()).into()));
    drop(waiting);
    answer
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use axum::http::StatusCode;
    use haloscope_store::Store;

    use super::*;

    fn app() -> Arc<App> {
        Arc::new(App::new(crate::Config::new(Store::in_memory())).unwrap())
    }

    /// Work that ends when it is stopped, and tells how often it was.
    fn endless(ended: &Arc<AtomicUsize>) -> impl FnOnce(&App) -> Result<Json, Failure> + Send + 'static {
        struct Ended(Arc<AtomicUsize>);
        impl Drop for Ended {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::SeqCst);
            }
        }
        let ended = Ended(Arc::clone(ended));
        move |_| {
            let _ended = ended;
            loop {
                std::thread::sleep(Duration::from_millis(1));
                stop::check();
            }
        }
    }

    async fn becomes(count: &AtomicUsize, wanted: usize) {
        for _ in 0..1000 {
            if count.load(Ordering::SeqCst) == wanted {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("{} and not {wanted}", count.load(Ordering::SeqCst));
    }

    #[test]
    fn work_ends_when_nobody_waits_for_it_and_not_before() {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let (app, ended) = (app(), Arc::new(AtomicUsize::new(0)));
        runtime.block_on(async {
            // As many as there are threads, and some that wait for one.
            let many = app.workers.available_permits() + 3;
            let alone: Vec<_> =
                (0..many).map(|_| tokio::spawn(compute(Arc::clone(&app), endless(&ended)))).collect();
            tokio::time::sleep(Duration::from_millis(50)).await;
            assert_eq!(ended.load(Ordering::SeqCst), 0);
            alone.iter().for_each(tokio::task::JoinHandle::abort);
            becomes(&ended, many).await;
            // One answer for two: it goes on for the second, and ends with it.
            let ask = || tokio::spawn(computed_once(Arc::clone(&app), "same".into(), endless(&ended)));
            let (first, second) = (ask(), ask());
            tokio::time::sleep(Duration::from_millis(50)).await;
            first.abort();
            tokio::time::sleep(Duration::from_millis(50)).await;
            // The work of the second was never begun, and is gone with it.
            assert!(ended.load(Ordering::SeqCst) <= many + 1);
            assert!(!second.is_finished());
            second.abort();
            becomes(&ended, many + 2).await;
            // Who asks the same behind them has it computed anew.
            let again = computed_once(Arc::clone(&app), "same".into(), |_| Ok(Json::text("1".into()))).await;
            assert!(again.is_ok());
            let free = compute(app, |_| Ok::<_, Failure>(7)).await;
            assert_eq!(free.unwrap(), 7);
        });
    }

    #[test]
    fn work_that_takes_too_long_is_refused() {
        let mut config = crate::Config::new(Store::in_memory());
        config.deadline = Some(Duration::from_millis(50));
        let app = Arc::new(App::new(config).unwrap());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let ended = Arc::new(AtomicUsize::new(0));
        let failure = runtime.block_on(compute(app, endless(&ended))).unwrap_err();
        assert_eq!(failure.status(), StatusCode::GATEWAY_TIMEOUT);
        assert!(failure.error().contains("longer than"), "{}", failure.error());
        assert_eq!(ended.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn what_waits_for_a_core_is_not_late() {
        let mut config = crate::Config::new(Store::in_memory());
        config.deadline = Some(Duration::from_millis(200));
        let app = Arc::new(App::new(config).unwrap());
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let cores = app.workers.available_permits() as u32;
            let busy = Arc::clone(&app.workers).acquire_many_owned(cores).await.unwrap();
            let asked = tokio::spawn(compute(Arc::clone(&app), |_| Ok::<_, Failure>(7)));
            let shared =
                tokio::spawn(computed_once(Arc::clone(&app), "same".into(), |_| Ok(Json::text("1".into()))));
            tokio::time::sleep(Duration::from_millis(600)).await;
            assert!(!asked.is_finished());
            drop(busy);
            assert_eq!(asked.await.unwrap().unwrap(), 7);
            assert!(shared.await.unwrap().is_ok());
        });
    }

    #[test]
    fn an_endless_deadline_is_none() {
        let mut config = crate::Config::new(Store::in_memory());
        config.deadline = Some(Duration::from_secs(u64::MAX));
        let app = Arc::new(App::new(config).unwrap());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert_eq!(runtime.block_on(compute(app, |_| Ok::<_, Failure>(7))).unwrap(), 7);
    }

    #[test]
    fn a_panic_is_answered_and_the_next_question_too() {
        let app = app();
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
