//! Whether two builds of `haloscope` give the same answers: every analysis on every fixture, byte for byte.
//!
//! What is asked is derived from the registry: each analysis as it is, with every word of every parameter that is a choice,
//! on a part of the run, and beside another run where it takes one; a few questions with other parameters come on top.
//! Compared are the exit code, stdout and stderr.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use haloscope_analyses as analyses;
use haloscope_time::analysis::{Analysis, Others, ParamKind};

use crate::{root, say, talk};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The `haloscope` whose answers are right
    old: PathBuf,
    /// The `haloscope` that is to give the same
    new: PathBuf,
    /// Ask only analyses whose id begins with this
    #[arg(long, default_value = "")]
    only: String,
    /// Ask so many questions at a time
    #[arg(long, default_value_t = 3)]
    jobs: usize,
    /// Write both answers to questions that differ into this folder
    #[arg(long)]
    keep: Option<PathBuf>,
}

/// Questions that no choice of a parameter leads to.
const MORE: &[(&str, &[&str])] = &[
    ("check", &["--claim", "step_time<=85ms;latency<1ms", "--floor", "1us"]),
    ("check", &["--expect", "fusion;no such op", "--confidence", "0.9"]),
    ("compute mfu", &["--global-batch", "8", "--seq", "128", "--flops-per-token", "1G"]),
    ("compare", &["--renamed", "yes", "--limit", "0", "--force"]),
    ("critical-path", &["--if", "communication=0"]),
    ("hlo search", &["--opcode", "fusion"]),
    ("hlo counters", &["--dots", "1", "--copies", "0"]),
    ("memory peak", &["--space", "vmem"]),
    ("memory attribute", &["--space", "vmem"]),
    ("audit flags", &["--version", "0.0.1"]),
    ("comm", &["--mesh", "2x2"]),
    ("source", &["--file", "py"]),
];

/// Parts of a run that are asked about beside the whole.
const PARTS: &[&[&str]] = &[&["--steady"], &["--window", "1ms..3ms"], &["--modules", "jit"]];

pub(crate) fn run(args: &Args) -> Result<()> {
    let runs = runs()?;
    let mut questions = Vec::new();
    for analysis in analyses::ALL.iter().filter(|analysis| analysis.id.starts_with(&args.only)) {
        for (at, run) in runs.iter().enumerate() {
            // The fixtures beside it are as good as any other run.
            let other = &runs[(at + 1) % runs.len()];
            questions.extend(of(analysis, run, other));
        }
    }
    let differ = compare(&questions, args)?;
    say(&format!("{} questions on {} inputs: {} answers differ", questions.len(), runs.len(), differ.len()));
    for at in differ.iter().take(40) {
        say(&format!("  haloscope {}", questions[*at].join(" ")));
    }
    if !differ.is_empty() {
        bail!("the two builds differ");
    }
    Ok(())
}

/// Runs, programs and texts of flags below `fixtures`, relative to the checkout.
fn runs() -> Result<Vec<String>> {
    let mut all = vec!["fixtures/trace-json".to_owned()];
    for (folder, ending) in [("fixtures/runs", ""), ("fixtures/hlo", ".gz"), ("fixtures/flags", "")] {
        let path = root().join(folder);
        let entries = fs::read_dir(&path).with_context(|| format!("cannot read {}", path.display()))?;
        for entry in entries {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name.ends_with(ending) {
                all.push(format!("{folder}/{name}"));
            }
        }
    }
    all.sort_unstable();
    Ok(all)
}

/// The command lines of all questions that one analysis is asked about a run.
fn of(analysis: &Analysis, run: &str, other: &str) -> Vec<Vec<String>> {
    let question = |more: &[&str]| {
        let words = analysis.words().map(str::to_owned).chain([run.to_owned()]);
        let beside = (analysis.others() == Others::Many).then(|| other.to_owned());
        words.chain(beside).chain(more.iter().map(|word| (*word).to_owned())).collect::<Vec<_>>()
    };
    let mut all = vec![question(&[])];
    for param in analysis.params {
        let option = format!("--{}", param.id);
        if let ParamKind::Choice(words) = param.kind {
            all.extend(words.iter().filter(|w| **w != param.default).map(|word| question(&[&option, word])));
        }
    }
    // Programs and texts of flags have no time that could be cut.
    if root().join(run).is_dir() {
        all.extend(PARTS.iter().map(|part| question(part)));
    }
    match analysis.others() {
        Others::None | Others::Many => {}
        Others::One => all.push(question(&[other])),
        Others::Baseline => all.push(question(&["--baseline", other])),
    }
    all.extend(MORE.iter().filter(|(id, _)| *id == analysis.id).map(|(_, more)| question(more)));
    all
}

/// The questions whose answers differ, by number.
fn compare(questions: &[Vec<String>], args: &Args) -> Result<Vec<usize>> {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || -> Result<()> {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(question) = questions.get(at) else { return Ok(()) };
            if at % 500 == 0 {
                talk(&format!("{at} of {}", questions.len()));
            }
            let (old, new) = (ask(&args.old, question)?, ask(&args.new, question)?);
            if old != new {
                failed.lock().unwrap_or_else(PoisonError::into_inner).push(at);
                if let Some(folder) = &args.keep {
                    fs::create_dir_all(folder)?;
                    fs::write(folder.join(format!("{at}.old")), old)?;
                    fs::write(folder.join(format!("{at}.new")), new)?;
                }
            }
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..args.jobs.max(1)).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| match thread.join() {
            Ok(done) => done,
            Err(_) => bail!("a thread panicked"),
        })
    })?;
    let mut failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    failed.sort_unstable();
    Ok(failed)
}

/// All that a build says to a question.
fn ask(program: &Path, question: &[String]) -> Result<Vec<u8>> {
    let mut command = Command::new(program);
    command.args(question).args(["--format", "json", "--no-cache"]).current_dir(root());
    let output = command.output().with_context(|| format!("cannot run {}", program.display()))?;
    let code = format!("exit {:?}\n", output.status.code());
    Ok([code.as_bytes(), &output.stdout, &output.stderr].concat())
}
