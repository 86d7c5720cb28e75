//! Step 5: what most of the time goes to.

use super::super::thresholds::DOMINANT;
use super::{Given, Step, Word};
use haloscope_report::Link;
use haloscope_report::units;

/// Rules whose words belong here: what may dominate, and what it then means.
const RULES: [&str; 4] = ["dominant_op", "exp_bound", "reduce_heavy", "data_formatting"];

pub(super) fn step(given: &Given<'_, '_>) -> Step {
    let evidence = given.evidence;
    let mut words = Vec::new();
    let spent = evidence.spent();
    let shares: Vec<String> = spent
        .rows
        .iter()
        .filter(|(of, _)| spent.share(*of) >= 0.005)
        .map(|(of, _)| format!("{} {}", of.phrase(), units::share(spent.share(*of))))
        .collect();
    words.push(shares.join(", "));
    let mut verdict = match spent.bound_by() {
        "unknown" => Word::Unknown,
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
