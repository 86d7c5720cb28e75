//! A question that is put to workers: two passes, and once more where a worker dies.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use arrow::record_batch::RecordBatch;
use datafusion::error::DataFusionError;
use datafusion::prelude::SessionContext;
use haloscope_report::{Error, naming};
use haloscope_store::{Cache, FarFile};
use url::Url;

use super::analyses;
use super::channel::Channels;
use super::gate::{self, Token};
use super::later::Later;
use super::members::{self, Dead, Member};
use super::session;
use super::shelf::{FileRef, OUTSIDE, Roots, Shelf, UNREAD, Version};
use super::survey;
use super::table::{self, Files};
use crate::engine::{self, Engine};
use crate::failure::Failure;
use crate::functions;
use crate::open::{self, Found, PARTIAL};
use crate::printer;
use crate::runs::{self, Place};
use crate::stats::Stats;

/// Bytes of files that are kept open here, where a part of a plan reads them after all.
const KEPT: u64 = 1 << 30;

/// Who works on a question.
pub(crate) struct Cluster {
    /// Addresses of workers, as they were given.
    pub(crate) workers: String,
    /// What they know.
    pub(crate) token: Option<Token>,
}

/// A question.
pub(crate) struct Question<'a> {
    pub(crate) runs: &'a [PathBuf],
    pub(crate) sql: &'a str,
    /// Whether files that cannot be read are left out.
    pub(crate) is_partial: bool,
    pub(crate) is_verbose: bool,
    /// Memory of this process for the query, in bytes.
    pub(crate) memory: Option<usize>,
    /// A folder for what does not fit.
    pub(crate) scratch: &'a Path,
}

/// Asks it. Rows are given once all are here: of a question that is asked again none was given before.
///
/// # Errors
/// Why there is no answer; [`Failure::Unread`] with each worker's name where none lives.
pub(crate) async fn ask(
    cluster: &Cluster,
    question: &Question<'_>,
    begin: impl FnOnce(SchemaRef) -> bool,
    mut batch: impl FnMut(RecordBatch) -> bool,
) -> Result<(), Failure> {
    let urls = members::named(&cluster.workers).await?;
    let channels = Channels::new(gate::headers(cluster.token.as_ref()))?;
    let (mut live, dead) = members::ask(&urls, &channels).await?;
    go_on(&live, &dead)?;
    dead.iter().for_each(|dead| printer::note(format_args!("left out: {dead}")));
    let (found, files) = find(question)?;
    // What is read here are the runs that were asked for.
    let places = found.iter().filter_map(Found::place).collect();
    let shelf = Arc::new(Shelf::new(Roots { folders: None, places }, KEPT, Cache::of_user()?));
    let mut said = BTreeSet::new();
    let mut all_dead = dead;
    // A worker that dies again and again is one that dies.
    for _ in 0..2 * urls.len() {
        let asked =
            Asked { question, found: &found, files: &files, live: &live, channels: &channels, shelf: &shelf };
        let failure = match asked.answer(&mut said).await {
            Ok(()) => return give(question, begin, &mut batch),
            Err(failure) => failure,
        };
        let before: Vec<Url> = live.iter().map(|member| member.url.clone()).collect();
        let (now, dead) = members::ask(&before, &channels).await?;
        if now == live {
            return Err(failure);
        }
        all_dead.extend(dead.iter().cloned());
        go_on(&now, &all_dead)?;
        for dead in &dead {
            printer::note(format_args!("a worker died: asked again without it: {dead}"));
        }
        if dead.is_empty() {
            printer::note("a worker was restarted: the question is asked again");
        }
        live = now;
    }
    Err(Failure::Unread("workers keep dying".into(), "check their output".into()))
}

/// Goes on where somebody is left.
///
/// # Errors
/// Where nobody is: each is named.
fn go_on(live: &[Member], dead: &[Dead]) -> Result<(), Failure> {
    if live.is_empty() {
        let dead: Vec<String> = dead.iter().map(ToString::to_string).collect();
        let hint =
            "start them with: haloscope-query worker --listen ADDRESS:PORT --roots FOLDER --token-file FILE";
        return Err(Failure::Unread(format!("no worker answers: {}", dead.join("; ")), hint.into()));
    }
    Ok(())
}

/// The runs, and their files with the names that answers have for them; nothing of them is read.
fn find(question: &Question<'_>) -> Result<(Vec<Found>, Vec<FileRef>), Failure> {
    let (mut found, mut failed) = (Vec::new(), None);
    for path in question.runs {
        match Found::at(path) {
            Ok(run) => found.push(run),
            Err(error) if question.is_partial && question.runs.len() > 1 => {
                printer::note(format_args!("left out: {error}"));
                failed.get_or_insert(error);
            }
            Err(error) => return Err(error.into()),
        }
    }
    let mut names: Vec<String> = found.iter().map(Found::name).collect();
    runs::tell_names_apart(&mut names);
    open::say_names(&names, question.is_verbose);
    let mut files = Vec::new();
    for (found, name) in found.iter().zip(names) {
        found.say_newest();
        let own = match found {
            Found::Here(run) => run.files.iter().map(|path| here(path, &name)).collect::<Vec<_>>(),
            Found::Elsewhere(run) => run.files().iter().map(|file| Ok(elsewhere(file, &name))).collect(),
        };
        for file in own {
            match file {
                Ok(file) => files.push(file),
                Err(Failure::Core(error)) if question.is_partial => {
                    printer::note(format_args!("left out: {error}"));
                    failed.get_or_insert(error);
                }
                Err(failure) => return Err(failure),
            }
        }
    }
    for (at, file) in (0..).zip(&mut files) {
        file.at = at;
    }
    match failed {
        Some(error) if files.is_empty() => Err(error.into()),
        _ => Ok((found, files)),
    }
}

/// A file here.
fn here(path: &Path, run: &str) -> Result<FileRef, Failure> {
    let absolute = std::path::absolute(path)?;
    let bytes = path.metadata().map_err(|source| Error::Io { path: path.to_owned(), source })?.len();
    let Some(own) = absolute.to_str() else {
        let message = format!("{}: a name that is not UTF-8", path.display());
        return Err(Failure::Unread(message, "workers get paths as text: rename it".into()));
    };
    let (own, shown) = (own.to_owned(), naming::shown(path));
    Ok(FileRef {
        at: 0,
        run: run.to_owned(),
        path: own,
        shown,
        bytes,
        version: None,
        place: Place::default(),
    })
}

/// A file at an address.
fn elsewhere(file: &FarFile, run: &str) -> FileRef {
    FileRef {
        at: 0,
        run: run.to_owned(),
        path: file.address.clone(),
        shown: file.address.clone(),
        bytes: file.size,
        version: Some(Version::of(file)),
        place: Place::default(),
    }
}

/// The rows of an answer, while they are gathered.
fn spool(question: &Question<'_>) -> PathBuf {
    question.scratch.join("answer.arrows")
}

/// Gives the rows that were gathered.
fn give(
    question: &Question<'_>,
    begin: impl FnOnce(SchemaRef) -> bool,
    batch: &mut impl FnMut(RecordBatch) -> bool,
) -> Result<(), Failure> {
    let reader = StreamReader::try_new(BufReader::new(File::open(spool(question))?), None);
    let reader = reader.map_err(DataFusionError::from)?;
    if !begin(reader.schema()) {
        return Ok(());
    }
    for rows in reader {
        if !batch(rows.map_err(DataFusionError::from)?) {
            return Ok(());
        }
    }
    Ok(())
}

/// One try, with workers that live.
struct Asked<'a> {
    question: &'a Question<'a>,
    found: &'a [Found],
    files: &'a [FileRef],
    live: &'a [Member],
    channels: &'a Channels,
    shelf: &'a Arc<Shelf>,
}

impl Asked<'_> {
    /// Gathers all rows of the answer; `said` is what was said of files before.
    async fn answer(&self, said: &mut BTreeSet<String>) -> Result<(), Failure> {
        let question = self.question;
        let context = self.context()?;
        let partitions = self.live.iter().map(|member| member.cores).max().unwrap_or(1);
        let all = Arc::new(Files::new(self.files.to_vec(), 0, partitions));
        let surveyed = all.surveyed(&context.state()).await.map_err(of_workers)?;
        let (files, events, is_split) = self.usable(surveyed, said)?;
        if question.is_verbose {
            let (files, workers) = (files.len(), self.live.len());
            printer::note(format_args!("{files} files on {workers} workers"));
        }
        let later = Arc::new(Later::new(self.found.to_vec(), question.is_partial));
        let files = Arc::new(Files::new(files, events, partitions));
        table::register(&context, &files, &later, &Arc::new(Stats::default()), is_split)?;
        analyses::register(&context, &files, &later, is_split);
        functions::register(&context);
        functions::register_checked(&context);
        let mut spool = Spool { path: spool(question), writer: None, failed: None };
        // The two are told what comes by turns.
        let spooled = std::cell::RefCell::new(&mut spool);
        let begin = |schema: SchemaRef| spooled.borrow_mut().begin(&schema);
        let outcome =
            Engine::over(context).run(question.sql, begin, |batch| spooled.borrow_mut().batch(&batch)).await;
        outcome.map_err(of_workers)?;
        spool.finish()?;
        later.unchanged()
    }

    fn context(&self) -> Result<SessionContext, Failure> {
        let state = engine::state(self.question.memory, self.question.scratch)?;
        let state = session::spread(state, self.live, self.channels, self.shelf)?;
        Ok(SessionContext::new_with_state(state.build()))
    }

    /// The files that can be read, each in its place, with how many events they have, and whether they can be asked one by one.
    fn usable(
        &self,
        surveyed: Vec<Option<survey::Surveyed>>,
        said: &mut BTreeSet<String>,
    ) -> Result<(Vec<FileRef>, u64, bool), Failure> {
        let (mut of_run, mut first): (Vec<Vec<(FileRef, survey::Surveyed)>>, Option<String>) =
            (Vec::new(), None);
        for (file, own) in self.files.iter().zip(surveyed) {
            let own = own.ok_or_else(|| Failure::Bug(format!("no worker read {}", file.shown)))?;
            if of_run.last().and_then(|run| run.first()).is_none_or(|(other, _)| other.run != file.run) {
                of_run.push(Vec::new());
            }
            match &own.error {
                Some(why) if self.question.is_partial => {
                    if said.insert(why.clone()) {
                        printer::note(format_args!("left out: {why}"));
                    }
                    first.get_or_insert_with(|| why.clone());
                }
                Some(why) => {
                    let is_alone = self.files.iter().filter(|other| other.run == file.run).count() == 1;
                    let hint = if is_alone { "" } else { PARTIAL };
                    return Err(Failure::Unread(why.clone(), hint.into()));
                }
                None => of_run.last_mut().into_iter().for_each(|run| run.push((file.clone(), own.clone()))),
            }
        }
        of_run.retain(|run| !run.is_empty());
        if let (true, Some(why)) = (of_run.is_empty(), first) {
            return Err(Failure::Unread(why, String::new()));
        }
        // What is called alike is told apart by whoever sees all.
        let is_split = of_run.iter().all(|run| {
            let names: BTreeSet<&str> = run.iter().map(|(_, own)| own.host.as_str()).collect();
            names.len() == run.len()
        });
        of_run.iter_mut().for_each(|run| survey::place(run));
        let all: Vec<(FileRef, survey::Surveyed)> = of_run.into_iter().flatten().collect();
        let events = all.iter().fold(0_u64, |sum, (_, own)| sum.saturating_add(own.events));
        Ok((all.into_iter().map(|(file, _)| file).collect(), events, is_split))
    }
}

/// A failure of a plan, by what a worker says of files that it may not read.
fn of_workers(error: DataFusionError) -> Failure {
    let message = error.find_root().to_string();
    if let Some((_, why)) = message.split_once(UNREAD) {
        let hint = if why.contains(OUTSIDE) {
            "start the workers with --roots FOLDER (or ADDRESS) that contains it"
        } else {
            ""
        };
        return Failure::Unread(why.to_owned(), hint.into());
    }
    error.into()
}

/// Where rows are gathered.
struct Spool {
    path: PathBuf,
    writer: Option<StreamWriter<BufWriter<File>>>,
    failed: Option<Failure>,
}

impl Spool {
    fn keep(&mut self, outcome: Result<(), Failure>) -> bool {
        self.failed = outcome.err();
        self.failed.is_none()
    }

    fn begin(&mut self, schema: &SchemaRef) -> bool {
        let made = File::create(&self.path).map_err(Failure::from).and_then(|file| {
            let writer =
                StreamWriter::try_new(BufWriter::new(file), schema).map_err(DataFusionError::from)?;
            self.writer = Some(writer);
            Ok(())
        });
        self.keep(made)
    }

    fn batch(&mut self, batch: &RecordBatch) -> bool {
        let Some(writer) = &mut self.writer else { return false };
        let written = writer.write(batch).map_err(|error| DataFusionError::from(error).into());
        self.keep(written)
    }

    fn finish(mut self) -> Result<(), Failure> {
        if let Some(failure) = self.failed.take() {
            return Err(failure);
        }
        if let Some(mut writer) = self.writer.take() {
            writer.finish().map_err(DataFusionError::from)?;
        }
        Ok(())
    }
}
