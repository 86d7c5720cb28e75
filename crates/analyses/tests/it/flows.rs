//! Arrows between events of the timeline.

use std::sync::Arc;

use haloscope_profile::load;
use haloscope_profile::{LineId, LineKind, Profile};
use haloscope_timeline::{Flow, FlowEnd, FlowKind, FlowsOf, Timeline};

use super::made::{Made, US, profile};
use super::support::{open, traces};

const ALL: FlowsOf<'static> = FlowsOf::Window(i64::MIN, i64::MAX, None);

fn name(profile: &Profile, end: FlowEnd) -> String {
    let line = profile.line(LineId(end.track));
    let plane = profile.plane(line.plane);
    let event = profile.events(line).get(end.event as usize);
    plane.meta_label(profile.source_of(plane), event.meta).into_owned()
}

/// A thread that enqueues two programs and tells another thread, and the TPU that runs them.
fn launches() -> Timeline {
    let mut host = Made::named("/host:CPU");
    host.line("main", 0, &[]);
    let run = |id| [("device_ordinal", 0), ("queue_id", 1), ("run_id", id)];
    host.event("DoEnqueueProgram", 0, 5 * US, &run(7));
    host.event("DoEnqueueProgram", 10 * US, 5 * US, &run(8));
    host.event("send", 30 * US, US, &[("_pt", 5), ("_p", 99)]);
    host.line("other", 0, &[]);
    host.event("receive", 40 * US, US, &[("_ct", 5), ("_c", 99)]);
    host.event("alone", 50 * US, US, &[("_ct", 5), ("_c", 98)]);
    let mut device = Made::tpu(0);
    device.line("XLA Modules", 0, &[]);
    device.event("jit_a(1)", 3 * US, 4 * US, &[("queue_id", 1), ("run_id", 7)]);
    device.event("jit_a(1)", 20 * US, 4 * US, &[("queue_id", 1), ("run_id", 8)]);
    Timeline::new(Arc::new(profile(vec![host, device])))
}

#[test]
fn launches_lead_to_executions_and_threads_to_threads() {
    let timeline = launches();
    let found = timeline.flows(ALL, 100).unwrap();
    let seen: Vec<_> = found
        .flows
        .iter()
        .map(|f| (f.kind, f.via, (f.from.track, f.from.event), (f.to.track, f.to.event), f.from.time_ps / US))
        .collect();
    let expected = [
        // The first execution began before its launch had ended.
        (FlowKind::Launch, "tpu_launch", (0, 0), (2, 0), 3),
        (FlowKind::Launch, "tpu_launch", (0, 1), (2, 1), 15),
        (FlowKind::Send, "PjRt", (0, 2), (1, 0), 31),
    ];
    assert_eq!((found.total, seen.as_slice()), (3, expected.as_slice()), "what nobody sent has no arrow");
    assert_eq!(found.flows[1].to.time_ps, 20 * US);

    let total = |of| timeline.flows(of, 100).unwrap().total;
    assert_eq!(total(FlowsOf::Event(LineId(0), 1)), 1);
    assert_eq!(total(FlowsOf::Event(LineId(2), 1)), 1, "from either end");
    assert_eq!(total(FlowsOf::Event(LineId(1), 1)), 0);
    assert_eq!(total(FlowsOf::Window(16 * US, 18 * US, None)), 1, "an arrow may cross a window");
    assert_eq!(total(FlowsOf::Window(0, 100 * US, Some(&[LineId(0), LineId(2)]))), 2, "both ends are shown");
    assert!(timeline.flows(FlowsOf::Window(5, 5, None), 1).is_err());
    assert!(timeline.flows(FlowsOf::Window(0, 5, Some(&[LineId(9)])), 1).is_err());
    assert!(timeline.flows(FlowsOf::Event(LineId(0), 77), 1).is_err());
}

#[test]
fn each_done_has_the_start_of_its_name() {
    for run in ["tpu-train", "tpu-decode", "tpu-input-bound"] {
        let profile = Arc::new(open(run));
        let timeline = Timeline::new(Arc::clone(&profile));
        let all = timeline.flows(ALL, usize::MAX).unwrap();
        let pairs: Vec<&Flow> = all.flows.iter().filter(|f| f.kind == FlowKind::Async).collect();
        for pair in &pairs {
            let (start, done) = (name(&profile, pair.from), name(&profile, pair.to));
            assert_eq!(start.replacen("-start", "-done", 1), done, "{run}");
            assert!(pair.from.time_ps <= pair.to.time_ps && pair.from.track == pair.to.track);
        }
        let mut dones = 0;
        for line in profile.lines.iter().filter(|l| l.kind == LineKind::XlaOps) {
            let plane = profile.plane(line.plane);
            let label = |meta| plane.meta_label(profile.source_of(plane), meta);
            dones +=
                profile.events(line).metas().iter().filter(|meta| label(**meta).contains("-done")).count();
        }
        assert_eq!(pairs.len(), dones, "{run}: no done without a start");
        assert!(dones > 10);
    }
}

#[test]
fn some_of_many_are_the_same_at_every_call_and_spread_over_the_window() {
    let timeline = Timeline::new(Arc::new(open("tpu-train")));
    let all = timeline.flows(ALL, usize::MAX).unwrap();
    assert!(all.total > 500 && all.flows.len() == all.total);
    let some = timeline.flows(ALL, 50).unwrap();
    assert_eq!((some.total, some.flows.len()), (all.total, 50));
    assert_eq!(some, timeline.flows(ALL, 50).unwrap());
    let place = |flow: &Flow| all.flows.iter().position(|f| f == flow).unwrap();
    let places: Vec<usize> = some.flows.iter().map(place).collect();
    let widest = places.windows(2).map(|w| w[1] - w[0]).max().unwrap();
    assert!(widest <= all.total / 50 + 1, "{places:?}");
    assert_eq!(timeline.flows(ALL, 0).unwrap().flows, []);
}

/// Four TPUs of one host as a real profiler recorded them: every program execution has its launch.
#[test]
fn every_execution_of_a_real_run_has_its_launch() {
    let Some(folder) = traces("real/v6e-four-chips") else { return };
    let profile = Arc::new(load::open(&load::find(&folder).unwrap()).unwrap());
    let found = Timeline::new(Arc::clone(&profile)).flows(ALL, usize::MAX).unwrap();
    let launches: Vec<&Flow> = found.flows.iter().filter(|f| f.kind == FlowKind::Launch).collect();
    let modules = profile.lines.iter().filter(|l| l.kind == LineKind::XlaModules);
    let executions: usize = modules.map(|l| profile.events(l).len()).sum();
    assert!(executions > 100);
    assert_eq!(launches.len(), executions);
    assert!(launches.iter().all(|f| name(&profile, f.from) == "DoEnqueueProgram"));
}
