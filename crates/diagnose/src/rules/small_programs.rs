//! Steps of many programs that do one thing each: without `jit`, or a loop in Python around a small jitted function.

use std::collections::BTreeSet;

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::host_events::Doing;
use crate::evidence::names::counted;
use crate::evidence::programs::Ran;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::rules::{large_transfers, tracing_overhead};
use crate::thresholds::{Grade, SMALL_PROGRAMS};
use haloscope_report::units;
use haloscope_report::{Finding, Link, Status};
use haloscope_time::fix::{self, Fix};

const NEEDS: &str = "program executions with their names, and ops";

pub(super) static EAGER: Rule = Rule {
    id: "eager_execution",
    standing: Standing::Cause,
    on: ANY,
    needs: NEEDS,
    threshold: Some(&SMALL_PROGRAMS),
    check: eager,
};

pub(super) static LOOP: Rule = Rule {
    id: "python_loop",
    standing: Standing::Cause,
    on: ANY,
    needs: "program executions with their names, ops, and step markers or a program that runs once a step",
    threshold: Some(&SMALL_PROGRAMS),
    check: python_loop,
};

/// Fewer launches may be a start.
const FEWEST: u64 = 50;
/// This part of the launches must be of small programs.
const MOST: f64 = 0.7;
/// So many different small programs are no helpers around a step.
const KINDS: usize = 5;
/// A program that runs so often in each round of the loop around it is a loop of its own.
const AGAIN: f64 = 8.0;
/// Programs that run as often as the most frequent one, within this part, belong to the same loop: what cuts its arguments out.
const AS_OFTEN: f64 = 0.1;

/// What both look at.
struct Launches {
    all: Vec<Ran>,
    /// What the host takes to make one, picoseconds: the time without a program, a launch.
    gap_ps: f64,
    is_loop: bool,
    total: u64,
    /// Of the active window: no program runs, and the host launches, traces or sends arguments.
    share: f64,
    /// Of the active window: launches of small programs beyond the fastest of their kind.
    late: f64,
    /// Of the active window: what the host of a GPU spends on launching the kernels of programs, which it does in a loop of a program
    /// too.
    kernels: f64,
    /// What other rules claim of it.
    claimed: [(&'static str, f64); 3],
}

/// How a loop gets into a program.
static ONE_LOOP: Fix = Fix {
    jax: "write the loop with `jax.lax.scan` (or `fori_loop`, `while_loop`) inside one jitted function, which takes the whole sequence as its argument; passes that do not need each other's results run at once with `jax.vmap`",
    tensorflow: "write the loop inside one `tf.function` (a Python `for` over a tensor there becomes `tf.while_loop`), which takes the whole sequence as its argument",
    pytorch: "write the loop with `torch_xla.experimental.scan`, or without a `torch_xla.sync()` in it, so that the whole sequence is one graph",
    any: "write the loop inside one program, which takes the whole sequence as its argument",
};

/// The launches, or an outcome where there is nothing to say of them. In a loop programs may do more, as long as they are short.
fn launches(evidence: &Evidence<'_>, is_loop: bool) -> Result<Launches, Outcome> {
    let all = evidence.programs_ran();
    if all.iter().all(|one| one.module.is_empty()) {
        return Err(Outcome::unknown("the profile does not say which programs ran"));
    }
    let total: u64 = all.iter().map(|one| one.launches).sum();
    let host = evidence.host();
    let ps = |doing| host.part(doing).ps;
    let claimed = [
        ("launch_bound", ps(Doing::Launch).saturating_add(host.launch_inside_ps)),
        ("host_bound", ps(Doing::Other)),
        ("large_transfers", ps(Doing::Transfer)),
    ];
    let gap_ps = units::sum(claimed.map(|(_, ps)| ps)) as f64 / total.max(1) as f64;
    let claimed = claimed.map(|(rule, ps)| (rule, evidence.of_active(ps as f64)));
    let share = claimed.iter().map(|(_, share)| share).sum();
    let claimed =
        claimed.map(|(rule, own)| (rule, if rule == "host_bound" { evidence.with_cold(own) } else { own }));
    let part = host.part(Doing::Launch);
    let of_kernels = part.names.iter().filter(|named| named.name.contains("ExecuteThunks"));
    let kernels = evidence.of_active(units::sum(of_kernels.map(|named| named.total_ps)) as f64);
    let mut launches = Launches { all, gap_ps, is_loop, total, share, late: 0.0, kernels, claimed };
    if total < FEWEST
        || (launches.small() as f64) < MOST * total as f64
        || SMALL_PROGRAMS.grade(launches.share) == Grade::Good
    {
        return Err(Outcome::clear(launches.said()));
    }
    let of_small: BTreeSet<&str> = launches.of_small().map(|one| one.module.as_str()).collect();
    let late_ps = evidence.beyond_fastest_ps(
        |one| (one.module.clone(), one.program_id),
        |_, one| of_small.contains(one.module.as_str()),
    );
    launches.late = evidence.of_active(late_ps);
    Ok(launches)
}

impl Launches {
    /// How many launches are of small programs.
    fn small(&self) -> u64 {
        self.of_small().map(|one| one.launches).sum()
    }

    /// Programs that do one thing, and in a loop those that end before the host has made the next: a step should not be made of these.
    fn of_small(&self) -> impl Iterator<Item = &Ran> {
        self.all.iter().filter(|one| one.is_small() || self.is_loop && one.length_ps < self.gap_ps)
    }

    fn said(&self) -> String {
        format!(
            "{} of {} launches execute only a few ops{}; devices have no program for {} of the active window while the host makes them",
            self.small(),
            self.total,
            if self.is_loop { ", or end before the host has made the next" } else { "" },
            units::share(self.share),
        )
    }

    /// The program that runs again and again in each round, where it is one.
    fn repeated(&self, rounds: u64) -> Option<(&Ran, f64)> {
        let most = self.all.first()?.launches as f64;
        let of_loop: Vec<&Ran> =
            self.all.iter().take_while(|one| one.launches as f64 >= (1.0 - AS_OFTEN) * most).collect();
        let launches: u64 = of_loop.iter().map(|one| one.launches).sum();
        if (launches as f64) < MOST * self.total as f64 || most < AGAIN * rounds.max(1) as f64 {
            return None;
        }
        // The one with most ops does the work.
        let ran = of_loop.into_iter().max_by(|a, b| a.ops.total_cmp(&b.ops))?;
        Some((ran, ran.launches as f64 / rounds.max(1) as f64))
    }

    /// What goes at most: all but the gap that one program a round leaves, and what launches take beyond the fastest of their
    /// kind: they are too short for a thread that is woken up for each.
    fn saved(&self, rounds: Option<u64>) -> f64 {
        let rest = rounds.map_or(0.0, |rounds| (rounds as f64 / self.total.max(1) as f64).min(1.0));
        (self.share + self.late) * (1.0 - rest)
    }

    /// A finding that says which other rules claim its time.
    fn explaining(&self, finding: Finding) -> Finding {
        self.claimed.iter().fold(finding, |finding, (rule, share)| finding.explaining(rule, *share))
    }

    fn list(&self) -> String {
        let one = |ran: &Ran| format!("{} {} times", ran.module, ran.launches);
        self.all.iter().take(4).map(one).collect::<Vec<_>>().join(", ")
    }
}

fn eager(evidence: &Evidence<'_>) -> Outcome {
    let launches = match launches(evidence, false) {
        Ok(launches) => launches,
        Err(outcome) => return outcome,
    };
    let rounds = evidence.rounds(&launches.all);
    let kinds = launches.all.iter().filter(|one| one.is_small()).count();
    let said = launches.said();
    if rounds.is_some_and(|rounds| launches.repeated(rounds).is_some()) {
        return Outcome::clear(format!("{said}; see python_loop"));
    }
    if kinds < KINDS {
        return Outcome::clear(format!("{said}, and are {}", counted(kinds as u64, "different program")));
    }
    let each = rounds.filter(|rounds| *rounds > 0).map_or_else(String::new, |rounds| {
        format!(", {:.0} in each of {rounds} steps", launches.total as f64 / rounds as f64)
    });
    let finding = Cause {
        id: EAGER.id,
        claim: format!(
            "The step is not one program: of {} launches{each}, {} execute only a few ops, and devices wait for {} of the active window while the host makes the next",
            launches.total,
            launches.small(),
            units::share(launches.share)
        ),
        evidence: format!("{}: {}", counted(launches.all.len() as u64, "different program"), launches.list()),
        saved: Some(launches.saved(rounds)),
        assuming: "if one program did the whole step, with ops as fast as in the fastest launches; the gain from fusing them is not counted".into(),
        recommendation: evidence.fix(&fix::ONE_PROGRAM),
        falsifier: "as one program, the step takes just as long: then the cause is the ops, or what is done between steps".into(),
        status: Status::Derived,
        links: vec![Link::to("hlo modules"), Link::to("idle").table("gaps")],
    };
    Outcome::found(said, vec![launches.explaining(finding.into_finding(evidence))])
}

fn python_loop(evidence: &Evidence<'_>) -> Outcome {
    let launches = match launches(evidence, true) {
        Ok(launches) => launches,
        Err(outcome) => return outcome,
    };
    let said = launches.said();
    let Some(rounds) = evidence.rounds(&launches.all) else {
        return Outcome::unknown(format!(
            "{said}; neither step markers nor another program say how many of them are in a step"
        ));
    };
    let Some((ran, each)) = launches.repeated(rounds) else {
        return Outcome::clear(format!("{said}; no program runs again and again within a step"));
    };
    // What the tracer adds to the gaps is there neither before nor after.
    let saved = launches.saved(Some(rounds)).min(1.0 - launches.kernels);
    let tracer = tracing_overhead::in_gaps(evidence).min(launches.share);
    let finding = Cause {
        id: LOOP.id,
        claim: format!(
            "{} is launched {each:.0} times a step, {} each: devices wait for {} of the active window while a loop in Python makes the next launch",
            ran.module,
            if ran.is_small() { "a few ops".to_owned() } else { units::duration_ps(ran.length_ps) },
            units::share(launches.share)
        ),
        evidence: format!("{} launches in {rounds} steps: {}", launches.total, launches.list()),
        saved: Some(((saved - tracer) / (1.0 - tracer).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0)),
        assuming: if launches.kernels > 0.0 {
            "if one program ran the whole loop, with ops as fast as in the fastest launches and kernels launched by the host as now (ExecuteThunks)".into()
        } else {
            "if one program ran the whole loop, with ops as fast as in the fastest launches".into()
        },
        recommendation: if large_transfers::are_put_for(evidence, &ran.module) {
            "collect on the host what goes to the device, and put it there in one call: `jax.device_put` of the whole list or dictionary is one call, one array (np.stack) is one transfer".into()
        } else {
            evidence.fix(&ONE_LOOP)
        },
        falsifier:
            "with the loop in one program, the step takes just as long: then the cause is the ops themselves"
                .into(),
        status: Status::Derived,
        links: vec![Link::to("hlo modules").row("modules", &ran.module), Link::to("idle").table("gaps")],
    };
    Outcome::found(said, vec![launches.explaining(finding.into_finding(evidence))])
}

#[cfg(test)]
mod tests {
    use crate::rule::{Outcome, Rule, Verdict};
    use crate::tests::{Made, US, check};

    /// Ten steps of 10 ms; in each the programs of these names run one after another, 100 us each with 100 us between them.
    fn run(names: &[String], marked: bool) -> Vec<Made> {
        let mut tpu = Made::tpu(0);
        let mut launches = Vec::new();
        let mut ops = Vec::new();
        let mut at = 0;
        for _ in 0..10 {
            for name in names {
                launches.push((name.as_str(), at, 100 * US));
                ops.push(("fusion.1", "loop fusion", at, 100 * US));
                at += 200 * US;
            }
        }
        let length = 200 * US * names.len() as i64;
        if marked {
            tpu.steps(&(0..10).map(|n| (n, n * length, length)).collect::<Vec<_>>());
        }
        tpu.programs(&launches);
        tpu.ops(&ops);
        let mut host = Made::named("/host:CPU");
        host.line("python");
        host.event("PjitFunction(f)", 0, at, &[]);
        vec![tpu, host]
    }

    fn names(kinds: usize, count: usize) -> Vec<String> {
        (0..count).map(|n| format!("jit_op{}({})", n % kinds, 70 + n % kinds)).collect()
    }

    fn both(planes: &[Made]) -> [Outcome; 2] {
        [&super::EAGER, &super::LOOP].map(|rule: &'static Rule| check(rule, planes.to_vec()))
    }

    #[test]
    fn a_step_of_many_programs_is_eager() {
        let [eager, looped] = both(&run(&names(10, 10), true));
        assert_eq!(eager.verdict, Verdict::Found, "{eager:?}");
        assert!(eager.findings[0].claim.contains("10 in each of 10 steps"), "{eager:?}");
        // Of the gaps, half of the time, one in ten stays.
        let speedup = eager.findings[0].speedup.unwrap();
        assert!((1.7..1.9).contains(&speedup), "{speedup}");
        assert_eq!(looped.verdict, Verdict::Clear, "{looped:?}");
    }

    #[test]
    fn one_small_program_many_times_a_step_is_a_loop() {
        let [eager, looped] = both(&run(&names(1, 20), true));
        assert_eq!(looped.verdict, Verdict::Found, "{looped:?}");
        assert!(looped.findings[0].claim.contains("launched 20 times a step"), "{looped:?}");
        assert_eq!(eager.verdict, Verdict::Clear, "{eager:?}");
    }

    #[test]
    fn what_the_tracer_adds_to_the_gaps_is_left_out() {
        let gain = |calls: i64| {
            let mut planes = run(&names(1, 20), true);
            let mut host = Made::named("/host:CPU");
            host.line("python");
            for at in (0..200).map(|n| n * 200 * US + 100 * US) {
                host.event("PjitFunction(f)", at, 99 * US, &[]);
                (0..calls).for_each(|n| host.event("$numpy sin", at + n * 300_000, 200_000, &[]));
            }
            planes[1] = host;
            check(&super::LOOP, planes).findings[0].speedup.unwrap()
        };
        // 100 calls at 0.3 us are 30 of 100 us between programs that take as long; one launch in twenty stays. Ten are too few.
        assert!((gain(100) - 1.0 / (1.0 - (0.475 - 0.15) / 0.85)).abs() < 0.05, "{}", gain(100));
        assert!((gain(10) - 1.0 / (1.0 - 0.475)).abs() < 0.05, "{}", gain(10));
    }

    #[test]
    fn a_program_of_more_ops_is_a_loop_where_it_ends_before_the_next_is_made() {
        let run = |us: i64| {
            let mut tpu = Made::tpu(0);
            let starts: Vec<i64> = (0..200).map(|n| n * 200 * US).collect();
            tpu.steps(&(0..10).map(|n| (n, n * 4000 * US, 4000 * US)).collect::<Vec<_>>());
            tpu.programs(&starts.iter().map(|at| ("jit_model(7)", *at, us * US)).collect::<Vec<_>>());
            let ops = starts.iter().flat_map(|at| (0..10).map(move |n| at + n * us * US / 10));
            tpu.ops(&ops.map(|at| ("fusion.1", "loop fusion", at, us * US / 10)).collect::<Vec<_>>());
            let mut host = Made::named("/host:CPU");
            host.line("python");
            host.event("PjitFunction(model)", 0, 40_000 * US, &[]);
            check(&super::LOOP, vec![tpu, host])
        };
        let found = run(50);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        assert!(found.findings[0].claim.contains("launched 20 times a step, 50.00 us each"), "{found:?}");
        // Near miss: it takes longer than the gap behind it.
        assert_eq!(run(120).verdict, Verdict::Clear);
    }

    #[test]
    fn what_the_host_puts_one_by_one_is_to_be_joined() {
        let mut planes =
            run(&names(1, 20).iter().map(|_| "jit_stage(7)".to_owned()).collect::<Vec<_>>(), true);
        let mut host = Made::named("/host:CPU");
        host.line("python");
        for at in (0..200).map(|n| n * 200 * US + 100 * US) {
            host.event("PjitFunction(stage)", at, 90 * US, &[]);
            host.event("DevicePut", at + 10 * US, 20 * US, &[]);
        }
        planes[1] = host;
        let [_, looped] = both(&planes);
        assert_eq!(looped.verdict, Verdict::Found, "{looped:?}");
        assert!(looped.findings[0].recommendation.contains("put it there in one call"), "{looped:?}");
    }

    #[test]
    fn a_small_step_is_neither() {
        // Ten steps are too few to say anything; six in each step are no loop, and of one kind.
        for names in [names(1, 1), names(1, 6)] {
            for outcome in both(&run(&names, true)) {
                assert_eq!(outcome.verdict, Verdict::Clear, "{outcome:?}");
            }
        }
    }

    #[test]
    fn the_host_s_event_around_many_launches_is_a_round() {
        let mut planes = run(&names(1, 20), false);
        let mut host = Made::named("/host:CPU");
        host.line("python");
        for round in 0..10 {
            host.event("$train.py:9 step", round * 4000 * US, 4000 * US, &[]);
            for n in 0..20 {
                host.event("PjitFunction(f)", round * 4000 * US + n * 200 * US + 100 * US, 100 * US, &[]);
            }
        }
        planes[1] = host;
        let [eager, looped] = both(&planes);
        assert_eq!(looped.verdict, Verdict::Found, "{looped:?}");
        assert!(looped.findings[0].claim.contains("launched 20 times a step"), "{looped:?}");
        assert_eq!(eager.verdict, Verdict::Clear, "{eager:?}");
    }

    #[test]
    fn without_steps_or_programs_nobody_can_tell() {
        let [_, looped] = both(&run(&names(1, 20), false));
        assert_eq!(looped.verdict, Verdict::Unknown, "{looped:?}");
    }
}
