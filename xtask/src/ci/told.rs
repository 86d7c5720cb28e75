//! What is said of stages: a list, a block for each that ends, and a summary.

use std::io::Write;

use super::graph::critical_path;
use super::runner::{Done, Ended, Event, Place};
use super::stages::Stage;
use crate::say;

/// So many lines of a stage that failed are said again at the end.
const TOLD: usize = 12;

/// The stages, a line each.
pub(super) fn list(stages: &[Stage], is_night: bool) -> String {
    let lines = stages.iter().map(|stage| {
        let command = stage.command(is_night).unwrap_or_default().replace('\n', "; ");
        let needs = if stage.needs.is_empty() { "-".to_owned() } else { stage.needs.join(", ") };
        format!(
            "{:<16} {:<9} {:>5} s  needs {needs}\n{:18}{command}",
            stage.name,
            stage.lane.word(),
            stage.about_s,
            ""
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Says what happens.
pub(super) fn event(stages: &[Stage], place: &Place, event: Event) {
    match event {
        Event::Started(i) => say(&format!(".. {}", stages[i].name)),
        Event::Ended(i, done) => {
            // Nothing is left to do where stdout is closed.
            let _ = std::io::stdout().write_all(&ended(&stages[i], place, done));
        }
        Event::Again(i, done) => {
            let _ = std::io::stdout().write_all(&again(&stages[i], place, done));
        }
        Event::Still(running) => {
            let names: Vec<&str> = running.iter().map(|&i| stages[i].name).collect();
            say(&format!(".. still running: {}", names.join(", ")));
        }
    }
}

/// A stage that is over, with all that it wrote, in one block.
pub(super) fn ended(stage: &Stage, place: &Place, done: &Done) -> Vec<u8> {
    let name = stage.name;
    let (head, foot) = match &done.ended {
        Ended::LeftOut(path) => return format!("\n== left out: {name}: there is no {path}\n").into_bytes(),
        Ended::NotRun(need) => return format!("\n== not run: {name}: it needs {need}\n").into_bytes(),
        Ended::Passed => (format!("\n== {name}: {:.0} s\n", done.seconds), String::new()),
        Ended::Failed(why) => (
            format!("\n== {name}: {why}, {:.0} s\n", done.seconds),
            format!(
                "== FAILED: {name}: {why}\n   alone: {}\n   that is: {}\n",
                place.alone(stage),
                place.command(stage)
            ),
        ),
    };
    let log = std::fs::read(place.log(stage)).unwrap_or_default();
    let end: &[u8] = if log.last().is_some_and(|last| *last != b'\n') { b"\n" } else { b"" };
    [head.as_bytes(), &log, end, foot.as_bytes()].concat()
}

/// A stage that failed and gets a second try, with all that it wrote.
pub(super) fn again(stage: &Stage, place: &Place, done: &Done) -> Vec<u8> {
    let foot = format!("== tried again, alone, when the others are done: {}\n", stage.name);
    [ended(stage, place, done), foot.into_bytes()].concat()
}

/// The lines of a log that say what went wrong; its last where none does.
fn telling(log: &str) -> Vec<&str> {
    const WORDS: [&str; 6] = ["FAIL", "AGAIN", "panicked", "Error:", "error:", "error["];
    let lines: Vec<&str> = log.lines().collect();
    let mut told: Vec<&str> = lines
        .iter()
        .copied()
        .filter(|line| WORDS.iter().any(|word| line.contains(word)))
        .take(TOLD)
        .collect();
    if told.is_empty() {
        told = lines[lines.len().saturating_sub(TOLD)..].to_vec();
    }
    told
}

/// The seconds of every stage, and which chain of them took longest.
pub(super) fn summary(stages: &[Stage], place: &Place, done: &[Done], before: &[(String, f64)]) {
    say("\n== stages: when they began, seconds, processor seconds");
    for (name, seconds) in before {
        say(&format!("  before {seconds:>7.0} {:>7}  {name}", ""));
    }
    let mut order: Vec<(&Stage, &Done)> = stages.iter().zip(done).collect();
    order.sort_by(|a, b| a.1.began_s.total_cmp(&b.1.began_s));
    for (stage, done) in order {
        let word = match &done.ended {
            Ended::Passed => String::new(),
            Ended::Failed(why) => format!("  FAILED: {why}"),
            Ended::NotRun(need) => format!("  not run: it needs {need}"),
            Ended::LeftOut(path) => format!("  left out: there is no {path}"),
        };
        let numbers = format!("{:>8.0} {:>7.0} {:>7.0}", done.began_s, done.seconds, done.processor_s);
        say(&format!("{numbers}  {}{word}", stage.name));
    }
    let earlier: f64 = before.iter().map(|(_, seconds)| seconds).sum();
    let end = done.iter().map(|done| done.began_s + done.seconds).fold(0.0, f64::max);
    let seconds = |stage: &Stage| {
        let of = stages.iter().position(|other| other.name == stage.name);
        of.map_or(0.0, |i| done[i].seconds)
    };
    let (chain, longest) = critical_path(stages, seconds);
    let processor: f64 = done.iter().map(|done| done.processor_s).sum();
    say(&format!(
        "the stages took {end:.0} s, {processor:.0} s of processors; with what came before {:.0} s",
        end + earlier
    ));
    say(&format!("the critical path, {longest:.0} s: {}", chain.join(" > ")));
    let both = stages.iter().zip(done);
    let failed: Vec<&str> =
        both.filter(|(_, done)| done.ended.is_failure()).map(|(stage, _)| stage.name).collect();
    for (stage, _) in stages.iter().zip(done).filter(|(_, done)| matches!(done.ended, Ended::Failed(_))) {
        let log = std::fs::read(place.log(stage)).unwrap_or_default();
        say(&format!("\n{}:", stage.name));
        for line in telling(&String::from_utf8_lossy(&log)) {
            say(&format!("  {}", line.chars().take(500).collect::<String>()));
        }
    }
    say(&if failed.is_empty() { String::new() } else { format!("failed: {}\n", failed.join(", ")) });
}

#[cfg(test)]
mod tests {
    use super::telling;

    #[test]
    fn the_end_repeats_what_went_wrong() {
        let log = "ok one\nFAILED two: why\nok three\n1 failed\n";
        assert_eq!(telling(log), ["FAILED two: why"]);
        let quiet: String = (0..40).map(|line| format!("{line}\n")).collect();
        assert_eq!(telling(&quiet).first(), Some(&"28"));
    }
}
