//! SQL as a question to another program, `haloscope-query`, which is found as git finds its subcommands.
//!
//! A query cannot be stopped in all of its parts, and a query engine is as large as all of Haloscope. So whoever serves others asks a
//! child process, which is ended when its time is over or nobody waits any more ([`haloscope_report::stop`]).

use std::env::{self, consts::EXE_SUFFIX};
use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use haloscope_report::stop;
use serde::{Deserialize, Serialize};

/// The program's name.
pub const PROGRAM: &str = "haloscope-query";

/// Who has no such program is told this.
pub const HOW_TO_GET: &str = "from a checkout: cargo install --path query; docs/query.md says more";

/// Bytes of SQL at most.
pub const MOST_SQL: usize = 1 << 20;

/// How long a query of who is served may take.
pub const LONGEST: Duration = Duration::from_secs(60);

/// Memory in bytes that such a query may take, where nobody limits it to less.
pub const MOST_MEMORY: u64 = 4 << 30;

/// Runs that such a query may be about.
pub const MOST_RUNS: usize = 32;

/// How often it is looked whether somebody still waits.
const LOOK: Duration = Duration::from_millis(10);

/// How much longer than its own time limit the program may take to end.
const GRACE: Duration = Duration::from_secs(2);

/// Bytes of an answer at most: the program itself gives 16 MiB of rows, and the last may be long.
const MOST_ANSWER: u64 = 64 << 20;

/// Bytes of what is told beside an answer at most.
const MOST_TALK: u64 = 64 << 10;

/// What the program finds of this one's environment: where it may put files, and how large what it reads may be. No secrets.
const PASSED: [&str; 7] = [
    "PATH",
    "HOME",
    "SYSTEMROOT",
    "LOCALAPPDATA",
    "XDG_CACHE_HOME",
    "HALOSCOPE_CACHE",
    "HALOSCOPE_MAX_UNPACKED",
];

/// A cell of an answer.
pub type Cell = serde_json::Value;

/// The program.
#[derive(Debug, Clone)]
pub struct Program(PathBuf);

/// A question.
#[derive(Debug, Clone)]
pub struct Question {
    /// The runs: folders or files here.
    pub runs: Vec<PathBuf>,
    /// One statement, or `@` and the name of a canned question.
    pub sql: String,
    /// Most rows of the answer.
    pub rows: usize,
    /// How long it may take, from its start.
    pub timeout: Duration,
    /// Memory in bytes that it may take; what is more goes to scratch files.
    pub memory: u64,
}

/// The rows of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SqlAnswer {
    /// The columns.
    pub columns: Vec<SqlColumn>,
    /// Whether there are more rows than were asked for.
    pub is_cut: bool,
    /// The rows, as many cells each as there are columns: numbers, texts, yes or no; null for unknown.
    pub rows: Vec<Vec<Cell>>,
    /// What is to be known of the runs: files that were left out.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// A column of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SqlColumn {
    /// Its name.
    pub name: String,
    /// What its cells are: `integer`, `real`, `text`, `flag`.
    pub kind: String,
    /// Unit of its numbers; unknown where they were computed of several.
    pub unit: Option<String>,
    /// What a person reads above it, where it is a table's own.
    pub label: Option<String>,
    /// What it means, likewise.
    pub doc: Option<String>,
}

/// What can be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SqlAbout {
    /// The program's version.
    pub version: String,
    /// The tables.
    pub tables: Vec<SqlTable>,
    /// What SQL has beside its own functions.
    pub functions: Vec<SqlFunction>,
    /// Questions that are asked often.
    pub questions: Vec<SqlQuestion>,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SqlTable {
    /// Its name.
    pub name: String,
    /// What a row is.
    pub doc: String,
    /// Its columns.
    pub columns: Vec<SqlTableColumn>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SqlTableColumn {
    /// Its name.
    pub name: String,
    /// Unit of its numbers, empty for words.
    pub unit: String,
    /// What it means.
    pub doc: String,
}

/// A function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SqlFunction {
    /// How it is called.
    pub usage: String,
    /// What it gives.
    pub doc: String,
}

/// A question that is asked often.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SqlQuestion {
    /// Its name, without `@`.
    pub name: String,
    /// What it answers.
    pub question: String,
    /// Its SQL.
    pub sql: String,
}

/// Whose fault it is that there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The SQL is wrong.
    Sql,
    /// A run could not be read, or the query took more time or memory than it may.
    Limits,
    /// The runs hold nothing of the kind.
    Nothing,
    /// The program is not there, or failed.
    Program,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Whose fault it is.
    pub fault: Fault,
    /// What is wrong, with its place in the SQL.
    pub message: String,
    /// What to do about it; empty where the message says it all.
    pub hint: String,
}

impl Refusal {
    fn program(message: String) -> Self {
        Self { fault: Fault::Program, message, hint: HOW_TO_GET.to_owned() }
    }
}

impl Program {
    /// The program beside the one that runs, else the first on PATH.
    #[must_use]
    pub fn find() -> Option<Self> {
        find(env::current_exe().ok().as_deref(), env::var_os("PATH").as_deref())
    }

    /// The program in this file.
    #[must_use]
    pub fn at(file: PathBuf) -> Self {
        Self(file)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// What can be asked.
    ///
    /// # Errors
    /// [`Fault::Program`] if it cannot be started, or is one of another version.
    pub fn about(&self) -> Result<SqlAbout, Refusal> {
        let words = ["--schema", "--format", "json"].map(OsString::from);
        let ended = self.run(&words, "", Duration::from_secs(10))?;
        let about: Option<SqlAbout> = serde_json::from_slice(&ended.out).ok();
        let about = about.filter(|_| ended.status.success());
        let about = about.filter(|about| about.version == env!("CARGO_PKG_VERSION"));
        about.ok_or_else(|| {
            let version = env!("CARGO_PKG_VERSION");
            Refusal::program(format!("{} is not {PROGRAM} of version {version}", self.0.display()))
        })
    }

    /// Asks it. Where nobody waits for the answer any more it ends as [`stop::check`] ends work.
    ///
    /// # Errors
    /// Why there is no answer.
    pub fn ask(&self, question: &Question) -> Result<SqlAnswer, Refusal> {
        if question.sql.len() > MOST_SQL {
            let message = format!("SQL: more than {MOST_SQL} bytes");
            return Err(Refusal { fault: Fault::Sql, message, hint: String::new() });
        }
        let sql = question.sql.trim();
        let seconds = question.timeout.as_secs_f64().to_string();
        let (rows, memory) = (question.rows.max(1).to_string(), question.memory.to_string());
        let limits = [
            "--partial",
            "--format",
            "answer",
            "--limit",
            &rows,
            "--timeout",
            &seconds,
            "--memory-limit",
            &memory,
        ];
        let mut words: Vec<OsString> = limits.map(OsString::from).into();
        let is_canned = sql.starts_with('@');
        words.extend((!is_canned).then(|| "--file=-".into()));
        words.push("--".into());
        words.extend(question.runs.iter().map(|run| run.clone().into_os_string()));
        words.extend(is_canned.then(|| sql.into()));
        let ended = self.run(&words, sql, question.timeout + GRACE)?;
        let told = Told::of(&String::from_utf8_lossy(&ended.talk));
        if !ended.status.success() {
            return Err(told.refusal(ended.status));
        }
        match serde_json::from_slice::<SqlAnswer>(&ended.out) {
            Ok(answer) => Ok(SqlAnswer { notes: told.notes, ..answer }),
            Err(error) => Err(Refusal::program(format!("{PROGRAM} gave no answer: {error}"))),
        }
    }

    /// Runs it to its end.
    fn run(&self, words: &[OsString], stdin: &str, longest: Duration) -> Result<Ended, Refusal> {
        let cannot = |error: io::Error| Refusal::program(format!("cannot run {}: {error}", self.0.display()));
        // Its scratch files go with this folder, also where it is killed.
        let scratch = tempfile::Builder::new().prefix("haloscope-sql-").tempdir().map_err(cannot)?;
        let mut command = Command::new(&self.0);
        command.args(words).env_clear();
        command.envs(PASSED.iter().filter_map(|name| Some((name, env::var_os(name)?))));
        command.envs(["TMPDIR", "TMP", "TEMP"].map(|name| (name, scratch.path())));
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = Running(command.spawn().map_err(cannot)?);
        let out = child.0.stdout.take().map(|pipe| reader(pipe, MOST_ANSWER)).transpose().map_err(cannot)?;
        let talk = child.0.stderr.take().map(|pipe| reader(pipe, MOST_TALK)).transpose().map_err(cannot)?;
        if let Some(mut pipe) = child.0.stdin.take() {
            // One that ends before it has read all says why.
            let _ = pipe.write_all(stdin.as_bytes());
        }
        let until = Instant::now() + longest;
        let status = loop {
            stop::check();
            if let Some(status) = child.0.try_wait().map_err(cannot)? {
                break status;
            }
            if Instant::now() >= until {
                let message = format!("no answer within {} s", longest.saturating_sub(GRACE).as_secs_f64());
                let hint = "ask for less: a step, a kind of line, a device".to_owned();
                return Err(Refusal { fault: Fault::Limits, message, hint });
            }
            thread::sleep(LOOK);
        };
        let taken = |reader: Option<JoinHandle<Vec<u8>>>| {
            reader.and_then(|reader| reader.join().ok()).unwrap_or_default()
        };
        Ok(Ended { status, out: taken(out), talk: taken(talk) })
    }
}

/// A process that does not outlive whoever waits for it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended is not there to be killed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A process that has ended.
struct Ended {
    status: ExitStatus,
    out: Vec<u8>,
    talk: Vec<u8>,
}

/// Reads a pipe as it comes, so that who writes never waits. Of what is more nothing is taken: who writes it fails.
fn reader(pipe: impl Read + Send + 'static, most: u64) -> io::Result<JoinHandle<Vec<u8>>> {
    let read = move || {
        let mut bytes = Vec::new();
        let _ = pipe.take(most).read_to_end(&mut bytes);
        bytes
    };
    thread::Builder::new().name("haloscope-sql".to_owned()).spawn(read)
}

/// What the program says on stderr.
#[derive(Debug, Default, PartialEq, Eq)]
struct Told {
    error: String,
    hint: String,
    notes: Vec<String>,
}

impl Told {
    fn of(text: &str) -> Self {
        let mut told = Self::default();
        let mut in_error = false;
        for line in text.lines() {
            if let Some(note) = line.strip_prefix("note: ") {
                told.notes.push(note.to_owned());
                in_error = false;
            } else if let Some(error) = line.strip_prefix("error: ") {
                error.clone_into(&mut told.error);
                in_error = true;
            } else if let Some(hint) = line.strip_prefix("hint: ") {
                hint.clone_into(&mut told.hint);
                in_error = false;
            } else if in_error {
                told.error.push('\n');
                told.error.push_str(line);
            }
        }
        told
    }

    fn refusal(self, status: ExitStatus) -> Refusal {
        let fault = match status.code() {
            Some(2) => Fault::Sql,
            Some(3) => Fault::Limits,
            Some(4) => Fault::Nothing,
            _ => Fault::Program,
        };
        if self.error.is_empty() {
            return Refusal {
                fault: Fault::Program,
                message: format!("{PROGRAM} failed: {status}"),
                hint: self.hint,
            };
        }
        Refusal { fault, message: self.error, hint: self.hint }
    }
}

/// The program beside this one, else the first on PATH.
fn find(own: Option<&Path>, path: Option<&OsStr>) -> Option<Program> {
    let name = format!("{PROGRAM}{EXE_SUFFIX}");
    let beside = own.and_then(Path::parent).map(Path::to_owned);
    let folders = path.into_iter().flat_map(env::split_paths).filter(|folder| !folder.as_os_str().is_empty());
    let mut files = beside.into_iter().chain(folders).map(|folder| folder.join(&name));
    files.find(|file| file.is_file()).map(Program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_beside_this_one_comes_first() {
        let (beside, on_path) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let own = beside.path().join("haloscope");
        let path = env::join_paths([Path::new(""), on_path.path()]).unwrap();
        let found = || find(Some(&own), Some(&path)).map(|program| program.0);
        assert_eq!(found(), None);
        let name = format!("{PROGRAM}{EXE_SUFFIX}");
        std::fs::write(on_path.path().join(&name), "").unwrap();
        assert_eq!(found(), Some(on_path.path().join(&name)));
        std::fs::write(beside.path().join(&name), "").unwrap();
        assert_eq!(found(), Some(beside.path().join(&name)));
    }

    #[test]
    fn what_is_said_has_parts() {
        let told = Told::of("note: left out: b.pb\nerror: SQL: one\n  two\nhint: three\nnote: four\n");
        let expected = Told {
            error: "SQL: one\n  two".to_owned(),
            hint: "three".to_owned(),
            notes: vec!["left out: b.pb".to_owned(), "four".to_owned()],
        };
        assert_eq!(told, expected);
    }

    #[cfg(unix)]
    mod children {
        use haloscope_report::stop::{Stopped, Token};

        use super::*;

        /// A program that does this.
        fn does(script: &str) -> (tempfile::TempDir, Program) {
            let folder = tempfile::tempdir().unwrap();
            let (text, file) = (folder.path().join("text"), folder.path().join(PROGRAM));
            std::fs::write(&text, format!("#!/bin/sh\n{script}\n")).unwrap();
            // Not written here: a file that a thread has open as another starts a process is busy, and does not run.
            let installed = Command::new("install").args(["-m", "755"]).args([&text, &file]).status();
            assert!(installed.unwrap().success());
            (folder, Program::at(file))
        }

        fn question(sql: &str) -> Question {
            let timeout = Duration::from_secs(20);
            Question { runs: vec!["a run".into()], sql: sql.to_owned(), rows: 7, timeout, memory: 1 << 30 }
        }

        #[test]
        fn the_statement_goes_by_stdin_and_the_limits_by_name() {
            let (_folder, program) = does(concat!(
                "echo 'note: left out: b.pb' >&2\n",
                "printf '{\"columns\":[{\"name\":\"x\",\"kind\":\"text\"}],\"is_cut\":true,\"rows\":[[\"%s|%s|%s\"]]}' \"$*\" \"$(cat)\" \"$HALOSCOPE_TOKEN$TMPDIR\"",
            ));
            let answer = program.ask(&question("SELECT 1")).unwrap();
            let text = answer.rows[0][0].as_str().unwrap();
            let limits = "--partial --format answer --limit 7 --timeout 20 --memory-limit 1073741824 --file=- -- a run|SELECT 1|";
            assert!(text.starts_with(limits), "{text}");
            // Its scratch folder is gone.
            assert!(!Path::new(text.rsplit('|').next().unwrap()).exists(), "{text}");
            assert!(answer.is_cut && answer.notes == ["left out: b.pb"]);
            let canned = program.ask(&question("@hosts ")).unwrap();
            assert!(canned.rows[0][0].as_str().unwrap().contains("1073741824 -- a run @hosts|"));
        }

        #[test]
        fn refusals_say_whose_fault_it_is() {
            for (code, fault) in
                [(2, Fault::Sql), (3, Fault::Limits), (4, Fault::Nothing), (70, Fault::Program)]
            {
                let (_folder, program) =
                    does(&format!("echo 'error: why' >&2; echo 'hint: so' >&2; exit {code}"));
                let refusal = program.ask(&question("SELECT 1")).unwrap_err();
                assert_eq!((refusal.fault, &*refusal.message, &*refusal.hint), (fault, "why", "so"));
            }
            let (_folder, program) = does("exit 0");
            assert_eq!(program.ask(&question("SELECT 1")).unwrap_err().fault, Fault::Program);
            assert_eq!(program.about().unwrap_err().fault, Fault::Program);
            let absent = Program::at("/there/is/nothing".into());
            assert_eq!(absent.ask(&question("SELECT 1")).unwrap_err().fault, Fault::Program);
            let long = question(&" ".repeat(MOST_SQL + 1));
            assert_eq!(program.ask(&long).unwrap_err().fault, Fault::Sql);
        }

        #[test]
        fn it_does_not_outlive_who_waits() {
            let seen = tempfile::tempdir().unwrap();
            let pid = seen.path().join("pid");
            let begun = Instant::now();
            let (_folder, program) = does(&format!("echo $$ > '{}'; exec sleep 600", pid.display()));
            let late =
                program.ask(&Question { timeout: Duration::ZERO, ..question("SELECT 1") }).unwrap_err();
            assert_eq!(late.fault, Fault::Limits);
            let is_there = || {
                let pid = std::fs::read_to_string(&pid).unwrap();
                Path::new("/proc").join(pid.trim()).exists()
            };
            assert!(!is_there());
            let token = Token::new(Some(Instant::now() + Duration::from_millis(300)));
            let stopped = stop::run(&token, || program.ask(&question("SELECT 1")));
            assert_eq!(stopped.unwrap_err(), Stopped::Late);
            assert!(!is_there() && begun.elapsed() < Duration::from_secs(10));
        }
    }
}
