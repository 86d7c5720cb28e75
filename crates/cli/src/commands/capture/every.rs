//! `haloscope capture ... --every 10m`: a session again and again, for runs of hours or days.

use std::time::{Duration, Instant};

use haloscope_capture::Stop;

use super::options::CaptureArgs;
use super::{one, session, time};
use crate::{Failure, Printer};

/// After so many failures in a row the program is taken for gone.
const FAILURES: u32 = 3;
/// How often the end is looked for while nothing is to be done.
const LOOK: Duration = Duration::from_millis(50);

/// Captures every `period` until the count is reached, the program is gone, or somebody ends it.
pub(super) fn run(
    period: Duration,
    ask: &CaptureArgs,
    stop: &Stop,
    printer: &mut Printer,
) -> Result<u8, Failure> {
    let (mut taken, mut failed, mut next) = (0, 0, Instant::now());
    while ask.count.is_none_or(|count| taken < count) && wait_until(next, stop) {
        next = Instant::now() + period;
        match one(ask, stop) {
            Ok(captured) => {
                (taken, failed) = (taken + 1, 0);
                for remark in &captured.remarks {
                    printer.note(remark);
                }
                printer.data(|out| writeln!(out, "{}", captured.path))?;
                if ask.is_overview {
                    say_step_time(&captured, printer);
                }
            }
            Err(_) if stop.is_stopped() => break,
            Err(failure) => {
                failed += 1;
                // The first tells whether it can work at all.
                if taken == 0 || failed >= FAILURES {
                    return Err(failure);
                }
                say(&failure, printer);
                printer.note(format_args!("the next attempt is in {}", time::text(period)));
            }
        }
    }
    say_count(taken, printer);
    Ok(0)
}

/// Says how many sessions were taken.
pub(super) fn say_count(taken: u64, printer: &mut Printer) {
    printer.note(format_args!("{taken} session{}", if taken == 1 { "" } else { "s" }));
}

/// Says what went wrong, without ending.
pub(super) fn say(failure: &Failure, printer: &mut Printer) {
    if let Some(message) = failure.message() {
        printer.note(message);
    }
}

/// Waits; false if somebody ends it.
pub(super) fn wait_until(time: Instant, stop: &Stop) -> bool {
    loop {
        let left = time.saturating_duration_since(Instant::now());
        if stop.is_stopped() || left.is_zero() {
            return !stop.is_stopped();
        }
        std::thread::sleep(left.min(LOOK));
    }
}

/// Says how long a step takes in a session. What cannot be read now can be read later.
fn say_step_time(captured: &haloscope_capture::Captured, printer: &mut Printer) {
    let Ok(Some(run)) = session::here(captured) else { return };
    let report = session::overview(&run);
    let value = report.as_ref().ok().and_then(|report| report.value("step_time_p50_ps"));
    if let Some(ps) = value.and_then(session::number_of) {
        printer.note(format_args!("median step {}", haloscope_report::units::duration_ps(ps)));
    }
}
