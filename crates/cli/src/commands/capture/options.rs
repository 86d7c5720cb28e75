//! What was asked for on the command line.

use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, value_parser};
use haloscope_capture::{Destination, Options, Request};

use super::condition::Condition;
use super::time;
use crate::Failure;
use crate::args::AnalysisArgs;

/// The levels of tracers.
const LEVELS: std::ops::RangeInclusive<i64> = 0..=3;

pub(super) fn args() -> Vec<Arg> {
    let timed = |id: &'static str, help: &'static str| {
        Arg::new(id).long(id).value_name("TIME").value_parser(time::parse).help(help)
    };
    let level = |id: &'static str, help: &'static str| {
        let arg = Arg::new(id).long(id).value_name("LEVEL").help(help).help_heading("What is recorded");
        arg.value_parser(value_parser!(u32).range(LEVELS))
    };
    vec![
        Arg::new("servers")
            .value_name("HOST:PORT")
            .required(true)
            .num_args(1..)
            .value_delimiter(',')
            .help("The profiler servers, separated by commas: all start at the same time and make one session"),
        Arg::new("output")
            .short('o')
            .long("output")
            .value_name("LOGDIR|URL")
            .required_unless_present_any(["monitor", "on-server", "continuous"])
            .help("The log folder that gets the session, in plugins/profile; also gs://, s3:// and az://"),
        timed("duration", "How long to record").default_value("1s"),
        timed("delay", "How long to wait before the start").default_value("0s"),
        timed("timeout", "How long a server may be silent, in addition to delay and duration").default_value("60s"),
        Arg::new("retries")
            .long("retries")
            .value_name("N")
            .value_parser(value_parser!(u32))
            .default_value("0")
            .help("How often to retry if a server fails or recorded nothing"),
        Arg::new("session")
            .long("session")
            .value_name("NAME")
            .help("Name of the session [default: the time, as in JAX]"),
        Arg::new("no-overview")
            .long("no-overview")
            .action(ArgAction::SetTrue)
            .help("Prints the session's path instead of its overview"),
        Arg::new("on-server")
            .long("on-server")
            .value_name("DIR")
            .conflicts_with_all(["output", "continuous", "monitor", "when"])
            .help("For servers too old to send profiles: a log folder on the server's disk"),
        level("host-tracer-level", "Events of the host's threads: 0 none to 3 all [default: 2]"),
        level("device-tracer-level", "Events of devices: 0 none, 1 all [default: 1]"),
        level("python-tracer-level", "Calls of Python functions: 0 none, 1 all (expensive) [default: 0]"),
        Arg::new("tpu-trace-mode")
            .long("tpu-trace-mode")
            .value_name("MODE")
            .help("What TPUs record, such as TRACE_ONLY_XLA or TRACE_COMPUTE_AND_SYNC")
            .help_heading("What is recorded"),
        Arg::new("option")
            .long("option")
            .value_name("NAME=VALUE")
            .action(ArgAction::Append)
            .help("Any option of ProfileOptions or its advanced_configuration; may be repeated")
            .help_heading("What is recorded"),
        timed("every", "Captures again and again at this interval; with --when, the time between samples [default there: 30s]")
            .help_heading("Long runs"),
        Arg::new("count")
            .long("count")
            .value_name("N")
            .value_parser(value_parser!(u64).range(1..))
            .help("Ends after this many sessions [default: 1 with --when, else none]")
            .help_heading("Long runs"),
        Arg::new("when")
            .long("when")
            .value_name("CONDITION")
            .value_parser(Condition::parse)
            .help("Takes short samples, and captures when one shows this: 'step_time>1.2x' of the usual")
            .help_heading("Long runs"),
        timed("probe", "Length of each --when sample").default_value("1s").help_heading("Long runs"),
        Arg::new("continuous")
            .long("continuous")
            .value_name("WHAT")
            .value_parser(["start", "snapshot", "stop"])
            .conflicts_with_all(["every", "when", "monitor"])
            .help("Starts or stops continuous recording, or takes a snapshot of it")
            .help_heading("Long runs"),
        Arg::new("monitor")
            .long("monitor")
            .action(ArgAction::SetTrue)
            .conflicts_with_all(["every", "when"])
            .help(
                "Prints what the servers report about their devices; Cloud TPU's service offers it, JAX's does not",
            ),
        Arg::new("monitor-level")
            .long("monitor-level")
            .value_name("LEVEL")
            .value_parser(value_parser!(i32).range(1..=2))
            .default_value("2")
            .help("How much --monitor says"),
    ]
}

/// What was asked for.
pub(super) struct CaptureArgs {
    pub request: Request,
    /// Not used where servers write themselves, or nothing is written.
    pub destination: Destination,
    pub output: AnalysisArgs,
    pub is_overview: bool,
    pub every: Option<Duration>,
    pub count: Option<u64>,
    pub when: Option<Condition>,
    pub probe: Duration,
    pub continuous: Option<String>,
    pub is_monitor: bool,
    pub monitor_level: i32,
}

impl CaptureArgs {
    /// # Errors
    /// [`Failure`] for options that cannot be understood or contradict each other.
    pub(super) fn from_matches(matches: &ArgMatches) -> Result<Self, Failure> {
        let word = |id: &str| matches.get_one::<String>(id).cloned();
        let timed = |id: &str| matches.get_one::<Duration>(id).copied();
        let servers = matches.get_many::<String>("servers").into_iter().flatten();
        let servers = servers.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let mut request = Request::new(servers);
        request.duration = timed("duration").unwrap_or(request.duration);
        request.delay = timed("delay").unwrap_or(request.delay);
        request.timeout = timed("timeout").unwrap_or(request.timeout);
        request.retries = matches.get_one("retries").copied().unwrap_or_default();
        request.session = word("session");
        request.on_server = word("on-server");
        request.options = recorded(matches)?;
        let (every, when) = (timed("every"), matches.get_one::<Condition>("when").cloned());
        let continuous = word("continuous");
        let usage = |message: &str, hint: &str| Err(Failure::Usage(message.into(), hint.into()));
        if every.is_some_and(|every| every.is_zero()) {
            return usage("--every: expected a time above 0", "such as --every 10m");
        }
        if request.session.is_some() && (every.is_some() || when.is_some()) {
            return usage("--session names one session", "leave it out: sessions are named after their time");
        }
        if matches.contains_id("count") && every.is_none() && when.is_none() {
            return usage("--count goes with --every or --when", "such as --every 10m --count 6");
        }
        let output = word("output");
        if continuous.as_deref() == Some("snapshot") && output.is_none() {
            return usage("--continuous snapshot needs -o LOGDIR", "it says where the session is written");
        }
        Ok(Self {
            request,
            destination: output
                .map_or_else(|| Ok(Destination::Folder(".".into())), |at| Destination::parse(&at))?,
            output: AnalysisArgs::output(matches)?,
            is_overview: !matches.get_flag("no-overview"),
            every,
            count: matches.get_one("count").copied(),
            when,
            probe: timed("probe").unwrap_or(Duration::from_secs(1)),
            continuous,
            is_monitor: matches.get_flag("monitor"),
            monitor_level: matches.get_one("monitor-level").copied().unwrap_or(2),
        })
    }
}

/// What servers are to record. What has a flag of its own is stronger than --option.
fn recorded(matches: &ArgMatches) -> Result<Options, Failure> {
    let pairs = matches.get_many::<String>("option").into_iter().flatten();
    let mut options = Options::parse(pairs.map(String::as_str))?;
    let level = |id: &str| matches.get_one::<u32>(id).copied();
    options.host_tracer_level = level("host-tracer-level").unwrap_or(options.host_tracer_level);
    options.device_tracer_level = level("device-tracer-level").unwrap_or(options.device_tracer_level);
    options.python_tracer_level = level("python-tracer-level").unwrap_or(options.python_tracer_level);
    if let Some(mode) = matches.get_one::<String>("tpu-trace-mode") {
        options.set("tpu_trace_mode", mode)?;
    }
    Ok(options)
}
