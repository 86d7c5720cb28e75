//! What a server answers: analyses over new time windows, tiles of the timeline, and the page's first load.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::Suite;
use super::data::{self, Subject};
use super::figures::{Figure, Part};
use super::ours::OURS;
use crate::bench::server::Server;
use crate::bench::timeline::{self, quantile};

/// New windows that each analysis is asked for, at most.
const WINDOWS: usize = 20;
/// After so many seconds of one analysis no further window is asked for.
const ENOUGH_S: f64 = 8.0;
/// What is told of a tool's pages that do not come from this server.
const SCHEMES: [&str; 2] = ["http://", "https://"];

impl Suite {
    /// Length of the run, milliseconds.
    pub(super) fn length_ms(&self, subject: &Subject) -> Option<f64> {
        let (start_ps, end_ps) = span(&mut self.server(subject).ok()?).ok()?;
        Some((end_ps - start_ps) as f64 / 1e9)
    }

    pub(super) fn windows(&self, part: &mut Part) -> Result<()> {
        let subject = data::generated(self.preset.windows_mb, None)?;
        self.tell(&format!("{}: analyses over new windows", subject.name));
        let done = self.yardsticks(&subject.name, &subject.files[0], 1).and_then(|figures| {
            part.figures.extend(figures);
            self.all_windows(&subject, part)
        });
        subject.remove();
        done
    }

    /// Each analysis over windows that it was not asked for before, after one question for the whole run.
    fn all_windows(&self, subject: &Subject, part: &mut Part) -> Result<()> {
        let mut server = self.server(subject)?;
        let known: Value = serde_json::from_slice(&server.get("/api/analyses")?.body)?;
        let known = known.as_array().or_else(|| known["analyses"].as_array()).context("no analyses")?;
        let (start_ps, end_ps) = span(&mut server)?;
        let windows = timeline::windows(start_ps, end_ps);
        let (mut seen, mut silent) = (0, Vec::new());
        // Those that compare runs need a second one.
        for analysis in known.iter().filter(|a| a["others"].is_null()) {
            let Some(id) = analysis["id"].as_str() else { continue };
            let figure = Figure::new(&subject.name, "new windows", OURS, id);
            let whole = server.ask(&format!("/api/report/{id}"), "identity")?;
            if whole.status != 200 {
                silent.push(id.to_owned());
                continue;
            }
            let mut took = Vec::new();
            let mut empty = 0;
            while took.len() + empty < WINDOWS && took.iter().sum::<f64>() < ENOUGH_S {
                // Each analysis has windows of its own, so that none finds another's answer.
                let (start, end) = windows[seen % windows.len()];
                seen += 1;
                let window =
                    format!("{}us..{}us", (start - start_ps) / 1_000_000, (end - start_ps) / 1_000_000 + 1);
                let answer = server.ask(&format!("/api/report/{id}?window={window}"), "identity")?;
                match answer.status {
                    200 => took.push(answer.seconds),
                    // A window in which nothing happened.
                    _ => empty += 1,
                }
            }
            part.figures.push(if took.is_empty() {
                figure.note("no window has an answer")
            } else {
                Figure {
                    seconds: Some(quantile(&took, 0.5)),
                    other_s: Some(quantile(&took, 1.0)),
                    count: Some(took.len() as u64),
                    ..figure
                }
            });
        }
        let peak = Figure::new(&subject.name, "new windows, server", OURS, "");
        part.figures.push(Figure { bytes: server.peak_bytes(), ..peak });
        if !silent.is_empty() {
            part.left_out
                .push(format!("new windows of what has no answer for this profile: {}", silent.join(", ")));
        }
        ensure!(seen > 0, "no analysis was asked");
        Ok(())
    }

    /// Tiles of windows at all places and zooms.
    pub(super) fn tiles(&self, subject: &Subject) -> Result<Vec<Figure>> {
        let found = timeline::of_server(&mut self.server(subject)?)?;
        let figure = |state: &str| Figure::new(&subject.name, "tiles", OURS, state);
        let first = figure("first list of tracks");
        let mut all = vec![Figure {
            seconds: Some(found.first_tracks_s),
            other_s: Some(found.tracks_s),
            bytes: found.peak_bytes,
            ..first
        }];
        for tiles in &found.tiles {
            all.push(Figure {
                seconds: Some(tiles.server_p99_s),
                other_s: Some(tiles.p99_s),
                bytes: Some(tiles.bytes as u64),
                count: Some(tiles.tracks as u64),
                ..figure(tiles.of)
            });
        }
        Ok(all)
    }

    /// What the page's first load puts on the wire, and which other hosts it names.
    pub(super) fn page(&self, part: &mut Part) -> Result<()> {
        let subject = data::generated(self.preset.small_mb.min(8), None)?;
        let done = self.server(&subject).and_then(|mut server| first_load(&mut server));
        subject.remove();
        part.figures.extend(done?);
        Ok(())
    }
}

/// Start and end of the run in picoseconds, as the timeline has them.
fn span(server: &mut Server) -> Result<(i64, i64)> {
    let tracks: Value = serde_json::from_slice(&server.get("/api/timeline/tracks")?.body)?;
    tracks["start_ps"].as_i64().zip(tracks["end_ps"].as_i64()).context("tracks without a start or end")
}

/// The files that the page is made of: those that it needs to begin, and those that its scripts name too.
fn first_load(server: &mut Server) -> Result<Vec<Figure>> {
    let figure = |state| Figure::new("the page", "first load", OURS, state);
    let (mut foreign, mut seen, mut all) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    let mut queue = vec!["/".to_owned()];
    let [mut bytes, mut files, mut seconds] = [0.0; 3];
    for round in 0.. {
        let mut named = Vec::new();
        for path in std::mem::take(&mut queue) {
            if !seen.insert(path.clone()) {
                continue;
            }
            // As browsers ask; and once more to read it.
            let sent = server.ask(&path, "gzip, deflate, br")?;
            if sent.status != 200 {
                ensure!(round > 1, "{path}: {}", sent.status);
                // A word of a script that is no file.
                continue;
            }
            bytes += sent.body.len() as f64;
            seconds += sent.seconds;
            files += 1.0;
            let text = String::from_utf8_lossy(&server.get(&path)?.body).into_owned();
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
            let found = if path == "/" { assets(&text) } else { imports(&text) };
            named.extend(found.into_iter().map(|name| (folder.clone(), name)));
        }
        for (folder, name) in named {
            if name.starts_with("//") || SCHEMES.iter().any(|scheme| name.starts_with(scheme)) {
                foreign.insert(name);
            } else if !name.starts_with("data:") && !name.starts_with('#') {
                queue.push(joined(&folder, &name));
            }
        }
        let so_far = Figure {
            bytes: Some(bytes as u64),
            seconds: Some(seconds),
            count: Some(files as u64),
            ..figure("at once")
        };
        // What index.html names has been asked for after the second round.
        if round == 1 {
            all.push(so_far.clone());
        }
        if queue.is_empty() {
            all.push(Figure { state: "everything".to_owned(), ..so_far });
            break;
        }
    }
    let count = foreign.len() as u64;
    let names = foreign.into_iter().collect::<Vec<_>>().join(" ");
    all.push(Figure { count: Some(count), ..figure("other hosts").note(names) });
    Ok(all)
}

/// A path relative to a folder.
fn joined(folder: &str, name: &str) -> String {
    let mut parts: Vec<&str> = if name.starts_with('/') { Vec::new() } else { folder.split('/').collect() };
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/"))
}

/// The files that a script names: text that begins like a relative path and ends like a script or style.
fn imports(script: &str) -> Vec<String> {
    let named = |text: &&str| {
        (text.starts_with("./") || text.starts_with("../") || text.starts_with("pages/"))
            && (text.ends_with(".js") || text.ends_with(".css"))
            && text.len() < 100
    };
    let mut found = Vec::new();
    for quote in ['"', '\'', '`'] {
        found.extend(script.split(quote).filter(named).map(str::to_owned));
    }
    found
}

/// What a page loads at once: its scripts, styles and pictures.
fn assets(html: &str) -> Vec<String> {
    let mut found = Vec::new();
    for tag in
        html.split('<').filter(|tag| ["script", "link", "img"].iter().any(|name| tag.starts_with(name)))
    {
        // Not what stands behind the tag.
        let tag = tag.split('>').next().unwrap_or_default();
        for key in ["src=\"", "href=\""] {
            if let Some((_, rest)) = tag.split_once(key) {
                found.extend(rest.split('"').next().map(str::to_owned));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assets_are_found() {
        let html = r##"<html><link rel="icon" href="data:,"><script type="module" src="./a.js"></script><a href="x">y</a>
            <link rel="stylesheet" href="/b.css"><script>let src="no"</script></html>"##;
        assert_eq!(assets(html), ["data:,", "./a.js", "/b.css"]);
    }

    #[test]
    fn what_scripts_name_is_found_and_joined() {
        let script = "import{a}from\"./shared.js\";const p=()=>import('../pages/A.js'),x=\"./no.txt\"";
        assert_eq!(imports(script), ["./shared.js", "../pages/A.js"]);
        assert_eq!(joined("/pages", "../x.js"), "/x.js");
        assert_eq!(joined("", "./pages/A.js"), "/pages/A.js");
        assert_eq!(joined("/pages", "/b.css"), "/b.css");
    }
}
