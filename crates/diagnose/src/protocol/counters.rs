//! Step 3: what the compiler made of the program.

use super::{Given, Step, Word};
use haloscope_program::hlo::counters;
use haloscope_report::units;
use haloscope_report::{Gate, Link, Notes, Report, Unit};

/// The values of `hlo counters` that the step repeats.
const SHOWN: [(&str, &str); 6] = [
    ("dots", "matrix products"),
    ("exponentials", "exponentials"),
    ("reduces", "reductions"),
    ("copies", "copies"),
    ("defensive_copies", "defensive copies"),
    ("relayouts_feeding_compute", "relayouts that feed compute"),
];

pub(super) fn step(given: &Given<'_, '_>) -> Step {
    let see = vec![Link::to("hlo counters")];
    let question = "Does the compiled program match the code?";
    let mut notes = Notes::default();
    let evidence = given.evidence;
    match counters::run(evidence.asked, given.params, &mut notes) {
        Ok(report) => Step { question, verdict: verdict(&report), said: said(&report), see },
        Err(error) => Step { question, verdict: Word::Unknown, said: error.to_string(), see },
    }
}

fn count(report: &Report, id: &str) -> Option<f64> {
    report.value(id).and_then(|value| value.value.number())
}

fn verdict(report: &Report) -> Word {
    match report.gate.and_then(Gate::holds) {
        Some(false) => Word::Bad,
        _ if count(report, "defensive_copies").is_some_and(|n| n > 0.0) => Word::Look,
        _ if count(report, "relayouts_feeding_compute").is_some_and(|n| n > 0.0) => Word::Look,
        Some(true) => Word::Good,
        None => Word::Stated,
    }
}

fn said(report: &Report) -> String {
    let one = |(id, words): &(&str, &str)| count(report, id).map(|n| format!("{n:.0} {words}"));
    let mut words: Vec<String> = SHOWN.iter().filter_map(one).collect();
    let copied = report.value("copied_bytes").filter(|value| value.unit == Unit::Bytes);
    words.extend(
        copied.and_then(|v| v.value.number()).map(|b| format!("copies move {} a run", units::bytes(b))),
    );
    if report.gate == Some(Gate::Failed) {
        words.push("not what was expected".into());
    }
    words.join("; ")
}
