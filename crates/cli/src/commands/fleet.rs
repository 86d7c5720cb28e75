//! `haloscope fleet PLACE`: many runs, a row each. What was read of one is kept, so that the next time only new sessions are read.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, value_parser};
use haloscope_store::{Since, Store, since};

use super::serve::store_failure;
use crate::args::{AnalysisArgs, output_args};
use crate::output::write;
use crate::{Failure, Printer, cache_args};

pub(super) fn command() -> Command {
    Command::new("fleet")
        .about("Lists the runs in a folder or bucket: step time, MFU, first cause")
        .max_term_width(80)
        .after_help(
            "Examples:\n  haloscope fleet gs://bucket/runs --since 7d\n  haloscope fleet logs --format csv > runs.csv",
        )
        .arg(
            Arg::new("place")
                .value_name("PLACE")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("Log folder with many sessions, here or in a bucket (gs://, s3://, az://)"),
        )
        .arg(
            Arg::new("since")
                .long("since")
                .value_name("TIME")
                .value_parser(since)
                .help("Only runs written since then: 7d, 12h, 30m, or a time such as 2026-11-22T10:45:12Z"),
        )
        .args(output_args())
        .arg(cache_args::arg())
}

pub(super) fn run(matches: &ArgMatches, printer: &mut Printer) -> Result<u8, Failure> {
    let asked = AnalysisArgs::output(matches)?;
    let place = matches.get_one::<PathBuf>("place").cloned().unwrap_or_default();
    let cache = cache_args::cache(matches)?;
    let store = Store::new(&place).map_err(store_failure)?.with_cache(cache);
    let since = matches.get_one::<Since>("since").copied();
    let fleet = store.fleet(since, |info, number, all| {
        printer.note(format_args!("reading {} ({number} of {all})", info.name));
    });
    let fleet = fleet.map_err(store_failure)?;
    if fleet.runs.is_empty() {
        let name = &fleet.place;
        let (what, hint) = match fleet.in_all {
            0 => (format!("no profile in {name}"), "give the folder that was given to the profiler"),
            in_all => (format!("none of the {in_all} runs in {name} is that new"), "use a longer --since"),
        };
        return Err(Failure::Nothing(what, hint.into()));
    }
    cache_args::say_trouble(store.cache(), printer);
    write(&fleet.report(), &asked, printer)?;
    Ok(0)
}
