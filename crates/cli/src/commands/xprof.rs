//! `haloscope xprof TOOL RUN -p key=value`: what XProf's `/data` route would answer.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use haloscope_compat::{Params, TOOLS};
use haloscope_profile::Profile;
use haloscope_store::{Body, ask_body};

use crate::{Failure, Printer, cache_args};

pub(super) fn command() -> Command {
    let mut tools = String::from("Tools and their parameters (every tool also takes host=NAME):\n");
    for tool in TOOLS {
        tools += &format!("  {:<24}{}\n", tool.id, tool.doc);
        for param in tool.params {
            tools += &format!("    {:<22}{}\n", param.id, param.doc);
        }
    }
    Command::new("xprof")
        .about("Answers like XProf's tools, with the same JSON byte for byte")
        .max_term_width(80)
        .after_long_help(tools)
        .after_help("`haloscope xprof --help` lists the tools and their parameters")
        .arg(Arg::new("tool").value_name("TOOL").required(true).help("An XProf tool, such as hlo_stats"))
        .arg(
            Arg::new("run")
                .value_name("RUN")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("Log folder, session folder or .xplane.pb file"),
        )
        .arg(
            Arg::new("param")
                .short('p')
                .long("param")
                .value_name("KEY=VALUE")
                .action(ArgAction::Append)
                .help("A parameter of the tool, such as group_by=category; may be repeated"),
        )
        .arg(cache_args::arg())
}

pub(super) fn run(matches: &ArgMatches, printer: &mut Printer) -> Result<u8, Failure> {
    let word = |id: &str| matches.get_one::<String>(id).map_or("", String::as_str);
    // A wrong question is refused before anything is read.
    let tool = haloscope_compat::find(word("tool"))?;
    let mut params = Params::default();
    for pair in matches.get_many::<String>("param").unwrap_or_default() {
        let Some((key, value)) = pair.split_once('=') else {
            let hint = "write it as `-p host=worker-0`".to_owned();
            return Err(Failure::Usage(format!("`-p {pair}`: expected key=value"), hint));
        };
        params.set(key, value);
    }
    let path = matches.get_one::<PathBuf>("run").cloned().unwrap_or_default();
    let cache = cache_args::cache(matches)?;
    let asked = (format!("xprof {}", tool.id), tool.words(&params));
    let run = crate::run_argument::find(&path)?;
    let work = |profile: &Profile| {
        let answer = haloscope_compat::answer(profile, tool.id, &params)?;
        Ok(Body { content_type: answer.content_type.to_owned(), bytes: answer.body })
    };
    let give = |answer: &Body| printer.answer_of(&answer.bytes);
    ask_body(cache.as_ref(), &run, (&asked.0, asked.1.as_deref()), work, give)?;
    cache_args::say_trouble(cache.as_ref(), printer);
    Ok(0)
}
