//! SQL over the runs, where the program that answers it is there.

use haloscope_profile::load;
use haloscope_sql::{
    Fault, LONGEST, MOST_MEMORY, MOST_RUNS, Program, Question, Refusal as SqlRefusal, SqlAnswer, SqlColumn,
};
use serde_json::json;

use crate::{Arguments, Budget, Context, Draft, Field, Item, Refusal, Rows, Tool, object, property};

/// Rows unless others are asked for, and at most.
const ROWS: usize = 200;
const MOST_ROWS: usize = 10_000;

pub(super) fn tool(program: Program) -> Tool {
    let own = [
        property(
            "sql",
            "string",
            "one SELECT, DESCRIBE or EXPLAIN, or @NAME of a canned question; `SHOW TABLES` lists tables",
        ),
        property("runs", "string", "ids by comma, distinguished by the column `run`; else the newest"),
        (
            "limit".to_owned(),
            json!({"type": "integer", "minimum": 1, "description": "rows, before the budget"}),
        ),
    ];
    let budget = Budget::properties().into_iter().filter(|(name, _)| name != "limit");
    let input = object(own.into_iter().chain(budget), &["sql"]);
    let description = "SQL over events, ops, steps, launches, gaps, collectives, counters, instructions, and every table of every analysis: \
                       analysis('ops', 'by=category'). Times are *_ps. Lines of a device repeat each other: every sum over `event` needs \
                       `kind` or `op IS NOT NULL`. Unknown is NULL. Order rows, with a tie-breaker.";
    Tool::new("sql", "SQL", description, input, move |context, arguments| call(&program, context, arguments))
}

fn call(program: &Program, context: &Context, arguments: &Arguments) -> Result<crate::Answer, Refusal> {
    let budget = Budget::from_arguments(arguments)?;
    let sql = arguments.demanded("sql")?;
    let rows = arguments.count("limit", 1)?.unwrap_or(ROWS).min(MOST_ROWS);
    let mut ids = arguments.list("runs")?;
    if ids.len() > MOST_RUNS {
        return Err(Refusal::new(format!("{} runs are more than {MOST_RUNS}", ids.len()), "name fewer"));
    }
    if ids.is_empty() {
        ids.push(context.newest()?);
    }
    let (mut runs, mut known) = (Vec::new(), Vec::new());
    for id in &ids {
        let id = context.id_of(id)?;
        let Some(files) = context.store.files_here(&id)? else {
            return Err(Refusal::new(
                format!("the run `{id}` is in memory and has no file"),
                "ask with `query` instead",
            ));
        };
        runs.push(files.path);
        known.push(id);
    }
    let memory = load::memory_limit().map_or(MOST_MEMORY, |limit| limit.min(MOST_MEMORY));
    let answer = program.ask(&Question { runs, sql, rows, timeout: LONGEST, memory }).map_err(refused)?;
    budget.fit(&draft(&known, answer))
}

fn draft(runs: &[String], answer: SqlAnswer) -> Draft {
    let mut draft = Draft::about("sql");
    draft.head.extend([("runs", json!(runs)), ("rows", json!(answer.rows.len()))]);
    if answer.is_cut {
        draft.head.push(("more_rows", json!(true)));
    }
    let field = |column: &SqlColumn| Field::new(column.name.clone(), column.unit.clone().unwrap_or_default());
    draft.tables.push(Rows {
        id: "rows".to_owned(),
        title: String::new(),
        status: "derived".to_owned(),
        columns: answer.columns.iter().map(field).collect(),
        rows: answer.rows,
        on_demand: false,
    });
    let note = |note: String| {
        let fields = [("id", "runs"), ("severity", "warning"), ("message", &note)];
        let fields = fields.map(|(name, word)| (name.to_owned(), json!(word))).into_iter().collect();
        Item { fields, line: format!("note: {note}") }
    };
    draft.notes = answer.notes.into_iter().map(note).collect();
    draft
}

fn refused(refusal: SqlRefusal) -> Refusal {
    let SqlRefusal { fault, message, hint } = refusal;
    let next = match fault {
        Fault::Sql if hint.is_empty() => {
            "correct the SQL and call again; `DESCRIBE event` lists columns".to_owned()
        }
        Fault::Program => "the call is not wrong: use `query` or `report` instead".to_owned(),
        _ if hint.is_empty() => "ask for less".to_owned(),
        _ => hint,
    };
    Refusal::new(message, next)
}
