//! A query from the command line to its rows: the engine works on threads of its own, this one writes, and whoever waits can stop it.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use haloscope_profile::load;
use haloscope_store::Cache;
use haloscope_to_file::to_file;

use crate::args::Asked;
use crate::cluster;
use crate::cluster::ask::{Cluster, Question};
use crate::engine::{Engine, STACK};
use crate::failure::Failure;
use crate::open::{self, Said};
use crate::output::sink;
use crate::printer;
use crate::runs::Run;
use crate::stats::Stats;

/// What the engine's threads tell.
enum Told {
    Columns(SchemaRef),
    Rows(RecordBatch),
    Done(Result<(), Failure>),
    Stopped,
}

/// Batches that may wait for the writer.
const WAITING: usize = 8;

/// How long a writer may still hold up a process that somebody wants to end.
const GRACE: Duration = Duration::from_millis(300);

/// Answers a query.
///
/// # Errors
/// Why there is no answer.
pub(crate) fn ask(asked: Asked) -> Result<(), Failure> {
    let begun = Instant::now();
    if !asked.format.is_text() && asked.output.is_none() && io::stdout().is_terminal() {
        let hint = "give a file with -o, or pipe stdout somewhere";
        return Err(Failure::Usage("this format is not text for a terminal".into(), hint.into()));
    }
    let scratch = tempfile::Builder::new().prefix("haloscope-query-").tempdir()?;
    let path = scratch.path().to_owned();
    let (tell, told) = mpsc::sync_channel(WAITING);
    let stats = Arc::new(Stats::default());
    let tell_stop = tell.clone();
    let (counts, from) = (Arc::clone(&stats), path.clone());
    // What workers read they do not tell.
    let is_spread = asked.cluster.is_some();
    let work = Work {
        runs: asked.runs,
        sql: asked.sql,
        memory: asked.memory,
        unpacked: asked.unpacked,
        partial: asked.partial,
        verbose: asked.verbose,
        no_cache: asked.no_cache,
        cluster: asked.cluster,
    };
    let thread = thread::Builder::new().name("query".into()).stack_size(STACK);
    let work = thread.spawn(move || work.run(&from, &counts, &tell))?;
    end_on_ctrl_c(tell_stop, path.clone())?;
    let deadline = asked.timeout.map(|timeout| (begun + timeout, timeout));
    let is_answered = Arc::new(AtomicBool::new(false));
    if let Some((until, timeout)) = deadline {
        end_late(until, timeout, path, Arc::clone(&is_answered));
    }
    let rows = Rows { told, deadline };
    let (format, limit) = (asked.format, asked.limit);
    let write = |out: &mut dyn io::Write| -> io::Result<bool> {
        let schema = match rows.next() {
            Told::Columns(schema) => schema,
            Told::Done(Err(failure)) => return Err(io::Error::other(Carried(failure))),
            _ => return Err(io::Error::other(Carried(Failure::Stopped))),
        };
        let mut sink = sink(format, &schema, out, limit)?;
        loop {
            match rows.next() {
                Told::Rows(batch) => {
                    if !sink.batch(&batch)? {
                        break;
                    }
                }
                Told::Done(Ok(())) => break,
                Told::Done(Err(failure)) => return Err(io::Error::other(Carried(failure))),
                Told::Columns(_) => {}
                Told::Stopped => return Err(io::Error::other(Carried(Failure::Stopped))),
            }
        }
        sink.finish()
    };
    let written = match &asked.output {
        Some(path) => {
            to_file(path, write).map_err(|error| carried(error, |error| Failure::File(path.clone(), error)))
        }
        None => {
            let mut is_cut = false;
            let outcome = printer::data(|out| {
                is_cut = write(out)?;
                Ok(())
            });
            outcome.map(|()| is_cut).map_err(|error| carried(error, Failure::Output))
        }
    };
    // Scratch files go with their folder, whatever still runs.
    drop(scratch);
    let is_cut = written?;
    is_answered.store(true, Ordering::Relaxed);
    if is_cut {
        printer::note("there are more rows: --limit 0 shows all, --format csv writes them");
    }
    if asked.verbose && !is_spread {
        printer::note(stats.words());
    }
    // Where rows were left, the engine may still look for the next.
    if !is_cut {
        let _ = work.join();
    }
    Ok(())
}

/// A failure on its way through a writer.
#[derive(Debug)]
struct Carried(Failure);

impl std::fmt::Display for Carried {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.message().unwrap_or_default())
    }
}

impl std::error::Error for Carried {}

fn carried(error: io::Error, or: impl FnOnce(io::Error) -> Failure) -> Failure {
    match error.downcast::<Carried>() {
        Ok(Carried(failure)) => failure,
        Err(error) => or(error),
    }
}

/// Rows as they come, until the time is over.
struct Rows {
    told: Receiver<Told>,
    deadline: Option<(Instant, Duration)>,
}

impl Rows {
    fn next(&self) -> Told {
        let Some((until, timeout)) = self.deadline else {
            return self.told.recv().unwrap_or_else(|_| Told::Done(Err(gone())));
        };
        match self.told.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(told) => told,
            Err(RecvTimeoutError::Timeout) => Told::Done(Err(Failure::TimedOut(timeout))),
            Err(RecvTimeoutError::Disconnected) => Told::Done(Err(gone())),
        }
    }
}

fn gone() -> Failure {
    Failure::Bug("the query ended without an answer".into())
}

/// Ends the process some time after the deadline, in case that somebody who reads stdout keeps it waiting, or that what is kept
/// for the next question takes longer.
fn end_late(until: Instant, timeout: Duration, scratch: std::path::PathBuf, is_answered: Arc<AtomicBool>) {
    thread::spawn(move || {
        thread::sleep(until.saturating_duration_since(Instant::now()) + GRACE);
        if is_answered.load(Ordering::Relaxed) {
            end(0, &scratch);
        }
        let failure = Failure::TimedOut(timeout);
        printer::failure(&failure);
        end(failure.exit_code(), &scratch);
    });
}

/// Ends the process on Ctrl-C: on a thread of its own, since those of a join have time for nothing else.
fn end_on_ctrl_c(tell: SyncSender<Told>, scratch: std::path::PathBuf) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let wait = move || {
        if runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
            let _ = tell.try_send(Told::Stopped);
            thread::sleep(GRACE);
            end(Failure::Stopped.exit_code(), &scratch);
        }
    };
    thread::Builder::new().spawn(wait).map(|_| ())
}

#[expect(
    clippy::exit,
    reason = "the thread that writes may wait for ever for who reads, and a join cannot be stopped"
)]
fn end(code: u8, scratch: &std::path::Path) -> ! {
    let _ = std::fs::remove_dir_all(scratch);
    haloscope_store::leave();
    std::process::exit(i32::from(code))
}

/// What the engine's threads do.
struct Work {
    runs: Vec<std::path::PathBuf>,
    sql: String,
    memory: Option<u64>,
    unpacked: Option<u64>,
    partial: bool,
    verbose: bool,
    no_cache: bool,
    cluster: Option<Cluster>,
}

impl Work {
    fn run(self, scratch: &std::path::Path, stats: &Arc<Stats>, tell: &SyncSender<Told>) {
        let outcome = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .thread_stack_size(STACK)
            .build()
            .map_err(Failure::Output)
            .and_then(|runtime| {
                let cache = if self.no_cache { None } else { Cache::of_user()? };
                let outcome = runtime.block_on(self.answer(cache.as_ref(), scratch, stats, tell));
                // What a join still does ends with the process.
                runtime.shutdown_background();
                Ok((cache, outcome?))
            });
        let (known, told) = match outcome {
            Ok(known) => (Some(known), Ok(())),
            Err(failure) => (None, Err(failure)),
        };
        let _ = tell.send(Told::Done(told));
        // Whoever waits has the answer by now.
        if let Some((Some(cache), runs)) = known {
            runs.iter().for_each(|run| run.learn(&cache));
            if let Some(trouble) = cache.trouble() {
                printer::note(format_args!("{trouble}; files are read again every time"));
            }
        }
    }

    /// Answers, and gives the runs that were opened for it.
    async fn answer(
        &self,
        cache: Option<&Cache>,
        scratch: &std::path::Path,
        stats: &Arc<Stats>,
        tell: &SyncSender<Told>,
    ) -> Result<Arc<[Run]>, Failure> {
        load::set_unpacked_limit(self.unpacked);
        load::set_memory_limit(self.memory.map(|memory| memory / 2));
        let memory = self.memory.map(|memory| usize::try_from(memory / 2).unwrap_or(usize::MAX));
        let columns = |schema| tell.send(Told::Columns(schema)).is_ok();
        let rows = |batch| tell.send(Told::Rows(batch)).is_ok();
        if let Some(cluster) = &self.cluster {
            let question = Question {
                runs: &self.runs,
                sql: &self.sql,
                is_partial: self.partial,
                is_verbose: self.verbose,
                memory,
                scratch,
            };
            cluster::ask::ask(cluster, &question, columns, rows).await?;
            return Ok(Arc::default());
        }
        let runs = self.open(cache)?;
        let engine = Engine::new(&runs, memory, scratch, stats)?;
        engine.run(&self.sql, columns, rows).await?;
        runs.iter().try_for_each(|run| run.profile.unchanged())?;
        Ok(runs)
    }

    fn open(&self, cache: Option<&Cache>) -> Result<Arc<[Run]>, Failure> {
        let runs = open::all(&self.runs, self.partial, cache, &|said| match said {
            Said::Found(found) => found.say_newest(),
            Said::LeftOut(why) => printer::note(format_args!("left out: {why}")),
        })?;
        let names: Vec<String> = runs.iter().map(|run| run.name.clone()).collect();
        open::say_names(&names, self.verbose);
        Ok(runs)
    }
}
