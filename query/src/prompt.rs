//! The prompt: statements as they are typed, each answered by a process of its own, so that Ctrl-C, time and memory hold for it as they do
//! for one on the command line.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Config, Context, Editor, Helper};

use crate::failure::Failure;
use crate::{canned, functions, printer, tables};

/// How many statements are remembered.
const REMEMBERED: usize = 1_000;

const HELP: &str = "\
A statement ends with ;  @NAME runs a canned question, Tab completes names, Ctrl-C ends a query, Ctrl-D the prompt.
  .tables           the tables and what their rows are
  .schema [TABLE]   its columns with their units; without TABLE, those of all tables
  .functions        functions in addition to those of SQL
  .questions        the canned questions
  .set              the options for queries
  .set NAME VALUE   sets one: format, limit, timeout, memory-limit
  .help             this
  .quit             ends the prompt
";

/// Words of SQL that are worth completing.
const WORDS: [&str; 44] = [
    "AND",
    "AS",
    "ASC",
    "AVG",
    "BETWEEN",
    "BY",
    "CASE",
    "CAST",
    "COALESCE",
    "COUNT",
    "CROSS",
    "DESC",
    "DESCRIBE",
    "DISTINCT",
    "ELSE",
    "END",
    "EXPLAIN",
    "FILTER",
    "FROM",
    "GROUP",
    "HAVING",
    "IN",
    "INNER",
    "IS",
    "JOIN",
    "LAST",
    "LEFT",
    "LIKE",
    "LIMIT",
    "MAX",
    "MIN",
    "NOT",
    "NULL",
    "NULLS",
    "ON",
    "OR",
    "ORDER",
    "OVER",
    "PARTITION",
    "SELECT",
    "THEN",
    "WHEN",
    "WHERE",
    "WITH",
];

/// The commands of the prompt.
const COMMANDS: [&str; 7] = [".functions", ".help", ".questions", ".quit", ".schema", ".set", ".tables"];

/// What can be set.
const SETTINGS: [&str; 4] = ["format", "limit", "timeout", "memory-limit"];

/// Answers what is typed until there is no more.
///
/// # Errors
/// If the terminal cannot be used.
pub(crate) fn run(runs: &[OsString], mut options: Vec<OsString>) -> Result<(), Failure> {
    let broken = |error: ReadlineError| Failure::Output(io::Error::other(error));
    let config =
        Config::builder().max_history_size(REMEMBERED).map_err(broken)?.auto_add_history(true).build();
    let mut editor: Editor<Names, DefaultHistory> = Editor::with_config(config).map_err(broken)?;
    editor.set_helper(Some(Names::new()));
    let remembered = history();
    if let Some(file) = &remembered {
        // There is none the first time.
        let _ = editor.load_history(file);
    }
    // Ctrl-C is for the query, which has this terminal too.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.spawn(async { while tokio::signal::ctrl_c().await.is_ok() {} });
    printer::note(".help says what you can type; a statement ends with ;");
    loop {
        match editor.readline("sql> ") {
            Ok(typed) => match Typed::of(&typed) {
                Typed::Nothing => {}
                Typed::Quit => break,
                Typed::Print(text) => printer::data(|out| out.write_all(text.as_bytes()))?,
                Typed::Wrong(why) => {
                    printer::failure(&Failure::Usage(why, ".help says what there is".into()));
                }
                Typed::Options => {
                    let words: Vec<Cow<'_, str>> =
                        options.iter().map(|word| word.to_string_lossy()).collect();
                    printer::data(|out| writeln!(out, "{}", words.join(" ")))?;
                }
                Typed::Set(name, value) => set(&mut options, name, &value),
                Typed::Sql(sql) => ask(runs, &options, &sql)?,
            },
            // What was typed of a line is given up, and nothing else.
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(broken(error)),
        }
    }
    if let Some(file) = &remembered {
        remember(&mut editor, file);
    }
    Ok(())
}

/// Where statements are remembered: with what programs of this user remember. Nowhere where the user has no such folder.
fn history() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let all = if cfg!(windows) {
        absolute("LOCALAPPDATA")
    } else {
        // https://specifications.freedesktop.org/basedir-spec: a path that is not absolute is to be ignored.
        absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))
    };
    Some(all?.join("haloscope").join("query-history"))
}

/// Keeps what was typed, for its user alone. Where it cannot be kept nothing is lost that was asked for.
fn remember(editor: &mut Editor<Names, DefaultHistory>, file: &std::path::Path) {
    if let Some(folder) = file.parent() {
        let _ = fs::create_dir_all(folder);
    }
    if editor.append_history(file).is_ok() {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let _ = fs::set_permissions(file, fs::Permissions::from_mode(0o600));
        }
    }
}

/// Asks this very program, which writes to the terminal and says by itself what is wrong.
fn ask(runs: &[OsString], options: &[OsString], sql: &str) -> Result<(), Failure> {
    let own = std::env::current_exe()?;
    let mut child =
        Command::new(own).args(options).arg("--file=-").arg("--").args(runs).stdin(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that ended before it had read all has said why.
        let _ = stdin.write_all(sql.as_bytes());
    }
    child.wait()?;
    Ok(())
}

/// Sets an option, or takes the place of its value.
fn set(options: &mut Vec<OsString>, name: &'static str, value: &str) {
    let option = OsString::from(format!("--{name}"));
    match options.iter().position(|word| *word == option) {
        Some(at) if at + 1 < options.len() => options[at + 1] = value.into(),
        _ => options.extend([option, value.into()]),
    }
}

/// What was typed.
#[derive(Debug, PartialEq)]
enum Typed {
    Nothing,
    Quit,
    Print(String),
    Wrong(String),
    Options,
    Set(&'static str, String),
    Sql(String),
}

impl Typed {
    fn of(text: &str) -> Self {
        let text = text.trim();
        if let Some(name) = text.strip_prefix('@') {
            let name = name.trim_end_matches(';').trim();
            return match canned::find(name) {
                Some(canned) => Self::Sql(canned.sql.to_owned()),
                None => Self::Wrong(format!("there is no question @{name}")),
            };
        }
        if !text.starts_with('.') {
            let text = text.trim_end_matches(|c: char| c == ';' || c.is_whitespace());
            return if text.is_empty() { Self::Nothing } else { Self::Sql(text.to_owned()) };
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            [".quit" | ".exit"] => Self::Quit,
            [".help"] => Self::Print(HELP.to_owned()),
            [".tables"] => Self::Print(listed(tables::about().iter().map(|table| (table.name, table.doc)))),
            [".schema"] => Self::Print(crate::docs::schema()),
            [".schema", name] => match tables::about().iter().find(|table| table.name == name) {
                Some(table) => Self::Print(columns(table)),
                None => Self::Wrong(format!("there is no table {name}; .tables lists them")),
            },
            [".functions"] => Self::Print(listed(functions::documentation().into_iter())),
            [".questions"] => {
                let all = canned::ALL.iter().map(|canned| (format!("@{}", canned.name), canned.question()));
                let all: Vec<(String, &str)> = all.collect();
                Self::Print(listed(all.iter().map(|(name, question)| (name.as_str(), *question))))
            }
            [".set"] => Self::Options,
            [".set", name, value] => match SETTINGS.iter().find(|known| **known == name) {
                Some(known) => Self::Set(known, value.to_owned()),
                None => Self::Wrong(format!("there is no option {name}; there are {}", SETTINGS.join(", "))),
            },
            _ => Self::Wrong(format!("there is no command {}", words.first().unwrap_or(&""))),
        }
    }
}

/// Names and what they are, a line each.
fn listed<'a>(all: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> String {
    let width = all.clone().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    all.map(|(name, doc)| format!("{name:width$}  {doc}\n")).collect()
}

fn columns(table: &tables::About) -> String {
    let width = table.columns.iter().map(|column| column.id.len()).max().unwrap_or(0);
    let of = |column: &haloscope_report::Column| {
        format!("{:width$}  {:7}  {}\n", column.id, column.unit.symbol(), column.doc)
    };
    table.columns.iter().map(of).collect()
}

/// Completes names, and waits for the `;` of a statement.
struct Names {
    all: BTreeSet<String>,
}

impl Names {
    fn new() -> Self {
        let tables = tables::about();
        let columns = tables.iter().flat_map(|table| table.columns.iter().map(|column| column.id.to_owned()));
        let functions = functions::documentation();
        let calls = functions.iter().filter_map(|(usage, _)| Some(format!("{}(", usage.split_once('(')?.0)));
        let questions = canned::ALL.iter().map(|canned| format!("@{}", canned.name));
        let words = WORDS.iter().chain(&COMMANDS).map(|word| (*word).to_owned());
        let all = tables.iter().map(|table| table.name.to_owned()).chain(columns).chain(calls);
        Self { all: all.chain(["analysis(".to_owned()]).chain(questions).chain(words).collect() }
    }

    /// Where the word before the cursor begins, and what it may become.
    fn of(&self, line: &str, at: usize) -> (usize, Vec<String>) {
        let before = line.get(..at).unwrap_or(line);
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '@' | '.' | '-');
        let part = before.chars().rev().take_while(|c| is_part(*c)).map(char::len_utf8).sum::<usize>();
        let mut from = before.len() - part;
        let is_first = before[..from].trim().is_empty();
        // A dot inside of a statement stands between a table and its column, a dash between numbers.
        if !(is_first && before[from..].starts_with(['.', '@'])) {
            from += before[from..].rfind(['.', '-', '@']).map_or(0, |place| place + 1);
        }
        let word = &before[from..];
        if word.is_empty() {
            return (from, Vec::new());
        }
        let is_meant = |name: &&String| {
            name.len() >= word.len()
                && name.is_char_boundary(word.len())
                && name[..word.len()].eq_ignore_ascii_case(word)
        };
        (from, self.all.iter().filter(is_meant).cloned().collect())
    }
}

impl Completer for Names {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.of(line, at))
    }
}

impl Validator for Names {
    fn validate(&self, context: &mut ValidationContext) -> rustyline::Result<ValidationResult> {
        Ok(if is_whole(context.input()) {
            ValidationResult::Valid(None)
        } else {
            ValidationResult::Incomplete
        })
    }
}

/// Whether what was typed needs no more lines.
fn is_whole(text: &str) -> bool {
    let text = text.trim();
    text.is_empty() || text.starts_with(['.', '@']) || text.ends_with(';')
}

impl Hinter for Names {
    type Hint = String;
}

impl Highlighter for Names {}

impl Helper for Names {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_completed_where_they_stand() {
        let names = Names::new();
        let of = |line: &str| names.of(line, line.len());
        assert_eq!(of("SELECT device_d"), (7, vec!["device_dur_ps".to_owned()]));
        assert_eq!(of("SELECT e.hbm"), (9, vec!["hbm_bytes".to_owned()]));
        assert_eq!(of("sele"), (0, vec!["SELECT".to_owned()]));
        assert_eq!(of(".ta"), (0, vec![".tables".to_owned()]));
        assert_eq!(of("@idle"), (0, vec!["@idle-gaps".to_owned()]));
        assert_eq!(of("SELECT 1 -"), (10, vec![]));
        assert_eq!(of("SELECT overl"), (7, vec!["overlap_ps(".to_owned()]));
        assert!(of("SELECT 'ä").1.is_empty());
        assert_eq!(names.of("SELECT nam FROM event", 10), (7, vec!["name".to_owned()]));
    }

    #[test]
    fn a_statement_ends_with_a_semicolon_and_a_command_with_its_line() {
        assert!(is_whole("SELECT 1;") && is_whole(".tables") && is_whole("@hosts") && is_whole("  "));
        assert!(!is_whole("SELECT 1") && !is_whole("SELECT\n1"));
        assert_eq!(Typed::of("SELECT 1 ;\n"), Typed::Sql("SELECT 1".to_owned()));
        assert_eq!(Typed::of(" ; "), Typed::Nothing);
        assert_eq!(Typed::of(".quit"), Typed::Quit);
        assert_eq!(Typed::of(".set limit 5"), Typed::Set("limit", "5".to_owned()));
        assert!(matches!(Typed::of(".set output x"), Typed::Wrong(_)));
        assert!(matches!(Typed::of(".nonsense"), Typed::Wrong(_)));
        assert!(matches!(Typed::of("@nonsense"), Typed::Wrong(_)));
        assert!(matches!(Typed::of("@hosts;"), Typed::Sql(sql) if sql.contains("FROM op")));
        assert!(matches!(Typed::of(".schema step"), Typed::Print(text) if text.contains("dur_ps")));
    }

    #[test]
    fn an_option_is_set_once() {
        let mut options: Vec<OsString> = ["--format", "table"].map(Into::into).into();
        set(&mut options, "format", "csv");
        set(&mut options, "timeout", "3");
        assert_eq!(options, ["--format", "csv", "--timeout", "3"]);
    }
}
