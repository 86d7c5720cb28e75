//! `haloscope export RUN -o FILE`: a part of a run in another tool's format.

use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Command, value_parser};
use haloscope_profile::load;
use haloscope_timeline::export::{Ask, Export, Format, Stacks, Written};

use crate::args::{scope_args, scope_of};
use crate::run_argument::{find, say_which};
use crate::to_file::to_file;
use crate::{Failure, Printer};

pub(super) fn command() -> Command {
    Command::new("export")
        .about("Writes the timeline for other tools: Perfetto, Chrome, speedscope, flame graphs")
        .max_term_width(80)
        .after_long_help(
            "Formats:\n  \
             perfetto    Perfetto's protobuf, for ui.perfetto.dev and its trace processor\n  \
             chrome      trace event JSON, for chrome://tracing and tools that read it\n  \
             folded      one line per stack, weighted by self time in picoseconds\n  \
             speedscope  JSON of speedscope, one profile per track\n\n\
             Events that overlap the window are written in full; weights of folded stacks are cut to it.\n\n\
             Examples:\n  \
             haloscope export RUN -o step.pftrace --steps 5\n  \
             haloscope export RUN -o run.trace.json.gz --tracks 'XLA Ops'\n  \
             haloscope export RUN --to folded --steady --tracks 'XLA Ops' -o - | flamegraph.pl > ops.svg",
        )
        .arg(
            Arg::new("run")
                .value_name("RUN")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("Log folder, session folder, .xplane.pb file, or - for stdin"),
        )
        .arg(
            Arg::new("output")
                .short('o')
                .long("output")
                .value_name("FILE")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("The file to write; compressed if it ends in .gz; `-` is stdout"),
        )
        .arg(
            Arg::new("to")
                .long("to")
                .value_name("FORMAT")
                .value_parser(Format::ALL.map(Format::id))
                .help("The format [default: by the end of the file's name]"),
        )
        .arg(
            Arg::new("tracks")
                .long("tracks")
                .value_name("LIST")
                .help("Only these lines: ids as on the timeline, or parts of names such as `XLA Ops`")
                .help_heading("Scope"),
        )
        .arg(
            Arg::new("stacks")
                .long("stacks")
                .value_name("WHICH")
                .value_parser(["events", "scope"])
                .default_value("events")
                .help("For folded stacks: nested events, or ops by the framework's scope"),
        )
        .args(scope_args())
}

pub(super) fn run(matches: &ArgMatches, printer: &mut Printer) -> Result<u8, Failure> {
    let word = |id: &str| matches.get_one::<String>(id).map(String::as_str);
    let output = matches.get_one::<PathBuf>("output").cloned().unwrap_or_default();
    let format = format(word("to"), &output)?;
    let tracks = word("tracks").unwrap_or_default().split(',').map(str::trim);
    let ask = Ask {
        scope: scope_of(matches)?,
        tracks: tracks.filter(|t| !t.is_empty()).map(str::to_owned).collect(),
        stacks: Stacks::named(word("stacks").unwrap_or("events"))?,
    };
    let path = matches.get_one::<PathBuf>("run").cloned().unwrap_or_default();
    let run = find(&path)?;
    say_which(&run, printer);
    let profile = load::open(&run)?;
    let export = Export::of(&profile, &ask)?;
    if output.as_os_str() == "-" {
        let mut written = Written::default();
        printer.data(|out| {
            written = export.write(format, out)?;
            Ok(())
        })?;
        return Ok(0);
    }
    let packed = output.extension().is_some_and(|e| e == "gz");
    let written =
        to_file(
            &output,
            |out| {
                if packed { export.write_packed(format, out) } else { export.write(format, out) }
            },
        )?;
    let samples =
        if written.samples > 0 { format!(", {} counter values", written.samples) } else { String::new() };
    let (events, tracks) = (written.events, written.tracks);
    printer.note(format_args!("{}: {events} events on {tracks} tracks{samples}", output.display()));
    Ok(0)
}

/// The format asked for, else that of the file's name.
fn format(named: Option<&str>, output: &Path) -> Result<Format, Failure> {
    if let Some(name) = named {
        return Ok(Format::named(name)?);
    }
    Format::of_file(&output.to_string_lossy()).ok_or_else(|| {
        let message = format!("`{}` does not say which format to write", output.display());
        let hint = "add --to perfetto, chrome, folded or speedscope, or end the name in .pftrace, .json, .folded or \
                    .speedscope.json";
        Failure::Usage(message, hint.into())
    })
}
