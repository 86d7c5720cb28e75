//! Search on the timeline, held against a slow look at every event.

use std::sync::Arc;

use haloscope_profile::{LineId, Profile};
use haloscope_report::{Error, units};
use haloscope_timeline::{Found, Hit, Search, Timeline};
use haloscope_xspace::write::Value;

use super::made::{Made, US, profile};
use super::support::open;

fn search(words: &[(&str, &str)]) -> Result<Search, Error> {
    Search::from_words(|key| words.iter().find(|(k, _)| *k == key).map(|(_, v)| *v))
}

#[track_caller]
fn find(timeline: &Timeline, words: &[(&str, &str)]) -> Found {
    timeline.search(&search(words).unwrap(), None).unwrap()
}

fn place(hit: &Hit) -> String {
    format!("{},{},{}", hit.start_ps, hit.track, hit.event)
}

/// Places and durations of the events whose label holds a text, or, where no label does, whose long name does, by a look at each.
fn slowly(profile: &Profile, text: &str, window: (i64, i64), min_ps: i64) -> Vec<(i64, u32, u32, i64)> {
    let holds = |name: &str| name.to_lowercase().contains(text);
    let in_labels = profile.planes.iter().any(|plane| {
        let source = profile.source_of(plane);
        (0..plane.metas.len() as u32).any(|meta| holds(&plane.meta_label(source, meta)))
    });
    let mut all = Vec::new();
    for line in &profile.lines {
        let plane = profile.plane(line.plane);
        let source = profile.source_of(plane);
        for event in profile.events(line).iter() {
            let label = plane.meta_label(source, event.meta);
            let long = source.text(plane.metas[event.meta as usize].name);
            let length = event.end_ps - event.start_ps;
            let inside = event.start_ps < window.1 && event.end_ps.max(event.start_ps + 1) > window.0;
            if (holds(&label) || !in_labels && holds(&long)) && inside && length >= min_ps {
                all.push((event.start_ps, line.id.0, event.index as u32, length));
            }
        }
    }
    all.sort_unstable();
    all
}

#[test]
fn names_are_found_as_a_slow_look_finds_them() {
    for (run, text) in
        [("tpu-train", "all-reduce"), ("gpu-train", "fusion"), ("cpu-train", "dot"), ("cpu-train", "")]
    {
        let profile = Arc::new(open(run));
        let timeline = Timeline::new(Arc::clone(&profile));
        let (from, to) = (timeline.tracks().start_ps, timeline.tracks().end_ps);
        let window = (from + (to - from) / 4, from + (to - from) / 2);
        for (window, min) in [((i64::MIN, i64::MAX), 0), (window, 0), (window, 2 * US)] {
            let expected = slowly(&profile, text, window, min);
            let (start, end, min) = (window.0.to_string(), window.1.to_string(), min.to_string());
            // Upper case is found too.
            let upper = text.to_uppercase();
            let words =
                [("q", &*upper), ("start", &start), ("end", &end), ("min", &min), ("limit", "1000000")];
            let found = find(&timeline, &words);
            assert_eq!(found.count, expected.len() as u64, "{run} {text} {window:?}");
            assert!(found.count > 0 || window.0 > i64::MIN, "{run} {text}");
            assert_eq!(found.total_ps, units::sum(expected.iter().map(|e| e.3)));
            let listed = found.hits.iter().map(|h| (h.start_ps, h.track, h.event, h.duration_ps));
            assert!(listed.eq(expected.iter().copied().take(10_000)), "{run} {text}");
            assert_eq!(found.more, expected.len() > 10_000);
            assert_eq!(found.longest.map(|h| h.duration_ps), expected.iter().map(|e| e.3).max());
            let by_name: u64 = found.by_name.iter().map(|n| n.count).sum();
            assert!(by_name == found.count || found.names > 50);
        }
    }
}

/// Ops whose texts name each other: `fusion.12` reads `fusion.126`, which reads `all-reduce.57`.
fn named_by_each_other() -> Timeline {
    let mut device = Made::tpu(0);
    let texts = [
        ("fusion.12", "%fusion.12 = f32[8] fusion(%fusion.126)"),
        ("fusion.126", "%fusion.126 = f32[8] fusion(%all-reduce.57), metadata={op_name=\"gelu\"}"),
        ("all-reduce.57", "%all-reduce.57 = f32[8] all-reduce(%p)"),
    ];
    let metas = texts.map(|(name, text)| device.instruction(name, "fusion", text));
    let events: Vec<(i64, i64, i64)> =
        metas.iter().zip(0..).map(|(meta, i)| (*meta, i * 2 * US, US)).collect();
    device.line("XLA Ops", 0, &events);
    Timeline::new(Arc::new(profile(vec![device])))
}

#[test]
fn a_name_is_looked_for_before_operands() {
    let timeline = named_by_each_other();
    let names = |words: &[(&str, &str)]| {
        let found = find(&timeline, words);
        found.hits.into_iter().map(|hit| hit.name).collect::<Vec<_>>()
    };
    assert_eq!(names(&[("q", "all-reduce.57")]), ["all-reduce.57"]);
    assert_eq!(names(&[("q", "fusion.12")]), ["fusion.12", "fusion.126"]);
    assert_eq!(names(&[("q", "fusion.12"), ("exact", "1")]), ["fusion.12"]);
    assert!(names(&[("q", "fusion.1"), ("exact", "1")]).is_empty());
    // No op is called so: then the texts are looked at, but not for a whole name.
    assert_eq!(names(&[("q", "gelu")]), ["fusion.126"]);
    assert!(names(&[("q", "gelu"), ("exact", "1")]).is_empty());
    assert!(search(&[("q", "a"), ("exact", "1"), ("regex", "1")]).is_err());
}

#[test]
fn hits_of_a_column_of_pixels_are_listed_once() {
    let timeline = named_by_each_other();
    let drawn = |columns: &str| {
        let words = [("q", "f"), ("regex", "1"), ("start", "0"), ("end", "6000000"), ("columns", columns)];
        let found = find(&timeline, &words);
        (found.count, found.hits.len())
    };
    let all = drawn("6");
    assert_eq!(all.0 as usize, all.1);
    let (count, listed) = drawn("1");
    assert!(count as usize > listed && listed > 0, "{count} {listed}");
    assert!(search(&[("q", "f"), ("columns", "3")]).is_err(), "columns of what?");
}

#[test]
fn next_and_previous_pass_every_hit_once() {
    let timeline = Timeline::new(Arc::new(open("tpu-train")));
    let all = find(&timeline, &[("q", "all-reduce.1"), ("limit", "10000")]);
    assert!(all.hits.len() > 20 && !all.more && all.position == 0);
    let mut seen: Vec<Hit> = find(&timeline, &[("q", "all-reduce.1"), ("limit", "7")]).hits;
    loop {
        let last = place(seen.last().unwrap());
        let next = find(&timeline, &[("q", "all-reduce.1"), ("limit", "7"), ("after", &last)]);
        assert_eq!((next.count, next.position), (all.count, seen.len() as u64));
        seen.extend(next.hits);
        if !next.more {
            break;
        }
    }
    assert_eq!(seen, all.hits);
    let (mut back, mut from) = (Vec::new(), place(seen.last().unwrap()));
    loop {
        let step = find(&timeline, &[("q", "all-reduce.1"), ("limit", "1"), ("before", &from)]);
        let Some(hit) = step.hits.first() else { break };
        from = place(hit);
        back.push(hit.clone());
        assert_eq!((step.position, step.more), (all.count - 1 - back.len() as u64, step.position > 0));
    }
    back.reverse();
    assert_eq!(back, all.hits[..all.hits.len() - 1]);
}

/// Two ops with categories, of which one event has bytes of its own; a thread with a stat.
fn small() -> Timeline {
    let mut device = Made::tpu(0);
    let (dot, copy) = (device.op("dot.2", "convolution", 50, 40), device.op("copy.3", "copy", 0, 4000));
    device.line("XLA Ops", 0, &[(dot, 0, 10 * US), (copy, 10 * US, 5 * US), (dot, 20 * US, 30 * US)]);
    device.tag(2, "bytes_accessed", Value::Int(9000));
    let mut host = Made::named("/host:CPU");
    host.line("main", 0, &[]);
    host.event("load", 0, 8 * US, &[("batch", 12)]);
    host.event("a:b", 10 * US, 8 * US, &[("size: x", 3)]);
    Timeline::new(Arc::new(profile(vec![device, host])))
}

#[test]
fn stats_are_looked_at_where_they_are_asked_for() {
    let timeline = small();
    let places = |words: &[(&str, &str)]| -> Vec<(u32, u32)> {
        find(&timeline, words).hits.iter().map(|h| (h.track, h.event)).collect()
    };
    assert_eq!(places(&[("stat", "hlo_category:CONV")]), [(0, 0), (0, 2)]);
    assert_eq!(
        places(&[("stat", "bytes_accessed>100")]),
        [(0, 1), (0, 2)],
        "an event's own value goes first"
    );
    assert_eq!(places(&[("stat", "bytes_accessed<100")]), [(0, 0)]);
    assert_eq!(places(&[("stat", "bytes_accessed:900")]), [(0, 2)], "numbers are texts too");
    assert_eq!(places(&[("stat", "batch")]), [(1, 0)]);
    assert_eq!(places(&[("stat", "size: x")]), [(1, 1)], "a name may contain a colon");
    assert_eq!(places(&[("stat", "nothing")]), []);
    assert_eq!(places(&[("stat", "hlo_category"), ("q", "copy")]), [(0, 1)]);
    assert_eq!(
        places(&[("stat", "hlo_category"), ("q", "^conv"), ("regex", "1")]),
        [(0, 0), (0, 2)],
        "in the value"
    );
    assert_eq!(places(&[("q", "f32[8]{0} op")]), [(0, 0), (0, 1), (0, 2)], "the long name counts");
    assert_eq!(places(&[("q", "^(dot|load)"), ("regex", "1")]), [(0, 0), (1, 0), (0, 2)]);
    assert_eq!(places(&[("q", "LOAD"), ("regex", "1")]), [], "case counts in an expression");
    assert_eq!(places(&[("min", "8us"), ("max", "10us")]), [(0, 0), (1, 0), (1, 1)]);
    let found = timeline.search(&search(&[("q", "o")]).unwrap(), Some(&[LineId(1), LineId(1)])).unwrap();
    assert_eq!((found.count, found.by_name[0].name.as_str(), found.names), (1, "load", 1));
    let dots = find(&timeline, &[("q", "dot")]);
    assert_eq!((dots.by_name[0].count, dots.by_name[0].total_ps), (2, 40 * US));
    assert_eq!(dots.longest.unwrap().event, 2);
}

#[test]
fn what_cannot_be_searched_for_is_said() {
    let long = "x".repeat(3000);
    for (words, says) in [
        (vec![("q", "(dot"), ("regex", "1")], "unclosed group"),
        (vec![("q", "(a{1000}){1000}"), ("regex", "1")], "too large"),
        (vec![("q", &*long)], "1000"),
        (vec![("stat", ">5")], "flops>1e9"),
        (vec![("stat", "flops>many")], "many"),
        (vec![("min", "soon")], "1.5us"),
        (vec![("start", "9"), ("end", "9")], "9..9"),
        (vec![("after", "1,2")], "START_PS,TRACK,EVENT"),
        (vec![("after", "1,2,3"), ("before", "1,2,3")], "one way"),
    ] {
        let error = search(&words).unwrap_err();
        assert!(matches!(error, Error::Usage(_)) && error.to_string().contains(says), "{error}");
    }
    assert!(small().search(&search(&[]).unwrap(), Some(&[LineId(99)])).is_err());
}
