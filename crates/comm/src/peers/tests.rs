use haloscope_xspace::write::{Event, EventMetadata, Line, Plane, Space, Stat, StatMetadata, Value};

use super::*;
use haloscope_time::select::Scoped;

const US: i64 = 1_000_000;
const STEPS_RUN: i64 = 6;
const OPS: [(&str, &str, &str); 3] = [
    ("fusion.1", "loop fusion", "%fusion.1 = f32[8]{0} fusion(%a)"),
    (
        "all-reduce.1",
        "all-reduce",
        "%all-reduce.1 = f32[1048576]{0} all-reduce(%a), channel_id=1, replica_groups={{0,1},{2,3},{4,5},{6,7}}, use_global_device_ids=true",
    ),
    (
        "all-reduce.2",
        "all-reduce",
        "%all-reduce.2 = f32[8]{0} all-reduce(%a), channel_id=2, replica_groups={{0,1,2,3,4,5,6,7}}, use_global_device_ids=true",
    ),
];

/// Eight devices of one host. In each step a device begins so late, works so long, meets its neighbour for so long, and then all meet:
/// microseconds by device.
pub(crate) fn profile(late: [i64; 8], work: [i64; 8], meets: [i64; 4]) -> Profile {
    profile_of(&OPS, late, work, meets, 10)
}

/// The same by these ops, the last of which takes so long.
fn profile_of(
    ops: &[(&str, &str, &str); 3],
    late: [i64; 8],
    work: [i64; 8],
    meets: [i64; 4],
    last: i64,
) -> Profile {
    let mut lines: Vec<[Line; 2]> =
        (0..8).map(|_| [Line::new(1, "Steps"), Line::new(2, "XLA Ops")]).collect();
    let mut now = 0;
    for step in 0..STEPS_RUN {
        let arrives = |d: usize| now + (late[d] + work[d]) * US;
        let met = |g: usize| arrives(2 * g).max(arrives(2 * g + 1)) + meets[g] * US;
        // Who meets at last: all, or each half by itself.
        let halves = ops[2].2.contains("{0,1,2,3},{4,5,6,7}");
        let last_of = |d: usize| {
            let pairs = if halves { d / 4 * 2..d / 4 * 2 + 2 } else { 0..4 };
            pairs.map(met).max().unwrap_or(0) + last * US
        };
        let end = last_of(0).max(last_of(7));
        for (d, [steps, events]) in lines.iter_mut().enumerate() {
            steps.events.push(Event::at(10 + step, now, end - now));
            events.events.push(Event::at(1, now + late[d] * US, work[d] * US));
            events.events.push(Event::at(2, arrives(d), met(d / 2) - arrives(d)));
            events.events.push(Event::at(3, met(d / 2), last_of(d) - met(d / 2)));
        }
        now = end;
    }
    made(ops, lines)
}

/// One host with a TPU for each of these pairs of lines; ops are 1 and on, steps 10 and on.
fn made(ops: &[(&str, &str, &str)], lines: Vec<[Line; 2]>) -> Profile {
    let planes = lines.into_iter().enumerate().map(|(d, lines)| {
        let mut plane = Plane { name: format!("/device:TPU:{d}"), ..Plane::default() };
        plane
            .stat_metadata
            .push((1, StatMetadata { id: 1, name: "hlo_category".into(), description: String::new() }));
        plane
            .stat_metadata
            .push((2, StatMetadata { id: 2, name: "device_type_string".into(), description: String::new() }));
        plane.stats.push(Stat { metadata_id: 2, value: Value::Str("TPU v5 Lite".into()) });
        for (id, (name, category, expression)) in (1_i64..).zip(ops) {
            let meta = EventMetadata {
                id,
                name: (*expression).into(),
                display_name: (*name).into(),
                stats: vec![Stat { metadata_id: 1, value: Value::Str((*category).into()) }],
                ..EventMetadata::default()
            };
            plane.event_metadata.push((id, meta));
        }
        for step in 0..STEPS_RUN {
            let id = 10 + step;
            let meta = EventMetadata { id, name: step.to_string(), ..EventMetadata::default() };
            plane.event_metadata.push((id, meta));
        }
        plane.lines = lines.into_iter().collect();
        plane
    });
    let bytes = Space { planes: planes.collect(), ..Space::default() }.to_bytes();
    Profile::from_files(vec![("host.xplane.pb".into(), Box::new(bytes) as Box<_>)])
}

/// Eight devices that do these ops in turn in each step, for so long each, microseconds.
fn in_turn(ops: &[(&str, &str, &str)], long: &[i64]) -> Profile {
    assert_eq!(ops.len(), long.len());
    let whole = long.iter().sum::<i64>() * US;
    let lines = (0..8).map(|_| {
        let [mut steps, mut own] = [Line::new(1, "Steps"), Line::new(2, "XLA Ops")];
        for (step, mut now) in (0..STEPS_RUN).map(|step| (step, step * whole)) {
            steps.events.push(Event::at(10 + step, now, whole));
            for (op, long) in (1_i64..).zip(long) {
                own.events.push(Event::at(op, now, long * US));
                now += long * US;
            }
        }
        [steps, own]
    });
    made(ops, lines.collect())
}

fn with<T>(profile: &Profile, look: impl FnOnce(&Peers<'_>) -> T) -> T {
    let asked = Scoped::new(profile, &haloscope_report::scope::Scope::default());
    let devices = asked.selection().unwrap().devices.clone();
    let steps = Steps::find(profile, &devices);
    look(&Peers::of(profile, &devices, &steps, 8 * 3 * STEPS_RUN as u64).unwrap())
}

#[test]
fn a_slow_device_costs_what_it_works_longer() {
    let mut work = [500; 8];
    work[5] = 700;
    let profile = profile([0; 8], work, [100; 4]);
    let gain = with(&profile, |peers| peers.gain(&[Change::Work(&[DeviceId(5)])]));
    // Of steps of 810 us; seven devices wait for 200 of them.
    assert!((gain.saved_share - 200.0 / 810.0).abs() < 1e-3, "{gain:?}");
    assert!((gain.communication_share - 200.0 / 810.0 * 7.0 / 8.0).abs() < 1e-3, "{gain:?}");
    // To make another as fast as it is gives nothing.
    let none = with(&profile, |peers| peers.gain(&[Change::Work(&[DeviceId(1)]), Change::Starts]));
    assert!(none.saved_share < 1e-6, "{none:?}");
}

#[test]
fn a_late_start_costs_what_it_is_late() {
    let mut late = [3; 8];
    late[2] = 203;
    let profile = profile(late, [500; 8], [100; 4]);
    let gain = with(&profile, |peers| peers.gain(&[Change::Starts]));
    assert!((gain.saved_share - 200.0 / 813.0).abs() < 2e-3, "{gain:?}");
}

#[test]
fn a_slow_pair_is_named_with_what_the_others_wait_for_it() {
    let profile = profile([0; 8], [500; 8], [100, 100, 400, 100]);
    with(&profile, |peers| {
        let links = peers.slow_links(&profile);
        assert_eq!(links.common(), [DeviceId(4), DeviceId(5)]);
        assert!((links.groups[0].ratio - 4.0).abs() < 0.05, "{links:?}");
        assert_eq!((links.groups.len(), links.axis.is_none()), (1, true));
        let gain = peers.gain(&[Change::Links(&links)]);
        assert!((gain.saved_share - 300.0 / 910.0).abs() < 2e-3, "{gain:?}");
    });
}

#[test]
fn larger_groups_around_a_slow_pair_are_held_up_by_it() {
    let gain = |last: i64, numbers: &str| {
        let text = OPS[2].2.replace("f32[8]", numbers);
        let ops = [OPS[0], OPS[1], (OPS[2].0, OPS[2].1, text.as_str())];
        let profile = profile_of(&ops, [0; 8], [500; 8], [100, 100, 400, 100], last);
        with(&profile, |peers| peers.gain(&[Change::Links(&peers.slow_links(&profile))]).saved_share)
    };
    // 4 MiB of all should take 92 us, and take 350; of the pair's 400, 100 are left.
    let found = gain(350, "f32[1048576]");
    assert!((found - (300.0 + 258.0) / 1250.0).abs() < 5e-3, "{found}");
    // No more than the pair is slower by.
    let found = gain(800, "f32[1048576]");
    assert!((found - (300.0 + 600.0) / 1700.0).abs() < 5e-3, "{found}");
    // Near misses: as long as it should take; a small one, whose way is long.
    let found = gain(100, "f32[1048576]");
    assert!((found - 300.0 / 1000.0).abs() < 5e-3, "{found}");
    let found = gain(40, "f32[8]");
    assert!((found - 300.0 / 940.0).abs() < 5e-3, "{found}");
}

#[test]
fn groups_elsewhere_that_take_far_longer_than_they_should_are_held_up_by_a_slow_pair_too() {
    let factors = |last: i64| -> Vec<f64> {
        let text =
            OPS[2].2.replace("f32[8]", "f32[1048576]").replace("{0,1,2,3,4,5,6,7}", "{0,1,2,3},{4,5,6,7}");
        let ops = [OPS[0], OPS[1], (OPS[2].0, OPS[2].1, text.as_str())];
        let profile = profile_of(&ops, [0; 8], [500; 8], [100, 100, 400, 100], last);
        with(&profile, |peers| {
            let links = peers.slow_links(&profile);
            assert_eq!(links.common(), [DeviceId(4), DeviceId(5)]);
            let of_halves = links.factors.iter().filter(|(op, _)| op.1 == "all-reduce.2");
            of_halves.flat_map(|(_, groups)| groups.values().copied()).collect()
        })
    };
    // 4 MiB of four should take 78 us, and take 180 in both groups.
    let found = factors(180);
    assert!(found.len() == 2 && found.iter().all(|by| (by - 78.2 / 180.0).abs() < 5e-3), "{found:?}");
    // Near miss: no more than twice as long as it should, as a line of chips takes.
    let found = factors(160);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn equal_groups_are_not_slow_nor_is_one_whose_member_comes_late() {
    // The wait for a late member is not the link's: by itself the collective takes as long.
    let mut work = [500; 8];
    work[4] = 800;
    let profile = profile([0; 8], work, [100, 104, 98, 101]);
    assert!(with(&profile, |peers| peers.slow_links(&profile)).is_empty());
}

const RINGS: [(&str, &str, &str); 4] = [
    ("fusion.1", "loop fusion", "%fusion.1 = f32[8]{0} fusion(%a)"),
    (
        "collective-permute.1",
        "collective-permute",
        "%collective-permute.1 = f32[1048576]{0} collective-permute(%a), channel_id=3, source_target_pairs={{0,1},{1,2},{2,3},{3,0},{4,5},{5,6},{6,7},{7,4}}",
    ),
    (
        "all-reduce.1",
        "all-reduce",
        "%all-reduce.1 = f32[1048576]{0} all-reduce(%a), channel_id=1, replica_groups={{0,1,2,3},{4,5,6,7}}, use_global_device_ids=true",
    ),
    (
        "all-reduce.2",
        "all-reduce",
        "%all-reduce.2 = f32[8]{0} all-reduce(%a), channel_id=2, replica_groups={{0,1,2,3,4,5,6,7}}, use_global_device_ids=true",
    ),
];

/// Two rings of four: each device hands on to the next, which takes so long by target; the rings meet for so long; then all meet.
fn rings(hops: [i64; 8], meets: [i64; 2]) -> Profile {
    let mut lines: Vec<[Line; 2]> =
        (0..8).map(|_| [Line::new(1, "Steps"), Line::new(2, "XLA Ops")]).collect();
    let mut now = 0;
    for step in 0..STEPS_RUN {
        let got = |d: usize| now + (500 + hops[d]) * US;
        let met = |ring: usize| (4 * ring..4 * ring + 4).map(got).max().unwrap_or(0) + meets[ring] * US;
        let end = met(0).max(met(1)) + 10 * US;
        for (d, [steps, ops]) in lines.iter_mut().enumerate() {
            steps.events.push(Event::at(10 + step, now, end - now));
            ops.events.push(Event::at(1, now, 500 * US));
            ops.events.push(Event::at(2, now + 500 * US, hops[d] * US));
            ops.events.push(Event::at(3, got(d), met(d / 4) - got(d)));
            ops.events.push(Event::at(4, met(d / 4), end - met(d / 4)));
        }
        now = end;
    }
    made(&RINGS, lines)
}

#[test]
fn hops_name_the_pair_of_a_slow_ring() {
    let common = |hops, meets| {
        let profile = rings(hops, meets);
        with(&profile, |peers| peers.slow_links(&profile).common())
    };
    let pair = |a, b| vec![DeviceId(a), DeviceId(b)];
    assert_eq!(common([20, 20, 80, 20, 20, 20, 20, 20], [400, 100]), pair(1, 2));
    let ring: Vec<DeviceId> = (0..4).map(DeviceId).collect();
    // Hops alike: the ring is slow, and which of its links nobody knows. The way around is long by design.
    assert_eq!(common([20; 8], [400, 100]), ring);
    assert_eq!(common([80, 20, 20, 20, 20, 20, 20, 20], [400, 100]), ring);
    // Two slow hops are no single link.
    assert_eq!(common([20, 80, 80, 20, 20, 20, 20, 20], [400, 100]), ring);
    // A slow hop in a ring that is as fast as the other is not said to be a slow link.
    assert_eq!(common([20, 20, 80, 20, 20, 20, 20, 20], [100, 100]), Vec::new());
}

/// Eight devices that all meet twice a step, for so long each time, microseconds, each time of 4 MiB.
fn meeting_twice(meets: [i64; 2]) -> Profile {
    meeting(meets, [("all-reduce.1", 1 << 20), ("all-reduce.2", 1 << 20)], 8)
}

/// The same by ops of these names and so many 32-bit numbers, in a group of so many members.
fn meeting(meets: [i64; 2], ops: [(&str, u64); 2], members: u32) -> Profile {
    let group = (0..members).map(|d| d.to_string()).collect::<Vec<_>>().join(",");
    let text = |(name, numbers): (&str, u64)| {
        format!(
            "%{name} = f32[{numbers}]{{0}} all-reduce(%a), channel_id=1, replica_groups={{{{{group}}}}}, use_global_device_ids=true"
        )
    };
    let texts = ops.map(text);
    let category = |name: &str| if name.contains("fusion") { "all-reduce fusion" } else { "all-reduce" };
    let both = [
        OPS[0],
        (ops[0].0, category(ops[0].0), texts[0].as_str()),
        (ops[1].0, category(ops[1].0), texts[1].as_str()),
    ];
    in_turn(&both, &[500, meets[0], meets[1]])
}

#[test]
fn collectives_that_carry_little_of_what_links_can_are_slow_without_peers() {
    // 4 MiB twice over 7/8 of the ring: 7.34 MB in 400 us are 18.35 GB/s of the 100 that two links of a v5e carry.
    let profile = meeting_twice([400, 400]);
    with(&profile, |peers| {
        let links = peers.slow_links(&profile);
        let all = links.all.as_ref().unwrap();
        assert!((all.rate / all.could - 0.1835).abs() < 1e-3, "{all:?}");
        assert_eq!((all.ops, all.kinds.clone()), (2, vec!["all-reduce".to_owned()]));
        // At 85% of the links each takes 86.4 us, and 5.7 for the way over eight chips.
        let gain = peers.gain(&[Change::Links(&links)]);
        assert!((gain.saved_share - 2.0 * (400.0 - 92.0) / 1300.0).abs() < 2e-3, "{gain:?}");
    });
    // Near miss: 45% of what they carry; and one of two is short, so that one op alone would say it.
    for meets in [[163, 163], [400, 40]] {
        let profile = meeting_twice(meets);
        with(&profile, |peers| assert!(peers.slow_links(&profile).is_empty(), "{meets:?}"));
    }
}

/// The op that takes less.
fn told(quick: &Quick) -> &str {
    let Quick::Other((op, ..)) = quick else { panic!("{quick:?}") };
    op
}

const SMALL_IS_LONG: [(&str, u64); 2] = [("all-reduce.1", 1 << 20), ("all-reduce.2", 1 << 16)];

#[test]
fn collectives_that_are_long_whatever_they_carry_wait_for_a_member_that_was_not_captured() {
    // Of 16 members eight were captured; 256 KiB take 600 us, 4 MiB half of it.
    let profile = meeting([300, 600], SMALL_IS_LONG, 16);
    with(&profile, |peers| {
        let links = peers.slow_links(&profile);
        assert!(links.is_empty(), "{links:?}");
        let found = links.uncaptured.unwrap();
        assert_eq!(found.captured, (8, 16));
        assert_eq!((found.slow.0.as_str(), told(&found.quick)), ("all-reduce.2", "all-reduce.1"));
        // Both messages take 98.3 us at 85% of the links, which carry 8.36 MB of 16 members, and 8 us for the way each.
        assert!((found.excess_share - (900.0 - 114.3) / 1400.0).abs() < 2e-3, "{found:?}");
    });
}

#[test]
fn what_takes_longer_the_more_it_carries_is_the_way() {
    // Near misses: in order of their bytes; all members captured; one that computes as well.
    let cases = [
        meeting([600, 300], SMALL_IS_LONG, 16),
        meeting([300, 600], SMALL_IS_LONG, 8),
        meeting([300, 600], [SMALL_IS_LONG[0], ("fusion.all-reduce", 1 << 16)], 16),
        meeting([300, 600], [("all-reduce.1", 1 << 20), ("all-reduce.2", 3 << 18)], 16),
    ];
    for (at, profile) in cases.iter().enumerate() {
        with(profile, |peers| {
            let links = peers.slow_links(profile);
            assert!(links.uncaptured.is_none(), "{at}: {links:?}");
            assert!(links.all.is_some() || at == 2, "{at}: {links:?}");
        });
    }
    let short = meeting([300, 60], SMALL_IS_LONG, 16);
    with(&short, |peers| assert!(peers.slow_links(&short).uncaptured.is_none()));
}

#[test]
fn a_wait_that_the_groups_do_not_explain_goes_with_what_is_late() {
    // By the groups each pair meets alone; in truth device 0 makes all wait: it begins 200 us late, and the others stand in their pairs'
    // collective for as long.
    let mut late = [3; 8];
    late[0] = 203;
    let profile = profile(late, [500; 8], [100, 300, 300, 300]);
    with(&profile, |peers| {
        let unexplained = peers.unexplained_share();
        assert!(unexplained < 1e-6, "three times as long may be a slow link: {unexplained}");
    });
    let profile = self::profile(late, [500; 8], [40, 240, 240, 240]);
    with(&profile, |peers| {
        let whole = 503.0 + 200.0 + 40.0 + 10.0;
        let unexplained = peers.unexplained_share();
        assert!((unexplained - 200.0 / whole).abs() < 1e-2, "{unexplained}");
        let alone = peers.gain(&[Change::Starts]);
        assert!(alone.saved_share < 0.05, "{alone:?}");
        let excess = 200.0 / whole;
        let (gain, is_more) = alone.with_unexplained(unexplained, excess, 1.0 / 8.0);
        assert!(is_more && (gain.saved_share - excess).abs() < 1e-6, "{gain:?}");
        // What is not behind gains nothing.
        assert_eq!(alone.with_unexplained(unexplained, 0.0, 1.0 / 8.0), (alone, false));
    });
}

#[test]
fn short_waits_that_are_always_for_the_same_device_are_unexplained_too() {
    // By the groups each pair meets alone; in truth all wait 12 us for device 0, which works so much longer.
    let mut work = [500; 8];
    work[0] = 512;
    let profile = profile([0; 8], work, [40, 52, 52, 52]);
    with(&profile, |peers| {
        assert!(peers.unexplained_share() < 1e-6, "each of them is short");
        let by = peers.unexplained_by(&[DeviceId(0)]);
        // Six of the seven others.
        assert!((by - 12.0 * 6.0 / 7.0 / 562.0).abs() < 2e-3, "{by}");
        assert!(peers.unexplained_by(&[DeviceId(4)]) < 0.005);
    });
    // Near miss: groups that explain all waits, a slow device among them.
    let profile = self::profile([0; 8], work, [40; 4]);
    with(&profile, |peers| assert!(peers.unexplained_by(&[DeviceId(0)]) < 1e-3));
}

/// Eight devices as two by four that meet along either axis, for so long, microseconds, 4 MiB each: four by an all-reduce, two by
/// an op of this kind; or the other way around, eight as four by two.
fn two_axes(meets: [i64; 2], kind: &str, is_square: bool) -> SlowLinks {
    let rest = "channel_id=1, use_global_device_ids=true";
    let pairs = if is_square { "{{0,2,4,6},{1,3,5,7}}" } else { "{{0,4},{1,5},{2,6},{3,7}}" };
    let texts = [("all-reduce", "{{0,1,2,3},{4,5,6,7}}", 1), (kind, pairs, 2)].map(|(kind, groups, at)| {
        (
            format!("{kind}.{at}"),
            format!("%{kind}.{at} = f32[1048576]{{0}} {kind}(%a), replica_groups={groups}, {rest}"),
        )
    });
    let ops = [
        OPS[0],
        (texts[0].0.as_str(), "all-reduce", texts[0].1.as_str()),
        (texts[1].0.as_str(), kind, texts[1].1.as_str()),
    ];
    let profile = in_turn(&ops, &[500, meets[0], meets[1]]);
    with(&profile, |peers| peers.slow_links(&profile))
}

#[test]
fn an_axis_that_carries_less_by_design_is_not_slow() {
    // All-reduces move 6.29 MB among four and 4.19 MB among two: in 80 us and 107 us that is twice the rate.
    assert!(two_axes([80, 107], "all-reduce", false).axis.is_none());
    assert!(two_axes([80, 160], "all-reduce", true).axis.is_some(), "four and four of one kind");
    // Three times the rate is slow with two members and another kind too.
    assert!(two_axes([80, 160], "all-reduce", false).axis.is_some());
    // All-gathers of four move 3.15 MB: in 80 us 39%, of which a part is the way; in 90 us less than a line of chips carries.
    assert!(two_axes([80, 80], "all-gather", true).axis.is_none());
    assert!(two_axes([80, 90], "all-gather", true).axis.is_some());
}

#[test]
fn collectives_of_one_message_that_take_unlike_times_wait_for_a_member_that_was_not_captured() {
    let same = [("all-reduce.1", 1 << 20), ("all-reduce.2", 1 << 20)];
    let profile = meeting([100, 300], same, 16);
    with(&profile, |peers| {
        let links = peers.slow_links(&profile);
        assert!(links.is_empty(), "{links:?}");
        let found = links.uncaptured.unwrap();
        assert_eq!(found.captured, (8, 16));
        assert_eq!((found.slow.0.as_str(), told(&found.quick)), ("all-reduce.2", "all-reduce.1"));
        assert!((found.excess_share - 200.0 / 900.0).abs() < 2e-3, "{found:?}");
    });
    // Near miss: the quicker one takes three times as long as its bytes do, so that it is the links.
    let profile = meeting([300, 900], same, 16);
    with(&profile, |peers| {
        let links = peers.slow_links(&profile);
        assert!(links.uncaptured.is_none() && links.all.is_some(), "{links:?}");
    });
    // All members captured; a little longer.
    for profile in [meeting([100, 300], same, 8), meeting([100, 140], same, 16)] {
        with(&profile, |peers| assert!(peers.slow_links(&profile).uncaptured.is_none()));
    }
}

#[test]
fn a_collective_that_takes_longer_for_what_it_sends_than_another_waits_for_a_member_that_was_not_captured() {
    let found = |meets, numbers: [u64; 2], members| {
        let profile = meeting(meets, [("all-reduce.1", numbers[0]), ("all-reduce.2", numbers[1])], members);
        with(&profile, |peers| peers.slow_links(&profile).uncaptured)
    };
    // 4 MiB take 100 us as they should; 3 MiB should take 77 and take 300.
    let one = found([100, 300], [1 << 20, 3 << 18], 16).unwrap();
    assert_eq!((one.slow.0.as_str(), told(&one.quick)), ("all-reduce.2", "all-reduce.1"));
    assert!((one.excess_share - 222.6 / 900.0).abs() < 5e-3, "{one:?}");
    // Near misses: all were captured; by 1.4 times; what is quick sends less than half, so that links may be slow.
    assert_eq!(found([100, 300], [1 << 20, 3 << 18], 8), None);
    assert_eq!(found([100, 115], [1 << 20, 3 << 18], 16), None);
    assert_eq!(found([35, 300], [1 << 18, 1 << 20], 16), None);
    // None takes what it should, and a small one several times as long for what it sends as a large one: all wait.
    let one = found([170, 130], [1 << 20, 64], 16).unwrap();
    assert_eq!((one.slow.0.as_str(), told(&one.quick)), ("all-reduce.2", "all-reduce.1"));
    assert!((one.excess_share - (170.0 - 100.5 + 130.0 - 8.0) / 800.0).abs() < 5e-3, "{one:?}");
    // Near miss: by less than the way from chip to chip may differ.
    assert_eq!(found([170, 50], [1 << 20, 64], 16), None);
}

#[test]
fn a_collective_in_a_loop_may_wait_in_its_first_execution_only() {
    // One all-reduce of 4 MiB twice a step, 100 us as it should be and longer.
    let found = |second, members| {
        let profile = meeting([100, second], [("all-reduce.1", 1 << 20), ("all-reduce.1", 1 << 20)], members);
        with(&profile, |peers| peers.slow_links(&profile).uncaptured)
    };
    let late = found(400, 16).unwrap();
    assert!(matches!(late.quick, Quick::Executions(ps) if (ps / 100e6 - 1.0).abs() < 0.05), "{late:?}");
    assert!((late.slow.1 / 250e6 - 1.0).abs() < 0.05, "{late:?}");
    assert!((late.excess_share - 300.0 / 1000.0).abs() < 0.02, "{late:?}");
    // Near misses: all were captured; by a fifth only.
    assert_eq!(found(400, 8), None);
    assert_eq!(found(140, 16), None);
}

#[test]
fn the_only_collective_of_its_kind_is_held_against_those_of_other_kinds() {
    // An all-reduce of 4 MiB takes 100 us as it should; one all-gather of 1 MiB should take 20.
    let found = |gather, members: u32| {
        let group = (0..members).map(|d| d.to_string()).collect::<Vec<_>>().join(",");
        let groups = format!("channel_id=1, replica_groups={{{{{group}}}}}, use_global_device_ids=true");
        let reduce = format!("%all-reduce.1 = f32[1048576]{{0}} all-reduce(%a), {groups}");
        let all = format!("%all-gather.1 = f32[262144]{{0}} all-gather(%a), {groups}, dimensions={{0}}");
        let ops = [
            OPS[0],
            ("all-reduce.1", "all-reduce", reduce.as_str()),
            ("all-gather.1", "all-gather", all.as_str()),
        ];
        let profile = in_turn(&ops, &[500, 100, gather]);
        with(&profile, |peers| peers.slow_links(&profile).uncaptured)
    };
    let late = found(1000, 16).unwrap();
    assert_eq!((late.slow.0.as_str(), told(&late.quick)), ("all-gather.1", "all-reduce.1"));
    assert!((late.excess_share - (1000.0 - 20.0) / 1600.0).abs() < 5e-3, "{late:?}");
    // Near misses: all were captured; its kind may be so much slower than another.
    assert_eq!(found(1000, 8), None);
    assert_eq!(found(120, 16), None);
}

/// Eight devices in groups of four, of which three, two and three were captured; they meet for so long, microseconds.
fn cut_groups(meets: [i64; 3]) -> SlowLinks {
    let text = "%all-reduce.1 = f32[1048576]{0} all-reduce(%a), channel_id=1, replica_groups={{0,1,2,8},{3,4,9,10},{5,6,7,11}}, use_global_device_ids=true";
    let ops = [OPS[0], ("all-reduce.1", "all-reduce", text)];
    let whole = (500 + meets.into_iter().max().unwrap_or(0)) * US;
    let lines = [0, 0, 0, 1, 1, 2, 2, 2].map(|group: usize| {
        let [mut steps, mut ops] = [Line::new(1, "Steps"), Line::new(2, "XLA Ops")];
        for (step, now) in (0..STEPS_RUN).map(|step| (step, step * whole)) {
            steps.events.push(Event::at(10 + step, now, whole));
            ops.events.push(Event::at(1, now, 500 * US));
            ops.events.push(Event::at(2, now + 500 * US, meets[group] * US));
        }
        [steps, ops]
    });
    let profile = made(&ops, lines.into_iter().collect());
    with(&profile, |peers| peers.slow_links(&profile))
}

#[test]
fn groups_are_peers_however_many_members_of_each_were_captured() {
    let slow = |meets| cut_groups(meets).common();
    assert_eq!(slow([100, 400, 100]), [DeviceId(3), DeviceId(4)]);
    assert_eq!(slow([100, 100, 400]), [DeviceId(5), DeviceId(6), DeviceId(7)]);
    assert_eq!(slow([100, 120, 100]), Vec::new(), "a little longer");
}

#[test]
fn what_a_collective_should_take_is_known_by_its_bytes() {
    let one = |kind: &str, members, bytes, is_whole| Known {
        axis: "x".into(),
        kind: kind.into(),
        members,
        bytes: Some(bytes),
        is_fused: false,
        is_whole,
    };
    // 15 MB of 16 go over two links of 50 GB/s each, at 85%, and eight hops of a microsecond.
    let gather = one("all-gather", 16, 16e6, true);
    assert!((gather.expected_ps(100e9).unwrap() - (150e6 / 0.85 + 8e6)).abs() < 1.0);
    // Exchanges: in a ring of sixteen a quarter of that; of all chips of a slice of four by four half.
    let exchange = |members, is_whole| one("all-to-all", members, 16e6, is_whole).reachable();
    assert_eq!((exchange(16, false), exchange(16, true)), (0.25, 0.5));
    assert_eq!((exchange(4, true), exchange(8, true), exchange(64, true)), (1.0, 0.5, 0.25));
    // Bytes say what is large, where it is known what links carry; else the time.
    let small = one("collective-permute", 2, 256e3, false);
    assert!(!small.is_large(400e6, Some(100e9)) && small.is_large(400e6, None));
    let large = one("collective-permute", 2, 2e6, false);
    assert!(large.is_large(41e6, Some(100e9)) && !large.is_large(30e6, Some(100e9)));
}

/// Eight devices that all meet four times a step: twice in an all-reduce of 4 MiB, twice in an exchange of all with all, for so long each,
/// microseconds.
fn two_kinds(meets: [i64; 2]) -> SlowLinks {
    let names = ["all-reduce.1", "all-reduce.2", "all-to-all.1", "all-to-all.2"];
    let kind = |name: &'static str| name.split('.').next().unwrap();
    let texts = names.map(|name| {
        let groups = "replica_groups={{0,1,2,3,4,5,6,7}}, channel_id=1, use_global_device_ids=true";
        format!("%{name} = f32[1048576]{{0}} {}(%a), {groups}", kind(name))
    });
    let mut ops = vec![OPS[0]];
    ops.extend(names.iter().zip(&texts).map(|(name, text)| (*name, kind(name), text.as_str())));
    let profile = in_turn(&ops, &[500, meets[0], meets[0], meets[1], meets[1]]);
    with(&profile, |peers| peers.slow_links(&profile))
}

#[test]
fn one_kind_may_be_slow_where_another_is_not() {
    // An all-reduce moves 7.34 MB, an exchange 3.67: on a ring of eight half of the links' 100 GB/s is what it can have.
    let links = two_kinds([80, 250]);
    let all = links.all.as_ref().unwrap();
    assert_eq!(all.kinds, ["all-to-all"]);
    assert!((all.rate / all.could - 14.68 / 50.0).abs() < 2e-3, "{all:?}");
    assert!(all.beside.is_some_and(|rate| (rate / 91.75e9 - 1.0).abs() < 1e-2), "{all:?}");
    // Near miss: 49% of what it can have. All are slow: no kind is named.
    assert!(two_kinds([80, 150]).is_empty());
    let all = two_kinds([400, 250]).all.unwrap();
    assert_eq!((all.kinds.len(), all.beside), (2, None));
}

#[test]
fn several_kinds_may_be_slow_where_another_is_not() {
    let found = |gather: i64| {
        let names =
            ["all-reduce.1", "all-reduce.2", "all-gather.1", "all-gather.2", "all-to-all.1", "all-to-all.2"];
        let kind = |name: &'static str| name.split('.').next().unwrap();
        let texts = names.map(|name| {
            let groups = "replica_groups={{0,1,2,3,4,5,6,7}}, channel_id=1, use_global_device_ids=true";
            format!("%{name} = f32[1048576]{{0}} {}(%a), {groups}, dimensions={{0}}", kind(name))
        });
        let mut ops = vec![OPS[0]];
        ops.extend(names.iter().zip(&texts).map(|(name, text)| (*name, kind(name), text.as_str())));
        let profile = in_turn(&ops, &[500, 320, 320, gather, gather, 90, 90]);
        with(&profile, |peers| peers.slow_links(&profile).all.map(|all| all.kinds))
    };
    // All-reduces should take 92 us, all-gathers half of that.
    assert_eq!(found(200).unwrap(), ["all-gather", "all-reduce"]);
    // Near miss: all-gathers take as long as they should.
    assert_eq!(found(50).unwrap(), ["all-reduce"]);
}

#[test]
fn slow_links_are_those_of_groups_of_one_captured_member_too() {
    // Pairs that meet twice for 300 us where 51 would do; of the last two one member each was captured.
    let groups = "replica_groups={{0,1},{2,3},{4,5},{6,8},{7,9}}, channel_id=1, use_global_device_ids=true";
    let text = |name: &str| format!("%{name} = f32[1048576]{{0}} all-reduce(%a), {groups}");
    let texts = ["all-reduce.1", "all-reduce.2"].map(text);
    let ops = [
        OPS[0],
        ("all-reduce.1", "all-reduce", texts[0].as_str()),
        ("all-reduce.2", "all-reduce", texts[1].as_str()),
    ];
    let profile = in_turn(&ops, &[500, 300, 300]);
    with(&profile, |peers| {
        let links = peers.slow_links(&profile);
        assert!(links.all.is_some(), "{links:?}");
        assert!(links.factors.values().all(|groups| groups.len() == 5), "{links:?}");
        let gain = peers.gain(&[Change::Links(&links)]);
        assert!((gain.saved_share - 2.0 * (300.0 - 51.0) / 1100.0).abs() < 0.02, "{gain:?}");
    });
}

/// Eight devices as two by four that meet in these collectives: kind, whether along the four, so many 32-bit numbers, so many microseconds.
fn along(meets: &[(&str, bool, u64, i64)]) -> SlowLinks {
    let text = |at: usize, (kind, of_four, numbers, _): (&str, bool, u64, i64)| {
        let groups = match (kind, of_four) {
            ("collective-permute", true) => {
                "source_target_pairs={{0,1},{1,2},{2,3},{3,0},{4,5},{5,6},{6,7},{7,4}}"
            }
            ("collective-permute", false) => {
                "source_target_pairs={{0,4},{4,0},{1,5},{5,1},{2,6},{6,2},{3,7},{7,3}}"
            }
            (_, true) => "replica_groups={{0,1,2,3},{4,5,6,7}}, use_global_device_ids=true",
            (_, false) => "replica_groups={{0,4},{1,5},{2,6},{3,7}}, use_global_device_ids=true",
        };
        format!("%{kind}.{at} = f32[{numbers}]{{0}} {kind}(%a), channel_id={}, {groups}", at + 1)
    };
    let texts: Vec<String> = meets.iter().enumerate().map(|(at, one)| text(at, *one)).collect();
    let names: Vec<String> = meets.iter().enumerate().map(|(at, one)| format!("{}.{at}", one.0)).collect();
    let mut ops = vec![OPS[0]];
    ops.extend(
        meets.iter().zip(&names).zip(&texts).map(|((one, name), text)| (name.as_str(), one.0, &**text)),
    );
    let long: Vec<i64> = std::iter::once(500).chain(meets.iter().map(|one| one.3)).collect();
    let profile = in_turn(&ops, &long);
    with(&profile, |peers| peers.slow_links(&profile))
}

const REDUCE: &str = "all-reduce";
const PERMUTE: &str = "collective-permute";

#[test]
fn a_slow_axis_does_not_hide_behind_hops_of_the_other() {
    // 4 MiB take 78 us among four, 52 among two, and 101 from one to the next, over one link.
    let hops = (PERMUTE, true, 1 << 20, 101);
    let found = along(&[(REDUCE, true, 1 << 20, 78), hops, hops, hops, hops, (REDUCE, false, 1 << 20, 156)]);
    let axis = found.axis.as_ref().unwrap();
    assert!((axis.times - 3.0).abs() < 0.05, "{axis:?}");
    assert_eq!(
        (axis.kinds.as_slice(), axis.best_kinds.as_slice()),
        (&[REDUCE.into()][..], &[REDUCE.into()][..])
    );
    assert!((axis.rate / 26.9e9 - 1.0).abs() < 0.01 && (axis.best.1 / 80.7e9 - 1.0).abs() < 0.01, "{axis:?}");
    // Of 156 us 52 are left.
    let by: Vec<f64> = found.factors.values().flat_map(|groups| groups.values().copied()).collect();
    assert!(by.len() == 4 && by.iter().all(|by| (by - 1.0 / 3.0).abs() < 0.01), "{by:?}");
}

#[test]
fn what_is_neither_large_nor_small_goes_with_a_slow_axis_elsewhere() {
    // Along the other axis 1 MiB takes 19.5 us of bytes, and its way.
    let groups = |numbers, us| {
        let found = along(&[
            (REDUCE, true, 1 << 20, 78),
            (REDUCE, true, 1 << 20, 78),
            (REDUCE, false, 1 << 20, 156),
            (REDUCE, true, numbers, us),
        ]);
        assert!(found.axis.is_some(), "{found:?}");
        found.factors.values().map(|groups| groups.len()).sum::<usize>()
    };
    assert_eq!(groups(1 << 18, 90), 6);
    // Near misses: hardly longer than it should take; so small that nothing tells how long it should.
    assert_eq!((groups(1 << 18, 30), groups(1 << 10, 90)), (4, 4));
}

#[test]
fn an_axis_is_not_slow_for_what_its_kind_of_collectives_can_have() {
    // Hops have one link; the all-reduces seem to send more than two carry, so that they go over others as well.
    let clean = along(&[(REDUCE, true, 1 << 22, 95), (PERMUTE, false, 1 << 20, 101)]);
    assert!(clean.axis.is_none(), "{clean:?}");
    // Three times as long as a hop should take, it is.
    let slow = along(&[(REDUCE, true, 1 << 22, 95), (PERMUTE, false, 1 << 20, 303)]);
    assert!(slow.axis.as_ref().is_some_and(|axis| axis.kinds == [PERMUTE]), "{slow:?}");
    // A line of four has half of what a ring has: twice as long is no slow axis, 2.4 times is.
    assert!(along(&[(REDUCE, true, 1 << 20, 156), (REDUCE, false, 1 << 20, 52)]).axis.is_none());
    assert!(along(&[(REDUCE, true, 1 << 20, 187), (REDUCE, false, 1 << 20, 52)]).axis.is_some());
}

#[test]
fn links_that_carry_one_kind_well_are_no_slow_axis() {
    let (slow, quick) = ((REDUCE, true, 1 << 20, 234), (REDUCE, false, 1 << 20, 52));
    assert!(along(&[slow, quick]).axis.is_some());
    assert!(along(&[slow, (PERMUTE, true, 1 << 20, 101), quick]).axis.is_none());
}

/// Eight of sixteen members that meet in all-reduces of so many 32-bit numbers, for so long each, microseconds.
fn half_captured(meets: &[(u64, i64)]) -> SlowLinks {
    let group = (0..16).map(|d| d.to_string()).collect::<Vec<_>>().join(",");
    let text = |(at, (numbers, _)): (usize, &(u64, i64))| {
        format!(
            "%all-reduce.{at} = f32[{numbers}]{{0}} all-reduce(%a), channel_id=1, replica_groups={{{{{group}}}}}, use_global_device_ids=true"
        )
    };
    let texts: Vec<String> = meets.iter().enumerate().map(text).collect();
    let names: Vec<String> = (0..meets.len()).map(|at| format!("all-reduce.{at}")).collect();
    let mut ops = vec![OPS[0]];
    ops.extend(names.iter().zip(&texts).map(|(name, text)| (name.as_str(), REDUCE, text.as_str())));
    let long: Vec<i64> = std::iter::once(500).chain(meets.iter().map(|one| one.1)).collect();
    let profile = in_turn(&ops, &long);
    with(&profile, |peers| peers.slow_links(&profile))
}

#[test]
fn large_messages_that_wait_a_little_each_wait_for_a_member_that_was_not_captured() {
    // 4 MiB of sixteen should take 100.5 us; of two small ones one takes 20 us longer, which is 1.5% of the step.
    let large = [110, 125, 130, 140, 135, 120].map(|us| (1 << 20, us));
    let meets = |large: [(u64, i64); 6], small: i64| [&large[..], &[(256, 10), (256, small)]].concat();
    let found = half_captured(&meets(large, 30)).uncaptured.unwrap();
    // All that they take beyond what they should: 157 us of the large ones, 24 of the small.
    assert!((found.excess_share - 181.0 / 1300.0).abs() < 3e-3, "{found:?}");
    // Near misses: the large ones take as long as each other; so do the small ones, and the large differ as they may for other reasons.
    assert!(half_captured(&meets([110; 6].map(|us| (1 << 20, us)), 28)).uncaptured.is_none());
    assert!(half_captured(&meets(large, 12)).uncaptured.is_none());
}

/// Eight devices of a slice of eight that all meet in so many all-reduces of sixteen numbers, for so long each, microseconds.
fn small(meets: &[i64]) -> SlowLinks {
    let names: Vec<String> = (0..meets.len()).map(|at| format!("all-reduce.{at}")).collect();
    let text = |name: &String| {
        format!(
            "%{name} = f32[16]{{0}} all-reduce(%a), replica_groups={{{{0,1,2,3,4,5,6,7}}}}, channel_id=1, use_global_device_ids=true"
        )
    };
    let texts: Vec<String> = names.iter().map(text).collect();
    let mut ops = vec![OPS[0]];
    ops.extend(names.iter().zip(&texts).map(|(name, text)| (name.as_str(), REDUCE, text.as_str())));
    let long: Vec<i64> = std::iter::once(100).chain(meets.iter().copied()).collect();
    let profile = in_turn(&ops, &long);
    with(&profile, |peers| peers.slow_links(&profile))
}

#[test]
fn small_messages_that_all_take_several_times_as_long_as_their_way_are_on_slow_links() {
    // Their way takes 5.66 us.
    let all = small(&[20; 4]).all.unwrap();
    let (time_ps, expected_ps) = all.small.unwrap();
    assert!((time_ps - 20e6).abs() < 1.0 && (expected_ps - 5.66e6).abs() < 1e4, "{all:?}");
    assert_eq!((all.ops, all.captured), (4, (8, 8)));
    // Near misses: 2.8 times as long; three of them; one that waits for somebody.
    for near in [&[16; 4][..], &[20; 3], &[90, 6, 6, 6]] {
        assert!(small(near).is_empty(), "{near:?}");
    }
}

#[test]
fn small_messages_that_take_longer_than_any_link_makes_them_wait_for_a_member_that_was_not_captured() {
    // Eight of sixteen: their way takes 8 us. All of 1000 us but that of four goes.
    let found = half_captured(&[(16, 250); 4]);
    assert!(found.is_empty(), "{found:?}");
    let waits = found.uncaptured.unwrap();
    assert!((waits.excess_share - 968.0 / 1500.0).abs() < 3e-3 && waits.quick == Quick::Links, "{waits:?}");
    assert_eq!(waits.captured, (8, 16));
    // Near misses: eighteen times as long is what links may make of them; where all members were captured nobody else can come late.
    for links in [half_captured(&[(16, 145); 4]), small(&[250; 4])] {
        assert!(links.all.is_some() && links.uncaptured.is_none(), "{links:?}");
    }
}

#[test]
fn messages_of_next_to_no_bytes_that_are_slower_than_large_ones_wait_for_a_member_that_was_not_captured() {
    // Eight of sixteen: 4 MiB should take 100.5 us and take three times as long, four bytes 8 us and take nine times as long.
    let large = [(1 << 20, 300), (1 << 20, 300)];
    let found = half_captured(&[&large[..], &[(1, 72)]].concat());
    let waits = found.uncaptured.as_ref().unwrap();
    assert!(found.is_empty() && waits.quick == Quick::Links && waits.slow.0 == "all-reduce.2", "{found:?}");
    assert!((waits.excess_share - (600.0 - 201.0 + 64.0) / 1172.0).abs() < 5e-3, "{waits:?}");
    // Near miss: twice as slow as the large ones.
    let links = half_captured(&[&large[..], &[(1, 50)]].concat());
    assert!(links.all.is_some() && links.uncaptured.is_none(), "{links:?}");
}

/// The first row of a slice of eight by four: each chip meets what was not captured of its column in three all-reduces, for so long in the third
/// column and else as is usual, microseconds; then all of the row meet.
fn third_column(usual: [i64; 3], meets: [i64; 3]) -> SlowLinks {
    let columns: Vec<String> = (0..8).map(|d| format!("{{{d},{},{},{}}}", d + 8, d + 16, d + 24)).collect();
    let rows: Vec<String> =
        (0..4).map(|row| (0..8).map(|d| (8 * row + d).to_string()).collect::<Vec<_>>().join(",")).collect();
    let text = |at: usize, numbers: u64, groups: &str| {
        format!(
            "%all-reduce.{at} = f32[{numbers}]{{0}} all-reduce(%a), replica_groups={{{groups}}}, channel_id={at}, use_global_device_ids=true"
        )
    };
    let columns = columns.join(",");
    let rows = rows.iter().map(|row| format!("{{{row}}}")).collect::<Vec<_>>().join(",");
    let texts = [
        text(1, 1 << 19, &columns),
        text(2, 1 << 20, &columns),
        text(3, 1 << 21, &columns),
        text(4, 1 << 10, &rows),
    ];
    let names: Vec<String> = (1..5).map(|at| format!("all-reduce.{at}")).collect();
    let mut ops = vec![OPS[0]];
    ops.extend(names.iter().zip(&texts).map(|(name, text)| (name.as_str(), REDUCE, text.as_str())));
    let longest = meets.iter().sum::<i64>().max(usual.iter().sum()) + 510;
    let lines = (0..8).map(|d| {
        let [mut steps, mut own] = [Line::new(1, "Steps"), Line::new(2, "XLA Ops")];
        for step in 0..STEPS_RUN {
            let (begin, mut now) = (step * longest * US, step * longest * US);
            steps.events.push(Event::at(10 + step, begin, longest * US));
            let lengths = if d == 2 { meets } else { usual };
            for (op, long) in (1_i64..).zip(std::iter::once(500).chain(lengths)) {
                own.events.push(Event::at(op, now, long * US));
                now += long * US;
            }
            own.events.push(Event::at(5, now, begin + longest * US - now));
        }
        [steps, own]
    });
    let profile = made(&ops, lines.collect());
    with(&profile, |peers| peers.slow_links(&profile))
}

#[test]
fn a_group_of_which_one_member_was_captured_is_slow_or_waits_as_its_messages_differ() {
    // Three times as long, whatever is sent: a link.
    let links = third_column([40, 80, 160], [120, 240, 480]);
    assert!(links.uncaptured.is_none() && links.groups.len() == 1, "{links:?}");
    assert_eq!((links.groups[0].devices.as_slice(), links.groups[0].peers), (&[DeviceId(2)][..], 7));
    assert!((links.groups[0].ratio - 3.0).abs() < 1e-3, "{links:?}");
    // One of them is 400 us longer: somebody of that column comes late, for whom the other columns wait at the end.
    let found = third_column([40, 80, 160], [440, 80, 160]);
    let waits = found.uncaptured.as_ref().unwrap();
    assert!(found.is_empty() && waits.captured == (1, 4), "{found:?}");
    // So it is where all take longer than they should, so that only the other columns say that this one waits.
    let late = third_column([65, 125, 245], [65, 125, 545]).uncaptured.unwrap();
    assert_eq!(
        (late.slow.0.as_str(), late.slow.1, &late.quick),
        ("all-reduce.3", 545e6, &Quick::Groups(245e6))
    );
    assert!((late.excess_share - 300.0 / 1245.0).abs() < 2e-3, "{late:?}");
    assert!((waits.excess_share - 400.0 / 1190.0).abs() < 2e-3, "{waits:?}");
    // Near misses: all alike; less than a fiftieth of the step.
    assert!(third_column([40, 80, 160], [40, 80, 160]).is_empty());
    let little = third_column([40, 80, 160], [54, 80, 160]);
    assert!(little.is_empty() && little.uncaptured.is_none(), "{little:?}");
}

#[test]
fn the_way_of_a_hop_is_no_longer_than_to_the_next() {
    let hop = Known {
        axis: "x".into(),
        kind: PERMUTE.into(),
        members: 2,
        bytes: Some(12_288.0),
        is_fused: false,
        is_whole: false,
    };
    // 12 KiB over one link of 100 GB/s at 85%, and a microsecond.
    assert!((hop.expected_ps(200e9).unwrap() - 1.1446e6).abs() < 1e3);
    assert!(hop.is_small(200e9));
}

/// The first row of a slice of four by eight, which all meet along it, and each alone with what was not captured of its column: all-reduces of
/// 4 MiB, for so long, microseconds.
fn one_of_each_column(row: i64, column: i64) -> SlowLinks {
    let list = |start: i64, step: i64, count: i64| {
        (0..count).map(|n| (start + n * step).to_string()).collect::<Vec<_>>().join(",")
    };
    let groups =
        |all: Vec<String>| all.into_iter().map(|one| format!("{{{one}}}")).collect::<Vec<_>>().join(",");
    let rows = groups((0..4).map(|row| list(8 * row, 1, 8)).collect());
    let columns = groups((0..8).map(|column| list(column, 8, 4)).collect());
    let text = |at: usize, groups: &str| {
        format!(
            "%all-reduce.{at} = f32[1048576]{{0}} all-reduce(%a), replica_groups={{{groups}}}, channel_id={at}, use_global_device_ids=true"
        )
    };
    let texts = [text(1, &rows), text(2, &columns)];
    let ops =
        [OPS[0], ("all-reduce.1", REDUCE, texts[0].as_str()), ("all-reduce.2", REDUCE, texts[1].as_str())];
    let profile = in_turn(&ops, &[500, row, column]);
    with(&profile, |peers| peers.slow_links(&profile))
}

#[test]
fn an_axis_of_which_one_member_of_each_group_was_captured_is_held_against_the_other_too() {
    // 4 MiB of eight should take 92 us, of four 78.
    let links = one_of_each_column(92, 240);
    let axis = links.axis.as_ref().unwrap();
    assert!((axis.times - 3.07).abs() < 0.05 && !axis.is_captured, "{axis:?}");
    let by: Vec<f64> = links.factors.values().flat_map(|groups| groups.values().copied()).collect();
    assert!(by.len() == 8 && by.iter().all(|by| (by - 1.0 / 3.07).abs() < 0.02), "{by:?}");
    // Near misses: as long as along a line of chips, or as waits make it; no longer than along the other axis.
    assert!(one_of_each_column(92, 155).axis.is_none());
    assert!(one_of_each_column(280, 240).axis.is_none());
}

#[test]
fn groups_of_which_one_member_was_captured_tell_where_they_agree() {
    // Waits make single executions long.
    let (own, other) = ([100.0, 140.0, 300.0, 100.0], [110.0, 110.0, 120.0, 500.0]);
    assert_eq!(quick_alike([&own[..], &other].into_iter()), Some(vec![100.0, 110.0]));
    // A late member holds up its own group; one group has none to be held against.
    assert_eq!(quick_alike([&own[..], &[140.0; 4]].into_iter()), None);
    assert_eq!(quick_alike([&own[..]].into_iter()), None);
}
