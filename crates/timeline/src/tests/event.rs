//! What an event says of its op.

use super::*;
use haloscope_report::scope::Scope;
use haloscope_time::ops;
use haloscope_time::select::Selection;

/// A TPU with peaks, a step, a program and two ops in it, the first by the device's own clock twice as long.
fn device() -> WritePlane {
    let mut device = plane("/device:TPU:0", vec![]);
    let stat = |id: i64, name: &str| (id, StatMetadata { id, name: name.into(), ..Default::default() });
    device.stat_metadata.extend([
        stat(10, "flops"),
        stat(11, "tf_op"),
        stat(12, "source_stack"),
        stat(13, "peak_teraflops_per_second"),
        stat(14, "peak_hbm_bw_gigabytes_per_second"),
        stat(15, "device_duration_ps"),
    ]);
    device.stats = vec![
        Stat { metadata_id: 13, value: Value::Double(100.0) },
        Stat { metadata_id: 14, value: Value::Double(1000.0) },
    ];
    let meta = |id: i64, name: &str, stats| {
        (id, EventMetadata { id, name: name.into(), stats, ..Default::default() })
    };
    let stack = "model.py:48:9\nmodel.py:67:6 (forward)\n";
    device.event_metadata = vec![
        meta(
            1,
            "fusion.1",
            vec![
                Stat { metadata_id: 1, value: Value::Uint(7) },
                Stat { metadata_id: 2, value: Value::Uint(1000) },
                Stat { metadata_id: 3, value: Value::Str("loop fusion".into()) },
                Stat { metadata_id: 10, value: Value::Uint(10_000) },
                Stat { metadata_id: 11, value: Value::Str("jit(step)/add:".into()) },
                Stat { metadata_id: 12, value: Value::Str(stack.into()) },
            ],
        ),
        meta(
            2,
            "copy-start.1",
            vec![
                Stat { metadata_id: 1, value: Value::Uint(7) },
                Stat { metadata_id: 2, value: Value::Uint(64) },
                Stat { metadata_id: 3, value: Value::Str("copy-start".into()) },
            ],
        ),
        meta(3, "jit_step(7)", vec![]),
        meta(4, "5", vec![]),
    ];
    let mut ops = line(3, "XLA Ops", &[(1, 0, 1000), (2, 2000, 500), (1, 9000, 1000)]);
    ops.events[0].stats = vec![Stat { metadata_id: 15, value: Value::Uint(2000) }];
    device.lines = vec![line(1, "Steps", &[(4, 0, 8000)]), line(2, "XLA Modules", &[(3, 0, 4000)]), ops];
    device
}

#[test]
fn an_op_says_how_much_it_did_and_where_it_comes_from() {
    let t = timeline(vec![device()]);
    let event = t.event(LineId(2), 0).unwrap();
    let op = &event.op;
    assert_eq!((op.category.as_deref(), op.module.as_deref()), (Some("loop fusion"), Some("jit_step")));
    assert_eq!((op.instruction.as_deref(), op.op_name.as_deref()), (Some("fusion.1"), Some("jit(step)/add")));
    assert_eq!((op.flops, op.bytes), (Some(10_000.0), Some(1000.0)));
    // In 2 ns, by the device's own clock: 5 TFLOP/s of 100, 500 GB/s of 1000.
    let near = |v: Option<f64>, expected: f64| (v.unwrap() / expected - 1.0).abs() < 1e-12;
    assert!(near(op.byte_rate, 5e11) && near(op.byte_share, 0.5), "{:?}", op.byte_rate);
    assert!(near(op.flop_rate, 5e12) && near(op.flop_share, 0.05), "{:?}", op.flop_rate);
    assert_eq!(op.bound_by, Some("memory"));
    let peaks = EventPeaks { flops: Some(1e14), hbm: Some(1e12), source: "trace".into() };
    assert_eq!(op.peaks, Some(peaks));
    let frame = |line, function: Option<&str>| Frame {
        file: "model.py".into(),
        line: Some(line),
        function: function.map(str::to_owned),
    };
    assert_eq!(op.source, Some(vec![frame(48, None), frame(67, Some("forward"))]));
    assert_eq!(event.step, Some(5));
    assert_eq!(t.event(LineId(2), 2).unwrap().step, None);
    assert_eq!(t.event(LineId(0), 0).unwrap().op, OpDetails::default());
    assert_eq!(t.event(LineId(1), 0).unwrap().op.module.as_deref(), Some("jit_step"));
}

#[test]
fn asynchronous_ops_have_no_rates() {
    let copy = timeline(vec![device()]).event(LineId(2), 1).unwrap().op;
    assert_eq!((copy.bytes, copy.byte_rate, copy.byte_share), (Some(64.0), None, None));
    assert_eq!((copy.bound_by, copy.source), (Some("memory"), None));
}

#[test]
fn a_call_that_the_python_tracer_saw_knows_its_place() {
    let mut host = plane("/host:CPU", vec![line(1, "python", &[(1, 0, 10)])]);
    host.event_metadata[0].1.display_name = "$train.py:12 step".into();
    let event = timeline(vec![host]).event(LineId(0), 0).unwrap();
    let frame = Frame { file: "train.py".into(), line: Some(12), function: Some("step".into()) };
    assert_eq!(event.op, OpDetails { source: Some(vec![frame]), ..OpDetails::default() });
}

/// Events, tiles and `ops` read the same ops: of TPUs from metadata, of GPUs and CPUs from the embedded HLO.
#[test]
fn events_and_tiles_say_what_ops_says() {
    let runs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/runs");
    let mut stacks = 0;
    for run in ["tpu-train", "gpu-train", "cpu-train"] {
        let profile = Arc::new(load::open(&load::find(&runs.join(run)).unwrap()).unwrap());
        let selection = Selection::resolve(&profile, &Scope::default()).unwrap();
        let ops = ops::collect(&profile, &selection);
        let t = Timeline::new(Arc::clone(&profile));
        let tracks = t.tracks();
        let mut seen = 0;
        for track in tracks.groups.iter().flat_map(|g| &g.tracks) {
            let bytes = t.tile(tracks.start_ps, tracks.end_ps, 1, &[LineId(track.id)], Colour::Category);
            let classes = tile::Tile::read(&bytes.unwrap()).classes;
            for event in 0..track.events.min(40) {
                let details = t.event(LineId(track.id), event).unwrap();
                let Some(instruction) = details.op.instruction else { continue };
                let of_event = |op: &&ops::Op<'_>| {
                    op.meta.name == instruction && details.op.module.as_deref() == Some(&*op.module)
                };
                let Some(op) = ops.iter().find(of_event) else { continue };
                seen += 1;
                assert_eq!(details.op.category.as_deref().unwrap_or_default(), op.meta.category, "{run}");
                assert_eq!((details.op.flops, details.op.bytes), (op.meta.flops, op.meta.hbm_bytes), "{run}");
                let place = details.op.source.as_ref().and_then(|frames| frames.first());
                if let (Some(place), false) = (place, op.meta.source.is_empty()) {
                    stacks += 1;
                    let line = place.line.map(|line| format!(":{line}")).unwrap_or_default();
                    assert_eq!(format!("{}{line}", place.file), op.meta.source, "{run}");
                }
                assert!(track.kind != "ops" || !classes.is_empty(), "{run}: {}", track.name);
            }
        }
        assert!(seen > 10, "{run}: {seen} events");
    }
    assert!(stacks > 10, "{stacks} stacks");
}
