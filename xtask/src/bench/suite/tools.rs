//! The tools of the comparison, each as every program is asked for it.

use anyhow::{Context, Result};

use super::Suite;
use super::data::Subject;
use super::figures::Figure;
use crate::bench::peers::{Peer, Scratch, says_nothing};
use crate::bench::process;
use crate::bench::server::Server;
use crate::bench::suite::ours::warm;
use crate::target;

/// What is asked.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) what: &'static str,
    /// Arguments of our command line; the run is put behind the words before the first option.
    pub(super) ours: Vec<String>,
    /// Whether our server is asked by a route of its own rather than by XProf's.
    api: bool,
    /// XProf's tool and its parameters.
    tool: &'static str,
    params: Vec<(&'static str, String)>,
}

impl Question {
    fn tool(what: &'static str, tool: &'static str, params: Vec<(&'static str, String)>) -> Self {
        let mut ours = vec!["xprof".to_owned(), tool.to_owned()];
        for (key, value) in &params {
            ours.extend(["-p".to_owned(), format!("{key}={value}")]);
        }
        Self { what, ours, api: false, tool, params }
    }

    fn analysis(what: &'static str, tool: &'static str) -> Self {
        let ours = [what, "--format", "json"].map(str::to_owned).into();
        Self { what, ours, api: true, tool, params: Vec::new() }
    }

    /// The path at our server.
    pub(super) fn server(&self, subject: &Subject) -> String {
        if self.api {
            format!("/api/report/{}", self.what)
        } else {
            self.data(&subject.run(), &subject.host())
        }
    }

    /// The path at a server with XProf's routes.
    fn data(&self, run: &str, host: &str) -> String {
        let rest: String = self.params.iter().map(|(key, value)| format!("&{key}={value}")).collect();
        format!("/data/plugin/profile/data?run={run}&tag={}&host={host}{rest}", self.tool)
    }
}

pub(super) fn overview() -> Question {
    Question::analysis("overview", "overview_page")
}

/// A window of the timeline, milliseconds from its start.
pub(super) fn trace_window(from_ms: f64, to_ms: f64) -> Question {
    let params = vec![
        ("resolution", "8000".to_owned()),
        ("start_time_ms", format!("{from_ms:.3}")),
        ("end_time_ms", format!("{to_ms:.3}")),
    ];
    Question::tool("trace window", "trace_viewer@", params)
}

/// All of them; the window is the middle tenth of the run.
pub(super) fn all(length_ms: f64) -> Vec<Question> {
    vec![
        overview(),
        Question::analysis("ops", "framework_op_stats"),
        Question::tool("op_profile", "op_profile", vec![("group_by", "program".to_owned())]),
        Question::tool("hlo_stats", "hlo_stats", Vec::new()),
        Question::tool("overview_page", "overview_page", Vec::new()),
        Question::tool("framework_op_stats", "framework_op_stats", Vec::new()),
        Question::tool("roofline_model", "roofline_model", Vec::new()),
        trace_window(length_ms * 0.45, length_ms * 0.55),
        Question::tool("memory", "memory_profile", Vec::new()),
    ]
}

impl Suite {
    /// All peers, cold, reopened and warm.
    pub(super) fn ask_peers(&self, subject: &Subject, question: &Question, runs: u32) -> Vec<Figure> {
        let mut all = Vec::new();
        for peer in &self.peers {
            let figure = |state| Figure::new(&subject.name, question.what, peer.id, state);
            if !self.has_time() {
                all.push(figure("cold").note("the time of this benchmark was spent"));
                continue;
            }
            match self.ask_peer(peer, subject, question, runs) {
                Ok(figures) => all.extend(figures),
                Err(error) => all.push(figure("cold").note(format!("{error:#}"))),
            }
        }
        all
    }

    fn ask_peer(
        &self,
        peer: &Peer,
        subject: &Subject,
        question: &Question,
        runs: u32,
    ) -> Result<Vec<Figure>> {
        let figure = |state| Figure::new(&subject.name, question.what, peer.id, state);
        let params: Vec<(&str, &str)> = question.params.iter().map(|(k, v)| (*k, v.as_str())).collect();
        let Some(asked) = peer.asked(question.tool, &params) else {
            return self.by_server(peer, subject, question);
        };
        let stdout = target().join("bench/peer.stdout");
        let mut scratch = Scratch::new(&subject.files)?;
        let mut cold = Vec::new();
        for _ in 0..runs {
            // Fresh: the one before has left its caches.
            drop(scratch);
            scratch = Scratch::new(&subject.files)?;
            cold.push(process::measure_within(&asked.command(&scratch), self.limits(), Some(&stdout)));
            // One that ran out of memory or time would do so again; one that took long is not asked often.
            let last = cold.last().and_then(|cost| cost.as_ref().ok());
            if last.is_none_or(|cost| cost.seconds > self.preset.patience_s) {
                break;
            }
        }
        if cold.iter().all(Result::is_ok) && says_nothing(&std::fs::read(&stdout)?) {
            return Ok(vec![figure("cold").note("it has no answer for this profile")]);
        }
        let cold = figure("cold").costs(cold.into_iter().collect());
        if cold.note.is_some() {
            return Ok(vec![cold]);
        }
        let mut all = vec![cold];
        if self.has_time() {
            let again = process::measure_within(&asked.command(&scratch), self.limits(), None);
            all.push(figure("reopened").costs(again.map(|cost| vec![cost])));
        }
        if let Some(often) = peer.asked_often(question.tool, &params, 2).filter(|_| self.has_time()) {
            let said = process::measure_within(&often.command(&scratch), self.limits(), Some(&stdout));
            let seconds = said.and_then(|_| last_number(&std::fs::read_to_string(&stdout)?));
            all.push(match seconds {
                Ok(seconds) => Figure { seconds: Some(seconds), ..figure("warm") },
                Err(error) => figure("warm").note(format!("{error:#}")),
            });
        } else if self.has_time() {
            let again = self.by_server(peer, subject, question);
            let again = again.unwrap_or_else(|error| vec![figure("warm").note(format!("{error:#}"))]);
            all.extend(again.into_iter().filter(|f| f.state == "warm"));
        }
        Ok(all)
    }

    /// A peer whose command line lacks the tool, or which is asked again: from the start of its server to the end of the first
    /// answer, and then again.
    fn by_server(&self, peer: &Peer, subject: &Subject, question: &Question) -> Result<Vec<Figure>> {
        let scratch = Scratch::new(&subject.files)?;
        let figure = |state| Figure::new(&subject.name, question.what, peer.id, state);
        // A port that was free a moment ago.
        let port = std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let Some(command) = peer.server(&scratch, port) else { return Ok(Vec::new()) };
        let begun = std::time::Instant::now();
        let mut server = Server::other(command, port)?;
        let path = question.data(Scratch::RUN, &subject.host());
        let first = server.get(&path)?;
        let seconds = begun.elapsed().as_secs_f64();
        let cold = Figure {
            seconds: Some(seconds),
            other_s: Some(seconds),
            bytes: server.peak_bytes(),
            count: Some(1),
            ..figure("cold")
        };
        let cold =
            cold.note(format!("by its server: start and first answer, {} kB", first.body.len() / 1_000));
        let (median, longest) = warm(&mut server, &path)?;
        Ok(vec![cold, Figure { seconds: Some(median), other_s: Some(longest), ..figure("warm") }])
    }
}

/// The number on the last line: a peer may talk before it.
pub(super) fn last_number(text: &str) -> Result<f64> {
    let line = text.lines().last().unwrap_or_default();
    line.trim().parse().with_context(|| format!("expected seconds, found `{line}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_is_asked_the_same() {
        let all = all(1_000.0);
        let window = all.iter().find(|q| q.what == "trace window").unwrap();
        assert!(window.ours.contains(&"start_time_ms=450.000".to_owned()), "{:?}", window.ours);
        let subject = Subject {
            name: String::new(),
            folder: "logs".into(),
            files: vec!["logs/plugins/profile/run/h.xplane.pb".into()],
            bytes: 0,
            made: false,
        };
        let path = "/data/plugin/profile/data?run=run&tag=trace_viewer@&host=h&resolution=8000&start_time_ms=450.000&end_time_ms=550.000";
        assert_eq!(window.server(&subject), path);
        assert_eq!(overview().server(&subject), "/api/report/overview");
        assert_eq!(all.len(), 9);
        assert_eq!(overview().ours, ["overview", "--format", "json"]);
    }
}
