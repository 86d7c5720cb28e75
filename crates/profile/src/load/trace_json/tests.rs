//! What becomes of traces in JSON: real ones beside their profile, and hostile ones.

use std::path::PathBuf;

use super::*;
use crate::load;
use crate::{LineKind, Profile};

fn session() -> PathBuf {
    let runs = "../../fixtures/trace-json/plugins/profile/2026_01_01_00_00_00";
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(runs)
}

fn of(json: &str) -> Profile {
    load::from_bytes("x.trace.json", json.as_bytes().to_vec()).unwrap()
}

/// Start, duration, name and line of all events, by start.
fn events(profile: &Profile) -> Vec<(i64, i64, String, String)> {
    let mut all = Vec::new();
    for line in &profile.lines {
        let plane = profile.plane(line.plane);
        for event in profile.events(line).iter() {
            let name = plane.meta_label(profile.source_of(plane), event.meta).into_owned();
            all.push((event.start_ps, event.end_ps - event.start_ps, name, line.name.clone()));
        }
    }
    all.sort();
    all
}

#[test]
fn both_traces_have_the_events_of_the_profile_beside_them() {
    let open = |file: &str| load::open(&load::find(&session().join(file)).unwrap()).unwrap();
    let xplane = events(&open("host0.xplane.pb"));
    // Exporters draw an event without length as one of a picosecond, and name threads with their ids.
    let drawn = |all: Vec<(i64, i64, String, String)>| {
        let shape = |(start, length, name, line): (i64, i64, String, String)| {
            (start, length.max(1), name, line.split('/').next().unwrap_or_default().to_owned())
        };
        let mut all: Vec<_> = all.into_iter().map(shape).collect();
        all.sort();
        all
    };
    let own = drawn(xplane);
    assert!(own.len() > 150);
    for file in ["host0.trace.json.gz", "perfetto_trace.json.gz"] {
        let profile = open(file);
        let trace = profile.sources[0].trace_json.clone().unwrap();
        assert_eq!((trace.events, trace.left_out), (own.len() as u64, 0), "{file}");
        let found = drawn(events(&profile));
        // The profile's clock starts at the capture, the trace's with the profiler's own zero: lengths and names tell.
        let without_start = |all: &[(i64, i64, String, String)]| -> Vec<_> {
            let mut all: Vec<_> =
                all.iter().map(|(_, length, name, line)| (*length, name.clone(), line.clone())).collect();
            all.sort();
            all
        };
        assert_eq!(without_start(&found), without_start(&own), "{file}");
        assert_eq!(profile.hosts[0].name, file.split('.').next().unwrap());
    }
}

#[test]
fn a_profile_is_read_in_place_of_the_traces_beside_it() {
    let found = load::find(&session()).unwrap();
    assert_eq!(found.files, [session().join("host0.xplane.pb")]);
    let folder = tempfile::tempdir().unwrap();
    for file in ["host0.trace.json.gz", "perfetto_trace.json.gz"] {
        std::fs::copy(session().join(file), folder.path().join(file)).unwrap();
    }
    assert_eq!(load::find(folder.path()).unwrap().files, [folder.path().join("host0.trace.json.gz")]);
    std::fs::remove_file(folder.path().join("host0.trace.json.gz")).unwrap();
    let found = load::find(folder.path()).unwrap();
    assert_eq!(found.files, [folder.path().join("perfetto_trace.json.gz")]);
    assert!(load::open(&found).unwrap().sources[0].trace_json.is_some());
}

#[test]
fn each_kind_of_entry_is_taken_or_counted() {
    let profile = of(r#"{"other": [1, {"a": 2}], "traceEvents": [
        {"ph":"X","pid":3,"tid":1,"ts":10,"dur":2.5,"name":"fusion.1","args":{"hlo_category":"loop fusion",
            "long_name":"%fusion.1 = f32[]","model_flops":"640","program_id":"18446744073709551615","x":[1,2]}},
        {"ph":"M","pid":3,"name":"process_name","args":{"name":"w-0 /device:TPU:0"}},
        {"ph":"M","pid":3,"tid":1,"name":"thread_name","args":{"name":"XLA Ops"}},
        {"ph":"B","pid":"4","tid":7,"ts":"1","name":"outer"}, {"ph":"E","pid":4,"tid":7,"ts":4},
        {"ph":"E","pid":4,"tid":7,"ts":5}, {"ph":"B","pid":4,"tid":7,"ts":5,"name":"never ends"},
        {"ph":"i","pid":4,"tid":7,"ts":2,"name":"now"},
        {"ph":"C","pid":4,"ts":3,"name":"bytes","args":{"in":1,"out":2.5}},
        {"ph":"s","id":1,"ts":1}, {"ph":"f","id":1,"ts":2}, {"ph":"P","ts":1}, {"ph":"X","ts":"soon","dur":1}, {}
    ]}"#);
    let trace = profile.sources[0].trace_json.clone().unwrap();
    assert_eq!((trace.events, trace.flows, trace.left_out), (5, 2, 4));
    assert!(trace.model_flops && !trace.since_epoch && trace.cut.is_none());
    let planes: Vec<_> = profile.planes.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(planes, ["/device:TPU:0", "process 4"]);
    assert_eq!(profile.lines[0].kind, LineKind::XlaOps);
    assert_eq!(profile.lines.last().unwrap().kind, LineKind::Counters);
    let word = |name: &str, start, length| {
        assert!(events(&profile).iter().any(|e| e.0 == start && e.1 == length && e.2 == name), "{name}");
    };
    word("fusion.1", 10_000_000, 2_500_000);
    word("outer", 1_000_000, 3_000_000);
    word("now", 2_000_000, 0);
    word("bytes: out", 3_000_000, 0);
}

#[test]
fn times_since_1970_are_counted_from_the_first_event() {
    let profile = of(
        r#"[{"ph":"X","ts":1700000000000001,"dur":1,"name":"a"},{"ph":"X","ts":1700000000000000,"dur":1,"name":"b"}]"#,
    );
    let found: Vec<_> = events(&profile).into_iter().map(|e| (e.0, e.2)).collect();
    assert_eq!(found, [(-1_000_000, "b".to_owned()), (0, "a".to_owned())]);
    assert!(profile.sources[0].trace_json.as_ref().unwrap().since_epoch);
}

#[test]
fn what_is_cut_or_wrong_is_told_and_never_a_panic() {
    let whole =
        r#"{"traceEvents":[{"ph":"X","ts":1,"dur":1,"name":"a"},{"ph":"X","ts":3,"dur":1,"name":"b"}]}"#;
    for length in 0..whole.len() {
        let cut = &whole.as_bytes()[..length];
        if let Ok((_, trace)) = convert("x.trace.json".as_ref(), cut) {
            assert!((1..=2).contains(&trace.events) && trace.cut.is_some(), "{length}");
        }
    }
    let deep = format!("[{{\"ph\":\"X\",\"args\":{{\"a\":{}", "[".repeat(100_000));
    for (json, says) in [
        ("", "EOF"),
        ("[]", "none"),
        ("{\"traceEvents\": 7}", "a list of trace events"),
        ("[7]", "an object"),
        (deep.as_str(), "EOF"),
        ("[{\"ph\":\"X\",\"ts\":1e999,\"dur\":1}]", "number out of range"),
    ] {
        let error = convert("x.trace.json".as_ref(), json.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(says), "{json:.40}: {error}");
    }
    // Too far away, backwards, without names, of every type: all of it is somewhere.
    let odd = r#"[{"ph":"X","ts":-1e300,"dur":1e300,"pid":{},"tid":[],"name":null,"args":7},
        {"ph":"X","ts":2,"dur":-5,"pid":true,"tid":1e300,"name":12,"args":{"a":null,"b":{"c":[]}}}]"#;
    let profile = of(odd);
    assert_eq!(profile.sources[0].trace_json.as_ref().unwrap().events, 2);
    assert_eq!(events(&profile).len(), 2);
}
