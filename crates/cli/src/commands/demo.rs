//! `haloscope demo`: the overview of a profile that comes with the program, and the page over it.

use clap::{Arg, ArgAction, ArgMatches, Command};
use haloscope_analyses as analyses;
use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_report::present::{self, Layout};
use haloscope_report::scope::Scope;
use haloscope_store::Store;
use haloscope_time::analysis::{self, Params};

use super::serve;
use crate::{Failure, Printer};

/// A JAX training loop on CPU, recorded by `fixtures/record.py`.
const PROFILE: &[u8] =
    include_bytes!("../../../../fixtures/runs/cpu-train/plugins/profile/2026_01_01_00_00_00/host0.xplane.pb");
const NAME: &str = "host0.xplane.pb";

pub(super) fn command() -> Command {
    Command::new("demo")
        .about("Shows the main job on a profile that comes with the program: a small training loop in JAX, on CPU")
        .arg(
            Arg::new("no-serve")
                .long("no-serve")
                .action(ArgAction::SetTrue)
                .help("Prints the overview and ends, without serving the page"),
        )
        .args(serve::address_args())
}

pub(super) fn run(matches: &ArgMatches, printer: &mut Printer) -> Result<u8, Failure> {
    overview(&profile()?, printer)?;
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

fn overview(profile: &Profile, printer: &mut Printer) -> Result<(), Failure> {
    let Some(analysis) = analyses::find("overview") else { return Ok(()) };
    let report = analysis::run(analysis, profile, &Scope::default(), &Params::default())?;
    let layout = Layout { width: printer.width(), colour: printer.colour(), ..Layout::default() };
    printer.data(|out| present::table(&report, &layout, out))
}
