//! What was asked of `haloscope run`.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use haloscope_capture::Options;

use crate::Failure;
use crate::commands::serve;

/// How long the start of a program is left to itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WarmUp {
    /// Until steps are steady.
    UntilSteady,
    /// This long from the first use of a device.
    Time(Duration),
    /// So many steps from the first that are seen.
    Steps(u32),
}

/// What was asked for.
#[derive(Debug)]
pub(super) struct RunArgs {
    pub program: Vec<OsString>,
    pub out: String,
    pub steps: u32,
    pub warm_up: WarmUp,
    pub max_wait: Duration,
    pub duration: Option<Duration>,
    pub options: Options,
    pub stop_after: bool,
    pub must_capture: bool,
    pub no_overview: bool,
    pub open: bool,
}

pub(super) fn command() -> Command {
    let arg = |id: &'static str, value: &'static str, help: &'static str| {
        Arg::new(id).long(id).value_name(value).help(help)
    };
    let flag =
        |id: &'static str, help: &'static str| Arg::new(id).long(id).action(ArgAction::SetTrue).help(help);
    let level = |id: &'static str, standard: &'static str, help: &'static str| {
        Arg::new(id)
            .long(id)
            .value_name("LEVEL")
            .default_value(standard)
            .value_parser(value_parser!(u32).range(0..=3))
            .help(help)
            .help_heading("Profiler")
    };
    // The page at the end is the server's.
    let page = serve::address_args().map(|arg| match arg.get_id().as_str() {
        "open" => arg.help("Opens the page when the program has ended"),
        _ => arg.hide(true),
    });
    Command::new("run")
        .about("Runs your program, captures its steady state, and shows the overview")
        .after_long_help(
            "The program needs no change: a server starts in it with the first use of a device. Its output and its exit code stay its own; haloscope writes only to stderr.\n\nExample:\n  haloscope run -o logs --steps 20 -- python train.py",
        )
        .arg(
            Arg::new("output")
                .short('o')
                .long("output")
                .value_name("LOGDIR|URL")
                .default_value("haloscope-runs")
                .help("Log folder, or URL, for the session"),
        )
        .arg(
            arg("steps", "N", "Captures this many whole steps")
                .default_value("10")
                .value_parser(value_parser!(u32).range(1..=100_000)),
        )
        .arg(arg(
            "warm-up",
            "TIME|STEPS",
            "Captures after this long, such as 30s or `20 steps`, steady or not [default: when steps are steady and nothing compiles]",
        ))
        .arg(
            arg("max-wait", "TIME", "Captures at the latest after this long, counted from the first use of a device")
                .default_value("10m"),
        )
        .arg(arg("duration", "TIME", "Captures for this long, regardless of steps"))
        .arg(flag("stop-after", "Ends the program after the capture; the exit code is then 0"))
        .arg(flag("must-capture", "Ends with exit code 4 if the program succeeded but nothing was captured"))
        .arg(flag("no-overview", "Prints the session's name instead of the overview"))
        .arg(level("host-tracer-level", "2", "Events of the host's threads, from none (0) to all (3)"))
        .arg(level("device-tracer-level", "1", "Events of devices: 0 none, 1 all"))
        .arg(level("python-tracer-level", "0", "Calls of Python functions: 0 none, 1 all, which slows the host"))
        .arg(
            arg("option", "NAME=VALUE", "Any other option of the profiler, such as tpu_trace_mode=TRACE_COMPUTE; may be repeated")
                .action(ArgAction::Append)
                .help_heading("Profiler"),
        )
        .args(page)
        .arg(
            Arg::new("program")
                .value_name("PROGRAM")
                .required(true)
                .num_args(1..)
                .last(true)
                .value_parser(value_parser!(OsString))
                .help("The program and its arguments, after `--`"),
        )
}

impl RunArgs {
    /// What was asked for.
    ///
    /// # Errors
    /// [`Failure::Usage`] for times and options that cannot be understood.
    pub(super) fn from_matches(matches: &ArgMatches) -> Result<Self, Failure> {
        let word = |id: &str| matches.get_one::<String>(id).map(String::as_str);
        let level = |id: &str| matches.get_one::<u32>(id).copied().unwrap_or_default();
        let usage = |message: String| Failure::Usage(message, String::new());
        let mut options = Options::default();
        options.host_tracer_level = level("host-tracer-level");
        options.device_tracer_level = level("device-tracer-level");
        options.python_tracer_level = level("python-tracer-level");
        for pair in matches.get_many::<String>("option").into_iter().flatten() {
            options.set_pair(pair).map_err(|error| usage(error.to_string()))?;
        }
        let max_wait =
            word("max-wait").map_or(Ok(Duration::from_secs(600)), |text| time("--max-wait", text))?;
        Ok(Self {
            program: matches.get_many::<OsString>("program").into_iter().flatten().cloned().collect(),
            out: word("output").unwrap_or_default().to_owned(),
            steps: matches.get_one::<u32>("steps").copied().unwrap_or(10),
            warm_up: word("warm-up").map_or(Ok(WarmUp::UntilSteady), warm_up)?,
            max_wait,
            duration: word("duration").map(|text| time("--duration", text)).transpose()?,
            options,
            stop_after: matches.get_flag("stop-after"),
            must_capture: matches.get_flag("must-capture"),
            no_overview: matches.get_flag("no-overview"),
            open: matches.get_flag("open"),
        })
    }
}

/// `30s`, `20 steps`, `20`.
fn warm_up(text: &str) -> Result<WarmUp, Failure> {
    let bare = text.trim().trim_end_matches("steps").trim_end_matches("step").trim();
    match bare.parse() {
        Ok(steps) => Ok(WarmUp::Steps(steps)),
        Err(_) => time("--warm-up", text).map(WarmUp::Time),
    }
}

/// `500ms`, `30s`, `1.5m`, `1h`.
fn time(what: &str, text: &str) -> Result<Duration, Failure> {
    let bare = text.trim();
    let split = bare.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(bare.len());
    let (number, unit) = bare.split_at(split);
    let scale = match unit {
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => f64::NAN,
    };
    let seconds = number.trim().parse::<f64>().unwrap_or(f64::NAN) * scale;
    Duration::try_from_secs_f64(seconds).map_err(|_| {
        let message = format!("{what}: expected a time such as 500ms, 30s or 5m, found `{text}`");
        Failure::Usage(message, String::new())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_steps_are_told_apart() {
        assert_eq!(warm_up("20 steps").unwrap(), WarmUp::Steps(20));
        assert_eq!(warm_up("20").unwrap(), WarmUp::Steps(20));
        assert_eq!(warm_up("1.5s").unwrap(), WarmUp::Time(Duration::from_millis(1500)));
        assert_eq!(time("x", "250ms").unwrap(), Duration::from_millis(250));
        assert_eq!(time("x", "2m").unwrap(), Duration::from_secs(120));
        for wrong in ["", "s", "-1s", "1 fortnight", "nan s"] {
            assert!(time("--duration", wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_program_stands_behind_two_dashes() {
        let matches = command()
            .try_get_matches_from(["run", "--steps", "3", "--", "python", "t.py", "--steps", "9"])
            .unwrap();
        let asked = RunArgs::from_matches(&matches).unwrap();
        assert_eq!(asked.steps, 3);
        assert_eq!(asked.program, ["python", "t.py", "--steps", "9"]);
        assert!(command().try_get_matches_from(["run", "python"]).is_err());
    }
}
