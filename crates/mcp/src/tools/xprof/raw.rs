//! What a tool of XProf's answers, as it is.

use haloscope_time::analysis::LIMIT;
use serde_json::json;

use super::{ask, run_argument};
use crate::{Budget, Draft, Refusal, Tool, object, property};

pub(super) fn tool() -> Tool {
    let tags: Vec<&str> = haloscope_compat::TOOLS.iter().map(|tool| tool.id).collect();
    let own = [
        run_argument(),
        ("tag".to_owned(), json!({"type": "string", "enum": tags})),
        property("host", "string", "for tags of one host"),
        property("module_name", "string", "for memory_viewer and graph_viewer"),
        ("params".to_owned(), json!({"type": "object", "description": "other parameters of the tag"})),
    ];
    let budget = Budget::properties().into_iter().filter(|(name, _)| name != LIMIT.id);
    let input = object(own.into_iter().chain(budget), &["run", "tag"]);
    let description = "What XProf's /data answers for a tag, byte for byte, in pieces of the budget. For what no other tool has.";
    Tool::new("xprof_raw", "raw", description, input, |context, arguments| {
        let budget = Budget::from_arguments(arguments)?;
        let tag = arguments.demanded("tag")?;
        let run = context.run(arguments, "run")?;
        let mut params = arguments.texts("params")?;
        for name in ["host", "module_name"] {
            params.extend(arguments.text(name)?.map(|value| (name.to_owned(), value)));
        }
        let params: Vec<(&str, &str)> =
            params.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let body = ask::bytes(&run.profile, &tag, &params)?;
        let bytes = body.len();
        let text = String::from_utf8(body).map_err(|_| {
            let next = format!("`haloscope xprof {tag} RUN > FILE` writes them");
            Refusal::new(format!("`{tag}` answers with {bytes} bytes that are not text"), next)
        })?;
        let mut draft = Draft::about("xprof_raw");
        draft.head.extend([("run", json!(run.info.id)), ("tag", json!(tag)), ("bytes", json!(bytes))]);
        draft.texts.push(("raw".to_owned(), tag, text));
        budget.fit(&draft)
    })
}
