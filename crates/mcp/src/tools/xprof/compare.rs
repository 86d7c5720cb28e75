//! Two runs against each other: what a step of each takes, by framework op, and whether the difference is more than noise.

use haloscope_analyses as analyses;

use haloscope_report::scope::Scope;
use haloscope_report::{Report, Table};
use haloscope_time::analysis::{LIMIT, Params};
use serde_json::{Value, json};

use super::shaped::{Shaped, rounded};
use super::{categories, count, limit, limit_argument, list_of, text};
use crate::{Refusal, Tool, property};

const TOP: usize = 20;

/// Headline values that stand at the top of the answer.
const VALUES: [&str; 15] = [
    "verdict",
    "verdict_says",
    "verdict_by",
    "usual_delta_ps",
    "steps_to_decide",
    "step_delta_ps",
    "step_delta_share",
    "step_delta_interval_ps",
    "step_delta_p",
    "noise_floor_ps",
    "baseline_steps",
    "experiment_steps",
    "ops_changed",
    "ops_new",
    "ops_gone",
];

pub(super) fn tool() -> Tool {
    let fields = json!({"run_a": text(), "run_b": text(), "verdict": {"type": ["string", "null"]}, "step": {"type": "object"},
        "total_ops_compared": count(), "top_changes": list_of(&["operation", "delta_us"])});
    let own = vec![
        property("run_a", "string", "the baseline"),
        property("run_b", "string", "the experiment"),
        limit_argument(TOP),
    ];
    let description = "B against A, per step: the verdict on the step time with its noise, and the framework ops that changed most. \
                       `compare` says more: which HLO ops, a waterfall that adds up, memory.";
    super::tool(
        "xprof_compare",
        "compare",
        description,
        own,
        &["run_a", "run_b"],
        fields,
        |context, arguments, _| {
            let most = limit(arguments, TOP)?;
            let (a, b) = (context.run(arguments, "run_a")?, context.run(arguments, "run_b")?);
            let analysis = analyses::find("compare").ok_or_else(|| Refusal::bug("there is no compare"))?;
            let mut params = Params::default();
            // All ops: `limit` cuts them here, and `total_ops_compared` counts them.
            if analysis.params.iter().any(|param| param.id == LIMIT.id) {
                params.set(LIMIT.id, "0");
            }
            let report =
                context.report(&a, std::slice::from_ref(&b), analysis, &Scope::default(), &params)?;
            Ok(shaped(&a.info.id, &b.info.id, &report, most))
        },
    )
}

fn shaped(a: &str, b: &str, report: &Report, most: usize) -> Shaped {
    let value = |id: &&str| {
        let value = report.value(id)?;
        Some((
            (*id).to_owned(),
            json!({"value": value.value, "unit": value.unit.symbol(), "status": value.status.word()}),
        ))
    };
    let step = VALUES.iter().skip(1).filter_map(value).collect();
    let verdict = report.value("verdict").map_or(Value::Null, |value| json!(value.value));
    let mut changes = report.table("names").map(changes).unwrap_or_default();
    changes.sort_by(|a, b| b.0.total_cmp(&a.0));
    let reasons =
        report.findings.iter().take(5).map(|finding| json!({"id": finding.id, "claim": finding.claim}));
    Shaped::default()
        .with("run_a", json!(a))
        .with("run_b", json!(b))
        .with("verdict", verdict)
        .with("total_ops_compared", json!(changes.len()))
        .and("units", json!({"time": "us per step, mean over steps and devices", "delta": "b minus a", "delta_pct": "% of a; null if a has none"}))
        .map("step", step)
        .list("findings", reasons.collect())
        .list("top_changes", changes.into_iter().take(most).map(|(_, change)| change).collect())
}

/// The framework ops with what they are ordered by.
fn changes(names: &Table) -> Vec<(f64, Value)> {
    let text_column = names.columns.first().map_or("", |column| column.id);
    let change = |row: usize| {
        let number = |column: &str| names.cell(row, column).and_then(haloscope_report::Cell::number);
        let us = |column: &str| number(column).map(|ps| ps / 1e6);
        let name = names.cell(row, text_column).and_then(|cell| cell.as_text()).unwrap_or_default();
        let (before, after, delta) = (us("baseline_ps"), us("experiment_ps"), us("delta_ps"));
        let share = number("delta_share").map(|share| share * 100.0);
        let change = json!({
            "operation": name, "category": categories::category_of(name, &[]), "time_a_us": rounded(before), "time_b_us": rounded(after),
            "delta_us": rounded(delta), "delta_pct": rounded(share),
            "delta_low_us": rounded(us("low_ps")), "delta_high_us": rounded(us("high_ps")),
        });
        (delta.unwrap_or(0.0).abs(), change)
    };
    (0..names.rows.len()).map(change).collect()
}
