//! `haloscope demo`: what is wrong with a run that comes with the program, and the page over it.

use clap::{Arg, ArgAction, ArgMatches, Command};
use haloscope_analyses as analyses;
use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_report::RunWords;
use haloscope_report::present::{self, Layout};
use haloscope_report::scope::Scope;
use haloscope_store::Store;
use haloscope_time::analysis::{self, Params};

use super::serve;
use crate::{Failure, Printer};

/// A training loop on a TPU whose input comes late: `fixtures/README.md` says how it was made.
const PROFILE: &[u8] = include_bytes!(
    "../../../../fixtures/runs/tpu-input-bound/plugins/profile/2026_01_01_00_00_00/tpu-host.xplane.pb"
);
/// Where it stands in the project, for the commands that are printed.
const RUN: &str = "fixtures/runs/tpu-input-bound";
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
        .args(serve::address_args())
}

pub(super) fn run(matches: &ArgMatches, printer: &mut Printer) -> Result<u8, Failure> {
    diagnosis(&profile()?, printer)?;
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

fn diagnosis(profile: &Profile, printer: &mut Printer) -> Result<(), Failure> {
    let Some(analysis) = analyses::find("diagnose") else { return Ok(()) };
    let report = analysis::run(analysis, profile, &Scope::default(), &Params::default())?;
    let layout = Layout {
        width: printer.width(),
        colour: printer.colour(),
        runs: RunWords { one: RUN, both: "" },
        ..Layout::default()
    };
    printer.data(|out| present::brief(&report, analysis.brief().unwrap_or_default(), &layout, out))
}
