//! The profiles of the benchmark, made where they are missing and removed when their part is done.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::bench::process;
use crate::{root, run_command, talk, target};

/// A run to measure: its log folder, and the files of its one session.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    pub(super) name: String,
    pub(super) folder: PathBuf,
    pub(super) files: Vec<PathBuf>,
    /// Size of all files, bytes.
    pub(super) bytes: u64,
    /// Removed when the part is done.
    pub(super) made: bool,
}

impl Subject {
    pub(super) fn of(name: &str, folder: PathBuf, made: bool) -> Result<Self> {
        let session = folder.join("plugins/profile");
        let session = newest(&session)?;
        let mut files = Vec::new();
        for entry in fs::read_dir(&session)? {
            let path = entry?.path();
            if path.to_string_lossy().ends_with(".xplane.pb") {
                files.push(path);
            }
        }
        files.sort();
        ensure!(!files.is_empty(), "{} has no .xplane.pb", session.display());
        let bytes = files.iter().map(|f| Ok(fs::metadata(f)?.len())).sum::<Result<u64>>()?;
        Ok(Self { name: name.to_owned(), folder, files, bytes, made })
    }

    /// The session's name.
    pub(super) fn run(&self) -> String {
        let session = self.files.first().and_then(|file| file.parent()).and_then(Path::file_name);
        session.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }

    /// The name of its first host, as files are named after hosts.
    pub(super) fn host(&self) -> String {
        let name = self.files.first().and_then(|file| file.file_name());
        let name = name.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        name.trim_end_matches(".xplane.pb").to_owned()
    }

    /// Removes what was made for it.
    pub(super) fn remove(&self) {
        if self.made {
            drop(fs::remove_dir_all(&self.folder));
        }
    }
}

/// The last session in the alphabet: names are times.
fn newest(sessions: &Path) -> Result<PathBuf> {
    let entries = fs::read_dir(sessions).with_context(|| format!("cannot read {}", sessions.display()))?;
    let mut all: Vec<PathBuf> = entries.map(|e| Ok(e?.path())).collect::<Result<_>>()?;
    all.sort();
    all.pop().with_context(|| format!("{} has no session", sessions.display()))
}

fn data() -> PathBuf {
    target().join("bench/data")
}

/// A generated profile of so many MB, or a session of so many hosts of that size each.
pub(super) fn generated(mb: u64, hosts: Option<u32>) -> Result<Subject> {
    let (name, folder) = match hosts {
        None => (format!("generated {mb} MB"), format!("generated-{mb}")),
        Some(hosts) => (format!("generated {hosts} x {mb} MB"), format!("hosts-{hosts}x{mb}")),
    };
    let folder = data().join(folder);
    if !folder.join("whole").is_file() {
        room_for(mb * 1_000_000 * u64::from(hosts.unwrap_or(1)))?;
        talk(&format!("making {name}"));
        // In a process of its own, for the memory.
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["generate", "--mb", &mb.to_string()]);
        match hosts {
            Some(hosts) => command.args(["--hosts", &hosts.to_string()]).arg(&folder),
            None => command.arg(folder.join("plugins/profile/run/generated-host-0.xplane.pb")),
        };
        command.stderr(std::process::Stdio::null());
        run_command(&mut command)?;
        fs::write(folder.join("whole"), "")?;
        settle();
    }
    Subject::of(&name, folder, true)
}

/// Our index leaves a file alone that was written a moment ago, so measuring waits that long.
fn settle() {
    std::thread::sleep(Duration::from_millis(2_500));
}

/// A session recorded for tests, copied: a profile that stands in a folder of its own for others is not to be touched.
pub(super) fn copied(name: &str, from: &Path) -> Result<Subject> {
    let given = Subject::of(name, from.to_owned(), false)?;
    let folder = data().join("copied").join(name);
    drop(fs::remove_dir_all(&folder));
    let session = folder.join("plugins/profile/run");
    fs::create_dir_all(&session)?;
    for file in &given.files {
        let to = session.join(file.file_name().context("a file has a name")?);
        fs::copy(file, &to)?;
        // A copy of a file that may not be written may be.
        let mut permissions = fs::metadata(&to)?.permissions();
        #[expect(clippy::permissions_set_readonly_false, reason = "the copy is ours, and removed")]
        permissions.set_readonly(false);
        fs::set_permissions(&to, permissions)?;
    }
    Subject::of(name, folder, true)
}

/// A capture of JAX on CPU of about so many events, by the Python of the peers.
pub(super) fn captured(python: &Path, events: u64) -> Result<Subject> {
    let name = format!("JAX on CPU, {:.1} million events", events as f64 / 1e6);
    let folder = data().join(format!("capture-{events}"));
    if !folder.join("whole").is_file() {
        talk(&format!("capturing {name}"));
        drop(fs::remove_dir_all(&folder));
        let mut command = Command::new(python);
        command.arg(root().join("xtask/src/bench/capture.py")).arg(&folder).arg(events.to_string());
        let limits = process::Limits { seconds: Some(600), memory: None };
        process::measure_within(&command, limits, None)?;
        fs::write(folder.join("whole"), "")?;
        settle();
    }
    Subject::of(&name, folder, true)
}

/// Fails where the disk has no room for twice as much: the index takes about as much again.
fn room_for(bytes: u64) -> Result<()> {
    fs::create_dir_all(data())?;
    let said = Command::new("df").args(["--output=avail", "-B1"]).arg(data()).output();
    let free = said.ok().and_then(|said| String::from_utf8(said.stdout).ok());
    let free = free.and_then(|text| text.lines().nth(1)?.trim().parse::<u64>().ok());
    if let Some(free) = free {
        let needed = bytes.saturating_mul(2) + 1_000_000_000;
        ensure!(
            free > needed,
            "{:.1} GB of disk are free, {:.1} are needed",
            free as f64 / 1e9,
            needed as f64 / 1e9
        );
    }
    Ok(())
}
