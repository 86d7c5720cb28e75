use super::*;
use crate::{Cell, Column, Coverage, FileRead, Link, PeakUsed, Provenance, Unit};

const OPS: &[Column] = &[
    Column::text("op", "op", ""),
    Column::text("category", "category", ""),
    Column::count("occurrences", "occurrences", ""),
    Column::duration("self_ps", "self time", ""),
    Column::share("self_share", "share of busy time", ""),
    Column::rate("flop_rate", "FLOP rate", Unit::FlopRate, ""),
    Column::rate("hbm_rate", "HBM rate", Unit::ByteRate, ""),
    Column::float("intensity", "operational intensity", Unit::FlopPerByte, ""),
    Column::bytes("bytes", "bytes accessed", ""),
    Column::text("bound_by", "bound by", ""),
    Column::text("source", "source", ""),
];

fn ops(rows: usize) -> Table {
    let mut table = Table { id: "ops", title: "Operations by self time", columns: OPS, rows: Vec::new() };
    for i in 0..rows {
        let n = i as f64 + 1.0;
        table.rows.push(vec![
            format!("%fusion.{i} = bf16[128,4096]{{1,0}} fusion(%param.{i}, %transpose.9)").into(),
            if i % 2 == 0 { "convolution fusion" } else { "copy" }.into(),
            (i * 7 + 1).into(),
            (3.2e9 / n).into(),
            (0.4 / (n * n * n)).into(),
            (i % 2 == 0).then_some(81.6e12 / n).into(),
            (819e9 / n).into(),
            (i % 3 == 0).then_some(240.5).into(),
            (1_u64 << (30 - i % 8)).into(),
            "HBM".into(),
            Cell::Unknown,
        ]);
    }
    table
}

fn report() -> Report {
    let value = |id, label, value: Option<f64>, unit, status| Value::new(id, label, value, unit, status, "");
    Report {
        analysis: "overview",
        scope: ScopeSummary {
            steps: Some("2-5".into()),
            window_ps: Some([0, 20_000_000_000]),
            left_out: vec!["step 7, an outlier".into()],
            ..ScopeSummary::default()
        },
        provenance: Provenance {
            files: vec![FileRead { path: "w-0.xplane.pb".into(), bytes: 3 << 20 }, FileRead { path: "w-1.xplane.pb".into(), bytes: 5 << 20 }],
            hosts: vec!["w-0".into(), "w-1".into()],
            coverage: Coverage { devices: 3, devices_in_profile: 4 },
            peaks: vec![PeakUsed {
                device_type: "TPU v6 Lite".into(),
                resource: "flops",
                rate: 918e12,
                unit: Unit::FlopRate,
                source: "trace",
            }],
        },
        quality: vec![Quality {
            id: "no_step_markers",
            severity: Severity::Warning,
            message: "no step markers in the profile of either host".into(),
            cost: "steps are inferred from module launches, and the time between the last operation of a step and the next launch counts as part of the step".into(),
            fix: "wrap each step in jax.profiler.StepTraceAnnotation".into(),
        }],
        values: vec![
            value("capture_span_ps", "capture", Some(77_063_506_562.0), Unit::Ps, Status::Measured),
            value("idle_share_of_capture", "idle share of capture", Some(0.982), Unit::Share, Status::Derived),
            value("flop_rate", "FLOP rate", Some(81.6e12), Unit::FlopRate, Status::Estimated),
            value("hbm_rate", "HBM rate", None, Unit::ByteRate, Status::Measured),
            Value::new("step_count", "steps", Some(12_usize), Unit::Count, Status::Measured, ""),
            Value::new("device_type", "device type", Some("TPU v6 Lite"), Unit::None, Status::Measured, ""),
        ],
        tables: vec![ops(3)],
        series: Vec::new(),
        findings: vec![Finding {
            id: "diluted_averages",
            severity: Severity::Warning,
            claim: "98.2% of the capture is idle: averages over it are diluted and say little about the program".into(),
            evidence: "busy 1.39 ms of 77.06 ms".into(),
            ceiling: "nothing: a matter of the capture".into(),
            recommendation: "start the capture after warm-up, or pass --steady".into(),
            falsifier: String::new(),
            status: Status::Estimated,
            ..Finding::default()
        }],
        ..Report::default()
    }
}

fn text(report: &Report, layout: &Layout<'_>) -> String {
    let mut out = Vec::new();
    table(report, layout, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let too_wide: Vec<_> = text.lines().filter(|l| !layout.colour && width(l) > layout.width).collect();
    assert!(too_wide.is_empty(), "wider than {}: {too_wide:#?}", layout.width);
    assert!(text.lines().all(|l| !l.ends_with(' ')), "spaces at the end of a line:\n{text}");
    text
}

#[test]
fn a_whole_report() {
    insta::assert_snapshot!(text(&report(), &Layout::default()));
}

#[test]
fn colours_only_where_asked() {
    let plain = text(&report(), &Layout::default());
    let coloured = text(&report(), &Layout { colour: true, ..Layout::default() });
    assert!(!plain.contains('\x1b'));
    let mut stripped = coloured.clone();
    for style in ["0", "1", "2", "1;33"] {
        stripped = stripped.replace(&format!("\x1b[{style}m"), "");
    }
    assert_eq!(stripped, plain);
    assert!(coloured.contains("\x1b[1;33mwarning:\x1b[0m"), "{coloured}");
}

#[test]
fn wide_terminals_show_more_and_narrow_ones_say_what_they_lack() {
    let report = Report { tables: vec![ops(30)], ..Report::default() };
    let wide = text(&report, &Layout { width: 200, limit: 2, ..Layout::default() });
    assert!(!wide.contains("left out"), "{wide}");
    insta::assert_snapshot!("wide", wide);
    insta::assert_snapshot!("narrow", text(&report, &Layout { width: 60, limit: 2, ..Layout::default() }));
    for width in 40..220 {
        text(&report, &Layout { width, ..Layout::default() });
    }
}

#[test]
fn the_limit_is_said_and_can_be_lifted() {
    let report = Report { tables: vec![ops(30)], ..Report::default() };
    let rows = |limit| text(&report, &Layout { limit, ..Layout::default() });
    assert!(rows(20).contains("10 more rows; --limit 0 shows all"));
    assert!(rows(29).contains("1 more row;"));
    assert!(!rows(0).contains("more row"));
    assert_eq!(rows(0).matches("fusion").count(), 30 + 15);
}

#[test]
fn one_table_can_be_asked_for() {
    let one = text(&report(), &Layout { only: Some("ops"), ..Layout::default() });
    assert!(one.starts_with("Operations by self time\n"), "{one}");
    assert!(!one.contains("capture"));
    assert_eq!(text(&report(), &Layout { only: Some("no such"), ..Layout::default() }), "");
}

#[test]
fn names_from_the_profile_cannot_steer_the_terminal() {
    let mut table = ops(1);
    table.rows[0][0] = "evil\u{1b}]0;title\u{7}\nrow".into();
    let report = Report { tables: vec![table], ..Report::default() };
    let text = text(&report, &Layout { width: 200, ..Layout::default() });
    assert!(text.contains(r"evil\u{1b}]0;title\u{7}\nrow"), "{text}");
}

#[test]
fn a_table_without_rows_says_so() {
    let report = Report { tables: vec![ops(0)], ..Report::default() };
    assert_eq!(text(&report, &Layout::default()), "Operations by self time\nno rows\n");
}

#[test]
fn what_every_row_says_is_said_once_where_room_is_scarce() {
    let report = Report { tables: vec![ops(3)], ..Report::default() };
    let narrow = text(&report, &Layout::default());
    assert!(narrow.contains("the same in every row: bound by HBM"), "{narrow}");
    let wide = text(&report, &Layout { width: 200, ..Layout::default() });
    assert!(!wide.contains("the same in every row") && wide.contains("bound"), "{wide}");
}

#[test]
fn sentences_stand_below_their_row() {
    const COLUMNS: &[Column] = &[
        Column::count("step", "Step", ""),
        Column::text("verdict", "Verdict", ""),
        Column::prose("said", "Seen", ""),
    ];
    let mut rows = Table { id: "protocol", title: "Steps", columns: COLUMNS, rows: Vec::new() };
    let long =
        "a sentence that is much longer than a line of a narrow terminal, and so goes on in the next one";
    rows.rows.push(vec![1_usize.into(), "good".into(), long.into()]);
    rows.rows.push(vec![2_usize.into(), "unknown".into(), Cell::Unknown]);
    let report = Report { tables: vec![rows], ..Report::default() };
    insta::assert_snapshot!(text(&report, &Layout { width: 50, ..Layout::default() }), @r"
    Steps
    Step  Verdict
    ----  -------
       1  good
        a sentence that is much longer than a line of
        a narrow terminal, and so goes on in the next
        one
       2  unknown
    ");
}

#[test]
fn a_finding_says_where_to_look() {
    let mut report = report();
    report.findings[0].links = vec![
        Link::to("ops").param("by", "category").row("ops", "copy").window(1_000_000, 2_500_000),
        Link::to("timeline").device("TPU:0").steps("2-5"),
    ];
    let text = text(
        &report,
        &Layout { width: 120, runs: RunWords { one: "'a log'", both: "" }, ..Layout::default() },
    );
    let ops = "haloscope ops 'a log' --by category --table ops --window 1us..2.5us  # copy\n";
    assert!(text.contains(ops), "{text}");
    assert!(text.contains("haloscope timeline 'a log' --devices TPU:0 --steps 2-5\n"), "{text}");
}

#[test]
fn a_long_name_among_numbers_does_not_cost_the_numbers() {
    const COLUMNS: &[Column] = &[
        Column::text("metric", "Metric", ""),
        Column::text("unit", "Unit", ""),
        Column::quantity("baseline", "Baseline", ""),
        Column::change("delta", "Delta", ""),
    ];
    let mut rows = Table { id: "metrics", title: "Metrics", columns: COLUMNS, rows: Vec::new() };
    rows.rows.push(vec!["top op".into(), "".into(), "kernel_".repeat(40).into(), Cell::Unknown]);
    rows.rows.push(vec!["step time".into(), "ps".into(), 68.7e9.into(), 5.03e9.into()]);
    let text = text(&Report { tables: vec![rows], ..Report::default() }, &Layout::default());
    assert!(text.contains("68.70 ms  +5.030 ms") && text.contains("kernel_k…"), "{text}");
}

#[test]
fn numbers_of_different_units_stand_in_the_unit_that_fits_each() {
    const COLUMNS: &[Column] = &[
        Column::text("metric", "Metric", ""),
        Column::text("unit", "Unit", ""),
        Column::quantity("baseline", "Baseline", ""),
        Column::quantity("experiment", "Experiment", ""),
        Column::change("delta", "Delta", ""),
    ];
    let mut rows = Table { id: "metrics", title: "Metrics", columns: COLUMNS, rows: Vec::new() };
    rows.rows.push(vec!["step time".into(), "ps".into(), 68.7e9.into(), 73.7e9.into(), 5.03e9.into()]);
    rows.rows.push(vec!["MFU".into(), "share".into(), 0.412.into(), Cell::Unknown, Cell::Unknown]);
    rows.rows.push(vec!["regime".into(), "".into(), "memory bound".into(), "a|b".into(), Cell::Unknown]);
    rows.rows.push(vec!["ops".into(), "count".into(), Cell::Int(12), Cell::Int(10), Cell::Int(-2)]);
    let report = Report { tables: vec![rows], ..Report::default() };
    insta::assert_snapshot!(text(&report, &Layout::default()), @r"
    Metrics
    Metric         Baseline  Experiment      Delta
    ---------  ------------  ----------  ---------
    step time      68.70 ms    73.70 ms  +5.030 ms
    MFU               41.2%           -          -
    regime     memory bound         a|b          -
    ops                  12          10         -2
    - = unknown
    ");
}
