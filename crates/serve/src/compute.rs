//! Where answers are computed: on which threads, how many at once, and whose are next.

use std::sync::Arc;
use std::time::Instant;

use haloscope_report::stop::{self, Stopped, Token};
use haloscope_report::turns::{Size, Wait};

use crate::answer::{Caught, Failure, Json, unwound};
use crate::app::App;
use crate::asker;
use crate::waiters::Waiters;

/// Computes an answer on one of the threads for it, as soon as it is the client's turn. A panic in it is an answer too. Where who waits
/// for this leaves, as when a client hangs up, it ends where it next looks; and where it takes longer than an answer may.
pub(crate) async fn compute<T, E>(
    app: Arc<App>,
    size: Size,
    work: impl FnOnce(&App) -> Result<T, E> + Send + 'static,
) -> Result<T, E>
where
    T: Send + 'static,
    E: From<Caught> + Send + 'static,
{
    let waiters = Waiters::new(Token::new(None));
    let _waiting = waiters.join();
    let turn = app.turns.wait(asker::current(), size);
    compute_for(app, turn, waiters.token().clone(), work).await
}

/// The same in this turn, for whoever holds the token. What an answer may take counts from where it is computed, and not from where
/// it waits for its turn.
pub(crate) async fn compute_for<T, E>(
    app: Arc<App>,
    turn: Wait,
    token: Token,
    work: impl FnOnce(&App) -> Result<T, E> + Send + 'static,
) -> Result<T, E>
where
    T: Send + 'static,
    E: From<Caught> + Send + 'static,
{
    let turn = turn.await;
    let asking = app.store.begin_request();
    let threads = if turn.is_kept() { app.quick_thread.clone() } else { app.threads.clone() };
    let deadline = app.deadline;
    let computed = threads.compute(move || {
        // These go with the work: who asked may have left, the core is busy all the same.
        let _held = (turn, asking);
        if let Some(then) = deadline.and_then(|most| Instant::now().checked_add(most)) {
            token.until(then);
        }
        stop::run(&token, || work(&app))
    });
    match computed.await {
        Ok(Ok(answer)) => answer,
        Ok(Err(Stopped::Late)) => Err(Caught::Late(deadline.unwrap_or_default()).into()),
        Ok(Err(Stopped::Left)) => Err(Caught::Left.into()),
        Err(Some(thrown)) => Err(unwound(&*thrown).into()),
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
            Ok(thrown) => unwound(&*thrown).into(),
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
    let (cell, waiting) = app.single_flight.cell(question, &app.turns);
    let (shared, task_app) = (Arc::clone(&cell), Arc::clone(&app));
    // A task of its own, so that a client that leaves does not take the answer from those who wait. It ends when all have left.
    let task = tokio::spawn(async move {
        let computed = async || {
            let turn =
                shared.queued.take().ok_or_else(|| Caught::Bug("it was computed before".to_owned()))?;
            compute_for(Arc::clone(&task_app), turn, shared.waiters.token().clone(), work).await
        };
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
    use haloscope_report::turns::Client;
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
            let many = app.turns.workers() + 3;
            let alone: Vec<_> = (0..many)
                .map(|_| tokio::spawn(compute(Arc::clone(&app), Size::Heavy, endless(&ended))))
                .collect();
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
            let free = compute(app, Size::Heavy, |_| Ok::<_, Failure>(7)).await;
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
        let failure = runtime.block_on(compute(app, Size::Heavy, endless(&ended))).unwrap_err();
        assert_eq!(failure.status(), StatusCode::GATEWAY_TIMEOUT);
        assert!(failure.error().contains("longer than"), "{}", failure.error());
        assert_eq!(ended.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn who_asks_little_is_answered_between_the_questions_of_who_asks_much() {
        use std::sync::mpsc::channel;
        let app = app();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let client = |last| Client::new([10, 0, 0, last].into(), 0);
        let (greedy, modest, third) = (client(1), client(2), client(3));
        let (begun, order) = channel();
        // Each says that it began, and ends when it is told to: nothing here depends on how long something takes.
        let slow = |name: String| {
            let (end, ended) = channel::<()>();
            let begun = begun.clone();
            let work = move |_: &App| {
                begun.send(name).unwrap();
                let _ = ended.recv();
                Ok::<_, Failure>(Json::text("1".into()))
            };
            (end, work)
        };
        let workers = app.turns.workers();
        runtime.block_on(async {
            let (mut ends, mut asked) = (Vec::new(), Vec::new());
            for n in 0..workers + 100 {
                let (end, work) = slow("greedy".to_owned());
                ends.push(end);
                // The last of them is what somebody else will want too.
                let question = computed_once(Arc::clone(&app), format!("{n}"), work);
                asked.push(tokio::spawn(asker::on_behalf(greedy, question)));
                // In this order: the first of them run, and the others wait.
                if n < workers {
                    assert_eq!(order.recv().unwrap(), "greedy");
                }
                while app.turns.waiting() < (n + 1).saturating_sub(workers) {
                    tokio::task::yield_now().await;
                }
            }
            // What is quick is answered while all workers are busy and a hundred wait, also for who asked those.
            for client in [modest, greedy] {
                let quick = compute(Arc::clone(&app), Size::Quick, |_| Ok::<_, Failure>(7));
                assert_eq!(asker::on_behalf(client, quick).await.unwrap(), 7);
            }
            assert!(order.try_recv().is_err());
            // One heavy question is the next that begins; one that another asked before moves up with who asks it now.
            let (end, work) = slow("modest".to_owned());
            ends.push(end);
            let one = computed_once(Arc::clone(&app), "modest".into(), work);
            asked.push(tokio::spawn(asker::on_behalf(modest, one)));
            while app.turns.waiting() < 101 {
                tokio::task::yield_now().await;
            }
            let joined = computed_once(Arc::clone(&app), format!("{}", workers + 99), |_| {
                Err(Failure::usage("computed twice", ""))
            });
            let mut joined = Box::pin(asker::on_behalf(third, joined));
            std::future::poll_fn(|context| {
                assert!(joined.as_mut().poll(context).is_pending());
                std::task::Poll::Ready(())
            })
            .await;
            drop(ends.remove(workers + 99));
            drop(ends.remove(0));
            assert_eq!(order.recv().unwrap(), "modest");
            drop(ends.pop());
            assert!(joined.await.is_ok(), "it did not wait for the hundred before it");
            assert!(app.turns.waiting() > 90);
            drop(ends);
            for one in asked {
                assert!(one.await.unwrap().is_ok());
            }
        });
    }

    #[test]
    fn what_waits_for_a_core_is_not_late() {
        let mut config = crate::Config::new(Store::in_memory());
        config.deadline = Some(Duration::from_millis(200));
        let app = Arc::new(App::new(config).unwrap());
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let mut busy = Vec::new();
            for _ in 0..app.turns.workers() {
                busy.push(app.turns.wait(Client::default(), Size::Heavy).await);
            }
            let asked = tokio::spawn(compute(Arc::clone(&app), Size::Heavy, |_| Ok::<_, Failure>(7)));
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
        assert_eq!(runtime.block_on(compute(app, Size::Heavy, |_| Ok::<_, Failure>(7))).unwrap(), 7);
    }

    #[test]
    fn a_panic_is_answered_and_the_next_question_too() {
        let app = app();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for _ in 0..100 {
            let answer =
                runtime.block_on(compute(Arc::clone(&app), Size::Heavy, |_| -> Result<Json, Failure> {
                    panic!("index out of range")
                }));
            let failure = answer.unwrap_err();
            assert_eq!(failure.status(), StatusCode::INTERNAL_SERVER_ERROR);
            assert!(failure.error().contains("index out of range"));
        }
        let answer = runtime.block_on(compute(app, Size::Heavy, |_| Ok::<_, Failure>(7)));
        assert_eq!(answer.unwrap(), 7);
    }
}
