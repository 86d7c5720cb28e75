//! `haloscope slice` and `haloscope redact`: profiles to hand on, for bug reports and for those who may not see names.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, value_parser};
use flate2::Compression;
use flate2::write::GzEncoder;
use haloscope_profile::{Profile, load};
use haloscope_report::{Report, Status, Table, Unit, Value, row, units};
use haloscope_timeline::share::{Redaction, Replaced, slices};

use crate::args::{AnalysisArgs, output_args, scope_args, scope_of};
use crate::output::write;
use crate::run_argument::{find, say_which};
use crate::to_file::to_file;
use crate::{Failure, Printer};

fn run_arg() -> Arg {
    Arg::new("run")
        .value_name("RUN")
        .required(true)
        .value_parser(value_parser!(PathBuf))
        .help("Log folder, session folder, .xplane.pb file, or - for stdin")
}

fn output_arg() -> Arg {
    Arg::new("output")
        .short('o')
        .long("output")
        .value_name("FILE")
        .required(true)
        .value_parser(value_parser!(PathBuf))
        .help("The profile to write, compressed if it ends in .gz; for several hosts, a new log folder")
}

pub(super) fn slice_command() -> Command {
    Command::new("slice")
        .about("Writes a part of a run as a smaller profile")
        .max_term_width(80)
        .after_long_help(
            "Device events that overlap the part stay whole; events of host threads are cut to it. Programs that did not run in it are left out.\n\n\
             Examples:\n  \
             haloscope slice RUN --steps 3-5 -o small.xplane.pb\n  \
             haloscope slice RUN --window 1ms..20ms --hosts w-0 -o small.xplane.pb.gz",
        )
        .arg(run_arg())
        .arg(output_arg())
        .args(scope_args().into_iter().filter(|arg| arg.get_id() != "modules"))
}

pub(super) fn redact_command() -> Command {
    Command::new("redact")
        .about("Writes a run with its names replaced, to share it")
        .max_term_width(80)
        .after_long_help(
            "Replaces names of functions, modules, scopes, kernels, threads, hosts and source files, each by the same word everywhere. Words of profilers, compilers and frameworks stay, and so do structure, times, shapes, names of flags and the values of constants in programs. The list of replaced words goes to stdout: keep it private.\n\n\
             Examples:\n  \
             haloscope redact RUN -o shareable.xplane.pb\n  \
             haloscope redact RUN -o shareable.xplane.pb --format csv > names.csv",
        )
        .arg(run_arg())
        .arg(output_arg())
        .args(output_args())
}

fn open(matches: &ArgMatches, printer: &mut Printer) -> Result<Profile, Failure> {
    let path = matches.get_one::<PathBuf>("run").cloned().unwrap_or_default();
    let run = find(&path)?;
    say_which(&run, printer);
    let profile = load::open(&run)?;
    if profile.is_program() || profile.is_flags() {
        let hint = "for a compiled program, edit its HLO text and remove what you do not want to show";
        return Err(Failure::Nothing("this is not a profile: it has no events".into(), hint.into()));
    }
    if profile.has_parts() {
        let message = "this is a part of a profile, without the events of some lines";
        return Err(Failure::Nothing(
            message.into(),
            "give the profile that `haloscope part` was given".into(),
        ));
    }
    Ok(profile)
}

pub(super) fn slice(matches: &ArgMatches, printer: &mut Printer) -> Result<u8, Failure> {
    let scope = scope_of(matches)?;
    let profile = open(matches, printer)?;
    let parts = slices(&profile, &scope)?;
    profile.unchanged()?;
    let events: u64 = parts.iter().map(|part| part.events).sum();
    let files: Vec<(String, Vec<u8>)> = parts.into_iter().map(|part| (part.host, part.bytes)).collect();
    put(matches, &files, "slice", "name a new folder with -o, or one host with --hosts")?;
    say(matches, &files, &format!("{events} events"), printer);
    Ok(0)
}

pub(super) fn redact(matches: &ArgMatches, printer: &mut Printer) -> Result<u8, Failure> {
    let mut asked = AnalysisArgs::output(matches)?;
    // The list is the only way back from the names: all of it, unless less is asked for.
    if matches.value_source("limit").is_none_or(|source| source == ValueSource::DefaultValue) {
        asked.limit = 0;
    }
    let profile = open(matches, printer)?;
    let redaction = Redaction::of(&profile);
    profile.unchanged()?;
    let files: Vec<(String, Vec<u8>)> =
        redaction.files.into_iter().map(|file| (file.host, file.bytes)).collect();
    put(matches, &files, "redacted", "name a new folder with -o")?;
    say(matches, &files, &format!("{} words replaced", redaction.replaced.len()), printer);
    write(&report(redaction.replaced), &asked, printer)?;
    Ok(0)
}

/// What was replaced, as a table.
fn report(replaced: Vec<Replaced>) -> Report {
    let count = Value::new(
        "replaced_count",
        "Words replaced",
        Some(replaced.len()),
        Unit::Count,
        Status::Measured,
        "Different words of the run that were replaced in the output.",
    );
    let rows = replaced.into_iter().map(|one| {
        row![
            text("kind", "Kind", "Where it occurred first: host, path, name.", one.kind.word()),
            text("word", "Word", "The word in the run.", one.word),
            text("replacement", "Replacement", "The word in the output.", one.by),
        ]
    });
    let table = Table::of("replaced", "What was replaced", rows);
    Report { analysis: "redact", values: vec![count], tables: vec![table], ..Report::default() }
}

/// Writes one file, or of several hosts a log folder with a session.
fn put(matches: &ArgMatches, files: &[(String, Vec<u8>)], session: &str, hint: &str) -> Result<(), Failure> {
    let output = matches.get_one::<PathBuf>("output").cloned().unwrap_or_default();
    let name = output.to_string_lossy().into_owned();
    if let [(_, bytes)] = files {
        return one(&output, bytes);
    }
    if name.ends_with(".pb") || name.ends_with(".gz") {
        let message = format!("the run has {} hosts, each with its own file", files.len());
        return Err(Failure::Usage(message, hint.into()));
    }
    let folder = output.join("plugins/profile").join(session);
    if fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_some()) {
        let message = format!("{} has a run already: both would be read as one", folder.display());
        return Err(Failure::Usage(message, "name a new folder with -o".into()));
    }
    fs::create_dir_all(&folder).map_err(|error| Failure::File(folder.clone(), error))?;
    files.iter().try_for_each(|(host, bytes)| one(&folder.join(format!("{host}.xplane.pb")), bytes))
}

fn one(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    to_file(path, |out| {
        if path.extension().is_none_or(|e| e != "gz") {
            return out.write_all(bytes);
        }
        let mut packed = GzEncoder::new(out, Compression::default());
        packed.write_all(bytes)?;
        packed.finish().map(drop)
    })
}

fn say(matches: &ArgMatches, files: &[(String, Vec<u8>)], what: &str, printer: &mut Printer) {
    let output = matches.get_one::<PathBuf>("output").cloned().unwrap_or_default();
    let size = files.iter().map(|(_, bytes)| bytes.len() as f64).sum();
    printer.note(format_args!("{}: {what}, {}", output.display(), units::bytes(size)));
}
