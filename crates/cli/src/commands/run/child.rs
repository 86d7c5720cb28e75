//! The program: started, waited for, ended.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::Failure;

/// How often it is looked at.
const BETWEEN: Duration = Duration::from_millis(20);
/// How long it may take to end by itself once it is asked to.
const GRACE: Duration = Duration::from_secs(15);

/// A program that runs.
#[derive(Debug)]
pub(super) struct Child {
    process: Mutex<std::process::Child>,
    id: u32,
    started: Instant,
}

impl Child {
    /// Starts it with our stdin, stdout and stderr and these variables beside the environment.
    ///
    /// # Errors
    /// [`Failure`] where there is no such program.
    pub(super) fn start(program: &[OsString], environment: &[(&str, OsString)]) -> Result<Self, Failure> {
        let [name, rest @ ..] = program else {
            return Err(Failure::Usage("expected a program after `--`".into(), String::new()));
        };
        let mut command = Command::new(name);
        command.args(rest).envs(environment.iter().map(|(name, value)| (name, value)));
        let process = command.spawn().map_err(|error| {
            let error = super::denied("cannot start the program", &error);
            Failure::Usage(format!("{}: {error}", PathBuf::from(name).display()), "give its path".into())
        })?;
        Ok(Self { id: process.id(), process: Mutex::new(process), started: Instant::now() })
    }

    /// How long ago it was started.
    pub(super) fn age(&self) -> Duration {
        self.started.elapsed()
    }

    /// Waits for its end; its exit code, or 128 and the signal that ended it, as shells count.
    ///
    /// # Errors
    /// What the system says where it cannot be waited for.
    pub(super) fn wait(&self) -> io::Result<u8> {
        loop {
            if let Some(status) = self.with(std::process::Child::try_wait)? {
                return Ok(code(status));
            }
            // The lock is free between looks, so that others can end it.
            thread::sleep(BETWEEN);
        }
    }

    /// Asks it to end, and after a while does not ask any more.
    pub(super) fn end(&self) {
        self.signal(Signal::Terminate);
        let asked = Instant::now();
        while asked.elapsed() < GRACE {
            if !matches!(self.with(std::process::Child::try_wait), Ok(None)) {
                return;
            }
            thread::sleep(BETWEEN);
        }
        // It may have ended by itself in between.
        let _ = self.with(std::process::Child::kill);
    }

    /// Passes a signal on. Where the system has none, only [`Signal::Terminate`] does something.
    pub(super) fn signal(&self, signal: Signal) {
        // Under the lock, nobody can have waited for it: the number is still its own.
        self.with(|process| {
            if matches!(process.try_wait(), Ok(None)) {
                send(self.id, signal, process);
            }
        });
    }

    fn with<T>(&self, work: impl FnOnce(&mut std::process::Child) -> T) -> T {
        work(&mut self.process.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What it can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    /// As Ctrl-C.
    Interrupt,
    /// As `kill`.
    Terminate,
}

#[cfg(unix)]
fn send(id: u32, signal: Signal, _: &mut std::process::Child) {
    use rustix::process::{self, Pid};
    let signal = match signal {
        Signal::Interrupt => process::Signal::INT,
        Signal::Terminate => process::Signal::TERM,
    };
    if let Some(pid) = i32::try_from(id).ok().and_then(Pid::from_raw) {
        // A process that is gone needs no signal.
        let _ = process::kill_process(pid, signal);
    }
}

#[cfg(not(unix))]
fn send(_: u32, signal: Signal, process: &mut std::process::Child) {
    if signal == Signal::Terminate {
        let _ = process.kill();
    }
}

fn code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return u8::try_from(128 + signal).unwrap_or(u8::MAX);
    }
    // Windows has codes of 32 bits: what does not fit is no success.
    status.code().map_or(1, |code| u8::try_from(code).unwrap_or(1))
}
