//! What a run's diagnosis comes to, in one sentence: the same one wherever a run has a headline.

use super::rule::Standing;
use haloscope_report::Finding;

/// The first cause with its ceiling. Where nothing went wrong that sentence says so, with the largest cost of the design, else with
/// what the time goes to.
pub(super) fn sentence(ranked: &[(Standing, Finding)]) -> String {
    const NONE: &str = "No fault found";
    let of = |is: fn(Standing) -> bool| ranked.iter().find(|(standing, _)| is(*standing));
    match of(Standing::costs_time).or_else(|| of(|standing| standing == Standing::Fact)) {
        None => format!("{NONE}."),
        Some((Standing::Cause, finding)) => format!("{}{}.", finding.claim, faster(finding)),
        Some((Standing::Cost, finding)) if finding.speedup.is_none() => {
            format!("No fault with a known cost. Look at this first: {}.", finding.claim)
        }
        Some((Standing::Cost, finding)) => format!("{NONE}. {}{}.", finding.claim, faster(finding)),
        Some((_, finding)) => format!("{NONE}. {}.", finding.claim),
    }
}

/// Its ceiling as the end of a sentence.
fn faster(finding: &Finding) -> String {
    finding.speedup.map(|times| format!("; without it at most {times:.2}x as fast")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(claim: &str, speedup: Option<f64>) -> Finding {
        Finding { claim: claim.to_owned(), speedup, ..Finding::default() }
    }

    #[test]
    fn the_cause_else_the_cost_else_what_the_time_goes_to() {
        let late = (Standing::Cause, finding("w-1 is late", Some(1.5)));
        let exposed = (Standing::Cost, finding("All-gathers take 9%", Some(1.1)));
        let caveat = (Standing::Caveat, finding("1 of 4 devices", None));
        let fact = (Standing::Fact, finding("64% runs at the limit", None));
        let all = [late, exposed, caveat, fact];
        assert_eq!(sentence(&all), "w-1 is late; without it at most 1.50x as fast.");
        assert_eq!(
            sentence(&all[1..]),
            "No fault found. All-gathers take 9%; without it at most 1.10x as fast."
        );
        assert_eq!(sentence(&all[2..]), "No fault found. 64% runs at the limit.");
        assert_eq!(sentence(&[]), "No fault found.");
    }

    #[test]
    fn a_cause_whose_worth_is_not_known_has_no_number() {
        assert_eq!(sentence(&[(Standing::Cause, finding("x", None))]), "x.");
        let cost = (Standing::Cost, finding("Copies take long", None));
        assert_eq!(sentence(&[cost]), "No fault with a known cost. Look at this first: Copies take long.");
    }
}
