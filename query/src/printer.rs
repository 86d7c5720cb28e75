//! The one door to stdout and stderr: stdout is data, stderr is talk, in which names from profiles move nothing.

use std::fmt::Display;
use std::io::{self, Write};

use haloscope_report::{clean, clean_lines};

use crate::failure::Failure;

/// Writes data to stdout, all of it.
///
/// # Errors
/// What the system says.
pub(crate) fn data(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = io::BufWriter::with_capacity(1 << 18, io::stdout().lock());
    write(&mut out)?;
    out.flush()
}

/// Tells something on stderr. If nobody listens there, nothing is lost that was asked for.
pub(crate) fn note(what: impl Display) {
    let _ = writeln!(io::stderr(), "note: {}", clean(&what.to_string()));
}

/// Writes a text of several lines to stderr.
pub(crate) fn talk(text: impl Display) {
    let _ = write!(io::stderr(), "{}", clean_lines(&text.to_string()));
}

/// Says why there is no answer.
pub(crate) fn failure(failure: &Failure) {
    let Some(message) = failure.message() else { return };
    let _ = writeln!(io::stderr(), "error: {}", clean_lines(&message));
    if let Some(hint) = failure.hint() {
        let _ = writeln!(io::stderr(), "hint: {}", clean(&hint));
    }
}
