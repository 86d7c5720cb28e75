//! Devices wait for input: while the host's loop waits for the next batch, and in infeed.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::host_events::Doing;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::rules::host_doing::{cold_words, rest_of_gaps};
use crate::thresholds::{BUBBLE, Grade, INPUT};
use haloscope_report::units;
use haloscope_report::{Link, Status};
use haloscope_time::account::Class;
use haloscope_time::input::{Pipeline, Stage};

pub(super) static RULE: Rule = Rule {
    id: "input_bound",
    standing: Standing::Cause,
    on: ANY,
    needs: "host events of the input pipeline (stat `_ipl_stage_id`, tf.data iterators), or infeed ops",
    threshold: Some(&INPUT),
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    let host = evidence.host();
    let (waits, infeed) = (evidence.share_of(&host.input), evidence.share(Class::Infeed));
    let share = waits + infeed;
    let said = format!(
        "devices wait for input for {} of the active window: {} while the host's loop fetches it, {} in infeed",
        units::share(share),
        units::share(waits),
        units::share(infeed)
    );
    if share <= 0.0 {
        let left = evidence.share_of(&host.part(Doing::Other));
        if BUBBLE.grade(left) == Grade::Good {
            return Outcome::clear(said);
        }
        return Outcome::unknown(format!(
            "devices have no program for {} of the active window for an unknown reason, and no event says when the host fetches input",
            units::share(left)
        ));
    }
    if INPUT.grade(share) == Grade::Good {
        return Outcome::clear(said);
    }
    let stage = host.slowest_stage();
    let slowest = stage.map_or_else(String::new, |stage| format!("; the slowest stage is `{}`", stage.name));
    let waiting = host.input.names.first().map(|named| format!("; waits in {}", evidence.event_words(named)));
    let mut links =
        vec![stage.map_or(Link::to("input"), |stage| Link::to("input").row("stages", stage.name.as_str()))];
    links.extend(stage.map(|stage| Link::to("ops").param("on", "host").row("ops", stage.event.as_str())));
    links.push(Link::to("idle").row("waterfall", Class::Input.phrase()));
    links.extend(host.input.longest.map(|stretch| evidence.timeline_at(&stretch)));
    let with_it = evidence.goes_with(Doing::Input);
    let rest: f64 = with_it.iter().map(|(_, share)| share).sum();
    // Where all hosts wait for input now one has its batch first and now another, and waits for the others in a collective.
    let late = evidence.waits().late.filter(|cost| 2.0 * (cost.saved - cost.communication) < share);
    let late = late.filter(|_| evidence.is_late_for_input() || evidence.is_late_by_spread());
    let waits = late.map_or(0.0, |cost| cost.communication);
    let others = if waits > 0.0 {
        format!(
            "; another {} goes to waiting in collectives for hosts with a late batch",
            units::share(waits)
        )
    } else {
        String::new()
    };
    let cold = evidence.cold_behind_work(share, |_| true);
    let finding = Cause {
        id: RULE.id,
        claim: format!("Devices wait for input for {} of the active window{slowest}", units::share(share)),
        evidence: format!(
            "{said}{}{}{}{others}",
            waiting.unwrap_or_default(),
            stages(&host.pipelines),
            rest_of_gaps(Doing::Input, rest) + &cold_words(cold)
        ),
        saved: Some((share + rest + waits + cold).min(1.0)),
        assuming: "if every batch arrived in time".into(),
        recommendation: "prefetch the next batch to the device while this one is computed; then give the slowest stage more workers, or do its work ahead of time and store the result".into(),
        falsifier: "the step time does not change with synthetic input that is already on the device".into(),
        status: if cold > 0.0 { Status::Estimated } else { Status::Derived },
        links,
    };
    let mut finding = finding.into_finding(evidence);
    for (rule, share) in with_it {
        finding = finding.explaining(rule, share);
    }
    if let Some(cost) = late {
        finding = finding
            .explaining("late_host", cost.saved)
            .explaining("exposed_communication", cost.communication);
    }
    Outcome::found(said, vec![finding])
}

/// The stages with most work while devices wait.
fn stages(pipelines: &[Pipeline]) -> String {
    let mut all: Vec<&Stage> =
        pipelines.iter().flat_map(|one| &one.stages).filter(|stage| stage.work_ps() > 0).collect();
    if all.is_empty() {
        return String::new();
    }
    all.sort_by_key(|stage| std::cmp::Reverse(stage.work_ps()));
    let one = |stage: &&Stage| {
        format!(
            "`{}` {} times, {} of work",
            stage.name,
            stage.calls,
            units::duration_ps(stage.work_ps() as f64)
        )
    };
    let list: Vec<String> = all.iter().take(3).map(one).collect();
    format!("; meanwhile, summed over threads: {}", list.join("; "))
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};
    use haloscope_xspace::write::Value;

    /// Ten programs of 400 us, one every 1000 us.
    fn tpu() -> Made {
        Made::repeating(10, 1000 * US, 400 * US)
    }

    /// The loop fetches from 450 to 950 us of each 1000; a worker maps for 450 of these and reads for 50.
    fn host(fetch: i64) -> Made {
        let mut host = Made::named("/host:CPU");
        let stage = |id: i64| [("_ipl_stage_id", Value::Int(id))];
        host.line("python");
        for at in (0..10).map(|i| i * 1000 * US) {
            host.event("train", at, 990 * US, &[("step_num", Value::Int(at))]);
            host.event("__next__", at + 450 * US, fetch * US, &stage(1));
        }
        host.line("worker");
        for at in (0..10).map(|i| i * 1000 * US) {
            host.event("Read", at + 450 * US, 50 * US, &stage(3));
            host.event("Map", at + 500 * US, 450 * US, &stage(2));
        }
        host
    }

    #[test]
    fn waits_for_input_are_found_with_the_slowest_stage() {
        let found = check(&super::RULE, vec![tpu(), host(500)]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        let finding = &found.findings[0];
        // 9 waits of 500 us in gaps of 600, in an active window of 9400 us.
        assert!((finding.speedup.unwrap() - 1.0 / (1.0 - 5400.0 / 9400.0)).abs() < 1e-6, "{finding:?}");
        assert!(finding.claim.starts_with("Devices wait for input for 47.9%"), "{}", finding.claim);
        assert!(finding.claim.ends_with("the slowest stage is `Map`"), "{}", finding.claim);
        assert!(
            finding.evidence.contains("waits in `__next__` 9 times, 500.0 us each"),
            "{}",
            finding.evidence
        );
    }

    #[test]
    fn what_the_host_does_after_it_has_its_batch_goes_with_the_wait() {
        // Gaps of 600 us: 500 of input, 50 of a launch behind it, and nothing for 50.
        let mut launches = host(500);
        launches.line("python");
        for at in (0..10).map(|i| i * 1000 * US) {
            launches.event("PjitFunction(step)", at + 950 * US, 50 * US, &[]);
        }
        let found = check(&super::RULE, vec![tpu(), launches]);
        let finding = &found.findings[0];
        assert!((finding.speedup.unwrap() - 1.0 / (1.0 - 5400.0 / 9400.0)).abs() < 1e-6, "{finding:?}");
        assert!(finding.claim.starts_with("Devices wait for input for 47.9%"), "{}", finding.claim);
        assert!(finding.evidence.contains("the rest of these gaps, 9.6%"), "{}", finding.evidence);
        let explained = finding.explains.iter().find(|one| one.rule == "launch_bound").unwrap();
        assert!((explained.share - 450.0 / 9400.0).abs() < 1e-6, "{explained:?}");
        // Where programs are shorter than the rest of the gap nothing could hide it.
        let short = Made::repeating(10, 1000 * US, 20 * US);
        let found = check(&super::RULE, vec![short, host(500)]);
        assert!(!found.findings[0].evidence.contains("the rest of these gaps"), "{found:?}");
    }

    #[test]
    fn loaders_that_work_ahead_hold_nobody_up() {
        // The loop fetches within 5 us: what the workers do meanwhile is not what the device waits for.
        let found = check(&super::RULE, vec![tpu(), host(5)]);
        assert_eq!(found.verdict, Verdict::Clear, "{found:?}");
    }

    #[test]
    fn gaps_without_any_event_of_the_host_are_unknown() {
        assert_eq!(check(&super::RULE, vec![tpu()]).verdict, Verdict::Unknown);
    }
}
