//! Properties over random profiles: nothing is lost, nothing counted twice.

use haloscope_xspace::write::{Event, EventMetadata, Line, Plane, Space, Stat, StatMetadata, Value};

use super::*;
use haloscope_profile::Profile;
use haloscope_profile::load;

/// A small generator of numbers (xorshift), so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, most: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % most.max(1) as u64) as i64
    }
}

const CATEGORIES: [&str; 9] = [
    "loop fusion",
    "all-reduce",
    "copy-done",
    "copy-start",
    "infeed",
    "host recv-done",
    "while",
    "data formatting",
    "async-done",
];
const US: i64 = 1_000_000;

fn stat(metadata_id: i64, value: Value) -> Stat {
    Stat { metadata_id, value }
}

/// A TPU core with nested ops and programs, in random places.
fn core(ordinal: i64, random: &mut Random) -> Plane {
    let mut plane = Plane { name: format!("/device:TPU:{ordinal}"), ..Plane::default() };
    let category = StatMetadata { id: 1, name: "hlo_category".into(), description: String::new() };
    plane.stat_metadata.push((1, category));
    for (id, word) in (1_i64..).zip(CATEGORIES) {
        let meta = EventMetadata {
            id,
            name: format!("%{word} = f32[8]{{0}} op()"),
            display_name: format!("op.{id}"),
            stats: vec![stat(1, Value::Str(word.into()))],
            ..EventMetadata::default()
        };
        plane.event_metadata.push((id, meta));
    }
    let program = EventMetadata { id: 100, name: "jit_step(7)".into(), ..EventMetadata::default() };
    plane.event_metadata.push((100, program));
    let (mut ops, mut programs) = (Line::new(1, "XLA Ops"), Line::new(2, "XLA Modules"));
    let mut now = random.below(50 * US);
    for _ in 0..=random.below(6) {
        let start = now;
        for _ in 0..=random.below(8) {
            now += random.below(30 * US);
            let length = random.below(40 * US);
            ops.events.push(Event::at(1 + random.below(CATEGORIES.len() as i64), now, length));
            if random.below(3) == 0 {
                let inner = random.below(length + 1);
                ops.events.push(Event::at(1 + random.below(CATEGORIES.len() as i64), now, inner));
            }
            now += length;
        }
        if random.below(5) > 0 {
            programs.events.push(Event::at(100, start, now - start + random.below(20 * US)));
        }
        now += random.below(60 * US);
    }
    plane.lines.extend([ops, programs]);
    plane
}

fn profile(seed: u64) -> Profile {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let planes = (0..2).map(|ordinal| core(ordinal, &mut random)).collect();
    load::from_bytes("host.xplane.pb", Space { planes, ..Space::default() }.to_bytes()).unwrap()
}

#[test]
fn parts_add_up_to_the_capture() {
    let mut seen = Times::default();
    for seed in 1..300 {
        let profile = profile(seed);
        for device in &profile.devices {
            let input = Intervals::union_of(vec![(20 * US, 45 * US), (90 * US, 110 * US)]);
            let Some(account) = Account::of(&profile, device, &input) else { continue };
            let times = account.times(None);
            seen.add(&times);
            let span = account.span.1 - account.span.0;
            assert_eq!(times.total(), span, "seed {seed}");
            assert!(times.0.iter().all(|ps| *ps >= 0), "seed {seed}: {times:?}");
            let busy = busy::intervals(&profile, device).length();
            assert_eq!(span - times.of_group(Group::Idle), busy, "seed {seed}");
            // The classes do not overlap, and their union is the capture.
            let all = account.parts.iter().flat_map(|p| p.set().as_slice().iter().copied()).collect();
            assert_eq!(Intervals::union_of(all).length(), span, "seed {seed}");
            // Cuts add up as the whole does.
            let middle = account.span.0 + span / 3;
            let (left, right) =
                (account.between(account.span.0, middle), account.between(middle, account.span.1));
            let mut both = left;
            both.add(&right);
            assert_eq!(both, times, "seed {seed}");
            assert_eq!(account.times(Some(&Intervals::one(account.span.0, middle))), left, "seed {seed}");
            // Of several stretches each class has what lies in them, and gaps are cut where these end.
            let third = span / 3;
            let cut = Intervals::union_of(vec![
                (account.span.0 + third / 2, middle),
                (middle + third / 4, account.span.1 - third / 3),
            ]);
            let plain = |class: Class| account.part(class).intersect(&cut).length();
            assert_eq!(account.times(Some(&cut)).0, Class::ALL.map(plain), "seed {seed}");
            let whole = account.gaps(None);
            let inside = whole.iter().map(|g| Intervals::one(g.start_ps, g.end_ps).intersect(&cut));
            let inside: Vec<_> = inside.flat_map(|gap| gap.as_slice().to_vec()).collect();
            let gaps: Vec<_> = account.gaps(Some(&cut)).iter().map(|g| (g.start_ps, g.end_ps)).collect();
            assert_eq!(gaps, inside, "seed {seed}");
            // Gaps are the idle time.
            let gaps = account.gaps(None);
            let idle: i64 = gaps.iter().map(|g| g.end_ps - g.start_ps).sum();
            assert_eq!(idle, times.of_group(Group::Idle), "seed {seed}");
            assert!(gaps.iter().all(|g| g.class.group() == Group::Idle));
        }
    }
    let missing: Vec<_> = Class::ALL.into_iter().filter(|c| seen.of(*c) == 0).collect();
    assert!(missing.is_empty(), "never met: {missing:?}");
}

#[test]
fn compute_on_one_stream_hides_communication_on_another() {
    let mut plane = Plane { name: "/device:GPU:0".into(), ..Plane::default() };
    for (id, name) in [(1, "gemm"), (2, "ncclDevKernel_AllReduce"), (3, "MemcpyH2D")] {
        let meta = EventMetadata { id, name: name.into(), ..EventMetadata::default() };
        plane.event_metadata.push((id, meta));
    }
    let (mut first, mut second) = (Line::new(1, "Stream #7(Compute)"), Line::new(2, "Stream #8(Memcpy)"));
    first.events.push(Event::at(1, 0, 10 * US));
    second.events.push(Event::at(2, 4 * US, 10 * US));
    second.events.push(Event::at(3, 20 * US, 5 * US));
    plane.lines.extend([first, second]);
    let space = Space { planes: vec![plane], ..Space::default() };
    let profile = load::from_bytes("host.xplane.pb", space.to_bytes()).unwrap();
    let account = Account::of(&profile, &profile.devices[0], &Intervals::default()).unwrap();
    let times = account.times(None);
    assert_eq!(times.of(Class::Compute), 10 * US);
    assert_eq!(times.of(Class::Communication), 4 * US, "the other 6 are hidden");
    assert_eq!(times.of(Class::HostTransfer), 5 * US);
    assert_eq!(times.of(Class::Between), 6 * US);
    assert_eq!(times.total(), 25 * US);
}
