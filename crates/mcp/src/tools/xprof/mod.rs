//! Tools with the names and arguments that agents know from servers for XProf. The numbers are those of XProf's tools
//! (`haloscope_compat`); where XProf is wrong or silent, ours stand beside them and say why.

mod ask;
mod categories;
mod compare;
mod framework_ops;
mod lists;
mod memory;
mod op_profile;
mod overview;
mod raw;
mod shaped;
mod trace_url;

use haloscope_time::analysis::LIMIT;
use serde_json::{Value, json};

use crate::{Answer, Arguments, Budget, Context, Object, Refusal, Tool, object, property};

/// The tools, in the order in which they are used.
pub(super) fn all() -> Vec<Tool> {
    vec![
        lists::runs(),
        lists::hosts(),
        overview::tool(),
        op_profile::tool(),
        framework_ops::tool(),
        memory::tool(),
        compare::tool(),
        trace_url::tool(),
        raw::tool(),
    ]
}

/// A tool of this family: its own arguments, those of the budget, and the fields that its answers always have.
fn tool(
    name: &str,
    title: &str,
    description: &str,
    own: Vec<(String, Value)>,
    demanded: &[&str],
    fields: Value,
    call: impl Fn(&Context, &Arguments, &Budget) -> Result<shaped::Shaped, Refusal> + Send + Sync + 'static,
) -> Tool {
    let with_budget = move |context: &Context, arguments: &Arguments| -> Result<Answer, Refusal> {
        // `limit` is of the ops; the other lists of an answer are short.
        let budget = Budget { rows: None, ..Budget::from_arguments(arguments)? };
        call(context, arguments, &budget)?.fit(&budget)
    };
    let budget = Budget::properties().into_iter().filter(|(name, _)| name != LIMIT.id);
    let input = object(own.into_iter().chain(budget), demanded);
    Tool { output: output(fields), ..Tool::new(name, title, description, input, with_budget) }
}

/// The schema of answers that have these fields, and say what was left out of them.
fn output(fields: Value) -> Object {
    let Value::Object(mut properties) = fields else { return Object::new() };
    let demanded: Vec<String> = properties.keys().cloned().collect();
    let cut = json!({"type": "object", "required": ["what", "of", "cursor"]});
    properties.insert("left_out".into(), json!({"type": "array", "items": cut}));
    let schema = json!({"type": "object", "required": demanded, "properties": properties});
    if let Value::Object(schema) = schema { schema } else { Object::new() }
}

/// A list of objects in which each has these fields.
fn list_of(fields: &[&str]) -> Value {
    json!({"type": "array", "items": {"type": "object", "required": fields}})
}

fn run_argument() -> (String, Value) {
    property("run", "string", "id of a run, from xprof_list_runs")
}

fn limit_argument(default: usize) -> (String, Value) {
    (LIMIT.id.to_owned(), json!({"type": "integer", "minimum": 1, "default": default}))
}

/// How many items are asked for.
fn limit(arguments: &Arguments, default: usize) -> Result<usize, Refusal> {
    Ok(arguments.count(LIMIT.id, 1)?.unwrap_or(default))
}

/// A text field of answers.
fn text() -> Value {
    json!({"type": "string"})
}

/// A whole number.
fn count() -> Value {
    json!({"type": "integer"})
}

#[cfg(test)]
mod tests;
