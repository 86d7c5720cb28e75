//! Runs the stages: each when what it needs has passed and its lane has room, its output into a file.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use wait4::Wait4;

use super::graph::seconds_to_the_end;
use super::lanes::{self, Lane};
use super::stages::Stage;
use crate::target;

/// A stage that has not ended after so many seconds is stopped: of a change, and at night.
const LIMITS_S: (u32, u32) = (1_200, 7_200);
/// How often it is said what still runs.
const STILL: Duration = Duration::from_mins(1);

/// Where stages run, and what stands for the words in their commands.
pub(super) struct Place {
    root: PathBuf,
    /// This program: where it was when it began, for a stage may build it anew.
    xtask: PathBuf,
    /// Where their output goes.
    pub(super) logs: PathBuf,
    shared: PathBuf,
    is_night: bool,
    cores: usize,
}

/// What came of a stage.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Ended {
    Passed,
    /// Why, in words.
    Failed(String),
    /// What it needs has failed: the name of that.
    NotRun(&'static str),
    /// There is nothing for it: the path that is absent.
    LeftOut(String),
}

impl Ended {
    /// Whether the run fails for it.
    pub(super) fn is_failure(&self) -> bool {
        matches!(self, Ended::Failed(_) | Ended::NotRun(_))
    }
}

/// A stage that is over.
#[derive(Debug, Clone)]
pub(super) struct Done {
    pub(super) ended: Ended,
    /// When it began, in seconds from the beginning of the run.
    pub(super) began_s: f64,
    pub(super) seconds: f64,
    /// Processor time of its processes, as far as they were waited for, seconds.
    pub(super) processor_s: f64,
}

/// Something to say while stages run; numbers are places in the table.
#[derive(Clone, Copy)]
pub(super) enum Event<'a> {
    Started(usize),
    Ended(usize, &'a Done),
    /// It failed beside others, and is tried once more with the machine to itself.
    Again(usize, &'a Done),
    /// Some time has passed, and these run.
    Still(&'a [usize]),
}

impl Place {
    /// The checkout in `root`.
    ///
    /// # Errors
    /// If there can be no folder for the output.
    pub(super) fn new(root: PathBuf, is_night: bool) -> Result<Place> {
        let logs = target().join("ci");
        fs::create_dir_all(&logs).with_context(|| format!("cannot make {}", logs.display()))?;
        let shared = root.parent().unwrap_or(&root).join("shared");
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let xtask = std::env::current_exe().context("cannot find this program")?;
        Ok(Place { root, xtask, logs, shared, is_night, cores })
    }

    /// The program under test.
    fn program(&self) -> PathBuf {
        target().join(if self.is_night { "release/haloscope" } else { "debug/haloscope" })
    }

    /// A command or path with its words filled in.
    pub(super) fn filled(&self, text: &str) -> String {
        text.replace("{bin}", &self.program().display().to_string())
            .replace("{xtask}", &self.xtask.display().to_string())
            .replace("{shared}", &self.shared.display().to_string())
    }

    /// The command of a stage, filled in.
    pub(super) fn command(&self, stage: &Stage) -> String {
        self.filled(stage.command(self.is_night).unwrap_or("true"))
    }

    /// How a stage is run by itself, with what it needs.
    pub(super) fn alone(&self, stage: &Stage) -> String {
        let night = if self.is_night { " --nightly" } else { "" };
        format!("cargo xtask ci{night} --only {}", stage.name)
    }

    /// Where the output of a stage goes.
    pub(super) fn log(&self, stage: &Stage) -> PathBuf {
        self.logs.join(format!("{}.log", stage.name))
    }

    /// Runs a stage to its end.
    fn run(&self, stage: &Stage, from: Instant) -> Done {
        let began = Instant::now();
        let (ended, processor_s) = match self.wait_for(stage) {
            Ok(done) => done,
            Err(error) => (Ended::Failed(format!("{error:#}")), 0.0),
        };
        let began_s = (began - from).as_secs_f64();
        Done { ended, began_s, seconds: began.elapsed().as_secs_f64(), processor_s }
    }

    fn wait_for(&self, stage: &Stage) -> Result<(Ended, f64)> {
        let path = self.log(stage);
        let log = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
        let limit = if self.is_night { LIMITS_S.1 } else { LIMITS_S.0 };
        let mut command = Command::new("timeout");
        command.args(["--foreground", "--kill-after=10", &limit.to_string()]);
        command.args(["bash", "-euo", "pipefail", "-c", &self.command(stage)]).current_dir(&self.root);
        self.surroundings(&mut command);
        command.stdin(Stdio::null()).stderr(log.try_clone()?).stdout(log);
        let child = command.spawn().context("cannot start `timeout` (coreutils)")?;
        let used = child.wait4()?;
        let processor = (used.rusage.utime + used.rusage.stime).as_secs_f64();
        let ended = match used.status.code() {
            Some(0) => Ended::Passed,
            Some(124 | 137) => Ended::Failed(format!("stopped, or no end after {limit} s")),
            Some(code) => Ended::Failed(format!("exit code {code}")),
            None => Ended::Failed(used.status.to_string()),
        };
        Ok((ended, processor))
    }

    /// What every stage finds around it.
    fn surroundings(&self, command: &mut Command) {
        let python = self.root.join("target/peers/xprof/bin/python");
        for name in ["HALOSCOPE_XPROF_PYTHON", "HALOSCOPE_JAX_PYTHON", "HALOSCOPE_CAPTURE_PYTHON"] {
            command.env(name, &python);
        }
        command.env("HALOSCOPE_BIN", self.program());
        command.env("HALOSCOPE_TRACES", self.shared.join("traces"));
        // What one stage worked out is no answer of another.
        command.env("HALOSCOPE_CACHE", "off");
        command.env("CARGO_BUILD_JOBS", lanes::jobs(self.cores).to_string());
        command.env("CARGO_TERM_COLOR", "never").env("CARGO_TERM_PROGRESS_WHEN", "never");
        command.env("PYTHONUNBUFFERED", "1").env("RUST_BACKTRACE", "1");
        // What of a Python package is imported is compiled then: of numpy that spares half of the processor time. pip takes the word as `compile = no`.
        command.env("PIP_NO_COMPILE", "0");
        if let (None, Some(chromium)) = (std::env::var_os("CHROMIUM"), in_path("chromium")) {
            command.env("CHROMIUM", chromium);
        }
    }
}

/// Where a program is.
fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Runs all stages of a table that was checked, and says what came of each, in the order of the table.
///
/// # Errors
/// If the machinery itself fails; a stage that fails is an outcome.
pub(super) fn run(stages: &[Stage], place: &Place, tell: &mut dyn FnMut(Event)) -> Result<Vec<Done>> {
    let from = Instant::now();
    let ahead = seconds_to_the_end(stages, |stage| f64::from(stage.about_s));
    let mut order: Vec<usize> = (0..stages.len()).collect();
    // What has the most after it first; what runs alone when nothing else is left to start.
    order.sort_by(|&a, &b| {
        let key = |i: usize| (stages[i].lane == Lane::Alone, ahead.get(stages[i].name).map(|s| -s));
        key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal)
    });
    let mut done: Vec<Option<Done>> = vec![None; stages.len()];
    let mut running: Vec<usize> = Vec::new();
    // What has to come in time says little of a machine that others kept busy: it gets a second try, alone.
    let mut again: Vec<usize> = Vec::new();
    let (ends, ended) = mpsc::channel();
    std::thread::scope(|scope| {
        loop {
            settle(stages, place, &mut done, from.elapsed(), tell);
            for &i in &order {
                let lane = |i: usize| if again.contains(&i) { Lane::Alone } else { stages[i].lane };
                let lanes: Vec<Lane> = running.iter().map(|&i| lane(i)).collect();
                let is_open = done[i].is_none() && !running.contains(&i);
                if is_open && is_ready(stages, &done, i) && lane(i).may_start(&lanes, place.cores) {
                    running.push(i);
                    tell(Event::Started(i));
                    let ends = ends.clone();
                    scope.spawn(move || ends.send((i, place.run(&stages[i], from))));
                }
            }
            if running.is_empty() {
                break;
            }
            match ended.recv_timeout(STILL) {
                Ok((i, outcome)) => {
                    running.retain(|&other| other != i);
                    if outcome.ended.is_failure() && stages[i].lane == Lane::Timed && !again.contains(&i) {
                        tell(Event::Again(i, &outcome));
                        again.push(i);
                    } else {
                        tell(Event::Ended(i, &outcome));
                        done[i] = Some(outcome);
                    }
                }
                Err(_) => tell(Event::Still(&running)),
            }
        }
    });
    done.into_iter().collect::<Option<_>>().context("a stage was neither run nor left out")
}

/// Whether all that a stage needs is done.
fn is_ready(stages: &[Stage], done: &[Option<Done>], i: usize) -> bool {
    let is_done =
        |need: &str| stages.iter().zip(done).any(|(stage, done)| stage.name == need && done.is_some());
    stages[i].needs.iter().all(|need| is_done(need))
}

/// Gives up the stages for which there is nothing, and those whose needs have failed.
fn settle(
    stages: &[Stage],
    place: &Place,
    done: &mut [Option<Done>],
    now: Duration,
    tell: &mut dyn FnMut(Event),
) {
    loop {
        let given_up = (0..stages.len()).filter(|&i| done[i].is_none()).find_map(|i| {
            let failed = stages[i].needs.iter().find(|need| {
                let of = stages.iter().position(|stage| stage.name == **need);
                of.and_then(|of| done[of].as_ref()).is_some_and(|done| done.ended.is_failure())
            });
            let absent =
                stages[i].reads.map(|path| place.filled(path)).filter(|path| !Path::new(path).exists());
            let ended = failed.map(|need| Ended::NotRun(need)).or(absent.map(Ended::LeftOut))?;
            Some((i, Done { ended, began_s: now.as_secs_f64(), seconds: 0.0, processor_s: 0.0 }))
        });
        let Some((i, outcome)) = given_up else { return };
        tell(Event::Ended(i, &outcome));
        done[i] = Some(outcome);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ci::stages::tests::stage;

    /// The outcomes by name, and what was said, of stages in a folder of their own.
    fn outcomes(stages: &[Stage]) -> (Vec<(&'static str, Ended)>, String) {
        let folder = tempfile::tempdir().unwrap();
        let place = Place {
            root: folder.path().to_owned(),
            xtask: "xtask".into(),
            logs: folder.path().to_owned(),
            shared: folder.path().join("shared"),
            is_night: false,
            cores: 2,
        };
        let mut said = String::new();
        let done = run(stages, &place, &mut |event| {
            let (text, i, done) = match event {
                Event::Ended(i, done) => (crate::ci::told::ended(&stages[i], &place, done), i, done),
                Event::Again(i, done) => (crate::ci::told::again(&stages[i], &place, done), i, done),
                Event::Started(_) | Event::Still(_) => return,
            };
            assert!(!done.ended.is_failure() || !text.is_empty(), "{}", stages[i].name);
            said += &String::from_utf8(text).unwrap();
        })
        .unwrap();
        (stages.iter().map(|s| s.name).zip(done.into_iter().map(|done| done.ended)).collect(), said)
    }

    fn does(name: &'static str, needs: &'static [&'static str], command: &'static str) -> Stage {
        Stage { change: Some(command), ..stage(name, needs) }
    }

    #[test]
    fn a_stage_that_fails_names_itself_and_how_to_run_it_alone() {
        let (ended, said) = outcomes(&[
            does("good", &[], "echo fine"),
            does("bad", &["good"], "echo first; echo second >&2; exit 7"),
            does("after", &["bad"], "echo never"),
            does("last", &["after"], "true"),
            does("other", &["good"], "cat"),
        ]);
        let failed = Ended::Failed("exit code 7".to_owned());
        assert_eq!(
            ended,
            [
                ("good", Ended::Passed),
                ("bad", failed),
                ("after", Ended::NotRun("bad")),
                ("last", Ended::NotRun("after")),
                ("other", Ended::Passed)
            ]
        );
        assert!(said.contains("FAILED: bad: exit code 7\n"), "{said}");
        assert!(said.contains("cargo xtask ci --only bad\n"), "{said}");
        assert!(said.contains("echo first; echo second >&2; exit 7\n"), "{said}");
        assert!(said.contains("first\nsecond\n"), "{said}");
        assert!(said.contains("not run: after: it needs bad\n"), "{said}");
        assert!(!said.contains("never"), "{said}");
    }

    #[test]
    fn what_hangs_on_time_is_tried_once_more_alone() {
        let timed = |name, command| Stage { lane: Lane::Timed, ..does(name, &[], command) };
        let (ended, said) = outcomes(&[
            timed("late", "echo try; [ -e tried ] || { touch tried; exit 3; }"),
            timed("wrong", "echo broken; exit 4"),
            does("once", &[], "[ ! -e once ] && touch once && exit 5"),
        ]);
        assert_eq!(ended[0].1, Ended::Passed);
        assert_eq!(ended[1].1, Ended::Failed("exit code 4".to_owned()));
        assert_eq!(ended[2].1, Ended::Failed("exit code 5".to_owned()));
        assert!(said.contains("== late: exit code 3, "), "{said}");
        assert!(said.contains("== tried again, alone, when the others are done: late\n"), "{said}");
        assert_eq!(said.matches("broken\n").count(), 2, "{said}");
    }

    #[test]
    fn any_line_of_a_command_may_fail() {
        let (ended, _) = outcomes(&[does("lines", &[], "false\ntrue"), does("pipe", &[], "false | true")]);
        assert!(ended.iter().all(|(_, ended)| ended.is_failure()), "{ended:?}");
    }

    #[test]
    fn what_there_is_nothing_for_is_left_out_and_no_failure() {
        let beside = Stage { reads: Some("{shared}/traces"), ..stage("traces", &[]) };
        let (ended, said) = outcomes(&[beside, stage("after", &["traces"])]);
        assert!(matches!(&ended[0].1, Ended::LeftOut(path) if path.ends_with("shared/traces")), "{ended:?}");
        assert_eq!(ended[1].1, Ended::Passed);
        assert!(said.contains("left out: traces: there is no "), "{said}");
    }

    #[test]
    fn stages_run_side_by_side_and_after_what_they_need() {
        // Each of the two waits for the other's file: they end only if both run at a time.
        let meet = "touch a; until [ -e b ]; do sleep 0.01; done";
        let met = "touch b; until [ -e a ]; do sleep 0.01; done";
        let (ended, _) = outcomes(&[
            does("c", &["a", "b"], "[ -e a ] && [ -e b ]"),
            does("a", &[], meet),
            does("b", &[], met),
        ]);
        assert!(ended.iter().all(|(_, ended)| *ended == Ended::Passed), "{ended:?}");
    }
}
