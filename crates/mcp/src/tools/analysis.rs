//! Tools that are derived from the registry of analyses.

use std::sync::Arc;

use haloscope_core::analyses::{self, Analysis, Others, Param, ParamKind, Params};
use haloscope_core::scope::Scope;
use haloscope_store::Run;
use serde_json::{Value, json};

use super::report::draft;
use crate::{Answer, Arguments, Budget, Context, Refusal, Tool, object, property};

/// The analyses that have a tool of their own; the others are had through `report`.
const OWN: [&str; 5] = ["diagnose", "compare", "check", "roofline", "comm"];

/// What of a run is meant, with an example where the form is not plain.
const SCOPE: [(&str, &str); 6] = [
    ("hosts", ""),
    ("devices", ""),
    ("modules", ""),
    ("steps", "such as 2-5"),
    ("window", "such as 1ms..20ms"),
    ("steady", "true: without warm-up, cut and outlier steps"),
];

/// The tools that the registry gives.
pub(super) fn all() -> Vec<Tool> {
    let own = OWN.iter().filter_map(|id| analyses::find(id)).map(one);
    own.chain([any()]).collect()
}

/// The tool of one analysis.
fn one(analysis: &'static Analysis) -> Tool {
    let own = analysis.params.iter().map(|param| (param.id.to_owned(), schema(param)));
    let input = object(shared(analysis.others()).into_iter().chain(own), &[]);
    let name = analysis.slug().replace('-', "_");
    Tool::new(name.clone(), analysis.id, analysis.question, input, move |context, arguments| {
        let mut params = Vec::new();
        for param in analysis.params {
            params.extend(arguments.text(param.id)?.map(|text| (param.id.to_owned(), text)));
        }
        answer(context, arguments, &name, analysis, &params)
    })
}

/// The tool that gives the report of any analysis.
fn any() -> Tool {
    let slugs: Vec<String> = analyses::ALL.iter().map(|analysis| analysis.slug()).collect();
    let mut properties = vec![
        ("analysis".to_owned(), json!({"type": "string", "enum": slugs})),
        ("params".to_owned(), json!({"type": "object", "description": "of the analysis, by name"})),
    ];
    properties.extend(shared(Others::Many));
    let description = "The report of any analysis, made small.";
    Tool::new("report", "report", description, object(properties, &["analysis"]), |context, arguments| {
        let asked = arguments.demanded("analysis")?;
        let Some(analysis) = analyses::find(&asked) else {
            let known: Vec<String> = analyses::ALL.iter().map(|analysis| analysis.slug()).collect();
            return Err(Refusal::unknown("analysis", &asked, &known, "call `report` with one that exists"));
        };
        answer(context, arguments, "report", analysis, &arguments.texts("params")?)
    })
}

/// What the tools of all analyses take.
fn shared(others: Others) -> Vec<(String, Value)> {
    let mut properties = vec![property("run", "string", "id; the newest unless given")];
    match others {
        Others::None => {}
        Others::One => properties.push(property("other", "string", "the run to hold against it")),
        Others::Many => properties.push(property("other", "string", "runs to hold against it, by comma")),
        Others::Baseline => properties.push(property("baseline", "string", "the run it is held against")),
    }
    properties.extend(SCOPE.iter().map(|(name, description)| {
        property(name, if *name == "steady" { "boolean" } else { "string" }, description)
    }));
    properties.push(property("tables", "string", "only these, by comma"));
    properties.extend(Budget::properties());
    properties
}

fn schema(param: &Param) -> Value {
    let mut schema = match param.kind {
        ParamKind::Choice(words) => json!({"type": "string", "enum": words}),
        ParamKind::Count => json!({"type": "integer", "minimum": 0}),
        ParamKind::Quantity | ParamKind::Text | ParamKind::Texts | ParamKind::Document => {
            json!({"type": "string"})
        }
    };
    schema["description"] = json!(param.doc);
    schema
}

/// Runs an analysis and says as much of its report as the budget lets through.
fn answer(
    context: &Context,
    arguments: &Arguments,
    tool: &str,
    analysis: &'static Analysis,
    given: &[(String, String)],
) -> Result<Answer, Refusal> {
    let budget = Budget::of(arguments)?;
    let tables = arguments.list("tables")?;
    let mut params = Params::default();
    for (name, value) in given {
        params.set(name, value);
    }
    let scope = scope(arguments)?;
    let run = context.run(arguments, "run")?;
    let word = analysis.others().word();
    let others = word.map_or_else(|| Ok(Vec::new()), |word| context.runs(arguments, word))?;
    let report = report(&run, &others, analysis, &scope, &params)?;
    let mut draft = draft(tool, &run.info.id, &report);
    draft.keep(&tables)?;
    budget.fit(&draft)
}

/// The scope that a call states.
pub(crate) fn scope(arguments: &Arguments) -> Result<Scope, Refusal> {
    let mut words = Vec::new();
    for (name, _) in SCOPE {
        let text = match name {
            "hosts" | "devices" | "modules" => Some(arguments.list(name)?.join(",")),
            "steady" => arguments.flag(name)?.then(|| "yes".to_owned()),
            _ => arguments.text(name)?,
        };
        words.extend(text.map(|text| (name, text)));
    }
    Ok(Scope::from_words(|key| words.iter().find(|(name, _)| *name == key).map(|(_, text)| text.as_str()))?)
}

fn report(
    run: &Arc<Run>,
    others: &[Arc<Run>],
    analysis: &'static Analysis,
    scope: &Scope,
    params: &Params,
) -> Result<haloscope_core::report::Report, Refusal> {
    let others: Vec<_> = others.iter().map(|run| &*run.profile).collect();
    Ok(analyses::run_with(analysis, &run.profile, &others, scope, params)?)
}
