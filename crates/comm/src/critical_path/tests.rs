//! Properties over random profiles: the path is the step, the model gives the measured step back.

use haloscope_xspace::write::{Event, EventMetadata, Line, Plane, Space, Stat, StatMetadata, Value};

use super::*;
use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_time::account::Class;

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

const US: i64 = 1_000_000;
const OPS: [(&str, &str); 8] = [
    ("fusion.1", "loop fusion"),
    ("fusion.2", "convolution fusion"),
    ("all-reduce.1", "all-reduce"),
    ("copy-start.1", "copy-start"),
    ("copy-done.1", "copy-done"),
    ("all-gather-start.1", "all-gather-start"),
    ("all-gather-done.1", "all-gather-done"),
    ("while.1", "while"),
];

/// A device with nested ops in random places, in the order that `sequence` gives all devices; `kind` is TPU or GPU, the latter
/// with two streams.
fn device(kind: &str, ordinal: i64, random: &mut Random, mut sequence: Random) -> Plane {
    let mut plane = Plane { name: format!("/device:{kind}:{ordinal}"), ..Plane::default() };
    for (id, name) in [(1, "hlo_category"), (2, "bytes_accessed")] {
        plane.stat_metadata.push((id, StatMetadata { id, name: name.into(), description: String::new() }));
    }
    for (id, (name, category)) in (1_i64..).zip(OPS) {
        let stat = |metadata_id, value| Stat { metadata_id, value };
        let meta = EventMetadata {
            id,
            name: format!("%{name} = f32[8]{{0}} op()"),
            display_name: name.into(),
            stats: vec![
                stat(1, Value::Str(category.into())),
                stat(2, Value::Int(1 + random.below(1_000_000))),
            ],
            ..EventMetadata::default()
        };
        plane.event_metadata.push((id, meta));
    }
    let names: &[&str] = if kind == "TPU" { &["XLA Ops"] } else { &["Stream #1", "Stream #2"] };
    for (id, name) in (1_i64..).zip(names) {
        let mut line = Line::new(id, name);
        let mut now = random.below(50 * US);
        for _ in 0..=sequence.below(40) {
            now += random.below(2) * random.below(5 * US);
            let op = 1 + sequence.below(OPS.len() as i64);
            let length = random.below(if op == 3 { 60 } else { 20 } * US);
            line.events.push(Event::at(op, now, length));
            if op == OPS.len() as i64 {
                line.events.push(Event::at(1, now, random.below(length + 1)));
            }
            now += length;
        }
        plane.lines.push(line);
    }
    if kind == "TPU" {
        let mut line = Line::new(9, "Async XLA Ops");
        line.events.push(Event::at(4, random.below(300 * US), random.below(50 * US)));
        plane.lines.push(line);
    }
    plane
}

fn profile(seed: u64) -> Profile {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let kind = if seed.is_multiple_of(3) { "GPU" } else { "TPU" };
    let mut plane = |ordinal| device(kind, ordinal, &mut random, Random(seed << 8 | 1));
    let planes = (0..1 + seed as i64 % 4).map(&mut plane).collect();
    load::from_bytes("host.xplane.pb", Space { planes, ..Space::default() }.to_bytes()).unwrap()
}

#[test]
fn the_path_is_the_step_and_the_model_gives_it_back() {
    let (mut crossings, mut joins, mut transfers, mut in_flight) = (0, 0, 0, 0);
    for seed in 1..400 {
        let profile = profile(seed);
        let step: Vec<_> = profile.devices.iter().map(|d| (d, (10 * US, 600 * US))).collect();
        let Ok((graph, facts)) = build(&profile, &step) else { panic!("seed {seed}") };
        let Some(schedule) = Some(graph.run(&graph.lengths)).filter(|_| !graph.devices.is_empty()) else {
            continue;
        };
        let (start, end) = graph.span();
        for (at, node) in graph.nodes.iter().enumerate() {
            assert_eq!(schedule.node[at], node.end_ps, "seed {seed}: node {at} {node:?}");
        }
        assert_eq!(graph.length(&schedule), end - start, "seed {seed}");
        assert!(graph.lengths.node.iter().chain(&graph.lengths.transfer).all(|l| *l >= 0), "seed {seed}");
        let path = longest(&graph, &schedule);
        let mut now = start;
        for segment in &path {
            assert_eq!(segment.start_ps, now, "seed {seed}: {segment:?}");
            assert!(segment.end_ps > now, "seed {seed}: {segment:?}");
            now = segment.end_ps;
        }
        assert_eq!(now, end, "seed {seed}");
        crossings += path.windows(2).filter(|w| w[0].device != w[1].device).count();
        in_flight += path.iter().filter(|s| s.in_flight).count();
        (joins, transfers) = (joins + facts.joined, transfers + graph.transfers.len());
        // What is on the path has no slack; nothing has less than none.
        let slack = slack(&graph, &graph.lengths, &schedule);
        assert!(slack.node.iter().chain(&slack.transfer).all(|s| *s >= 0), "seed {seed}");
        // Nothing that is faster makes the step longer; everything at once takes nothing.
        let mut before = end - start;
        for factor in [0.9, 0.5, 0.1] {
            let ops = graph.ops.iter().map(|op| op.class == Class::Compute).collect();
            let change = Change::Scale(Choice { ops, gaps: Vec::new() }, factor);
            let after = project(&graph, &[], &[&change]).step_ps;
            assert!(after <= before + 100, "seed {seed}: {after} after {before}");
            before = after;
        }
        let all = Choice { ops: vec![true; graph.ops.len()], gaps: Class::ALL.to_vec() };
        assert_eq!(project(&graph, &[], &[&Change::Scale(all, 0.0)]).step_ps, 0, "seed {seed}");
        let overlap = project(&graph, &[], &[&Change::PerfectOverlap]).step_ps;
        assert!(overlap <= end - start, "seed {seed}");
    }
    assert!(
        crossings > 20 && joins > 100 && transfers > 200 && in_flight > 20,
        "{crossings} {joins} {transfers} {in_flight}"
    );
}

#[test]
fn slack_is_what_a_delay_may_be() {
    for seed in 1..60 {
        let profile = profile(seed);
        let step: Vec<_> = profile.devices.iter().map(|d| (d, (10 * US, 600 * US))).collect();
        let Ok((graph, _)) = build(&profile, &step) else { panic!("seed {seed}") };
        let schedule = graph.run(&graph.lengths);
        let slack = slack(&graph, &graph.lengths, &schedule);
        let measured = graph.length(&schedule);
        for at in (0..graph.nodes.len()).step_by(7) {
            let mut longer = graph.lengths.clone();
            longer.node[at] += slack.node[at];
            assert_eq!(graph.length(&graph.run(&longer)), measured, "seed {seed} node {at}");
            longer.node[at] += 1000;
            assert_eq!(graph.length(&graph.run(&longer)), measured + 1000, "seed {seed} node {at}");
        }
    }
}
