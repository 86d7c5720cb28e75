//! What `diagnose`, `compare` and `check` say of runs of which is known what is wrong: `tests/verdicts`, with a build of this tree.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::{root, run_command, target};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The program to ask [default: a release build of this tree]
    #[arg(long)]
    bin: Option<PathBuf>,
    /// The folder that makes runs
    #[arg(long, default_value = "../shared/forge")]
    forge: PathBuf,
    /// Ask about a folder of runs with truth.json instead of making any
    #[arg(long)]
    stored: Option<PathBuf>,
    /// One size of each kind, on the programs that are quickest to make
    #[arg(long)]
    quick: bool,
    /// Only faults whose name holds this
    #[arg(long)]
    only: Option<String>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let bin = match &args.bin {
        Some(bin) => bin.clone(),
        None => {
            let build = ["build", "--release", "--quiet", "--package", "haloscope"];
            run_command(Command::new("cargo").args(build).current_dir(root()))?;
            target().join("release/haloscope")
        }
    };
    let mut command = Command::new("python3");
    command.arg(root().join("tests/verdicts/run.py")).arg("--bin").arg(bin).env("HALOSCOPE_CACHE", "off");
    match &args.stored {
        Some(folder) => command.arg("--stored").arg(folder),
        None => command.arg("--forge").arg(&args.forge).arg("--out").arg(target().join("verdicts")),
    };
    if args.quick {
        command.arg("--quick");
    }
    if let Some(only) = &args.only {
        command.args(["--only", only]);
    }
    run_command(&mut command)
}
