//! Tools that are derived from the registry of analyses: one for each of those that are asked for most, one for a family, and
//! `report` for every other, because an agent pays for the description of each tool in every conversation.

use haloscope_analyses as analyses;
use haloscope_analyses::{FAMILIES, Family};
use haloscope_report::capitalized;
use haloscope_time::analysis::{Analysis, LIMIT, Others, Params, run_alone};
use serde_json::{Value, json};

use super::names::{has_own, tool_of};
use super::report::draft;
use super::schema::{argument, params, scope, scope_words, shared};
use crate::{Answer, Arguments, Budget, Context, Refusal, Tool, object};

/// The analysis that `report` gives where a call does not say.
const ANY: &str = "overview";

/// The tools that the registry gives.
pub(super) fn all() -> Vec<Tool> {
    let own = analyses::ALL.iter().copied().filter(|analysis| has_own(analysis)).map(one);
    own.chain(FAMILIES.iter().map(family)).chain([any()]).collect()
}

fn one(analysis: &'static Analysis) -> Tool {
    let properties = shared(analysis.others()).into_iter().chain(params(std::iter::once(analysis)));
    let name = analysis.slug().replace('-', "_");
    Tool::new(
        name.clone(),
        capitalized(analysis.id),
        analysis.question,
        object(properties, &[]),
        move |context, given| answer(context, given, &name, analysis, &flat(given, analysis)?),
    )
}

fn family(family: &'static Family) -> Tool {
    let members: Vec<(&str, &Analysis)> = analyses::members(family.id).collect();
    let usual = family.usual;
    let words: Vec<&str> = members.iter().map(|(word, _)| *word).collect();
    let about: Vec<String> = members.iter().map(|(word, a)| format!("{word}: {}", a.question)).collect();
    let others = members.iter().map(|(_, a)| a.others()).find(|o| *o != Others::None).unwrap_or(Others::None);
    let what = ("what".to_owned(), json!({"type": "string", "enum": words, "default": usual}));
    let all = params(members.iter().map(|(_, analysis)| *analysis));
    let properties = std::iter::once(what).chain(shared(others)).chain(all);
    let description = format!("{}. {}", family.about, about.join(" "));
    Tool::new(
        family.id,
        capitalized(family.id),
        description,
        object(properties, &[]),
        move |context, given| {
            let what = given.choice("what", &words)?.unwrap_or_else(|| usual.to_owned());
            let Some(analysis) = analyses::find(&format!("{} {what}", family.id)) else {
                return Err(Refusal::unknown("`what`", &what, &words, "call again with one that exists"));
            };
            let of_others = members.iter().flat_map(|(_, other)| other.params);
            for param in of_others.filter(|param| analysis.params.iter().all(|own| own.id != param.id)) {
                // `limit` is shared by all.
                if param.id != LIMIT.id && given.given(&argument(param)).is_some() {
                    let own: Vec<String> = analysis.params.iter().map(argument).collect();
                    let of = format!("parameter of `{}`", analysis.id);
                    return Err(Refusal::unknown(&of, &argument(param), &own, "call again without it"));
                }
            }
            answer(context, given, family.id, analysis, &flat(given, analysis)?)
        },
    )
}

/// The tool that gives the report of any analysis.
fn any() -> Tool {
    let slugs: Vec<String> = analyses::ALL.iter().map(|analysis| analysis.slug()).collect();
    let here = |a: &&&Analysis| tool_of(a.id).starts_with("report ");
    let about: Vec<String> =
        analyses::ALL.iter().filter(here).map(|a| format!("{}: {}", a.slug(), a.question)).collect();
    let mut properties = vec![
        ("analysis".to_owned(), json!({"type": "string", "enum": slugs, "default": ANY})),
        (
            "params".to_owned(),
            json!({"type": "object", "description": "of the analysis, such as {\"by\": \"category\"}"}),
        ),
    ];
    properties.extend(shared(Others::Many));
    let description = format!("Any analysis. {}", about.join(" "));
    Tool::new("report", "Any report", description, object(properties, &[]), |context, given| {
        let asked = given.text("analysis")?.unwrap_or_else(|| ANY.to_owned());
        let Some(analysis) = analyses::find(&asked.replace('_', "-")) else {
            let known: Vec<String> = analyses::ALL.iter().map(|analysis| analysis.slug()).collect();
            return Err(Refusal::unknown("analysis", &asked, &known, "call `report` with one that exists"));
        };
        let mut params = given.texts("params")?;
        for (name, _) in &mut params {
            if let Some(known) = analysis.params.iter().find(|param| argument(param) == *name) {
                known.id.clone_into(name);
            }
        }
        answer(context, given, "report", analysis, &params)
    })
}

/// The parameters of an analysis that stand among the arguments.
fn flat(given: &Arguments, analysis: &Analysis) -> Result<Vec<(String, String)>, Refusal> {
    let mut pairs = Vec::new();
    for param in analysis.params {
        pairs.extend(given.text(&argument(param))?.map(|text| (param.id.to_owned(), text)));
    }
    Ok(pairs)
}

/// Runs an analysis and says as much of its report as the budget lets through.
fn answer(
    context: &Context,
    arguments: &Arguments,
    tool: &str,
    analysis: &'static Analysis,
    given: &[(String, String)],
) -> Result<Answer, Refusal> {
    let budget = Budget::from_arguments(arguments)?;
    let tables = arguments.list("tables")?;
    let find = arguments.text("find")?;
    let mut params = Params::default();
    for (name, value) in given {
        params.set(name, value);
    }
    if let (Some(rows), true) = (budget.rows, analysis.params.iter().any(|param| param.id == LIMIT.id)) {
        params.set(LIMIT.id, &rows.to_string());
    }
    if analysis.is_told(&params) {
        // What it is asked about is the text: no run is needed.
        let mut draft = draft(tool, "", &run_alone(analysis, &params)?);
        draft.keep(&tables)?;
        if let Some(text) = find {
            draft.find(&text);
        }
        return budget.fit(&draft);
    }
    let words = scope_words(arguments)?;
    let run = context.run(arguments, "run")?;
    let others = match analysis.others().word() {
        // The tool for all of them has one name for it.
        Some("baseline") if arguments.given("baseline").is_none() => context.runs(arguments, "other")?,
        Some(word) => context.runs(arguments, word)?,
        None => Vec::new(),
    };
    let report = context.report(&run, &others, analysis, &scope(arguments)?, &params)?;
    let mut draft = draft(tool, &run.info.id, &report);
    if !others.is_empty() {
        let ids: Vec<&str> = others.iter().map(|run| run.info.id.as_str()).collect();
        draft.head.push(("other", json!(ids.join(","))));
    }
    if !words.is_empty() {
        let words: Vec<String> = words.iter().map(|(name, text)| format!("{name}={text}")).collect();
        draft.head.push(("scope", Value::from(words.join(" "))));
    }
    draft.keep(&tables)?;
    if let Some(text) = find {
        draft.find(&text);
    }
    budget.fit(&draft)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else an argument would mean two things.
    #[test]
    fn no_parameter_is_called_like_what_is_shared() {
        let shared = [shared(Others::Many), shared(Others::Baseline)].concat();
        for analysis in analyses::ALL {
            for param in analysis.params.iter().filter(|param| param.id != LIMIT.id) {
                let name = argument(param);
                assert!(shared.iter().all(|(known, _)| *known != name), "{} {name}", analysis.id);
                assert!(!["what", "analysis", "params"].contains(&name.as_str()), "{} {name}", analysis.id);
            }
        }
    }

    #[test]
    fn links_lead_to_tools_that_exist() {
        let tools = all();
        for analysis in analyses::ALL {
            let call = tool_of(analysis.id);
            let name = call.split(' ').next().unwrap();
            let tool = tools.iter().find(|tool| tool.name == name).unwrap();
            if let Some((key, word)) = call.split(' ').nth(1).and_then(|pair| pair.split_once('=')) {
                let known = tool.input["properties"][key]["enum"].as_array().unwrap();
                assert!(known.iter().any(|known| known == word), "{call}");
            }
        }
        assert_eq!(tool_of("memory peak"), "memory what=peak");
        assert_eq!(tool_of("compute mfu"), "report analysis=compute-mfu");
    }
}
