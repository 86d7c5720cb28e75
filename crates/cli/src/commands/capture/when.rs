//! `haloscope capture ... --when 'step_time>1.2x'`: short looks, and a session at once when one fulfils the condition.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use haloscope_capture::{Destination, Request, Silent, Stop, capture};
use haloscope_report::units;
use haloscope_time::stats::Summary;

use super::condition::Condition;
use super::every::{say, say_count, wait_until};
use super::options::CaptureArgs;
use super::{one, session, shown};
use crate::{Failure, Printer};

/// Between looks, where nothing else was asked for.
const PERIOD: Duration = Duration::from_secs(30);
/// A multiple is of the median of at least so many looks, and of at most so many: a run's pace may change for good.
const FEWEST: usize = 3;
const MOST: usize = 60;
/// After so many failures in a row the program is taken for gone.
const FAILURES: u32 = 3;

/// Looks every period until the condition was fulfilled `--count` times (once, where nothing was asked for).
pub(super) fn run(
    condition: &Condition,
    ask: &CaptureArgs,
    stop: &Stop,
    printer: &mut Printer,
) -> Result<u8, Failure> {
    let period = ask.every.unwrap_or(PERIOD);
    let folder = Looks::new()?;
    let mut earlier = VecDeque::new();
    let (mut taken, mut failed, mut next) = (0, 0, Instant::now());
    while taken < ask.count.unwrap_or(1) && wait_until(next, stop) {
        next = Instant::now() + period;
        let number = match look(condition, ask, &folder, stop) {
            Ok(number) => number,
            Err(_) if stop.is_stopped() => break,
            Err(failure) => {
                failed += 1;
                if failed >= FAILURES || earlier.is_empty() {
                    return Err(failure);
                }
                say(&failure, printer);
                continue;
            }
        };
        failed = 0;
        let usual = (earlier.len() >= FEWEST).then(|| median(&earlier)).flatten();
        if condition.holds(number.amount, usual) == Some(true) {
            let before = usual.map(|usual| format!(", usually {}", number.text(usual))).unwrap_or_default();
            let now = number.text(number.amount);
            printer.note(format_args!("{} holds: {} is {now}{before}", condition.text(), number.id));
            match one(ask, stop) {
                Ok(captured) => {
                    taken += 1;
                    shown(&captured, &ask.output, ask.is_overview, printer)?;
                }
                Err(_) if stop.is_stopped() => break,
                Err(failure) => say(&failure, printer),
            }
            // What is not usual does not become so.
            continue;
        }
        earlier.push_back(number.amount);
        if earlier.len() == FEWEST && condition.needs_earlier() {
            let usual = median(&earlier).map(|usual| number.text(usual)).unwrap_or_default();
            printer.note(format_args!("{} is usually {usual}; waiting for {}", number.id, condition.text()));
        }
        if earlier.len() > MOST {
            earlier.pop_front();
        }
    }
    say_count(taken, printer);
    Ok(0)
}

/// A number of a look.
struct Number {
    id: &'static str,
    amount: f64,
}

impl Number {
    fn text(&self, amount: f64) -> String {
        if self.id.ends_with("_ps") { units::duration_ps(amount) } else { units::number(amount) }
    }
}

/// A short profile, and what the condition is about in it.
fn look(condition: &Condition, ask: &CaptureArgs, folder: &Looks, stop: &Stop) -> Result<Number, Failure> {
    let mut options = ask.request.options.clone();
    // Python's calls cost the program too much for a mere look.
    options.python_tracer_level = 0;
    let duration = ask.probe;
    let request = Request { duration, options, delay: Duration::ZERO, ..ask.request.clone() };
    let captured = capture(&request, &Destination::Folder(folder.0.clone()), &Silent, stop)?;
    let report = match session::here(&captured)? {
        Some(run) => session::overview(&run),
        None => Err(Failure::Nothing("the sample no longer exists".into(), String::new())),
    };
    folder.clear();
    let report = report?;
    let ids = condition.ids();
    let Some(value) = ids.iter().find_map(|id| report.value(id)) else {
        let numbers = report.values.iter().filter(|value| session::number_of(value).is_some());
        let known: Vec<_> = numbers.map(|value| value.id).collect();
        let message = format!("`overview` has no number for `{}`", condition.text());
        return Err(Failure::Usage(message, format!("it has: {}", known.join(", "))));
    };
    let unknown = || {
        let message = format!("a sample of {duration:?} is too short to know {}", value.id);
        let hint = "--probe 5s makes samples longer; steps need StepTraceAnnotation in the program, otherwise its launches are used";
        Failure::Nothing(message, hint.into())
    };
    Ok(Number { id: value.id, amount: session::number_of(value).ok_or_else(unknown)? })
}

fn median(values: &VecDeque<f64>) -> Option<f64> {
    let values: Vec<f64> = values.iter().copied().collect();
    Some(Summary::of(&values)?.p50)
}

/// A folder for looks, which goes with the value.
struct Looks(std::path::PathBuf);

impl Looks {
    fn new() -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("haloscope-looks-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|error| Failure::File(path.clone(), error))?;
        Ok(Self(path))
    }

    /// A look is not kept. What cannot be removed now is removed later.
    fn clear(&self) {
        let _ = std::fs::remove_dir_all(self.0.join("plugins"));
    }
}

impl Drop for Looks {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between() {
        assert_eq!(median(&VecDeque::new()), None);
        assert_eq!(median(&VecDeque::from([3.0, 1.0, 2.0])), Some(2.0));
        assert_eq!(median(&VecDeque::from([4.0, 1.0, 2.0, 3.0])), Some(2.5));
    }
}
