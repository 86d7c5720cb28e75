//! A pager between what is read by a person and the terminal, started where the text is longer than a screen.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::{Child, Command, Stdio};

/// The variables that name a pager, the first that is set counts.
const VARIABLES: [&str; 2] = ["HALOSCOPE_PAGER", "PAGER"];
/// The pager of those who name none.
const USUAL: &str = "less";
/// Lines of a terminal that does not say how many it has.
const LINES: usize = 24;
/// What `less` is told unless `LESS` is set, as git does: it ends if all fits, shows colours, and leaves the text on the screen.
const LESS: &str = "FRX";
/// Characters for which a command is given to a shell, as git does.
const OF_SHELLS: &str = "|&;<>()$`\\\"' \t\n*?[#~=%";

/// How a terminal is paged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pager {
    command: String,
    /// Lines and columns of the screen.
    screen: (usize, usize),
}

impl Pager {
    /// The pager of a terminal of so many lines and columns; `None` where it is not wanted.
    pub(crate) fn of_terminal(lines: Option<usize>, columns: usize) -> Option<Self> {
        let set = |name: &str| std::env::var(name).ok();
        let lines = set("LINES").and_then(|text| text.parse().ok()).filter(|lines| *lines > 0).or(lines);
        let is_dumb = set("TERM").is_some_and(|term| term == "dumb");
        if is_dumb {
            return None;
        }
        let command = VARIABLES.iter().find_map(|name| set(name));
        Self::named(command.as_deref(), lines.unwrap_or(LINES), columns)
    }

    /// The pager of this name; an empty name and `cat` are none.
    fn named(command: Option<&str>, lines: usize, columns: usize) -> Option<Self> {
        let usual = if cfg!(windows) { "" } else { USUAL };
        let command = command.unwrap_or(usual).trim();
        let is_one = !command.is_empty() && command != "cat";
        is_one.then(|| Self { command: command.to_owned(), screen: (lines, columns.max(1)) })
    }

    fn start(&self) -> io::Result<Child> {
        let mut command = if cfg!(unix) && self.command.contains(|c| OF_SHELLS.contains(c)) {
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(&self.command);
            shell
        } else {
            Command::new(&self.command)
        };
        for (name, value) in [("LESS", LESS), ("LV", "-c")] {
            if std::env::var_os(name).is_none() {
                command.env(name, OsString::from(value));
            }
        }
        command.stdin(Stdio::piped()).spawn()
    }
}

/// Keeps what is written until it is longer than a screen, then hands it to a pager.
pub(crate) struct Paged<'a> {
    pager: &'a Pager,
    out: &'a mut dyn Write,
    /// What is held back: no more than a screen.
    held: Vec<u8>,
    /// Lines of the screen that are taken, and columns of the last of them.
    taken: (usize, usize),
    to: To,
    /// Once the pager runs Ctrl-C is for it; a process that ended by it would leave the pager without its terminal.
    _interrupts: interrupts::Guard,
}

enum To {
    /// Nobody knows yet.
    Undecided,
    Pager(Child),
    /// The pager could not be started.
    Terminal,
}

impl<'a> Paged<'a> {
    pub(crate) fn new(pager: &'a Pager, out: &'a mut dyn Write) -> Self {
        Self {
            pager,
            out,
            held: Vec::new(),
            taken: (0, 0),
            to: To::Undecided,
            _interrupts: interrupts::Guard::default(),
        }
    }

    /// Counts what is written; true if it no longer fits the screen with the prompt below it.
    fn is_full(&mut self, bytes: &[u8]) -> bool {
        let (lines, columns) = self.pager.screen;
        // The bytes behind the first one of a character take no column.
        for byte in bytes.iter().filter(|byte| **byte & 0xc0 != 0x80) {
            if *byte == b'\n' {
                self.taken = (self.taken.0 + 1, 0);
            } else if self.taken.1 == columns {
                self.taken = (self.taken.0 + 1, 1);
            } else {
                self.taken.1 += 1;
            }
        }
        self.taken.0 >= lines
    }

    fn decide(&mut self) -> io::Result<()> {
        self.out.flush()?;
        self.to = match self.pager.start() {
            Ok(child) => {
                self._interrupts = interrupts::ignored();
                To::Pager(child)
            }
            Err(_) => To::Terminal,
        };
        let held = std::mem::take(&mut self.held);
        self.pass(&held)
    }

    fn pass(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.to {
            To::Undecided => {
                self.held.extend_from_slice(bytes);
                Ok(())
            }
            To::Pager(child) => child.stdin.as_mut().map_or(Ok(()), |pipe| pipe.write_all(bytes)),
            To::Terminal => self.out.write_all(bytes),
        }
    }

    /// Shows what is still held, and waits until the reader is done.
    ///
    /// # Errors
    /// What the terminal says.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        match self.to {
            To::Pager(ref mut child) => {
                drop(child.stdin.take());
                child.wait().map(drop)
            }
            _ => {
                self.out.write_all(&self.held)?;
                self.out.flush()
            }
        }
    }
}

impl Write for Paged<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if matches!(self.to, To::Undecided) && self.is_full(bytes) {
            self.held.extend_from_slice(bytes);
            self.decide()?;
        } else {
            self.pass(bytes)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(unix)]
mod interrupts {
    use tokio::runtime::{Builder, Runtime};
    use tokio::signal::unix::{Signal, SignalKind, signal};

    /// While this is kept, Ctrl-C does not end the process; `None` where that cannot be had.
    pub(super) type Guard = Option<(Signal, Runtime)>;

    pub(super) fn ignored() -> Guard {
        let runtime = Builder::new_current_thread().enable_all().build().ok()?;
        let taken = runtime.block_on(async { signal(SignalKind::interrupt()) }).ok()?;
        Some((taken, runtime))
    }
}

#[cfg(not(unix))]
mod interrupts {
    pub(super) type Guard = ();

    pub(super) fn ignored() -> Guard {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(command: &str, lines: usize, columns: usize, text: &str) -> String {
        let pager = Pager::named(Some(command), lines, columns).unwrap();
        let mut out = Vec::new();
        let mut paged = Paged::new(&pager, &mut out);
        paged.write_all(text.as_bytes()).unwrap();
        paged.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn an_empty_name_and_cat_are_no_pager() {
        for none in ["", " ", "cat"] {
            assert_eq!(Pager::named(Some(none), 24, 80), None);
        }
        assert_eq!(Pager::named(Some("more -s"), 24, 80).unwrap().command, "more -s");
        assert_eq!(Pager::named(None, 24, 80).is_some(), !cfg!(windows));
    }

    #[test]
    fn what_fits_a_screen_is_not_paged() {
        // A pager that swallows everything: what reaches `out` went past it.
        let swallow = "cat > /dev/null";
        assert_eq!(shown(swallow, 3, 10, "one\ntwo\n"), "one\ntwo\n");
        if cfg!(unix) {
            assert_eq!(shown(swallow, 3, 10, "one\ntwo\nthree\n"), "", "the prompt takes a line");
            assert_eq!(shown(swallow, 3, 10, &"x".repeat(31)), "", "long lines take several");
            assert_eq!(
                shown(swallow, 3, 10, &"ä".repeat(29)).chars().count(),
                29,
                "characters count, not bytes"
            );
        }
    }

    #[test]
    fn without_the_pager_the_text_is_shown_all_the_same() {
        let text = "line\n".repeat(100);
        assert_eq!(shown("haloscope-no-such-pager", 3, 10, &text), text);
    }

    #[cfg(unix)]
    #[test]
    fn all_of_a_long_text_reaches_the_pager() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("paged");
        let text = "a line of some length\n".repeat(10_000);
        assert_eq!(shown(&format!("cat > '{}'", file.display()), 45, 80, &text), "");
        assert_eq!(std::fs::read_to_string(file).unwrap(), text);
    }
}
