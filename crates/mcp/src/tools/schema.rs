//! The input schemas of tools that are derived from the registry.

use haloscope_report::scope::Scope;
use haloscope_time::analysis::{Analysis, LIMIT, Others, Param, ParamKind};
use serde_json::{Value, json};

use crate::{Arguments, Budget, Refusal, property};

/// What of a run is meant, with an example where the form is not plain.
const SCOPE: [(&str, &str); 6] = [
    ("hosts", ""),
    ("devices", ""),
    ("modules", ""),
    ("steps", "2-5"),
    ("window", "1ms..20ms"),
    ("steady", "steady steps only"),
];

/// The scope's properties, for input schemas.
#[must_use]
pub fn scope_properties() -> Vec<(String, Value)> {
    let kind = |name: &str| if name == "steady" { "boolean" } else { "string" };
    SCOPE.iter().map(|(name, description)| property(name, kind(name), description)).collect()
}

/// The scope that a call states in [`scope_properties`].
///
/// # Errors
/// For steps and windows that cannot be understood.
pub fn scope(arguments: &Arguments) -> Result<Scope, Refusal> {
    let words = scope_words(arguments)?;
    Ok(Scope::from_words(|key| words.iter().find(|(name, _)| *name == key).map(|(_, text)| text.as_str()))?)
}

/// What is stated of a scope, by name.
pub(super) fn scope_words(arguments: &Arguments) -> Result<Vec<(&'static str, String)>, Refusal> {
    let mut words = Vec::new();
    for (name, _) in SCOPE {
        let text = match name {
            "hosts" | "devices" | "modules" => {
                Some(arguments.list(name)?.join(",")).filter(|t| !t.is_empty())
            }
            "steady" => arguments.flag(name)?.then(|| "yes".to_owned()),
            _ => arguments.text(name)?,
        };
        words.extend(text.map(|text| (name, text)));
    }
    Ok(words)
}

/// What the tools of all analyses take.
pub(super) fn shared(others: Others) -> Vec<(String, Value)> {
    let mut properties = vec![property("run", "string", "id; else the newest")];
    match others {
        Others::None => {}
        Others::One => properties.push(property("other", "string", "run to compare with it")),
        Others::Many => properties.push(property("other", "string", "runs to compare with it, by comma")),
        Others::Baseline => {
            properties.push(property("baseline", "string", "baseline runs, by comma"));
        }
    }
    properties.extend(scope_properties());
    properties.push(property("tables", "string", "only these, by comma"));
    properties.push(property("find", "string", "rows with this text"));
    properties.extend(Budget::properties());
    properties
}

/// A parameter as arguments write it: with `_` for `-`.
pub(super) fn argument(param: &Param) -> String {
    param.id.replace('-', "_")
}

/// The parameters of analyses, each once; the words of a choice are those of all of them. `limit` is among what is shared.
pub(super) fn params<'a>(analyses: impl Iterator<Item = &'a Analysis>) -> Vec<(String, Value)> {
    let mut all: Vec<(String, Value)> = Vec::new();
    for param in analyses.flat_map(|analysis| analysis.params).filter(|param| param.id != LIMIT.id) {
        let name = argument(param);
        match all.iter_mut().find(|(known, _)| *known == name) {
            None => all.push((name, schema(param))),
            Some((_, known)) => add_words(known, param),
        }
    }
    all
}

fn schema(param: &Param) -> Value {
    let mut schema = match param.kind {
        ParamKind::Choice(words) => json!({"type": "string", "enum": words}),
        ParamKind::Count => json!({"type": "integer", "minimum": 0}),
        ParamKind::Flag => json!({"type": "string", "enum": ["yes"]}),
        ParamKind::Quantity | ParamKind::Text | ParamKind::Texts | ParamKind::Document => {
            json!({"type": "string"})
        }
    };
    let kind = match param.kind {
        ParamKind::Texts => "; several with `;` between them",
        ParamKind::Document => " (the text, no path)",
        _ => "",
    };
    schema["description"] = json!(format!("{}{kind}", param.doc));
    schema
}

fn add_words(known: &mut Value, param: &Param) {
    let (Some(list), ParamKind::Choice(words)) =
        (known.get_mut("enum").and_then(Value::as_array_mut), param.kind)
    else {
        return;
    };
    for word in words {
        if !list.iter().any(|known| known == word) {
            list.push(json!(word));
        }
    }
}
