use super::*;

fn spread(mean: f64, n: usize) -> Vec<f64> {
    (0..n).map(|i| mean * (1.0 + 0.002 * ((i * 7 % 5) as f64 - 2.0))).collect()
}

/// Sums of twelve draws of xorshift: nearly normal, and the same in every run of the test.
struct Draws(u64);

impl Draws {
    fn of(seed: u64) -> Self {
        Self(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    fn sample(&mut self, mean: f64, n: usize) -> Vec<f64> {
        (0..n).map(|_| mean * (1.0 + 0.03 * self.normal())).collect()
    }

    /// Steps that vary by 0.7%, each like the one before it by `alike`.
    fn steps(&mut self, mean: f64, n: usize, alike: f64) -> Vec<f64> {
        let mut off = self.normal();
        let mut next = || {
            off = alike * off + (1.0 - alike * alike).sqrt() * self.normal();
            mean * (1.0 + 0.007 * off)
        };
        (0..n).map(|_| next()).collect()
    }
}

fn said(a: &[f64], b: &[f64]) -> StepVerdict {
    StepVerdict::of_times(a, b)
}

#[test]
fn a_difference_beyond_the_noise_is_told_and_one_within_is_not() {
    let slower = said(&spread(77e9, 12), &spread(82e9, 8));
    assert_eq!(slower.verdict, Verdict::Slower, "{}", slower.why);
    assert_eq!(slower.by, [By::Mean, By::Usual]);
    assert!(slower.test.unwrap().low < 5e9 && slower.test.unwrap().high > 5e9);
    assert!(slower.noise_floor_ps.unwrap() < slower.delta_ps);
    let faster = said(&spread(82e9, 8), &spread(77e9, 12));
    assert_eq!((faster.verdict, faster.delta_ps), (Verdict::Faster, -slower.delta_ps));
    let same = said(&spread(77e9, 12), &spread(77.05e9, 12));
    assert_eq!(same.verdict, Verdict::Unchanged, "{}", same.why);
    assert!(same.why.contains("lies within 1.0% of a step"), "{}", same.why);
    assert!(same.noise_floor_ps.unwrap() > same.delta_ps.abs());
}

#[test]
fn what_is_neither_shown_to_differ_nor_to_be_the_same_is_undecided() {
    // 1.5% longer, of steps that vary by 3%.
    let mut draws = Draws::of(3);
    let (a, b) = (draws.sample(100e9, 8), draws.sample(101.5e9, 8));
    let few = said(&a, &b);
    assert_eq!(few.verdict, Verdict::Undecided, "{}", few.why);
    assert!(few.why.contains("straddles the margin of 1.0% of a step"), "{}", few.why);
    // As many as it says, and some more, decide.
    let steps = few.steps_to_decide.unwrap();
    assert!(steps > 8, "{steps}");
    let decided = (0..8).filter(|seed| {
        let mut draws = Draws::of(100 + seed);
        let (a, b) = (draws.sample(100e9, 3 * steps), draws.sample(101.5e9, 3 * steps));
        said(&a, &b).verdict != Verdict::Undecided
    });
    assert!(decided.count() >= 5, "{steps}");
}

#[test]
fn one_or_two_steps_decide_nothing_and_it_is_said() {
    for n in [0, 1, 2] {
        let verdict = said(&spread(77e9, 12), &vec![99e9; n]);
        assert_eq!(verdict.verdict, Verdict::Undecided);
        let words = format!("the experiment {n} step{}", if n == 1 { "" } else { "s" });
        assert!(verdict.why.contains(&words) && verdict.why.contains("fewer than 3"), "{}", verdict.why);
    }
    assert_eq!(said(&[1.0], &[2.0]).test, None);
}

#[test]
fn a_small_difference_is_none_however_sure() {
    let a: Vec<f64> = (0..200).map(|i| 100.0 + 0.01 * f64::from(i % 2)).collect();
    let b: Vec<f64> = a.iter().map(|v| v + 0.1).collect();
    let verdict = said(&a, &b);
    assert_eq!(verdict.verdict, Verdict::Unchanged);
    assert!(verdict.test.unwrap().p < 1e-9, "{}", verdict.why);
    assert!((verdict.noise_floor_ps.unwrap() / 100.0 - STEP_SHARE).abs() < 1e-6);
}

#[test]
fn three_steps_tell_a_large_difference() {
    let verdict = said(&[1.0, 1.001, 0.999], &[2.0, 2.001, 1.999]);
    assert_eq!(verdict.verdict, Verdict::Slower);
    assert_eq!(verdict.by, [By::Mean], "ranks of three cannot: {}", verdict.why);
}

/// The kind of `dense_train_v5e16_regressed`: +2% in every step, and one slow step in the baseline.
#[test]
fn one_slow_step_of_the_baseline_hides_no_shift() {
    let mut told = 0;
    for seed in 0..50 {
        let mut draws = Draws::of(seed);
        let (mut a, b) = (draws.steps(77e9, 12, 0.0), draws.steps(78.6e9, 8, 0.0));
        for factor in [1.08, 3.0, 40.0] {
            a[7] = 77e9 * factor;
            let verdict = said(&a, &b);
            assert!(
                !matches!(verdict.verdict, Verdict::Unchanged | Verdict::Faster),
                "{seed} {factor}: {}",
                verdict.why
            );
            let usual = verdict.usual_shift.unwrap().delta;
            assert!((0.6e9..2.6e9).contains(&usual), "{usual}");
            told += usize::from(verdict.verdict == Verdict::Slower && verdict.by.contains(&By::Usual));
            assert!(verdict.verdict != Verdict::Slower || verdict.told_ps() > 0.0);
        }
    }
    // Of 150; the rest is undecided.
    assert!(told >= 110, "{told}");
}

#[test]
fn a_mean_that_few_steps_carry_is_changed() {
    // A compilation: one step of 14 takes 900 ms.
    let mut draws = Draws::of(5);
    let (a, mut b) = (draws.steps(10e9, 14, 0.0), draws.steps(10e9, 14, 0.0));
    b[7] = 900e9;
    let verdict = said(&a, &b);
    assert_eq!((verdict.verdict, &verdict.by[..]), (Verdict::Slower, &[By::Few][..]), "{}", verdict.why);
    assert!(verdict.why.starts_with("1 of the experiment's 14 steps"), "{}", verdict.why);
    // The other way round it is gone.
    assert_eq!(said(&b, &a).verdict, Verdict::Faster);
    // Every fifth step waits.
    let (a, mut b) = (draws.steps(10e9, 12, 0.0), draws.steps(10e9, 12, 0.0));
    (b[4], b[9]) = (14e9, 14.2e9);
    let verdict = said(&a, &b);
    assert_eq!((verdict.verdict, &verdict.by[..]), (Verdict::Slower, &[By::Few][..]), "{}", verdict.why);
    // A run that has such steps itself.
    let (mut a, mut b) = (draws.steps(10e9, 20, 0.0), draws.steps(10e9, 20, 0.0));
    (a[3], a[11], b[6], b[15]) = (14e9, 14e9, 14e9, 14e9);
    let verdict = said(&a, &b);
    assert_eq!(verdict.verdict, Verdict::Unchanged, "{}", verdict.why);
    // So do all runs of themselves, however their steps vary.
    let wild = [1e9, 2e9, 7e9, 3e9];
    assert_eq!(said(&wild, &wild).verdict, Verdict::Unchanged);
    assert_eq!(said(&wild[..2], &wild[..2]).verdict, Verdict::Undecided);
    // Faster usual steps do not pay for a compilation in between.
    let (a, mut b) = (draws.steps(10e9, 14, 0.0), draws.steps(9.6e9, 14, 0.0));
    b[7] = 900e9;
    let verdict = said(&a, &b);
    assert_eq!(verdict.verdict, Verdict::Slower);
    assert!(verdict.why.contains("the other way go"), "{}", verdict.why);
}

#[test]
fn a_level_that_begins_within_a_run_is_changed() {
    let mut told = 0;
    for seed in 0..50 {
        let mut draws = Draws::of(seed);
        let (a, mut b) = (draws.steps(10e9, 12, 0.0), draws.steps(10e9, 12, 0.0));
        b[8..].iter_mut().for_each(|ps| *ps *= 1.06);
        let verdict = said(&a, &b);
        assert_ne!(verdict.verdict, Verdict::Unchanged, "{seed}: {}", verdict.why);
        told += usize::from(verdict.verdict == Verdict::Slower && verdict.onset.is_some_and(|o| o.at == 8));
        assert_ne!(said(&b, &a).verdict, Verdict::Slower);
    }
    // Of 50; of the rest nothing is said: neighbours that are alike could be the cause.
    assert!(told >= 42, "{told}");
}

/// Steps that grow to their end, as where a clock goes down slowly: neighbours are as alike as can be, and stand far off all others.
#[test]
fn steps_that_grow_within_a_run_are_changed() {
    let flat: Vec<f64> = (0..10).map(|i| 24.0e9 * (1.0 + 0.002 * ((i * 7 % 5) as f64 - 2.0))).collect();
    let grows: Vec<f64> =
        flat.iter().enumerate().map(|(i, ps)| ps * (1.0 + 0.09 * (i as f64 - 2.0).clamp(0.0, 5.0))).collect();
    let slower = said(&flat, &grows);
    assert_eq!(slower.verdict, Verdict::Slower, "{}", slower.why);
    assert_eq!(said(&grows, &flat).verdict, Verdict::Faster);
    // Near miss: the same growth in steps that vary by as much.
    let wide: Vec<f64> = (0..10).map(|i| 24.0e9 * (1.0 + 0.15 * ((i * 7 % 5) as f64 - 2.0))).collect();
    assert_eq!(said(&wide, &grows).verdict, Verdict::Undecided);
}

/// What lies several times as far apart as each run spreads differs, however alike neighbours are.
#[test]
fn neighbours_that_are_alike_hide_no_large_difference() {
    let drifts =
        |level: f64| -> Vec<f64> { (0..12).map(|i| level + 0.15e9 * (i as f64 / 2.0).sin()).collect() };
    let slower = said(&drifts(13.5e9), &drifts(23.0e9));
    assert_eq!(slower.verdict, Verdict::Slower, "{}", slower.why);
}

#[test]
fn outliers_are_in_the_mean_and_the_verdict_without_them_stands_beside() {
    let step = |time_ps, class| StepTime {
        number: 0,
        class,
        time_ps,
        mean_ps: time_ps,
        kind: 0,
        is_new_program: false,
    };
    let steady = |times: &[f64]| times.iter().map(|t| step(*t, StepClass::Steady)).collect::<Vec<_>>();
    let a = steady(&spread(100.0, 10));
    let mut b = steady(&spread(100.1, 10));
    b.push(step(113.0, StepClass::Outlier));
    let verdict = StepVerdict::of(&a, &b, Terms::default());
    assert_eq!(verdict.verdict, Verdict::Undecided, "{}", verdict.why);
    assert_eq!(verdict.usual.map(|(word, _)| word), Some(Verdict::Unchanged));
    assert_eq!(StepVerdict::of(&a, &a, Terms::default()).usual, None);
    // Warm-up is in the mean, and is no slow step.
    let mut b = steady(&spread(100.1, 10));
    b.insert(0, step(900.0, StepClass::WarmUp));
    let verdict = StepVerdict::of(&a, &b, Terms::default());
    assert_eq!((verdict.verdict, verdict.few), (Verdict::Undecided, None), "{}", verdict.why);
    assert_eq!(verdict.usual.map(|(word, _)| word), Some(Verdict::Unchanged));
}

/// Training and evaluation in turn: the steps of one kind got slower, by less than the kinds differ.
#[test]
fn steps_of_two_kinds_are_held_against_their_own() {
    let run = |seed: u64, eval: f64| -> Vec<StepTime> {
        let mut draws = Draws::of(seed);
        let one = |i: i64| {
            let (mean, kind) = if i % 7 < 5 { (10e9, 1) } else { (4e9 * eval, 2) };
            let time_ps = draws.steps(mean, 1, 0.0)[0];
            StepTime {
                number: i,
                class: StepClass::Steady,
                time_ps,
                mean_ps: time_ps,
                kind,
                is_new_program: false,
            }
        };
        (0..14).map(one).collect()
    };
    let verdict = StepVerdict::of(&run(1, 1.0), &run(2, 1.4), Terms::default());
    assert_eq!(verdict.verdict, Verdict::Slower, "{}", verdict.why);
    let raw = run(2, 1.4).iter().map(|s| s.time_ps).sum::<f64>()
        - run(1, 1.0).iter().map(|s| s.time_ps).sum::<f64>();
    assert!((verdict.delta_ps - raw / 14.0).abs() < 1.0, "what the user gets");
    let same = StepVerdict::of(&run(1, 1.0), &run(3, 1.0), Terms::default());
    assert_eq!(same.verdict, Verdict::Unchanged, "{}", same.why);
    // Where only one run evaluates, the times are what they are.
    let mut other = run(3, 1.0);
    other.iter_mut().for_each(|step| step.kind = 1);
    assert_ne!(StepVerdict::of(&run(1, 1.0), &other, Terms::default()).verdict, Verdict::NotComparable);
}

/// One slow step alone is an outlier: neither a change of the step time nor the same, and it is said.
#[test]
fn one_slow_step_is_an_outlier_and_no_change() {
    for seed in 0..50 {
        let mut draws = Draws::of(seed);
        let (a, b) = (draws.steps(10e9, 12, 0.0), draws.steps(10e9, 12, 0.0));
        // It adds 2.5%, 12% and 75% to the mean.
        for factor in [1.3, 2.5, 10.0] {
            let mut slow = b.clone();
            slow[4] *= factor;
            for (verdict, whose) in [(said(&a, &slow), "experiment"), (said(&slow, &a), "baseline")] {
                assert_eq!(verdict.verdict, Verdict::Undecided, "{seed} {factor}: {}", verdict.why);
                let words = format!("1 of the {whose}'s 12 steps takes");
                assert!(verdict.why.contains(&words), "{}", verdict.why);
                assert!(verdict.why.contains("an outlier, not a change of the step time"), "{}", verdict.why);
                assert!(verdict.usual_shift.unwrap().delta.abs() < 0.2e9, "the usual steps show nothing");
            }
        }
    }
}

/// A slow step in which a program ran for the first time was compiled there: that is no chance.
#[test]
fn a_slow_step_with_a_new_program_is_a_change() {
    let run = |seed: u64, slow: f64, is_new: bool| -> Vec<StepTime> {
        let mut times = Draws::of(seed).steps(10e9, 12, 0.0);
        times[6] *= slow;
        let one = |(at, ps): (usize, &f64)| StepTime {
            number: at as i64,
            class: StepClass::Steady,
            time_ps: *ps,
            mean_ps: *ps,
            kind: 0,
            is_new_program: is_new && at == 6,
        };
        times.iter().enumerate().map(one).collect()
    };
    let of = |slow, is_new| StepVerdict::of(&run(1, 1.0, false), &run(2, slow, is_new), Terms::default());
    let verdict = of(2.5, true);
    assert_eq!((verdict.verdict, &verdict.by[..]), (Verdict::Slower, &[By::Few][..]), "{}", verdict.why);
    assert!(verdict.why.contains("a program ran there for the first time"), "{}", verdict.why);
    assert_eq!(of(2.5, false).verdict, Verdict::Undecided);
    // A new program at no cost, and a slow step elsewhere.
    assert_eq!(of(1.0, true).verdict, Verdict::Unchanged);
}

/// Pairs of runs of one program that are told apart, of so many pairs: 8 to 27 steps each.
fn alarms(pairs: u64, mut steps: impl FnMut(&mut Draws, usize) -> Vec<f64>) -> (usize, usize) {
    let (mut told, mut same) = (0, 0);
    for seed in 0..pairs {
        let mut draws = Draws::of(seed * 31 + 7);
        let mut run = || {
            let n = 8 + (draws.uniform() * 20.0) as usize;
            steps(&mut draws, n)
        };
        let verdict = said(&run(), &run());
        told += usize::from(matches!(verdict.verdict, Verdict::Slower | Verdict::Faster));
        same += usize::from(verdict.verdict == Verdict::Unchanged);
    }
    (told, same)
}

/// Thousands of pairs of runs of one program: independent steps, steps that are like the one before, steps of which some are
/// far off, and runs with a slow step now and then. At most one pair in a hundred is told apart.
#[test]
fn runs_that_do_not_differ_are_seldom_said_to() {
    const PAIRS: u64 = 3000;
    let most = PAIRS as usize / 100;
    let (white, same) = alarms(PAIRS, |draws, n| draws.steps(10e9, n, 0.0));
    println!("independent: {white} told apart, {same} the same, of {PAIRS}");
    assert!(white <= most && same > PAIRS as usize * 8 / 10, "{white} {same}");
    for alike in [0.3, 0.6] {
        let (told, same) = alarms(PAIRS, |draws, n| draws.steps(10e9, n, alike));
        println!("neighbours alike by {alike}: {told} told apart, {same} the same");
        assert!(told <= most, "neighbours alike by {alike}: {told}");
    }
    let (told, same) = alarms(PAIRS, |draws, n| {
        // Student's t with three degrees of freedom, as wide.
        let mut one = || {
            let chi: f64 = (0..3).map(|_| draws.normal().powi(2)).sum();
            10e9 * (1.0 + 0.004 * draws.normal() / (chi / 3.0).sqrt())
        };
        (0..n).map(|_| one()).collect()
    });
    println!("heavy tails: {told} told apart, {same} the same");
    assert!(told <= most, "heavy tails: {told}");
    let (told, same) = alarms(PAIRS, |draws, n| {
        let mut steps = draws.steps(10e9, n, 0.0);
        for ps in &mut steps {
            // Up to 10% longer.
            if draws.uniform() < 0.06 {
                *ps *= 1.03 + 0.07 * draws.uniform();
            }
        }
        steps
    });
    println!("slow steps: {told} told apart, {same} the same");
    assert!(told <= most, "slow steps: {told}");
}

/// How often a run that is 2% slower is told, of steps that vary by 0.7%: nearly always where steps are independent; where
/// they are like the one before, they say less.
#[test]
fn a_shift_of_two_per_cent_is_told() {
    for (alike, least) in [(0.0, 90), (0.3, 60), (0.6, 15)] {
        let (mut told, mut wrong) = (0, 0);
        for seed in 0..1000 {
            let mut draws = Draws::of(seed * 17 + 3);
            let n = 8 + (draws.uniform() * 20.0) as usize;
            let verdict = said(&draws.steps(10e9, n, alike), &draws.steps(10.2e9, n, alike));
            told += usize::from(verdict.verdict == Verdict::Slower);
            wrong += usize::from(verdict.verdict == Verdict::Faster);
        }
        println!("neighbours alike by {alike}: {told} of 1000 told");
        assert!(
            told >= 10 * least && wrong <= 1,
            "neighbours alike by {alike}: {told}, {wrong} the other way"
        );
    }
}

/// Steps that are 2% longer or more are never said to be the same.
#[test]
fn two_per_cent_are_never_the_same() {
    for seed in 0..600_u64 {
        let mut draws = Draws::of(seed);
        let n = 3 + (draws.uniform() * 20.0) as usize;
        let (a, b) = (draws.steps(10e9, n, 0.0), draws.steps(10e9 * 1.02, n + 2, 0.0));
        let verdict = said(&a, &b);
        let overlaps = a.iter().copied().fold(0.0, f64::max) > b.iter().copied().fold(f64::MAX, f64::min);
        assert!(overlaps || verdict.verdict != Verdict::Unchanged, "{seed} {}", verdict.why);
    }
}

/// Several runs of a program that differ by 1% from run to run: steps of one alone would be sure of that.
#[test]
fn what_runs_differ_by_is_taken_into_account() {
    let mut draws = Draws::of(8);
    let (a, b) = (draws.steps(10e9, 12, 0.0), draws.steps(10.1e9, 12, 0.0));
    let alone = StepVerdict::of_times(&a, &b);
    assert_ne!(alone.verdict, Verdict::Unchanged);
    let terms =
        Terms { between: Some(Between { variance: (0.1e9_f64).powi(2), df: 3.0 }), ..Terms::default() };
    let steps = |times: &[f64]| -> Vec<StepTime> {
        let one = |(i, ps): (usize, &f64)| StepTime {
            number: i as i64,
            class: StepClass::Steady,
            time_ps: *ps,
            mean_ps: *ps,
            kind: 0,
            is_new_program: false,
        };
        times.iter().enumerate().map(one).collect()
    };
    let known = StepVerdict::of(&steps(&a), &steps(&b), terms);
    assert_eq!(known.verdict, Verdict::Undecided, "{}", known.why);
    let worse: Vec<f64> = b.iter().map(|ps| ps * 1.3).collect();
    assert_eq!(StepVerdict::of(&steps(&a), &steps(&worse), terms).verdict, Verdict::Slower);
}

/// 400 ops, of which one differs, ten times over. One in twenty differs by chance at p < 0.05; corrected, one in a hundred
/// sets of 400 may have a false alarm.
#[test]
fn many_ops_make_few_false_alarms() {
    let (mut plain, mut alarms) = (0, 0);
    for seed in 1..=10_u64 {
        let mut draws = Draws::of(seed);
        let mut runs: Vec<_> = (0..400).map(|_| (draws.sample(1e6, 12), draws.sample(1e6, 8))).collect();
        runs[7].1 = draws.sample(1.3e6, 8);
        let pairs: Vec<(&[f64], &[f64])> = runs.iter().map(|(a, b)| (&a[..], &b[..])).collect();
        let verdicts = of_ops(&pairs, 1e6);
        assert_eq!(verdicts[7].change, Change::Slower);
        plain += verdicts.iter().filter(|v| v.test.is_some_and(|t| t.p < 0.05)).count();
        let told = |v: &&OpVerdict| matches!(v.change, Change::Slower | Change::Faster);
        alarms += verdicts.iter().filter(told).count() - 1;
    }
    assert!((120..280).contains(&plain), "4,000 samples at 5%: {plain}");
    assert!(alarms <= 1, "{alarms} false alarms");
}

#[test]
fn small_changes_of_an_op_and_few_steps() {
    let a = [1000.0, 1000.1, 999.9];
    let by = |d: f64| a.map(|v| v + d);
    let (small, large) = (by(5.0), by(-20.0));
    let verdicts = of_ops(&[(&a, &small), (&a, &large), (&a[..2], &large), (&a[..1], &large)], 1000.0);
    let changes: Vec<_> = verdicts.iter().map(|v| v.change).collect();
    assert_eq!(changes, [Change::Unchanged, Change::Faster, Change::Undecided, Change::Undecided]);
    assert_eq!((verdicts[2].p, verdicts[3].p), (None, None), "nothing is p = 1");
}

/// An op of a program that four of fourteen steps run, and that takes eight times as long in each: the steps without it are
/// no noise.
#[test]
fn an_op_of_some_steps_is_compared_over_those() {
    let mut draws = Draws::of(4);
    let mut run = |mean: f64| -> Vec<f64> {
        let ran = draws.steps(mean, 4, 0.0);
        let mut all = vec![0.0; 14];
        for (at, ps) in [5, 6, 12, 13].into_iter().zip(ran) {
            all[at] = ps;
        }
        all
    };
    let (a, b, c) = (run(1e6), run(8e6), run(1e6));
    let mut ops: Vec<(&[f64], &[f64])> = vec![(&a, &b)];
    ops.extend((0..300).map(|_| (&a[..], &c[..])));
    let said = of_ops(&ops, 1e9);
    assert_eq!(said[0].change, Change::Slower);
    assert!(said[0].p.unwrap() < 0.01);
    let test = said[0].test.unwrap();
    let delta = (b.iter().sum::<f64>() - a.iter().sum::<f64>()) / 14.0;
    assert!((test.delta / delta - 1.0).abs() < 1e-9 && test.low > 0.0, "as a difference of mean steps");
    assert_eq!(said[1].change, Change::Unchanged);
    // One that runs in more steps than before does more: then all steps count.
    let every = vec![1e6; 14];
    assert!(of_ops(&[(&a, &every)], 1e9)[0].test.unwrap().delta > 0.6e6);
}
