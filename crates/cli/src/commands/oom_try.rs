//! `haloscope oom ... --try`: compiles the program of the dump again, without a device, as it is and with cures: by options of the
//! compiler, or by changes of the program's HLO, in a Python that has JAX and libtpu.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use clap::{Arg, ArgAction, ArgMatches, value_parser};
use flate2::read::GzDecoder;
use haloscope_oom::{MESSAGE, chips};
use haloscope_report::{Cell, Error, Report, Table, row};
use haloscope_time::analysis::Analysis;

use crate::args::AnalysisArgs;
use crate::{Failure, Printer};

const TRY: &str = "try";
const PYTHON: &str = "python";
const SECONDS: &str = "try-seconds";
/// How often it is looked whether the compiler has ended.
const LOOK: Duration = Duration::from_millis(50);
/// What compiles, behind what it uses; the first words of the last part say what goes in and out.
const SCRIPT: &str = concat!(
    include_str!("oom_try/hlo.py"),
    include_str!("oom_try/dimensions.py"),
    include_str!("oom_try/blocks.py"),
    include_str!("oom_try/recompute.py"),
    include_str!("oom_try/narrow.py"),
    include_str!("oom_try/compile.py"),
);
/// What an answer of the script begins with.
const MARK: &str = "haloscope-oom-try ";
/// Entries of a folder that are looked at.
const MOST_ENTRIES: usize = 100_000;
/// Bytes of a program's text that are unpacked.
const MOST_TEXT: u64 = 1 << 30;
/// How to have what is needed.
const HOW: &str = "compile with XLA_FLAGS=\"--xla_dump_to=DIR --xla_dump_hlo_as_text\", and give --dump DIR";
/// What is said of a cure that neither a flag of the compiler nor a change of the program's HLO makes.
const BY_HAND: &str = "it needs an edit of the source: the dump does not have what would have to change";

/// The options.
pub(super) fn args(analysis: &Analysis) -> Vec<Arg> {
    if analysis.id != haloscope_oom::ANALYSIS.id {
        return Vec::new();
    }
    vec![
        Arg::new(TRY)
            .long(TRY)
            .action(ArgAction::SetTrue)
            .requires("dump")
            .help("Compiles the program of the dump again with each change that can be made in it, and says whether it fits; no device is needed"),
        Arg::new(PYTHON)
            .long(PYTHON)
            .value_name("PATH")
            .value_parser(value_parser!(PathBuf))
            .requires(TRY)
            .help("The Python for --try, with JAX and libtpu [default: python3]"),
        Arg::new(SECONDS)
            .long(SECONDS)
            .value_name("SECONDS")
            .value_parser(value_parser!(u64).range(1..))
            .default_value("600")
            .requires(TRY)
            .help("How long all compilations of --try may take; unfinished ones are unknown"),
    ]
}

/// Whether cures are to be tried.
fn is_asked(matches: &ArgMatches) -> bool {
    matches.try_get_one::<bool>(TRY).ok().flatten().copied().unwrap_or(false)
}

/// Refuses to try cures of a run: its program compiled, and no error says what did not fit.
///
/// # Errors
/// [`Failure::Usage`] where that is asked.
pub(super) fn refuse(matches: &ArgMatches) -> Result<(), Failure> {
    if !is_asked(matches) {
        return Ok(());
    }
    let hint = "haloscope oom error.txt --dump DIR --try".to_owned();
    Err(Failure::Usage("--try takes the text of an error and a dump, not a run".into(), hint))
}

/// An answer of the script.
#[derive(Debug, Clone, Default, PartialEq)]
struct Answer {
    /// `setup`, `program` (as it was dumped), or the cure.
    id: String,
    verdict: String,
    what: String,
    why: String,
    needed_bytes: Option<i64>,
}

impl Answer {
    /// An answer as the script wrote it; `None` for what is none.
    fn parse(line: &str) -> Option<Self> {
        let json: serde_json::Value = serde_json::from_str(line).ok()?;
        let word = |key: &str| json.get(key).and_then(serde_json::Value::as_str).map(str::to_owned);
        Some(Self {
            id: word("id")?,
            verdict: word("verdict")?,
            what: word("what").unwrap_or_default(),
            why: word("why").unwrap_or_default(),
            needed_bytes: json.get("needed_bytes").and_then(serde_json::Value::as_i64),
        })
    }
}

/// Tries the cures of a report where that is asked, and adds what came of it as the table `tried`.
///
/// # Errors
/// [`Failure`] where there is no program to compile, no chip to compile it for, or no Python that can.
pub(super) fn fill(
    matches: &ArgMatches,
    asked: &AnalysisArgs,
    report: &mut Report,
    printer: &mut Printer,
) -> Result<(), Failure> {
    if !is_asked(matches) {
        return Ok(());
    }
    let Some(folder) = matches.get_one::<PathBuf>("dump") else {
        return Err(Failure::Usage("--try needs the dump of the compilation".into(), HOW.into()));
    };
    let messages = haloscope_oom::read(asked.params.text(&MESSAGE));
    let module =
        haloscope_oom::main_message(&messages).map(|message| message.module.clone()).unwrap_or_default();
    let dump = Dump::of(folder, &module)?;
    let chip = chip(report, &dump)?;
    let cures = cures(report);
    let tries: Vec<serde_json::Value> = cures.iter().filter_map(Cure::plan).collect();
    let text = dump.unpacked()?;
    let plan = serde_json::json!({
        "path": text.as_ref().map_or(dump.program.as_path(), |file| file.path()),
        "topology": topology(chip),
        "limit_kib": set_limit_kib(report, chip),
        "tries": tries,
    });
    let python = matches.get_one::<PathBuf>(PYTHON).cloned().unwrap_or_else(|| "python3".into());
    printer.note(format_args!("compiling {} for a {chip} with {}", dump.program.display(), python.display()));
    let seconds = matches.get_one::<u64>(SECONDS).copied().unwrap_or(600);
    let (answers, is_late) = ask(&python, &plan.to_string(), Duration::from_secs(seconds))?;
    let lost = if is_late {
        format!("not done after {seconds} s: --{SECONDS} allows more")
    } else {
        "the compiler ended without an answer".to_owned()
    };
    report.tables.push(table(&cures, &answers, chip, &lost));
    Ok(())
}

/// The limit of scoped VMEM that the message states, KiB, where it is not the generation's own: a flag set it.
fn set_limit_kib(report: &Report, chip: &str) -> Option<i64> {
    let is_scoped = report.value("kind").and_then(|kind| kind.value.as_text()) == Some("scoped stack");
    let limit = report.value("limit_bytes").filter(|_| is_scoped)?.value.number()? as i64;
    let own = chips::named(chip)?.scoped_vmem_bytes;
    (limit != own).then_some(limit / 1024)
}

/// A cure of the report.
#[derive(Debug)]
struct Cure {
    id: String,
    /// Bytes that are needed then.
    left_bytes: Option<i64>,
    /// How many times smaller something becomes, or in how many parts.
    times: Option<i64>,
}

impl Cure {
    /// What the script is to try; `None` for a cure that it has no change for.
    fn plan(&self) -> Option<serde_json::Value> {
        match self.id.as_str() {
            "donate" | "checkpoint" | "narrower" | "no f64" | "keep sharded" | "fewer buffers" => {
                Some(serde_json::json!({ "id": self.id }))
            }
            "shard"
            | "checkpoint in groups"
            | "blockwise"
            | "chunked loss"
            | "smaller batch"
            | "smaller blocks" => Some(serde_json::json!({ "id": self.id, "times": self.times })),
            // In whole MiB above what is needed, as the cure says it.
            "raise limit" => {
                let kib = (self.left_bytes? / (1 << 20)).saturating_add(1).saturating_mul(1024);
                Some(serde_json::json!({ "id": self.id, "kib": kib }))
            }
            _ => None,
        }
    }
}

fn cures(report: &Report) -> Vec<Cure> {
    let Some(table) = report.table("cures") else { return Vec::new() };
    let of = |row: usize| {
        let id = table.cell(row, "cure").and_then(Cell::as_text)?.to_owned();
        let number = |column| table.cell(row, column).and_then(Cell::number).map(|number| number as i64);
        Some(Cure { id, left_bytes: number("left_bytes"), times: number("times") })
    };
    (0..table.rows.len()).filter_map(of).collect()
}

/// The table of what was tried: the program as it was, then each cure in the report's order; `lost` says why answers are missing.
fn table(cures: &[Cure], answers: &[Answer], chip: &str, lost: &str) -> Table {
    let find = |id: &str| answers.iter().find(|answer| answer.id == id);
    let program = find("program");
    let lost = || Answer { verdict: "unknown".into(), why: lost.into(), ..Answer::default() };
    let mut all: Vec<(String, Answer)> = Vec::new();
    let mut whole = program.cloned().unwrap_or_else(lost);
    if whole.verdict == "compiles" {
        whole.why =
            "it fits here: another version, or an option of the failed compilation, makes the difference"
                .into();
    }
    let (is_shown, is_compiled) = (whole.verdict == "does not fit", whole.verdict == "compiles");
    if let Some(setup) = find("setup") {
        whole.what = format!(
            "{} for a {chip}, {}",
            if whole.what.is_empty() { "the program" } else { whole.what.as_str() },
            setup.why
        );
    }
    all.push(("no cure".to_owned(), whole));
    for cure in cures {
        let answer = match (cure.plan().is_some(), is_shown, find(&cure.id)) {
            (false, ..) => Answer { verdict: "not tried".into(), why: BY_HAND.into(), ..Answer::default() },
            (true, false, _) => Answer {
                verdict: "not tried".into(),
                why: if is_compiled {
                    "the error does not come again without the change, so there is nothing to test".into()
                } else {
                    "the program was not compiled without a change".into()
                },
                ..Answer::default()
            },
            (true, true, Some(answer)) => answer.clone(),
            (true, true, None) => lost(),
        };
        all.push((cure.id.clone(), answer));
    }
    let rows = all.iter().map(|(cure, answer)| {
        row![
            text("cure", "Change", "The change; the first row is without one.", cure.as_str()),
            text(
                "verdict",
                "Verdict",
                "`compiles`, `does not fit`, `failed` (for another reason), `not tried`, or `unknown`.",
                answer.verdict.as_str()
            ),
            bytes(
                "needed_bytes",
                "Needed",
                "Bytes of HBM that the compiled program needs.",
                answer.needed_bytes
            ),
            prose("what", "What", "What was compiled.", answer.what.as_str()),
            prose("why", "Why", "What the compiler said, or why nothing was tried.", answer.why.as_str()),
        ]
    });
    Table::of("tried", "What was tried", rows)
}

/// The files of a dump that a program is compiled from.
struct Dump {
    /// The HLO text before optimisation.
    program: PathBuf,
    /// What it was compiled for, in the compiler's words; empty where the dump does not say.
    target: String,
}

impl Dump {
    /// The program of a module: the one that the message names, else the only one of the folder.
    fn of(folder: &Path, module: &str) -> Result<Self, Failure> {
        let io = |source| Failure::Core(Error::Io { path: folder.to_owned(), source });
        let mut all: Vec<PathBuf> = fs::read_dir(folder)
            .map_err(io)?
            .take(MOST_ENTRIES)
            .flatten()
            .map(|entry| entry.path())
            .collect();
        all.sort();
        let name = |path: &Path| {
            path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
        };
        let ends = |path: &Path, end: &str| {
            let name = name(path);
            name.strip_suffix(".gz").unwrap_or(&name).strip_suffix(end).map(str::to_owned)
        };
        let programs: Vec<(&PathBuf, String)> =
            all.iter().filter_map(|path| Some((path, ends(path, ".before_optimizations.txt")?))).collect();
        let is_named =
            |stem: &str| !module.is_empty() && format!(".{stem}.").contains(&format!(".{module}."));
        let found = match programs.as_slice() {
            [one] if module.is_empty() || is_named(&one.1) => Some(one),
            several => several.iter().find(|(_, stem)| is_named(stem)),
        };
        let Some((program, stem)) = found else {
            let what = match (programs.len(), module) {
                (0, _) => "no HLO text from before optimisation (*before_optimizations.txt)".to_owned(),
                (n, "") => format!("{n} programs, and the message does not say which of them failed"),
                (_, module) => format!("no program {module}"),
            };
            return Err(Failure::Nothing(format!("{} holds {what}", folder.display()), HOW.into()));
        };
        let target = all.iter().find(|path| ends(path, TARGET).as_ref() == Some(stem));
        let target = target.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
        Ok(Self { program: (*program).clone(), target })
    }

    /// The program's text as a plain file, where it is packed.
    fn unpacked(&self) -> Result<Option<tempfile::NamedTempFile>, Failure> {
        if self.program.extension().is_none_or(|end| end != "gz") {
            return Ok(None);
        }
        let io = |source| Failure::Core(Error::Io { path: self.program.clone(), source });
        let mut plain = tempfile::NamedTempFile::new().map_err(io)?;
        let packed = GzDecoder::new(fs::File::open(&self.program).map_err(io)?);
        io::copy(&mut packed.take(MOST_TEXT), &mut plain).map_err(io)?;
        Ok(Some(plain))
    }
}

/// The generation to compile for: the one asked for, or the only one that the message can be of, else the dump's.
fn chip(report: &Report, dump: &Dump) -> Result<&'static str, Failure> {
    let said = report.value("chip").and_then(|value| value.value.as_text()).unwrap_or_default();
    if let Some(chip) = chips::named(said) {
        return Ok(chip.name);
    }
    if let Some(chip) = target(&dump.target) {
        return Ok(chip);
    }
    let what = "neither the message nor the dump says which chip the program was compiled for".to_owned();
    Err(Failure::Usage(what, "give it with --chip, such as --chip v5e".into()))
}

/// What the file is called behind its module's name that says what a program was compiled for.
pub(super) const TARGET: &str = ".target_arguments.txt";

/// The generation that `target_arguments.txt` of a dump states, in the words of libtpu 0.0.52; `None` for other words.
pub(super) fn target(text: &str) -> Option<&'static str> {
    let word = |key: &str| text.lines().find_map(|line| line.trim().strip_prefix(key)).map(str::trim);
    match (word("version:")?, word("variant:")) {
        ("TPU_VERSION_PUFFERFISH", None) => Some("v4"),
        ("TPU_VERSION_VIPERFISH", Some("\"lite\"")) => Some("v5e"),
        ("TPU_VERSION_VIPERFISH", None) => Some("v5p"),
        ("TPU_VERSION_GHOSTLITE", None) => Some("v6e"),
        ("TPU_VERSION_6acc60406", None) => Some("v7x"),
        _ => None,
    }
}

/// The smallest topology of a generation that libtpu describes with a whole host.
fn topology(chip: &str) -> String {
    match chip {
        "v7x" => "tpu7x:2x2x1".to_owned(),
        "v4" | "v5p" => format!("{chip}:2x2x1"),
        _ => format!("{chip}:2x2"),
    }
}

/// Runs the script for so long at most; gives its answers, and whether it was ended before it was done.
fn ask(python: &Path, plan: &str, limit: Duration) -> Result<(Vec<Answer>, bool), Failure> {
    let hint = "--python PATH names a Python with jax and libtpu: pip install 'jax[tpu]'";
    let started = Command::new(python)
        .args(["-", plan])
        .env_remove("XLA_FLAGS")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let (output, is_late) = started.and_then(|child| wait(child, limit)).map_err(|why| {
        Failure::Nothing(format!("{} does not start: {why}", python.display()), hint.into())
    })?;
    let said = String::from_utf8_lossy(&output.stdout);
    let answers: Vec<Answer> =
        said.lines().filter_map(|line| line.strip_prefix(MARK)).filter_map(Answer::parse).collect();
    match answers.iter().find(|answer| answer.id == "setup") {
        Some(setup) if setup.verdict == "ready" => Ok((answers, is_late)),
        Some(setup) => {
            let what = format!("{} cannot compile for TPUs: {}", python.display(), setup.why);
            Err(Failure::Nothing(what, hint.into()))
        }
        None if is_late => {
            let what = format!("{} was not ready to compile after {} s", python.display(), limit.as_secs());
            Err(Failure::Nothing(what, format!("--{SECONDS} allows more")))
        }
        None => {
            let talk = String::from_utf8_lossy(&output.stderr);
            let last =
                talk.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it printed nothing");
            let what = format!("{} cannot compile for TPUs: {last}", python.display());
            Err(Failure::Nothing(what, hint.into()))
        }
    }
}

/// What a program wrote until its end, and whether it was ended after so long.
fn wait(mut child: Child, limit: Duration) -> io::Result<(Output, bool)> {
    let read = |pipe: Option<Box<dyn Read + Send>>| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            pipe.map_or(Ok(0), |mut pipe| pipe.read_to_end(&mut bytes)).map(|_| bytes)
        })
    };
    // It is longer than what one argument, or a pipe that nobody reads, takes.
    if let Some(mut stdin) = child.stdin.take() {
        thread::spawn(move || stdin.write_all(SCRIPT.as_bytes()));
    }
    let stdout = read(child.stdout.take().map(|pipe| Box::new(pipe) as _));
    let stderr = read(child.stderr.take().map(|pipe| Box::new(pipe) as _));
    let begun = Instant::now();
    let mut is_late = false;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if begun.elapsed() >= limit && !is_late {
            is_late = true;
            child.kill()?;
        }
        thread::sleep(LOOK);
    };
    let bytes = |thread: thread::JoinHandle<io::Result<Vec<u8>>>| {
        thread.join().unwrap_or_else(|_| Err(io::Error::other("its output could not be read")))
    };
    Ok((Output { status, stdout: bytes(stdout)?, stderr: bytes(stderr)? }, is_late))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cure(id: &str, left: Option<i64>) -> Cure {
        Cure { id: id.into(), left_bytes: left, times: None }
    }

    fn answer(id: &str, verdict: &str) -> Answer {
        Answer { id: id.into(), verdict: verdict.into(), ..Answer::default() }
    }

    fn verdicts(table: &Table) -> Vec<(&str, &str)> {
        let word = |row, id| table.cell(row, id).and_then(Cell::as_text).unwrap();
        (0..table.rows.len()).map(|row| (word(row, "cure"), word(row, "verdict"))).collect()
    }

    #[test]
    fn a_cure_that_neither_a_flag_nor_a_change_makes_is_not_tried() {
        assert_eq!(cure("table in hbm", Some(1)).plan(), None);
        let blocks = Cure { times: Some(4), ..cure("smaller blocks", Some(1)) };
        assert_eq!(blocks.plan().unwrap()["times"], 4);
        assert_eq!(cure("raise limit", None).plan(), None, "nobody says how much is needed");
        assert_eq!(cure("raise limit", Some(64 << 20)).plan().unwrap()["kib"], 65 * 1024);
        assert_eq!(cure("donate", None).plan().unwrap()["id"], "donate");
    }

    #[test]
    fn what_compiles_counts_only_where_the_error_comes_again_without_it() {
        let cures = [cure("donate", None), cure("less padding", None), cure("raise limit", Some(5))];
        let answers = [answer("program", "does not fit"), answer("donate", "compiles")];
        assert_eq!(
            verdicts(&table(&cures, &answers, "v5e", "")),
            [
                ("no cure", "does not fit"),
                ("donate", "compiles"),
                ("less padding", "not tried"),
                ("raise limit", "unknown")
            ],
            "a compiler that died said nothing of the last"
        );
        for whole in ["compiles", "failed"] {
            let answers = [answer("program", whole), answer("donate", "compiles")];
            let table = table(&cures[..1], &answers, "v5e", "");
            assert_eq!(verdicts(&table), [("no cure", whole), ("donate", "not tried")]);
        }
    }

    #[test]
    fn the_program_is_the_one_that_the_message_names() {
        let folder = tempfile::tempdir().unwrap();
        let dump = |module: &str| Dump::of(folder.path(), module);
        assert!(matches!(dump("jit_f"), Err(Failure::Nothing(why, _)) if why.contains("no HLO text")));
        for (name, text) in [
            ("module_0001.jit_f.cl_1.before_optimizations.txt", "HloModule jit_f"),
            ("module_0001.jit_f.cl_1.target_arguments.txt", "version: TPU_VERSION_GHOSTLITE"),
            ("module_0001.jit_f.cl_1.after_optimizations.txt", "HloModule jit_f"),
        ] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        assert!(dump("jit_f").is_ok() && dump("").is_ok(), "one alone is meant");
        assert!(dump("jit_g").is_err(), "but not where another is named");
        fs::write(folder.path().join("module_0002.jit_fg.cl_1.before_optimizations.txt"), "").unwrap();
        let found = dump("jit_f").unwrap();
        assert!(found.program.ends_with("module_0001.jit_f.cl_1.before_optimizations.txt"));
        assert_eq!(target(&found.target), Some("v6e"));
        assert!(matches!(dump(""), Err(Failure::Nothing(why, _)) if why.contains("2 programs")));
    }

    #[test]
    fn a_target_that_is_not_known_is_none() {
        let of = |words: &str| target(&format!("tpu_topology_args {{\n  {words}\n}}"));
        assert_eq!(of("version: TPU_VERSION_VIPERFISH\n  variant: \"lite\""), Some("v5e"));
        assert_eq!(of("version: TPU_VERSION_VIPERFISH"), Some("v5p"));
        assert_eq!(of("version: TPU_VERSION_VIPERFISH\n  variant: \"other\""), None);
        assert_eq!((of("version: TPU_VERSION_NEXT"), of("")), (None, None));
    }

    #[cfg(unix)]
    #[test]
    fn a_compiler_that_takes_too_long_is_ended_and_what_it_said_counts() {
        let folder = tempfile::tempdir().unwrap();
        let (text, python) = (folder.path().join("text"), folder.path().join("python"));
        let ready = r#"{"id":"setup","verdict":"ready"}"#;
        fs::write(&text, format!("#!/bin/sh\necho '{MARK}{ready}'\nexec sleep 600\n")).unwrap();
        // Not written here: a file that a thread has open as another starts a process is busy, and does not run.
        let installed = Command::new("install").args(["-m", "755"]).args([&text, &python]).status();
        assert!(installed.unwrap().success());
        let (answers, is_late) = ask(&python, "{}", Duration::from_secs(1)).unwrap();
        assert!(is_late && answers.len() == 1, "{answers:?}");
    }
}
