//! Rows find the same slices as a look at every event.

use super::*;

/// What a window should say of events that do not overlap: one after the other, merged while they lie within one pixel.
fn expected(events: &[(i64, i64, i64)], start: i64, end: i64, px: i64) -> Vec<(i64, i64, u32, i64)> {
    let width = (end - start + px - 1) / px;
    let mut out: Vec<(i64, i64, u32, i64)> = Vec::new();
    let (mut open, mut longest) = (None, 0);
    for (meta, at, duration) in events {
        let ends = at + duration;
        if *at >= end || (*at < start && ends <= start) {
            continue;
        }
        let pixel = (at - start).max(0) / width;
        let within = *at >= start && ends <= start + (pixel + 1) * width;
        match out.last_mut() {
            Some(last) if within && open == Some(pixel) => {
                last.1 = ends - last.0;
                last.2 += 1;
                if *duration > longest {
                    (longest, last.3) = (*duration, *meta);
                }
            }
            _ => {
                out.push((*at, *duration, 1, *meta));
                longest = *duration;
            }
        }
        open = within.then_some(pixel);
    }
    out
}

fn check(events: &[(i64, i64, i64)]) {
    let t = one_line("XLA Ops", events);
    assert_eq!(t.tracks().groups[0].tracks[0].depth, 1);
    let last = events.last().map_or(0, |(_, at, duration)| at + duration);
    let metas = ["dot.1", "copy.2", "while"];
    for (from, to) in
        [(0, last), (-50, last + 50), (last / 3, last / 2), (last / 2, last / 2 + 40), (last, last + 9)]
    {
        for px in [1, 2, 13, 400, 9000] {
            let window = t.window(from, to, px, &[LineId(0)]).unwrap();
            let found: Vec<_> = window.tracks[0]
                .slices
                .iter()
                .map(|s| {
                    let name = metas.iter().position(|m| *m == window.names[s.name as usize]).unwrap();
                    (s.start_ps, s.duration_ps, s.count, name as i64 + 1)
                })
                .collect();
            assert_eq!(found, expected(events, from, to, i64::from(px)), "{from}..{to} in {px} px");
        }
    }
}

#[test]
fn a_row_of_all_events_is_found_by_its_samples() {
    let mut state = 7_u64;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % below) as i64
    };
    for count in [1, 2, 15, 16, 17, 63, 64, 65, 128, 257, 5000] {
        let mut at = 0;
        let mut events = Vec::new();
        for _ in 0..count {
            // Now and then an event without length, one that begins where another ends, and a long one.
            at += random(3) * random(30);
            let duration = if random(50) == 0 { 700 } else { random(20) };
            // An event without length at the start of another would stand below it.
            events.push((1 + random(3), at, duration.max(1)));
            at += duration.max(1);
        }
        check(&events);
    }
}

#[test]
fn deep_nests_and_many_rows_keep_every_event() {
    let nested: Vec<_> = (0..3000).map(|i| (1 + i % 3, i, 20_000 - 2 * i)).collect();
    let t = one_line("XLA Ops", &nested);
    for px in [1, 100, 5000] {
        let window = t.window(0, 20_000, px, &[LineId(0)]).unwrap();
        assert_eq!(window.tracks[0].slices.iter().map(|s| s.count).sum::<u32>(), 3000);
        assert_eq!(window.tracks[0].slices.iter().map(|s| s.depth).max(), Some(2999));
    }
}
