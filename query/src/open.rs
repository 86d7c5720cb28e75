//! Opens the runs that a question is about.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haloscope_profile::load;
use haloscope_report::{Error, naming, units};
use haloscope_store::{Cache, FarPlace, FarRun, Indexes, Progress, is_elsewhere};

use crate::failure::Failure;
use crate::printer;
use crate::runs::{self, Run};

/// What to do about a file that cannot be read.
pub(crate) const PARTIAL: &str = "--partial leaves such files out, and lists them";

/// A run that was found; nothing of its files was read.
#[derive(Debug, Clone)]
pub(crate) enum Found {
    /// Its files are here.
    Here(load::Run),
    /// They are in a store, or on a web server.
    Elsewhere(FarRun),
}

impl Found {
    /// Finds what an argument stands for.
    ///
    /// # Errors
    /// As [`load::find`] and [`FarPlace::newest`].
    pub(crate) fn at(path: &Path) -> Result<Self, Error> {
        Ok(if is_elsewhere(path) {
            Self::Elsewhere(FarPlace::parse(path)?.newest()?)
        } else {
            Self::Here(load::find(path)?)
        })
    }

    /// What it is called.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Here(run) => runs::name(&run.path),
            Self::Elsewhere(run) => runs::name(Path::new(&run.address())),
        }
    }

    /// The address that it lies at, if it lies at one.
    pub(crate) fn place(&self) -> Option<FarPlace> {
        match self {
            Self::Here(_) => None,
            Self::Elsewhere(run) => Some(run.place()),
        }
    }

    /// The session, and of how many it is the newest.
    fn chosen(&self) -> (String, usize) {
        match self {
            Self::Here(run) => (naming::shown(&run.path), run.chosen_from),
            Self::Elsewhere(run) => (run.address(), run.chosen_from),
        }
    }

    /// Says which session of several is the newest.
    pub(crate) fn say_newest(&self) {
        if let (shown, of @ 2..) = self.chosen() {
            printer::note(format_args!("newest of {of} sessions: {shown}"));
        }
    }

    /// Opens it, once its files are here.
    fn open(&self, cache: Option<&Cache>) -> Result<Run, Error> {
        let run = match self {
            Self::Here(run) => run.clone(),
            Self::Elsewhere(run) => {
                let said = Cell::new(false);
                run.bring(&|progress: Progress| {
                    if !said.replace(true) {
                        let bytes = units::bytes(progress.of as f64);
                        printer::note(format_args!("downloading {}: {bytes}", run.address()));
                    }
                })?
            }
        };
        let (profile, indexes) = match cache {
            Some(cache) => cache.open(&run)?,
            None => (load::open(&run)?, Indexes::default()),
        };
        Ok(Run::of(self.name(), profile).known_by(indexes))
    }
}

/// Says what several runs are called.
pub(crate) fn say_names(names: &[String], is_verbose: bool) {
    if is_verbose && names.len() > 1 {
        printer::note(format_args!("runs: {}", names.join(", ")));
    }
}

/// Finds runs and opens them, with what `cache` knows of their files.
///
/// # Errors
/// For a run that cannot be opened, or has files that cannot be read; where `is_partial` only if nothing is left.
pub(crate) fn all(
    paths: &[PathBuf],
    is_partial: bool,
    cache: Option<&Cache>,
    say: &dyn Fn(Said<'_>),
) -> Result<Arc<[Run]>, Failure> {
    each(paths.iter().map(|path| Found::at(path)), is_partial, cache, say)
}

/// Opens runs as they were found.
///
/// # Errors
/// As [`all`].
pub(crate) fn each(
    all: impl ExactSizeIterator<Item = Result<Found, Error>>,
    is_partial: bool,
    cache: Option<&Cache>,
    say: &dyn Fn(Said<'_>),
) -> Result<Arc<[Run]>, Failure> {
    let (mut opened, mut failed, many) = (Vec::new(), None, all.len());
    for found in all {
        let opening = found.and_then(|found| Ok((found.open(cache)?, found)));
        let (run, found) = match opening {
            Ok(opened) => opened,
            Err(error) if is_partial && many > 1 => {
                say(Said::LeftOut(&error.to_string()));
                failed.get_or_insert(error);
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        if run.profile.has_parts() {
            let shown = found.chosen().0;
            let message = format!("{shown} is a part of a profile, without the events of some lines");
            return Err(Failure::Usage(message, "query the profile that `haloscope part` was given".into()));
        }
        if !is_partial && let Some(why) = run.profile.left_out.first() {
            return Err(Failure::Unread(why.clone(), PARTIAL.into()));
        }
        say(Said::Found(&found));
        run.profile.left_out.iter().for_each(|why| say(Said::LeftOut(why)));
        opened.push(run);
    }
    if let (true, Some(error)) = (opened.is_empty(), failed) {
        return Err(error.into());
    }
    runs::tell_apart(&mut opened);
    Ok(opened.into())
}

/// What is said while runs are opened.
pub(crate) enum Said<'a> {
    /// A run was found.
    Found(&'a Found),
    /// Something cannot be read, and why.
    LeftOut(&'a str),
}
