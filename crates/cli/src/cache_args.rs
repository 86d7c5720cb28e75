//! What the command line has of the cache: whether there is one, and what it says when it cannot be written.

use clap::{Arg, ArgAction, ArgMatches};
use haloscope_store::Cache;

use crate::{Failure, Printer};

/// The option that leaves the cache alone.
pub(crate) fn arg() -> Arg {
    Arg::new("no-cache")
        .long("no-cache")
        .action(ArgAction::SetTrue)
        .help("Neither reads nor writes the cache: see `haloscope cache`")
        .help_heading("Output")
}

/// The cache, unless it is off.
///
/// # Errors
/// [`Failure`] for variables of the environment that cannot be understood.
pub(crate) fn cache(matches: &ArgMatches) -> Result<Option<Cache>, Failure> {
    if matches.get_flag("no-cache") {
        return Ok(None);
    }
    Ok(Cache::of_user()?)
}

/// Says what kept the cache from being written, if something did.
pub(crate) fn say_trouble(cache: Option<&Cache>, printer: &mut Printer) {
    if let Some(trouble) = cache.and_then(Cache::trouble) {
        printer.note(format_args!("{trouble}; answers are computed every time"));
    }
}
