//! An op of a program: its text, and what stands around it.

use haloscope_analyses as analyses;

use haloscope_report::scope::Scope;
use haloscope_time::analysis::Params;
use serde_json::{Value as Json, json};

use super::report::draft;
use crate::{Budget, Draft, Refusal, Rows, Tool, object, property};

/// Of the many columns of a graph.
const COLUMNS: [&str; 13] = [
    "name",
    "opcode",
    "shape",
    "distance",
    "self_ps",
    "occurrences",
    "op_name",
    "source",
    "output_bytes",
    "from",
    "to",
    "kind",
    "operand",
];

pub(super) fn tool() -> Tool {
    let radius =
        json!({"type": "integer", "minimum": 0, "default": 1, "description": "steps to operands and users"});
    let own = [
        property("run", "string", "id; else the newest"),
        property("op", "string", "such as fusion.12"),
        property("module", "string", "else the one that takes the most time"),
        ("radius".to_owned(), radius),
    ];
    let input = object(own.into_iter().chain(Budget::properties()), &["op"]);
    let description = "An HLO op as the compiler wrote it, with what feeds it and what reads it. Ops by words: hlo what=search.";
    Tool::new("hlo_op", "HLO op", description, input, |context, arguments| {
        let budget = Budget::from_arguments(arguments)?;
        let op = arguments.demanded("op")?;
        let run = context.run(arguments, "run")?;
        let module = arguments.text("module")?;
        let ask = |id: &str, given: &[(&str, &str)]| {
            let analysis = analyses::find(id).ok_or_else(|| Refusal::bug(&format!("there is no {id}")))?;
            let mut params = Params::default();
            given.iter().for_each(|(name, value)| params.set(name, value));
            if let Some(module) = &module {
                params.set("module", module);
            }
            let report = context.report(&run, &[], analysis, &Scope::default(), &params)?;
            Ok::<Draft, Refusal>(draft("hlo_op", &run.info.id, &report))
        };
        let op = op.trim_start_matches('%');
        let radius = arguments.count("radius", 0)?.unwrap_or(1).to_string();
        let mut whole = ask("hlo text", &[("instruction", op)])?;
        let around = ask("hlo graph", &[("node", op), ("radius", &radius)])?;
        whole.head.retain(|(name, _)| *name != "analysis");
        // What the text says already is not repeated.
        whole.values.retain(|value| value.id == "module");
        whole.tables = around.tables.into_iter().map(|table| keep(table, &COLUMNS)).collect();
        whole.notes = around.notes;
        budget.fit(&whole)
    })
}

/// A table with these of its columns.
fn keep(table: Rows, columns: &[&str]) -> Rows {
    let kept: Vec<bool> = table.columns.iter().map(|column| columns.contains(&column.id.as_str())).collect();
    let of = |row: Vec<Json>| {
        row.into_iter().zip(&kept).filter(|(_, kept)| **kept).map(|(cell, _)| cell).collect()
    };
    let rows = table.rows.into_iter().map(of).collect();
    let columns =
        table.columns.into_iter().zip(&kept).filter(|(_, kept)| **kept).map(|(column, _)| column).collect();
    Rows { columns, rows, ..table }
}
