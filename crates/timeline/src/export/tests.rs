//! What the formats hold of a profile with one trap each: events that nest, cross, last no time, start before the capture
//! or between two nanoseconds; counters; names with every separator.

use haloscope_xspace::wire::{self, Fields};
use haloscope_xspace::write::{Event, EventMetadata, Line, Plane, Space, Stat, StatMetadata, Value};
use serde_json::Value as Json;

use super::*;

const HLO_CATEGORY: i64 = 1;
const COUNTER_VALUE: i64 = 2;
const FLOPS: i64 = 3;

fn profile() -> Profile {
    let stat = |id, name: &str| (id, StatMetadata { id, name: name.into(), ..StatMetadata::default() });
    let named = |id, name: &str| (id, EventMetadata { id, name: name.into(), ..EventMetadata::default() });
    let op = |id, name: &str, category: &str| {
        let stats = vec![
            Stat { metadata_id: HLO_CATEGORY, value: Value::Str(category.into()) },
            Stat { metadata_id: FLOPS, value: Value::Uint(640) },
        ];
        let text = format!("%{name} = f32[] {category}()");
        (id, EventMetadata { id, name: text, display_name: name.into(), stats, ..EventMetadata::default() })
    };
    let sample = |offset_ps, value| {
        let stats = vec![Stat { metadata_id: COUNTER_VALUE, value: Value::Double(value) }];
        Event { stats, ..Event::at(5, offset_ps, 0) }
    };
    let line = |id, name: &str, events| Line { events, ..Line::new(id, name) };
    let device = Plane {
        id: 1,
        name: "/device:TPU:0".into(),
        lines: vec![
            line(1, "Steps", vec![Event::at(4, 0, 100_000), Event::at(6, 100_000, 100_000)]),
            // A loop with an op between two nanoseconds in it, one that crosses its end, one of no length.
            line(
                2,
                "XLA Ops",
                vec![
                    Event::at(1, 0, 90_000),
                    Event::at(2, 10_400, 500),
                    Event::at(3, 80_000, 20_000),
                    Event::at(2, 150_000, 0),
                ],
            ),
            line(3, "_counters_", vec![sample(0, 1.5), sample(120_000, 2.5)]),
        ],
        event_metadata: vec![
            op(1, "while.1", "while"),
            op(2, "dot;2", "convolution"),
            op(3, "copy.3", "copy"),
            named(4, "1"),
            named(5, "power"),
            named(6, "2"),
        ],
        stat_metadata: vec![
            stat(HLO_CATEGORY, "hlo_category"),
            stat(COUNTER_VALUE, "counter_value"),
            stat(FLOPS, "flops"),
        ],
        ..Plane::default()
    };
    let host = Plane {
        id: 2,
        name: "/host:CPU".into(),
        lines: vec![line(7, "main \"thread\"", vec![Event::at(1, -2_500, 5_000)])],
        event_metadata: vec![named(1, "before\nthe capture")],
        ..Plane::default()
    };
    let space = Space { planes: vec![device, host], ..Space::default() };
    Profile::from_files(vec![("h.xplane.pb".into(), Box::new(space.to_bytes()))])
}

fn exported(format: Format, words: &[(&str, &'static str)]) -> (Written, Vec<u8>) {
    let profile = profile();
    let word = |key: &str| words.iter().find(|(k, _)| *k == key).map(|(_, v)| *v);
    let tracks = word("tracks").map(|t| vec![t.to_owned()]).unwrap_or_default();
    let ask = Ask { scope: Scope::from_words(word).unwrap(), tracks, stacks: Stacks::Events };
    let mut out = Vec::new();
    let written = Export::of(&profile, &ask).unwrap().write(format, &mut out).unwrap();
    (written, out)
}

fn refused(words: &[(&str, &'static str)], tracks: &[&str]) -> Error {
    let word = |key: &str| words.iter().find(|(k, _)| *k == key).map(|(_, v)| *v);
    let tracks = tracks.iter().map(|&t| t.to_owned()).collect();
    let ask = Ask { scope: Scope::from_words(word).unwrap(), tracks, stacks: Stacks::Events };
    Export::of(&profile(), &ask).unwrap_err()
}

/// The fields of a message with this number.
fn fields(message: &[u8], number: u32) -> Vec<wire::Value<'_>> {
    Fields::new(message, 0).filter(|f| f.number == number).map(|f| f.value).collect()
}

fn body(value: wire::Value<'_>) -> &[u8] {
    match value {
        wire::Value::Bytes(body) => body,
        other => panic!("expected a message, found {other:?}"),
    }
}

fn uint(message: &[u8], number: u32) -> Option<u64> {
    match fields(message, number).first()? {
        wire::Value::Varint(value) => Some(*value),
        other => panic!("expected a number, found {other:?}"),
    }
}

#[test]
fn perfetto_has_a_begin_and_an_end_for_each_event_and_clears_its_state() {
    let (written, bytes) = exported(Format::Perfetto, &[]);
    // Two lanes of the ops' line, steps, one counter, one thread.
    assert_eq!(written, Written { events: 7, samples: 2, tracks: 5 });
    let packets: Vec<&[u8]> = fields(&bytes, 1).into_iter().map(body).collect();
    let mut depth = std::collections::BTreeMap::<u64, i64>::new();
    let mut kinds = [0; 5];
    let mut seen_sequences = Vec::new();
    for packet in &packets {
        let sequence = uint(packet, 10).unwrap();
        let flags = uint(packet, 13).unwrap();
        if seen_sequences.contains(&sequence) {
            assert_eq!(flags, 2);
        } else {
            assert_eq!((flags, uint(packet, 87)), (1, Some(1)));
            seen_sequences.push(sequence);
        }
        for event in fields(packet, 11).into_iter().map(body) {
            let (kind, track) = (uint(event, 9).unwrap(), uint(event, 11).unwrap());
            kinds[kind as usize] += 1;
            let open = depth.entry(track).or_default();
            *open += [0, 1, -1, 0, 0][kind as usize];
            assert!(*open >= 0);
        }
    }
    assert_eq!(kinds, [0, 7, 7, 0, 2]);
    assert_eq!(seen_sequences, [1, 2]);
    assert!(depth.values().all(|open| *open == 0));
    // The first event starts 2.5 ns before the run: all is moved by 1 us. 10.4 ns is rounded down.
    let times: Vec<u64> =
        packets.iter().filter(|p| !fields(p, 11).is_empty()).filter_map(|p| uint(p, 8)).collect();
    assert!(times.contains(&997) && times.contains(&1010), "{times:?}");
    let text = String::from_utf8_lossy(&bytes);
    for name in ["start_ps", "duration_ps", "hlo_op", "category", "flops", "step", "convolution", "dot;2"] {
        assert!(text.contains(name), "{name}");
    }
}

#[test]
fn chrome_keeps_every_digit_and_puts_what_crosses_on_another_thread() {
    let (_, bytes) = exported(Format::Chrome, &[]);
    let json: Json = serde_json::from_slice(&bytes).unwrap();
    let events = json["traceEvents"].as_array().unwrap();
    let named =
        |name: &str| events.iter().filter(|e| e["ph"] == "X" && e["name"] == name).collect::<Vec<_>>();
    let dot = named("dot;2")[0];
    assert_eq!((dot["ts"].as_f64(), dot["dur"].as_f64()), (Some(0.0104), Some(0.0005)));
    assert_eq!(
        (&dot["args"]["flops"], &dot["args"]["step"]),
        (&serde_json::json!(640.0), &serde_json::json!(1))
    );
    assert_eq!(dot["tid"], named("while.1")[0]["tid"]);
    assert_ne!(dot["tid"], named("copy.3")[0]["tid"]);
    assert_eq!(named("before\nthe capture")[0]["ts"].as_f64(), Some(-0.0025));
    let counters: Vec<_> =
        events.iter().filter(|e| e["ph"] == "C").map(|e| e["args"]["value"].as_f64()).collect();
    assert_eq!(counters, [Some(1.5), Some(2.5)]);
    assert!(events.iter().any(|e| e["name"] == "thread_name" && e["args"]["name"] == "XLA Ops [2]"));
}

#[test]
fn folded_stacks_add_up_to_self_times() {
    let (_, bytes) = exported(Format::Folded, &[("tracks", "XLA Ops")]);
    let text = String::from_utf8(bytes).unwrap();
    assert_eq!(
        text,
        "TPU:0;XLA Ops;copy.3 20000\nTPU:0;XLA Ops;while.1 89500\nTPU:0;XLA Ops;while.1;dot,2 500\n"
    );
    // Half of the loop, and none of what is in the other half.
    let (_, bytes) = exported(Format::Folded, &[("tracks", "1"), ("window", "50ns..150ns")]);
    assert_eq!(
        String::from_utf8(bytes).unwrap(),
        "TPU:0;XLA Ops;copy.3 20000\nTPU:0;XLA Ops;while.1 40000\n"
    );
}

#[test]
fn speedscope_has_balanced_profiles_and_frames_that_exist() {
    let (written, bytes) = exported(Format::Speedscope, &[]);
    let json: Json = serde_json::from_slice(&bytes).unwrap();
    let frames = json["shared"]["frames"].as_array().unwrap().len() as u64;
    let (mut opened, mut profiles) = (0, Vec::new());
    for profile in json["profiles"].as_array().unwrap() {
        profiles.push(profile["name"].as_str().unwrap());
        let (mut open, mut last) = (Vec::new(), profile["startValue"].as_f64().unwrap());
        for event in profile["events"].as_array().unwrap() {
            let frame = event["frame"].as_u64().unwrap();
            assert!(frame < frames);
            let at = event["at"].as_f64().unwrap();
            assert!(at >= last && at <= profile["endValue"].as_f64().unwrap());
            last = at;
            if event["type"] == "O" {
                open.push(frame);
                opened += 1;
            } else {
                assert_eq!(open.pop(), Some(frame));
            }
        }
        assert!(open.is_empty());
    }
    assert_eq!(opened, written.events);
    let thread = "host:CPU/main \"thread\"";
    assert_eq!(profiles, ["TPU:0/Steps", "TPU:0/XLA Ops", "TPU:0/XLA Ops [2]", thread]);
}

#[test]
fn a_scope_chooses_and_what_is_not_there_is_refused() {
    // Whole events, those that overlap only: the loop, not the copy that starts when it is over.
    assert_eq!(exported(Format::Chrome, &[("tracks", "1"), ("window", "0ns..20ns")]).0.events, 2);
    // The step's own time on the device; the thread has what is in it of any device.
    assert_eq!(exported(Format::Chrome, &[("steps", "2"), ("tracks", "TPU")]).0.events, 2);
    assert_eq!(exported(Format::Chrome, &[("devices", "TPU:0")]).0.tracks, 4);
    for (error, says) in [
        (refused(&[], &["nothing"]), "1 = TPU:0/XLA Ops"),
        (refused(&[("hosts", "x")], &[]), "the run has: h"),
        (refused(&[("devices", "GPU:7")], &[]), "TPU:0"),
        (refused(&[("steps", "9")], &[]), "steps 1 to 2"),
    ] {
        assert!(error.to_string().contains(says), "{error}");
    }
    assert_eq!(Format::of_file("a/b.trace.json.gz"), Some(Format::Chrome));
    assert_eq!(Format::of_file("b.speedscope.json"), Some(Format::Speedscope));
    assert_eq!(Format::of_file("x"), None);
}
