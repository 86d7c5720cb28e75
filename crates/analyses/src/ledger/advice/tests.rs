use super::*;
use crate::ledger::Decision::{Keep, Revert};
use crate::ledger::made::{decided, entry, ledger, step, with};

fn advice(entries: impl IntoIterator<Item = Entry>) -> Advice {
    advise(&ledger(entries), None).unwrap()
}

/// A try of the ratchet loop: latency in ms, MFU, FLOPs of a step.
fn kernel(number: usize, ms: f64, mfu: f64, work: f64) -> Entry {
    with(with(step(entry(number), ms, 30, 0.01), "mfu", mfu, "share"), "flops_per_step", work, "FLOP")
}

#[test]
fn a_sure_difference_decides() {
    let faster = advice([step(entry(1), 10.0, 12, 0.05), step(entry(2), 9.5, 12, 0.05)]);
    assert_eq!((faster.judged.word, faster.reference, faster.candidate), (Word::Keep, 0, 1));
    let interval = faster.judged.within.unwrap();
    assert!((interval.delta + 0.5e9).abs() < 1.0 && interval.high < 0.0 && interval.low < interval.delta);
    let slower = advice([step(entry(1), 10.0, 12, 0.05), step(entry(2), 10.5, 12, 0.05)]);
    assert_eq!(slower.judged.word, Word::Revert);
}

#[test]
fn noise_decides_nothing() {
    let noisy = advice([step(entry(1), 10.0, 8, 0.5), step(entry(2), 9.9, 8, 0.5)]);
    assert_eq!(noisy.judged.word, Word::Undecided);
    // So little that nobody gains by it, though it is sure.
    let tiny = advice([step(entry(1), 10.0, 100, 0.001), step(entry(2), 9.99, 100, 0.001)]);
    assert_eq!(tiny.judged.word, Word::Unchanged);
    let without = advice([with(entry(1), STEP_TIME, 1e9, "ps"), with(entry(2), STEP_TIME, 5e8, "ps")]);
    assert_eq!((without.judged.word, without.judged.within), (Word::Undecided, None));
}

#[test]
fn what_runs_differ_by_counts_as_well_as_what_steps_do() {
    // Steps of a run are alike to 0.1%, runs differ by 1%: the last is 1.5% below their mean.
    let level = [10.0, 10.1, 9.9, 10.12, 9.93];
    let entries = level.iter().chain([&9.86]).zip(1..).map(|(ms, i)| step(entry(i), *ms, 20, 0.01));
    let advice = advice(entries);
    assert!(advice.judged.within.is_some_and(|i| i.high < 0.0));
    assert!(advice.judged.between.is_some_and(|i| i.low < 0.0 && i.high > 0.0));
    assert_eq!(advice.judged.word, Word::Undecided);
}

#[test]
fn it_is_held_against_the_last_that_was_kept() {
    let all = [
        decided(step(entry(1), 10.0, 12, 0.05), Keep),
        decided(step(entry(2), 9.0, 12, 0.05), Keep),
        decided(step(entry(3), 9.6, 12, 0.05), Revert),
        step(entry(4), 9.3, 12, 0.05),
    ];
    let advised = advice(all.clone());
    assert_eq!(
        (advised.reference, advised.chosen, advised.judged.word),
        (1, "the last one that was kept", Word::Revert)
    );
    let none = advice(all.iter().skip(2).cloned().chain([step(entry(5), 9.0, 12, 0.05)]));
    assert_eq!((none.reference, none.judged.word), (1, Word::Keep));
    assert_eq!(advise(&ledger([entry(1)]), None), None);
    assert_eq!(advise(&ledger([]), None), None);
}

#[test]
fn other_devices_are_not_compared() {
    let other = Entry { device_type: Some("TPU v6 lite".into()), ..step(entry(2), 5.0, 12, 0.05) };
    let mixed = advice([step(entry(1), 10.0, 12, 0.05), other.clone()]);
    assert_eq!(mixed.judged.word, Word::NotComparable);
    // The last of the same devices is taken where there is one.
    let back = advice([step(entry(1), 10.0, 12, 0.05), other, step(entry(3), 9.0, 12, 0.05)]);
    assert_eq!((back.reference, back.judged.word), (0, Word::Keep));
}

#[test]
fn the_score_is_the_loops_and_rewards_latency_twice() {
    // What the loop's author reports: 1515 to 14033 from 2.16 to 0.71 ms.
    let first = kernel(1, 2.16, 0.327_24, 1e12);
    let last = kernel(2, 0.71, 0.327_24 * 2.16 / 0.71, 1e12);
    let score = advice([first, last]).score.unwrap();
    assert!((score.before - 1515.0).abs() < 1.0, "{}", score.before);
    assert!((score.after / 14_033.0 - 1.0).abs() < 0.01, "{}", score.after);
    assert!((score.after / score.before - score.speed.powi(2)).abs() < 1e-9);
    assert!((score.work - 1.0).abs() < 1e-12 && score.says() == Word::Keep);
}

#[test]
fn the_score_falls_when_less_work_is_counted() {
    // Causal blocks are skipped and no longer counted: a third faster, half the work.
    let entries = [kernel(1, 3.0, 0.4, 2e12), kernel(2, 2.0, 0.3, 1e12)];
    let advice = advice(entries);
    let score = advice.score.unwrap();
    assert_eq!(advice.judged.word, Word::Keep);
    assert!((score.after - score.before * 0.5 * 1.5 * 1.5).abs() < 1e-9);
    assert!((score.work - 0.5).abs() < 1e-12);
    assert!((score.with_the_same_work() - score.before * 2.25).abs() < 1e-9);
    // Less speed and less work: the samples and the score differ.
    let disagree = advise(&ledger([kernel(1, 3.0, 0.4, 2e12), kernel(2, 2.8, 0.214, 1e12)]), None).unwrap();
    assert_eq!((disagree.judged.word, disagree.score.unwrap().says()), (Word::Keep, Word::Revert));
}

#[test]
fn without_steps_the_window_stands_for_them() {
    let run = |i, ms: f64| with(with(entry(i), WINDOW, ms * 1e9, "ps"), "flop_share_of_peak", 0.2, "share");
    let few = advice([run(1, 5.0), run(2, 4.0)]);
    assert_eq!((few.metric.as_str(), few.judged.word), (WINDOW, Word::Undecided));
    assert_eq!(few.score.map(|s| (s.latency, s.utilization)), Some((WINDOW, "flop_share_of_peak")));
    let many = advice([5.0, 5.01, 4.99, 5.02, 4.98, 4.5].iter().zip(1..).map(|(ms, i)| run(i, *ms)));
    assert_eq!(many.judged.word, Word::Keep);
}

#[test]
fn more_is_better_where_it_is() {
    let run = |i, mfu: f64| with(entry(i), "mfu", mfu, "share");
    let entries: Vec<Entry> =
        [0.40, 0.401, 0.399, 0.402, 0.36].iter().zip(1..).map(|(m, i)| run(i, *m)).collect();
    assert_eq!(advise(&ledger(entries), Some("mfu")).unwrap().judged.word, Word::Revert);
}
