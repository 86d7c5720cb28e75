//! `haloscope index RUN`: writes down now what later questions need of a run, so that none of them reads the profile again.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, value_parser};
use haloscope_report::naming;
use haloscope_report::units;
use haloscope_store::Cache;

use crate::run_argument::{find, say_which};
use crate::{Failure, Printer};

pub(super) fn command() -> Command {
    Command::new("index")
        .about("Indexes a run in the cache, so that later commands do not read the profile again")
        .arg(
            Arg::new("run")
                .value_name("RUN")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("Log folder, session folder or .xplane.pb file"),
        )
        .after_help(
            "The second question about a run indexes it, and a server does so in the background; this command does it now. `haloscope cache` shows what is kept",
        )
}

pub(super) fn run(matches: &ArgMatches, printer: &mut Printer) -> Result<u8, Failure> {
    let Some(path) = matches.get_one::<PathBuf>("run") else { return Ok(2) };
    let Some(cache) = Cache::of_user()? else {
        let hint = "HALOSCOPE_CACHE is `off`, or the user has no home; set it to a folder";
        return Err(Failure::Usage("there is no cache to write to".into(), hint.into()));
    };
    let run = find(path)?;
    say_which(&run, printer);
    let (profile, indexes) = cache.open(&run)?;
    if indexes.is_empty() {
        let hint = "only files .xplane.pb that were written more than two seconds ago are indexed";
        return Err(Failure::Nothing(
            format!("{} has nothing to index", naming::shown(&run.path)),
            hint.into(),
        ));
    }
    let written = cache.build(&profile, &indexes, &|| true);
    let written = written.map_err(|error| Failure::File(cache.folder().to_owned(), error))?;
    let (files, folder) = (indexes.len(), cache.folder().display());
    let word = if files == 1 { "file" } else { "files" };
    printer.data(|out| match written {
        0 => writeln!(out, "{files} {word}: nothing was missing in {folder}"),
        bytes => writeln!(out, "{files} {word}: wrote {} to {folder}", units::bytes(bytes as f64)),
    })?;
    Ok(0)
}
