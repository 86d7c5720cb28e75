use haloscope_xspace::write::{self, EventMetadata, Line, Space, Stat, StatMetadata, Value};

use super::*;
use haloscope_profile::Profile;
use haloscope_report::Cell;
use haloscope_report::scope::Scope;

const NAMES: &[&str] = &[
    "",
    "allocator_name",
    "bytes_reserved",
    "bytes_allocated",
    "bytes_available",
    "fragmentation",
    "peak_bytes_in_use",
    "requested_bytes",
    "allocation_bytes",
    "addr",
    "tf_op",
];

/// An event at a nanosecond: what it takes or gives back at an address, and the allocator's account after it: reserved,
/// allocated, available, lifetime peak.
#[derive(Clone, Copy)]
struct Act(i64, bool, (i64, u64), [i64; 4]);

fn profile(name: &str, acts: &[Act]) -> Profile {
    let int = |key: i64, value: i64| Stat { metadata_id: key, value: Value::Int(value) };
    let mut line = Line::new(1, "thread");
    for Act(at_ns, is_release, (bytes, address), account) in acts {
        let mut event = write::Event::at(if *is_release { 2 } else { 1 }, at_ns * 1000, 1);
        event.stats = vec![
            Stat { metadata_id: 1, value: Value::Str(name.to_owned()) },
            int(2, account[0]),
            int(3, account[1]),
            int(4, account[2]),
            Stat { metadata_id: 5, value: Value::Double(0.25) },
            int(6, account[3]),
            int(7, bytes - 1),
            int(8, *bytes),
            Stat { metadata_id: 9, value: Value::Uint(*address) },
            Stat { metadata_id: 10, value: Value::Str("op".to_owned()) },
        ];
        line.events.push(event);
    }
    let meta = |id, name: &str| (id, EventMetadata { id, name: name.to_owned(), ..EventMetadata::default() });
    let plane = write::Plane {
        name: "/host:CPU".to_owned(),
        lines: vec![line],
        event_metadata: vec![meta(1, "MemoryAllocation"), meta(2, "MemoryDeallocation")],
        stat_metadata: NAMES
            .iter()
            .enumerate()
            .skip(1)
            .map(|(id, name)| {
                let id = id as i64;
                (id, StatMetadata { id, name: (*name).to_owned(), ..StatMetadata::default() })
            })
            .collect(),
        ..write::Plane::default()
    };
    let space = Space { planes: vec![plane], ..Space::default() };
    Profile::from_files(vec![("host.xplane.pb".into(), Box::new(space.to_bytes()))])
}

fn ask(profile: &Profile, scope: &Scope) -> Result<Report, Error> {
    run(&Scoped::new(profile, scope), &Params::default(), &mut Notes::default())
}

fn column(report: &Report, table: &str, column: &str) -> Vec<Cell> {
    let table = report.table(table).unwrap();
    (0..table.rows.len()).map(|row| table.cell(row, column).unwrap().clone()).collect()
}

fn numbers(cells: &[i64]) -> Vec<Cell> {
    cells.iter().map(|number| Cell::Int(*number)).collect()
}

/// 1000 bytes from before the capture; two equal allocations of 100, one of 50 that goes before the peak. The stack has 64.
const ACTS: &[Act] = &[
    Act(10, false, (50, 5), [64, 1050, 8000, 5000]),
    Act(20, false, (100, 1), [64, 1150, 7900, 5000]),
    Act(30, true, (50, 5), [64, 1100, 7950, 5000]),
    Act(40, false, (100, 2), [64, 1200, 7850, 5000]),
    Act(50, true, (100, 1), [64, 1100, 7950, 5000]),
];

#[test]
fn the_peak_and_what_was_alive_then() {
    let report = ask(&profile("GPU_0_bfc", ACTS), &Scope::default()).unwrap();
    let value = |id: &str| report.value(id).unwrap().value.clone();
    assert_eq!(value("peak_bytes"), Cell::Int(1264));
    assert_eq!(value("reserved_bytes"), Cell::Int(64));
    assert_eq!(value("allocated_bytes"), Cell::Int(1200));
    assert_eq!(value("capacity_bytes"), Cell::Int(1264 + 7850));
    assert_eq!(value("fragmentation"), Cell::Float(0.25));
    // More than the capture ever saw: that was before it.
    assert_eq!(value("lifetime_peak_bytes"), Cell::Int(5000));
    // Reserved is less than available: it is no pool, and nobody knows what a pool would hold.
    assert_eq!(value("actual_bytes"), Cell::Unknown);
    assert_eq!(value("static_peak_bytes"), Cell::Unknown);
    let what = ["allocation", "before the capture", "reserved"].map(Cell::from);
    assert_eq!(column(&report, "alive", "what"), what);
    assert_eq!(column(&report, "alive", "bytes"), numbers(&[200, 1000, 64]));
    assert_eq!(column(&report, "alive", "count"), vec![Cell::Int(2), Cell::Unknown, Cell::Unknown]);
    assert_eq!(column(&report, "alive", "requested_bytes")[0], Cell::Int(198));
    let because = column(&report, "peaks", "because");
    let said = because[0].as_text().unwrap();
    assert!(said.contains("no program of the host has a buffer assignment"), "{said}");
    assert!(said.contains("1000 B at the peak were allocated before the capture"), "{said}");
    assert!(said.contains("the most ever in use, 4.883 KiB, was not in the scope"), "{said}");
    assert_eq!(report.series.len(), 4);
    assert_eq!(report.series[0].points.len(), ACTS.len());
}

/// A pool that the runtime reserved as a whole: what is in use is reserved less available, and allocated says little.
#[test]
fn a_reserved_pool() {
    let gib = 1i64 << 30;
    let acts = [
        Act(1, false, (gib, 1), [82 * gib, 7 * gib, 5 * gib, 0]),
        Act(2, true, (gib, 1), [82 * gib, 6 * gib, 6 * gib, 0]),
    ];
    let report = ask(&profile("0", &acts), &Scope::default()).unwrap();
    assert_eq!(report.value("actual_bytes").unwrap().value, Cell::Int(77 * gib));
    assert_eq!(report.value("peak_bytes").unwrap().value, Cell::Int(89 * gib));
    assert_eq!(column(&report, "peaks", "actual_bytes"), numbers(&[77 * gib]));
}

#[test]
fn memory_of_the_host_has_no_static_peak() {
    let report = ask(&profile("gpu_host_bfc", ACTS), &Scope::default()).unwrap();
    let said = column(&report, "peaks", "because");
    assert!(said[0].as_text().unwrap().starts_with("host memory"), "{said:?}");
}

#[test]
fn nothing_is_said_with_the_cure() {
    let said = ask(&profile("0", &[]), &Scope::default()).unwrap_err().to_string();
    assert!(said.contains("host_tracer_level") && said.contains("memory peak"), "{said}");
}

#[test]
fn a_window_moves_the_peak_and_keeps_what_was_alive() {
    let window = |from_ps, to_ps| Scope { window_ps: Some((from_ps, to_ps)), ..Scope::default() };
    let base = ask(&profile("0", ACTS), &Scope::default()).unwrap();
    let start = base.series[0].points[0][0] as i64 - 10_000;
    let report = ask(&profile("0", ACTS), &window(start + 15_000, start + 35_000)).unwrap();
    assert_eq!(report.value("peak_bytes").unwrap().value, Cell::Int(1214));
    assert_eq!(column(&report, "allocators", "allocations"), numbers(&[1]));
    assert_eq!(column(&report, "alive", "bytes"), numbers(&[100, 50, 1000, 64]));
    let said = ask(&profile("0", ACTS), &window(start + 60_000, start + 70_000)).unwrap_err().to_string();
    assert!(said.contains("no allocator event is in the scope"), "{said}");
}
