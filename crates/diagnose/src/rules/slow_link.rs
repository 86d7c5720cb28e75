//! Links that are slower than others: groups of devices in which collectives take longer than in the other groups of the same
//! ops, an axis that carries less than another.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::names::counted;
use crate::rule::{Outcome, Rule, Standing};
use haloscope_comm::links::Links;
use haloscope_comm::peers::{SlowAxis, SlowLinks};
use haloscope_profile::DeviceKind;
use haloscope_report::units;
use haloscope_report::{Link, Status};

pub(super) static RULE: Rule = Rule {
    id: "slow_link",
    standing: Standing::Cause,
    on: &[DeviceKind::Tpu, DeviceKind::Gpu],
    needs: "steps of all members of several groups, and the programs, which say who is in which",
    threshold: None,
    check,
};

/// Less costs too little to look for a cable.
const WORTH: f64 = 0.005;

fn check(evidence: &Evidence<'_>) -> Outcome {
    let waits = evidence.waits();
    if !waits.links_known {
        return Outcome::unknown(
            "the profile does not say which devices took part in which collective, in steps that all of them ran",
        );
    }
    let Some((links, cost)) = &waits.links else {
        return Outcome::clear(
            "no group of devices is slower than its peers in the same collectives, no axis is slower than another, and not all of them are far below what links can carry",
        );
    };
    let (claim, evidence_words) = words(evidence, links);
    let said = format!("{claim}, which costs {} of the active window", units::share(cost.saved));
    if cost.saved < WORTH {
        return Outcome::clear(said);
    }
    let finding = Cause {
        id: RULE.id,
        claim: said.clone(),
        evidence: evidence_words,
        saved: Some(cost.saved),
        assuming: if cost.is_projected {
            "if it carried as much as its peers, found by replaying the steps with the waits of the others".into()
        } else {
            "if it carried as much as its peers".into()
        },
        recommendation: "check the links of these chips (error counters, retraining, a cable or an optical switch), and swap or drain the machine; until then, place the program so that its heaviest axis does not cross them".into(),
        falsifier: "the same devices are just as slow after the program's axes were swapped: then the cause is what they send; an axis that is a line, not a ring, carries half by design".into(),
        status: Status::Estimated,
        links: vec![Link::to("comm").table("groups"), Link::to("comm").table("axes")],
    };
    let finding = finding.into_finding(evidence).explaining("exposed_communication", cost.communication);
    Outcome::found(said, vec![finding])
}

fn rate(rate: f64) -> String {
    format!("{}/s", units::bytes(rate))
}

fn words(evidence: &Evidence<'_>, links: &SlowLinks) -> (String, String) {
    let peak = evidence.selection.devices.first().and_then(|d| Links::of(evidence.profile, d));
    let of_peak = |rate: f64| {
        peak.map_or_else(String::new, |p| {
            format!(" ({} of what its links carry)", units::share(rate / p.all()))
        })
    };
    if let Some(group) = links.groups.first() {
        let name = |id: &haloscope_profile::DeviceId| evidence.profile.device(*id).name.clone();
        let common = links.common();
        let names: Vec<String> = common.iter().map(name).collect();
        // A collective's members leave together: of a larger group nothing tells which of its links is slow.
        let (between, which) = match common.len() {
            2 => ("The link between ", ""),
            1 => ("A link of ", "; which neighbour it leads to is not known"),
            _ => {
                ("A link among ", "; which of them is not known, because members of a group finish together")
            }
        };
        let worst = &group.worst;
        let rates = worst.rate.zip(worst.peers_rate).map_or_else(String::new, |(own, peers)| {
            format!(": {}{} against {}", rate(own), of_peak(own), rate(peers))
        });
        let several = if links.groups.len() > 1 {
            format!("; {} groups are slow", links.groups.len())
        } else {
            String::new()
        };
        return (
            format!(
                "{between}{} is slow: collectives take {:.1} times as long there as in {} like it",
                names.join(", "),
                group.ratio,
                counted(group.peers as u64, "group")
            ),
            format!(
                "seen in {}, {}; most in {} with {} against {}{rates}{several}{which}",
                counted(group.ops as u64, "op"),
                // Nobody knows when the others come: the quickest executions wait least, and a late member makes some ops longer and not all.
                if group.devices.len() == 1 {
                    "in the quickest executions of the one member that was captured, all by the same factor"
                } else {
                    "counted from the arrival of the last member"
                },
                worst.op,
                units::duration_ps(worst.own_ps),
                units::duration_ps(worst.peers_ps),
            ),
        );
    }
    match &links.axis {
        Some(axis) => words_of_axis(axis, &of_peak),
        None => words_of_all(links),
    }
}

/// Of unlike kinds of collectives the rates are none to hold against each other: a hop has one link by design.
fn words_of_axis(axis: &SlowAxis, of_peak: &dyn Fn(f64) -> String) -> (String, String) {
    let (own, best) = (rate(axis.rate), rate(axis.best.1));
    let (claim, own_rate, other) = if axis.kinds == axis.best_kinds {
        let claim = format!("they carry {own} where those along {} carry {best}", axis.best.0);
        (claim, String::new(), "the other axis".to_owned())
    } else {
        let claim = format!(
            "collectives take {:.1} times as long as along {}, each compared with what its kind can get from the links",
            axis.times, axis.best.0
        );
        (claim, format!(" {own}"), format!("along the other axis ({}) {best}", axis.best_kinds.join(", ")))
    };
    (
        format!("The links along {} are slow: {claim}", axis.name),
        format!(
            "bus bandwidth of large synchronous collectives ({}){own_rate}{}, {other}{}; its groups are equally slow, so either all of its links are slow or each group has a slow one{}",
            axis.kinds.join(", "),
            of_peak(axis.rate),
            of_peak(axis.best.1),
            if axis.is_captured {
                ""
            } else {
                "; not all members of its groups were captured: a late member in each would look the same"
            }
        ),
    )
}

fn words_of_all(links: &SlowLinks) -> (String, String) {
    let Some(all) = &links.all else { return ("No link is slow".into(), String::new()) };
    if let Some((time_ps, expected_ps)) = all.small {
        return (
            format!(
                "Collectives are slow on all links: small messages take {} each, {:.1} times as long as their distance and their bytes explain",
                units::duration_ps(time_ps),
                time_ps / expected_ps.max(1.0)
            ),
            format!(
                "{} ({}), counted from the arrival of the last member, against {} at a microsecond for each chip on the way; all are equally slow, so one slow link or all of them may be the reason{}",
                counted(all.ops as u64, "small op"),
                all.kinds.join(", "),
                units::duration_ps(expected_ps),
                of_captured(all.captured)
            ),
        );
    }
    let claim = match all.beside.filter(|_| !all.kinds.is_empty()) {
        Some(beside) => format!(
            "Collectives of {} are slow: large {} ops carry {}, {} of what the two links of an axis can carry, others {}; 80% to 95% is usual",
            if all.kinds.len() == 1 { "one kind".to_owned() } else { format!("{} kinds", all.kinds.len()) },
            all.kinds.join(", "),
            rate(all.rate),
            units::share(all.rate / all.could),
            rate(beside)
        ),
        None => format!(
            "Collectives are slow on all links: large ones carry {}, {} of what the two links of an axis can carry; 80% to 95% is usual",
            rate(all.rate),
            units::share(all.rate / all.could)
        ),
    };
    let why = if all.beside.is_some() {
        "no other group does the same, so the reason may be a slow link, or an axis that only they use"
    } else {
        "there is no other group or axis to compare with, so the reason may be one slow link, for which the whole ring waits, or all of them"
    };
    (
        claim,
        format!(
            "bus bandwidth of {} ({}), counted from the arrival of the last member, against {} in the table of chips; {why}{}",
            counted(all.ops as u64, "large op"),
            all.kinds.join(", "),
            rate(all.could),
            of_captured(all.captured),
        ),
    )
}

/// What is to be known where so many members of so many were captured.
fn of_captured((captured, of): (usize, u64)) -> String {
    if (captured as u64) < of {
        format!("; {captured} of {of} members were captured: a late one among the others would look the same")
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use crate::rule::{Outcome, Verdict};
    use crate::tests::{Made, US, check, in_pairs};

    /// Six steps in which the pairs take so long to meet, microseconds.
    fn said(work: [i64; 8], meets: [i64; 4]) -> Outcome {
        check(&super::RULE, in_pairs(6, |_, d| work[d], |_, pair| meets[pair]))
    }

    #[test]
    fn the_two_devices_of_a_slow_pair_are_named_with_what_the_others_wait() {
        let found = said([500; 8], [100, 100, 400, 100]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        let finding = &found.findings[0];
        assert!(
            finding.claim.starts_with(
                "The link between TPU:4, TPU:5 is slow: collectives take 4.0 times as long there as in 3 groups like it"
            ),
            "{}",
            finding.claim
        );
        // 300 us of steps of 910.
        assert!((finding.speedup.unwrap() - 910.0 / 610.0).abs() < 0.01, "{finding:?}");
        assert!(
            finding.evidence.contains("all-reduce.1 with 400.0 us against 100.0 us"),
            "{}",
            finding.evidence
        );
        assert!(!finding.evidence.contains("not known"), "{}", finding.evidence);
        let explained = finding.explains.iter().find(|e| e.rule == "exposed_communication").unwrap();
        assert!(explained.share > 0.3, "{explained:?}");
    }

    #[test]
    fn equal_pairs_and_a_pair_whose_member_comes_late_are_clear() {
        assert_eq!(said([500; 8], [100, 104, 98, 101]).verdict, Verdict::Clear);
        // The wait for a late member is not the link's.
        let mut work = [500; 8];
        work[4] = 900;
        assert_eq!(said(work, [100; 4]).verdict, Verdict::Clear);
    }

    #[test]
    fn a_little_slower_and_slow_at_little_cost_are_near_misses() {
        // 1.2 times as long is within what groups differ by.
        assert_eq!(said([500; 8], [100, 120, 100, 100]).verdict, Verdict::Clear);
        // Four times as long, and 0.3% of the step: named, and not worth a finding.
        let found = said([2000; 8], [2, 2, 8, 2]);
        assert_eq!(found.verdict, Verdict::Clear, "{found:?}");
        assert!(found.said.contains("TPU:4, TPU:5"), "{}", found.said);
    }

    /// Eight devices of a program for so many that meet in two all-reduces of so many 32-bit numbers, for so long, microseconds.
    fn of_all(partitions: u32, numbers: [u64; 2], meets: [i64; 2]) -> Outcome {
        let rest =
            "replica_groups={{0,1,2,3,4,5,6,7}}, channel_id=1, use_global_device_ids=true, to_apply=%add";
        let [first, second] = [1, 2].map(|at| {
            format!(
                "%all-reduce.{at} = f32[{}]{{0}} all-reduce(f32[{}]{{0}} %p.{at}), {rest}",
                numbers[at - 1],
                numbers[at - 1]
            )
        });
        let [m, n] = numbers;
        let program = Made::program(&format!(
            "HloModule jit_step, num_partitions={partitions}\n\n%add (a: f32[], b: f32[]) -> f32[] {{\n  %a = f32[] parameter(0)\n  %b = f32[] parameter(1)\n  ROOT %s = f32[] add(%a, %b)\n}}\n\nENTRY %main (p.1: f32[{m}], p.2: f32[{n}]) -> (f32[{m}], f32[{n}]) {{\n  %p.1 = f32[{m}]{{0}} parameter(0)\n  %p.2 = f32[{n}]{{0}} parameter(1)\n  {first}\n  {second}\n  ROOT %t = (f32[{m}]{{0}}, f32[{n}]{{0}}) tuple(%all-reduce.1, %all-reduce.2)\n}}\n"
        ));
        let whole = (500 + meets[0] + meets[1]) * US;
        let device = |d: i64| {
            let mut tpu = Made::tpu(d);
            for (name, text) in [("all-reduce.1", &first), ("all-reduce.2", &second)] {
                tpu.op(name, "all-reduce", text, &[]);
            }
            let steps: Vec<_> = (0..6).map(|n| (n, n * whole, whole)).collect();
            tpu.steps(&steps);
            tpu.programs(&steps.iter().map(|(_, at, long)| ("jit_step(7)", *at, *long)).collect::<Vec<_>>());
            let ops = steps.iter().flat_map(|(_, at, _)| {
                [
                    ("fusion.1", "loop fusion", *at, 500 * US),
                    ("all-reduce.1", "all-reduce", at + 500 * US, meets[0] * US),
                    ("all-reduce.2", "all-reduce", at + (500 + meets[0]) * US, meets[1] * US),
                ]
            });
            tpu.ops(&ops.collect::<Vec<_>>());
            tpu
        };
        check(&super::RULE, (0..8).map(device).chain(std::iter::once(program)).collect())
    }

    #[test]
    fn rates_of_unlike_kinds_are_not_held_against_each_other() {
        let axis = |kind: &str| super::SlowAxis {
            name: "axis_0".into(),
            rate: 20e9,
            best: ("axis_1".into(), 80e9),
            times: 2.7,
            kinds: vec![kind.into()],
            best_kinds: vec!["all-reduce".into()],
            is_captured: true,
        };
        let words = |kind| super::words_of_axis(&axis(kind), &|_| String::new());
        let (claim, evidence) = words("all-reduce");
        assert!(claim.contains("axis_0 are slow: they carry") && claim.contains("axis_1 carry"), "{claim}");
        assert!(evidence.contains("(all-reduce), the other axis; its groups"), "{evidence}");
        let (claim, evidence) = words("collective-permute");
        assert!(claim.contains("collectives take 2.7 times as long as along axis_1"), "{claim}");
        assert!(!claim.contains("/s"), "{claim}");
        let both = [super::rate(20e9), super::rate(80e9)];
        assert!(both.iter().all(|rate| evidence.contains(rate)), "{evidence}");
    }

    #[test]
    fn a_slice_of_which_all_chips_take_part_has_a_ring_and_no_line() {
        // 7.34 MB over the two links of an axis at 85%, and 5.7 us for the way: 92 us each. A line of chips would take twice as long.
        let found = of_all(8, [1 << 20; 2], [150; 2]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        let finding = &found.findings[0];
        assert!(finding.claim.starts_with("Collectives are slow on all links"), "{}", finding.claim);
        assert!((finding.speedup.unwrap() - 800.0 / 684.0).abs() < 0.01, "{finding:?}");
        // Near misses: 1.5 times as long; some of sixteen chips, which may be a line; messages whose way counts as much as their bytes.
        let near = [
            of_all(8, [1 << 20; 2], [138; 2]),
            of_all(16, [1 << 20; 2], [150; 2]),
            of_all(8, [1 << 19; 2], [80; 2]),
        ];
        for near in near {
            assert_eq!(near.verdict, Verdict::Clear, "{near:?}");
        }
    }

    #[test]
    fn small_messages_that_are_all_slow_are_told_by_their_way() {
        let mut small = super::SlowLinks::default();
        small.all = Some(haloscope_comm::peers::SlowAll {
            rate: 1e6,
            could: 100e9,
            ops: 5,
            kinds: vec!["all-reduce".into()],
            beside: None,
            captured: (4, 8),
            small: Some((24e6, 6e6)),
        });
        let (claim, evidence) = super::words_of_all(&small);
        assert!(claim.contains("small messages take 24.00 us each, 4.0 times as long as"), "{claim}");
        assert!(evidence.contains("against 6.000 us") && evidence.contains("4 of 8 members"), "{evidence}");
    }

    #[test]
    fn the_only_large_collective_of_a_program_says_by_itself_that_it_is_slow() {
        let found = of_all(8, [1 << 20, 64], [300, 8]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        assert!((found.findings[0].speedup.unwrap() - 808.0 / 598.0).abs() < 0.01, "{found:?}");
        // Near misses: twice as long; so long that it waits for somebody; of some of sixteen chips; another that is as large is quick.
        let near = [
            of_all(8, [1 << 20, 64], [180, 8]),
            of_all(8, [1 << 20, 64], [600, 8]),
            of_all(16, [1 << 20, 64], [300, 8]),
            of_all(8, [1 << 20; 2], [300, 40]),
        ];
        for near in near {
            assert_eq!(near.verdict, Verdict::Clear, "{near:?}");
        }
    }

    #[test]
    fn without_groups_nobody_can_tell() {
        let device = |d: i64| {
            let mut tpu = Made::tpu(d);
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
            tpu
        };
        assert_eq!(check(&super::RULE, (0..4).map(device).collect()).verdict, Verdict::Unknown);
        assert_eq!(check(&super::RULE, vec![device(0)]).verdict, Verdict::Unknown);
    }
}
