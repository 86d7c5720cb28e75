//! Why there is no answer, and with which exit code the process ends: those of `haloscope`.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use datafusion::common::{Diagnostic, SchemaError};
use datafusion::error::DataFusionError;
use haloscope_report::Error;

use crate::{engine, tables};

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A run could not be read, or an analysis had no answer.
    Core(Error),
    /// The command line or the SQL is wrong; with a hint, which may be empty.
    Usage(String, String),
    /// A file of a run could not be read; with a hint.
    Unread(String, String),
    /// The query took more memory than it may.
    Memory(String),
    /// The query took more time than it may.
    TimedOut(Duration),
    /// Somebody pressed Ctrl-C.
    Stopped,
    /// stdout took no more.
    Output(io::Error),
    /// A file could not be written.
    File(PathBuf, io::Error),
    /// The engine failed in a way that is a bug.
    Bug(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Core(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<DataFusionError> for Failure {
    fn from(error: DataFusionError) -> Self {
        of_engine(error)
    }
}

impl Failure {
    /// The exit code: 2 what was asked is wrong, 3 what was asked could not be done, 4 nothing to analyse, 70 a bug, 130 stopped.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Core(error) => error.exit_code(),
            Self::Usage(..) => 2,
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
            Self::Unread(..) | Self::Memory(_) | Self::TimedOut(_) | Self::Output(_) | Self::File(..) => 3,
            Self::Stopped => 130,
            Self::Bug(_) => 70,
        }
    }

    /// What happened; `None` where there is nothing to say.
    pub(crate) fn message(&self) -> Option<String> {
        Some(match self {
            Self::Stopped => return None,
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => return None,
            Self::Core(error) => error.to_string(),
            Self::Usage(message, _) | Self::Unread(message, _) => message.clone(),
            Self::Memory(message) => format!("the query takes more memory than allowed: {message}"),
            Self::TimedOut(time) => format!("no answer within {} s", time.as_secs_f64()),
            Self::Output(error) => format!("cannot write to stdout: {error}"),
            Self::File(path, error) => format!("cannot write {}: {error}", path.display()),
            Self::Bug(message) => format!("this is a bug in haloscope-query: {message}"),
        })
    }

    /// What to do about it; `None` where the message says it all.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Usage(_, hint) | Self::Unread(_, hint) if !hint.is_empty() => Some(hint.clone()),
            Self::Core(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Some(
                "pass the log folder given to the profiler, a session folder in it, or a .xplane.pb file"
                    .into(),
            ),
            Self::Memory(_) => Some("raise --memory-limit, or ask for fewer rows and columns".into()),
            Self::TimedOut(_) => {
                Some("raise --timeout, or narrow the query: a step, a kind of line, a device".into())
            }
            Self::Bug(_) => {
                Some("please report it with the query; the profile too, if you may share it".into())
            }
            _ => None,
        }
    }
}

/// What the engine says of a pattern that is no regular expression, or a larger one than it takes; why follows it.
const BAD_PATTERN: &str = "Regular expression did not compile";

/// Whether the crate that compiles patterns says so itself.
fn is_of_pattern(why: &str) -> bool {
    why.starts_with("Compiled regex exceeds size limit") || why.starts_with("regex parse error")
}

fn of_engine(error: DataFusionError) -> Failure {
    let place = error.diagnostic().and_then(place);
    let hint = suggestion(&error);
    // The parser says by itself where it stood.
    let at = place
        .filter(|_| !matches!(error.find_root(), DataFusionError::SQL(..)))
        .map(|(line, column)| format!(" (line {line}, column {column})"))
        .unwrap_or_default();
    let sql =
        |message: String| Failure::Usage(format!("SQL: {message}{at}"), hint.clone().unwrap_or_default());
    match innermost(error) {
        DataFusionError::External(inner) => match inner.downcast::<Error>() {
            Ok(error) => Failure::Core(*error),
            Err(other) => match other.to_string() {
                why if is_of_pattern(&why) => sql(format!("the regular expression does not compile: {why}")),
                why => Failure::Bug(why),
            },
        },
        DataFusionError::SQL(error, _) => sql(error.to_string().replace("sql parser error: ", "")),
        DataFusionError::SchemaError(error, _) => sql(schema_words(&error)),
        DataFusionError::ResourcesExhausted(message) => Failure::Memory(message),
        // A kernel's own error is wrapped as the engine's fault; the pattern is the asker's.
        DataFusionError::Internal(message) if message.contains(BAD_PATTERN) => {
            let why = message.split_once(BAD_PATTERN).map_or("", |(_, why)| why);
            sql(format!("the regular expression does not compile{why}"))
        }
        DataFusionError::Internal(message) => Failure::Bug(message),
        DataFusionError::ExecutionJoin(error) => Failure::Bug(error.to_string()),
        DataFusionError::IoError(error) => Failure::Output(error),
        DataFusionError::Plan(message)
        | DataFusionError::Execution(message)
        | DataFusionError::NotImplemented(message)
        | DataFusionError::Configuration(message) => sql(without_schema(&message)),
        other => sql(without_schema(&other.strip_backtrace())),
    }
}

/// Tables by their own names, without those of the engine's catalog and schema.
fn without_schema(message: &str) -> String {
    message.replace(&format!("{}.{}.", engine::CATALOG, engine::SCHEMA), "")
}

/// The error below what was put around it.
fn innermost(error: DataFusionError) -> DataFusionError {
    match error {
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => innermost(*inner),
        DataFusionError::Collection(mut all) if !all.is_empty() => innermost(all.swap_remove(0)),
        DataFusionError::Shared(inner) => match std::sync::Arc::try_unwrap(inner) {
            Ok(inner) => innermost(inner),
            Err(shared) => match shared.as_ref() {
                DataFusionError::ResourcesExhausted(message) => {
                    DataFusionError::ResourcesExhausted(message.clone())
                }
                other => DataFusionError::Execution(other.strip_backtrace()),
            },
        },
        other => other,
    }
}

/// Line and column, from 1.
fn place(diagnostic: &Diagnostic) -> Option<(u64, u64)> {
    let start = diagnostic.span?.start;
    (start.line > 0).then_some((start.line, start.column))
}

fn schema_words(error: &SchemaError) -> String {
    match error {
        SchemaError::FieldNotFound { field, .. } => format!("there is no column {}", field.flat_name()),
        other => other.to_string(),
    }
}

/// The columns or tables whose names are nearest to one that is not there.
fn suggestion(error: &DataFusionError) -> Option<String> {
    match error.find_root() {
        DataFusionError::SchemaError(error, _) => {
            let SchemaError::FieldNotFound { field, valid_fields } = error.as_ref() else { return None };
            nearest("columns", &field.name, valid_fields.iter().map(|known| known.name.as_str()))
        }
        DataFusionError::Plan(message) if message.starts_with("table '") => {
            nearest("tables", &engine::quoted(error)?, tables::names())
        }
        _ => None,
    }
}

fn nearest<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut near: Vec<(usize, &str)> = known.map(|known| (distance(known, name), known)).collect();
    near.sort_unstable();
    near.dedup();
    let near: Vec<&str> = near.into_iter().take(4).map(|(_, name)| name).collect();
    (!near.is_empty()).then(|| format!("the nearest {what} are {}", near.join(", ")))
}

/// How many letters must be changed, put in or left out to make one word of the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let changed = before + usize::from(x != *y);
            before = row[j + 1];
            row[j + 1] = changed.min(before + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        assert_eq!(distance("dur_ps", "dur_ps"), 0);
        assert_eq!(distance("duration_ps", "dur_ps"), 5);
        assert_eq!(distance("", "op"), 2);
    }
}
