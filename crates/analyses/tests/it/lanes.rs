//! The timeline's ruler, what ran behind compute, and the gaps inside steps.

use std::sync::Arc;

use haloscope_profile::Profile;
use haloscope_time::busy;
use haloscope_time::intervals::Intervals;
use haloscope_timeline::Timeline;
use haloscope_xspace::write::Value;

use super::made::{Made, US, profile};
use super::support::{ask, column, open};

fn timeline(planes: Vec<Made>) -> Timeline {
    Timeline::new(Arc::new(profile(planes)))
}

#[test]
fn the_ruler_has_the_steps_of_the_analysis() {
    for run in ["tpu-train", "gpu-train", "tpu-input-bound", "tpu-decode", "cpu-train"] {
        let profile = Arc::new(open(run));
        let ruler = Timeline::new(Arc::clone(&profile)).steps();
        let report = ask(&profile, "steps", &[]);
        let table = report.tables.iter().find(|t| t.id == "steps").unwrap();
        let numbers: Vec<i64> = column(table, "step").iter().map(|n| *n as i64).collect();
        assert_eq!(ruler.steps.iter().map(|s| s.number).collect::<Vec<_>>(), numbers, "{run}");
        assert!(!numbers.is_empty() && !ruler.source.is_empty());
        assert!(ruler.steps.iter().all(|s| s.start_ps < s.end_ps && s.devices > 0));
        assert!(ruler.steps.is_sorted_by_key(|s| s.start_ps));
        assert_eq!(ruler.inferred, ruler.source.starts_with("inferred"));
    }
}

#[test]
fn a_step_lasts_from_the_first_device_to_the_last() {
    let device = |ordinal: i64, late: i64| {
        let mut made = Made::tpu(ordinal);
        let (step, op) = (made.meta("4", &[]), made.op("dot.1", "convolution", 1, 1));
        made.line("Steps", 0, &[(step, late, 50 * US)]);
        made.line("XLA Ops", 0, &[(op, late, 20 * US)]);
        made
    };
    let ruler = timeline(vec![device(0, 0), device(1, 7 * US)]).steps();
    let [step] = &ruler.steps[..] else { panic!("{ruler:?}") };
    assert_eq!((step.number, step.start_ps, step.end_ps, step.class), (4, 0, 57 * US, "steady"));
    assert_eq!((step.devices, ruler.inferred), (2, false));
}

/// One step of 100 us: compute 0..30 and 50..60, a wait for a copy 60..70, a collective 70..90; copies 20..40 and 55..75.
fn busy_device(steps: bool) -> Made {
    let mut made = Made::tpu(0);
    let step = made.meta("0", &[]);
    let dot = made.op("dot.1", "convolution", 1, 1);
    let (done, reduce) =
        (made.op("copy-done.2", "copy-done", 0, 0), made.op("all-reduce.3", "all-reduce", 0, 0));
    let body = made.op("while.4", "while", 0, 0);
    let copy = made.meta("copy-start.2", &[]);
    if steps {
        made.line("Steps", 0, &[(step, 0, 100 * US)]);
    }
    let ops = [
        (dot, 0, 30 * US),
        (body, 50 * US, 40 * US),
        (dot, 50 * US, 10 * US),
        (done, 60 * US, 10 * US),
        (reduce, 70 * US, 20 * US),
    ];
    made.line("XLA Ops", 0, &ops);
    made.line("Async XLA Ops", 0, &[(copy, 20 * US, 20 * US), (copy, 55 * US, 20 * US)]);
    made
}

#[test]
fn asynchronous_work_is_hidden_while_the_device_computes() {
    let found = timeline(vec![busy_device(true)]).overlap(0, 100 * US, 100, Vec::new()).unwrap();
    let [device] = &found.devices[..] else { panic!("{found:?}") };
    assert_eq!((device.device.as_str(), device.group.as_str()), ("TPU:0", "p0"));
    assert_eq!(device.async_ps, Some(40 * US));
    assert_eq!((device.hidden_ps, device.exposed_ps), (Some(15 * US), Some(25 * US)));
    let spans = [(20, 10, 1), (30, 10, 0), (55, 5, 1), (60, 15, 0)];
    assert_eq!(device.spans, spans.map(|(from, length, hidden)| (from * US, length * US, hidden)));
    let [step] = device.steps[..] else { panic!("{found:?}") };
    assert_eq!((step.number, step.span_ps, step.busy_ps, step.gap_ps), (Some(0), 100 * US, 70 * US, 30 * US));
    assert_eq!((step.gaps, step.largest_ps), (2, 20 * US));
    assert_eq!(device.gaps, [(30 * US, 20 * US, Some(0)), (90 * US, 10 * US, Some(0))]);

    // A part of it: the window cuts overlap, steps stay whole, gaps of less than a pixel are not drawn.
    let timeline = timeline(vec![busy_device(true)]);
    let part = timeline.overlap(25 * US, 65 * US, 2, vec!["TPU:0".into()]).unwrap();
    let device = &part.devices[0];
    assert_eq!((device.async_ps, device.hidden_ps), (Some(25 * US), Some(10 * US)));
    assert_eq!(
        (device.steps[0].gap_ps, device.gaps.as_slice()),
        (30 * US, &[(30 * US, 20 * US, Some(0))][..])
    );
    assert!(
        timeline.overlap(0, 10, 0, Vec::new()).is_err() && timeline.overlap(9, 9, 5, Vec::new()).is_err()
    );
    assert!(timeline.overlap(0, 10, 5, vec!["TPU:7".into()]).is_err());
}

#[test]
fn without_steps_the_whole_is_looked_at_and_what_is_not_shown_is_unknown() {
    let mut bare = busy_device(false);
    bare.fact("nothing", Value::Int(1));
    let found = timeline(vec![bare]).overlap(0, 100 * US, 100, Vec::new()).unwrap();
    let device = &found.devices[0];
    assert_eq!(device.gaps, [(30 * US, 20 * US, None)]);
    assert_eq!((device.steps[0].number, device.steps[0].span_ps), (None, 90 * US));

    let mut plain = Made::tpu(0);
    let dot = plain.op("dot.1", "convolution", 1, 1);
    plain.line("XLA Ops", 0, &[(dot, 0, 30 * US)]);
    let found = timeline(vec![plain]).overlap(0, 100 * US, 100, Vec::new()).unwrap();
    assert_eq!((found.devices[0].async_ps, found.devices[0].hidden_ps), (None, None), "not 0");
}

#[test]
fn copies_of_a_gpu_are_held_against_its_kernels() {
    let mut gpu = Made::named("/device:GPU:0");
    let (kernel, copy) = (gpu.meta("gemm", &[]), gpu.meta("MemcpyH2D", &[]));
    gpu.line("Stream #1(Compute)", 0, &[(kernel, 0, 30 * US)]);
    gpu.line("Stream #2(MemcpyH2D)", 0, &[(copy, 20 * US, 40 * US)]);
    let found = timeline(vec![gpu]).overlap(0, 100 * US, 100, Vec::new()).unwrap();
    let device = &found.devices[0];
    assert_eq!((device.hidden_ps, device.exposed_ps), (Some(10 * US), Some(30 * US)));
}

/// Sums of the parts are the whole, and busy is what `busy` says, on recorded and generated runs.
#[test]
fn parts_add_up_on_whole_runs() {
    let mut seen = 0;
    for run in ["tpu-train", "gpu-train", "tpu-input-bound", "tpu-decode", "cpu-train", "gpu-amd"] {
        let profile: Arc<Profile> = Arc::new(open(run));
        let timeline = Timeline::new(Arc::clone(&profile));
        let (from, to) = (timeline.tracks().start_ps, timeline.tracks().end_ps);
        let found = timeline.overlap(from, to, 1000, Vec::new()).unwrap();
        for out in &found.devices {
            let device = profile.devices.iter().find(|d| d.name == out.device).unwrap();
            let busy = busy::intervals(&profile, device);
            if let (Some(all), Some(hidden), Some(exposed)) = (out.async_ps, out.hidden_ps, out.exposed_ps) {
                assert_eq!(all, hidden + exposed, "{run}");
                seen += usize::from(hidden > 0);
                assert!(!out.spans.is_empty() && out.spans.len() <= 3000 && out.spans.is_sorted());
            }
            assert!(!out.steps.is_empty(), "{run}");
            let step = out.steps[0];
            assert_eq!(step.busy_ps + step.gap_ps, step.span_ps);
            let ruler = timeline.steps();
            if ruler.steps.first().is_some_and(|s| s.devices == 1) {
                let first = &ruler.steps[0];
                let inside = Intervals::one(first.start_ps, first.end_ps).intersect(&busy);
                assert_eq!(step.busy_ps, inside.length(), "{run}");
            }
        }
    }
    assert!(seen > 2, "{seen} devices hid something");
}
