use super::*;
use crate::{DeviceExposure, Form};

const US: i64 = 1_000_000;

/// An execution that stands in its collective from `start_us` to `end_us`.
fn at(device: u32, start_us: i64, end_us: i64) -> Execution {
    let length = (end_us - start_us) * US;
    Execution {
        device: DeviceId(device),
        start_ps: start_us * US,
        end_ps: end_us * US,
        transfer_end_ps: None,
        inflight_ps: length,
        exposed_ps: length,
        hidden_ps: 0,
        done_ps: 0,
        members: 1,
        unpaired: None,
    }
}

fn exposure(device: u32, exposed_ps: i64) -> DeviceExposure {
    DeviceExposure {
        device: DeviceId(device),
        steps: 1,
        step_ps: 1000 * US,
        busy_ps: 1000 * US - exposed_ps,
        exposed_ps,
        idle_ps: 0,
        inflight_ps: exposed_ps,
        hidden_ps: 0,
        uncovered_ps: exposed_ps,
        wall_ps: exposed_ps,
        done_ps: 0,
        outside: 0,
    }
}

/// A run in which one program ran once on each device, for a millisecond by each one's clock.
fn made(collectives: Vec<Collective<'static>>, devices: u32) -> (Communication<'static>, Numbering) {
    let exposed = |device: u32| {
        let own = collectives.iter().flat_map(|c| &c.executions).filter(|e| e.device.0 == device);
        own.map(|e| e.exposed_ps).sum()
    };
    let exposures = (0..devices).map(|device| exposure(device, exposed(device))).collect();
    let run = |device: u32| (DeviceId(device), vec![(0, 10_000 * US, Key::Step(1))]);
    let order = Numbering { of: (0..devices).map(run).collect() };
    (Communication { collectives, devices: exposures }, order)
}

fn together(members: &[i64]) -> Groups {
    Groups { lists: vec![members.to_vec()], size: Some(members.len() as u64), ..Groups::default() }
}

fn found(communication: &Communication<'_>, order: &Numbering, groups: &Groups) -> Skew {
    let groups = vec![Some(groups.clone()); communication.collectives.len()];
    find_in(communication, order, &groups, |_, device| Some(i64::from(device.0)))
}

fn synchronous(executions: Vec<Execution>) -> Collective<'static> {
    Collective { kind: "all-reduce".into(), executions, ..Collective::default() }
}

#[test]
fn the_last_to_come_is_named_and_the_others_wait() {
    // Four times: device 2 comes 30 us after the others, the transfer takes 10 us. The clock of device 1 is 500 us ahead.
    let mut executions = Vec::new();
    for n in 0..4 {
        let t = 100 * n;
        executions.extend([at(0, t, t + 40), at(1, t + 500, t + 540), at(2, t + 30, t + 40)]);
    }
    executions.sort_by_key(|e| (e.device.0, e.start_ps));
    let (communication, order) = made(vec![synchronous(executions)], 3);
    let skew = found(&communication, &order, &together(&[0, 1, 2]));
    assert_eq!((skew.seen, skew.disagreeing), (4, 0));
    assert_eq!(skew.transfer_ps, [Some(10.0 * US as f64)]);
    let last = &skew.devices[2];
    assert_eq!((last.device, last.last, last.shared, last.caused_ps), (DeviceId(2), 4, 4, 4 * 30 * US));
    assert_eq!((skew.devices[0].waited_ps, skew.devices[2].waited_ps), (4 * 30 * US, 0));
    assert_eq!((skew.devices[1].offset_ps, skew.devices[1].uncertainty_ps), (Some(500 * US), Some(1000)));
    let parts = skew.parts(&communication);
    assert_eq!(parts.waiting_ps, Some(80.0 * US as f64));
    assert_eq!(parts.transfer_ps, Some(40.0 * US as f64));
    assert_eq!(parts.unknown_ps, 0.0);
}

#[test]
fn what_one_member_alone_was_seen_of_is_unknown() {
    let executions = vec![at(0, 0, 40), at(1, 0, 30)];
    let (communication, order) = made(vec![synchronous(executions)], 2);
    let groups = Groups { lists: vec![vec![0, 5], vec![1, 6]], ..Groups::default() };
    let skew = found(&communication, &order, &groups);
    assert_eq!((skew.seen, skew.transfer_ps[0], skew.waits[0].clone()), (0, None, vec![None, None]));
    let parts = skew.parts(&communication);
    assert_eq!((parts.waiting_ps, parts.transfer_ps, parts.unknown_ps), (None, None, 35.0 * US as f64));
    assert!(skew.devices.iter().all(|own| own.blamed_ps == 0.0));
}

#[test]
fn ends_that_do_not_fit_together_say_nothing() {
    // Told to be one group, they are two: their ends wander against each other.
    let mut executions = Vec::new();
    for n in 0..6 {
        let t = 100 * n;
        executions.extend([at(0, t, t + 20), at(1, t + 15 * (n % 3), t + 20 + 15 * (n % 3))]);
    }
    executions.sort_by_key(|e| (e.device.0, e.start_ps));
    let (communication, order) = made(vec![synchronous(executions)], 2);
    let skew = found(&communication, &order, &together(&[0, 1]));
    assert_eq!(skew.seen, 6);
    assert!(skew.disagreeing >= 2, "{skew:?}");
    assert!(skew.devices.iter().all(|own| own.blamed_ps == 0.0));
}

#[test]
fn waits_within_the_uncertainty_are_nobodys_fault() {
    let mut executions = Vec::new();
    for n in 0..5 {
        let t = 1000 * n;
        // The second stands in it 2 us less each time, and ends 3 us earlier or later.
        let off = [0, 3, -3, 3, -3][n as usize];
        executions.extend([at(0, t, t + 200), at(1, t + 2 + off, t + 200 + off)]);
    }
    executions.sort_by_key(|e| (e.device.0, e.start_ps));
    let (communication, order) = made(vec![synchronous(executions)], 2);
    let skew = found(&communication, &order, &together(&[0, 1]));
    assert_eq!(skew.disagreeing, 0);
    assert!(skew.devices[1].uncertainty_ps.unwrap() > 2 * US);
    assert_eq!((skew.devices[1].last, skew.devices[0].waited_ps), (0, 10 * US));
    assert!(skew.devices.iter().all(|own| own.blamed_ps == 0.0));
}

#[test]
fn a_done_waits_for_a_start_elsewhere() {
    // Synchronous ones tie the clocks; then device 0 stands in its done from 120 on, and device 1 starts at 150 only.
    let ties = (0..3).flat_map(|n| [at(0, 10 * n, 10 * n + 5), at(1, 10 * n, 10 * n + 5)]);
    let mut ties: Vec<Execution> = ties.collect();
    ties.sort_by_key(|e| (e.device.0, e.start_ps));
    let late =
        |e: Execution, done_us: i64| Execution { done_ps: done_us * US, exposed_ps: done_us * US, ..e };
    let gather = Collective {
        kind: "all-gather".into(),
        form: Form::Asynchronous,
        executions: vec![late(at(0, 100, 170), 50), late(at(1, 150, 170), 10)],
        ..Collective::default()
    };
    let (communication, order) = made(vec![synchronous(ties), gather], 2);
    let skew = found(&communication, &order, &together(&[0, 1]));
    assert_eq!(skew.waits[1], [Some(30 * US), Some(0)]);
    assert_eq!((skew.devices[1].last, skew.devices[1].caused_ps), (1, 30 * US));
}

#[test]
fn executions_are_matched_by_their_number_in_the_run_only() {
    // Device 1 ran it once less: nobody knows which.
    let executions = vec![at(0, 0, 10), at(0, 20, 30), at(1, 0, 10)];
    let (communication, order) = made(vec![synchronous(executions)], 2);
    let skew = found(&communication, &order, &together(&[0, 1]));
    assert_eq!(skew.seen, 0);
}
