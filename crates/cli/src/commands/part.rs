//! `haloscope part RUN -o FOLDER`: what some questions need of each host's profile, as a smaller profile.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use haloscope_analyses::part::{self, USUAL};
use haloscope_profile::load;

use crate::args::{AnalysisArgs, output_args};
use crate::output::write;
use crate::run_argument::{find, say_which};
use crate::to_file::to_file;
use crate::{Failure, Printer};

pub(super) fn command() -> Command {
    Command::new("part")
        .about("Writes the part of each host's file that some questions need")
        .max_term_width(80)
        .after_long_help(
            "A part is a profile with the lines that the named analyses read, and all their events. A folder of parts, one per host, is a run: these analyses give exactly the same answers from it as from the whole files. A question that needs more is refused. The fewer analyses, the smaller the part; with the default it may be as large as the file.\n\n\
             Examples:\n  \
             haloscope part logs/host-7.xplane.pb -o parts\n  \
             haloscope part RUN --analysis hosts --analysis ops -o parts\n  \
             haloscope hosts parts",
        )
        .arg(
            Arg::new("run")
                .value_name("RUN")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("Log folder, session folder, or the file of one host"),
        )
        .arg(
            Arg::new("analysis")
                .long("analysis")
                .value_name("NAME")
                .action(ArgAction::Append)
                .help(format!("An analysis to include; may be repeated [default: {}]", USUAL.join(", "))),
        )
        .arg(
            Arg::new("output")
                .short('o')
                .long("output")
                .value_name("FOLDER")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("The folder for the parts, one file per host; files of other workers there stay"),
        )
        .args(output_args())
}

pub(super) fn run(matches: &ArgMatches, printer: &mut Printer) -> Result<u8, Failure> {
    let asked = AnalysisArgs::output(matches)?;
    let path = matches.get_one::<PathBuf>("run").cloned().unwrap_or_default();
    let folder = matches.get_one::<PathBuf>("output").cloned().unwrap_or_default();
    let named: Vec<&str> =
        matches.get_many::<String>("analysis").unwrap_or_default().map(String::as_str).collect();
    let questions = if named.is_empty() { USUAL } else { named.as_slice() };
    let run = find(&path)?;
    say_which(&run, printer);
    std::fs::create_dir_all(&folder).map_err(|error| Failure::File(folder.clone(), error))?;
    let mut made = Vec::new();
    // One after another: memory is that of one.
    for file in &run.files {
        let profile = load::open(&load::find(file)?)?;
        for part in part::of(&profile, questions)? {
            let to = folder.join(format!("{}.xplane.pb", part.about.host));
            if to.canonicalize().is_ok_and(|to| file.canonicalize().is_ok_and(|file| file == to)) {
                let message = format!("{} is the profile itself", to.display());
                return Err(Failure::Usage(message, "name another folder with -o".into()));
            }
            to_file(&to, |out| out.write_all(&part.bytes))?;
            made.push(part.about);
        }
    }
    write(&part::report(&made), &asked, printer)?;
    Ok(0)
}
