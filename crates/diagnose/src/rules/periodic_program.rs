//! Every so many steps a program runs that no other step runs, such as a validation.

use std::collections::BTreeMap;

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::thresholds::{Grade, PERIODIC_PROGRAM};
use haloscope_report::units;
use haloscope_report::{Link, Status};
use haloscope_time::steps::Step;
use haloscope_time::steps::series::ordinal;

pub(super) static RULE: Rule = Rule {
    id: "periodic_program",
    standing: Standing::Cost,
    on: ANY,
    needs: "steps, and program executions",
    threshold: Some(&PERIODIC_PROGRAM),
    check,
};

/// Fewer runs are no period.
const FEWEST: usize = 3;

/// A program that runs in every so many steps.
struct Periodic<'e> {
    module: &'e str,
    every: usize,
    /// Numbers of the steps.
    steps: Vec<i64>,
    /// Picoseconds, summed over devices, and in how many runs.
    time_ps: i64,
    runs: usize,
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    let launches = || evidence.accounts().iter().flatten().flat_map(|account| &account.launches);
    if evidence.steps().rows.len() <= FEWEST || launches().next().is_none() {
        return Outcome::unknown(
            "too few steps, or no program executions, to know which programs run in which steps",
        );
    }
    let found = periodic(evidence);
    let share = |one: &Periodic<'_>| evidence.of_active(one.time_ps as f64);
    let all: f64 = found.iter().map(share).sum();
    let said =
        format!("programs that run every so many steps take {} of the active window", units::share(all));
    let Some(first) = found.first().filter(|_| PERIODIC_PROGRAM.grade(all) != Grade::Good) else {
        return Outcome::clear(said);
    };
    let each = first.time_ps as f64 / first.runs.max(1) as f64;
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "Every {} step, from step {}, also runs {} for {}: {} of the active window",
            ordinal(first.every),
            first.steps[0],
            first.module,
            units::duration_ps(each),
            units::share(all)
        ),
        evidence: format!("{} runs in {} of {} steps", first.module, first.steps.len(), evidence.steps().rows.len()),
        saved: Some(all),
        assuming: "if it did not run".into(),
        recommendation: "run it less often, on a part of the data, or on devices of its own; a validation also needs no gradients and may take a larger batch".into(),
        falsifier: "a capture of as many steps without this program takes just as long".into(),
        status: Status::Derived,
        links: vec![Link::to("hlo modules").row("modules", first.module), Link::to("steps").row("steps", first.steps[0].to_string())],
    };
    Outcome::found(said, vec![finding.into_finding(evidence)])
}

/// The steps in which a program ran on the first device, for how long it did on all, picoseconds, and how often.
type Ran = (Vec<usize>, i64, usize);

/// The programs that run in every n-th step, n being two or more, those that take longest first.
fn periodic<'e>(evidence: &'e Evidence<'_>) -> Vec<Periodic<'e>> {
    let rows = &evidence.steps().rows;
    // Of each program the steps in which the first device runs it, and its time on all.
    let mut ran: BTreeMap<(&str, Option<u64>), Ran> = BTreeMap::new();
    let spans: Vec<Vec<(usize, i64, i64)>> = evidence
        .selection
        .devices
        .iter()
        .map(|device| {
            let on = |(at, step): (usize, &Step)| step.on(device.id).map(|on| (at, on.start_ps, on.end_ps));
            rows.iter().enumerate().filter_map(on).collect()
        })
        .collect();
    for (position, launch, ps) in evidence.launches_in_window() {
        let Some(spans) = spans.get(position) else { continue };
        let before = spans.partition_point(|(_, start_ps, _)| *start_ps <= launch.start_ps);
        let step = before.checked_sub(1).and_then(|last| spans.get(last)).copied();
        let Some((at, ..)) = step.filter(|(_, _, end_ps)| launch.start_ps < *end_ps) else { continue };
        let own = ran.entry((&launch.module, launch.program_id)).or_default();
        own.1 = own.1.saturating_add(ps);
        own.2 += 1;
        if position == 0 && own.0.last() != Some(&at) {
            own.0.push(at);
        }
    }
    let mut found: Vec<Periodic<'_>> = ran
        .into_iter()
        .filter_map(|((module, _), (at, time_ps, runs))| {
            let every = at.get(1)? - at.first()?;
            let is_even = at.windows(2).all(|pair| pair[1] - pair[0] == every);
            // It would have been seen before the first and behind the last of them.
            let is_whole = at[0] < every && rows.len() <= at[at.len() - 1] + every;
            let steps = at.iter().map(|at| rows[*at].number).collect();
            (at.len() >= FEWEST && every >= 2 && is_even && is_whole).then_some(Periodic {
                module,
                every,
                steps,
                time_ps,
                runs,
            })
        })
        .collect();
    found.sort_by_key(|one| std::cmp::Reverse(one.time_ps));
    found
}

#[cfg(test)]
mod tests {
    use crate::rule::{Outcome, Verdict};
    use crate::tests::{Made, US, check};

    /// Twenty steps of 1000 us; of those that `takes` the last 400 us are of another program.
    fn run(takes: impl Fn(i64) -> bool) -> Outcome {
        let mut tpu = Made::tpu(0);
        tpu.steps(&(0..20).map(|n| (n, n * 1000 * US, 1000 * US)).collect::<Vec<_>>());
        let mut programs = Vec::new();
        for n in 0..20 {
            programs.push(("jit_step(7)", n * 1000 * US, if takes(n) { 600 } else { 1000 } * US));
            if takes(n) {
                programs.push(("jit_evaluate(8)", (n * 1000 + 600) * US, 400 * US));
            }
        }
        tpu.programs(&programs);
        tpu.ops(&programs.iter().map(|one| ("fusion.1", "loop fusion", one.1, one.2)).collect::<Vec<_>>());
        check(&super::RULE, vec![tpu])
    }

    #[test]
    fn a_validation_every_fourth_step_is_told() {
        let found = run(|n| n % 4 == 3);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        let finding = &found.findings[0];
        assert!(
            finding.claim.starts_with("Every 4th step, from step 3, also runs jit_evaluate for 400.0 us"),
            "{finding:?}"
        );
        assert!((finding.speedup.unwrap() - 1.0 / 0.9).abs() < 1e-6, "{finding:?}");
    }

    #[test]
    fn what_runs_in_each_step_or_at_uneven_distances_is_clear() {
        assert_eq!(run(|_| true).verdict, Verdict::Clear);
        assert_eq!(run(|n| [2, 5, 9, 17].contains(&n)).verdict, Verdict::Clear);
        // It stopped.
        assert_eq!(run(|n| n % 2 == 1 && n < 8).verdict, Verdict::Clear);
    }

    #[test]
    fn without_programs_nobody_can_tell() {
        let mut tpu = Made::tpu(0);
        tpu.ops(&[("fusion.1", "loop fusion", 0, 400 * US)]);
        assert_eq!(check(&super::RULE, vec![tpu]).verdict, Verdict::Unknown);
    }
}
