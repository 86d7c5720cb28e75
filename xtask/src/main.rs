//! Checks, generators and benchmarks of this workspace, one file a command: `cargo xtask --help`.

mod answers;
mod bench;
mod ci;
mod circles;
mod docs;
mod fixtures;
mod fuzz;
mod instructions;
mod licenses;
mod package;
mod python;
mod verdicts;
mod web_hash;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use clap::Parser;

/// Checks, generators and benchmarks of this workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Task {
    /// Ask two builds of haloscope every analysis about every fixture, and compare their answers byte for byte
    Answers(answers::Args),
    /// Measure haloscope against a bare scan and its peers, as ratios of one run on one machine
    Bench(bench::Args),
    /// Run what a change has to pass, side by side as far as the machine bears it
    Ci(ci::Args),
    /// Write the generated parts of docs/, or check that they are what would be written
    Docs(docs::Args),
    /// Write the generated profiles below fixtures/runs, or check that they are what would be written
    Fixtures(fixtures::Args),
    /// Write a profile in the shape of a TPU training run
    Generate(bench::generate::Args),
    /// Run a command and say as JSON how long it took and how much memory it had at most
    Measure(bench::process::Args),
    /// Measure reading, scanning and walking one profile in this process; the benchmark calls it
    #[command(hide = true)]
    Yardstick(bench::suite::YardstickArgs),
    /// Run each fuzz target for a short while
    Fuzz(fuzz::Args),
    /// Count the instructions of the hot loops, and compare with xtask/instructions.json
    Instructions(instructions::Args),
    /// Run one hot loop; `instructions` calls it
    #[command(hide = true)]
    Hot(instructions::HotArgs),
    /// Check that no crate holds a circle of modules
    Circles,
    /// Write the methods of the Python package that stand for analyses, or check that they are what would be written
    Python(python::Args),
    /// Write the licences of what is in the program, or check that they are what would be written
    Licenses(licenses::Args),
    /// Check that every crate can be published and holds all that it reads
    Package(package::Args),
    /// Ask diagnose, compare and check about runs of which is known what is wrong
    Verdicts(verdicts::Args),
    /// Compare crates/serve/dist/SOURCE_HASH with the sources of the page
    WebHash(web_hash::Args),
}

fn main() -> ExitCode {
    let done = match Task::parse() {
        Task::Answers(args) => answers::run(&args),
        Task::Bench(args) => measured(|| bench::run(&args)),
        Task::Ci(args) => match ci::run(&args) {
            Ok(true) => Ok(()),
            Ok(false) => return ExitCode::FAILURE,
            Err(error) => Err(error),
        },
        Task::Docs(args) => docs::run(&args),
        Task::Fixtures(args) => fixtures::run(&args),
        Task::Generate(args) => bench::generate::run(&args),
        Task::Measure(args) => bench::process::run(&args),
        Task::Yardstick(args) => bench::suite::yardstick(&args),
        Task::Fuzz(args) => fuzz::run(&args),
        Task::Instructions(args) => measured(|| instructions::run(&args)),
        Task::Hot(args) => instructions::hot(&args),
        Task::Circles => circles::run(),
        Task::Python(args) => python::run(&args),
        Task::Licenses(args) => licenses::run(&args),
        Task::Package(args) => package::run(&args),
        Task::Verdicts(args) => verdicts::run(&args),
        Task::WebHash(args) => web_hash::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            talk(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Does what measures this program's own code, in a release build: this one where it is one, else one that is built for it.
fn measured(run: impl FnOnce() -> Result<()>) -> Result<()> {
    if !cfg!(debug_assertions) {
        return run();
    }
    let mut command = Command::new("cargo");
    command.args(["run", "--release", "--quiet", "--package", "xtask", "--manifest-path"]);
    run_command(command.arg(root().join("Cargo.toml")).arg("--").args(std::env::args_os().skip(1)))
}

/// Data: one line to stdout.
fn say(line: &str) {
    // Nothing is left to do where stdout is closed.
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Talk: one line to stderr.
fn talk(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// The root of the checkout.
fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}

/// The folder of build results.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Runs `command`, and fails unless it succeeds.
fn run_command(command: &mut Command) -> Result<()> {
    let shown = format!("{command:?}");
    let status = command.status().with_context(|| format!("cannot start {shown}"))?;
    if !status.success() {
        bail!("{shown}: {status}");
    }
    Ok(())
}
