//! `overview_page`: how the program is doing, and what limits it.

mod advice;
mod analysis;
mod latency;

use haloscope_profile::Profile;
use serde::Serialize;

use super::Tool;
use crate::gviz::{DataTable, Kind};
use crate::input_pipeline::Analysis;
use crate::steps::{Environment, StepDb, diagnostics};
use crate::{Answer, Error, Hosts, Params};

pub(crate) const TOOL: Tool = Tool {
    id: "overview_page",
    doc: "How the program is doing, and what limits it",
    hosts: Hosts::All,
    params: &[],
    offered: |_| true,
    answer,
};

/// A part that was something once.
#[derive(Serialize)]
struct Nothing {}

fn answer(profile: &Profile, params: &Params) -> Result<Answer, Error> {
    let hosts = TOOL.hosts.chosen(profile, params)?;
    let environment = Environment::new(profile, &hosts);
    let steps = StepDb::new(profile, &hosts, &environment);
    let input = Analysis::new(profile, &hosts, &environment, &steps);
    let mut warnings = environment.warnings.clone();
    warnings.append(&mut diagnostics::step_warnings(&steps));
    Answer::json(&(
        analysis::table(profile, &hosts, &environment, &steps, &input),
        &input.steps,
        environment_table(&environment),
        advice::table(&environment, &steps, &input),
        latency::table(profile, &hosts, &environment),
        Nothing {},
        diagnostics::table(&warnings, &diagnostics::errors(&environment)),
    ))
}

fn environment_table(environment: &Environment) -> DataTable {
    let columns = ["host_id", "command_line", "start_time", "bns_address"].map(|c| (c, Kind::String, c));
    let mut table = DataTable::new(&columns);
    let (hosts, tasks) = (environment.host_count, environment.task_count);
    table.prop("host_count", hosts.to_string());
    let tasks_by_host = tasks.checked_div(hosts).map(|n| format!(" (num tasks per host = {n})"));
    table.prop("task_count", format!("{tasks}{}", tasks_by_host.unwrap_or_default()));
    table.prop("device_type", &*environment.run.device_type);
    table.prop("device_core_count", environment.run.core_count.to_string());
    table.prop("is_training", environment.is_training.to_string());
    table
}
