//! Ops of the framework (JAX) by time, all or those of some kinds of work.

use serde_json::{Value, json};

use super::ask::{self, Row, Table, nonzero};
use super::shaped::{Shaped, rounded};
use super::{categories, count, limit, limit_argument, list_of, run_argument, text};
use crate::{Refusal, Tool};

const TOP: usize = 30;

pub(super) fn tool() -> Tool {
    let fields = json!({"run": text(), "total_ops": count(), "ops": list_of(&["name", "category", "total_self_time_us"])});
    let all = categories::all().join(", ");
    let category =
        ("category".to_owned(), json!({"type": "string", "description": format!("by comma: {all}")}));
    let own = vec![run_argument(), limit_argument(TOP), category];
    let description =
        "Ops as the framework (JAX) names them, by self time on the devices, all devices and steps together.";
    super::tool(
        "xprof_framework_ops",
        "framework ops",
        description,
        own,
        &["run"],
        fields,
        |context, arguments, _| {
            let most = limit(arguments, TOP)?;
            let wanted = arguments.list("category")?;
            let known = categories::all();
            if let Some(unknown) = wanted.iter().find(|word| !known.contains(&word.as_str())) {
                return Err(Refusal::unknown(
                    "category",
                    unknown,
                    &known,
                    "call again with some of them, by comma",
                ));
            }
            let run = context.run(arguments, "run")?;
            let answer = ask::json(&run.profile, "framework_op_stats", &[])?;
            let table = Table::first(&answer);
            let mut ops: Vec<(f64, Value)> = table.rows().filter_map(|row| op(row, &wanted)).collect();
            ops.sort_by(|a, b| b.0.total_cmp(&a.0));
            let units = json!({"time": "us, summed over devices and steps", "pct": "% of device time", "flop_rate": "GFLOP/s"});
            let shaped = Shaped::of_run(&run.info.id).with("total_ops", json!(ops.len())).and("units", units);
            Ok(shaped.list("ops", ops.into_iter().take(most).map(|(_, op)| op).collect()))
        },
    )
}

/// An op of one of the kinds wanted, and what it is ordered by.
fn op(row: Row<'_, '_>, wanted: &[String]) -> Option<(f64, Value)> {
    let name = row.text("operation");
    if name.is_empty() || name == "IDLE" {
        return None;
    }
    let category = categories::category_of(name, &[row.text("type")]);
    if !wanted.is_empty() && !wanted.iter().any(|word| word == category) {
        return None;
    }
    let number = |id: &str| rounded(row.number(id));
    let percent = |id: &str| rounded(row.number(id).map(|share| share * 100.0));
    let share = row.number("device_total_self_time_percent").unwrap_or(0.0);
    let op = json!({
        "name": name, "type": row.text("type"), "category": category,
        "occurrences": row.number("occurrences").map(|n| n as i64),
        "total_time_us": number("total_time"), "avg_time_us": number("avg_time"),
        "total_self_time_us": number("total_self_time"), "avg_self_time_us": number("avg_self_time"),
        "device_self_time_pct": percent("device_total_self_time_percent"),
        "device_cumulative_pct": percent("device_cumulative_total_self_time_percent"),
        "flop_rate": rounded(nonzero(row.number("measured_flop_rate"))),
    });
    Some((share, op))
}
