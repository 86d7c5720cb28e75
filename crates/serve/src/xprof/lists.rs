//! Which runs there are, and which tools, hosts and HLO modules a run has.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, Uri};
use haloscope_compat::ALL_HOSTS;
use haloscope_profile::Profile;
use haloscope_report::turns::Size;
use haloscope_store::RunInfo;
use serde_json::json;

use super::reply::{json, text};
use super::request::DataRequest;
use super::{Outcome, Refusal};
use crate::app::{App, AppState};
use crate::compute::{blocking, compute};

/// Tools whose list of hosts has one entry for all in place of several, as XProf's server has it. Which hosts a tool then
/// answers for is another matter: some put all together though the list names each.
const TOGETHER: [&str; 3] = ["overview_page", "pod_viewer", "smart_suggestion"];

/// Tools whose list has that entry beside the hosts.
const EITHER: [&str; 4] =
    ["framework_op_stats", "input_pipeline_analyzer", "kernel_stats", "megascale_stats"];

/// What XProf lists where a run has no HLO module.
const NO_MODULE: &str = "NO_MODULE";

/// The names of all runs, the last in the alphabet first: names are times as a rule, so that this is the newest.
pub(super) async fn runs(State(app): AppState, uri: Uri) -> Outcome {
    let asked = DataRequest::parse(&uri);
    let runs = blocking(app, move |app| asked.runs(&app.store)).await?;
    let mut names: Vec<_> = runs.into_iter().map(|run| run.name).collect();
    names.sort_unstable_by(|a, b| b.cmp(a));
    names.dedup();
    json(&json!(names))
}

/// What a look into the run that is meant takes: it is quick where the run is open.
async fn look(app: &Arc<App>, asked: &DataRequest) -> Size {
    let asked = asked.clone();
    let is_open = blocking(Arc::clone(app), move |app| {
        Ok::<_, Refusal>(asked.place(&app.store)?.is_some_and(|place| app.store.is_open(&place.info.id)))
    });
    // Whoever asks is told what is wrong where the run is opened.
    if is_open.await.unwrap_or(false) { Size::Quick } else { Size::Heavy }
}

/// The tools that have something to show for a run; none for a run that is not there, as XProf has it.
pub(super) async fn run_tools(State(app): AppState, uri: Uri) -> Outcome {
    let asked = DataRequest::parse(&uri);
    let size = look(&app, &asked).await;
    let tools = compute(app, size, move |app| {
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
    let asked = DataRequest::parse(&uri);
    let names = blocking(app, move |app| {
        let place = asked.place(&app.store)?;
        Ok::<_, Refusal>(place.map(|place| host_names(&place.info, asked.get("tag"))).unwrap_or_default())
    })
    .await?;
    json(&names.into_iter().map(|name| json!({ "hostname": name })).collect())
}

/// The hosts of a run as a tool's list has them.
pub(super) fn host_names(info: &RunInfo, tool: Option<&str>) -> Vec<String> {
    let mut names = info.hosts.clone();
    let is_in = |tools: &[&str]| tool.is_some_and(|tool| tools.contains(&tool));
    if names.len() > 1 && is_in(&TOGETHER) {
        return vec![ALL_HOSTS.to_owned()];
    }
    if names.len() > 1 && is_in(&EITHER) {
        names.push(ALL_HOSTS.to_owned());
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// The HLO modules of a run with their program ids, with commas between them.
pub(super) async fn module_list(State(app): AppState, uri: Uri) -> Outcome {
    let asked = DataRequest::parse(&uri);
    let size = look(&app, &asked).await;
    let list = compute(app, size, move |app| {
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
        // What the server of xprof 2.24.2 gives for a run of two hosts.
        for (tool, expected) in [
            ("overview_page", &["ALL_HOSTS"][..]),
            ("smart_suggestion", &["ALL_HOSTS"]),
            ("kernel_stats", &["ALL_HOSTS", "w-0", "w-1"]),
            ("input_pipeline_analyzer", &["ALL_HOSTS", "w-0", "w-1"]),
            ("hlo_stats", &["w-0", "w-1"]),
            ("trace_viewer@", &["w-0", "w-1"]),
            ("no such tool", &["w-0", "w-1"]),
        ] {
            assert_eq!(host_names(&info(&["w-1", "w-0"]), Some(tool)), expected, "{tool}");
        }
        let named = TOGETHER.iter().chain(&EITHER);
        assert!(named.into_iter().all(|id| haloscope_compat::find(id).is_ok()));
    }
}
