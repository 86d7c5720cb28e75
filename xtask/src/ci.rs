//! `cargo xtask ci`: what a change has to pass, as a graph of stages that run side by side as far as the machine bears it.
//!
//! [`stages`] is the table, [`graph`] what comes before what, [`lanes`] what may run beside what, [`runner`] runs them, [`told`] is
//! what is said of it. `.ci/run` installs what is needed, runs `cargo test --workspace`, and then this.

mod graph;
mod lanes;
mod runner;
mod stages;
mod told;

use anyhow::{Context, Result};

use crate::{root, say};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run what is run before a release: everything, with nothing recorded and nothing cut short
    #[arg(long)]
    nightly: bool,
    /// Run this stage only, and what it needs
    #[arg(long, value_name = "STAGE")]
    only: Option<String>,
    /// Print the stages and run none
    #[arg(long)]
    list: bool,
    /// A stage that passed before this began, for the summary
    #[arg(long, value_name = "NAME=SECONDS", value_parser = before)]
    before: Vec<(String, f64)>,
}

/// A stage that ran before, and its seconds.
fn before(text: &str) -> Result<(String, f64)> {
    let (name, seconds) = text.rsplit_once('=').context("expected NAME=SECONDS")?;
    Ok((name.to_owned(), seconds.parse().with_context(|| format!("{seconds} is no number of seconds"))?))
}

/// Whether every stage passed. The last line is a test runner's, by which others tell what came of it.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let mut stages = stages::stages(args.nightly);
    graph::check(&stages)?;
    if args.list {
        say(&told::list(&stages, args.nightly));
        return Ok(true);
    }
    if let Some(name) = &args.only {
        let is_left_to_the_night = !args.nightly && stages::stages(true).iter().any(|s| s.name == name);
        stages = graph::with_needs(stages, name).with_context(|| {
            if is_left_to_the_night { "with --nightly there is such a stage" } else { "see --list" }
        })?;
    }
    let place = runner::Place::new(root(), args.nightly)?;
    let done = runner::run(&stages, &place, &mut |event| told::event(&stages, &place, event))?;
    told::summary(&stages, &place, &done, &args.before);
    let failed = done.iter().filter(|done| done.ended.is_failure()).count();
    let passed = done.iter().filter(|done| done.ended == runner::Ended::Passed).count() + args.before.len();
    say(&format!("{passed} passed, {failed} failed"));
    Ok(failed == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ran_before_is_a_name_and_seconds() {
        assert_eq!(
            before("cargo test --workspace=312").unwrap(),
            ("cargo test --workspace".to_owned(), 312.0)
        );
        assert!(before("tools").is_err());
        assert!(before("tools=soon").unwrap_err().to_string().contains("soon is no number"));
    }
}
