//! `haloscope capture HOST:PORT -o LOGDIR`: profiles running programs.

mod condition;
mod continuous;
mod every;
mod explain;
mod interrupt;
mod options;
mod session;
mod show;
mod time;
mod when;

use clap::{ArgMatches, Command};
use haloscope_capture::{Captured, Stop, capture, monitor};

use crate::args::AnalysisArgs;
use crate::{Failure, Printer};
use options::CaptureArgs;
use show::Show;

/// Help is no wider than this.
const HELP_WIDTH: usize = 80;

pub(super) fn command() -> Command {
    Command::new("capture")
        .about("Profiles running programs, and shows the overview")
        .max_term_width(HELP_WIDTH)
        .after_long_help(
            "The program must run a profiler server: jax.profiler.start_server(9999), or the same of torch_xla or TensorFlow. Servers given together start at the same time and make one session, complete or not at all.\n\n\
             Examples:\n  \
             haloscope capture localhost:9999 -o /tmp/logs\n  \
             haloscope capture w-0:9999,w-1:9999 -o gs://bucket/logs --duration 2s --no-overview\n  \
             haloscope capture localhost:9999 -o logs --tpu-trace-mode TRACE_COMPUTE_AND_SYNC --option key=value\n  \
             haloscope capture localhost:9999 -o logs --every 10m\n  \
             haloscope capture localhost:9999 -o logs --when 'step_time>1.2x'\n  \
             haloscope capture localhost:9999 --continuous start",
        )
        .args(options::args())
        .arg(explain::arg())
        .args(crate::args::output_args())
}

pub(super) fn run(matches: &ArgMatches, printer: &mut Printer) -> Result<u8, Failure> {
    if let Some(question) = matches.get_one::<String>("explain") {
        return explain::run(question, printer);
    }
    // More may follow what is shown, and nobody may be there to leave a pager.
    printer.without_pager();
    let ask = CaptureArgs::from_matches(matches)?;
    if ask.is_monitor {
        return watch(&ask, printer);
    }
    if let Some(action) = &ask.continuous {
        return continuous::run(action, &ask, printer);
    }
    let stop = Stop::new();
    interrupt::ends(&stop);
    if let Some(condition) = &ask.when {
        return when::run(condition, &ask, &stop, printer);
    }
    if let Some(period) = ask.every {
        return every::run(period, &ask, &stop, printer);
    }
    let captured = one(&ask, &stop)?;
    shown(&captured, &ask.output, ask.is_overview, printer)?;
    Ok(0)
}

/// One session.
///
/// # Errors
/// As [`capture`].
fn one(ask: &CaptureArgs, stop: &Stop) -> Result<Captured, Failure> {
    let show = Show::new();
    Ok(capture(&ask.request, &ask.destination, &show, stop)?)
}

/// Says where a session lies, and prints its overview or, where none is wanted or can be had, its path. That there is none is no failure.
fn shown(
    captured: &Captured,
    output: &AnalysisArgs,
    is_overview: bool,
    printer: &mut Printer,
) -> Result<(), Failure> {
    for remark in &captured.remarks {
        printer.note(remark);
    }
    if !is_overview {
        return printer.data(|out| writeln!(out, "{}", captured.path));
    }
    printer.note(format_args!("session {}", captured.path));
    let Some(run) = session::here(captured)? else {
        printer.note("no overview: the session is not on this machine");
        return printer.data(|out| writeln!(out, "{}", captured.path));
    };
    match session::overview(&run) {
        Ok(report) => crate::output::write(&report, output, printer),
        // The session was taken, which is what was asked for.
        Err(failure) => {
            every::say(&failure, printer);
            printer.data(|out| writeln!(out, "{}", captured.path))
        }
    }
}

/// What the servers say of themselves.
fn watch(ask: &CaptureArgs, printer: &mut Printer) -> Result<u8, Failure> {
    for server in &ask.request.servers {
        let said = monitor(server, ask.request.duration, ask.monitor_level)?;
        let is_alone = ask.request.servers.len() == 1;
        printer.data(|out| {
            if !is_alone {
                writeln!(out, "{server}")?;
            }
            writeln!(out, "{}", said.trim_end())
        })?;
    }
    Ok(0)
}
