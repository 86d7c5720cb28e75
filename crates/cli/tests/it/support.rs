//! Runs the program, as a process or in this one.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use haloscope_cli::Printer;
use haloscope_time::analysis::{Analysis, Others};

/// Recorded runs that come with the project.
pub(crate) const FIXTURES: [&str; 2] = ["fixtures/runs/cpu-train", "fixtures/runs/cpu-infer"];

/// What a run of the program left behind.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// The workspace's folder: commands run in it, so that paths of fixtures are the same everywhere.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_haloscope"));
    command.args(args).current_dir(root()).stdin(Stdio::null());
    command.env_remove("NO_COLOR").env_remove("HALOSCOPE_TOKEN").env_remove("COLUMNS");
    // What a test asks is computed, and nothing of it is kept in the folder of whoever runs the tests.
    command.env("HALOSCOPE_CACHE", "off").env_remove("HALOSCOPE_CACHE_MAX");
    command
}

/// A command line of an analysis, `rest` beginning with the run. One that must have others gets that run again.
pub(crate) fn line<'a>(analysis: &Analysis, rest: &[&'a str]) -> Vec<&'a str> {
    let mut words: Vec<&str> = analysis.words().collect();
    words.extend(rest);
    words.extend(rest.first().filter(|_| analysis.others() == Others::Many));
    words
}

/// Makes `program` a shell script. It is not written here: a file that a thread has open as another starts a process is busy,
/// and does not run.
#[cfg(unix)]
pub(crate) fn script(program: &Path, body: &str) {
    let text = program.with_extension("text");
    std::fs::write(&text, format!("#!/bin/sh\n{body}\n")).unwrap();
    assert!(Command::new("install").args(["-m", "755"]).arg(text).arg(program).status().unwrap().success());
}

/// What comes of a command.
pub(crate) fn outcome(command: &mut Command) -> Outcome {
    // Another thread's process may still hold the program open for writing, for as long as it takes to start.
    let is_busy = |of: &io::Result<_>| {
        of.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::ExecutableFileBusy)
    };
    let mut output = command.output();
    for _ in 0..50 {
        if !is_busy(&output) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
        output = command.output();
    }
    let output = output.unwrap();
    Outcome {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs the real binary.
pub(crate) fn process(args: &[&str]) -> Outcome {
    let output = command(args).output().unwrap();
    Outcome {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs the real binary and shows all it left behind, for snapshots.
pub(crate) fn shown(args: &[&str]) -> String {
    let Outcome { code, stdout, stderr } = process(args);
    let mut text = format!("exit code: {code}\n");
    for (name, stream) in [("stdout", stdout), ("stderr", stderr)] {
        let _ = write!(text, "----- {name} -----\n{stream}");
    }
    text
}

/// Snapshot settings under which temporary folders and versions read the same everywhere.
pub(crate) fn filtered(body: impl FnOnce()) {
    let mut settings = insta::Settings::clone_current();
    let temp = std::env::temp_dir().canonicalize().unwrap();
    for temp in [std::env::temp_dir(), temp] {
        settings.add_filter(&format!("{}/\\.tmp\\w+", temp.display()), "[TEMP]");
    }
    settings.add_filter(&haloscope_cli::VERSION.replace('(', "\\(").replace(')', "\\)"), "[VERSION]");
    settings.add_filter(env!("CARGO_PKG_VERSION"), "[VERSION]");
    settings.bind(body);
}

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs a command line in this process; paths in it are absolute.
pub(crate) fn inside(args: &[&str]) -> Outcome {
    let (out, err) = (Shared::default(), Shared::default());
    // An environment variable of this process is everybody's: an option does what `command` does by one.
    let has_option =
        haloscope_analyses::ALL.iter().any(|a| a.words().eq(args.iter().copied().take(a.words().count())));
    let rest = args.iter().copied().chain(has_option.then_some("--no-cache"));
    let words = std::iter::once("haloscope").chain(rest).map(OsString::from);
    let code = haloscope_cli::run(words, &mut Printer::new(Box::new(out.clone()), Box::new(err.clone())));
    let text = |stream: Shared| String::from_utf8(stream.0.lock().unwrap().clone()).unwrap();
    Outcome { code: code.into(), stdout: text(out), stderr: text(err) }
}

/// Columns that the widest line of a text takes, counting characters.
pub(crate) fn widest(text: &str) -> usize {
    text.lines().map(|l| l.chars().count()).max().unwrap_or(0)
}
