//! Opens the runs that a question is about.

use std::path::PathBuf;
use std::sync::Arc;

use haloscope_profile::load;
use haloscope_report::naming;

use crate::failure::Failure;
use crate::printer;
use crate::runs::{self, Run};

/// What to do about a file that cannot be read.
pub(crate) const PARTIAL: &str = "--partial leaves such files out, and lists them";

/// Says which session of several is the newest.
pub(crate) fn say_newest(found: &load::Run) {
    if found.chosen_from > 1 {
        let shown = naming::shown(&found.path);
        printer::note(format_args!("newest of {} sessions: {shown}", found.chosen_from));
    }
}

/// Says what several runs are called.
pub(crate) fn say_names(names: &[String], is_verbose: bool) {
    if is_verbose && names.len() > 1 {
        printer::note(format_args!("runs: {}", names.join(", ")));
    }
}

/// Opens runs.
///
/// # Errors
/// For a run that cannot be opened, or has files that cannot be read; where `is_partial` only if nothing is left.
pub(crate) fn all(
    paths: &[PathBuf],
    is_partial: bool,
    say: &dyn Fn(Said<'_>),
) -> Result<Arc<[Run]>, Failure> {
    let (mut opened, mut failed) = (Vec::new(), None);
    for path in paths {
        let (run, found) = match Run::open(path) {
            Ok(opened) => opened,
            Err(error) if is_partial && paths.len() > 1 => {
                say(Said::LeftOut(&error.to_string()));
                failed.get_or_insert(error);
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        if run.profile.has_parts() {
            let shown = naming::shown(&found.path);
            let message = format!("{shown} is a part of a profile, without the events of some lines");
            return Err(Failure::Usage(message, "ask the profile that `haloscope part` was given".into()));
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
    Found(&'a load::Run),
    /// Something cannot be read, and why.
    LeftOut(&'a str),
}
