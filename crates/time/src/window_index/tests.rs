//! Windows by blocks against windows by a walk over all events, on random profiles.

use haloscope_xspace::write::{Event, EventMetadata, Line, Plane, Space, Stat, StatMetadata, Value};

use super::*;
use crate::select::Selection;
use crate::window_work::work_in_windows;
use haloscope_profile::DeviceKind;
use haloscope_profile::load;
use haloscope_report::scope::Scope;

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

const CATEGORIES: [&str; 6] = ["loop fusion", "custom-call", "while", "infeed", "async-done", "copy-start"];
const STATS: [&str; 6] =
    ["hlo_category", "device_offset_ps", "device_duration_ps", "flops", "hlo_op", "program_id"];
/// Short, so that ends and starts often meet.
const SPAN: i64 = 900;

fn stat(name: &str, value: Value) -> Stat {
    let id = STATS.iter().position(|known| *known == name).unwrap();
    Stat { metadata_id: id as i64 + 1, value }
}

fn plane(name: &str) -> Plane {
    let mut plane = Plane { name: name.into(), ..Plane::default() };
    for (id, name) in (1_i64..).zip(STATS) {
        plane.stat_metadata.push((id, StatMetadata { id, name: name.into(), description: String::new() }));
    }
    for (id, word) in (1_i64..).zip(CATEGORIES) {
        let meta = EventMetadata {
            id,
            name: format!("%{word} = f32[8]{{0}} op()"),
            display_name: format!("op.{id}"),
            stats: vec![stat("hlo_category", Value::Str(word.into()))],
            ..EventMetadata::default()
        };
        plane.event_metadata.push((id, meta));
    }
    plane
}

/// Events that nest, cross, touch, start together, and take no time.
fn line(
    id: i64,
    name: &str,
    random: &mut Random,
    stats: &dyn Fn(&mut Random, i64, i64) -> Vec<Stat>,
) -> Line {
    let mut line = Line::new(id, name);
    for _ in 0..random.below(120) {
        let start = random.below(SPAN);
        let length = match random.below(4) {
            0 => 0,
            1 => random.below(8),
            2 => random.below(60),
            _ => random.below(SPAN - start),
        };
        let event = Event::at(1 + random.below(CATEGORIES.len() as i64), start, length);
        line.events.push(Event { stats: stats(random, start, length), ..event });
    }
    line.events.sort_by_key(|event| event.duration_ps);
    line
}

/// One device of each kind, on hosts of their own.
fn profiles(seed: u64) -> Vec<Profile> {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let own_clock = random.below(2) == 0;
    let clock = move |random: &mut Random, start: i64, length: i64| {
        let mut stats = Vec::new();
        if own_clock {
            let off = random.below(3);
            stats.push(stat("device_offset_ps", Value::Int(start + off)));
            stats.push(stat("device_duration_ps", Value::Int((length - off).max(0))));
        }
        if random.below(4) == 0 {
            stats.push(stat("flops", Value::Int(random.below(3))));
        }
        stats
    };
    let named = |random: &mut Random, _: i64, _: i64| {
        let name = Value::Str(format!("fusion.{}", random.below(4)));
        if random.below(3) > 0 { vec![stat("hlo_op", name)] } else { Vec::new() }
    };
    let mut tpu = plane("/device:TPU:0");
    tpu.lines.push(line(1, "XLA Ops", &mut random, &clock));
    tpu.lines.push(line(2, "XLA Modules", &mut random, &|_, _, _| Vec::new()));
    let mut gpu = plane("/device:GPU:0");
    let mut cpu = plane("/host:CPU");
    for id in 1..4 {
        gpu.lines.push(line(id, &format!("Stream #{id}(Compute)"), &mut random, &named));
        cpu.lines.push(line(id, "worker", &mut random, &named));
    }
    let read = |plane| {
        let space = Space { planes: vec![plane], ..Space::default() };
        load::from_bytes("host.xplane.pb", space.to_bytes()).unwrap()
    };
    [tpu, gpu, cpu].map(read).into()
}

#[test]
fn a_window_of_blocks_is_a_window_of_events() {
    let (mut compared, mut partly) = (0, 0);
    for seed in 1..400 {
        let mut random = Random(seed);
        for profile in profiles(seed) {
            for device in &profile.devices {
                let ops = DeviceOps::find(&profile, device);
                if device.kind == DeviceKind::Cpu {
                    // Its ops share time across lines.
                    assert!(OpBlocks::of(&profile, &ops).is_none());
                    continue;
                }
                let blocks =
                    [1, 2, 7, 50, 1000].map(|step| OpBlocks::with_step(&profile, &ops, step).unwrap());
                let classes =
                    [1, 5, 64, 1000].map(|step| ClassBlocks::with_step(&profile, device, &ops, step));
                let duty = [1, 3, 16, 1000].map(|step| DutyBlocks::with_step(&profile, device, step));
                for _ in 0..8 {
                    let from = random.below(SPAN) - 20;
                    let window = (from, from + 1 + random.below(SPAN));
                    let cut = Intervals::one(window.0, window.1);
                    let plain = op_sums::sums(&profile, &ops, Some(&cut), |_| true);
                    for blocks in &blocks {
                        let found = blocks.sums(&profile, &ops, window, |_| true);
                        assert_eq!(found, plain, "seed {seed}, {:?}, {window:?}", device.kind);
                    }
                    let mut executions = Vec::new();
                    ops.walk_placed(&profile, |row, event, _, counts| {
                        if counts
                            && event.start_ps < window.1
                            && event.start_ps.max(event.end_ps - 1) >= window.0
                        {
                            executions.push((row, event.index));
                        }
                    });
                    let mut found = Vec::new();
                    blocks[0].executions(&profile, &ops, window, |row, event| found.push((row, event.index)));
                    assert_eq!(found, executions, "seed {seed}, {:?}, {window:?}", device.kind);
                    compared += plain.len();
                    partly += plain.iter().filter(|sum| sum.part > 0.0).count();
                    let plain = crate::account::busy_times(&profile, device, Some(&cut));
                    for classes in &classes {
                        let found = classes.times(&profile, &ops, window);
                        assert_eq!(found, plain, "seed {seed}, {:?}, {window:?}", device.kind);
                    }
                    let plain = busy::duty_cycle(&profile, device, Some(&cut));
                    for duty in &duty {
                        let found = duty.as_ref().and_then(|duty| duty.cycle(&profile, Some(window)));
                        assert_eq!(found, plain, "seed {seed}, {window:?}");
                    }
                }
            }
        }
    }
    assert!(compared > 10_000 && partly > 5_000, "{compared} sums, {partly} of them with parts");
}

#[test]
fn work_that_is_known_is_work_that_is_counted() {
    let mut with_work = 0;
    for seed in 1..100 {
        let mut random = Random(seed);
        for (plain, mut kept) in profiles(seed).into_iter().zip(profiles(seed)) {
            kept.expect_questions();
            let selected = |profile| Selection::resolve(profile, &Scope::default()).ok();
            let (Some(all), Some(again)) = (selected(&plain), selected(&kept)) else { continue };
            for _ in 0..6 {
                // Steps that follow each other or leave gaps, of which the outer ones are cut by a window.
                let (from, step) = (random.below(SPAN / 2), 1 + random.below(90));
                let mut windows: Vec<_> = (0..SPAN / step).map(|at| (at * step, (at + 1) * step)).collect();
                windows.retain(|_| random.below(6) > 0);
                windows.iter_mut().for_each(|window| *window = (window.0.max(from), window.1.max(from)));
                for (device, same) in plain.devices.iter().zip(&kept.devices) {
                    let counted = work_in_windows(&plain, device, &windows, &all);
                    assert_eq!(
                        work_in_windows(&kept, same, &windows, &again),
                        counted,
                        "seed {seed}, {windows:?}"
                    );
                    with_work += counted.iter().filter(|work| work.flops.is_some()).count();
                }
            }
        }
    }
    assert!(with_work > 1_000, "{with_work}");
}

#[test]
fn times_of_damaged_files_are_left_to_the_plain_way() {
    let mut tpu = plane("/device:TPU:0");
    let mut ops = Line::new(1, "XLA Ops");
    for start in 0..8 {
        ops.events.push(Event::at(1, start, i64::MAX));
    }
    tpu.lines.push(ops);
    let space = Space { planes: vec![tpu], ..Space::default() };
    let profile = load::from_bytes("host.xplane.pb", space.to_bytes()).unwrap();
    let ops = DeviceOps::find(&profile, &profile.devices[0]);
    assert!(OpBlocks::of(&profile, &ops).is_none());
}
