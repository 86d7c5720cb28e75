//! `haloscope timeline RUN`: what ran between two times, as tables.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Arg, ArgMatches, Command, value_parser};
use haloscope_profile::load;
use haloscope_report::Error;
use haloscope_timeline::{SliceQuery, Timeline};

use crate::args::{AnalysisArgs, output_args, scope_of};
use crate::output::write;
use crate::run_argument::{find, say_which};
use crate::{Failure, Printer};

pub(super) fn command() -> Command {
    let arg = |id: &'static str, value: &'static str, help: &'static str| {
        Arg::new(id).long(id).value_name(value).help(help).help_heading("Scope")
    };
    Command::new("timeline")
        .about("Lists what ran in a time window: totals by op, then the events")
        .max_term_width(80)
        .after_long_help(
            "Without --window and --steps: a steady step in the middle. `haloscope serve RUN` draws it.\n\n\
             Example:\n  haloscope timeline RUN --devices TPU:0 --window 1ms..2ms",
        )
        .arg(
            Arg::new("run")
                .value_name("RUN")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("Log folder, session folder, .xplane.pb file, or - for stdin"),
        )
        .arg(arg("devices", "NAMES", "Only these devices, as tables print them [default: the first]"))
        .arg(arg("steps", "LIST", "From the first to the last of these steps").allow_hyphen_values(true))
        .arg(
            arg("window", "FROM..TO", "Only this time from the start of the run, such as 1.5ms..20ms")
                .allow_hyphen_values(true),
        )
        .arg(arg(
            "track",
            "WHICH",
            "A kind of track: steps, modules, ops, async, stream, thread; or its number",
        ))
        .arg(arg("name", "TEXT", "Only events whose names contain this"))
        .args(output_args())
}

pub(super) fn run(matches: &ArgMatches, printer: &mut Printer) -> Result<u8, Failure> {
    let word = |id: &str| matches.get_one::<String>(id).cloned();
    let scope = scope_of(matches)?;
    let asked = AnalysisArgs::output(matches)?;
    let path = matches.get_one::<PathBuf>("run").cloned().unwrap_or_default();
    let run = find(&path)?;
    say_which(&run, printer);
    let timeline = Timeline::new(Arc::new(load::open(&run)?));
    let query = SliceQuery {
        devices: scope.devices,
        track: word("track"),
        window_ps: scope.window_ps,
        steps: scope.steps,
        name: word("name"),
        limit: if asked.limit == 0 { usize::MAX } else { asked.limit },
    };
    let slice = timeline.slice(&query).map_err(Error::from)?;
    write(&slice.report(timeline.tracks()), &asked, printer)?;
    Ok(0)
}
