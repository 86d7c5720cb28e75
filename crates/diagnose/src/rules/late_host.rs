//! A host whose devices begin later than the others, which wait for them in collectives.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::rule::{ANY, Outcome, Rule, Standing};
use haloscope_comm::hosts::findings::{LATE_FALSIFIER, LATE_LEVER, late_words};
use haloscope_report::units;
use haloscope_report::{Link, Status};
use haloscope_time::pattern::Pattern;

pub(super) static RULE: Rule = Rule {
    id: "late_host",
    standing: Standing::Cause,
    on: ANY,
    needs: "three steps or more of two devices or more that run the same program",
    threshold: None,
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    let measured = match evidence.measured() {
        Ok(measured) => measured,
        Err(why) => return Outcome::unknown(why),
    };
    if measured.obstacle.is_some() {
        return Outcome::unknown(measured.verdict());
    }
    let (Some(late), Some(cost)) = (&measured.late, evidence.waits().late) else {
        return Outcome::clear("no device begins later than the others by 1% of the step time or more");
    };
    let instead = evidence.instead(measured, late);
    let doing = instead.as_ref().map_or_else(
        || "; the thread that launches recorded no event that fills half of that time".to_owned(),
        |instead| {
            let of = late.steps.len().max(1) as f64;
            let others = instead.others_ps.map_or_else(String::new, |ps| {
                format!(", the other hosts {} in those steps", units::duration_ps(ps / of))
            });
            format!(
                "; instead ({}) the thread that launches stood in `{}` for {} each time{others}",
                instead.word,
                instead.event.name,
                units::duration_ps(instead.event.ps as f64 / of),
            )
        },
    );
    let cause = instead.as_ref().map_or_else(String::new, |i| {
        format!("; meanwhile its host stands in `{}` ({})", i.event.name, i.word)
    });
    let said = format!("{}{cause}", late_words(evidence.profile, late));
    let first = late.steps.first().map(|one| Link::to("timeline").window(one.span.0, one.span.1));
    let finding = Cause {
        id: RULE.id,
        claim: said.clone(),
        evidence: format!(
            "late in {} of {} steps: {}{doing}{}",
            late.steps.len(),
            late.of_steps,
            late.hosts(evidence.profile),
            evidence.last_words()
        ),
        saved: Some(cost.saved),
        assuming: if cost.is_projected {
            "if none began later than the others, found by replaying the steps".into()
        } else {
            "if none began later than the others".into()
        },
        recommendation: LATE_LEVER.into(),
        falsifier: LATE_FALSIFIER.into(),
        status: Status::Estimated,
        links: std::iter::once(Link::to("hosts").table("steps")).chain(first).collect(),
    };
    let mut finding = finding.into_finding(evidence).explaining("exposed_communication", cost.communication);
    // The late devices idle meanwhile, a mean over all devices.
    let idle = (cost.saved - cost.communication).max(0.0);
    let is_of_all = evidence.is_late_for_input() && 2.0 * idle < evidence.share_of(&evidence.host().input);
    for rule in ["input_bound", "host_bound", "idle_inside"] {
        // Where all hosts wait for input, that is why one is late, and not the other way around.
        if !is_of_all || rule != "input_bound" {
            finding = finding.explaining(rule, idle);
        }
    }
    // Where nobody is late in the other steps, those in which somebody is stand out as well.
    if late.pattern != Pattern::Constant {
        for rule in ["slower_from_step", "periodic_stall", "step_jitter"] {
            finding = finding.explaining(rule, cost.saved);
        }
    }
    Outcome::found(said, vec![finding])
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{Made, US, check_hosts};

    /// A host whose device begins this late in each of these eight steps of 1000 us, works 500 and waits for the rest; its
    /// thread reads a batch meanwhile.
    fn host(late: impl Fn(i64) -> i64) -> Vec<Made> {
        let mut tpu = Made::tpu(0);
        let starts = || (0..8).map(|i| (i, i * 1000 * US));
        tpu.steps(&starts().map(|(i, at)| (i, at, 1000 * US)).collect::<Vec<_>>());
        let own = |i: i64| late(i) * US;
        tpu.programs(
            &starts().map(|(i, at)| ("jit_step(7)", at + own(i), 1000 * US - own(i))).collect::<Vec<_>>(),
        );
        let ops = starts().flat_map(|(i, at)| {
            let begun = at + own(i);
            [
                ("fusion.1", "loop fusion", begun, 500 * US),
                ("all-reduce.1", "all-reduce", begun + 500 * US, 500 * US - own(i)),
            ]
        });
        tpu.ops(&ops.collect::<Vec<_>>());
        let mut cpu = Made::named("/host:CPU");
        cpu.line("python");
        for (i, at) in starts() {
            cpu.event("DataLoader.__next__", at, own(i), &[]);
            cpu.event("PjitFunction(step)", at + own(i), 20 * US, &[]);
        }
        vec![tpu, cpu]
    }

    #[test]
    fn the_late_host_is_named_with_what_it_did() {
        let hosts = vec![("a", host(|_| 10)), ("b", host(|_| 310)), ("c", host(|_| 12))];
        let found = check_hosts(&super::RULE, hosts);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        let finding = &found.findings[0];
        assert!(finding.claim.starts_with("b begins 299.0 us later"), "{}", finding.claim);
        assert!(finding.claim.contains("in every step"), "{}", finding.claim);
        assert!(
            finding.evidence.contains("(input)") && finding.evidence.contains("DataLoader"),
            "{}",
            finding.evidence
        );
        assert!((finding.speedup.unwrap() - 1.0 / (1.0 - 0.299)).abs() < 0.01, "{finding:?}");
    }

    #[test]
    fn now_one_now_another_is_late() {
        let late = |own: i64| move |i: i64| if i % 3 == own { 310 } else { 10 };
        let hosts = vec![("a", host(late(0))), ("b", host(late(1))), ("c", host(late(2)))];
        let found = check_hosts(&super::RULE, hosts);
        assert!(
            found.findings[0].claim.starts_with("Another host each time begins 300.0 us later"),
            "{found:?}"
        );
    }

    #[test]
    fn all_late_alike_is_nobody_late_and_one_step_is_little() {
        let hosts = vec![("a", host(|_| 300)), ("b", host(|_| 300)), ("c", host(|_| 302))];
        assert_eq!(check_hosts(&super::RULE, hosts).verdict, Verdict::Clear);
        // Near miss: 8 us of 1000.
        let hosts = vec![("a", host(|_| 10)), ("b", host(|_| 18)), ("c", host(|_| 10))];
        assert_eq!(check_hosts(&super::RULE, hosts).verdict, Verdict::Clear);
        assert_eq!(check_hosts(&super::RULE, vec![("a", host(|_| 300))]).verdict, Verdict::Unknown);
    }
}
