//! `input_pipeline_analyzer`: whether the program waits for input, and what the host does for it.

use haloscope_profile::Profile;

use super::Tool;
use crate::gviz::{DataTable, Kind};
use crate::input_pipeline::{Analysis, words};
use crate::steps::{Environment, StepDb, diagnostics};
use crate::{Answer, Error, Hosts, Params};

pub(crate) const TOOL: Tool = Tool {
    id: "input_pipeline_analyzer",
    doc: "Whether the program waits for input, and what the host does for it",
    hosts: Hosts::OneOrAll,
    params: &[],
    offered: |_| true,
    answer,
};

fn answer(profile: &Profile, params: &Params) -> Result<Answer, Error> {
    let hosts = TOOL.hosts.chosen(profile, params)?;
    let environment = Environment::new(profile, &hosts);
    let db = StepDb::new(profile, &hosts, &environment);
    let analysis = Analysis::new(profile, &hosts, &environment, &db);
    let mut advice = DataTable::new(&[("link", Kind::String, "link")]);
    words::advice().into_iter().for_each(|words| advice.row([words.into()]));
    let warnings = diagnostics::step_warnings(&db);
    let diagnostics = diagnostics::table(&warnings, &[]);
    Answer::json(&[&analysis.slowest_cores, &analysis.steps, &analysis.host.table, &advice, &diagnostics])
}
