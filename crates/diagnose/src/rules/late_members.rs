//! Members of collectives come at different times, now one last, now another, and nobody is to blame; or one comes late that was
//! not captured: then collectives of one message take unlike times, or small ones longer than large ones.
//!
//! What it costs is known from the steps run again. Where these cannot be run again, because measured times contradict the order of the
//! collectives, the waits themselves are known still ([`haloscope_comm::last`]).

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::devices::Cost;
use crate::rule::{Outcome, Rule, Standing};
use crate::rules::periodic_stall;
use haloscope_comm::peers::{Quick, Told, Uncaptured};
use haloscope_profile::DeviceKind;
use haloscope_report::units;
use haloscope_report::{Link, Status};
use haloscope_time::account::Class;

pub(super) static RULE: Rule = Rule {
    id: "late_members",
    standing: Standing::Cause,
    on: &[DeviceKind::Tpu, DeviceKind::Gpu],
    needs: "steps of several members of the groups, and the programs, which say who is in which",
    threshold: None,
    check,
};

/// Less is the noise of any machine: of steps run again with every op as long as its median, which takes away all noise,
const WORTH: f64 = 0.03;
/// and of waits as measured.
const WAITS_WORTH: f64 = 0.015;

/// Time between programs that is worth a word, a share of the active window,
const LAUNCHES_WORTH: f64 = 0.02;
/// and the part of it that waits take at least for it to go with them.
const WAITS_OF_LAUNCHES: f64 = 0.5;

fn check(evidence: &Evidence<'_>) -> Outcome {
    let waits = evidence.waits();
    if let Some((uncaptured, share)) = waits.uncaptured.as_ref().filter(|(_, share)| *share >= WORTH) {
        return of_uncaptured(evidence, uncaptured, *share);
    }
    let Some((cost, waiting)) = waits.others.zip(waits.waiting).or_else(|| as_measured(evidence)) else {
        return Outcome::unknown(
            "the profile does not say which devices took part in which collective, in steps that all of them ran",
        );
    };
    let said = format!(
        "waits for late members take {} of the active window, {} of it without a slow device, a late host or a slow link{}",
        units::share(waiting),
        units::share(cost.communication),
        evidence.last_words()
    );
    if cost.saved < if cost.is_projected { WORTH } else { WAITS_WORTH } {
        return Outcome::clear(said);
    }
    if evidence.is_bound_by_launches() {
        return Outcome::clear(format!(
            "{said}; hosts launch without a pause, only as fast as devices work, so the waits come from launches that drift apart: see launch_bound"
        ));
    }
    let how = if cost.is_projected {
        "replaying the steps with each op at its median time over the devices"
    } else {
        "members wait in collectives for the last one to arrive"
    };
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "Collectives wait for late members for {} of the active window; which member is last changes",
            units::share(cost.communication)
        ),
        evidence: format!(
            "no device, host or link is slower than its peers over the whole run: each is late at times; {how}{}",
            evidence.last_words()
        ),
        saved: Some(cost.saved),
        assuming: "if all members arrived together".into(),
        recommendation: "find what makes single executions of an op slow, on any device (`steps`, `hosts` by step): inputs of uneven size, experts or sequences of uneven load, other jobs on the machines; fewer collectives per step also mean fewer waits".into(),
        falsifier: "in another capture the same device is last in most collectives: then the cause is that device".into(),
        status: Status::Estimated,
        links: vec![Link::to("comm").table("skew"), Link::to("hosts").table("slowest")],
    };
    let finding = finding.into_finding(evidence).explaining("exposed_communication", cost.communication);
    // Steps in which somebody comes late are longer than the others; where the host does nothing in them that it does not do in the others
    // too, that is all there is to them.
    let is_stall = periodic_stall::period(evidence).is_some_and(|(_, _, meanwhile)| meanwhile.is_none());
    let finding = if is_stall { finding.explaining("periodic_stall", cost.saved) } else { finding };
    Outcome::found(said, vec![finding])
}

/// All members that were captured wait for one that was not.
fn of_uncaptured(evidence: &Evidence<'_>, found: &Uncaptured, share: f64) -> Outcome {
    let (captured, of) = found.captured;
    let told = |(op, time_ps, bytes): &Told| {
        format!("{op} takes {} for {}", units::duration_ps(*time_ps), units::bytes(*bytes))
    };
    let said = format!(
        "Collectives wait for members that were not captured ({captured} of {of} were) for {} of the active window",
        units::share(share)
    );
    let launches = launches(evidence, share);
    let besides = if launches > 0.0 {
        format!(
            "; in addition, devices have no program for {} of the active window, which hosts could avoid by launching ahead",
            units::share(launches)
        )
    } else {
        String::new()
    };
    let finding = Cause {
        id: RULE.id,
        claim: said.clone(),
        evidence: format!(
            "{}, and {}: {}{besides}",
            if captured == 1 {
                "the one captured member waits long in them".to_owned()
            } else {
                format!("all {captured} captured members wait in them equally long")
            },
            match found.quick {
                Quick::Other(_) => "messages with more bytes do not take longer",
                Quick::Groups(_) => "other groups do not wait as long in the same ones",
                Quick::Executions(_) => "not every time",
                Quick::Links => "small messages take far longer than a slow link explains",
            },
            match &found.quick {
                Quick::Other(quick) => format!("{}, {}", told(&found.slow), told(quick)),
                Quick::Groups(ps) => format!("{}, in the other groups {}", told(&found.slow), units::duration_ps(*ps)),
                Quick::Executions(ps) => format!(
                    "{} on average, and {} when no member is late",
                    told(&found.slow),
                    units::duration_ps(*ps)
                ),
                Quick::Links => told(&found.slow),
            }
        ),
        saved: Some((share + launches).min(1.0)),
        assuming: "if collectives took only the time that their messages need".into(),
        recommendation: "capture on all hosts, and all chips of each (for TPUs tpu_num_chips_to_profile_per_task): the member that arrives last is the one that never waits in a collective".into(),
        falsifier: "in a capture of all members none works longer or begins later than the others".into(),
        status: Status::Estimated,
        links: vec![Link::to("comm").table("ops"), Link::to("inspect")],
    };
    let mut finding = finding.into_finding(evidence).explaining("exposed_communication", share);
    if launches > 0.0 {
        for rule in ["input_bound", "host_bound", "launch_bound", "blocking_reads"] {
            finding = finding.explaining(rule, launches);
        }
    }
    Outcome::found(said, vec![finding])
}

/// The share of the active window between programs, where it goes with waits for a member that was not captured, which take `share`:
/// these take half as much at least, and launching takes less than what programs run.
fn launches(evidence: &Evidence<'_>, share: f64) -> f64 {
    let between = evidence.share(Class::Between) + evidence.share(Class::Input);
    let runs = 1.0 - share - between;
    if between >= LAUNCHES_WORTH && share >= WAITS_OF_LAUNCHES * between && between <= runs {
        between
    } else {
        0.0
    }
}

/// What is waited, as measured, and the part of it that neither a slow device nor a late host explains.
fn as_measured(evidence: &Evidence<'_>) -> Option<(Cost, f64)> {
    let waits = evidence.waits();
    let waiting = evidence.last()?.waiting_share * evidence.share_of_steps();
    let explained: f64 = [waits.slow, waits.late].into_iter().flatten().map(|cost| cost.communication).sum();
    let left = (waiting - explained).max(0.0);
    Some((Cost { saved: left, communication: left, is_projected: false }, waiting))
}

#[cfg(test)]
mod tests {
    use crate::rule::{Outcome, Verdict};
    use crate::tests::{Made, US, check, in_pairs};

    /// Sixteen steps in each of which another device works so much longer than 500 us.
    fn in_turn(longer: i64) -> Outcome {
        let work = move |step: i64, d: usize| {
            let late = (step * 5 + step / 8) % 8;
            500 + if d as i64 == late { longer } else { 0 }
        };
        check(&super::RULE, in_pairs(16, work, |_, _| 100))
    }

    #[test]
    fn waits_for_now_one_now_another_are_found() {
        let found = in_turn(200);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        let finding = &found.findings[0];
        assert!(finding.claim.contains("which member is last changes"), "{}", finding.claim);
        // 200 us of steps of 810.
        assert!((finding.speedup.unwrap() - 810.0 / 610.0).abs() < 0.01, "{finding:?}");
        let explained = finding.explains.iter().find(|e| e.rule == "exposed_communication").unwrap();
        assert!((explained.share - 200.0 / 810.0 * 7.0 / 8.0).abs() < 0.01, "{explained:?}");
        // As `comm` has it: 200 us a step, of seven devices in eight.
        let words = "; devices wait 175.0 us a step for late members, changes: TPU:";
        assert!(finding.evidence.contains(words), "{}", finding.evidence);
    }

    #[test]
    fn equal_devices_are_clear_and_a_slow_one_is_the_stragglers() {
        assert_eq!(in_turn(0).verdict, Verdict::Clear);
        let slow = check(&super::RULE, in_pairs(16, |_, d| if d == 3 { 700 } else { 500 }, |_, _| 100));
        assert_eq!(slow.verdict, Verdict::Clear, "{slow:?}");
    }

    #[test]
    fn every_second_step_in_which_another_is_late_is_no_stall_of_its_own() {
        let work = |step: i64, d: usize| {
            let is_late = step % 2 == 0 && d as i64 == (step * 5 + step / 8) % 8;
            500 + if is_late { 400 } else { 0 }
        };
        let found = check(&super::RULE, in_pairs(16, work, |_, _| 100));
        let explains =
            |found: &Outcome| found.findings[0].explains.iter().any(|e| e.rule == "periodic_stall");
        assert!(explains(&found), "{found:?}");
        // Where they come late in every step there is no stall.
        assert!(!explains(&in_turn(400)));
    }

    #[test]
    fn a_little_lateness_is_a_near_miss() {
        let found = in_turn(3);
        assert_eq!(found.verdict, Verdict::Clear, "{found:?}");
    }

    /// Eight of sixteen members that stand in 4 MiB for so long and in 256 KiB for so long, microseconds.
    fn half_captured(meets: [i64; 2]) -> Vec<Made> {
        captured(8, [1 << 20, 1 << 16], meets)
    }

    /// So many of sixteen members, with two all-reduces of so many 32-bit numbers.
    fn captured(devices: i64, numbers: [u64; 2], meets: [i64; 2]) -> Vec<Made> {
        launched(devices, numbers, meets, 0)
    }

    /// The same where each step begins with so many microseconds without a program.
    fn launched(devices: i64, numbers: [u64; 2], meets: [i64; 2], idle: i64) -> Vec<Made> {
        let group = (0..16).map(|d| d.to_string()).collect::<Vec<_>>().join(",");
        let device = |d: i64| {
            let mut tpu = Made::tpu(d);
            for (name, numbers) in ["all-reduce.1", "all-reduce.2"].into_iter().zip(numbers) {
                let text = format!(
                    "%{name} = f32[{numbers}]{{0}} all-reduce(%a), replica_groups={{{{{group}}}}}, channel_id=1, use_global_device_ids=true"
                );
                tpu.op(name, "all-reduce", &text, &[]);
            }
            let whole = (idle + 500 + meets[0] + meets[1]) * US;
            let steps: Vec<_> = (0..6).map(|n| (n, n * whole, whole)).collect();
            tpu.steps(&steps);
            let programs =
                steps.iter().map(|(_, at, long)| ("jit_step(7)", at + idle * US, long - idle * US));
            tpu.programs(&programs.collect::<Vec<_>>());
            let ops = steps.iter().map(|(_, at, _)| at + idle * US).flat_map(|at| {
                [
                    ("fusion.1", "loop fusion", at, 500 * US),
                    ("all-reduce.1", "all-reduce", at + 500 * US, meets[0] * US),
                    ("all-reduce.2", "all-reduce", at + (500 + meets[0]) * US, meets[1] * US),
                ]
            });
            tpu.ops(&ops.collect::<Vec<_>>());
            tpu
        };
        (0..devices).map(device).collect()
    }

    #[test]
    fn all_that_were_captured_wait_for_one_that_was_not() {
        let found = check(&super::RULE, half_captured([300, 600]));
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        let finding = &found.findings[0];
        assert!(finding.claim.contains("not captured (8 of 16 were)"), "{}", finding.claim);
        // 98.3 us are their messages, and 8 the way of each.
        assert!((finding.speedup.unwrap() - 1400.0 / (1400.0 - 785.7)).abs() < 0.01, "{finding:?}");
        assert!(finding.evidence.contains("all-reduce.2 takes 600.0 us for"), "{}", finding.evidence);
        let link = check(&crate::rules::slow_link::RULE, half_captured([300, 600]));
        assert_eq!(link.verdict, Verdict::Clear, "{link:?}");
        // Near miss: the longer the more they carry.
        assert_eq!(check(&super::RULE, half_captured([600, 300])).verdict, Verdict::Clear);
        let link = check(&crate::rules::slow_link::RULE, half_captured([600, 300]));
        assert!(link.findings[0].evidence.contains("8 of 16 members were captured"), "{link:?}");
    }

    #[test]
    fn messages_of_one_size_that_take_unlike_times_wait_for_one_that_was_not_captured() {
        for (devices, words) in [(8, "(8 of 16 were)"), (1, "(1 of 16 were)")] {
            let found = check(&super::RULE, captured(devices, [1 << 20; 2], [100, 300]));
            assert_eq!(found.verdict, Verdict::Found, "{found:?}");
            let finding = &found.findings[0];
            assert!(finding.claim.contains(words), "{}", finding.claim);
            assert!((finding.speedup.unwrap() - 900.0 / 700.0).abs() < 0.01, "{finding:?}");
            // Near misses: 1.4 times as long; the larger message is the longer one.
            for near in [
                captured(devices, [1 << 20; 2], [100, 140]),
                captured(devices, [1 << 18, 1 << 20], [100, 300]),
            ] {
                assert_ne!(check(&super::RULE, near).verdict, Verdict::Found);
            }
        }
    }

    #[test]
    fn launches_that_a_late_member_holds_up_go_with_it() {
        let found = |meets: [i64; 2], idle: i64| {
            let found = check(&super::RULE, launched(8, [1 << 20; 2], meets, idle));
            found.findings[0].clone()
        };
        let late = found([100, 300], 100);
        // 200 us of waits of steps of 1000, and between six programs five times 100 us.
        assert!((late.speedup.unwrap() - 1.0 / (0.8 - 500.0 / 5900.0)).abs() < 0.01, "{late:?}");
        assert!(late.explains.iter().any(|one| one.rule == "launch_bound"), "{late:?}");
        // Near misses: launches take several times as long as the waits; as good as nothing.
        let late = found([100, 300], 600);
        assert!((late.speedup.unwrap() - 1500.0 / 1300.0).abs() < 0.03, "{late:?}");
        assert!(!found([100, 300], 10).evidence.contains("besides"));
    }

    #[test]
    fn one_device_alone_waits_for_nobody_that_is_known() {
        let mut tpu = Made::tpu(0);
        let steps: Vec<_> = (0..6).map(|n| (n, n * 1000 * US, 1000 * US)).collect();
        tpu.steps(&steps);
        tpu.programs(&steps.iter().map(|(_, at, long)| ("jit_step(7)", *at, *long)).collect::<Vec<_>>());
        let ops = steps.iter().flat_map(|(_, at, _)| {
            [
                ("fusion.1", "loop fusion", *at, 500 * US),
                ("all-reduce.1", "all-reduce", at + 500 * US, 500 * US),
            ]
        });
        tpu.ops(&ops.collect::<Vec<_>>());
        assert_eq!(check(&super::RULE, vec![tpu]).verdict, Verdict::Unknown);
    }
}
