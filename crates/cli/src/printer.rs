//! The one door to stdout and stderr: stdout is data, stderr is talk, in which names from profiles move nothing.

use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::panic::PanicHookInfo;

use haloscope_report::{clean, clean_json, clean_lines};

use crate::Failure;
use crate::pager::{Paged, Pager};

/// Columns of an output that is not a terminal.
const DEFAULT_WIDTH: usize = 80;

/// The width that the environment asks for, whatever stdout is.
fn columns() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0)
}

/// Columns of this process's stdout: what `COLUMNS` says, else those of the terminal, else 80.
pub(crate) fn width() -> usize {
    let size = terminal_size::terminal_size().filter(|_| io::stdout().is_terminal());
    columns().or_else(|| size.map(|(width, _)| usize::from(width.0))).unwrap_or(DEFAULT_WIDTH)
}

/// Where a command writes.
pub struct Printer {
    out: BufWriter<Box<dyn Write + Send>>,
    err: Box<dyn Write + Send>,
    width: usize,
    colour: bool,
    terminal: bool,
    read: bool,
    pager: Option<Pager>,
}

impl Printer {
    /// The process's own stdout and stderr.
    #[must_use]
    pub fn standard() -> Self {
        let terminal = io::stdout().is_terminal();
        let size = terminal_size::terminal_size().filter(|_| terminal);
        // https://no-color.org: set to anything but nothing.
        let refused = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty())
            || std::env::var_os("TERM").is_some_and(|v| v == "dumb");
        Self {
            out: BufWriter::new(Box::new(io::stdout())),
            err: Box::new(io::stderr()),
            width: width(),
            colour: terminal && !refused,
            terminal,
            read: terminal || columns().is_some(),
            pager: Pager::of_terminal(size.map(|(_, lines)| usize::from(lines.0)), width())
                .filter(|_| terminal),
        }
    }

    /// Other writers, as if they were no terminal.
    #[must_use]
    pub fn new(out: Box<dyn Write + Send>, err: Box<dyn Write + Send>) -> Self {
        Self {
            out: BufWriter::new(out),
            err,
            width: DEFAULT_WIDTH,
            colour: false,
            terminal: false,
            read: false,
            pager: None,
        }
    }

    /// True if somebody reads along: stdout is a terminal, or `COLUMNS` says how wide one is.
    pub(crate) fn is_read(&self) -> bool {
        self.read
    }

    /// Columns of stdout: those of the terminal, 80 where it is none.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// True if stdout is a terminal that wants colours.
    #[must_use]
    pub fn colour(&self) -> bool {
        self.colour
    }

    /// Writes data to stdout and sees to it that all of it gets there.
    ///
    /// # Errors
    /// [`Failure::Output`] with what the system said.
    pub fn data(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
        write(&mut self.out)?;
        Ok(self.out.flush()?)
    }

    /// As [`Printer::data`], for an answer in another tool's form: byte for byte, but on a terminal with nothing that it obeys or hides.
    ///
    /// # Errors
    /// As [`Printer::data`].
    pub fn answer_of(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let shown = self.terminal.then(|| shown(bytes));
        self.data(|out| out.write_all(shown.as_deref().map_or(bytes, str::as_bytes)))
    }

    /// From now on nothing goes through a pager: it was not asked for, or more follows.
    pub fn without_pager(&mut self) {
        self.pager = None;
    }

    /// As [`Printer::data`], for what a person reads: where stdout is a terminal and the text is longer than a screen, through the
    /// pager. Who leaves the pager early has read enough, which is no failure.
    ///
    /// # Errors
    /// As [`Printer::data`].
    pub fn page(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
        let Some(pager) = &self.pager else { return self.data(write) };
        let mut paged = Paged::new(pager, &mut self.out);
        match write(&mut paged) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
            _ => Ok(paged.finish()?),
        }
    }

    /// Tells something on stderr. If nobody listens there, nothing is lost that was asked for.
    pub fn note(&mut self, what: impl Display) {
        let _ = writeln!(self.err, "note: {}", clean(&what.to_string()));
    }

    /// Writes a text of several lines to stderr.
    pub fn talk(&mut self, text: impl Display) {
        let _ = write!(self.err, "{}", clean_lines(&text.to_string()));
    }

    /// Says why there is no answer.
    pub fn failure(&mut self, failure: &Failure) {
        let Some(message) = failure.message() else { return };
        let _ = writeln!(self.err, "error: {}", clean(&message));
        if let Some(hint) = failure.hint() {
            let _ = writeln!(self.err, "hint: {}", clean(&hint));
        }
    }

    /// Says that a panic was reached, which is always a bug of ours.
    pub fn bug(&mut self, info: &PanicHookInfo<'_>) {
        let payload = info.payload();
        let owned = payload.downcast_ref::<String>().map(String::as_str);
        let what = payload.downcast_ref::<&str>().copied().or(owned).unwrap_or("no message");
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        let version = crate::VERSION;
        let _ = writeln!(self.err, "error: this is a bug in haloscope {version}: {what} ({place})");
        let _ = writeln!(
            self.err,
            "hint: please report it with these lines and the command; the profile too, if you may share it"
        );
    }
}

/// JSON as JSON that says the same, other text with escapes, for a terminal.
fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).into_owned();
    if text.trim_start().starts_with(['{', '[']) { clean_json(text) } else { clean_lines(&text).into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_nothing_to_obey() {
        assert_eq!(shown("[\"a\u{9b}31m\u{202e}\"]\n".as_bytes()), "[\"a\\u009b31m\\u202e\"]\n");
        assert_eq!(shown("a,b\n\u{1b}[2J,µ\n".as_bytes()), "a,b\n\\u{1b}[2J,µ\n");
    }
}
