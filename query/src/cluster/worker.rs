//! `haloscope-query worker`: reads files for others.

use std::fs;
use std::net::SocketAddr;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use clap::{Arg, ArgMatches, Command, value_parser};
use datafusion::error::DataFusionError;
use datafusion::execution::SessionState;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::object_store::{DefaultObjectStoreRegistry, ObjectStoreRegistry};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::SessionContext;
use datafusion_distributed::{DistributedExt, Worker, WorkerQueryContext};
use haloscope_profile::load;
use haloscope_store::{Cache, FarPlace};
use tokio::net::TcpListener;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use url::Url;

use super::allowed;
use super::aside::{self, Aside};
use super::channel::Channels;
use super::codec::Codec;
use super::gate::{self, Gate, Token};
use super::members;
use super::shelf::{Roots, Shelf};
use crate::engine::STACK;
use crate::failure::Failure;
use crate::functions;
use crate::printer;

/// Bytes of files that are kept open between questions, where nobody says.
const KEPT: &str = "4GiB";

/// The command line.
pub(crate) fn command() -> Command {
    let size = |text: &str| load::size(text).map_err(|error| error.to_string());
    Command::new("haloscope-query worker")
        .bin_name("haloscope-query worker")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Reads files of runs for `haloscope query --cluster`, and runs its queries where the files are")
        .max_term_width(80)
        .after_help(
            "Anyone with the token can read all runs below the roots. Neither the token nor the data are encrypted: use a private \
             network.\n\nExample:\n  haloscope-query worker --listen 10.0.0.1:8795 --roots /logs --token-file token\n  \
             haloscope-query worker --listen 10.0.0.1:8795 --roots gs://bucket/logs --token-file token",
        )
        .arg(
            Arg::new("listen")
                .long("listen")
                .value_name("ADDRESS:PORT")
                .required(true)
                .value_parser(value_parser!(SocketAddr))
                .help("Address to listen on; port 0 takes a free one"),
        )
        .arg(
            Arg::new("roots")
                .long("roots")
                .value_name("FOLDER|ADDRESS")
                .required(true)
                .num_args(1..)
                .value_parser(value_parser!(PathBuf))
                .help("Folders and addresses (gs://, s3://, az://, http(s)://) with the files that it may read"),
        )
        .arg(
            Arg::new("token-file")
                .long("token-file")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("A file with the token that queries must have, of 16 characters or more. Without it, only this machine may connect"),
        )
        .arg(
            Arg::new("keep")
                .long("keep")
                .value_name("SIZE")
                .default_value(KEPT)
                .value_parser(size)
                .help("Bytes of files that are kept open for the next query"),
        )
        .arg(
            Arg::new("memory-limit")
                .long("memory-limit")
                .value_name("SIZE")
                .env("HALOSCOPE_MEMORY_LIMIT")
                .hide_env_values(true)
                .value_parser(size)
                .help("Limits memory, such as 8GiB: half for the events of a file, half for questions; the rest goes to scratch files"),
        )
}

/// Whether a command line asks for a worker, and not about a run that is called so.
pub(crate) fn is_meant(words: &[std::ffi::OsString]) -> bool {
    let is_option = |word: &std::ffi::OsString| {
        let word = word.to_string_lossy();
        ["--listen", "--roots", "--help"]
            .iter()
            .any(|option| word == *option || word.starts_with(&format!("{option}=")))
            || word == "-h"
    };
    words.first().is_some_and(|word| word == "worker") && (words.len() == 1 || words.iter().any(is_option))
}

/// Works until somebody ends it.
///
/// # Errors
/// Why it cannot.
pub(crate) fn run(matches: &ArgMatches) -> Result<(), Failure> {
    let token = matches.get_one::<PathBuf>("token-file").map(|path| Token::read(path)).transpose()?;
    let Some(listen) = matches.get_one::<SocketAddr>("listen").copied() else { return Ok(()) };
    if token.is_none() && !listen.ip().is_loopback() {
        let hint = "or listen on 127.0.0.1, where only this machine asks";
        return Err(Failure::Usage(
            format!("--listen {listen}: other machines need --token-file"),
            hint.into(),
        ));
    }
    let roots = roots(matches.get_many::<PathBuf>("roots").into_iter().flatten())?;
    let memory = matches.get_one::<u64>("memory-limit").copied();
    load::set_memory_limit(memory.map(|memory| memory / 2));
    let keep = matches.get_one::<u64>("keep").copied().unwrap_or(u64::MAX);
    let shelf = Shelf::new(roots, keep, Cache::of_user()?);
    let scratch = tempfile::Builder::new().prefix("haloscope-worker-").tempdir()?;
    let mut environment = RuntimeEnvBuilder::new()
        .with_disk_manager_builder(
            DiskManagerBuilder::default()
                .with_mode(DiskManagerMode::Directories(vec![scratch.path().to_owned()])),
        )
        .with_object_store_registry(no_files()?);
    if let Some(memory) = memory {
        let pool = FairSpillPool::new(usize::try_from(memory / 2).unwrap_or(usize::MAX));
        environment = environment.with_memory_pool(Arc::new(pool));
    }
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let channels = Channels::new(gate::headers(token.as_ref()))?;
    let worker = Worker::from_session_builder(sessions(Arc::new(shelf), channels))
        .with_runtime_env(environment.build_arc()?)
        .with_version(members::introduction(&instance(), cores));
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().thread_stack_size(STACK).build()?;
    let there = runtime.handle().clone();
    let outcome = aside::connections()?.block_on(async move {
        let unable = |error: std::io::Error| {
            Failure::Unread(format!("cannot listen on {listen}: {error}"), String::new())
        };
        let listener = TcpListener::bind(listen).await.map_err(unable)?;
        let at = listener.local_addr().map_err(unable)?;
        printer::talk(format_args!("listening on http://{at}\n"));
        let service = InterceptedService::new(Aside::new(worker.into_worker_server(), there), Gate::new(token));
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        let served = Server::builder().add_service(service).serve_with_incoming(incoming);
        tokio::select! {
            served = served => {
                served.map_err(|error| Failure::Unread(format!("cannot answer on {at}: {error}"), String::new()))
            }
            () = ended() => Ok(()),
        }
    });
    // What is still read ends with the process.
    runtime.shutdown_background();
    outcome
}

/// Waits until somebody ends the process: the first of a container has no end of its own.
async fn ended() {
    #[cfg(unix)]
    if let Ok(mut asked) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = asked.recv() => {}
        }
        return;
    }
    let _ = tokio::signal::ctrl_c().await;
}

/// What may be read: folders and addresses.
fn roots<'a>(given: impl Iterator<Item = &'a PathBuf>) -> Result<Roots, Failure> {
    let (mut folders, mut places) = (Vec::new(), Vec::new());
    for path in given {
        if haloscope_store::is_elsewhere(path) {
            places.push(FarPlace::parse(path)?);
        } else {
            folders.push(folder(path)?);
        }
    }
    Ok(Roots { folders: Some(folders), places })
}

/// A folder as it was given, and without links.
fn folder(path: &Path) -> Result<(PathBuf, PathBuf), Failure> {
    let wrong = |why: String| {
        let hint = "as in --roots /logs, or --roots gs://BUCKET/logs";
        Failure::Usage(format!("--roots {}: {why}", path.display()), hint.into())
    };
    let real = fs::canonicalize(path).map_err(|error| wrong(error.to_string()))?;
    if !real.is_dir() {
        return Err(wrong("expected a folder".into()));
    }
    Ok((std::path::absolute(path)?, real))
}

/// What tells this process from one that was at its address before.
fn instance() -> String {
    let begun = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    format!("{}-{}", std::process::id(), begun.as_nanos())
}

/// Makes the session of each plan.
fn sessions(
    shelf: Arc<Shelf>,
    channels: Channels,
) -> impl Fn(WorkerQueryContext) -> std::future::Ready<Result<SessionState, DataFusionError>> + Send + Sync + 'static
{
    move |context: WorkerQueryContext| {
        let mut builder = context.builder;
        builder.config().get_or_insert_default().set_extension(Arc::clone(&shelf));
        let state = builder
            .with_distributed_user_codec(Codec)
            .with_distributed_channel_resolver(channels.clone())
            .with_distributed_worker_plan_rewrite_handler(allowed::check)
            .build();
        let context = SessionContext::new_with_state(state);
        functions::register(&context);
        functions::register_checked(&context);
        std::future::ready(Ok(context.state()))
    }
}

/// The engine itself finds no file.
fn no_files() -> Result<Arc<dyn ObjectStoreRegistry>, Failure> {
    let registry = DefaultObjectStoreRegistry::new();
    if let Ok(here) = Url::parse("file://") {
        registry.deregister_store(&here)?;
    }
    Ok(Arc::new(registry))
}
