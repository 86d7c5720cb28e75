//! Brings the files of a session here: many ranges at once, and only those that are not here yet.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use bytes::Bytes;
use futures_util::stream::{BoxStream, StreamExt};
use object_store::path::Path;
use object_store::{GetOptions, ObjectStore};
use xxhash_rust::xxh3::Xxh3;

use crate::address::StoreKind;
use crate::connect::{self, store_error};
use crate::mirror::{Mirror, PartialFile};
use crate::{Address, Error, Object, Session, web};

/// How many requests are under way at once.
const AT_ONCE: usize = 16;

/// How far a bringing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes that are here, those of earlier downloads too.
    pub bytes: u64,
    /// Bytes that there are.
    pub of: u64,
}

/// What was brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Downloaded {
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
pub fn download(session: &Session, watch: &dyn Fn(Progress)) -> Result<Downloaded, Error> {
    let mirror = Mirror::open(session)?;
    let folder = mirror.session_folder(session);
    let mut parts = Vec::new();
    let mut jobs = VecDeque::new();
    for object in &session.objects {
        let part = Arc::new(mirror.part(session, object)?);
        let at = session.at.join(&object.path);
        for numbers in spans(&part.missing) {
            let part = Arc::clone(&part);
            jobs.push_back(Job { part, at: at.clone(), object: object.clone(), numbers });
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
    mirror.hold_shared();
    Ok(Downloaded { folder, files, kept })
}

/// Ranges that follow one another, as many at a time as give each connection one request: what is asked for in one costs the
/// link's time once.
fn spans(missing: &[u64]) -> Vec<Range<u64>> {
    let most = missing.len().div_ceil(AT_ONCE) as u64;
    let mut spans: Vec<Range<u64>> = Vec::new();
    for &number in missing {
        match spans.last_mut() {
            Some(span) if span.end == number && span.end - span.start < most => span.end += 1,
            _ => spans.push(number..number + 1),
        }
    }
    spans
}

/// Ranges that are to be brought, one behind the other.
struct Job {
    part: Arc<PartialFile>,
    at: Address,
    object: Object,
    numbers: Range<u64>,
}

impl Job {
    fn bytes(&self) -> u64 {
        let (from, to) = self.bounds();
        to - from
    }

    /// Where they begin and end.
    fn bounds(&self) -> (u64, u64) {
        (self.part.range(self.numbers.start).0, self.part.range(self.numbers.end - 1).1)
    }
}

/// How far a job is: where the next byte belongs, in which range that is, and the sum of the bytes of it that came.
struct Target {
    at: u64,
    number: u64,
    sum: Xxh3,
}

/// Where bytes come from.
#[derive(Clone)]
enum Source {
    Store(Arc<dyn ObjectStore>),
    Web,
}

/// Brings ranges, telling how many bytes came since the beginning.
fn fetch(at: &Address, jobs: VecDeque<Job>, watch: &dyn Fn(u64)) -> Result<(), Error> {
    let source = if at.kind() == StoreKind::Web { Source::Web } else { Source::Store(connect::store(at)?) };
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

/// Brings ranges; where they break off after some bytes came, from there.
async fn one(source: &Source, job: &Job, tell: &mpsc::Sender<Result<u64, Error>>) -> Result<(), Error> {
    let (from, to) = job.bounds();
    let mut place = Target { at: from, number: job.numbers.start, sum: Xxh3::new() };
    loop {
        let before = place.at;
        let broke = match some(source, job, &mut place, to, tell).await {
            Ok(()) if place.at == to => return Ok(()),
            Ok(()) => {
                let found = format!("the answer ended {} bytes early", to - place.at);
                Error::Network { at: job.at.to_string(), found }
            }
            Err(error) => error,
        };
        if place.at == before || !matches!(broke, Error::Network { .. } | Error::Timeout { .. }) {
            return Err(broke);
        }
    }
}

/// Brings bytes up to `to`, for as long as they come.
async fn some(
    source: &Source,
    job: &Job,
    place: &mut Target,
    to: u64,
    tell: &mpsc::Sender<Result<u64, Error>>,
) -> Result<(), Error> {
    let local = |error: std::io::Error| Error::local(&job.part.path, &error);
    let (mut stream, mut over) = open(source, job, place.at, to).await?;
    while let Some(bytes) = stream.next().await {
        let mut bytes = bytes?;
        let passed = over.min(bytes.len() as u64);
        over -= passed;
        let _ = bytes.split_to(passed as usize);
        while !bytes.is_empty() && place.at < to {
            let end = job.part.range(place.number).1;
            let some = bytes.split_to((end - place.at).min(bytes.len() as u64) as usize);
            job.part.write(place.at, &some).map_err(local)?;
            place.sum.update(&some);
            place.at += some.len() as u64;
            if place.at == end {
                job.part.done(place.number, place.sum.digest()).map_err(local)?;
                place.number += 1;
                place.sum.reset();
            }
            let _ = tell.send(Ok(some.len() as u64));
        }
        if place.at == to {
            return Ok(());
        }
    }
    Ok(())
}

type Answer = (BoxStream<'static, Result<Bytes, Error>>, u64);

/// The bytes of a range, and how many of them are to be passed over.
async fn open(source: &Source, job: &Job, from: u64, to: u64) -> Result<Answer, Error> {
    let at = job.at.clone();
    match source {
        Source::Store(store) => {
            let path = Path::parse(at.path()).map_err(|error| store_error(&at, &error.into()))?;
            let options = GetOptions {
                range: Some((from..to).into()),
                if_match: job.object.etag.clone(),
                ..GetOptions::default()
            };
            let found = store.get_opts(&path, options).await.map_err(|error| store_error(&at, &error))?;
            if found.meta.size != job.object.size {
                let found = format!("it had {} bytes, and has {}", job.object.size, found.meta.size);
                return Err(Error::Changed { at: at.to_string(), found });
            }
            let stream =
                found.into_stream().map(move |bytes| bytes.map_err(|error| store_error(&at, &error)));
            Ok((stream.boxed(), 0))
        }
        Source::Web => {
            let (answer, over) = web::read(&at, job.object.etag.as_deref(), from, to).await?;
            let stream =
                answer.bytes_stream().map(move |bytes| bytes.map_err(|error| web::http_error(&at, &error)));
            Ok((stream.boxed(), over))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::spans;

    #[test]
    fn ranges_that_follow_one_another_are_asked_for_together() {
        assert_eq!(spans(&[]), []);
        assert_eq!(spans(&[3, 9]), [3..4, 9..10]);
        // As many as there are requests: each by itself.
        assert_eq!(spans(&(0..16).collect::<Vec<_>>()).len(), 16);
        assert_eq!(spans(&(0..60).collect::<Vec<_>>())[..2], [0..4, 4..8]);
        // What is here already lies between.
        let missing: Vec<u64> = (0..40).filter(|number| *number != 1).collect();
        assert_eq!(spans(&missing)[..3], [0..1, 2..5, 5..8]);
    }
}
