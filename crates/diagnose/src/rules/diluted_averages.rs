//! A capture that is mostly idle: averages over it say nothing of the program.

use crate::evidence::Evidence;
use crate::rule::{ANY, Outcome, Rule, Standing};
use haloscope_report::units;
use haloscope_time::overview::findings::diluted;

pub(super) static RULE: Rule = Rule {
    id: "diluted_averages",
    standing: Standing::Caveat,
    on: ANY,
    needs: "the start and stop of the capture",
    threshold: None,
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    let usage = evidence.usage();
    let Some(share) = usage.idle_share_of_capture() else {
        return Outcome::unknown("the profile does not say when the capture began and ended");
    };
    let said = format!("devices are idle for {} of the capture", units::share(share));
    Outcome::found(said, diluted(usage, None).into_iter().collect())
}
