//! The peers: `xprof` from PyPI and `xprof-rs` from the Cargo registry, each answering the same question cold.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{Args, process};
use crate::{run_command, talk, target};

pub(super) const XPROF: &str = "2.24.2";
pub(super) const XPROF_RS: &str = "0.1.3";

/// Loads XProf and answers `overview_page` for the file named by the first argument, which must hold a table.
const OVERVIEW_PAGE: &str = "import sys
from xprof.convert import raw_to_tool_data
answer, _ = raw_to_tool_data.xspace_to_tool_data([sys.argv[1]], 'overview_page', {})
sys.exit(0 if answer and len(answer) > 100 else 'overview_page gave no answer')
";

/// Loads XProf and answers a tool for the files named by the last arguments, as often as the third argument says, and says how
/// long the last time took. The modules that two of the tools read from files of their own are laid out by the list of
/// tools, as for the page.
const ANY_TOOL: &str = "import json, sys, time
from xprof.convert import raw_to_tool_data
tool, params, times, paths = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
if 'module_name' in params:
    raw_to_tool_data.xspace_to_tool_names(paths)
params['graph_viewer_options'] = params['trace_viewer_options'] = dict(params)
for _ in range(times):
    start = time.perf_counter()
    answer, _ = raw_to_tool_data.xspace_to_tool_data(paths, tool, dict(params))
    took = time.perf_counter() - start
print(took)
sys.exit(0 if answer else f'{tool} gave no answer')
";

/// Loads XProf, answers `trace_viewer@` for the whole run once, then for each window (milliseconds), and says how long each took.
const WINDOWS: &str = "import json, sys, time
from xprof.convert import raw_to_tool_data
windows, path = json.loads(sys.argv[1]), sys.argv[2]
def ask(window):
    start = time.perf_counter()
    options = {'resolution': '8000'}
    if window:
        options.update(start_time_ms=str(window[0]), end_time_ms=str(window[1]))
    params = {'tqx': '', 'hosts': [], 'trace_viewer_options': options}
    answer, _ = raw_to_tool_data.xspace_to_tool_data([path], 'trace_viewer@', params)
    assert answer
    return time.perf_counter() - start
ask(None)
print(json.dumps([ask(window) for window in windows]))
";

/// The subcommands of xprof-rs that answer what tools of XProf's do.
const SUBCOMMANDS: [(&str, &str); 8] = [
    ("overview_page", "get_overview"),
    // Not quite the same table: the heaviest ops of the device.
    ("framework_op_stats", "get_top_hlo_ops"),
    ("op_profile", "get_hlo_op_profile"),
    ("hlo_stats", "get_hlo_stats"),
    ("kernel_stats", "get_kernel_stats"),
    ("memory_profile", "get_memory_profile"),
    ("roofline_model", "get_roofline_model"),
    ("utilization_viewer", "get_utilization_viewer"),
];

/// A program to compare with.
#[derive(Clone)]
pub(super) struct Peer {
    pub(super) id: &'static str,
    pub(super) label: String,
    program: PathBuf,
    /// Arguments before the profile.
    arguments: Vec<String>,
    /// Whether the last argument is the folder of the session rather than the file.
    takes_folder: bool,
}

impl Peer {
    /// The same program, asked for a tool; `None` where it has none of the kind.
    pub(super) fn asked(&self, tool: &str, params: &[(&str, &str)]) -> Option<Self> {
        self.asked_often(tool, params, 1)
    }

    /// Asked so many times in one process; `None` too where the program cannot.
    pub(super) fn asked_often(&self, tool: &str, params: &[(&str, &str)], times: u32) -> Option<Self> {
        let arguments = if self.takes_folder {
            if times != 1 {
                return None;
            }
            let found = SUBCOMMANDS.iter().find(|(id, _)| *id == tool);
            vec![found?.1.to_owned()]
        } else {
            let params: serde_json::Map<_, _> =
                params.iter().map(|(key, value)| ((*key).to_owned(), (*value).into())).collect();
            let params = serde_json::Value::from(params).to_string();
            vec!["-c".to_owned(), ANY_TOOL.to_owned(), tool.to_owned(), params, times.to_string()]
        };
        Some(Self { arguments, ..self.clone() })
    }

    /// The seconds that `trace_viewer@` takes for each of these windows (milliseconds), in one process that has answered for
    /// the whole run before.
    pub(super) fn windows(&self, profile: &Path, windows: &[[f64; 2]]) -> Result<Vec<f64>> {
        ensure!(!self.takes_folder, "its command line has no timeline");
        let arguments = vec!["-c".to_owned(), WINDOWS.to_owned(), serde_json::to_string(windows)?];
        let scratch = Scratch::new(&[profile.to_owned()])?;
        let said = Self { arguments, ..self.clone() }.command(&scratch).output()?;
        let talk = String::from_utf8_lossy(&said.stderr);
        ensure!(said.status.success(), "{}", talk.lines().last().unwrap_or("no answer"));
        serde_json::from_slice(&said.stdout).context("expected seconds")
    }

    /// Whether the program answers at all: some say on stdout that they have nothing, and end well.
    pub(super) fn answers(&self, profile: &Path) -> Result<bool> {
        let scratch = Scratch::new(&[profile.to_owned()])?;
        let said = self.command(&scratch).output()?;
        Ok(said.status.success() && !says_nothing(&said.stdout))
    }

    /// One run in a fresh process, on a fresh copy.
    pub(super) fn measure(&self, profile: &Path) -> Result<process::Cost> {
        let scratch = Scratch::new(&[profile.to_owned()])?;
        process::measure(&self.command(&scratch))
    }

    /// The command on a session laid out for it.
    pub(super) fn command(&self, scratch: &Scratch) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        if self.takes_folder {
            command.arg(&scratch.session);
        } else {
            command.args(&scratch.files);
        }
        scratch.environment(&mut command);
        command
    }

    /// The program's server over a session laid out for it, on this port; `None` where its server is not compared.
    pub(super) fn server(&self, scratch: &Scratch, port: u16) -> Option<Command> {
        if !self.takes_folder {
            return None;
        }
        let mut command = Command::new(&self.program);
        command.arg("--logdir").arg(&scratch.folder).args(["--port", &port.to_string()]);
        scratch.environment(&mut command);
        Some(command)
    }
}

/// Whether this output says that there is no answer.
pub(super) fn says_nothing(output: &[u8]) -> bool {
    let text = String::from_utf8_lossy(output.get(..200).unwrap_or(output));
    let start = text.trim_start_matches(['{', ' ', '\n']);
    ["\"status\": \"ERROR\"", "\"status\": \"NO_DATA\""].iter().any(|s| start.starts_with(s))
}

/// Files above this size are given a second name in place of a copy, bytes.
const LINKED: u64 = 256_000_000;

/// A fresh session of these files for a peer: XProf writes its caches beside the profile and in the folder for temporary files.
/// Made before the clock starts, and gone with this value.
pub(super) struct Scratch {
    folder: PathBuf,
    pub(super) session: PathBuf,
    files: Vec<PathBuf>,
}

impl Scratch {
    /// The name of the session.
    pub(super) const RUN: &str = "run";

    pub(super) fn new(files: &[PathBuf]) -> Result<Self> {
        let folder = target().join("bench/peer");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        let session = folder.join("plugins/profile").join(Self::RUN);
        let mut scratch = Self { session, folder, files: Vec::new() };
        fs::create_dir_all(&scratch.session)?;
        fs::create_dir_all(scratch.folder.join("tmp"))?;
        for file in files {
            let name = file.file_name().context("the profile has no name")?;
            let copy = scratch.session.join(name);
            // The profile itself is only read, so a second name will do for a large one of our own.
            let large = fs::metadata(file)?.len() > LINKED;
            if !large || fs::hard_link(file, &copy).is_err() {
                fs::copy(file, &copy)?;
            }
            scratch.files.push(copy);
        }
        Ok(scratch)
    }

    fn environment(&self, command: &mut Command) {
        let temporary = self.folder.join("tmp");
        command.env("TMPDIR", &temporary).env("XDG_CACHE_HOME", &temporary);
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The next one removes what is left.
        drop(fs::remove_dir_all(&self.folder));
    }
}

/// The peers that this machine can run; the others with the reason go to `left_out`.
pub(super) fn find(args: &Args, left_out: &mut Vec<String>) -> Result<Vec<Peer>> {
    let mut peers = Vec::new();
    let mut add = |label: &str, skip: bool, peer: &dyn Fn() -> Result<Peer>| {
        if skip {
            left_out.push(format!("{label}: as asked"));
            return;
        }
        match peer() {
            Ok(peer) => peers.push(peer),
            Err(error) => {
                talk(&format!("{label} is left out: {error:#}"));
                left_out.push(format!("{label}: {error:#}"));
            }
        }
    };
    add("xprof", args.no_xprof, &|| xprof(args.xprof_python.as_deref()));
    add("xprof-rs", args.no_xprof_rs, &|| xprof_rs(args.xprof_rs.as_deref()));
    Ok(peers)
}

/// The Python of the peers, if there is one.
pub(super) fn python(args: &Args) -> Option<PathBuf> {
    let python = args.xprof_python.clone().unwrap_or_else(|| target().join("peers/xprof/bin/python"));
    python.is_file().then_some(python)
}

fn xprof(given: Option<&Path>) -> Result<Peer> {
    let python = match given {
        Some(python) => python.to_owned(),
        None => venv()?,
    };
    let version = Command::new(&python)
        .args(["-c", "import importlib.metadata as m; print(m.version('xprof'))"])
        .output()
        .with_context(|| format!("cannot start {}", python.display()))?;
    ensure!(version.status.success(), "{} has no xprof", python.display());
    let version = String::from_utf8_lossy(&version.stdout).trim().to_owned();
    ensure!(version == XPROF, "expected xprof {XPROF}, found {version} in {}", python.display());
    Ok(Peer {
        id: "xprof",
        label: format!("xprof {version}, overview_page"),
        program: python,
        arguments: vec!["-c".to_owned(), OVERVIEW_PAGE.to_owned()],
        takes_folder: false,
    })
}

/// A virtual environment with xprof, made on the first use.
fn venv() -> Result<PathBuf> {
    let folder = target().join("peers/xprof");
    let python = folder.join("bin/python");
    if !folder.join("ready").is_file() {
        talk(&format!("installing xprof {XPROF} into {}", folder.display()));
        run_command(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        run_command(Command::new(&python).args([
            "-m",
            "pip",
            "install",
            "--quiet",
            &format!("xprof=={XPROF}"),
        ]))?;
        fs::write(folder.join("ready"), XPROF)?;
    }
    Ok(python)
}

fn xprof_rs(given: Option<&Path>) -> Result<Peer> {
    let folder = target().join("peers");
    let program = given.map_or_else(|| folder.join("bin/xprof-rs"), Path::to_owned);
    if given.is_none() && !program.is_file() {
        talk(&format!("installing xprof-rs {XPROF_RS} into {}", folder.display()));
        run_command(
            Command::new("cargo")
                .args(["install", "--quiet", "--locked", "xprof-rs", "--version", XPROF_RS, "--root"])
                .arg(&folder),
        )?;
    }
    Ok(Peer {
        id: "xprof-rs",
        label: format!("xprof-rs {XPROF_RS}, get_overview"),
        program,
        arguments: vec!["get_overview".to_owned()],
        takes_folder: true,
    })
}
