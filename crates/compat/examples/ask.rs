//! `ask xprof TOOL RUN [-p key=value]...`: a tool's answer on stdout, without the rest of the command line.

use std::io::Write;

use haloscope_compat::{Params, answer};
use haloscope_profile::load;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(2);
    let (Some(tool), Some(run)) = (args.next(), args.next()) else {
        return Err("usage: ask xprof TOOL RUN [-p key=value]...".into());
    };
    let mut params = Params::default();
    while let Some(word) = args.next() {
        let pair = if word == "-p" { args.next().unwrap_or_default() } else { word };
        let (key, value) = pair.split_once('=').ok_or("expected key=value")?;
        params.set(key, value);
    }
    let profile = load::open(&load::find(run.as_ref())?)?;
    let answer = answer(&profile, &tool, &params)?;
    Ok(std::io::stdout().write_all(&answer.body)?)
}
