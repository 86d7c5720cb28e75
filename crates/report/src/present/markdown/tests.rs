use super::*;
use crate::{Coverage, FileRead, Gate, Link, Node, Provenance, Unit};

const OPS: &[Column] = &[
    Column::text("op", "Op", ""),
    Column::text("category", "Category", ""),
    Column::duration("self_ps", "Self time", ""),
    Column::share("self_share", "Share", ""),
    Column::text("source", "Source", ""),
    Column::prose("why", "Why", ""),
];

const METRICS: &[Column] = &[
    Column::text("metric", "Metric", ""),
    Column::text("unit", "Unit", ""),
    Column::quantity("baseline", "Baseline", ""),
    Column::quantity("experiment", "Experiment", ""),
    Column::change("delta", "Delta", ""),
];

fn report() -> Report {
    let mut ops = Table { id: "ops", title: "Ops", columns: OPS, rows: Vec::new() };
    for (i, name) in
        ["%fusion.1 = bf16[2]{0} fusion()", "a|b", "<img src=x onerror=alert(1)>", "`x`"].iter().enumerate()
    {
        let n = i as f64 + 1.0;
        let why = "see `ops`, @someone: <b>";
        ops.rows.push(vec![
            (*name).into(),
            "copy".into(),
            (3e9 / n).into(),
            (0.4 / n).into(),
            Cell::Unknown,
            why.into(),
        ]);
    }
    let mut metrics = Table { id: "metrics", title: "Metrics", columns: METRICS, rows: Vec::new() };
    metrics.rows.push(vec!["step time".into(), "ps".into(), 68.7e9.into(), 73.7e9.into(), 5.03e9.into()]);
    metrics.rows.push(vec!["MFU".into(), "share".into(), 0.412.into(), 0.391.into(), (-0.021).into()]);
    metrics.rows.push(vec!["top op".into(), "".into(), "fusion|1".into(), "fusion.2".into(), Cell::Unknown]);
    let node =
        |label: &str, ps: i64, children| Node { label: label.into(), values: vec![Cell::Int(ps)], children };
    const TIME: &[Column] = &[Column::duration("ps", "Time", "")];
    let tree = Tree {
        nodes: vec![node("all", 3_000_000, vec![node("a_b", 2_000_000, vec![])])],
        ..Tree::new("profile", "Profile", TIME)
    };
    Report {
        analysis: "compare",
        gate: Some(Gate::NotComparable),
        values: vec![
            Value::new("verdict", "verdict", Some("not comparable"), Unit::None, Status::Derived, ""),
            Value::new("step_delta_ps", "step change", Some(5.03e9), Unit::Ps, Status::Estimated, ""),
            Value::new::<f64>("p", "p", None, Unit::Ratio, Status::Derived, ""),
            Value::new("top", "top op", Some("x|y_z"), Unit::None, Status::Derived, ""),
        ],
        tables: vec![metrics, ops],
        trees: vec![tree],
        findings: vec![Finding {
            id: "f",
            severity: Severity::Warning,
            claim: "`fusion.1` is *slower*: </details>".into(),
            evidence: "1 | 2".into(),
            status: Status::Estimated,
            links: vec![Link::to("ops").row("ops", "a|b")],
            ..Finding::default()
        }],
        texts: vec![Text { id: "t", title: "Text".into(), text: "```\n\u{1b}x\n".into() }],
        quality: vec![Quality {
            id: "q",
            severity: Severity::Warning,
            message: "no step_markers".into(),
            cost: "less".into(),
            fix: String::new(),
        }],
        provenance: Provenance {
            files: vec![FileRead { path: "a".into(), bytes: 2048 }],
            hosts: vec!["w-0".into()],
            coverage: Coverage { devices: 1, devices_in_profile: 1 },
            peaks: Vec::new(),
        },
        ..Report::default()
    }
}

fn text(layout: &Layout<'_>) -> String {
    let mut out = Vec::new();
    markdown(&report(), layout, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_whole_report() {
    insta::assert_snapshot!(text(&Layout::default()));
}

#[test]
fn rows_are_limited_and_every_row_has_as_many_cells_as_the_head() {
    let one = text(&Layout { limit: 2, only: Some("ops"), ..Layout::default() });
    assert!(
        one.starts_with(
            "### Ops\n\n| Op | Category | Self time, ms | Share, % | Why |\n|:---|:---|---:|---:|:---|\n"
        ),
        "{one}"
    );
    assert!(one.contains("2 more rows; --limit 0 shows all."), "{one}");
    assert!(one.contains("Unknown in every row: Source."), "{one}");
    let bars = |line: &str| line.replace("\\|", "").matches('|').count();
    let rows: Vec<_> = one.lines().filter(|line| line.starts_with('|')).map(bars).collect();
    assert_eq!(rows, [6, 6, 6, 6]);
    assert!(!text(&Layout { limit: 0, ..Layout::default() }).contains("more row"));
    assert_eq!(text(&Layout { only: Some("none"), ..Layout::default() }), "");
}

#[test]
fn nothing_of_a_profile_becomes_markup() {
    let text = text(&Layout::default());
    for line in text.lines() {
        // Outside of code no angle bracket is left.
        let outside: String = line.replace("``", "").split('`').step_by(2).collect();
        assert!(!outside.contains('<'), "{line}");
        assert!(!outside.contains('@'), "{line}");
    }
    assert!(!text.contains('\u{1b}'));
}
