//! Totals of an area of the timeline, held against the analysis `ops` with the same window.

use std::sync::Arc;

use haloscope_analyses as analyses;

use haloscope_profile::{Device, LineId, Profile};
use haloscope_report::Error;
use haloscope_report::{Cell, Table};
use haloscope_time::analysis::{self, Params};
use haloscope_time::op_lines::holds_ops;
use haloscope_timeline::{NameTotal, Timeline, Totals};

use super::made::{Made, US, profile};
use super::support::{open, scope};

/// The lines on which a device's ops stand.
fn op_lines(profile: &Profile, device: &Device) -> Vec<LineId> {
    profile.lines_of(device.plane).filter(|l| holds_ops(device.kind, l.kind)).map(|l| l.id).collect()
}

/// First start and last end of some lines.
fn span(profile: &Profile, lines: &[LineId]) -> (i64, i64) {
    let spans: Vec<_> = lines.iter().filter_map(|l| profile.events(profile.line(*l)).span_ps()).collect();
    (spans.iter().map(|s| s.0).min().unwrap(), spans.iter().map(|s| s.1).max().unwrap())
}

/// A row as both sides can say it; numbers as bits, so that equal means equal.
type Row = (String, String, String, i64, i64, i64, Option<u64>, Option<u64>);

fn our_row(row: &NameTotal) -> Row {
    (
        row.name.clone(),
        row.category.clone().unwrap_or_default(),
        row.program.clone().unwrap_or_default(),
        row.count as i64,
        row.total_ps,
        row.self_ps.unwrap(),
        row.flops.map(f64::to_bits),
        row.bytes.map(f64::to_bits),
    )
}

fn rows_of(table: &Table) -> Vec<Row> {
    let int = |row, id| match table.cell(row, id) {
        Some(Cell::Int(v)) => *v,
        other => panic!("{id} is {other:?}"),
    };
    let text = |row, id| table.cell(row, id).and_then(Cell::as_text).unwrap_or_default().to_owned();
    let bits = |row, id| table.cell(row, id).and_then(Cell::number).map(f64::to_bits);
    let row = |row| {
        (
            text(row, "name"),
            text(row, "category"),
            text(row, "program_id"),
            int(row, "occurrences"),
            int(row, "total_ps"),
            int(row, "self_ps"),
            bits(row, "flops"),
            bits(row, "bytes_accessed"),
        )
    };
    (0..table.rows.len()).map(row).collect()
}

fn ops(totals: &Totals) -> Vec<Row> {
    totals.by_op.iter().filter(|row| row.kind == "op").map(our_row).collect()
}

fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort();
    rows
}

/// The rows of an area on the op lines of some devices are those of `ops --window START..END --devices ...`.
#[track_caller]
fn same_as_ops(profile: &Arc<Profile>, devices: &[&Device], window: (i64, i64)) -> usize {
    let timeline = Timeline::new(Arc::clone(profile));
    let lines: Vec<LineId> = devices.iter().flat_map(|d| op_lines(profile, d)).collect();
    let totals = timeline.totals(window.0, window.1, &lines, usize::MAX).unwrap();
    let names: Vec<&str> = devices.iter().map(|d| d.name.as_str()).collect();
    let window = format!("{}ps..{}ps", window.0, window.1);
    let words = [("devices", &*names.join(",")), ("window", &*window)];
    let ops_analysis = analyses::find("ops").unwrap();
    let expected = match analysis::run(ops_analysis, profile, &scope(&words), &Params::default()) {
        Ok(report) => rows_of(&report.tables[0]),
        Err(Error::Nothing(_)) => Vec::new(),
        Err(error) => panic!("{error}"),
    };
    let (found, wanted) = (sorted(ops(&totals)), sorted(expected.clone()));
    let differing = found.iter().zip(&wanted).find(|(found, wanted)| found != wanted);
    assert_eq!((differing, found.len()), (None, wanted.len()), "{names:?} {window}");
    let own: i64 = totals.by_category.iter().map(|c| c.self_ps).sum();
    assert_eq!(own, expected.iter().map(|r| r.5).sum::<i64>());
    expected.len()
}

#[test]
fn an_area_of_op_lines_says_what_ops_says_of_the_window() {
    let mut compared = 0;
    for run in ["tpu-train", "gpu-train", "gpu-amd", "cpu-train", "tpu-custom-call"] {
        let profile = Arc::new(open(run));
        let devices: Vec<&Device> = profile.devices.iter().filter(|d| d.active).collect();
        assert!(!devices.is_empty(), "{run}");
        let lines: Vec<LineId> = devices.iter().flat_map(|d| op_lines(&profile, d)).collect();
        let (from, to) = span(&profile, &lines);
        let at = |share: f64| from + ((to - from) as f64 * share) as i64;
        // Cuts that fall into the middle of ops, and the whole.
        for window in [(at(0.21), at(0.77)), (at(0.5), at(0.503)), (from, to), (from - 5, to + 5)] {
            for device in &devices {
                compared += same_as_ops(&profile, &[device], window);
            }
            compared += same_as_ops(&profile, &devices, window);
        }
    }
    assert!(compared > 1000, "{compared} rows were compared");
}

#[test]
fn areas_of_one_device_add_up_over_its_streams() {
    let profile = Arc::new(open("gpu-train"));
    let timeline = Timeline::new(Arc::clone(&profile));
    let device = profile.devices.iter().find(|d| d.active).unwrap();
    let lines = op_lines(&profile, device);
    let (from, to) = span(&profile, &lines);
    let middle = from + (to - from) / 3;
    let own = |from, to, lines: &[LineId]| -> i64 {
        let totals = timeline.totals(from, to, lines, usize::MAX).unwrap();
        assert_eq!(totals.tracks.len(), lines.len());
        ops(&totals).iter().map(|row| row.5).sum()
    };
    assert!(lines.len() > 1);
    let apart: i64 = lines.iter().map(|line| own(from, middle, &[*line]) + own(middle, to, &[*line])).sum();
    assert_eq!(own(from, to, &lines), apart);
    let twice: Vec<LineId> = lines.iter().chain(&lines).copied().collect();
    let totals = timeline.totals(from, to, &twice, 3).unwrap();
    assert_eq!(totals.tracks.len(), lines.len(), "a track that is named twice counts once");
    assert!(totals.by_op.len() == 3 && totals.rows > 3);
}

/// A device with a step, two nested ops and two copies that overlap; a host with a thread.
fn small() -> Profile {
    let mut device = Made::tpu(0);
    let (outer, inner) = (device.op("while.1", "while", 100, 10), device.op("dot.2", "convolution", 50, 40));
    let (step, copy) = (device.meta("0", &[]), device.meta("copy-start.3", &[]));
    device.line("Steps", 0, &[(step, 0, 100 * US)]);
    device.line("XLA Ops", 0, &[(outer, 0, 40 * US), (inner, 10 * US, 20 * US), (inner, 60 * US, 10 * US)]);
    device.line("Async XLA Ops", 0, &[(copy, 5 * US, 40 * US), (copy, 15 * US, 50 * US)]);
    let mut host = Made::named("/host:CPU");
    host.line("main", 0, &[]);
    host.event("outer", 0, 80 * US, &[]);
    host.event("inner", 20 * US, 40 * US, &[]);
    host.event("mark", 90 * US, 0, &[]);
    profile(vec![device, host])
}

#[test]
fn other_lines_are_cut_to_the_window_and_busy_time_is_counted_once() {
    let profile = Arc::new(small());
    let timeline = Timeline::new(Arc::clone(&profile));
    let lines: Vec<LineId> = profile.lines.iter().map(|l| l.id).collect();
    let totals = timeline.totals(20 * US, 91 * US, &lines, 100).unwrap();
    let row = |name: &str| totals.by_op.iter().find(|r| r.name == name).unwrap();
    let times = |name: &str| (row(name).count, row(name).total_ps / US, row(name).self_ps.map(|s| s / US));
    assert_eq!(times("0"), (0, 71, Some(71)), "the step began before the window");
    assert_eq!(times("while.1"), (0, 20, Some(10)));
    assert_eq!(times("dot.2"), (1, 20, Some(20)));
    assert_eq!(times("copy-start.3"), (0, 25 + 45, None), "copies overlap, they do not nest");
    assert_eq!(times("outer"), (0, 60, Some(20)));
    assert_eq!(times("inner"), (1, 40, Some(40)));
    assert_eq!(times("mark"), (1, 0, Some(0)), "an event of no duration is in the window where it stands");
    assert_eq!((row("dot.2").flops, row("dot.2").bytes), (Some(75.0), Some(60.0)));
    assert_eq!(row("outer").flops, None, "unknown is not 0");

    assert_eq!((totals.events, totals.span_ps), (9, 71 * US));
    let unions: Vec<_> = totals.tracks.iter().map(|t| (t.events, t.union_ps / US)).collect();
    assert_eq!(unions, [(1, 71), (3, 30), (2, 45), (3, 60)]);
    let some = timeline.totals(20 * US, 91 * US, &lines[1..3], 100).unwrap();
    assert_eq!(some.union_ps, 50 * US, "20..65 and 60..70 us");
    let categories: Vec<_> =
        totals.by_category.iter().map(|c| (c.name.as_str(), c.self_ps / US, c.flops)).collect();
    assert_eq!(categories, [("convolution", 20, Some(75.0)), ("while", 10, None)]);
}

#[test]
fn an_area_that_is_none_is_refused() {
    let timeline = Timeline::new(Arc::new(small()));
    assert!(timeline.totals(5, 5, &[LineId(0)], 1).is_err());
    assert!(timeline.totals(0, 5, &[LineId(99)], 1).is_err());
    let nothing = timeline.totals(0, 5, &[], 1).unwrap();
    assert_eq!((nothing.events, nothing.union_ps, nothing.rows), (0, 0, 0));
}
