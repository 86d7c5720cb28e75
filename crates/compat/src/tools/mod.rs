//! The registry: one value a tool, one module a tool.

mod framework_op_stats;
mod graph_viewer;
mod hlo_stats;
mod inference_profile;
mod input_pipeline_analyzer;
mod kernel_stats;
mod kernel_utilization;
mod llo;
mod megascale_stats;
mod memory_profile;
mod memory_viewer;
mod op_profile;
mod overview_page;
mod perf_counters;
mod pod_viewer;
mod roofline_model;
mod smart_suggestion;
mod tool_names;
mod trace_viewer;
mod utilization_viewer;

use haloscope_profile::Profile;

use crate::{Answer, Error, Hosts, Param, Params};

/// A tool of XProf's.
#[derive(Debug)]
pub struct Tool {
    /// Its name, the `tag` of a request.
    pub id: &'static str,
    /// What it shows, in a line.
    pub doc: &'static str,
    /// Which hosts it answers for.
    pub hosts: Hosts,
    /// What it takes beside `run`, `host` and `hosts`.
    pub params: &'static [Param],
    /// Whether a run's list of tools has it. Others answer where they are asked.
    pub offered: fn(&Profile) -> bool,
    /// The answer.
    pub answer: fn(&Profile, &Params) -> Result<Answer, Error>,
}

/// All tools, in the order in which XProf's page lists them.
#[rustfmt::skip]
pub const TOOLS: &[&Tool] = &[
    &overview_page::TOOL,
    &trace_viewer::STREAMING,
    &trace_viewer::WHOLE,
    &graph_viewer::TOOL,
    &op_profile::TOOL,
    &op_profile::ALIAS,
    &input_pipeline_analyzer::TOOL,
    &kernel_stats::TOOL,
    &memory_profile::TOOL,
    &memory_viewer::TOOL,
    &roofline_model::TOOL,
    &perf_counters::TOOL,
    &pod_viewer::TOOL,
    &framework_op_stats::TOOL,
    &hlo_stats::TOOL,
    &inference_profile::TOOL,
    &megascale_stats::TOOL,
    &utilization_viewer::TOOL,
    &kernel_utilization::TOOL,
    &llo::TOOL,
    &llo::STATIC,
    &llo::ANALYSIS,
    &llo::DEBUG,
    &smart_suggestion::TOOL,
    &tool_names::TOOL,
];

/// Parameters that every tool takes: which run and host, and what only XProf's server has a use for.
const COMMON: &[&str] =
    &["run", "tag", "host", "hosts", "session_path", "run_path", "tqx", "use_saved_result", "token"];

/// Parameters that choose one of very many windows or events.
const ONE_OF_MANY: &[&str] =
    &["start_time_ms", "end_time_ms", "event_name", "duration_ms", "unique_id", "search_prefix"];
/// Parameters that no answer depends on, given the run: which that is, who asks, and whether an answer that is kept will do.
const UNSAID: &[&str] = &["run", "tag", "session_path", "run_path", "use_saved_result", "token"];

impl Tool {
    /// The question in words that tell it from all others to this tool, whatever the order in which its parameters are given. `None`
    /// for one of very many, such as a window of a timeline, whose answers are not worth keeping.
    #[must_use]
    pub fn words(&self, params: &Params) -> Option<String> {
        let mut given: Vec<(&str, &str)> =
            params.keys().filter_map(|key| Some((key, params.get(key)?))).collect();
        if given.iter().any(|(key, _)| ONE_OF_MANY.contains(key)) {
            return None;
        }
        given.retain(|(key, _)| !UNSAID.contains(key));
        given.sort_unstable();
        Some(format!("{given:?}"))
    }

    /// Refuses parameters that the tool does not know.
    pub(crate) fn check(&self, params: &Params) -> Result<(), Error> {
        let known = |key: &str| COMMON.contains(&key) || self.params.iter().any(|p| p.id == key);
        match params.keys().find(|key| !known(key)) {
            None => Ok(()),
            Some(key) => {
                let mut ids: Vec<_> = self.params.iter().map(|p| p.id).collect();
                ids.extend(["host", "hosts"]);
                Err(Error::Usage(format!(
                    "{}: unknown parameter `{key}`; there are: {}",
                    self.id,
                    ids.join(", ")
                )))
            }
        }
    }
}

/// The tool of this name.
///
/// # Errors
/// [`Error::UnknownTool`], which lists what there is.
pub fn find(id: &str) -> Result<&'static Tool, Error> {
    TOOLS.iter().copied().find(|tool| tool.id == id).ok_or_else(|| Error::UnknownTool {
        asked: id.to_owned(),
        known: TOOLS.iter().map(|tool| tool.id).collect(),
    })
}

/// What XProf's library answers programs where a tool has nothing to show, if that is an empty table and no failure: people, who are
/// told what is missing, get none.
///
/// # Errors
/// [`Error::Internal`] for a table that cannot be written.
pub fn empty(tool: &str) -> Option<Result<Answer, Error>> {
    (tool == kernel_stats::TOOL.id).then(kernel_stats::without_kernels)
}

/// The tools that have something to show for a run, in the order of [`TOOLS`].
pub fn offered(profile: &Profile) -> impl Iterator<Item = &'static Tool> {
    TOOLS.iter().copied().filter(|tool| (tool.offered)(profile))
}
