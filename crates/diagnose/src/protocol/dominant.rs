//! Step 5: what most of the time goes to.

use super::super::thresholds::DOMINANT;
use super::{Given, Step, Word};
use haloscope_report::Link;
use haloscope_report::units;
use haloscope_time::bound::TimeClass;

/// Rules whose words belong here: what may dominate, and what it then means.
const RULES: [&str; 4] = ["dominant_op", "exp_bound", "reduce_heavy", "data_formatting"];

pub(super) fn step(given: &Given<'_, '_>) -> Step {
    let evidence = given.evidence;
    let mut words = Vec::new();
    let classes = evidence.classes();
    let shares: Vec<String> = classes
        .rows
        .iter()
        .filter(|(class, _)| classes.share(*class) >= 0.005)
        .map(|(class, _)| format!("{} {}", class.phrase(), units::share(classes.share(*class))))
        .collect();
    words.push(shares.join(", "));
    let mut verdict = match classes.bound_by() {
        TimeClass::Unknown => Word::Unknown,
        _ => Word::Stated,
    };
    if let Some(top) = evidence.ops().first() {
        let share = evidence.of_active(top.self_ps as f64);
        words.push(format!("largest op {} {}", top.meta.name, units::share(share)));
        if share > DOMINANT.bad {
            verdict = verdict.worse(Word::Look);
        }
    }
    for (word, said) in RULES.iter().filter_map(|id| given.rule(id)).filter(|(word, _)| *word == Word::Look) {
        verdict = verdict.worse(word);
        words.push(said.to_owned());
    }
    Step {
        question: "What dominates?",
        verdict,
        said: words.join("; "),
        see: vec![Link::to("ops"), Link::to("op-profile")],
    }
}
