//! A mixture of experts whose tokens are spread unevenly: one device's experts work longer, and the others wait at the exchange.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::experts::{Experts, Seen};
use crate::evidence::names::common;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::thresholds::{EXPERTS, Grade};
use haloscope_profile::DeviceId;
use haloscope_report::units;
use haloscope_report::{Link, Status};
use haloscope_time::account::Class;

pub(super) static RULE: Rule = Rule {
    id: "expert_imbalance",
    standing: Standing::Cause,
    on: ANY,
    needs: "ops of experts, by their scopes, on two devices or more that run the same program",
    threshold: Some(&EXPERTS),
    check,
};

/// The experts' times differ by this part of them at least, and by so many times what those of the other ops do.
const UNEVEN: (f64, f64) = (0.05, 3.0);
/// One device is the fullest where it is so in this part of the time.
const MOSTLY: f64 = 0.6;

fn check(evidence: &Evidence<'_>) -> Outcome {
    let experts = match evidence.experts() {
        Seen::None => return Outcome::not_applicable("no op has a name that says it belongs to an expert"),
        Seen::Unknown(why) => return Outcome::unknown(why),
        Seen::Compared(experts) => experts,
    };
    let Experts { ops, share, spread, rest, .. } = &experts;
    let said = format!(
        "experts take {} of the active window; the slowest device takes {} longer for them than the median of the others, against {} in all other compute",
        units::share(*share),
        units::share(*spread),
        units::share(*rest)
    );
    let (saved, communication, is_projected) = cost(evidence, &experts);
    let is_uneven = *spread >= UNEVEN.0 && *spread >= UNEVEN.1 * rest;
    if !is_uneven || evidence.share(Class::Communication) <= 0.0 || EXPERTS.grade(saved) == Grade::Good {
        return Outcome::clear(said);
    }
    let Some(first) = ops.first() else { return Outcome::clear(said) };
    let who = match one_device(&experts) {
        Some(device) => format!("The experts of {}", name(evidence, device)),
        None => "The experts of the busiest device (not always the same one)".into(),
    };
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "{who} take {} longer than the median of the others, which wait for them at the exchange: {}",
            units::share(*spread),
            common(ops.iter().copied()),
        ),
        evidence: format!(
            "{said}: so the cause is the load of the experts, not the device; {} of the active window is exposed communication",
            units::share(evidence.share(Class::Communication))
        ),
        saved: Some(saved),
        assuming: if is_projected {
            "if its ops took as long as on the others, found by replaying the steps".into()
        } else {
            "if the busiest device's experts took as long as the median of the others".into()
        },
        recommendation: "spread the tokens: a balancing loss or a bias on the router, a lower capacity factor, more or smaller experts a device, or hot experts on different devices".into(),
        falsifier: "the same device is just as slow with tokens routed at random: then the cause is the device, or its work besides tokens".into(),
        status: Status::Estimated,
        links: vec![
            Link::to("hosts").table("devices"),
            Link::to("ops").row("ops", first.meta.name.as_ref()),
            evidence.timeline_of(first),
        ],
    };
    let finding = ["straggler", "late_members"]
        .into_iter()
        .fold(finding.into_finding(evidence), |finding, rule| finding.explaining(rule, saved));
    Outcome::found(said, vec![finding.explaining("exposed_communication", communication)])
}

/// What balance saves at most, the part of it in exposed communication, both shares of the active window, and whether the steps
/// were run again for it: so they are where that device stands out as a straggler.
fn cost(evidence: &Evidence<'_>, experts: &Experts<'_, '_>) -> (f64, f64, bool) {
    let slow = evidence.measured().ok().and_then(|measured| {
        let slow = measured.slow()?;
        let members: Vec<DeviceId> =
            slow.members.iter().filter_map(|at| Some(measured.devices.get(*at)?.device.id)).collect();
        let is_it = one_device(experts).is_some_and(|device| members == [device]);
        is_it.then(|| evidence.waits().slow)?
    });
    match slow.filter(|slow| slow.is_projected) {
        Some(slow) => (slow.saved, slow.communication, true),
        None => (experts.excess, experts.excess.min(evidence.share(Class::Communication)), false),
    }
}

/// The device whose experts have most to do nearly always.
fn one_device(experts: &Experts<'_, '_>) -> Option<DeviceId> {
    experts.fullest.filter(|(_, part)| *part >= MOSTLY).map(|(device, _)| device)
}

fn name(evidence: &Evidence<'_>, device: DeviceId) -> String {
    evidence.profile.device(device).name.clone()
}

#[cfg(test)]
mod tests {
    use haloscope_xspace::write::Value;

    use crate::rule::{Outcome, Verdict};
    use crate::tests::{Made, US, check};

    /// Steps of 1000 us on some chips: attention, experts for so long on each chip and in each step, and the exchange.
    fn run(
        scope: &str,
        chips: usize,
        experts: impl Fn(usize, i64) -> i64,
        attention: impl Fn(usize) -> i64,
    ) -> Outcome {
        let chip = |ordinal: usize| {
            let mut tpu = Made::tpu(ordinal as i64);
            let scopes = [
                ("fusion.1", "jit(step)/attention/dot:".to_owned()),
                ("fusion.2", format!("jit(step)/{scope}/dot:")),
            ];
            for (name, path) in scopes {
                tpu.op(name, "loop fusion", "", &[("tf_op", Value::Str(path))]);
            }
            let starts = || (0..8).map(|i| (i, i * 1000 * US));
            tpu.steps(&starts().map(|(i, at)| (i, at, 1000 * US)).collect::<Vec<_>>());
            tpu.programs(&starts().map(|(_, at)| ("jit_step(7)", at, 1000 * US)).collect::<Vec<_>>());
            let ops = starts().flat_map(|(i, at)| {
                let first = attention(ordinal) * US;
                let work = first + experts(ordinal, i) * US;
                [
                    ("fusion.1", "loop fusion", at, first),
                    ("fusion.2", "loop fusion", at + first, work - first),
                    ("all-to-all.1", "all-to-all", at + work, 1000 * US - work),
                ]
            });
            tpu.ops(&ops.collect::<Vec<_>>());
            tpu
        };
        check(&super::RULE, (0..chips).map(chip).collect())
    }

    #[test]
    fn a_device_whose_experts_take_longer_is_named() {
        let found = run("expert_mlp", 4, |chip, _| if chip == 2 { 600 } else { 400 }, |_| 300);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        let finding = &found.findings[0];
        assert!(finding.claim.starts_with("The experts of TPU:2 take 50.0% longer"), "{finding:?}");
        // 200 us of each step.
        assert!((finding.speedup.unwrap() - 1.25).abs() < 0.01, "{finding:?}");
        let explained: Vec<_> = finding.explains.iter().map(|one| one.rule).collect();
        assert_eq!(explained, ["straggler", "late_members", "exposed_communication"]);
    }

    #[test]
    fn experts_that_are_full_in_turn_are_found_too() {
        let found = run("moe", 4, |chip, step| if chip as i64 == step % 4 { 600 } else { 400 }, |_| 300);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        assert!(found.findings[0].claim.contains("not always the same one"), "{found:?}");
        assert!((found.findings[0].speedup.unwrap() - 1.25).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn a_slow_device_and_even_experts_are_clear() {
        let slow = |chip: usize, usual: i64| if chip == 2 { usual * 5 / 4 } else { usual };
        let found = run("expert_mlp", 4, |chip, _| slow(chip, 400), |chip| slow(chip, 300));
        assert_eq!(found.verdict, Verdict::Clear, "all its ops are slow: {found:?}");
        assert_eq!(run("expert_mlp", 4, |chip, _| 400 + chip as i64, |_| 300).verdict, Verdict::Clear);
    }

    #[test]
    fn without_experts_the_question_does_not_arise_and_of_one_device_nobody_can_tell() {
        let uneven = |chip, _| if chip == 2 { 600 } else { 400 };
        assert_eq!(run("mlp", 4, uneven, |_| 300).verdict, Verdict::NotApplicable);
        assert_eq!(run("expert_mlp", 1, uneven, |_| 300).verdict, Verdict::Unknown);
    }
}
