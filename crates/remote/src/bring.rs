//! Brings the files of a session here: many ranges at once, and only those that are not here yet.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use bytes::Bytes;
use futures_util::stream::{BoxStream, StreamExt};
use object_store::path::Path;
use object_store::{GetOptions, ObjectStore};
use xxhash_rust::xxh3::Xxh3;

use crate::address::Kind;
use crate::connect::{self, told};
use crate::mirror::{Mirror, Part};
use crate::{Address, Error, Object, Session, web};

/// How many ranges are asked for at once: on a link of 20 ms this many of 8 MiB fill a gigabyte a second.
const AT_ONCE: usize = 16;

/// How far a bringing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes that are here, those of earlier bringings too.
    pub bytes: u64,
    /// Bytes that there are.
    pub of: u64,
}

/// What was brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brought {
    /// The session's folder here.
    pub folder: PathBuf,
    /// Its files here, in the order of the session's objects.
    pub files: Vec<PathBuf>,
    /// All of it was here already.
    pub kept: bool,
}

/// Brings the files of a session into the mirror, which lies in the cache folder, or, if that is off, in a folder of this
/// process. What is there already, whole or in part, is not brought again. Until the process ends it stays there.
///
/// # Errors
/// [`Error::Changed`] if a file is not the one that was listed; others if it cannot be read or kept. What was brought stays
/// there, and the next call goes on from it.
pub fn bring(session: &Session, watch: &dyn Fn(Progress)) -> Result<Brought, Error> {
    let mirror = Mirror::of(session)?;
    let folder = mirror.session_folder(session);
    let mut parts = Vec::new();
    let mut jobs = VecDeque::new();
    for object in &session.objects {
        let part = Arc::new(mirror.part(session, object)?);
        let at = session.at.join(&object.path);
        for number in &part.missing {
            jobs.push_back(Job {
                part: Arc::clone(&part),
                at: at.clone(),
                object: object.clone(),
                number: *number,
            });
        }
        parts.push(part);
    }
    let of = parts.iter().map(|part| part.size).sum();
    let missing: u64 = jobs.iter().map(Job::bytes).sum();
    let kept = jobs.is_empty();
    if !kept {
        fetch(&session.at, jobs, &|bytes| watch(Progress { bytes: of - missing + bytes, of }))?;
    }
    let files = parts.iter().map(|part| part.path.clone()).collect();
    mirror.settle();
    Ok(Brought { folder, files, kept })
}

/// A range that is to be brought.
struct Job {
    part: Arc<Part>,
    at: Address,
    object: Object,
    number: u64,
}

impl Job {
    fn bytes(&self) -> u64 {
        let (from, to) = self.part.range(self.number);
        to - from
    }
}

/// Where bytes come from.
#[derive(Clone)]
enum Source {
    Store(Arc<dyn ObjectStore>),
    Web,
}

/// Brings ranges, telling how many bytes came since the beginning.
fn fetch(at: &Address, jobs: VecDeque<Job>, watch: &dyn Fn(u64)) -> Result<(), Error> {
    let source = if at.kind() == Kind::Web { Source::Web } else { Source::Store(connect::store(at)?) };
    let workers = jobs.len().min(AT_ONCE);
    let jobs = Arc::new(Mutex::new(jobs));
    let over = Arc::new(AtomicBool::new(false));
    let (tell, news) = mpsc::channel();
    for _ in 0..workers {
        let (source, jobs, over, tell) = (source.clone(), Arc::clone(&jobs), Arc::clone(&over), tell.clone());
        connect::spawn(async move {
            while !over.load(Ordering::Relaxed) {
                let Some(job) = jobs.lock().unwrap_or_else(PoisonError::into_inner).pop_front() else {
                    return;
                };
                if let Err(error) = one(&source, &job, &tell).await {
                    over.store(true, Ordering::Relaxed);
                    let _ = tell.send(Err(error));
                    return;
                }
            }
        })?;
    }
    drop(tell);
    let mut bytes = 0;
    let mut failed = None;
    // Until all have ended: what is under way when one fails is still written down.
    for news in news {
        match news {
            Ok(more) => {
                bytes += more;
                watch(bytes);
            }
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(()), Err)
}

/// Brings one range; where it breaks off after some bytes came, from there.
async fn one(source: &Source, job: &Job, tell: &mpsc::Sender<Result<u64, Error>>) -> Result<(), Error> {
    let (mut at, to) = job.part.range(job.number);
    let mut sum = Xxh3::new();
    let local = |error: std::io::Error| Error::local(&job.part.path, &error);
    loop {
        let before = at;
        let broke = match some(source, job, &mut at, to, &mut sum, tell).await {
            Ok(()) if at == to => break,
            Ok(()) => {
                let found = format!("the answer ended {} bytes early", to - at);
                Error::Network { at: job.at.to_string(), found }
            }
            Err(error) => error,
        };
        if at == before || !matches!(broke, Error::Network { .. } | Error::Timeout { .. }) {
            return Err(broke);
        }
    }
    job.part.done(job.number, sum.digest()).map_err(local)
}

/// Brings bytes of a range from `at` on, for as long as they come.
async fn some(
    source: &Source,
    job: &Job,
    at: &mut u64,
    to: u64,
    sum: &mut Xxh3,
    tell: &mpsc::Sender<Result<u64, Error>>,
) -> Result<(), Error> {
    let (mut stream, mut over) = open(source, job, *at, to).await?;
    while let Some(bytes) = stream.next().await {
        let mut bytes = bytes?;
        let passed = over.min(bytes.len() as u64);
        over -= passed;
        let _ = bytes.split_to(passed as usize);
        bytes.truncate((to - *at).min(bytes.len() as u64) as usize);
        if bytes.is_empty() {
            if *at == to {
                return Ok(());
            }
            continue;
        }
        job.part.write(*at, &bytes).map_err(|error| Error::local(&job.part.path, &error))?;
        sum.update(&bytes);
        *at += bytes.len() as u64;
        let _ = tell.send(Ok(bytes.len() as u64));
    }
    Ok(())
}

type Answer = (BoxStream<'static, Result<Bytes, Error>>, u64);

/// The bytes of a range, and how many of them are to be passed over.
async fn open(source: &Source, job: &Job, from: u64, to: u64) -> Result<Answer, Error> {
    let at = job.at.clone();
    match source {
        Source::Store(store) => {
            let path = Path::parse(at.path()).map_err(|error| told(&at, &error.into()))?;
            let options = GetOptions {
                range: Some((from..to).into()),
                if_match: job.object.etag.clone(),
                ..GetOptions::default()
            };
            let found = store.get_opts(&path, options).await.map_err(|error| told(&at, &error))?;
            if found.meta.size != job.object.size {
                let found = format!("it had {} bytes, and has {}", job.object.size, found.meta.size);
                return Err(Error::Changed { at: at.to_string(), found });
            }
            let stream = found.into_stream().map(move |bytes| bytes.map_err(|error| told(&at, &error)));
            Ok((stream.boxed(), 0))
        }
        Source::Web => {
            let (answer, over) = web::read(&at, job.object.etag.as_deref(), from, to).await?;
            let stream =
                answer.bytes_stream().map(move |bytes| bytes.map_err(|error| web::told(&at, &error)));
            Ok((stream.boxed(), over))
        }
    }
}
