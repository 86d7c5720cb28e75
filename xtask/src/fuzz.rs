//! `cargo xtask fuzz`: each target of `fuzz/` for a short while, from seeds made of the fixtures.

mod seeds;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::{root, run_command, say, talk};

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
    /// Build for speed: it takes longer to build, and tries more inputs a second
    #[arg(long)]
    optimised: bool,
    /// Those too that ask whole analyses, which take long to build; one that is named is always built
    #[arg(long)]
    whole: bool,
    /// Build the targets and run none
    #[arg(long, conflicts_with_all = ["target", "input"])]
    build: bool,
}

/// The feature of `fuzz/` that the targets need which ask whole analyses.
const WHOLE: &str = "whole";
/// An input may take this long.
const SLOWEST_S: u32 = 10;
/// Of the log of a failure, the last lines are shown.
const LAST_LINES: usize = 60;
/// A target may take this much memory.
const MEMORY_MB: u32 = 2_048;
/// What `cargo fuzz run --sanitizer none` hands to the compiler: the counters that libFuzzer looks at. Nothing here is unsafe, so
/// no sanitizer, which also needs a nightly compiler.
const FLAGS: [&str; 8] = [
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cllvm-args=-sanitizer-coverage-stack-depth",
    "-Cdebug-assertions",
];

pub(crate) fn run(args: &Args) -> Result<()> {
    let mut targets = targets(args.whole || args.target.is_some())?;
    if let Some(name) = &args.target {
        ensure!(
            targets.contains(name),
            "no target {name} in fuzz/fuzz_targets; there are {}",
            targets.join(", ")
        );
        targets.retain(|t| t == name);
    }
    let programs = build(args.optimised, args.whole || args.target.is_some())?;
    if args.build {
        say(&format!("fuzz: {} are built", targets.join(", ")));
        return Ok(());
    }
    for name in &targets {
        let corpus = root().join("fuzz/corpus").join(name);
        let artifacts = root().join("fuzz/artifacts").join(name);
        fs::create_dir_all(&artifacts).with_context(|| format!("cannot make {}", artifacts.display()))?;
        let mut command = Command::new(programs.join(name));
        command.arg(format!("-artifact_prefix={}/", artifacts.display()));
        let run = match &args.input {
            Some(input) => {
                let input =
                    fs::canonicalize(input).with_context(|| format!("no file {}", input.display()))?;
                run_command(command.arg(input))
            }
            None => {
                let written = seeds::write(name, &corpus)?;
                command.arg(&corpus).args([
                    format!("-max_total_time={}", args.seconds),
                    format!("-timeout={SLOWEST_S}"),
                    format!("-rss_limit_mb={MEMORY_MB}"),
                    "-print_final_stats=1".to_owned(),
                ]);
                talk(&format!("fuzz {name}: {} s from {written} seeds", args.seconds));
                search(name, &mut command)
            }
        };
        run.with_context(|| {
            format!("fuzz target {name} failed; the input is under {}", artifacts.display())
        })?;
    }
    say(&format!("fuzz: {} held", targets.join(", ")));
    Ok(())
}

/// Builds the targets, and gives the folder where they lie.
fn build(is_optimised: bool, is_whole: bool) -> Result<PathBuf> {
    let said = Command::new("rustc").arg("-vV").output().context("cannot start rustc")?;
    let said = String::from_utf8_lossy(&said.stdout);
    let host = said.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc names no host")?;
    let folder = root().join("fuzz");
    let mut command = Command::new("cargo");
    // A target is named so that build scripts and macros are built without the counters.
    command.current_dir(&folder).args(["build", "--bins", "--target", host]);
    if is_whole {
        command.args(["--features", WHOLE]);
    }
    let mut flags = FLAGS.to_vec();
    if is_optimised {
        command.arg("--release");
        // Functions with counters are not inlined from one unit into another.
        flags.push("-Ccodegen-units=1");
    }
    run_command(command.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f")).env_remove("CARGO_TARGET_DIR"))?;
    let profile = if is_optimised { "release" } else { "debug" };
    Ok(folder.join(Path::new("target")).join(host).join(profile))
}

/// Runs a search and says how many inputs it tried; what libFuzzer wrote is shown only where it failed.
fn search(name: &str, command: &mut Command) -> Result<()> {
    let output =
        command.output().with_context(|| format!("cannot start {}", command.get_program().display()))?;
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

/// What is read of `fuzz/Cargo.toml`.
#[derive(serde::Deserialize)]
struct Manifest {
    bin: Vec<Target>,
}

/// A target, and the features that it needs.
#[derive(serde::Deserialize)]
struct Target {
    name: String,
    #[serde(default, rename = "required-features")]
    features: Vec<String>,
}

/// The names of the targets, sorted: all, or those that are quick to build.
fn targets(is_whole: bool) -> Result<Vec<String>> {
    let path = root().join("fuzz/Cargo.toml");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let manifest: Manifest = toml::from_str(&text).with_context(|| format!("{}", path.display()))?;
    let targets = manifest.bin.into_iter().filter(|target| is_whole || target.features.is_empty());
    let mut names: Vec<String> = targets.map(|target| target.name).collect();
    names.sort_unstable();
    ensure!(!names.is_empty(), "{} names no target", path.display());
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_stands_in_the_manifest_and_some_are_left_to_the_night() {
        let all = targets(true).unwrap();
        let mut files = Vec::new();
        for entry in fs::read_dir(root().join("fuzz/fuzz_targets")).unwrap() {
            files.extend(entry.unwrap().path().file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
        files.sort_unstable();
        assert_eq!(all, files);
        let quick = targets(false).unwrap();
        assert!(quick.len() < all.len() && quick.contains(&"xspace_parse".to_owned()));
    }
}
