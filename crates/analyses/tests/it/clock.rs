//! How far the hosts' clocks are apart.

use std::sync::Arc;

use haloscope_profile::load;
use haloscope_timeline::{Clock, Timeline};

use super::made::{Made, US, bytes};
use super::support::{open, traces};

/// What a made host has on its device.
#[derive(Clone, Copy, PartialEq)]
enum With {
    Runs,
    Steps,
    Neither,
}

/// A host whose clock is ahead by `ahead` microseconds. Of five executions it saw those from `first` on; `late` is when it arrives at
/// each collective, all of which end together up to a microsecond.
fn host(ahead: i64, first: i64, late: i64, with: With) -> Vec<u8> {
    let mut device = Made::tpu(0);
    let reduce = device.op("all-reduce.1", "all-reduce", 1, 1);
    let done = device.op("all-gather-done.2", "all-gather-done", 0, 0);
    let at = |run: i64| (1000 * run + ahead) * US;
    if with == With::Steps {
        let metas: Vec<i64> = (0..5).map(|run| device.meta(&(40 + run).to_string(), &[])).collect();
        let steps: Vec<_> = (first..5).map(|run| (metas[run as usize], at(run), 900 * US)).collect();
        device.line("Steps", 0, &steps);
    }
    device.line("XLA Modules", 0, &[]);
    for run in first..5 {
        let stats = [("run_id", 70 + run), ("queue_id", 1)];
        // Executions end when they like.
        let length = (900 - 10 * late) * US;
        device.event("jit_step(7)", at(run), length, if with == With::Runs { &stats } else { &[] });
    }
    let mut ops = Vec::new();
    for run in first..5 {
        for (k, jitter) in [(0, 0), (1, 1), (2, -1)] {
            let (start, end) =
                (at(run) + (100 * k + late) * US, at(run) + (100 * k + 80 + jitter * ahead.signum()) * US);
            ops.push((reduce, start, end - start));
        }
        ops.push((done, at(run) + (400 + 5 * late) * US, 10 * US));
    }
    device.line("XLA Ops", 0, &ops);
    bytes(vec![device, Made::environment(1_700_000_000_000_000_000, 1_700_000_001_000_000_000)])
}

fn clock(hosts: &[Vec<u8>]) -> Clock {
    let folder = tempfile::tempdir().unwrap();
    for (i, bytes) in hosts.iter().enumerate() {
        std::fs::write(folder.path().join(format!("w-{i}.xplane.pb")), bytes).unwrap();
    }
    Timeline::new(Arc::new(load::open(&load::find(folder.path()).unwrap()).unwrap())).clock()
}

#[test]
fn a_shifted_host_is_found_out() {
    // The second saw the run from its third execution on, and arrives late at every collective.
    let found =
        clock(&[host(0, 0, 0, With::Runs), host(37, 2, 30, With::Runs), host(-1500, 0, 5, With::Runs)]);
    let [first, second, third] = &found.hosts[..] else { panic!("{found:?}") };
    assert_eq!((first.host.as_str(), first.offset_ps, first.uncertainty_ps), ("w-0", Some(0), Some(0)));
    assert_eq!((second.offset_ps, second.samples), (Some(37 * US), 9), "{}", second.method);
    assert!(second.uncertainty_ps.unwrap() <= 2 * US && second.uncertainty_ps.unwrap() > 0);
    assert!(second.method.contains("program run"));
    assert_eq!((third.offset_ps, third.samples), (Some(-1500 * US), 15), "by more than an execution takes");
    assert!(found.note.contains("stragglers"));
}

#[test]
fn step_numbers_tie_where_runs_are_not_numbered() {
    let found = clock(&[host(0, 0, 0, With::Steps), host(37, 2, 30, With::Steps)]);
    assert_eq!((found.hosts[1].offset_ps, found.hosts[1].samples), (Some(37 * US), 9));
    assert!(found.hosts[1].method.contains("step number"));
}

#[test]
fn what_nothing_ties_is_unknown() {
    // Without numbers steps are counted from the start of each capture, and the two began at different times.
    let found = clock(&[host(0, 0, 0, With::Neither), host(37, 2, 0, With::Neither)]);
    assert_eq!(
        (found.hosts[1].offset_ps, found.hosts[1].uncertainty_ps, found.hosts[1].samples),
        (None, None, 0)
    );
    let mixed = clock(&[host(0, 0, 0, With::Runs), host(0, 0, 0, With::Steps)]);
    assert_eq!(mixed.hosts[1].offset_ps, None);
    let alone = Timeline::new(Arc::new(open("gpu-train"))).clock();
    assert_eq!((alone.hosts.len(), alone.hosts[0].offset_ps), (1, Some(0)));
}

/// Profiles of one clock: a run of eight hosts with a straggler, and one of four hosts.
#[test]
fn hosts_of_one_clock_are_together() {
    for run in ["forged/straggler_v6e32", "forged/dense_train_v5e16"] {
        let Some(folder) = traces(run) else { return };
        let found = Timeline::new(Arc::new(load::open(&load::find(&folder).unwrap()).unwrap())).clock();
        assert!(found.hosts.len() > 3);
        for host in &found.hosts[1..] {
            let (offset, spread) = (host.offset_ps.unwrap(), host.uncertainty_ps.unwrap());
            assert!(host.samples > 50 && host.method.contains("collectives"), "{host:?}");
            assert!(offset.abs() <= 2 * spread && offset.abs() < 2000 && spread < 5 * US, "{host:?}");
        }
    }
}
