//! Why a command did not answer, and what to do about it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use haloscope_report::Error;

/// Why a command did not answer.
#[derive(Debug)]
pub enum Failure {
    /// The engine had no answer.
    Core(Error),
    /// The engine had no answer, and others were told so too.
    Shared(Arc<Error>),
    /// A tool of XProf's had no answer.
    Compat(haloscope_compat::Error),
    /// No profile could be taken.
    Capture(haloscope_capture::Error),
    /// The command line was malformed in a way that the parser cannot know; with a hint, which may be empty.
    Usage(String, String),
    /// Nothing of what was asked for is there; with a hint, which may be empty.
    Nothing(String, String),
    /// stdout took no more.
    Output(io::Error),
    /// A file could not be written; why.
    File(PathBuf, io::Error),
    /// The server could not start or stopped; what it said.
    Server(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Core(error)
    }
}

impl From<haloscope_capture::Error> for Failure {
    fn from(error: haloscope_capture::Error) -> Self {
        Self::Capture(error)
    }
}

impl From<haloscope_compat::Error> for Failure {
    fn from(error: haloscope_compat::Error) -> Self {
        match error {
            haloscope_compat::Error::Core(error) => Self::Core(error),
            other => Self::Compat(other),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::writing(error, Self::Output)
    }
}

impl Failure {
    /// Why something was not written: the engine's own reason where it has one, else what the writer said.
    pub(crate) fn writing(error: io::Error, or: impl FnOnce(io::Error) -> Self) -> Self {
        match error.downcast::<Error>() {
            Ok(error) => Self::Core(error),
            Err(error) => or(error),
        }
    }

    /// The exit code of a process that ends with this. A reader that went away (`| head`) is no failure.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Core(error) => error.exit_code(),
            Self::Shared(error) => error.exit_code(),
            Self::Compat(error) => error.exit_code(),
            Self::Capture(error) => error.exit_code(),
            Self::Usage(..) => 2,
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
            Self::Output(_) | Self::File(..) | Self::Server(_) => 3,
            Self::Nothing(..) => 4,
        }
    }

    /// What happened; `None` where there is nothing to say.
    #[must_use]
    pub fn message(&self) -> Option<String> {
        match self {
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => None,
            Self::Output(error) => Some(format!("cannot write to stdout: {error}")),
            Self::File(path, error) => Some(format!("cannot write {}: {error}", path.display())),
            Self::Core(error) => Some(error.to_string()),
            Self::Shared(error) => Some(error.to_string()),
            Self::Compat(error) => Some(error.to_string()),
            Self::Capture(error) => Some(error.to_string()),
            Self::Usage(message, _) | Self::Nothing(message, _) | Self::Server(message) => {
                Some(message.clone())
            }
        }
    }

    /// What to do about it; `None` where the message says it all.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Core(error) => hint(error).map(str::to_owned),
            Self::Shared(error) => hint(error).map(str::to_owned),
            Self::Capture(error) => error.hint().map(str::to_owned),
            Self::Usage(_, hint) | Self::Nothing(_, hint) if !hint.is_empty() => Some(hint.clone()),
            _ => None,
        }
    }
}

fn hint(error: &Error) -> Option<&'static str> {
    match error {
        Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            Some("pass the log folder given to the profiler, a session folder in it, or a .xplane.pb file")
        }
        Error::Nothing(message) if !message.contains("inspect") => {
            Some("`haloscope inspect RUN` shows what the profile has and which capture options add more")
        }
        _ => None,
    }
}
