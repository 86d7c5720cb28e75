//! The shapes of what the API answers beside reports and the timeline. `cargo xtask docs --write` makes the page's types of them.

use haloscope_time::analysis::MenuGroup;
use serde::Serialize;

/// `/api/runs`.
#[derive(Debug, Serialize)]
pub(crate) struct Runs {
    /// The newest first; behind them those that were dropped on the page.
    pub(crate) runs: Vec<RunInfo>,
    /// The newest that is complete and was not dropped on the page; `None` where there is none.
    pub(crate) default: Option<String>,
    /// Stands for this listing, to ask for another one with.
    pub(crate) listing: String,
    /// The program's version.
    pub(crate) version: &'static str,
    /// Where the place lies elsewhere and cannot be listed now.
    pub(crate) stale: Option<Stale>,
    /// What is served.
    pub(crate) logdir: String,
}

/// A run in the listing.
#[derive(Debug, Serialize)]
pub(crate) struct RunInfo {
    /// Names it in every request.
    pub(crate) id: String,
    /// For people.
    pub(crate) name: String,
    /// Where it lies.
    pub(crate) path: String,
    /// Its hosts.
    pub(crate) hosts: Vec<String>,
    /// Of its files together.
    pub(crate) size_bytes: u64,
    /// When its files changed last, milliseconds since 1970.
    pub(crate) modified_ms: u64,
    /// A file of it is still being written.
    pub(crate) writing: bool,
    /// Somebody dropped it on the page: it stands behind the others, and is never the default.
    pub(crate) dropped: bool,
}

/// Since when a listing is old.
#[derive(Debug, Serialize)]
pub(crate) struct Stale {
    /// When it could last be made, milliseconds since 1970.
    pub(crate) since_ms: u64,
    /// Why it cannot be.
    pub(crate) why: String,
}

/// `/api/analyses`: the registry, and what the server has beside it: what a menu is made of.
#[derive(Debug, Serialize)]
pub(crate) struct Analyses {
    /// In the order of the registry.
    pub(crate) analyses: Vec<AnalysisInfo>,
    /// What the first words of ids of two stand for, where they are no analyses themselves.
    pub(crate) families: Vec<FamilyInfo>,
    /// The parts of a menu, in order.
    pub(crate) groups: &'static [MenuGroup],
    /// Whether `/api/ledger` has a history of runs.
    pub(crate) ledger: bool,
    /// Whether `/api/capture` captures.
    pub(crate) capture: bool,
    /// Whether `/api/query` answers SQL.
    pub(crate) sql: bool,
}

/// `POST /api/open`: the run that a file became.
#[derive(Debug, Serialize)]
pub(crate) struct Opened {
    /// Its id.
    pub(crate) run: String,
}

/// An analysis.
#[derive(Debug, Serialize)]
pub(crate) struct AnalysisInfo {
    /// As in addresses: `memory-peak`.
    pub(crate) id: String,
    /// As on the command line: `memory peak`.
    pub(crate) name: &'static str,
    /// Its name in menus and headings.
    pub(crate) label: &'static str,
    /// The part of a menu that it stands in.
    pub(crate) group: MenuGroup,
    /// What the first of two words of its name stands for: a family, or the analysis that leads it.
    pub(crate) family: Option<&'static str>,
    /// The parameter that names the run to hold against the first, where it takes one: `other` or `baseline`.
    pub(crate) others: Option<&'static str>,
    /// It may name several, with commas between.
    pub(crate) takes_many: bool,
    /// The question it answers.
    pub(crate) question: &'static str,
    /// What a profile must hold for a full answer.
    pub(crate) needs: &'static [&'static str],
    /// Its parameters beside the scope.
    pub(crate) params: Vec<ParamInfo>,
}

/// Analyses of one subject.
#[derive(Debug, Serialize)]
pub(crate) struct FamilyInfo {
    /// The first word of its members' names.
    pub(crate) id: &'static str,
    /// Its name in menus and headings.
    pub(crate) label: &'static str,
    /// What its members are about.
    pub(crate) about: &'static str,
}

/// A parameter of an analysis.
#[derive(Debug, Serialize)]
pub(crate) struct ParamInfo {
    /// Its name: `?by=`.
    pub(crate) id: &'static str,
    /// What it does.
    pub(crate) doc: &'static str,
    /// `choice`, `count`, `quantity`, `text` or `document` (the text of a file).
    pub(crate) kind: &'static str,
    /// The words of a choice.
    pub(crate) choices: &'static [&'static str],
    /// The value where none is given.
    pub(crate) default: &'static str,
}

/// `/api/progress`: how far the reading of a run has come.
#[derive(Debug, Serialize)]
pub(crate) struct Progress {
    /// The run.
    pub(crate) run: String,
    /// `idle`, `opening`, `reading` or `read`.
    pub(crate) state: &'static str,
    /// Hosts that have been read.
    pub(crate) hosts_done: u64,
    /// All.
    pub(crate) hosts: u64,
    /// Bytes that have been read.
    pub(crate) bytes_done: u64,
    /// All.
    pub(crate) bytes: u64,
}

/// `/api/source` without a path: whether there is a folder of sources.
#[derive(Debug, Serialize)]
pub(crate) struct SourceState {
    /// There is one.
    pub(crate) available: bool,
}

/// `/api/source`: the text of a source file.
#[derive(Debug, Serialize)]
pub(crate) struct SourceText {
    /// Below the folder that the server was given.
    pub(crate) path: String,
    /// All of it.
    pub(crate) text: String,
}

/// `/api/capture`: whether something can be captured, of which servers, and the captures so far.
#[derive(Debug, Serialize)]
pub(crate) struct Captures {
    /// Something can be.
    pub(crate) available: bool,
    /// Why nothing can be.
    pub(crate) why: Option<&'static str>,
    /// The log folder that sessions are written to.
    pub(crate) folder: Option<String>,
    /// Whether any server may be asked; else those that `servers` name.
    pub(crate) any_server: bool,
    /// Rules that name servers.
    pub(crate) servers: Vec<String>,
    /// The newest first.
    pub(crate) captures: Vec<Capture>,
}

/// A capture under way, or what came of it.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Capture {
    /// Names it in requests.
    pub(crate) id: String,
    /// What its slowest server does, or `writing`, `ending`, `done`, `failed` or `cancelled`.
    pub(crate) state: &'static str,
    /// When it was asked for, milliseconds since 1970.
    pub(crate) begun_ms: u64,
    /// For how long it runs or ran.
    pub(crate) elapsed_ms: u64,
    /// Until the common start; `None` where it is not known yet.
    pub(crate) starts_in_ms: Option<u64>,
    /// The length of the profile.
    pub(crate) duration_ms: u64,
    /// The wait before it.
    pub(crate) delay_ms: u64,
    /// The servers that are asked.
    pub(crate) servers: Vec<CaptureServer>,
    /// The session that was written.
    pub(crate) session: Option<String>,
    /// Where it lies.
    pub(crate) path: Option<String>,
    /// The id in the listing of runs.
    pub(crate) run: Option<String>,
    /// The files that were written.
    pub(crate) files: Vec<CaptureFile>,
    /// What is to be known of them.
    pub(crate) remarks: Vec<String>,
    /// Why there is no session.
    pub(crate) error: Option<String>,
    /// What sort of failure it is.
    pub(crate) kind: Option<&'static str>,
    /// What to do about it.
    pub(crate) hint: Option<&'static str>,
}

/// A server that is asked for a profile.
#[derive(Debug, Serialize)]
pub(crate) struct CaptureServer {
    /// `host:port`.
    pub(crate) server: String,
    /// `connecting`, `retrying`, `waiting`, `profiling`, `receiving` or `received`.
    pub(crate) state: &'static str,
    /// For how long it has been asked.
    pub(crate) elapsed_ms: u64,
    /// What came; `None` until some did.
    pub(crate) bytes: Option<u64>,
    /// 1 for the first.
    pub(crate) attempt: u32,
    /// Why it is asked again.
    pub(crate) why: Option<String>,
}

/// A file that was captured.
#[derive(Debug, Serialize)]
pub(crate) struct CaptureFile {
    /// Its name in the session.
    pub(crate) name: String,
    /// The host that it is of.
    pub(crate) host: String,
    /// The server that it came from.
    pub(crate) server: String,
    /// Its size.
    pub(crate) bytes: u64,
}
