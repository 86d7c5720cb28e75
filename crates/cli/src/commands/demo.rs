//! `haloscope demo`: what is wrong with a run that comes with the program, and the page over it.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use haloscope_analyses as analyses;
use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_report::present::{self, Layout};
use haloscope_report::scope::Scope;
use haloscope_report::{RunWords, quoted};
use haloscope_store::Store;
use haloscope_time::analysis::{self, Params};

use super::serve;
use crate::to_file::to_file;
use crate::{Failure, Printer};

/// A training loop on a TPU whose input comes late: a copy of the fixture, which `cargo xtask fixtures` writes too.
const PROFILE: &[u8] = include_bytes!("../../demo/tpu-host.xplane.pb");
/// Where the fixture stands in the project, for the commands that are printed there.
const RUN: &str = "fixtures/runs/tpu-input-bound";
/// Where a profiler would have put the profile, below a log folder.
const SESSION: &str = "plugins/profile/2026_01_01_00_00_00";
const NAME: &str = "tpu-host.xplane.pb";

pub(super) fn command() -> Command {
    Command::new("demo")
        .about("Shows why an example training run on a TPU is slow, and how to fix it")
        .arg(
            Arg::new("no-serve")
                .long("no-serve")
                .action(ArgAction::SetTrue)
                .help("Prints the diagnosis without serving the page"),
        )
        .arg(
            Arg::new("save")
                .long("save")
                .value_name("DIR")
                .value_parser(value_parser!(PathBuf))
                .help("Also writes the example into this folder, as a profiler would"),
        )
        .args(serve::address_args())
}

pub(super) fn run(matches: &ArgMatches, printer: &mut Printer) -> Result<u8, Failure> {
    let saved = matches.get_one::<PathBuf>("save");
    if let Some(folder) = saved {
        save(folder)?;
    }
    let run = saved.map(|folder| quoted(&folder.display().to_string()));
    let run = run.or_else(|| Path::new(RUN).is_dir().then(|| RUN.to_owned()));
    diagnosis(&profile()?, run.as_deref().unwrap_or(RunWords::default().one), printer)?;
    if run.is_none() {
        printer.note("`haloscope demo --save DIR` writes the example: RUN is that folder");
    }
    if matches.get_flag("no-serve") {
        return Ok(0);
    }
    printer.data(|out| writeln!(out))?;
    let store = Store::in_memory();
    store.add("demo", profile()?);
    serve::listen(matches, store, printer)
}

fn profile() -> Result<Profile, Failure> {
    Ok(load::from_bytes(NAME, PROFILE.to_vec())?)
}

/// Writes the example as a log folder.
fn save(folder: &Path) -> Result<(), Failure> {
    let session = folder.join(SESSION);
    fs::create_dir_all(&session).map_err(|error| Failure::File(session.clone(), error))?;
    to_file(&session.join(NAME), |out| out.write_all(PROFILE))
}

fn diagnosis(profile: &Profile, run: &str, printer: &mut Printer) -> Result<(), Failure> {
    let Some(analysis) = analyses::find("diagnose") else { return Ok(()) };
    let report = analysis::run(analysis, profile, &Scope::default(), &Params::default())?;
    let layout = Layout {
        width: printer.width(),
        colour: printer.colour(),
        runs: RunWords { one: run, both: "" },
        ..Layout::default()
    };
    printer.data(|out| present::brief(&report, analysis.brief().unwrap_or_default(), &layout, out))
}
