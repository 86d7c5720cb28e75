//! What is put into the program's environment, and what the program says through it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::{env, fs, io, process};

use super::args::RunArgs;

/// The file that Python imports at its start.
const SITECUSTOMIZE: &str = include_str!("sitecustomize.py");
/// A framework that is used before another where a process has servers of both: JAX programs read data with TensorFlow.
const PREFERRED: [&str; 3] = ["jax", "torch_xla", "tensorflow"];

/// A folder of ours with the file, and with what processes of the program write. It goes with this value.
#[derive(Debug)]
pub(super) struct Shim {
    folder: PathBuf,
}

/// The servers that processes of the program announced.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Servers(Vec<(u32, u16)>);

/// What JAX compiled in the program's processes so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Compiled {
    /// Programs, of all processes.
    pub count: u64,
    /// The function that was compiled most often in one process; empty where that is not known.
    pub name: String,
    /// How often it was,
    pub times: u64,
    /// how long in all, seconds,
    pub seconds: f64,
    /// and from the end of the first to that of the last, seconds.
    pub span: f64,
}

impl Compiled {
    /// What a process wrote; `None` for what is cut or no number.
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let count = lines.next()?.parse().ok()?;
        let name = lines.next()?.to_owned();
        let times = lines.next()?.parse().ok()?;
        let mut number = || lines.next()?.parse::<f64>().ok().filter(|v| v.is_finite());
        let (seconds, first, last) = (number()?, number()?, number()?);
        Some(Self { count, name, times, seconds, span: (last - first).max(0.0) })
    }
}

/// What is known of the program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// Frameworks that were imported.
    pub frameworks: Vec<String>,
    /// Why a server could not start.
    pub failure: Option<String>,
    /// Whether there is or was a server.
    pub has_server: bool,
}

impl Shim {
    /// Makes the folder, which only this user can write to: what is in it is run.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn new() -> io::Result<Self> {
        let name = format!("haloscope-run-{}", process::id());
        let paths = (0..100).map(|number| env::temp_dir().join(format!("{name}-{number}")));
        for folder in paths {
            match private(&folder) {
                Ok(()) => {
                    let shim = Self { folder };
                    fs::create_dir(shim.python())?;
                    fs::create_dir(shim.messages_folder())?;
                    fs::write(shim.python().join("sitecustomize.py"), SITECUSTOMIZE)?;
                    return Ok(shim);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(super::denied("cannot make a folder for the program's server", &error));
                }
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    fn python(&self) -> PathBuf {
        self.folder.join("python")
    }

    fn messages_folder(&self) -> PathBuf {
        self.folder.join("said")
    }

    /// A folder for profiles that are only looked at.
    pub(super) fn looks(&self) -> PathBuf {
        self.folder.join("looks")
    }

    /// What the program gets beside our own environment. `HALOSCOPE_RUN_DIR` and `HALOSCOPE_LOGDIR` are for programs too: see
    /// docs/capture.md#haloscope-run.
    pub(super) fn environment(&self, asked: &RunArgs) -> Vec<(&'static str, OsString)> {
        let mut paths = self.python().into_os_string();
        if let Some(others) = env::var_os("PYTHONPATH").filter(|value| !value.is_empty()) {
            paths.push(if cfg!(windows) { ";" } else { ":" });
            paths.push(others);
        }
        vec![
            ("PYTHONPATH", paths),
            ("HALOSCOPE_RUN_DIR", self.messages_folder().into_os_string()),
            ("HALOSCOPE_LOGDIR", absolute(&asked.out)),
        ]
    }

    /// The servers of now, one a process.
    pub(super) fn servers(&self) -> Servers {
        let mut found: Vec<(u32, usize, u16)> = Vec::new();
        for (id, framework, kind, path) in self.files() {
            let place = PREFERRED.iter().position(|name| *name == framework);
            let port = fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok());
            if let (true, Some(place), Some(port)) = (kind == "server", place, port) {
                found.push((id, place, port));
            }
        }
        found.sort_unstable();
        found.dedup_by_key(|(id, ..)| *id);
        Servers(found.into_iter().filter(|(id, ..)| is_alive(*id)).map(|(id, _, port)| (id, port)).collect())
    }

    /// What was compiled so far, where the framework says it.
    pub(super) fn compiled(&self) -> Compiled {
        let said = self
            .files()
            .into_iter()
            .filter(|(_, framework, kind, _)| framework == "jax" && kind == "compiled");
        let each = said.filter_map(|(.., path)| Compiled::parse(&fs::read_to_string(path).ok()?));
        each.fold(Compiled::default(), |all, one| {
            let count = all.count + one.count;
            let most = if one.times > all.times { one } else { all };
            Compiled { count, ..most }
        })
    }

    /// What the program's processes said so far.
    pub(super) fn seen(&self) -> Seen {
        let mut seen = Seen::default();
        for (_, framework, kind, path) in self.files() {
            match kind.as_str() {
                "imported" if !seen.frameworks.contains(&framework) => seen.frameworks.push(framework),
                "failed" => {
                    let text = fs::read_to_string(path).unwrap_or_default();
                    seen.failure.get_or_insert(format!("{framework}: {text}"));
                }
                "server" => seen.has_server = true,
                _ => {}
            }
        }
        seen
    }

    /// The files `PID.FRAMEWORK.KIND`, by name.
    fn files(&self) -> Vec<(u32, String, String, PathBuf)> {
        let entries = fs::read_dir(self.messages_folder()).into_iter().flatten().flatten();
        let mut all: Vec<_> = entries
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let mut parts = name.split('.');
                let (id, framework, kind) = (parts.next()?, parts.next()?, parts.next()?);
                // Not whole yet.
                if parts.next().is_some() {
                    return None;
                }
                Some((id.parse().ok()?, framework.to_owned(), kind.to_owned(), entry.path()))
            })
            .collect();
        all.sort();
        all
    }
}

impl Drop for Shim {
    fn drop(&mut self) {
        // In the folder for what does not last; the system sees to what stays.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Servers {
    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Their addresses, by process.
    pub(super) fn addresses(&self) -> Vec<String> {
        self.0.iter().map(|(_, port)| format!("127.0.0.1:{port}")).collect()
    }
}

/// A path as processes with another working directory can use it. URLs stay.
fn absolute(out: &str) -> OsString {
    if out.contains("://") {
        return out.into();
    }
    std::path::absolute(out).map_or_else(|_| OsStr::new(out).to_owned(), PathBuf::into_os_string)
}

#[cfg(unix)]
fn private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn private(folder: &Path) -> io::Result<()> {
    fs::create_dir(folder)
}

/// Whether a process is there: one that ended leaves its announcement.
#[cfg(unix)]
fn is_alive(id: u32) -> bool {
    use rustix::process::{Pid, test_kill_process};
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid).is_ok())
}

#[cfg(not(unix))]
fn is_alive(_: u32) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_processes_say_is_read() {
        let shim = Shim::new().unwrap();
        let (said, id) = (shim.messages_folder(), process::id());
        assert!(shim.python().join("sitecustomize.py").is_file());
        assert_eq!(shim.seen(), Seen::default());
        for (name, text) in [
            ("tensorflow.server", "1"),
            ("jax.server", "4711"),
            ("jax.imported", ""),
            ("jax.server.part", "9"),
        ] {
            fs::write(said.join(format!("{id}.{name}")), text).unwrap();
        }
        assert_eq!(shim.servers().addresses(), ["127.0.0.1:4711"], "JAX comes before TensorFlow");
        let seen = shim.seen();
        assert!(seen.has_server && seen.frameworks == ["jax"] && seen.failure.is_none());
        fs::write(said.join(format!("{id}.torch_xla.failed")), "ImportError: no").unwrap();
        assert_eq!(shim.compiled(), Compiled::default());
        fs::write(said.join(format!("{id}.jax.compiled")), "12\njit_step\n9\n2.5\n100.0\n104.0\n").unwrap();
        fs::write(said.join(format!("{}.jax.compiled", id + 1)), "3\njit_step\n3\n0.5\n100.0\n101.0\n")
            .unwrap();
        fs::write(said.join(format!("{}.jax.compiled", id + 2)), "3\njit").unwrap();
        let compiled = shim.compiled();
        assert_eq!(
            (compiled.count, compiled.times, compiled.name.as_str()),
            (15, 9, "jit_step"),
            "of all processes"
        );
        assert_eq!((compiled.seconds, compiled.span), (2.5, 4.0));
        assert_eq!(shim.seen().failure.as_deref(), Some("torch_xla: ImportError: no"));
        let folder = shim.folder.clone();
        drop(shim);
        assert!(!folder.exists());
    }
}
