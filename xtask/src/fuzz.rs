//! `cargo xtask fuzz`: each target of `fuzz/` for a short while, from seeds made of the fixtures.

mod seeds;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::{root, run_command, say, talk, target};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How long each target runs
    #[arg(long, default_value_t = 20)]
    seconds: u32,
    /// Run this target only
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
    /// Run this one input in place of searching; needs --target
    #[arg(long, value_name = "PATH", requires = "target")]
    input: Option<PathBuf>,
}

/// An input may take this long.
const SLOWEST_S: u32 = 10;
/// Of the log of a failure, the last lines are shown.
const LAST_LINES: usize = 60;
/// A target may take this much memory.
const MEMORY_MB: u32 = 2_048;

pub(crate) fn run(args: &Args) -> Result<()> {
    let mut targets = targets()?;
    if let Some(name) = &args.target {
        ensure!(
            targets.contains(name),
            "no target {name} in fuzz/fuzz_targets; there are {}",
            targets.join(", ")
        );
        targets.retain(|t| t == name);
    }
    let tools = cargo_fuzz()?;
    for name in &targets {
        let corpus = root().join("fuzz/corpus").join(name);
        let mut command = tools.command();
        // Nothing here is unsafe, so no sanitizer: then the stable compiler will do.
        command.args(["fuzz", "run", "--sanitizer", "none", name.as_str()]);
        let run = match &args.input {
            Some(input) => {
                let input =
                    fs::canonicalize(input).with_context(|| format!("no file {}", input.display()))?;
                run_command(command.arg(input))
            }
            None => {
                let written = seeds::write(name, &corpus)?;
                command.arg(&corpus).arg("--").args([
                    format!("-max_total_time={}", args.seconds),
                    format!("-timeout={SLOWEST_S}"),
                    format!("-rss_limit_mb={MEMORY_MB}"),
                    "-print_final_stats=1".to_owned(),
                ]);
                talk(&format!("fuzz {name}: {} s from {written} seeds", args.seconds));
                search(name, &mut command)
            }
        };
        run.with_context(|| format!("fuzz target {name} failed; the input is under fuzz/artifacts/{name}"))?;
    }
    say(&format!("fuzz: {} held", targets.join(", ")));
    Ok(())
}

/// Runs a search and says how many inputs it tried; what libFuzzer wrote is shown only where it failed.
fn search(name: &str, command: &mut Command) -> Result<()> {
    let output = command.output().context("cannot start cargo fuzz")?;
    let log = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let lines: Vec<&str> = log.lines().collect();
        talk(&lines[lines.len().saturating_sub(LAST_LINES)..].join("\n"));
        bail!("{}", output.status);
    }
    let tried = log.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    say(&format!("fuzz {name}: {} inputs", tried.context("libFuzzer gave no count")?.trim()));
    Ok(())
}

/// The names of the targets, sorted.
fn targets() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root().join("fuzz/fuzz_targets"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "rs") {
            names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    names.sort_unstable();
    ensure!(!names.is_empty(), "fuzz/fuzz_targets is empty");
    Ok(names)
}

/// Where `cargo fuzz` is.
struct Tools {
    /// A folder to search before the others, where it had to be installed.
    extra: Option<PathBuf>,
}

impl Tools {
    fn command(&self) -> Command {
        let mut command = Command::new("cargo");
        // The coverage of libFuzzer needs flags that only a nightly compiler, or this variable, admits.
        command.current_dir(root()).env("RUSTC_BOOTSTRAP", "1");
        if let Some(extra) = &self.extra {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let all = std::iter::once(extra.clone()).chain(std::env::split_paths(&path));
            if let Ok(joined) = std::env::join_paths(all) {
                command.env("PATH", joined);
            }
        }
        command
    }
}

/// Finds `cargo fuzz`, or installs it under `target/tools`.
fn cargo_fuzz() -> Result<Tools> {
    let here = target().join("tools");
    let extra = here.join("bin/cargo-fuzz").is_file().then(|| here.join("bin"));
    let tools = Tools { extra };
    let version = tools.command().args(["fuzz", "--version"]).output()?;
    if version.status.success() {
        return Ok(tools);
    }
    talk("installing cargo-fuzz");
    run_command(
        Command::new("cargo").args(["install", "--quiet", "--locked", "cargo-fuzz", "--root"]).arg(&here),
    )?;
    Ok(Tools { extra: Some(here.join("bin")) })
}
