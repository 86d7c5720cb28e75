//! `smart_suggestion`: what to do about what limits the program, by rules.
//!
//! XProf has twelve rules. Its open build registers one of them, and that is what is answered unless the parameter `rules`
//! asks for more.

mod rules;
mod signals;

use haloscope_profile::Profile;
use serde::Serialize;

use super::Tool;
use crate::{Answer, Error, Hosts, Param, Params};
use rules::{RULES, Registered};
use signals::Signals;

pub(crate) const TOOL: Tool = Tool {
    id: "smart_suggestion",
    doc: "What to do about what limits the program",
    hosts: Hosts::All,
    params: &[
        Param { id: "refresh_suggestion", doc: "For XProf's cache; it changes nothing here. true or false" },
        Param {
            id: "rules",
            doc: "Which rules to apply: open (that of XProf's open build, the default), internal (the ten that XProf \
                  registers elsewhere), all (two more that it has)",
        },
    ],
    offered: |_| false,
    answer,
};

#[derive(Serialize)]
struct Report {
    suggestions: Vec<Suggestion>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Suggestion {
    rule_name: &'static str,
    suggestion_text: String,
}

fn answer(profile: &Profile, params: &Params) -> Result<Answer, Error> {
    let hosts = TOOL.hosts.chosen(profile, params)?;
    params.flag("refresh_suggestion")?;
    let wanted = match params.choice("rules", &["open", "internal", "all"])? {
        "all" => Registered::Nowhere,
        "internal" => Registered::Internally,
        _ => Registered::Openly,
    };
    let signals = Signals::new(profile, &hosts);
    let rules = RULES.iter().filter(|rule| rule.registered <= wanted);
    let suggestions = rules.filter_map(|rule| {
        let suggestion_text = (rule.apply)(&signals)?;
        Some(Suggestion { rule_name: rule.name, suggestion_text })
    });
    Answer::json(&Report { suggestions: suggestions.collect() })
}
