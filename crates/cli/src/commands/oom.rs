//! What `haloscope oom` takes in place of a run: the text of an error, from a file or from stdin, and the folder that XLA dumped
//! its failed compilation into.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, value_parser};
use flate2::read::GzDecoder;
use haloscope_oom::{ASSIGNMENT, CHIP, HLO, LARGEST, MESSAGE, USAGE};
use haloscope_report::Error;
use haloscope_time::analysis::Analysis;

use super::oom_try;
use crate::Failure;
use crate::args::AnalysisArgs;

/// Entries of a folder that are looked at.
const MOST_ENTRIES: usize = 100_000;
/// Bytes at the start of a file by which a text is known.
const HEAD: usize = 8 << 10;
/// What the files of a dump are called behind the name of their module, and which parameter takes each, the best first.
const FILES: [(&str, &str); 4] = [
    (ASSIGNMENT.id, "buffer-assignment.txt"),
    (USAGE.id, "memory-usage-report.txt"),
    (HLO.id, "oom_intermediate_module.txt"),
    (HLO.id, "after_optimizations.txt"),
];

fn is_meant(analysis: &Analysis) -> bool {
    analysis.id == haloscope_oom::ANALYSIS.id
}

/// What stands in the help for the argument that other analyses call a run.
pub(super) fn help(analysis: &Analysis) -> Option<&'static str> {
    is_meant(analysis).then_some(
        "A text with the error, - for stdin, or a run: log folder, .xplane.pb file, HLO proto, dump",
    )
}

/// The folder of the dump.
pub(super) fn arg(analysis: &Analysis) -> Option<Arg> {
    let help = "The folder that --xla_dump_to wrote when it failed, for which buffers fill HBM, their names and lines";
    is_meant(analysis).then(|| {
        Arg::new("dump").long("dump").value_name("FOLDER").value_parser(value_parser!(PathBuf)).help(help)
    })
}

/// Puts the texts where the analysis reads them. What is a run stays one.
///
/// # Errors
/// [`Failure`] for what cannot be read.
pub(super) fn tell(
    analysis: &Analysis,
    matches: &ArgMatches,
    asked: &mut AnalysisArgs,
) -> Result<(), Failure> {
    if !is_meant(analysis) {
        return Ok(());
    }
    let mut beside = None;
    if let Some(path) = asked.run.clone() {
        if path == Path::new("-") {
            asked.params.set(MESSAGE.id, &last(io::stdin().lock(), &path)?);
            asked.run = None;
        } else if let Some(text) = text(&path)? {
            let is_assignment = text.trim_start().starts_with("BufferAssignment:");
            asked.params.set(if is_assignment { ASSIGNMENT.id } else { MESSAGE.id }, &text);
            asked.run = None;
            beside = Some(path);
        }
    }
    let text = asked.params.text(&MESSAGE).to_owned();
    let module =
        haloscope_oom::main_message(&haloscope_oom::read(&text)).map(|message| message.module.clone());
    let found = match (matches.get_one::<PathBuf>("dump"), &beside) {
        (Some(folder), _) => {
            let found = of_module(folder, &module.unwrap_or_default())?;
            if found.is_empty() {
                let message = format!("{} has no dump of a compilation", folder.display());
                let hint =
                    "compile with XLA_FLAGS=\"--xla_dump_to=DIR --xla_dump_hlo_as_text\", and give that DIR";
                return Err(Failure::Nothing(message, hint.into()));
            }
            // What the compiler was told goes before what its message lets guess.
            if asked.params.text(&CHIP) == CHIP.default
                && let Some(chip) = chip_of(folder)
            {
                asked.params.set(CHIP.id, chip);
            }
            found
        }
        (None, Some(file)) => beside_file(file),
        (None, None) => Vec::new(),
    };
    for (id, path) in found {
        let is_given =
            analysis.params.iter().any(|param| param.id == id && !asked.params.text(param).is_empty());
        if !is_given {
            asked.params.set(id, &last(open(&path)?, &path)?);
        }
    }
    Ok(())
}

/// The text of a file, if it is one and no program.
fn text(path: &Path) -> Result<Option<String>, Failure> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let is_profile = [".pb", ".riegeli", ".json", ".xplane"].iter().any(|part| name.contains(part));
    if is_profile || !path.is_file() {
        return Ok(None);
    }
    let mut head = Vec::new();
    open(path)?.take(HEAD as u64).read_to_end(&mut head).map_err(|source| unreadable(path, source))?;
    let start = String::from_utf8_lossy(&head);
    if head.contains(&0) || start.trim_start().starts_with("HloModule") {
        return Ok(None);
    }
    last(open(path)?, path).map(Some)
}

/// Opens a file, packed or not.
fn open(path: &Path) -> Result<Box<dyn Read>, Failure> {
    let file = File::open(path).map_err(|source| unreadable(path, source))?;
    let is_packed = path.extension() == Some(OsStr::new("gz"));
    Ok(if is_packed { Box::new(GzDecoder::new(file)) } else { Box::new(file) })
}

fn unreadable(path: &Path, source: io::Error) -> Failure {
    Failure::Core(Error::Io { path: path.to_owned(), source })
}

/// The last part of what there is to read: a program that dies says so at the end.
fn last(mut from: impl Read, path: &Path) -> Result<String, Failure> {
    let mut kept = Vec::new();
    loop {
        let read = (&mut from)
            .take(LARGEST as u64)
            .read_to_end(&mut kept)
            .map_err(|source| unreadable(path, source))?;
        if read == 0 {
            break;
        }
        kept.drain(..kept.len().saturating_sub(LARGEST));
    }
    Ok(String::from_utf8_lossy(&kept).into_owned())
}

/// The files of a dump that are of a module: the one that the message names, else the one with the largest buffer assignment.
fn of_module(folder: &Path, module: &str) -> Result<Vec<(&'static str, PathBuf)>, Failure> {
    let entries = fs::read_dir(folder).map_err(|source| unreadable(folder, source))?;
    let mut all: Vec<(String, PathBuf, u64)> = Vec::new();
    for entry in entries.take(MOST_ENTRIES).flatten() {
        let size = entry.metadata().map_or(0, |metadata| metadata.len());
        all.push((entry.file_name().to_string_lossy().into_owned(), entry.path(), size));
    }
    all.sort();
    let stem = |name: &str, end: &str| {
        let name = name.strip_suffix(".gz").unwrap_or(name);
        let stem = name.strip_suffix(end)?.trim_end_matches(['.', '-']);
        Some(stem.strip_suffix(".after_optimizations").unwrap_or(stem).to_owned())
    };
    let is_named = |stem: &str| !module.is_empty() && format!(".{stem}.").contains(&format!(".{module}."));
    let best = FILES.iter().find_map(|(_, end)| {
        let of = all.iter().filter_map(|(name, _, size)| Some((stem(name, end)?, *size)));
        of.max_by_key(|(stem, size)| (is_named(stem), *size)).map(|(stem, _)| stem)
    });
    let Some(best) = best else { return Ok(Vec::new()) };
    let mut found: Vec<(&'static str, PathBuf)> = Vec::new();
    for (id, end) in FILES {
        let file = all.iter().find(|(name, ..)| stem(name, end).as_ref() == Some(&best));
        if let Some((_, path, _)) = file.filter(|_| found.iter().all(|(known, _)| *known != id)) {
            found.push((id, path.clone()));
        }
    }
    Ok(found)
}

/// The generation that all programs of a dump were compiled for; `None` where it does not say, or names several.
fn chip_of(folder: &Path) -> Option<&'static str> {
    let mut chips = fs::read_dir(folder).ok()?.take(MOST_ENTRIES).flatten().filter_map(|entry| {
        let path = entry.path();
        path.file_name()?.to_string_lossy().ends_with(oom_try::TARGET).then_some(())?;
        oom_try::target(&fs::read_to_string(path).ok()?)
    });
    let first = chips.next()?;
    chips.all(|chip| chip == first).then_some(first)
}

/// The files that lie beside a text and have its name: `x.txt`, `x.buffer-assignment.txt.gz`.
fn beside_file(file: &Path) -> Vec<(&'static str, PathBuf)> {
    let stem = file.with_extension("");
    let mut found: Vec<(&'static str, PathBuf)> = Vec::new();
    for (id, end) in FILES {
        let mut name = stem.clone().into_os_string();
        name.push(format!(".{end}"));
        let plain = PathBuf::from(&name);
        name.push(".gz");
        let file = [plain, PathBuf::from(name)].into_iter().find(|path| path.is_file());
        if let Some(file) = file.filter(|_| found.iter().all(|(known, _)| *known != id)) {
            found.push((id, file));
        }
    }
    found
}
