//! Step 4: steady state, gaps, what runs behind compute.

use super::super::thresholds::{BUBBLE, OVERLAP, STEADY_COPIES};
use super::{Given, Step, Word};
use haloscope_report::Link;
use haloscope_report::units;
use haloscope_time::account::Class;
use haloscope_time::steps::{Step as RunStep, StepClass};
use haloscope_timeline::background;

pub(super) fn step(given: &Given<'_, '_>) -> Step {
    let evidence = given.evidence;
    let steps = evidence.steps();
    let mut words = Vec::new();
    let mut verdict = Word::Unknown;
    if steps.rows.is_empty() {
        words.push(format!("no steady state found: {}", steps.source.explain()));
    } else {
        let steady = steps.rows.iter().filter(|step| step.class == StepClass::Steady).count();
        let is_slower =
            |step: &&RunStep| evidence.series().is_some_and(|series| series.is_slower(step.number));
        let slower =
            steps.rows.iter().filter(|step| step.class == StepClass::Steady).filter(is_slower).count();
        words.push(format!("{} of {} steps are steady", steady - slower, steps.rows.len()));
        words.extend(evidence.series().and_then(|series| series.change_words()));
    }
    let idle = [Class::Between, Class::Input, Class::Inside].map(|class| evidence.share(class));
    let bubble: f64 = idle.iter().sum();
    verdict = verdict.worse(BUBBLE.grade(bubble).into());
    words.push(format!("bubbles {} of the active window", units::share(bubble)));
    if let Some((hidden, exposed)) = overlap(given) {
        let ratio = hidden / (hidden + exposed);
        verdict = verdict.worse(OVERLAP.grade(ratio).into());
        words.push(format!("{} of asynchronous work is hidden behind compute", units::share(ratio)));
    } else {
        words.push("no asynchronous work to overlap".into());
    }
    let copies = evidence.share(Class::Copy);
    verdict = verdict.worse(STEADY_COPIES.grade(copies).into());
    words.push(format!("copies and layout changes {}", units::share(copies)));
    if let Some((word, said)) = given.rule("kernel_starved").filter(|(word, _)| *word != Word::Unknown) {
        verdict = verdict.worse(word);
        words.push(said.to_owned());
    }
    Step {
        question: "What does the timeline show in the steady state?",
        verdict,
        said: words.join("; "),
        see: vec![Link::to("idle"), Link::to("timeline")],
    }
}

/// Asynchronous work hidden and exposed, summed over devices.
fn overlap(given: &Given<'_, '_>) -> Option<(f64, f64)> {
    let evidence = given.evidence;
    let mut sums = None::<(f64, f64)>;
    for (position, device) in evidence.selection.devices.iter().enumerate() {
        let Some((hidden, exposed)) = background(evidence.profile, device) else { continue };
        let cut = evidence.selection.window(position);
        let length = |set: &haloscope_time::intervals::Intervals| {
            cut.map_or_else(|| set.length(), |cut| set.intersect(cut).length()) as f64
        };
        let sums = sums.get_or_insert((0.0, 0.0));
        sums.0 += length(&hidden);
        sums.1 += length(&exposed);
    }
    sums.filter(|(hidden, exposed)| hidden + exposed > 0.0)
}
