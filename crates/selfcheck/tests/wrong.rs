//! Reports as 0.1.0 gave them where its arithmetic was wrong, each with one fault: the checker reports every one, and none in the same
//! report put right.

use haloscope_report::Column;
use haloscope_report::{
    Cell, Columns, Finding, Node, PeakUsed, Report, Row, Series, Status, Table, Tree, Unit, Value, row,
};
use haloscope_selfcheck::{Invariant, Tally, of_parts, of_report, of_scope};

const US: f64 = 1e6;
const MS: f64 = 1e9;

fn ps(id: &'static str, value: f64) -> Value {
    Value::new(id, id, Some(value), Unit::Ps, Status::Derived, "")
}

fn of(id: &'static str, value: f64, unit: Unit) -> Value {
    Value::new(id, id, Some(value), unit, Status::Derived, "")
}

fn report(analysis: &'static str, values: Vec<Value>, tables: Vec<Table>) -> Report {
    Report { analysis, values, tables, ..Report::default() }
}

/// The ids of the invariants that are broken.
fn broken(found: Vec<(&'static Invariant, Tally)>) -> Vec<&'static str> {
    found.into_iter().filter(|(_, tally)| tally.broken > 0).map(|(invariant, _)| invariant.id).collect()
}

fn class(name: &str, time: f64, whole: f64) -> Row<impl Columns + use<>> {
    row![text("class", "", "", name), duration("time_ps", "", "", time), share("share", "", "", time / whole),]
}

/// gpu-train: the overview scaled self times, `idle` counted instants.
fn account(exposed: f64, compute: f64, said: f64) -> [Report; 2] {
    let whole = 600.0 * US;
    let classes = |rows: [(&str, f64); 3]| rows.map(|(name, time)| class(name, time * US, whole));
    let idle = whole / US - exposed - compute;
    let overview = classes([
        ("exposed communication", said),
        ("memory-bound ops", compute + exposed - said),
        ("idle time", idle),
    ]);
    let waterfall =
        classes([("exposed communication", exposed), ("compute", compute), ("between programs", idle)]);
    [
        report("overview", vec![ps("active_window_ps", whole)], vec![Table::of("time", "", overview)]),
        report("idle", vec![ps("capture_span_ps", whole)], vec![Table::of("waterfall", "", waterfall)]),
    ]
}

#[test]
fn a_split_that_contradicts_the_account_is_found() {
    assert_eq!(broken(of_scope(&account(16.0, 515.7, 33.67))), ["one_number"]);
    assert!(broken(of_scope(&account(16.0, 515.7, 16.0))).is_empty());
    // Each of the two adds up by itself: neither alone shows it.
    assert!(account(16.0, 515.7, 33.67).iter().all(|one| broken(of_report(one)).is_empty()));
}

#[test]
fn a_share_above_its_peak_is_found() {
    for (share, ids) in
        [(1.72, &["shares_in_range"][..]), (1.03, &["shares_in_range"]), (1.01, &[]), (0.9, &[])]
    {
        let said = report("overview", vec![of("hbm_share_of_peak", share, Unit::Share)], vec![]);
        assert_eq!(broken(of_report(&said)), ids, "{share}");
    }
}

#[test]
fn a_rate_above_its_peak_is_found_unless_the_report_says_so() {
    // MI300X in ROCm: half of its bandwidth.
    let mut said = report("overview", vec![of("hbm_rate", 4.56e12, Unit::ByteRate)], vec![]);
    let peak = PeakUsed {
        device_type: "MI300X".into(),
        resource: "hbm",
        rate: 2.65e12,
        unit: Unit::ByteRate,
        source: "trace",
    };
    said.provenance.peaks.push(peak);
    assert_eq!(broken(of_report(&said)), ["below_peak"]);
    said.provenance.peaks[0].rate = 5.3e12;
    assert!(broken(of_report(&said)).is_empty());
}

#[test]
fn ops_that_add_up_to_more_than_the_wall_are_found() {
    // XLA on CPU: ops that run at one time were summed up.
    let reports = |own: f64, device: &str| {
        let row = row![text("device", "", "", device), duration("active_window_ps", "", "", 37.0 * MS)];
        let mut overview = report("overview", vec![], vec![Table::of("devices", "", [row])]);
        overview.scope.devices.push(device.to_owned());
        [overview, report("ops", vec![ps("self_time_ps", own)], vec![])]
    };
    assert_eq!(broken(of_scope(&reports(52.4 * MS, "CPU:0"))), ["ops_within_wall"]);
    assert!(broken(of_scope(&reports(36.9 * MS, "CPU:0"))).is_empty());
    // Kernels of several streams have times of their own.
    assert!(broken(of_scope(&reports(52.4 * MS, "GPU:0"))).is_empty());
}

#[test]
fn exposed_communication_that_two_analyses_count_differently_is_found() {
    // gpu-overlap, `block`: 13.4% of the step is true, 35.0% was said.
    let comm = |exposed: f64| {
        let step = 5.2 * MS;
        let busy = step - exposed;
        let row = row![
            text("device", "", "", "GPU:0"),
            duration("step_ps", "", "", step),
            duration("busy_ps", "", "", busy),
            duration("exposed_ps", "", "", exposed),
            duration("idle_ps", "", "", 0.0),
        ];
        report(
            "comm",
            vec![ps("step_ps", step), ps("exposed_ps_per_step", exposed)],
            vec![Table::of("devices", "", [row])],
        )
    };
    let account = account(0.134 * 600.0, 400.0, 0.35 * 600.0);
    assert_eq!(broken(of_scope(&account)), ["one_number"]);
    // Where a kind's time is not that of the whole, one report shows it.
    let mut alone = comm(0.134 * 5.2 * MS);
    let kind = row![text("kind", "", "", "all-gather"), duration("exposed_ps", "", "", 0.35 * 5.2 * MS)];
    alone.tables.push(Table::of("kinds", "", [kind]));
    assert_eq!(broken(of_report(&alone)), ["parts_add_up"]);
    assert!(broken(of_report(&comm(0.134 * 5.2 * MS))).is_empty());
    let mut over = comm(5.3 * MS);
    over.tables.clear();
    assert_eq!(broken(of_report(&over)), ["ordered"]);
}

#[test]
fn busy_time_that_no_op_has_is_not_negative() {
    let left = |left: f64| report("compute", vec![ps("left_ps", left * MS)], vec![]);
    assert_eq!(broken(of_report(&left(-13.27))), ["not_negative"]);
    assert!(broken(of_report(&left(13.27))).is_empty());
    assert!(broken(of_report(&left(0.0))).is_empty());
}

#[test]
fn step_21_of_18_is_found() {
    let said = |claim: &str| {
        let finding = Finding { id: "step_jitter", claim: claim.into(), ..Finding::default() };
        Report { findings: vec![finding], ..report("diagnose", vec![], vec![]) }
    };
    assert_eq!(broken(of_report(&said("Step 21 of 18: 29.5% longer than the median step"))), ["words_fit"]);
    assert_eq!(broken(of_report(&said("HBM runs at 172.0% of its peak"))), ["words_fit"]);
    assert!(broken(of_report(&said("Step 5 of 18: 129.5% longer than the median step"))).is_empty());
}

#[test]
fn a_peak_beside_the_maximum_is_found() {
    const GIB: f64 = (1_u64 << 30) as f64;
    let memory = |peak: f64, event: f64| {
        let points = vec![[699.0, 1.2 * GIB], [700.0, 1.621 * GIB], [701.0, 1.871 * GIB], [702.0, 1.3 * GIB]];
        let curve = Series {
            id: "live".into(),
            title: String::new(),
            x: ("", Unit::Count),
            y: ("", Unit::Bytes),
            points,
        };
        let values = vec![of("peak_bytes", peak * GIB, Unit::Bytes), of("peak_event", event, Unit::Count)];
        Report { series: vec![curve], ..report("memory peak", values, vec![]) }
    };
    // The number is right, and its place is one short.
    assert_eq!(broken(of_report(&memory(1.871, 700.0))), ["peak_is_maximum"]);
    assert_eq!(broken(of_report(&memory(1.621, 700.0))), ["peak_is_maximum"]);
    assert!(broken(of_report(&memory(1.871, 701.0))).is_empty());
}

#[test]
fn children_above_their_parent_are_found() {
    const COLUMNS: &[Column] = &[Column::duration("self_ps", "", ""), Column::share("share", "", "")];
    let tree = |parts: [f64; 2]| {
        let node = |label: &str, time: f64, children: Vec<Node>| Node {
            label: label.into(),
            values: vec![Cell::Float(time * US), Cell::Float(time / 200.0)],
            children,
        };
        let leaves = parts.iter().map(|time| node("op", *time, vec![])).collect();
        let tree = Tree { nodes: vec![node("all", 100.0, leaves)], ..Tree::new("profile", "", COLUMNS) };
        Report { trees: vec![tree], ..report("op-profile", vec![], vec![]) }
    };
    assert_eq!(broken(of_report(&tree([70.0, 40.0]))), ["children_within_parent"]);
    assert!(broken(of_report(&tree([70.0, 30.0]))).is_empty());
    assert!(broken(of_report(&tree([70.0, 10.0]))).is_empty());
}

#[test]
fn step_times_that_differ_are_found() {
    // V100: 21.31 ms in one place, 20.59 in another, 18.20 in a third.
    let reports = |overview: f64, steps: f64, comm: f64| {
        [
            report("overview", vec![ps("step_time_mean_ps", overview * MS)], vec![]),
            report(
                "steps",
                vec![ps("step_time_mean_ps", steps * MS), ps("step_time_device_mean_ps", steps * MS)],
                vec![],
            ),
            report("comm", vec![ps("step_ps", comm * MS)], vec![]),
        ]
    };
    assert_eq!(broken(of_scope(&reports(21.31, 20.59, 18.20))), ["one_number", "same_id"]);
    assert_eq!(broken(of_scope(&reports(21.31, 21.31, 18.20))), ["one_number"]);
    assert!(broken(of_scope(&reports(21.31, 21.31, 21.31))).is_empty());
}

#[test]
fn steps_that_do_not_fit_are_found() {
    let steps = |count: f64| {
        let values = vec![
            of("step_count", count, Unit::Count),
            ps("step_time_mean_ps", 37.0 * MS),
            ps("capture_span_ps", 380.0 * MS),
        ];
        report("overview", values, vec![])
    };
    assert_eq!(broken(of_report(&steps(11.0))), ["steps_fit"]);
    assert!(broken(of_report(&steps(10.0))).is_empty());
}

#[test]
fn ceilings_above_what_they_remove_are_found() {
    let causes = |rows: &[(f64, f64)]| {
        let row = |(share, speedup): &(f64, f64)| {
            row![
                text("id", "", "", "x"),
                share("saved_share", "", "", *share),
                float("speedup", "", Unit::Ratio, "", *speedup),
            ]
        };
        report("diagnose", vec![], vec![Table::of("causes", "", rows.iter().map(row))])
    };
    assert_eq!(broken(of_report(&causes(&[(0.2, 1.5)]))), ["ceilings"]);
    assert_eq!(broken(of_report(&causes(&[(1.0, 66.0)]))), ["ceilings"]);
    assert_eq!(broken(of_report(&causes(&[(0.6, 2.5), (0.6, 2.5)]))), ["claims_within_whole"]);
    assert!(broken(of_report(&causes(&[(0.2, 1.25), (0.6, 2.5)]))).is_empty());
}

#[test]
fn parts_that_do_not_add_up_are_found() {
    let whole = account(16.0, 515.7, 16.0);
    assert!(whole.iter().all(|one| broken(of_report(one)).is_empty()));
    let mut short = whole[1].clone();
    short.values = vec![ps("capture_span_ps", 700.0 * US)];
    assert_eq!(broken(of_report(&short)), ["parts_add_up"]);
    // A share of more than all.
    let rows = [("a", 0.6), ("b", 0.6)].map(|(name, part)| class(name, part * US, US));
    assert_eq!(broken(of_report(&report("ops", vec![], vec![Table::of("ops", "", rows)]))), ["parts_add_up"]);
    // Windows of which each has its part of what stands on their edge, and those that both have all of it.
    let busy = |time: f64| {
        let row = row![text("device", "", "", "TPU:0"), duration("busy_ps", "", "", time * US)];
        report("overview", vec![], vec![Table::of("devices", "", [row])])
    };
    assert_eq!(broken(of_parts(&busy(10.0), &[busy(6.0), busy(5.0)])), ["scopes_add_up"]);
    assert!(broken(of_parts(&busy(10.0), &[busy(6.0), busy(4.0)])).is_empty());
}

#[test]
fn what_nobody_knows_is_not_wrong() {
    let unknown = |id| Value::new(id, id, None::<f64>, Unit::Ps, Status::Unknown, "");
    let said = report("overview", vec![unknown("step_time_mean_ps"), unknown("capture_span_ps")], vec![]);
    let other = report("steps", vec![ps("step_time_mean_ps", 1.0)], vec![]);
    assert!(broken(of_report(&said)).is_empty());
    assert!(broken(of_scope(&[said, other])).is_empty());
}
