//! What one pass over a device's events says is what passes of their own say.

use haloscope_profile::DeviceKind;
use haloscope_report::scope::Scope;
use haloscope_time::account::busy_times;
use haloscope_time::op_rows::DeviceOps;
use haloscope_time::op_sums::Sums;
use haloscope_time::select::Selection;
use haloscope_time::steps::Steps;
use haloscope_time::usage::Usage;
use haloscope_time::{busy, device_pass, ops};

use crate::support::{RUNS, open, scope};

#[test]
fn one_pass_and_several_say_the_same() {
    for (name, words) in RUNS.iter().flat_map(|name| [(name, &[][..]), (name, &[("window", "1ms..4ms")])]) {
        let profile = open(name);
        let selection = Selection::resolve(&profile, &scope(words)).unwrap();
        let steps = Steps::find(&profile, &selection.devices);
        let mut of_hosts = Vec::new();
        let (all, usage, spent) =
            device_pass::measure(&profile, &selection, &steps, |host, ops| of_hosts.push((host, ops)));
        assert_eq!(format!("{all:?}"), format!("{:?}", ops::collect(&profile, &selection)), "{name}");
        let apart = Usage::measure(&profile, &selection, &steps);
        assert_eq!(format!("{usage:?}"), format!("{apart:?}"), "{name}");
        for (at, device) in selection.devices.iter().enumerate() {
            assert_eq!(spent[at], busy_times(&profile, device, selection.window(at)), "{name}");
        }
        assert_eq!(of_hosts.len(), profile.hosts.len(), "{name}");
        for (host, ops) in of_hosts {
            let of_host = Scope { hosts: vec![profile.host(host).name.clone()], ..scope(words) };
            let selection = Selection::resolve(&profile, &of_host).unwrap();
            assert_eq!(format!("{ops:?}"), format!("{:?}", ops::collect(&profile, &selection)), "{name}");
        }
    }
}

#[test]
fn lengths_are_those_of_the_sets() {
    for name in RUNS {
        let profile = open(name);
        let selection = Selection::resolve(&profile, &scope(&[])).unwrap();
        let steps = Steps::find(&profile, &selection.devices);
        let (_, usage, _) = device_pass::measure(&profile, &selection, &steps, |_, _| ());
        for (device, found) in selection.devices.iter().zip(&usage.devices) {
            let busy = busy::intervals(&profile, device);
            let (first, last) = busy.hull().unwrap_or_default();
            assert_eq!((found.busy_ps, found.active_ps), (busy.length(), last - first), "{name}");
            assert_eq!(found.gaps_ps, busy.gaps(first, last).length(), "{name}");
            assert_eq!(found.duty, busy::duty_cycle(&profile, device, None), "{name}");
            let rows = DeviceOps::find(&profile, device);
            let mut sums = vec![Sums::default(); rows.ops.len()];
            rows.walk(&profile, None, |row, event, self_ps| sums[row].add(event, self_ps, None));
            let once = ops::sums_of(&profile, &rows);
            let of = |sums: &Sums| (sums.occurrences, sums.self_ps);
            assert!(once.iter().map(of).eq(sums.iter().map(of)), "{name}");
            // On a CPU an op's time is its share of what ran beside it, which events do not have.
            assert!(device.kind == DeviceKind::Cpu || once == sums, "{name}");
        }
    }
}
