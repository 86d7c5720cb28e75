//! Our program asked in every state: cold, reopened, with an index, and by a server that has answered before.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use super::Suite;
use super::data::Subject;
use super::figures::Figure;
use super::tools::Question;
use crate::bench::process::{self, Cost, Limits};
use crate::bench::server::Server;
use crate::bench::timeline::quantile;
use crate::target;

pub(super) const OURS: &str = "haloscope";
/// How often a server is asked the same again, at most.
const WARM: usize = 20;
/// After so many seconds of the same question it is enough.
const ENOUGH_S: f64 = 5.0;

/// What the program to be measured can do, by its own help.
#[derive(Debug, Clone, Copy)]
pub(super) struct Abilities {
    /// It keeps an index of runs.
    pub(super) cache: bool,
    /// `haloscope index RUN`.
    pub(super) index: bool,
    /// `--memory-limit`.
    pub(super) memory_limit: bool,
}

impl Abilities {
    pub(super) fn of(binary: &Path) -> Result<Self> {
        let help = |args: &[&str]| -> Result<String> {
            let said = Command::new(binary).args(args).output()?;
            Ok(String::from_utf8_lossy(&said.stdout).into_owned())
        };
        let (main, overview) = (help(&["--help"])?, help(&["overview", "--help"])?);
        let command = |name: &str| main.lines().any(|line| line.split_whitespace().next() == Some(name));
        Ok(Self {
            cache: command("cache"),
            index: command("index"),
            memory_limit: overview.contains("--memory-limit"),
        })
    }
}

/// An empty folder for the index. Those before it are gone: with one of 5 GB there is no room for a second.
pub(super) fn fresh_cache(name: &str) -> Result<PathBuf> {
    remove_caches()?;
    let folder = caches().join(name);
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

pub(super) fn remove_caches() -> Result<()> {
    if caches().exists() {
        fs::remove_dir_all(caches())?;
    }
    Ok(())
}

fn caches() -> PathBuf {
    target().join("bench/cache")
}

/// The variables that make this folder the place of the index.
pub(super) fn environment(cache: &Path) -> [(&'static str, PathBuf); 2] {
    [("HALOSCOPE_CACHE", cache.to_owned()), ("XDG_CACHE_HOME", cache.to_owned())]
}

impl Suite {
    /// Our program with these arguments and this folder for its index.
    pub(super) fn haloscope(&self, arguments: &[String], run: &Path, cache: &Path) -> Command {
        let mut command = Command::new(&self.binary);
        // The run stands behind the words that say what is asked: one, or two for XProf's tools.
        let words = arguments.iter().take_while(|word| !word.starts_with('-')).count();
        command.args(&arguments[..words]).arg(run).args(&arguments[words..]);
        command.envs(environment(cache));
        command
    }

    pub(super) fn limits(&self) -> Limits {
        Limits { seconds: Some(self.preset.limit_seconds), memory: self.limit_memory }
    }

    pub(super) fn once(&self, arguments: &[String], run: &Path, cache: &Path) -> Result<Cost> {
        process::measure_within(&self.haloscope(arguments, run, cache), self.limits(), None)
    }

    /// A question to a run: cold, then again, then with an index. `runs` of each but the last.
    pub(super) fn ask_ours(&self, subject: &Subject, question: &Question, runs: u32) -> Result<Vec<Figure>> {
        let figure = |state| Figure::new(&subject.name, question.what, OURS, state);
        let folder = &subject.folder;
        let cold = (0..runs).map(|_| self.once(&question.ours, folder, &fresh_cache("cold")?)).collect();
        let cold = figure("cold").costs(cold);
        let failed = cold.note.clone();
        let mut all = vec![cold];
        if let Some(why) = failed {
            return Ok(vec![figure("cold").note(why)]);
        }
        all.push(if self.abilities.cache {
            // The last of the cold runs has left its index.
            let cache = caches().join("cold");
            figure("reopened").costs((0..runs).map(|_| self.once(&question.ours, folder, &cache)).collect())
        } else {
            figure("reopened").note(NO_CACHE)
        });
        Ok(all)
    }

    /// `haloscope index`, and then each question once.
    pub(super) fn ask_indexed(&self, subject: &Subject, questions: &[Question]) -> Result<Vec<Figure>> {
        let figure = |what, state| Figure::new(&subject.name, what, OURS, state);
        if !self.abilities.index {
            return Ok(vec![figure("index", "cold").note("there is no command `index`")]);
        }
        let cache = fresh_cache("indexed")?;
        let index = vec!["index".to_owned()];
        let cost = self.once(&index, &subject.folder, &cache).map(|cost| vec![cost]);
        let mut made = figure("index", "cold").costs(cost);
        made.bytes = Some(size_of(&cache)?);
        let failed = made.note.is_some();
        let mut all = vec![made];
        for question in questions.iter().filter(|_| !failed) {
            let cost = self.once(&question.ours, &subject.folder, &cache).map(|cost| vec![cost]);
            all.push(figure(question.what, "indexed").costs(cost));
        }
        Ok(all)
    }

    /// A server of ours over the subject.
    pub(super) fn server(&self, subject: &Subject) -> Result<Server> {
        let cache = fresh_cache("server")?;
        Server::start(&self.binary, &subject.folder, &environment(&cache))
    }

    /// Each question to a server that has answered it once.
    pub(super) fn ask_warm(&self, subject: &Subject, questions: &[Question]) -> Result<Vec<Figure>> {
        let mut server = self.server(subject)?;
        let mut all = Vec::new();
        for question in questions {
            let figure = Figure::new(&subject.name, question.what, OURS, "warm");
            all.push(match warm(&mut server, &question.server(subject)) {
                Ok((median, p99)) => Figure { seconds: Some(median), other_s: Some(p99), ..figure },
                Err(error) => figure.note(format!("{error:#}")),
            });
        }
        let peak = Figure::new(&subject.name, "all of these", OURS, "warm");
        all.push(Figure { bytes: server.peak_bytes(), ..peak });
        Ok(all)
    }
}

pub(super) const NO_CACHE: &str = "this haloscope keeps no index";

/// Median and longest, seconds, of the same question asked again; the answer is a good one and not empty.
pub(super) fn warm(server: &mut Server, path: &str) -> Result<(f64, f64)> {
    let first = server.get(path)?;
    if first.body.is_empty() {
        bail!("the answer is empty");
    }
    let mut took: Vec<f64> = Vec::new();
    while took.is_empty() || (took.len() < WARM && took.iter().sum::<f64>() < ENOUGH_S) {
        took.push(server.get(path)?.seconds);
    }
    Ok((quantile(&took, 0.5), quantile(&took, 0.99)))
}

/// Size of all files below a folder, bytes.
pub(super) fn size_of(folder: &Path) -> Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let about = entry.metadata()?;
        sum += if about.is_dir() { size_of(&entry.path())? } else { about.len() };
    }
    Ok(sum)
}
