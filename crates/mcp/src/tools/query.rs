//! Rows of any table of any report: chosen, grouped, ordered.

use haloscope_analyses as analyses;

use haloscope_report::{Kind, Report};
use haloscope_time::analysis::{LIMIT, Params};
use serde_json::json;

use super::report::cell;
use super::{scope, scope_properties};
use crate::query::{Request, select};
use crate::{Arguments, Budget, Context, Draft, Field, Refusal, Rows, Tool, object, property};

pub(super) fn tool() -> Tool {
    let slugs: Vec<String> = analyses::ALL.iter().map(|analysis| analysis.slug()).collect();
    let own = [
        property("run", "string", "id; else the newest"),
        ("analysis".to_owned(), json!({"type": "string", "enum": slugs})),
        property("table", "string", "its id; else the first"),
        property(
            "where",
            "string",
            "such as `self_ps > 1ms and category ~ \"copy\"`: = != < <= > >= ~ in, is null, and or not; numbers with units",
        ),
        property("group", "string", "columns by comma: one row for each of their values"),
        property("columns", "string", "by comma; with group also count(), sum(x), min(x), max(x)"),
        property("sort", "string", "columns by comma; -x for the largest first"),
        (
            "limit".to_owned(),
            json!({"type": "integer", "minimum": 1, "description": "rows, before the budget"}),
        ),
        ("params".to_owned(), json!({"type": "object", "description": "of the analysis"})),
        property("other", "string", "of analyses that compare runs"),
    ];
    let budget = Budget::properties().into_iter().filter(|(name, _)| name != LIMIT.id);
    let input = object(own.into_iter().chain(scope_properties()).chain(budget), &["analysis"]);
    let description = "Rows of a report's table, filtered, grouped and sorted. Not SQL: one table, one condition. Rows whose condition needs an unknown value are left out and counted.";
    Tool::new("query", "query", description, input, call)
}

fn call(context: &Context, arguments: &Arguments) -> Result<crate::Answer, Refusal> {
    let budget = Budget::from_arguments(arguments)?;
    let word = arguments.demanded("analysis")?;
    let Some(analysis) = analyses::find(&word.replace('_', "-")) else {
        let known: Vec<String> = analyses::ALL.iter().map(|analysis| analysis.slug()).collect();
        return Err(Refusal::unknown("analysis", &word, &known, "call again with one that exists"));
    };
    let mut params = Params::default();
    for (name, value) in arguments.texts("params")? {
        params.set(&name, &value);
    }
    let scope = scope(arguments)?;
    let run = context.run(arguments, "run")?;
    let others = context.runs(arguments, "other")?;
    let report = context.report(&run, &others, analysis, &scope, &params)?;
    let draft = rows(&run.info.id, analysis.id, &report, arguments)?;
    budget.fit(&draft)
}

fn rows(run: &str, analysis: &str, report: &Report, arguments: &Arguments) -> Result<Draft, Refusal> {
    let ids: Vec<&str> = report.tables.iter().map(|table| table.id).collect();
    let table = match arguments.text("table")? {
        None => report.tables.first(),
        Some(id) => match report.table(&id) {
            Some(table) => Some(table),
            None => {
                return Err(Refusal::unknown(
                    &format!("table of `{analysis}`"),
                    &id,
                    &ids,
                    "call again with one that the report has",
                ));
            }
        },
    };
    let Some(table) = table else {
        return Err(Refusal::new(
            format!("the report of `{analysis}` has no table here"),
            format!("`report` with analysis {analysis} says what it has"),
        ));
    };
    let asked = Request {
        columns: arguments.list("columns")?,
        condition: arguments.text("where")?.unwrap_or_default(),
        group: arguments.list("group")?,
        sort: arguments.list("sort")?,
    };
    let wrong = |why: String| {
        Refusal::new(
            why,
            "example: where `self_ps > 1ms and category = \"copy\"`, group `category`, columns `sum(self_ps)`",
        )
    };
    let found = select(table, &asked).map_err(wrong)?;
    let limit = arguments.count("limit", 1)?.unwrap_or(usize::MAX);
    let count = found.rows.len();

    let mut draft = Draft::about("query");
    draft.head.extend([
        ("run", json!(run)),
        ("analysis", json!(analysis)),
        ("table", json!(table.id)),
        ("rows_of_table", json!(table.rows.len())),
        ("rows_matched", json!(found.matched)),
    ]);
    if found.unknown > 0 {
        draft.head.push(("rows_unknown", json!(found.unknown)));
    }
    if count > limit {
        draft.head.push(("rows_before_limit", json!(count)));
    }
    let column = |column: &crate::query::SelectedColumn| {
        Field::new(
            column.id.clone(),
            if column.kind == Kind::Quantity { "see column unit" } else { column.unit.symbol() },
        )
    };
    draft.tables.push(Rows {
        id: table.id.to_owned(),
        title: table.title.to_owned(),
        status: "derived".to_owned(),
        columns: found.columns.iter().map(column).collect(),
        rows: found.rows.iter().take(limit).map(|row| row.iter().map(cell).collect()).collect(),
        on_demand: false,
    });
    Ok(draft)
}
