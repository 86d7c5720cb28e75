//! Which runs there are, and which tools, hosts and HLO modules a run has.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, Uri};
use haloscope_compat::{ALL_HOSTS, Hosts};
use haloscope_core::profile::Profile;
use haloscope_store::RunInfo;
use serde_json::json;

use super::asked::Asked;
use super::reply::{json, text};
use super::{Outcome, Refusal};
use crate::answer::{blocking, compute};
use crate::router::AppState;

/// What XProf lists where a run has no HLO module.
const NO_MODULE: &str = "NO_MODULE";

/// The names of all runs, the last in the alphabet first: names are times as a rule, so that this is the newest.
pub(super) async fn runs(State(app): AppState, uri: Uri) -> Outcome {
    let asked = Asked::of(&uri);
    let runs = blocking(app, move |app| asked.runs(&app.store)).await?;
    let mut names: Vec<_> = runs.into_iter().map(|run| run.name).collect();
    names.sort_unstable_by(|a, b| b.cmp(a));
    names.dedup();
    json(&json!(names))
}

/// The tools that have something to show for a run; none for a run that is not there, as XProf has it.
pub(super) async fn run_tools(State(app): AppState, uri: Uri) -> Outcome {
    let asked = Asked::of(&uri);
    let tools = compute(app, move |app| {
        let Some(place) = asked.place(&app.store)? else { return Ok(Vec::new()) };
        Ok::<_, Refusal>(offered(&place.open(&app.store)?.profile))
    })
    .await?;
    json(&json!(tools))
}

/// The ids of the tools that a list offers. The streaming trace viewer stands in for the other one.
pub(super) fn offered(profile: &Profile) -> Vec<&'static str> {
    let mut tools: Vec<_> = haloscope_compat::offered(profile).map(|tool| tool.id).collect();
    if tools.contains(&"trace_viewer@") {
        tools.retain(|id| *id != "trace_viewer");
    }
    tools
}

/// The hosts that a tool can be asked about; none for a run that is not there.
pub(super) async fn hosts(State(app): AppState, uri: Uri) -> Outcome {
    let asked = Asked::of(&uri);
    let names = blocking(app, move |app| {
        let place = asked.place(&app.store)?;
        Ok::<_, Refusal>(place.map(|place| host_names(&place.info, asked.get("tag"))).unwrap_or_default())
    })
    .await?;
    json(&names.into_iter().map(|name| json!({ "hostname": name })).collect())
}

/// The hosts of a run as a tool's list has them: with one entry for all where there are several and the tool can put them
/// together, and with that entry alone where it always does.
pub(super) fn host_names(info: &RunInfo, tool: Option<&str>) -> Vec<String> {
    let mut names = info.hosts.clone();
    let kind = tool.and_then(|id| haloscope_compat::find(id).ok()).map(|tool| tool.hosts);
    if names.len() > 1 {
        match kind {
            Some(Hosts::All) => return vec![ALL_HOSTS.to_owned()],
            Some(Hosts::OneOrAll) => names.push(ALL_HOSTS.to_owned()),
            _ => {}
        }
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// The HLO modules of a run with their program ids, with commas between them.
pub(super) async fn module_list(State(app): AppState, uri: Uri) -> Outcome {
    let asked = Asked::of(&uri);
    let list = compute(Arc::clone(&app), move |app| {
        let Some(place) = asked.place(&app.store)? else { return Ok(String::new()) };
        let run = place.open(&app.store)?;
        let mut labels: Vec<_> = run.profile.modules.iter().map(|module| module.label()).collect();
        labels.sort_unstable();
        labels.dedup();
        Ok::<_, Refusal>(if labels.is_empty() { NO_MODULE.to_owned() } else { labels.join(",") })
    })
    .await?;
    Ok(text(StatusCode::OK, list))
}

#[cfg(test)]
mod tests {
    use super::*;
    use haloscope_store::Store;

    fn info(hosts: &[&str]) -> RunInfo {
        let store = Store::in_memory();
        store.add("r", Profile::default());
        let info = store.named("r").unwrap();
        RunInfo { hosts: hosts.iter().map(|h| (*h).to_owned()).collect(), ..info }
    }

    #[test]
    fn one_host_is_listed_by_its_name_whatever_the_tool() {
        for tool in [None, Some("overview_page"), Some("no such tool")] {
            assert_eq!(host_names(&info(&["w-0"]), tool), ["w-0"]);
        }
        assert_eq!(host_names(&info(&["w-1", "w-0"]), None), ["w-0", "w-1"]);
    }

    #[test]
    fn several_hosts_are_listed_as_xprof_lists_them_for_the_tool() {
        // hosts_from_xplane_filenames of xprof 2.24.2.
        let all = ["overview_page", "pod_viewer", "smart_suggestion"];
        let both = ["input_pipeline_analyzer", "framework_op_stats", "kernel_stats", "megascale_stats"];
        for tool in haloscope_compat::TOOLS {
            let expected: &[&str] = match tool.id {
                id if all.contains(&id) => &["ALL_HOSTS"],
                id if both.contains(&id) => &["ALL_HOSTS", "w-0", "w-1"],
                _ => &["w-0", "w-1"],
            };
            assert_eq!(host_names(&info(&["w-1", "w-0"]), Some(tool.id)), expected, "{}", tool.id);
        }
    }
}
