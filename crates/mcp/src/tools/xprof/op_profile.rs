//! HLO ops by time, and time by kind of work.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::ask;
use super::categories;
use super::shaped::{Shaped, rounded};
use super::{count, limit, limit_argument, list_of, run_argument, text};
use crate::{Object, Tool};

const TOP: usize = 30;

pub(super) fn tool() -> Tool {
    let fields = json!({"run": text(), "total_ops": count(), "by_category": list_of(&["category", "total_time_us", "pct"]),
        "top_ops": list_of(&["name", "self_time_us", "category"])});
    let description = "HLO ops by self time over all devices and the whole capture, with FLOP and bandwidth use, and time by kind \
                       of work. Framework (JAX) ops: xprof_framework_ops.";
    let own = vec![run_argument(), limit_argument(TOP)];
    super::tool(
        "xprof_op_profile",
        "op profile",
        description,
        own,
        &["run"],
        fields,
        |context, arguments, _| {
            let most = limit(arguments, TOP)?;
            let run = context.run(arguments, "run")?;
            let answer = ask::json(&run.profile, "op_profile", &[("group_by", "program")])?;
            Ok(shaped(&run.info.id, Tree::new(&answer), most))
        },
    )
}

/// What the tree holds.
#[derive(Default)]
struct Tree<'a> {
    /// Nodes with an HLO op. The groups above them hold the same time again, and what a fusion encloses has none.
    ops: Vec<&'a Object>,
    /// Ops that XProf does not list, because a node shows 100 children: the HLO category, how many, their time in picoseconds.
    unlisted: Vec<(&'a str, usize, f64)>,
}

impl<'a> Tree<'a> {
    fn new(answer: &'a Value) -> Self {
        let mut tree = Self::default();
        let root = ["byProgram", "byCategory"].into_iter().find_map(|name| answer.get(name));
        let mut open: Vec<&Value> = root.into_iter().collect();
        while let Some(node) = open.pop() {
            let children = node["children"].as_array().map_or(&[][..], Vec::as_slice);
            let time = |node: &Value| number(&node["metrics"]["rawTime"]).unwrap_or(0.0);
            // `X and its duplicate(s)` looks like an op and is a group of them.
            let group = children.iter().any(|child| time(child) > 0.0);
            if let Some(op) = node.as_object().filter(|fields| fields.contains_key("xla") && !group) {
                tree.ops.push(op);
                continue;
            }
            let all = node["numChildren"].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
            if all > children.len() {
                let rest = time(node) - children.iter().map(time).sum::<f64>();
                let name =
                    node["xla"]["category"].as_str().or_else(|| node["name"].as_str()).unwrap_or_default();
                tree.unlisted.push((name, all - children.len(), rest.max(0.0)));
            }
            open.extend(children);
        }
        tree
    }
}

fn shaped(run: &str, tree: Tree<'_>, most: usize) -> Shaped {
    let mut by_category: BTreeMap<&str, f64> = BTreeMap::new();
    let mut ops: Vec<(f64, Value)> = Vec::with_capacity(tree.ops.len());
    for node in tree.ops {
        let name = node.get("name").and_then(Value::as_str).unwrap_or_default();
        // Idle time is no op.
        if name == "IDLE" {
            continue;
        }
        let metrics = node.get("metrics").unwrap_or(&Value::Null);
        let xla = node.get("xla").unwrap_or(&Value::Null);
        let word = |id: &str| xla[id].as_str().unwrap_or_default();
        let path = if word("provenance").is_empty() { name } else { word("provenance") };
        let category = categories::category_of(path, &[word("category"), name]);
        let time_us = number(&metrics["rawTime"]).unwrap_or(0.0) / 1e6;
        *by_category.entry(category).or_default() += time_us;
        // XProf writes 0 FLOPs for custom calls whose FLOPs stand on their events.
        let flops = number(&metrics["rawFlops"]).filter(|flops| *flops > 0.0);
        let known = |value: &Value| rounded(flops.and_then(|_| number(value)));
        let rates = metrics["bandwidthUtils"]
            .as_array()
            .map(|all| all.iter().map(|rate| rounded(number(rate))).collect::<Vec<_>>());
        let op = json!({
            "name": name, "self_time_us": rounded(Some(time_us)), "flop_utilization": known(&metrics["flops"]),
            "occurrences": metrics["occurrences"], "avg_time_us": rounded(number(&metrics["avgTimePs"]).map(|ps| ps / 1e6)),
            "raw_flops": rounded(flops), "bandwidth_utils": rates, "category": category, "framework_op": word("provenance").trim_end_matches(':'),
        });
        ops.push((time_us, op));
    }
    ops.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1["name"].as_str().cmp(&b.1["name"].as_str())));
    // What is not listed is known by its HLO category alone.
    for (name, _, ps) in &tree.unlisted {
        *by_category.entry(categories::category_of("", &[name])).or_default() += ps / 1e6;
    }
    let unlisted: usize = tree.unlisted.iter().map(|(_, count, _)| count).sum();
    let whole: f64 = by_category.values().sum();
    let mut categories: Vec<(f64, &str)> =
        by_category.into_iter().map(|(category, us)| (us, category)).collect();
    categories.sort_by(|a, b| b.0.total_cmp(&a.0));
    let category = |(us, category): (f64, &str)| {
        let pct = (whole > 0.0).then(|| us / whole * 100.0);
        json!({"category": category, "total_time_us": rounded(Some(us)), "pct": rounded(pct)})
    };
    let total = ops.len() + unlisted;
    let units = json!({"bandwidth_utils": "share of peak: HBM, SRAM read, SRAM write", "flop_utilization": "share of peak", "time": "summed over devices"});
    Shaped::of_run(run)
        .with("total_ops", json!(total))
        .and("units", units)
        .list("by_category", categories.into_iter().map(category).collect())
        .list("top_ops", ops.into_iter().take(most).map(|(_, op)| op).collect())
}

/// A number, or the digits of one.
fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}
