//! `haloscope run -- PROGRAM`: starts a program with a profiler server, captures its steady state, shows the overview.
//!
//! What is said goes to stderr: stdout is the program's own.

mod args;
mod child;
mod shim;
mod signals;
mod steady;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{io, thread};

use clap::{ArgMatches, Command};
use haloscope_analyses as analyses;
use haloscope_capture::{Captured, Destination, Error, Request, Silent, Stop};
use haloscope_profile::load;
use haloscope_report::Finding;
use haloscope_report::present::{self, Layout};
use haloscope_report::scope::Scope;
use haloscope_report::units;
use haloscope_store::Store;
use haloscope_time::analysis::{self, Params};

use super::serve;
use crate::{Failure, Printer};
use args::RunArgs;
use child::Child;
use shim::Shim;
use steady::{Found, Looks};

/// How long a capture of steps may become; longer ones are asked for with `--duration`.
const LONGEST: Duration = Duration::from_secs(120);
/// Shorter captures hold less than they cost.
const SHORTEST: Duration = Duration::from_millis(100);
/// How often a busy profiler is asked again.
const TRIES: u32 = 3;

pub(super) fn command() -> Command {
    args::command()
}

pub(super) fn run(matches: &ArgMatches, printer: &mut Printer) -> Result<u8, Failure> {
    // What the program writes stands on the same terminal.
    printer.without_pager();
    let asked = RunArgs::from_matches(matches)?;
    let shim = Shim::new().map_err(|error| Failure::File(std::env::temp_dir(), error))?;
    let child = Child::start(&asked.program, &shim.environment(&asked))?;
    let stop = Stop::new();
    let is_interrupted = AtomicBool::new(false);
    let (captured, code) = thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let code = child.wait();
            // Nobody is there any more to be captured.
            stop.stop();
            code
        });
        let signals = signals::forward(scope, &child, &stop, &is_interrupted);
        let captured = capture(&asked, &shim, &child, &stop, printer);
        if let Ok(captured) = &captured {
            if asked.stop_after && !stop.is_stopped() {
                printer.note("ending the program, as --stop-after asks");
                child.end();
            }
            say_captured(captured, &asked, printer);
        }
        let code = waiter.join().unwrap_or(Ok(70));
        signals.end();
        (captured, code)
    });
    let code = code.map_err(|error| Failure::File(PathBuf::from(&asked.program[0]), error))?;
    let interrupted = is_interrupted.load(Ordering::Relaxed);
    match captured {
        Err(why) => {
            printer.talk(format_args!("haloscope: nothing was captured: {}\n", why.message));
            if !why.hint.is_empty() && !interrupted {
                printer.talk(format_args!("hint: {}\n", why.hint));
            }
            Ok(if code == 0 && asked.must_capture { 4 } else { code })
        }
        Ok(captured) if asked.open && !interrupted => {
            open_page(matches, &captured, &asked, printer)?;
            Ok(code)
        }
        Ok(_) if asked.stop_after && !interrupted => Ok(0),
        Ok(_) => Ok(code),
    }
}

/// Why nothing was captured.
struct Nothing {
    message: String,
    hint: String,
}

impl Nothing {
    fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }
}

/// Waits for the program's servers and its steady state, and captures it.
fn capture(
    asked: &RunArgs,
    shim: &Shim,
    child: &Child,
    stop: &Stop,
    printer: &mut Printer,
) -> Result<Captured, Nothing> {
    let destination = Destination::parse(&asked.out).map_err(|error| Nothing::new(error.to_string(), ""))?;
    let mut looks = Looks::new(asked, shim, stop);
    let found = looks.until_steady(printer).map_err(|why| explain(&why, shim, child))?;
    let duration = match (&found, asked.duration) {
        (_, Some(duration)) => duration,
        (Found::Steps(period_ps) | Found::Compiling(_, period_ps), None) => length(asked.steps, *period_ps),
        (Found::NoSteps | Found::OpByOp, None) => Duration::from_secs(2),
    };
    let servers = shim.servers().addresses();
    let whose = if servers.len() == 1 { String::new() } else { format!(" of {} processes", servers.len()) };
    match &found {
        Found::Steps(period_ps) => printer.note(format_args!(
            "steps are steady at {}; capturing {}{whose}",
            units::duration_ps(*period_ps as f64),
            seconds(duration)
        )),
        Found::Compiling(compiled, _) => printer.note(format_args!(
            "there is no steady state: {} was compiled {} times within {}, for {} of it, and compiling goes on; capturing {}{whose}",
            if compiled.name.is_empty() { "a function" } else { &compiled.name },
            compiled.times,
            of_seconds(compiled.span),
            of_seconds(compiled.seconds),
            seconds(duration)
        )),
        Found::OpByOp => printer.note(format_args!(
            "the program runs its ops one by one, so no launch shows where a step begins: put the step into a jax.jit, or mark it with jax.profiler.StepTraceAnnotation; capturing {}{whose}",
            seconds(duration)
        )),
        Found::NoSteps => {
            printer.note(format_args!("found no steps; capturing {}{whose}", seconds(duration)));
        }
    }
    let compiled = shim.compiled().count;
    let mut request = Request { duration, options: asked.options.clone(), ..Request::new(servers) };
    let mut tries = 0;
    loop {
        tries += 1;
        match haloscope_capture::capture(&request, &destination, &Silent, stop) {
            Ok(captured) => {
                let more = shim.compiled().count.saturating_sub(compiled);
                if let (Found::Steps(_), 1..) = (&found, more) {
                    printer.note(format_args!(
                        "the program compiled {more} time{} while it was captured: steps that ran during a compilation are not the steady state",
                        if more == 1 { "" } else { "s" }
                    ));
                }
                return Ok(captured);
            }
            Err(_) if stop.is_stopped() => return Err(explain(&steady::Why::Stopped, shim, child)),
            // The program may profile itself, or start a server of its own in place of ours.
            Err(Error::Busy { .. } | Error::Refused { .. } | Error::Died { .. }) if tries < TRIES => {
                thread::sleep(Duration::from_secs(1));
                request.servers = shim.servers().addresses();
            }
            Err(error) => return Err(Nothing::new(error.to_string(), error.hint().unwrap_or_default())),
        }
    }
}

/// The time in which so many whole steps fit: one more, for those that are cut at both ends, and a little.
fn length(steps: u32, period_ps: i64) -> Duration {
    let nanos = period_ps.max(0) as f64 / 1e3 * (f64::from(steps) + 1.0) * 1.05;
    Duration::from_nanos(nanos as u64).clamp(SHORTEST, LONGEST)
}

/// What went wrong, with what the program's side knows of it.
fn explain(why: &steady::Why, shim: &Shim, child: &Child) -> Nothing {
    let after = seconds(child.age());
    let seen = shim.seen();
    let (message, hint) = match (why, seen.failure.as_deref(), seen.frameworks.as_slice(), seen.has_server) {
        (steady::Why::Failed(error), ..) => (error.clone(), ""),
        (_, Some(failure), _, false) => (
            format!("the program's profiler server could not start: {failure}"),
            "start one in the program (jax.profiler.start_server(9999)) and use `haloscope capture localhost:9999`",
        ),
        (_, _, [], _) => (
            format!("the program ended after {after} without importing JAX, PyTorch/XLA or TensorFlow"),
            "a Python program finds the server through PYTHONPATH: it must not run with -I, -E or -S, and its launcher must pass \
             the environment on",
        ),
        (_, _, frameworks, false) => (
            format!(
                "the program ended after {after}: it imported {}, but ran nothing on a device",
                frameworks.join(", ")
            ),
            "the server starts with the first use of a device",
        ),
        (_, _, _, true) => (
            format!("the program ended after {after}, before its steps were steady and captured"),
            "run more steps, or capture sooner: --warm-up 0s, and fewer --steps",
        ),
    };
    Nothing::new(message, hint)
}

/// Names the session and shows its overview.
fn say_captured(captured: &Captured, asked: &RunArgs, printer: &mut Printer) {
    printer.talk(format_args!("haloscope: captured {}\n", captured.path));
    for remark in &captured.remarks {
        printer.note(remark);
    }
    // In an object store it is nothing to read at once.
    if asked.no_overview || !Path::new(&captured.path).exists() {
        return;
    }
    match overview(Path::new(&captured.path), printer) {
        Ok(text) => printer.talk(text),
        Err(failure) => printer.failure(&failure),
    }
    printer.talk(format_args!("haloscope: `haloscope diagnose {}` says why it is slow\n", captured.path));
    if asked.options.python_tracer_level == 0 && has_culprit(Path::new(&captured.path)) == Some(false) {
        printer.note(
            "this capture shows no cause; with `--python-tracer-level 1` it also records calls of Python functions and shows what the host does meanwhile",
        );
    }
}

/// Findings of `diagnose` that say where time goes and not what it comes from.
const SYMPTOMS: [&str; 6] =
    ["launch_bound", "host_bound", "idle_inside", "step_jitter", "low_mfu_explained", "diluted_averages"];
/// A cause that gives less than this is none to speak of.
const WORTH: f64 = 1.05;

/// Whether `diagnose` names a cause that is worth something; `None` where it has no answer.
fn has_culprit(session: &Path) -> Option<bool> {
    let analysis = analyses::find("diagnose")?;
    let profile = load::find(session).and_then(|run| load::open(&run)).ok()?;
    let report = analysis::run(analysis, &profile, &Scope::default(), &Params::default()).ok()?;
    let is_cause = |finding: &Finding| {
        finding.speedup.is_some_and(|speedup| speedup >= WORTH) && !SYMPTOMS.contains(&finding.id)
    };
    Some(report.findings.iter().any(is_cause))
}

fn overview(session: &Path, printer: &Printer) -> Result<String, Failure> {
    let Some(analysis) = analyses::find("overview") else { return Ok(String::new()) };
    let profile = load::open(&load::find(session)?)?;
    let report = analysis::run(analysis, &profile, &Scope::default(), &Params::default())?;
    let mut text = Vec::new();
    let layout = Layout { width: printer.width(), colour: false, limit: 5, ..Layout::default() };
    present::table(&report, &layout, &mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Serves the page over the log folder, once the program is gone.
fn open_page(
    matches: &ArgMatches,
    captured: &Captured,
    asked: &RunArgs,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let folder = Path::new(&asked.out);
    if !folder.is_dir() {
        printer.note(format_args!("the page is not opened: {} is not a folder here", captured.path));
        return Ok(());
    }
    let store = Store::new(folder).map_err(|error| Failure::Server(error.to_string()))?;
    serve::listen(matches, store, printer).map(drop)
}

/// The same of seconds.
fn of_seconds(seconds: f64) -> String {
    units::duration_ps(seconds * 1e12)
}

/// `2.5 s`.
fn seconds(duration: Duration) -> String {
    units::duration_ps(duration.as_nanos() as f64 * 1e3)
}

/// What the system says where something of ours cannot be made.
fn denied(what: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_is_long_enough_for_its_steps() {
        // 10 steps of 100 ms: eleven periods and five per cent.
        assert_eq!(length(10, 100_000_000_000), Duration::from_millis(1155));
        assert_eq!(length(1, 1), SHORTEST);
        assert_eq!(length(1000, 10_000_000_000_000), LONGEST);
    }
}
