//! How a run is doing: XProf's summary, and beside it what it gets wrong or never says.

use std::sync::Arc;

use haloscope_analyses as analyses;

use haloscope_report::Report;
use haloscope_report::scope::Scope;
use haloscope_store::Run;
use haloscope_time::analysis::Params;
use serde_json::{Value, json};

use super::ask::{self, Row, Table, nonzero};
use super::shaped::{Shaped, rounded};
use super::{list_of, run_argument, text};
use crate::{Context, Refusal, Tool};

/// Percentage points by which two numbers of one thing may differ.
const NEAR: f64 = 1.0;

pub(super) fn tool() -> Tool {
    let fields = json!({"run": text(), "summary": {"type": "object"}, "haloscope": {"type": "object"},
        "top_ops": list_of(&["operation", "self_time_pct"])});
    let description = "First look at a run: XProf's summary and top ops, with what Haloscope measured and where XProf is wrong. `diagnose` says why the run is slow.";
    super::tool(
        "xprof_overview",
        "overview",
        description,
        vec![run_argument()],
        &["run"],
        fields,
        |context, arguments, _| {
            let run = context.run(arguments, "run")?;
            overview(context, &run)
        },
    )
}

fn overview(context: &Context, run: &Arc<Run>) -> Result<Shaped, Refusal> {
    let analysis = analyses::find("overview").ok_or_else(|| Refusal::bug("there is no overview"))?;
    let own = context.report(run, &[], analysis, &Scope::default(), &Params::default())?;
    // A run that XProf has no overview of still has ours.
    let answer = ask::json(&run.profile, "overview_page", &[]);
    let (answer, refused) = match answer {
        Ok(answer) => (answer, None),
        Err(refusal) => (Value::Null, Some(refusal.wrong)),
    };
    let table = Table::first(&answer);
    let differs = differences(&table, &own);
    let shaped =
        Shaped::of_run(&run.info.id).with("summary", summary(&table, &own)).map("haloscope", ours(&own));
    let shaped = match refused {
        Some(why) => shaped.and("xprof_refuses", json!(why)),
        None => shaped,
    };
    Ok(shaped.list("differs", differs).list("top_ops", top_ops(&table)))
}

/// XProf's numbers; null for a 0 that says that nothing was counted.
fn summary(table: &Table<'_>, own: &Report) -> Value {
    let percent = |name: &str| rounded(table.percent(name));
    // Without FLOPs XProf says 0%, which is not known rather than nothing.
    let mxu = table.percent("mxu_utilization_percent");
    let mxu = if share(own, "flop_share_of_peak").is_none() { nonzero(mxu) } else { mxu };
    json!({
        "mxu_utilization_pct": rounded(mxu),
        "device_idle_pct": percent("device_idle_time_percent"),
        "device_duty_cycle_pct": percent("device_duty_cycle_percent"),
        "flop_rate_utilization": rounded(nonzero(table.percent("flop_rate_utilization_relative_to_roofline"))),
        "memory_bw_utilization": rounded(nonzero(table.percent("memory_bw_utilization_relative_to_hw_limit"))),
    })
}

/// Our headline, each with unit and status.
fn ours(own: &Report) -> Vec<(String, Value)> {
    let ids = [
        "bound_by",
        "step_time_mean_ps",
        "step_count",
        "idle_share_of_capture",
        "idle_share_of_active_window",
        "flop_share_of_peak",
        "hbm_share_of_peak",
    ];
    let value = |id: &str| {
        let value = own.value(id)?;
        let said = value.value.number().map_or_else(
            || json!(value.value),
            |number| if number.fract() == 0.0 { json!(number as i64) } else { rounded(Some(number)) },
        );
        Some((
            id.to_owned(),
            json!({"value": said, "unit": value.unit.symbol(), "status": value.status.word()}),
        ))
    };
    ids.into_iter().filter_map(value).collect()
}

/// What XProf says otherwise than we do, or never says, with the reason.
fn differences(table: &Table<'_>, own: &Report) -> Vec<Value> {
    let mut list = Vec::new();
    let mut add = |what: &str, xprof: Option<f64>, haloscope: Option<f64>, why: &str| {
        let rounded_to = |number: Option<f64>| rounded(number.map(|n| (n * 100.0).round() / 100.0));
        list.push(
            json!({"what": what, "xprof": rounded_to(xprof), "haloscope": rounded_to(haloscope), "why": why}),
        );
    };
    let capture = share(own, "idle_share_of_capture");
    let idle = table.percent("device_idle_time_percent");
    if let (Some(xprof), Some(ours)) = (idle, capture)
        && (xprof - ours).abs() > NEAR
    {
        let active =
            share(own, "idle_share_of_active_window").is_some_and(|active| (active - xprof).abs() <= NEAR);
        let why = if active {
            "XProf counts from the first to the last op; over the whole capture the devices are idle for longer"
        } else {
            "XProf's idle time leaves out what its step breakdown does not name; ours is capture time without any op"
        };
        add("device_idle_pct", idle, capture, why);
    }
    let flops = share(own, "flop_share_of_peak");
    let mxu = table.percent("mxu_utilization_percent");
    match (mxu, flops) {
        (Some(xprof), Some(ours)) if (xprof - ours).abs() > NEAR => {
            let why = if xprof == 0.0 {
                "XProf says 0.0% if it has no counters or ignores FLOPs on events (custom calls); ours counts those"
            } else {
                "XProf divides by another time or counts FLOPs differently; ours is FLOPs per second over the active window against the peak"
            };
            add("mxu_utilization_pct", mxu, flops, why);
        }
        (Some(0.0), None) => add(
            "mxu_utilization_pct",
            mxu,
            None,
            "nothing counted the FLOPs: XProf's 0.0% is not a measurement",
        ),
        _ => {}
    }
    let never = "XProf leaves it at 0.0% in profiles like this one; ours is against the device's peak over the active window";
    for (what, property, ours) in [
        ("flop_rate_utilization", "flop_rate_utilization_relative_to_roofline", flops),
        (
            "memory_bw_utilization",
            "memory_bw_utilization_relative_to_hw_limit",
            share(own, "hbm_share_of_peak"),
        ),
    ] {
        if table.percent(property) == Some(0.0) && ours.is_some_and(|ours| ours > 0.0) {
            add(what, Some(0.0), ours, never);
        }
    }
    list
}

/// A share of our report in percent.
fn share(own: &Report, id: &str) -> Option<f64> {
    own.value(id).and_then(|value| value.value.number()).map(|share| share * 100.0)
}

fn top_ops(table: &Table<'_>) -> Vec<Value> {
    let op = |row: Row<'_, '_>| {
        let percent = |id: &str| rounded(row.number(id).map(|share| (share * 10_000.0).round() / 100.0));
        json!({
            "operation": row.text("operation"),
            "category": row.text("category"),
            "self_time_pct": percent("selfTimePercent"),
            "cumulative_time_pct": percent("cumulativeTimePercent"),
            "flop_rate_gflops": rounded(nonzero(row.number("flopRate"))),
        })
    };
    table.rows().map(op).collect()
}
