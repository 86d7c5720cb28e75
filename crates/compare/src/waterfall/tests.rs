use haloscope_xspace::write::{Event, EventMetadata, Line, Plane, Space};

use super::*;
use crate::{Remainder, StepTime};
use haloscope_profile::load;
use haloscope_profile::{Peak, PeakSource, Profile};
use haloscope_report::Notes;
use haloscope_report::scope::Scope;
use haloscope_time::select::Scoped;
use haloscope_time::steps::StepClass;

/// A profile with one op: samples need one, and those of the tests are written over it.
fn any_profile() -> Profile {
    let mut plane = Plane { name: "/device:TPU:0".into(), ..Plane::default() };
    plane.event_metadata.push((1, EventMetadata { id: 1, name: "op".into(), ..EventMetadata::default() }));
    let mut line = Line::new(1, "XLA Ops");
    line.events.push(Event::at(1, 0, 1000));
    plane.lines.push(line);
    load::from_bytes("host.xplane.pb", Space { planes: vec![plane], ..Space::default() }.to_bytes()).unwrap()
}

/// An op: name, time in each step, executions, FLOPs of one, bytes of one.
type Made = (&'static str, Vec<f64>, f64, Option<f64>, Option<f64>);

fn run<'p>(profile: &'p Profile, ops: &[Made], remainders: &[(Rest, Vec<f64>)]) -> RunSamples<'p> {
    let mut run = RunSamples::of(&Scoped::new(profile, &Scope::default()), &mut Notes::default()).unwrap();
    let peak = |rate| Some(Peak { rate, source: PeakSource::Table });
    run.peaks = Peaks { flops: peak(1e12), hbm: peak(1e12), flops_at_most: None };
    let template = run.ops[0].clone();
    let of = |(name, step_ps, executions, flops, bytes): &Made| {
        let mut op = SampledOp { step_ps: step_ps.clone(), executions: *executions, ..template.clone() };
        op.meta.name = (*name).into();
        (op.meta.flops, op.meta.hbm_bytes, op.meta.bytes) = (*flops, *bytes, *bytes);
        op
    };
    run.ops = ops.iter().map(of).collect();
    run.remainders = remainders
        .iter()
        .map(|(what, step_ps)| Remainder { what: *what, step_ps: step_ps.clone() })
        .collect();
    let time = |at: usize| -> f64 {
        run.ops.iter().map(|op| op.step_ps[at]).chain(run.remainders.iter().map(|r| r.step_ps[at])).sum()
    };
    let step = |at: usize| StepTime {
        number: at as i64,
        class: StepClass::Steady,
        time_ps: time(at),
        mean_ps: time(at),
        kind: 0,
        is_new_program: false,
    };
    run.steps = (0..run.ops[0].step_ps.len()).map(step).collect();
    run
}

fn pair(a: usize, b: usize) -> Group {
    Group { a: vec![a], b: vec![b] }
}

#[track_caller]
fn adds_up(found: &Waterfall) {
    assert_eq!(found.bars.iter().map(|bar| bar.delta_ps).sum::<i64>(), found.step_delta_ps);
    for effects in &found.effects {
        let parts = effects.count_ps + effects.work_ps + effects.efficiency_ps;
        assert!(parts == effects.delta_ps || parts == 0, "{effects:?}");
    }
}

#[test]
fn each_kind_of_reason_has_its_own_time() {
    let profile = any_profile();
    // 10 ps each, twice; then three times, each with 1.5 times the work and 2 ps longer than that accounts for.
    let a = run(
        &profile,
        &[("dot", vec![20.0], 2.0, Some(8.0), Some(1.0)), ("old", vec![7.0], 1.0, None, None)],
        &[(Rest::Class(Class::Between), vec![5.0]), (Rest::Devices, vec![1.0])],
    );
    let b = run(
        &profile,
        &[("dot.9", vec![51.0], 3.0, Some(12.0), Some(1.0)), ("fresh", vec![4.0], 1.0, None, None)],
        &[(Rest::Class(Class::Between), vec![6.0]), (Rest::Clocks, vec![2.0])],
    );
    let groups = [pair(0, 0), Group { a: vec![1], b: vec![] }, Group { a: vec![], b: vec![1] }];
    let found = Waterfall::of_groups(&a, &b, &groups);
    let expected = Effects { delta_ps: 31, count_ps: 10, work_ps: 15, efficiency_ps: 6, knows_work: true };
    assert_eq!(found.effects[0], expected);
    let bars: Vec<(&str, i64)> = Part::ALL.iter().map(|p| (p.word(), found.bar(*p).delta_ps)).collect();
    let expected = [
        ("new", 4),
        ("gone", -7),
        ("count", 10),
        ("work", 15),
        ("efficiency", 6),
        ("idle", 1),
        ("devices", -1),
        ("rest", 2),
    ];
    assert_eq!(bars, expected);
    assert_eq!((found.step_delta_ps, found.idle_ps(Class::Between)), (30, 1));
    adds_up(&found);
}

#[test]
fn unknown_work_is_not_blamed() {
    let profile = any_profile();
    let a = run(&profile, &[("call", vec![100.0], 1.0, None, None)], &[]);
    let b = run(&profile, &[("call", vec![130.0], 1.0, Some(5.0), None)], &[]);
    let found = Waterfall::of_groups(&a, &b, &[pair(0, 0)]);
    let expected = Effects { delta_ps: 30, efficiency_ps: 30, ..Effects::default() };
    assert_eq!(found.effects[0], expected, "only one side says what it did");
    // Without FLOPs on both, bytes tell.
    let a = run(&profile, &[("copy", vec![100.0], 1.0, Some(0.0), Some(50.0))], &[]);
    let b = run(&profile, &[("copy", vec![130.0], 1.0, None, Some(65.0))], &[]);
    let found = Waterfall::of_groups(&a, &b, &[pair(0, 0)]);
    assert_eq!((found.effects[0].work_ps, found.effects[0].efficiency_ps), (30, 0));
}

#[test]
fn loops_have_no_work_of_their_own() {
    let profile = any_profile();
    let mut a = run(&profile, &[("while", vec![10.0], 1.0, Some(100.0), Some(1.0))], &[]);
    let mut b = run(&profile, &[("while", vec![10.0], 1.0, Some(900.0), Some(1.0))], &[]);
    for run in [&mut a, &mut b] {
        run.ops[0].meta.category = "while".into();
    }
    assert_eq!(Waterfall::of_groups(&a, &b, &[pair(0, 0)]).effects[0], Effects::default());
}

#[test]
fn one_that_became_several_is_one_change() {
    let profile = any_profile();
    let a = run(&profile, &[("both", vec![50.0], 2.0, Some(40.0), Some(1.0))], &[]);
    let parts =
        [("left", vec![20.0], 2.0, Some(20.0), Some(1.0)), ("right", vec![36.0], 2.0, Some(20.0), Some(1.0))];
    let b = run(&profile, &parts, &[]);
    let found = Waterfall::of_groups(&a, &b, &[Group { a: vec![0], b: vec![0, 1] }]);
    let expected = Effects { delta_ps: 6, efficiency_ps: 6, knows_work: true, ..Effects::default() };
    assert_eq!(found.effects[0], expected);
    adds_up(&found);
}

#[test]
fn bars_add_up_for_any_samples() {
    let profile = any_profile();
    let mut seed = 11_u64;
    let mut below = |most: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % most
    };
    for round in 0..300 {
        let mut side = |steps: usize| {
            let mut amount = |most| (below(4) > 0).then(|| below(most) as f64 / 7.0);
            let ops: Vec<Made> = (0..12)
                .map(|_| {
                    let times = (0..steps).map(|_| amount(1 << 30).unwrap_or(0.0)).collect();
                    ("op", times, amount(9).unwrap_or(0.0), amount(1 << 20), amount(1 << 20))
                })
                .collect();
            let mut rest = |what| (what, (0..steps).map(|_| amount(1 << 28).unwrap_or(0.0)).collect());
            let kinds = [Rest::Class(Class::Between), Rest::Devices, Rest::Clocks, Rest::Class(Class::Input)];
            run(&profile, &ops, &kinds.map(&mut rest))
        };
        let (a, b) = (side(3), side(5));
        let mut groups: Vec<Group> = (0..6).map(|at| pair(at, 11 - at)).collect();
        groups.push(Group { a: vec![6, 7], b: vec![0] });
        groups.push(Group { a: vec![8], b: vec![1, 2, 3] });
        groups.extend([9, 10, 11].map(|at| Group { a: vec![at], b: vec![] }));
        groups.extend([4, 5].map(|at| Group { a: vec![], b: vec![at] }));
        let found = Waterfall::of_groups(&a, &b, &groups);
        adds_up(&found);
        // What is left as rest is the clocks' part, and half a picosecond at most for each number that was rounded.
        let clocks = b.rest_ps(Rest::Clocks) - a.rest_ps(Rest::Clocks);
        let rounding = found.bar(Part::Rest).delta_ps as f64 - clocks;
        assert!(rounding.abs() <= 0.5 * (groups.len() + 5) as f64, "round {round}: {rounding}");
        let expected: f64 = b.mean_ps() - a.mean_ps();
        assert!((found.step_delta_ps as f64 - expected).abs() <= 0.5);
    }
}
