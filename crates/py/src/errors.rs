//! Why there is no answer, as exceptions. Their classes are Python's own (`haloscope/_errors.py`), because one of them is several
//! things at once: what cannot be found is an `InputError` and a `FileNotFoundError`.

use std::io;

use haloscope_cli::Failure;
use haloscope_report::Error;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::speak;

/// Why there is no answer.
#[derive(Debug)]
pub(crate) struct Trouble {
    class: &'static str,
    message: String,
    hint: String,
}

impl Trouble {
    /// A panic, which is always a bug of ours.
    pub(crate) fn bug(what: &str) -> Self {
        let message = format!("this is a bug in haloscope {}: {what}", env!("CARGO_PKG_VERSION"));
        let hint = "please report it with these lines and the call; the profile too, if you may share it";
        Self { class: "BugError", message, hint: hint.to_owned() }
    }

    /// A call that is wrong.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { class: "UsageError", message: message.into(), hint: String::new() }
    }

    /// An input that cannot be read.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self { class: "InputError", message: message.into(), hint: String::new() }
    }

    /// A file that changed while it was read.
    pub(crate) fn changed(message: impl Into<String>) -> Self {
        Self { class: "ChangedError", message: message.into(), hint: String::new() }
    }

    /// Nothing of what was asked for is there.
    pub(crate) fn nothing(message: impl Into<String>) -> Self {
        Self { class: "NothingError", message: message.into(), hint: String::new() }
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        let class = match (&failure, failure.exit_code()) {
            (Failure::Core(error), _) => class_of(error),
            (Failure::Shared(error), _) => class_of(error),
            (_, 2) => "UsageError",
            (_, 3) => "InputError",
            (_, 4) => "NothingError",
            _ => "BugError",
        };
        let said = |text: Option<String>| speak::in_python(&text.unwrap_or_default());
        Self { class, message: said(failure.message()), hint: said(failure.hint()) }
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Failure::from(error).into()
    }
}

fn class_of(error: &Error) -> &'static str {
    match error {
        Error::Changed { .. } => "ChangedError",
        Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => "NotFoundError",
        error => match error.exit_code() {
            2 => "UsageError",
            3 => "InputError",
            4 => "NothingError",
            _ => "BugError",
        },
    }
}

impl From<Trouble> for PyErr {
    fn from(trouble: Trouble) -> Self {
        Python::attach(|py| {
            let made = || {
                let class = py.import("haloscope._errors")?.getattr(trouble.class)?;
                class.call1((trouble.message.as_str(), trouble.hint.as_str()))
            };
            // Where the package is not around the module, there are no classes.
            made().map_or_else(|_| PyRuntimeError::new_err(trouble.message.clone()), Self::from_value)
        })
    }
}
