//! A host whose devices begin later than the others, which wait for them in collectives.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::rule::{ANY, Outcome, Rule, Standing};
use haloscope_comm::hosts::findings::{LATE_FALSIFIER, LATE_LEVER, late_words};
use haloscope_comm::hosts::late::Late;
use haloscope_comm::pattern::Pattern;
use haloscope_report::units;
use haloscope_report::{Link, Status};
use haloscope_time::account::Class;
use haloscope_time::stats::quantile;

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
    if late.is_spread() {
        return Outcome::clear(format!(
            "{}, but all devices wait even longer before their work, so being last is part of that wait",
            late_words(evidence.profile, late)
        ));
    }
    if late.is_jitter() {
        return Outcome::clear(format!(
            "{}, no more than the usual spread of launches over several hosts",
            late_words(evidence.profile, late)
        ));
    }
    if evidence.is_late_at_pace() {
        return Outcome::clear(format!(
            "{}, although it launches as fast as the others: hosts launch without a pause, only as fast as devices work; see launch_bound",
            late_words(evidence.profile, late)
        ));
    }
    if evidence.late_in_launches().is_some() {
        return Outcome::clear(format!(
            "{}, in the launch itself: hosts launch only as fast as devices work; see launch_bound",
            late_words(evidence.profile, late)
        ));
    }
    let unseen = unseen(evidence, late);
    let longer = unseen.as_ref().map(|unseen| unseen.whole).or_else(|| steps_longer(evidence, late));
    let whole = longer.filter(|whole| *whole > cost.saved);
    // Steps run again that say more have these in it.
    let unseen = unseen.filter(|_| whole.is_some());
    let common = waits_of_all(evidence, late);
    let saved = (whole.unwrap_or(cost.saved) + common).min(1.0);
    let unseen_share = unseen.as_ref().map_or(0.0, |unseen| unseen.share);
    let instead = evidence.instead(measured, late);
    let doing = instead.as_ref().map_or_else(
        || "; the launching thread recorded no event that fills half of that time".to_owned(),
        |instead| {
            let of = late.steps.len().max(1) as f64;
            let others = instead.others_ps.map_or_else(String::new, |ps| {
                format!(", the other hosts {} in those steps", units::duration_ps(ps / of))
            });
            format!(
                "; instead ({}) the launching thread was in `{}` for {} each time{others}",
                instead.word,
                instead.event.name,
                units::duration_ps(instead.event.ps as f64 / of),
            )
        },
    );
    let cause = instead
        .as_ref()
        .map_or_else(String::new, |i| format!("; meanwhile its host is in `{}` ({})", i.event.name, i.word));
    let said = format!("{}{cause}", late_words(evidence.profile, late));
    let first = late.steps.first().map(|one| Link::to("timeline").window(one.span.0, one.span.1));
    let finding = Cause {
        id: RULE.id,
        claim: said.clone(),
        evidence: format!(
            "late in {} of {} steps: {}{doing}{}{}{}",
            late.steps.len(),
            late.of_steps,
            late.hosts(evidence.profile),
            all_words(common),
            unseen.as_ref().map_or_else(String::new, Unseen::words),
            evidence.last_words()
        ),
        saved: Some(saved),
        assuming: if whole.is_some() {
            "if these steps took as long as the others".into()
        } else if cost.is_projected {
            "if none began later than the others, found by replaying the steps".into()
        } else {
            "if none began later than the others".into()
        },
        recommendation: LATE_LEVER.into(),
        falsifier: LATE_FALSIFIER.into(),
        status: Status::Estimated,
        links: std::iter::once(Link::to("hosts").table("steps")).chain(first).collect(),
    };
    let mut finding = finding
        .into_finding(evidence)
        .explaining("exposed_communication", cost.communication + unseen_share)
        .explaining("late_members", unseen_share);
    // The late devices idle meanwhile, a mean over all devices.
    let idle = (saved - cost.communication - unseen_share - common).max(0.0);
    let is_of_all = evidence.is_late_for_input() && 2.0 * idle < evidence.share_of(&evidence.host().input);
    for rule in ["input_bound", "host_bound", "idle_inside"] {
        // Where all hosts wait for input, that is why one is late, and not the other way around.
        if !is_of_all || rule != "input_bound" {
            finding = finding.explaining(rule, idle);
        }
    }
    if common > 0.0 {
        for rule in ["input_bound", "host_bound", "launch_bound", "blocking_reads", "idle_inside"] {
            finding = finding.explaining(rule, common);
        }
    }
    // Where nobody is late in the other steps, those in which somebody is stand out as well.
    if late.pattern != Pattern::Constant {
        for rule in ["slower_from_step", "periodic_stall", "step_jitter"] {
            finding = finding.explaining(rule, saved);
        }
    }
    Outcome::found(said, vec![finding])
}

/// What all devices wait in each step is no part of a lateness that is less than this part of it.
const LATE_OF_COMMON: f64 = 0.5;
/// It is not worth a word below this share of the active window.
const COMMON_WORTH: f64 = 0.02;

/// Where one is late in every step: the share of the active window that all devices wait before their work, the least of them, where
/// launching takes less than what a step runs, else what of it is beyond the pace of launches. Hosts that keep up with each other
/// launch ahead, and no device waits then; they cannot where each step has to begin with the one that is late.
fn waits_of_all(evidence: &Evidence<'_>, late: &Late) -> f64 {
    let is_one = late.host.is_some() || late.device.is_some();
    if !is_one || late.pattern != Pattern::Constant {
        return 0.0;
    }
    let all_ps: f64 = late.steps.iter().map(|one| one.common_ps).sum();
    let mean_ps = all_ps / late.steps.len().max(1) as f64;
    let whole_ps: f64 = late.steps.iter().map(|one| (one.span.1 - one.span.0) as f64).sum();
    let runs_ps = whole_ps / late.steps.len().max(1) as f64 - late.mean_ps() - mean_ps;
    let share = evidence.share_of_steps_ps(all_ps);
    if share < COMMON_WORTH || late.mean_ps() < LATE_OF_COMMON * mean_ps {
        return 0.0;
    }
    // Where launching takes longer than what it launches, steps follow each other as fast as it goes.
    let stays_ps = match evidence.pace_ps() {
        _ if mean_ps <= runs_ps => 0.0,
        Some(pace_ps) => (pace_ps - runs_ps).clamp(0.0, mean_ps),
        None => return 0.0,
    };
    evidence.share_of_steps_ps(all_ps - stays_ps * late.steps.len() as f64)
}

fn all_words(common: f64) -> String {
    if common <= 0.0 {
        return String::new();
    }
    format!(
        "; in addition, all devices wait for their hosts for {} of the active window, which hosts could avoid by launching ahead",
        units::share(common)
    )
}

/// Of the excess of the late steps so much must be the lateness, for all of it to go with it.
const MOST: f64 = 0.5;
/// Steps in which nobody is late, so many at least, say how long a step would be.
const BESIDE: usize = 3;

/// Where somebody is late in some steps only: by how much these are longer than the others, a share of the active window. A
/// late host holds up what was to come behind it as well (launches ahead of the devices), which no replay of its lateness shows.
fn steps_longer(evidence: &Evidence<'_>, late: &Late) -> Option<f64> {
    let series = evidence.series().filter(|_| late.pattern != Pattern::Constant)?;
    let is_late = |at: &usize| late.steps.iter().any(|one| one.step == series.number(*at));
    let members: Vec<usize> = (0..series.steps.len()).filter(is_late).collect();
    let others = series.beside(&members);
    if members.is_empty() || others.len() < BESIDE {
        return None;
    }
    let extra = series.mean_of(&members) - series.mean_of(&others);
    (late.mean_ps() >= MOST * extra)
        .then(|| evidence.share_of_steps_ps(extra.max(0.0) * members.len() as f64))
}

/// Of what a step takes longer than a quiet one so much must be collectives, for it to be a wait for somebody.
const IN_COLLECTIVES: f64 = 0.7;

/// Steps in which all wait in collectives as long as where one is late, and nobody who can be seen is: for a host that was not captured,
/// or for one that began the first step late, which no idle time before it shows.
struct Unseen {
    /// How many.
    steps: usize,
    /// What they take longer than quiet steps, a share of the active window.
    share: f64,
    /// The same with the steps in which one is late.
    whole: f64,
}

impl Unseen {
    fn words(&self) -> String {
        format!(
            "; in {} more {}, all devices wait as long in collectives for one whose start is not in the profile ({} of the active window)",
            self.steps,
            if self.steps == 1 { "step" } else { "steps" },
            units::share(self.share)
        )
    }
}

/// Where somebody is late in some steps: the other steps that are as much longer, in collectives; the first one alone where
/// all devices of the program were captured. Which steps are quiet is told by the quickest quarter of the others.
fn unseen(evidence: &Evidence<'_>, late: &Late) -> Option<Unseen> {
    let series = evidence.series().filter(|series| {
        series.programs == 1 && !matches!(late.pattern, Pattern::Constant | Pattern::Growing)
    })?;
    let is_late = |at: &usize| late.steps.iter().any(|one| one.step == series.number(*at));
    let (members, others): (Vec<usize>, Vec<usize>) = (0..series.steps.len()).partition(is_late);
    let mut times: Vec<f64> = others.iter().map(|at| series.mean_of(&[*at])).collect();
    times.sort_by(f64::total_cmp);
    let bound = quantile(&times, 0.25) + MOST * late.mean_ps();
    let (long, quiet): (Vec<usize>, Vec<usize>) =
        others.iter().partition(|at| series.mean_of(&[**at]) > bound);
    if quiet.len() < BESIDE {
        return None;
    }
    let usual = series.mean_of(&quiet);
    let is_whole = evidence.captured().is_ok_and(|all| all.recorded >= all.wanted);
    let counts = |at: &&usize| !is_whole || **at == 0;
    let excess_ps = |at: &usize| {
        let excess = series.mean_of(&[*at]) - usual;
        let growth = series.growth(&[*at], &quiet, evidence.accounts());
        (growth.classes[Class::Communication as usize] >= IN_COLLECTIVES * excess).then_some(excess)
    };
    let waits: Vec<f64> = long.iter().filter(counts).filter_map(excess_ps).collect();
    let share = evidence.share_of_steps_ps(waits.iter().sum());
    let own = (series.mean_of(&members) - usual).max(0.0) * members.len() as f64;
    let whole = share + evidence.share_of_steps_ps(own);
    (share > 0.0).then_some(Unseen { steps: waits.len(), share, whole })
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{Made, US, check_hosts};
    use haloscope_xspace::write::Value;

    /// A host whose device begins this late in each of these eight steps of 1000 us, works 500 and waits for the rest; its
    /// thread reads a batch meanwhile.
    fn host(late: impl Fn(i64) -> i64) -> Vec<Made> {
        host_in(late, |_| 1000)
    }

    /// The same in steps of these lengths, microseconds.
    fn host_in(late: impl Fn(i64) -> i64, length: impl Fn(i64) -> i64) -> Vec<Made> {
        let mut tpu = Made::tpu(0);
        let starts = || (0..8).map(|i| (i, (0..i).map(&length).sum::<i64>() * US));
        tpu.steps(&starts().map(|(i, at)| (i, at, length(i) * US)).collect::<Vec<_>>());
        let own = |i: i64| late(i) * US;
        tpu.programs(
            &starts()
                .map(|(i, at)| ("jit_step(7)", at + own(i), length(i) * US - own(i)))
                .collect::<Vec<_>>(),
        );
        let ops = starts().flat_map(|(i, at)| {
            let begun = at + own(i);
            [
                ("fusion.1", "loop fusion", begun, 500 * US),
                ("all-reduce.1", "all-reduce", begun + 500 * US, (length(i) - 500) * US - own(i)),
            ]
        });
        tpu.ops(&ops.collect::<Vec<_>>());
        let mut cpu = Made::named("/host:CPU");
        cpu.line("python");
        for (i, at) in starts() {
            cpu.event("DataLoader.__next__", at, own(i), &[("_ipl_stage_id", Value::Int(1))]);
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
    fn hosts_that_are_late_in_turn_in_their_launches_are_launch_bound() {
        // The launch that takes longest is now on one host and now on another: it ends when the program begins.
        let launching = |own: i64| {
            let late = move |i: i64| if i % 3 == own { 310 } else { 10 };
            let mut planes = host(late);
            let mut cpu = Made::named("/host:CPU");
            cpu.line("python");
            for i in 0..8 {
                cpu.event("PjitFunction(step)", i * 1000 * US, late(i) * US, &[]);
            }
            planes[1] = cpu;
            planes
        };
        let hosts = || ["a", "b", "c"].into_iter().zip([0, 1, 2].map(launching)).collect::<Vec<_>>();
        let found = check_hosts(&super::RULE, hosts());
        assert_eq!(found.verdict, Verdict::Clear, "{found:?}");
        assert!(found.said.ends_with("see launch_bound"), "{found:?}");
        let found = check_hosts(&super::super::launch_bound::RULE, hosts());
        let finding = &found.findings[0];
        assert!(finding.evidence.contains("which host launches last changes"), "{finding:?}");
        // A third of the devices idles for 300 of 1000 us, and two thirds wait for them in collectives.
        assert!(finding.speedup.is_some_and(|speedup| (1.35..1.5).contains(&speedup)), "{finding:?}");
    }

    #[test]
    fn what_all_wait_besides_goes_with_a_host_that_is_late_in_every_step() {
        // All wait 100 us of each step, b 300 more; a step runs for 600.
        let late = |by: i64, common: i64| {
            let hosts = vec![
                ("a", host(move |_| common)),
                ("b", host(move |_| common + by)),
                ("c", host(move |_| common)),
            ];
            check_hosts(&super::RULE, hosts).findings.remove(0)
        };
        let found = late(300, 100);
        assert!((found.speedup.unwrap() - 1000.0 / 600.0).abs() < 0.02, "{found:?}");
        assert!(found.explains.iter().any(|one| one.rule == "launch_bound"), "{found:?}");
        // Near miss: all wait for several times as long as one is late.
        let found = late(60, 300);
        assert!((found.speedup.unwrap() - 1000.0 / 940.0).abs() < 0.02, "{found:?}");
    }

    #[test]
    fn what_launches_differ_by_in_turn_is_nobody_late() {
        let in_turn = |by: i64| {
            let host_of = |own: i64| host(move |i: i64| if i % 3 == own { 10 + by } else { 10 });
            check_hosts(&super::RULE, vec![("a", host_of(0)), ("b", host_of(1)), ("c", host_of(2))])
        };
        let found = in_turn(40);
        assert_eq!(found.verdict, Verdict::Clear, "{found:?}");
        assert!(found.said.contains("no more than the usual spread of launches"), "{}", found.said);
        // Near misses: more than launches differ by; as little, and always of one host.
        assert_eq!(in_turn(130).verdict, Verdict::Found);
        let hosts = vec![("a", host(|_| 10)), ("b", host(|_| 50)), ("c", host(|_| 10))];
        assert_eq!(check_hosts(&super::RULE, hosts).verdict, Verdict::Found);
    }

    /// Three hosts that all wait so long in each step, now this one and now that one 120 us longer.
    fn all_wait(common: i64) -> Vec<(&'static str, Vec<Made>)> {
        let host_of = |own: i64| host(move |i| common + if i % 3 == own { 120 } else { 0 });
        vec![("a", host_of(0)), ("b", host_of(1)), ("c", host_of(2))]
    }

    #[test]
    fn who_is_last_of_hosts_that_all_wait_is_no_cause() {
        let found = check_hosts(&super::RULE, all_wait(300));
        assert_eq!(found.verdict, Verdict::Clear, "{found:?}");
        assert!(found.said.contains("all devices wait even longer"), "{}", found.said);
        // What they all wait for costs what is waited for the last as well: of a step seven times in eight 340 us, and 80 in collectives.
        let input = check_hosts(&crate::rules::input_bound::RULE, all_wait(300));
        let saved = (7.0 * 340.0 + 8.0 * 80.0) / (8000.0 - 340.0);
        assert!((input.findings[0].speedup.unwrap() - 1.0 / (1.0 - saved)).abs() < 0.02, "{input:?}");
        assert!(input.findings[0].explains.iter().any(|e| e.rule == "exposed_communication"), "{input:?}");
        // Near misses: all wait for less than the last is late; always the same host is.
        assert_eq!(check_hosts(&super::RULE, all_wait(40)).verdict, Verdict::Found);
        let hosts = vec![("a", host(|_| 300)), ("b", host(|_| 360)), ("c", host(|_| 300))];
        assert_eq!(check_hosts(&super::RULE, hosts).verdict, Verdict::Found);
    }

    #[test]
    fn steps_in_which_a_host_is_late_may_be_longer_by_more() {
        let hosts = |length: i64| {
            let late = |i: i64| if i % 2 == 1 { 310 } else { 10 };
            let length = move |i: i64| if i % 2 == 1 { length } else { 1000 };
            vec![("a", host_in(|_| 10, length)), ("b", host_in(late, length)), ("c", host_in(|_| 10, length))]
        };
        let finding = |length: i64| check_hosts(&super::RULE, hosts(length)).findings.remove(0);
        // 300 us late in steps that are 400 longer: without it all take 1000 us.
        let found = finding(1400);
        assert!((found.speedup.unwrap() - 1.2).abs() < 0.01, "{found:?}");
        assert!(found.ceiling.contains("as long as the others"), "{}", found.ceiling);
        // Near miss: of 900 us that they are longer lateness is a third.
        let found = finding(1900);
        assert!((found.speedup.unwrap() - 1.0 / (1.0 - 300.0 / 2900.0)).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn steps_in_which_all_wait_for_somebody_who_is_not_seen_go_with_the_others() {
        // a is late in step 1, b in step 4, by 300 us; in step 6 nobody is, and it is longer by so much.
        let finding = |longer: i64| {
            let length = move |i: i64| match i {
                1 | 4 => 1300,
                6 => 1000 + longer,
                _ => 1000,
            };
            let late = |step: i64| move |i: i64| if i == step { 310 } else { 10 };
            let hosts = vec![
                ("a", host_in(late(1), length)),
                ("b", host_in(late(4), length)),
                ("c", host_in(|_| 10, length)),
            ];
            check_hosts(&super::RULE, hosts).findings.remove(0)
        };
        let found = finding(300);
        assert!((found.speedup.unwrap() - 8900.0 / 8000.0).abs() < 0.005, "{found:?}");
        assert!(
            found.evidence.contains("in 1 more step, all devices wait as long in collectives"),
            "{}",
            found.evidence
        );
        assert!(found.explains.iter().any(|explained| explained.rule == "late_members"), "{found:?}");
        // Near miss: it is a third as much longer.
        let found = finding(100);
        assert!((found.speedup.unwrap() - 8700.0 / 8100.0).abs() < 0.005, "{found:?}");
        assert!(!found.evidence.contains("further step"), "{}", found.evidence);
    }

    #[test]
    fn of_one_host_a_device_is_late_and_not_the_host() {
        let devices = |late: fn(i64, i64) -> i64| {
            let of = |d: i64| {
                let mut tpu = Made::tpu(d);
                let starts = || (0..8).map(|i| (i, i * 1000 * US));
                tpu.steps(&starts().map(|(i, at)| (i, at, 1000 * US)).collect::<Vec<_>>());
                let ops = starts().flat_map(|(i, at)| {
                    let begun = at + late(d, i) * US;
                    let met = at + 1000 * US - begun - 500 * US;
                    [
                        ("fusion.1", "loop fusion", begun, 500 * US),
                        ("all-reduce.1", "all-reduce", begun + 500 * US, met),
                    ]
                });
                tpu.ops(&ops.collect::<Vec<_>>());
                let program =
                    |(i, at): (i64, i64)| ("jit_step(7)", at + late(d, i) * US, (1000 - late(d, i)) * US);
                tpu.programs(&starts().map(program).collect::<Vec<_>>());
                tpu
            };
            check_hosts(&super::RULE, vec![("a", (0..4).map(of).collect())])
        };
        let always = devices(|d, _| if d == 2 { 310 } else { 10 });
        assert!(always.findings[0].claim.starts_with("TPU:2 begins 300.0 us later"), "{always:?}");
        let in_turn = devices(|d, i| if d == i % 4 { 310 } else { 10 });
        assert!(in_turn.findings[0].claim.starts_with("Another device each time"), "{in_turn:?}");
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
