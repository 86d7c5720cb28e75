//! When a program is worth capturing: short looks at it until two of them show the same pace.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use haloscope_analyses::pace::Pace;
use haloscope_capture::{Destination, Error, Options, Request, Silent, Stop};
use haloscope_profile::load;

use super::args::{RunArgs, WarmUp};
use super::shim::{Compiled, Shim};
use crate::Printer;

/// The first look; later ones are longer where steps are.
const FIRST: Duration = Duration::from_millis(500);
/// The longest look.
const LONGEST: Duration = Duration::from_secs(30);
/// A look wants so many steps.
const STEPS: f64 = 8.0;
/// Between looks at first; doubled as long as nothing is to be seen, up to [`REST`].
const PAUSE: Duration = Duration::from_millis(200);
const REST: Duration = Duration::from_secs(10);
/// Programs that work and show no step in this time are taken not to step.
const STEPLESS: Duration = Duration::from_secs(20);
/// Looks in a row that may fail. With the rests between them, these are minutes.
const FAILURES: u32 = 20;
/// How often stops and new servers are looked for.
const BETWEEN: Duration = Duration::from_millis(50);

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Found {
    /// Steps, this far from one start to the next one's, picoseconds.
    Steps(i64),
    /// The program compiles on: this function so often, about this far from one time to the next, picoseconds.
    Compiling(Compiled, i64),
    /// The program runs its ops one by one: what would be taken for steps are launches of an op.
    OpByOp,
    /// The time is up, and there are no steps.
    NoSteps,
}

/// A function that was compiled so often,
const AGAIN: u64 = 10;
/// over so many seconds,
const AGAIN_SPAN: f64 = 4.0;
/// for at least this share of them, is compiled for good: there is no steady state to wait for.
const AGAIN_SHARE: f64 = 0.25;

/// Why looking ended without a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Why {
    /// The program ended, or somebody wants us to end.
    Stopped,
    /// A look failed for good.
    Failed(String),
}

/// Looks at a program.
pub(super) struct Looks<'a> {
    asked: &'a RunArgs,
    shim: &'a Shim,
    stop: &'a Stop,
    length: Duration,
    pause: Duration,
    /// Looks in a row that a server refused or that held nothing.
    failures: u32,
    /// Programs that were compiled before the last look ended.
    compiled: u64,
    /// Looks in a row at a program that runs op by op.
    op_by_op: u32,
}

impl<'a> Looks<'a> {
    pub(super) fn new(asked: &'a RunArgs, shim: &'a Shim, stop: &'a Stop) -> Self {
        Self { asked, shim, stop, length: FIRST, pause: PAUSE, failures: 0, compiled: 0, op_by_op: 0 }
    }

    /// Waits for a server, and then until the program is worth capturing.
    ///
    /// # Errors
    /// [`Why`] it is not.
    pub(super) fn until_steady(&mut self, printer: &mut Printer) -> Result<Found, Why> {
        while self.shim.servers().is_empty() {
            self.wait(BETWEEN)?;
        }
        let began = Instant::now();
        self.compiled = self.shim.compiled().count;
        if let WarmUp::Time(time) = self.asked.warm_up {
            self.wait(time)?;
            if self.asked.duration.is_some() {
                return Ok(Found::NoSteps);
            }
        }
        let mut last: Option<Pace> = None;
        let mut works_since: Option<Instant> = None;
        loop {
            let pace = self.look()?;
            let compiled = self.shim.compiled();
            // In the look, or since the one before it: what is not whole in a look is not seen in it.
            let compiles = compiled.count > self.compiled;
            self.compiled = compiled.count;
            if compiles && self.asked.warm_up == WarmUp::UntilSteady {
                if let Some(period_ps) = again(&compiled) {
                    return Ok(Found::Compiling(compiled, period_ps));
                }
            } else if let Some(pace) = &pace
                && let Some(found) = self.judge(pace, last.as_ref(), &mut works_since)?
            {
                return Ok(found);
            }
            if began.elapsed() >= self.asked.max_wait {
                let on = if compiles {
                    format!(", and it is compiling: {} programs so far", compiled.count)
                } else {
                    String::new()
                };
                printer
                    .note(format_args!("steps are not steady after {}{on}", super::seconds(began.elapsed())));
                let period = pace.or(last).and_then(|pace| pace.period_ps);
                return Ok(period.map_or(Found::NoSteps, Found::Steps));
            }
            self.adapt(pace.as_ref());
            self.wait(self.pause.min(self.asked.max_wait.saturating_sub(began.elapsed())))?;
            // Steps of before a compilation are those of another program.
            last = if compiles { None } else { pace.or(last) };
        }
    }

    /// What a look says, if that is enough.
    fn judge(
        &mut self,
        pace: &Pace,
        last: Option<&Pace>,
        works_since: &mut Option<Instant>,
    ) -> Result<Option<Found>, Why> {
        if let Some(period_ps) = pace.period_ps.filter(|_| !pace.has_few_steps()) {
            match self.asked.warm_up {
                WarmUp::Time(_) => return Ok(Some(Found::Steps(period_ps))),
                WarmUp::Steps(steps) => {
                    self.wait(Duration::from_nanos(period_ps.unsigned_abs() / 1000).saturating_mul(steps))?;
                    return Ok(Some(Found::Steps(period_ps)));
                }
                WarmUp::UntilSteady => {}
            }
        }
        self.op_by_op = if pace.is_op_by_op { self.op_by_op + 1 } else { 0 };
        if pace.is_op_by_op && self.asked.warm_up == WarmUp::UntilSteady {
            return Ok((self.op_by_op > 1 && !pace.is_compiling()).then_some(Found::OpByOp));
        }
        if let Some(period_ps) = pace.period_ps
            && last.is_some_and(|last| pace.is_steady_after(last))
        {
            return Ok(Some(Found::Steps(period_ps)));
        }
        // Steps that are longer than the look are waited for; work without any is not.
        let has_no_step = pace.has_work && pace.period_ps.is_none() && !pace.is_compiling();
        if !has_no_step {
            *works_since = None;
            return Ok(None);
        }
        let since = works_since.get_or_insert_with(Instant::now);
        Ok((since.elapsed() >= STEPLESS && self.length >= LONGEST / 4).then_some(Found::NoSteps))
    }

    /// A short profile of the first process; `None` where there was nothing to see, or another profile is taken.
    fn look(&mut self) -> Result<Option<Pace>, Why> {
        let Some(server) = self.shim.servers().addresses().into_iter().next() else {
            // The process is gone: perhaps another comes.
            return self.wait(BETWEEN).map(|()| None);
        };
        let mut options = Options::default();
        options.host_tracer_level =
            options.host_tracer_level.min(self.asked.options.host_tracer_level.max(1));
        options.device_tracer_level = self.asked.options.device_tracer_level;
        options.advanced = self.asked.options.advanced.clone();
        let request = Request { duration: self.length, options, ..Request::new([server]) };
        let folder = self.shim.looks();
        let taken =
            haloscope_capture::capture(&request, &Destination::Folder(folder.clone()), &Silent, self.stop);
        let pace = match taken {
            Ok(captured) => {
                let run = load::find(captured.path.as_ref());
                self.failures = 0;
                let pace = run.and_then(|run| load::open(&run)).and_then(|profile| Pace::of(&profile));
                Ok(pace.ok())
            }
            Err(_) if self.stop.is_stopped() => Err(Why::Stopped),
            Err(
                error @ (Error::Usage(_)
                | Error::Local { .. }
                | Error::Unimplemented { .. }
                | Error::Old { .. }
                | Error::Exists { .. }),
            ) => Err(Why::Failed(error.to_string())),
            // Nothing ran, the program profiles itself, or its server gave way to another: later there may be more.
            Err(error) => {
                self.failures += 1;
                if self.failures < FAILURES { Ok(None) } else { Err(Why::Failed(error.to_string())) }
            }
        };
        // Looks are not kept.
        let _ = fs::remove_dir_all(folder);
        pace
    }

    /// Makes the next look long enough for steps, and rests where there was nothing to see.
    fn adapt(&mut self, pace: Option<&Pace>) {
        let Some(pace) = pace.filter(|pace| pace.has_work) else {
            self.pause = (self.pause * 2).min(REST);
            return;
        };
        self.pause = PAUSE;
        let wanted = match pace.period_ps {
            Some(period) => Duration::from_secs_f64(period as f64 * 1e-12 * STEPS),
            None => self.length * 2,
        };
        self.length = wanted.clamp(FIRST, LONGEST);
    }

    /// Sleeps this long, or ends where the program does.
    fn wait(&self, time: Duration) -> Result<(), Why> {
        let until = Instant::now() + time;
        loop {
            if self.stop.is_stopped() {
                return Err(Why::Stopped);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(BETWEEN));
        }
    }
}

/// How far it is from one compilation of the same function to the next, picoseconds, where it is compiled for good.
fn again(compiled: &Compiled) -> Option<i64> {
    let is_told = compiled.times >= AGAIN
        && compiled.span >= AGAIN_SPAN
        && compiled.seconds >= AGAIN_SHARE * compiled.span;
    is_told.then(|| (compiled.span * 1e12 / (compiled.times - 1) as f64) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_that_is_compiled_for_good_is_told_from_warm_up() {
        let compiled =
            |times, seconds, span| Compiled { count: 99, name: "step".into(), times, seconds, span };
        assert_eq!(again(&compiled(11, 4.0, 5.0)), Some(500_000_000_000));
        assert_eq!(again(&compiled(9, 4.0, 5.0)), None, "too few");
        assert_eq!(again(&compiled(40, 0.9, 1.0)), None, "parameters of many shapes are made at the start");
        assert_eq!(again(&compiled(12, 1.0, 60.0)), None, "now and then");
        assert_eq!(again(&Compiled::default()), None);
    }
}
