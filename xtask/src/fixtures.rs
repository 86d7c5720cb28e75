//! The generated runs below `fixtures/runs`: small profiles in the shape that TPU and GPU profilers write, around programs
//! that were really compiled (`fixtures/hlo`). What was built into each is written beside it, as `truth.json`.
//!
//! Nothing here uses the analyses: programs are laid out on a clock, and the truth is added up while that is done.

mod gate_runs;
mod gpu;
mod gpu_runs;
mod host;
mod memory_run;
mod noise;
mod plane;
mod program;
mod tpu;
mod tpu_runs;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use flate2::Compression;
use flate2::read::GzDecoder;
use haloscope_xspace::write::Space;
use serde_json::{Value, json};

use crate::say;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Change nothing; fail if a file is not what would be written
    #[arg(long)]
    check: bool,
}

/// A session: what each host wrote, and what was built in.
struct Run {
    name: &'static str,
    hosts: Vec<(String, Space)>,
    truth: Value,
}

/// The folder of the session in each run.
const SESSION: &str = "plugins/profile/2026_01_01_00_00_00";
/// The run that `haloscope demo` shows: its profile is written into the crate too, where a package finds it.
const DEMO: (&str, &str) = ("tpu-input-bound", "crates/cli/demo");
/// Files larger than this are stored compressed.
const LARGEST_PLAIN: usize = 150_000;

pub(crate) fn run(args: &Args) -> Result<()> {
    let runs = crate::root().join("fixtures/runs");
    let mut wrong = Vec::new();
    for run in all()? {
        let folder = runs.join(run.name);
        let files = files(&run, &folder)?;
        if run.name == DEMO.0 {
            let folder = crate::root().join(DEMO.1);
            let copies = copies(&files, &folder);
            if args.check {
                wrong.extend(compare(&folder, &copies)?);
            } else {
                put(copies, &folder)?;
            }
        }
        if args.check {
            wrong.extend(compare(&folder, &files)?);
            continue;
        }
        put(files, &folder)?;
    }
    if !wrong.is_empty() {
        bail!("not as generated: {}; run cargo xtask fixtures and look at the difference", wrong.join(", "));
    }
    Ok(())
}

fn all() -> Result<Vec<Run>> {
    let mut all = vec![
        tpu_runs::train()?,
        tpu_runs::decode()?,
        tpu_runs::custom_call()?,
        tpu_runs::input_bound()?,
        tpu_runs::run_scan()?,
        memory_run::memory()?,
        gpu_runs::train()?,
        gpu_runs::amd()?,
    ];
    all.extend(gate_runs::all()?);
    Ok(all)
}

fn files(run: &Run, folder: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    let session = folder.join(SESSION);
    let mut files = Vec::new();
    for (host, space) in &run.hosts {
        let bytes = space.to_bytes();
        files.push(if bytes.len() > LARGEST_PLAIN {
            (session.join(format!("{host}.xplane.pb.gz")), pack(&bytes)?)
        } else {
            (session.join(format!("{host}.xplane.pb")), bytes)
        });
    }
    let truth = serde_json::to_string_pretty(&run.truth)? + "\n";
    files.push((folder.join("truth.json"), truth.into_bytes()));
    Ok(files)
}

/// The profiles of a run, by their names in `folder`.
fn copies(files: &[(PathBuf, Vec<u8>)], folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let is_profile = |path: &Path| path.extension().is_some_and(|e| e != "json");
    let profiles = files.iter().filter(|(path, _)| is_profile(path));
    profiles.map(|(path, bytes)| (folder.join(path.file_name().unwrap_or_default()), bytes.clone())).collect()
}

/// Writes files below a folder that then holds nothing else.
fn put(files: Vec<(PathBuf, Vec<u8>)>, folder: &Path) -> Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder).with_context(|| format!("cannot clear {}", folder.display()))?;
    }
    for (path, bytes) in files {
        std::fs::create_dir_all(path.parent().unwrap_or(folder))?;
        std::fs::write(&path, &bytes).with_context(|| format!("cannot write {}", path.display()))?;
        say(&format!("{} ({} bytes)", shown(&path), bytes.len()));
    }
    Ok(())
}

/// Names of files that are missing, differ, or should not be there.
fn compare(folder: &Path, files: &[(PathBuf, Vec<u8>)]) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    for (path, bytes) in files {
        // Compressed files are compared by what they hold: another version of the compressor may pack it otherwise.
        let same = match std::fs::read(path) {
            Ok(found) if path.extension().is_some_and(|e| e == "gz") => unpack(&found)? == unpack(bytes)?,
            Ok(found) => found == *bytes,
            Err(_) => false,
        };
        if !same {
            wrong.push(shown(path));
        }
    }
    for path in tree(folder) {
        if !files.iter().any(|(known, _)| *known == path) {
            wrong.push(shown(&path));
        }
    }
    Ok(wrong)
}

/// All files below a folder.
fn tree(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files = Vec::new();
    for path in entries.map(|e| e.path()) {
        if path.is_dir() { files.extend(tree(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}

fn pack(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut packer = flate2::GzBuilder::new().write(Vec::new(), Compression::best());
    packer.write_all(bytes)?;
    Ok(packer.finish()?)
}

fn unpack(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut out)?;
    Ok(out)
}

fn shown(path: &Path) -> String {
    path.strip_prefix(crate::root()).unwrap_or(path).display().to_string()
}

/// What is said of steps in `truth.json`: numbers, times of the slowest device, classes (empty where there is none).
fn steps_json(source: &str, steps: &[(i64, i64, &str)]) -> Value {
    let row = |(number, ps, class): &(i64, i64, &str)| {
        let class = Some(class).filter(|class| !class.is_empty());
        json!({"number": number, "duration_ps": ps, "class": class})
    };
    let rows: Vec<_> = steps.iter().map(row).collect();
    let counted: Vec<i64> = steps.iter().filter(|s| s.2 != "edge").map(|s| s.1).collect();
    let mean = counted.iter().sum::<i64>() as f64 / counted.len().max(1) as f64;
    json!({"source": source, "count": counted.len(), "mean_ps": mean, "rows": rows})
}
