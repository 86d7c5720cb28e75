use haloscope_xspace::write::{
    Event as Written, EventMetadata, Line as WrittenLine, Plane as WrittenPlane, Space, Stat, StatMetadata,
    Value,
};

use super::*;
use crate::account::Account;
use crate::op_rows::DeviceOps;
use crate::{busy, launches, ops};
use haloscope_profile::load;

const US: i64 = 1_000_000;

/// A host with threads, as XLA on CPU writes it.
struct Host(WrittenPlane);

impl Host {
    fn new() -> Self {
        let mut plane = WrittenPlane { name: "/host:CPU".into(), ..WrittenPlane::default() };
        for (id, name) in (1_i64..).zip(["hlo_op", "_pt", "_p", "_ct", "_c", "run_id", "hlo_module"]) {
            let meta = StatMetadata { id, name: name.into(), description: String::new() };
            plane.stat_metadata.push((id, meta));
        }
        Self(plane)
    }

    fn thread(&mut self, name: &str) -> &mut Self {
        let id = self.0.lines.len() as i64 + 1;
        self.0.lines.push(WrittenLine::new(id, name));
        self
    }

    fn event(&mut self, name: &str, from: i64, to: i64, stats: &[(i64, Value)]) -> &mut Self {
        let known = self.0.event_metadata.iter().find(|(_, meta)| meta.name == name).map(|(id, _)| *id);
        let id = known.unwrap_or_else(|| {
            let id = self.0.event_metadata.len() as i64 + 1;
            let meta = EventMetadata { id, name: name.into(), ..EventMetadata::default() };
            self.0.event_metadata.push((id, meta));
            id
        });
        let mut event = Written::at(id, from * US, (to - from) * US);
        let stat =
            |(metadata_id, value): &(i64, Value)| Stat { metadata_id: *metadata_id, value: value.clone() };
        event.stats = stats.iter().map(stat).collect();
        self.0.lines.last_mut().unwrap().events.push(event);
        self
    }

    fn op(&mut self, name: &str, from: i64, to: i64, number: u64) -> &mut Self {
        let stats = [
            (1, Value::Str(name.into())),
            (2, Value::Uint(0)),
            (3, Value::Uint(number)),
            (6, Value::Uint(7)),
            (7, Value::Str("jit_step".into())),
        ];
        self.event(name, from, to, &stats)
    }

    fn end(&mut self, name: &str, at: i64, number: u64) -> &mut Self {
        self.event(&format!("end: {name}"), at, at, &[(4, Value::Uint(0)), (5, Value::Uint(number))])
    }

    fn asks(&mut self, at: i64, number: u64) -> &mut Self {
        self.event("ThreadpoolListener::Record", at, at, &[(2, Value::Uint(15)), (3, Value::Uint(number))])
    }

    fn region(&mut self, from: i64, to: i64, number: u64) -> &mut Self {
        let stats = [(4, Value::Uint(15)), (5, Value::Uint(number))];
        self.event("ThreadpoolListener::StartRegion", from, from, &stats);
        self.event("ThreadpoolListener::StopRegion", to, to, &[])
    }

    fn profile(&self) -> Profile {
        let space = Space { planes: vec![self.0.clone()], ..Space::default() };
        load::from_bytes("host.xplane.pb", space.to_bytes()).unwrap()
    }
}

/// Name, executions, time and self time in microseconds, by name.
fn times(profile: &Profile, cut: Option<(i64, i64)>) -> Vec<(String, u64, i64, i64)> {
    let rows = DeviceOps::find(profile, &profile.devices[0]);
    let cut = cut.map(|(from, to)| Intervals::one(from * US, to * US));
    let mut all: Vec<_> = ops::of_rows(profile, rows, cut.as_ref())
        .iter()
        .map(|op| (op.meta.name.to_string(), op.occurrences, op.total_ps / US, op.self_ps / US))
        .collect();
    all.sort();
    all
}

fn busy_us(profile: &Profile) -> Vec<(i64, i64)> {
    let busy = busy::intervals(profile, &profile.devices[0]);
    busy.as_slice().iter().map(|(from, to)| (from / US, to / US)).collect()
}

#[test]
fn an_op_lasts_until_its_marker_and_not_until_its_event_ends() {
    let mut host = Host::new();
    host.thread("tf_XLAPjRtCpuClient/1").op("dot.1", 0, 10, 1).asks(2, 50).asks(3, 51);
    host.thread("tf_XLAEigen/1").region(12, 400, 50);
    host.thread("tf_XLAEigen/2").region(14, 500, 51).end("dot.1", 498, 1);
    let profile = host.profile();
    assert_eq!(times(&profile, None), [("dot.1".into(), 1, 498, 498)]);
    assert_eq!(busy_us(&profile), [(0, 498)]);
    let launches = launches::of(&profile, &profile.devices[0]);
    assert_eq!(launches.iter().map(|l| l.end_ps / US).collect::<Vec<_>>(), [498]);
    // Half of it in a window.
    assert_eq!(times(&profile, Some((0, 249))), [("dot.1".into(), 1, 249, 249)]);
    let account = Account::of(&profile, &profile.devices[0], &Intervals::default()).unwrap();
    let times = account.times(None);
    assert_eq!(times.total() - times.of_group(crate::account::Group::Idle), 498 * US);
}

#[test]
fn one_done_where_it_began_ends_with_its_event() {
    let mut host = Host::new();
    host.thread("tf_XLAEigen/1").op("add.1", 0, 20, 1).end("add.1", 19, 1);
    host.op("add.2", 30, 90, 2).end("add.2", 50, 2);
    // The second was done long before its thread came back.
    assert_eq!(times(&host.profile(), None), [("add.1".into(), 1, 20, 20), ("add.2".into(), 1, 20, 20)]);
}

#[test]
fn ops_at_one_time_share_it_by_threads() {
    let mut host = Host::new();
    // Three threads work for the product and one for the sum; the sum's thread is then free.
    host.thread("tf_XLAPjRtCpuClient/1").op("dot.1", 0, 100, 1).asks(0, 50).asks(0, 51);
    host.thread("tf_XLAEigen/1").region(0, 100, 50);
    host.thread("tf_XLAEigen/2").region(0, 100, 51);
    host.thread("tf_XLAEigen/3").op("add.1", 0, 40, 2).end("add.1", 40, 2).end("dot.1", 100, 1);
    let profile = host.profile();
    assert_eq!(times(&profile, None), [("add.1".into(), 1, 10, 10), ("dot.1".into(), 1, 90, 90)]);
    assert_eq!(busy_us(&profile), [(0, 100)]);
}

#[test]
fn a_region_that_a_region_asked_for_works_for_the_same_op_until_it_is_done() {
    let mut host = Host::new();
    host.thread("tf_XLAPjRtCpuClient/1")
        .op("dot.1", 0, 10, 1)
        .asks(5, 50)
        .op("dot.2", 10, 20, 2)
        .asks(15, 60);
    host.thread("tf_XLAEigen/1").region(10, 50, 50).region(300, 400, 90);
    host.thread("tf_XLAEigen/2")
        .region(60, 200, 51)
        .end("dot.1", 200, 1)
        .region(200, 300, 60)
        .end("dot.2", 300, 2);
    // In the first region, at 20.
    host.0.lines[1].events.insert(1, {
        let mut other = Host::new();
        other.thread("").asks(20, 51);
        let mut event = other.0.lines[0].events[0].clone();
        event.metadata_id =
            host.0.event_metadata.iter().find(|(_, m)| m.name == "ThreadpoolListener::Record").unwrap().0;
        event
    });
    // To 20 dot.1 has the region and dot.2 its event; from 20 the region alone; from 50 nobody works, and both are on the way;
    // from 60 its second region; from 200 the other's.
    let profile = host.profile();
    assert_eq!(times(&profile, None), [("dot.1".into(), 1, 190, 190), ("dot.2".into(), 1, 110, 110)]);
    assert_eq!(busy_us(&profile), [(0, 300)]);
}

#[test]
fn what_holds_others_has_what_they_leave() {
    let mut host = Host::new();
    host.thread("tf_XLAPjRtCpuClient/1").op("while.1", 0, 200, 1).op("add.1", 10, 30, 2).end("add.1", 30, 2);
    host.op("add.1", 50, 60, 3).end("while.1", 200, 1);
    host.thread("tf_XLAEigen/1").end("add.1", 160, 3);
    let profile = host.profile();
    assert_eq!(times(&profile, None), [("add.1".into(), 2, 130, 130), ("while.1".into(), 1, 70, 70)]);
    assert_eq!(busy_us(&profile), [(0, 200)]);
}

#[test]
fn without_a_marker_the_last_region_says_when_an_op_was_done() {
    let mut host = Host::new();
    host.thread("tf_XLAPjRtCpuClient/1").op("dot.1", 0, 10, 1).asks(5, 50);
    host.thread("tf_XLAEigen/1").region(20, 70, 50).event("ThunkExecutor::Execute", 80, 90, &[]);
    host.region(100, 200, 99);
    assert_eq!(busy_us(&host.profile()), [(0, 70)]);
}

#[test]
fn markers_without_numbers_go_by_name_in_order() {
    let mut host = Host::new();
    host.thread("tf_XLAPjRtCpuClient/1");
    for from in [0, 100] {
        host.event("dot.1", from, from + 10, &[(1, Value::Str("dot.1".into()))]);
    }
    host.thread("tf_XLAEigen/1").event("end: dot.1", 60, 60, &[]).event("end: dot.1", 190, 190, &[]);
    assert_eq!(busy_us(&host.profile()), [(0, 60), (100, 190)]);
}

#[test]
fn self_times_are_the_busy_time_however_ops_overlap() {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut below = move |most: i64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % most as u64) as i64
    };
    for _ in 0..100 {
        let mut host = Host::new();
        for thread in 0..3 {
            host.thread(&format!("tf_XLAEigen/{thread}"));
            for at in 0..10_u64 {
                let from = below(1000);
                match below(5) {
                    0 => _ = host.asks(from, at),
                    1 => _ = host.region(from, from + below(200), below(10) as u64),
                    2 => _ = host.end(["dot.1", "while.2"][below(2) as usize], from, below(30) as u64),
                    _ => {
                        let name = ["dot.1", "while.2", "all-reduce.3"][below(3) as usize];
                        host.op(name, from, from + below(300), thread * 10 + at);
                    }
                }
            }
        }
        let profile = host.profile();
        let device = &profile.devices[0];
        let busy = busy::intervals(&profile, device);
        let sum = |cut: Option<&Intervals>| -> i64 {
            let rows = DeviceOps::find(&profile, device);
            ops::of_rows(&profile, rows, cut).iter().map(|op| op.self_ps).sum()
        };
        assert_eq!(sum(None), busy.length());
        let cut = Intervals::one(200 * US, 650 * US);
        assert_eq!(sum(Some(&cut)), busy.intersect(&cut).length());
        let Some(account) = Account::of(&profile, device, &Intervals::default()) else { continue };
        let times = account.times(None);
        assert_eq!(times.total() - times.of_group(crate::account::Group::Idle), busy.length());
    }
}
