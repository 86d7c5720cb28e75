//! `haloscope report RUN -o report.html`: one file that needs neither server nor network.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Arg, ArgMatches, Command, value_parser};
use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_report::Report;
use haloscope_report::present::{self, Layout};
use haloscope_report::scope::Scope;

use crate::args::{scope_args, scope_of};
use crate::run_argument::{find, run_name, say_which};
use crate::to_file::to_file;
use crate::{Failure, Printer};

pub(super) fn command() -> Command {
    Command::new("report")
        .about("Writes one HTML file that shows a run: no server, no network")
        .max_term_width(80)
        .after_help("Example:\n  haloscope report RUN -o report.html")
        .arg(
            Arg::new("run")
                .value_name("RUN")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("Log folder, session folder or .xplane.pb file"),
        )
        .arg(
            Arg::new("output")
                .short('o')
                .long("output")
                .value_name("FILE")
                .default_value("report.html")
                .value_parser(value_parser!(PathBuf))
                .help("The file to write; `-` is stdout"),
        )
        .args(scope_args())
}

pub(super) fn run(matches: &ArgMatches, printer: &mut Printer) -> Result<u8, Failure> {
    let scope = scope_of(matches)?;
    let path = matches.get_one::<PathBuf>("run").cloned().unwrap_or_default();
    let run = find(&path)?;
    say_which(&run, printer);
    let profile = Arc::new(load::open(&run)?);
    let name = run_name(&run.path);
    let page = report_page(&profile, &scope, &name)?;
    let write = |out: &mut dyn Write| out.write_all(&page);
    let output = matches.get_one::<PathBuf>("output").cloned().unwrap_or_default();
    if output.as_os_str() == "-" {
        printer.data(write)?;
    } else {
        to_file(&output, write)?;
        printer.note(format_args!("{} is written; open it in a browser", output.display()));
    }
    Ok(0)
}

/// What `haloscope report` writes of a run that is open; `name` is what the page calls it.
///
/// # Errors
/// [`Failure`] for a scope that does not fit, a file that changed meanwhile, and a build without the page.
pub fn report_page(profile: &Arc<Profile>, scope: &Scope, name: &str) -> Result<Vec<u8>, Failure> {
    Ok(haloscope_serve::report_page(profile, scope, name)?)
}

/// A report as HTML that runs nothing and loads nothing, for a page of somebody else: its Markdown, with as many rows of each table.
///
/// # Errors
/// [`Failure::Output`] where it cannot be written.
pub fn report_fragment(report: &Report, limit: usize) -> Result<String, Failure> {
    let mut out = Vec::new();
    present::markdown(report, &Layout { limit, ..Layout::default() }, &mut out)?;
    Ok(haloscope_serve::markdown_fragment(&String::from_utf8_lossy(&out)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_called_after_its_log_folder_too() {
        assert_eq!(run_name("/x/train/plugins/profile/2026".as_ref()), "train/2026");
        assert_eq!(run_name("/x/a.xplane.pb".as_ref()), "a.xplane.pb");
    }
}
