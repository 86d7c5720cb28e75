//! What a request asks: the tool and its parameters, and the run that it names in one of three ways.

use std::path::Path;
use std::sync::Arc;

use axum::http::{StatusCode, Uri};
use haloscope_compat::{ALL_HOSTS, Params, TOOLS, Tool};
use haloscope_store::{Error, Run, RunInfo, Store};

use super::answers::Key;
use super::reply::Refusal;
use crate::query::TOKEN;

/// Parameters that say which run is meant, or who asks, but nothing of the answer.
const OUTSIDE: [&str; 7] = ["run", "tag", "session_path", "run_path", "use_saved_result", "tqx", TOKEN];

/// What XProf's page sends with its questions and XProf's server has no use for: where in the page one is, and what its old
/// trace viewer asks other servers.
const OF_PAGE: [&str; 38] = [
    "apply_time_scale_multiplier",
    "base_session_id",
    "baseSessionID",
    "firstLoad",
    "graphType",
    "graph_type",
    "group_tiny_events",
    "hlo_module",
    "host_id",
    "is_oss",
    "is_streaming",
    "kernel_name",
    "label",
    "labs",
    "memorySpaceColor",
    "moduleName",
    "mpmd_pipeline_view",
    "new_backend",
    "opName",
    "op_profile_limit",
    "pan_zoom",
    "pan_zoom_controls",
    "programId",
    "replace_model",
    "selected_group_ids",
    "sessionId",
    "session_id",
    "show_hats_survey",
    "show_me_graph",
    "symbol_id",
    "symbol_type",
    "tool",
    "trace_filter_config",
    "use_pb",
    "use_trace_viewer_v2",
    "use_xplane",
    "view_end",
    "view_start",
];

/// The parameters of a request.
#[derive(Debug, Clone)]
pub(super) struct DataRequest {
    pub(super) params: Params,
}

/// Where a run was found.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) info: RunInfo,
    /// Whether the request named its folder.
    by_path: bool,
}

impl DataRequest {
    pub(super) fn parse(uri: &Uri) -> Self {
        let mut params = Params::default();
        for (key, value) in form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()) {
            // Of a parameter that is given twice, XProf reads the first.
            if params.get(&key).is_none() {
                params.set(&key, &value);
            }
        }
        Self { params }
    }

    /// The same question with some parameters set or taken away.
    pub(super) fn with(&self, changes: &[(&str, Option<&str>)]) -> Self {
        let kept = self.params.keys().filter(|key| !changes.iter().any(|(changed, _)| changed == key));
        let kept = kept.filter_map(|key| Some((key, self.get(key)?)));
        let set = changes.iter().filter_map(|(key, value)| Some((*key, (*value)?)));
        Self { params: kept.chain(set).collect() }
    }

    /// The question for one tool: without what only the page knows. Where the page is served here, also without what other
    /// tools take, because it sends its whole address with every question.
    pub(super) fn for_tool(self, tool: &Tool, page: bool) -> Self {
        let takes = |tool: &Tool, key: &str| tool.params.iter().any(|param| param.id == key);
        let of_others = |key: &str| page && TOOLS.iter().any(|other| takes(other, key));
        let kept = |key: &&str| takes(tool, key) || !(OF_PAGE.contains(key) || of_others(key));
        let pairs = self.params.keys().filter(kept).filter_map(|key| Some((key, self.get(key)?)));
        Self { params: pairs.collect() }
    }

    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.params.get(key)
    }

    /// All runs that the request could mean, by XProf's names: those of a folder that it names, else those of the store.
    pub(super) fn runs(&self, store: &Store) -> Result<Vec<RunInfo>, Refusal> {
        Ok(match (self.get("session_path"), self.get("run_path")) {
            (Some(path), _) => store.session_at(Path::new(path))?.into_iter().collect(),
            (None, Some(path)) => store.sessions_in(Path::new(path))?,
            (None, None) => store.list()?,
        })
    }

    /// The run that is meant; `None` where there is none of the name.
    ///
    /// # Errors
    /// For a request without a run, and for folders that may not be named.
    pub(super) fn place(&self, store: &Store) -> Result<Option<Place>, Refusal> {
        let by_path = self.get("session_path").or(self.get("run_path")).is_some();
        let Some(name) = self.get("run") else {
            // One session can be meant without its name.
            if self.get("session_path").is_some() {
                return Ok(self.runs(store)?.pop().map(|info| Place { info, by_path }));
            }
            return Err(Refusal::new(StatusCode::BAD_REQUEST, "`run` is missing; /runs lists the runs"));
        };
        let info = if by_path {
            self.runs(store)?.into_iter().find(|run| run.name == name)
        } else {
            match store.named(name) {
                Ok(info) => Some(info),
                Err(Error::UnknownRun(_)) => None,
                Err(error) => return Err(error.into()),
            }
        };
        Ok(info.map(|info| Place { info, by_path }))
    }

    /// What is said where there is no such run: XProf's words.
    pub(super) fn no_run(&self) -> Refusal {
        let [run, tool] = ["run", "tag"].map(|key| self.get(key).unwrap_or_default());
        let text = match self.get("session_path").or(self.get("run_path")) {
            Some(path) => format!("Run {run} not found in run map: no session of this name in {path}"),
            None => format!("No xplane file found for run: {run}, tool: {tool}"),
        };
        Refusal::new(StatusCode::NOT_FOUND, text)
    }

    /// Refuses hosts that the run does not have.
    pub(super) fn check_hosts(&self, info: &RunInfo) -> Result<(), Refusal> {
        let named = self.get("hosts").map(|hosts| hosts.split(',').collect::<Vec<_>>());
        let named = named.unwrap_or_default().into_iter().chain(self.get("host"));
        let known = |host: &str| host == ALL_HOSTS || info.hosts.iter().any(|h| h == host);
        match named.into_iter().find(|host| !known(host)) {
            None => Ok(()),
            Some(host) => {
                let (run, there) = (&info.name, info.hosts.join(", "));
                let text = format!("No xplane file found for host: {host} in run: {run}; there are: {there}");
                Err(Refusal::new(StatusCode::NOT_FOUND, text))
            }
        }
    }
}

impl Place {
    /// Opens the run, or finds it open.
    pub(super) fn open(&self, store: &Store) -> Result<Arc<Run>, Error> {
        if self.by_path { store.open_at(Path::new(&self.info.path)) } else { store.open(&self.info.id) }
    }

    /// The run's id, unless the request named its folder.
    pub(super) fn id(&self) -> Option<&str> {
        (!self.by_path).then_some(&self.info.id)
    }

    /// What tells a question from others: the run with its state, the tool, and all that the answer may depend on.
    pub(super) fn key(&self, tool: &'static str, params: &Params) -> Key {
        let kept = params.keys().filter(|key| !OUTSIDE.contains(key));
        let mut pairs: Vec<_> =
            kept.filter_map(|key| Some((key.to_owned(), params.get(key)?.to_owned()))).collect();
        pairs.sort_unstable();
        let RunInfo { id, path, size_bytes, modified, .. } = &self.info;
        Key { run: (id.clone(), path.clone()), state: (*size_bytes, *modified), tool, params: pairs }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(query: &str) -> DataRequest {
        DataRequest::parse(&format!("/data?{query}").parse().unwrap())
    }

    #[test]
    fn the_first_of_two_values_counts_and_an_empty_one_does_not() {
        let asked = asked("run=a%2Fb&run=c&host=&host=h&tag=x%40");
        let [run, host, tag, none] = ["run", "host", "tag", "hosts"].map(|key| asked.get(key));
        assert_eq!((run, host, tag, none), (Some("a/b"), Some("h"), Some("x@"), None));
    }

    #[test]
    fn a_question_changes_in_what_is_named_alone() {
        let before = asked("tag=a&tools=x,y&perfetto=true");
        let after = before.with(&[("tag", Some("b")), ("tools", None), ("host", Some("h"))]);
        let text = |key| after.get(key);
        assert_eq!(
            (text("tag"), text("tools"), text("host"), text("perfetto")),
            (Some("b"), None, Some("h"), Some("true"))
        );
    }

    #[test]
    fn what_only_the_page_knows_is_passed_over() {
        static TOOL: Tool = Tool {
            id: "t",
            doc: "",
            hosts: haloscope_compat::Hosts::One,
            params: &[haloscope_compat::Param { id: "opName", doc: "" }],
            offered: |_| true,
            answer: |_, _| Ok(haloscope_compat::Answer::text("")),
        };
        let asked = asked("tag=t&host=h&firstLoad=true&opName=x&view_start=1&typo=1");
        let keys: Vec<_> = asked.for_tool(&TOOL, false).params.keys().map(str::to_owned).collect();
        assert_eq!(keys, ["tag", "host", "opName", "typo"]);
    }

    #[test]
    fn equal_questions_have_equal_keys() {
        let store = Store::in_memory();
        store.add("r", haloscope_profile::Profile::default());
        let key = |query: &str| {
            let asked = asked(query);
            asked.place(&store).unwrap().unwrap().key("tool", &asked.params)
        };
        let first = key("run=r&tag=t&host=a&group_by=program&use_saved_result=false&token=s");
        assert_eq!(first, key("group_by=program&host=a&run=r&tag=t&tqx=out:csv;"));
        assert_ne!(first, key("group_by=category&host=a&run=r&tag=t"));
        assert!(asked("run=other").place(&store).unwrap().is_none());
        assert_eq!(asked("tag=t").place(&store).unwrap_err().status, StatusCode::BAD_REQUEST);
    }
}
