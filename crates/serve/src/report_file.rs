//! The page that shows one run by itself: one file that needs neither server nor network.
//!
//! It is built with the other page, see `web/src/report`; what it shows is put into it as JSON.

use std::io::{self, Write};
use std::sync::Arc;

use haloscope_analyses as analyses;
use haloscope_analyses::FAMILIES;
use haloscope_profile::{LineId, LineKind, Profile};
use haloscope_report::Error;
use haloscope_report::scope::Scope;
use haloscope_time::analysis::{self, Also, Analysis, Params};
use haloscope_time::select::Selection;
use haloscope_timeline::Timeline;
use haloscope_timeline::excerpt;
use serde_json::{Map, Value, json};

use crate::page::{escaped, report_template};

/// Rows of a table that are taken along.
const ROWS: usize = 200;
/// Points of a curve.
const POINTS: usize = 2000;

/// Pixels of the timeline to begin with, and the JSON that it may take: it is drawn coarser until it fits.
const PX: u32 = 1200;
const TIMELINE_BYTES: usize = 600_000;
/// Devices whose lines are drawn, and threads of hosts.
const DEVICES: usize = 2;
const THREADS: usize = 4;

/// Where the data go.
const PLACE: &str = "<!--haloscope-data-->";
/// Where the title goes.
const TITLE: &str = "<title>Haloscope report</title>";

/// Writes the page of `haloscope report` for a run that is open; `name` is what the page calls it.
///
/// # Errors
/// [`Error`] for a scope that does not fit, a file that changed meanwhile, and a build without the page.
pub fn report_page(profile: &Arc<Profile>, scope: &Scope, name: &str) -> Result<Vec<u8>, Error> {
    let template = report_template().ok_or_else(|| {
        Error::Nothing(
            "this build has no page for reports in it: run `npm ci && npm run build` in web/, then build haloscope again".into(),
        )
    })?;
    let data = data(profile, scope, name)?;
    let mut out = Vec::new();
    page(template, name, &data, &mut out).map_err(|error| Error::Nothing(error.to_string()))?;
    Ok(out)
}

/// The page with its data.
fn page(template: &str, name: &str, data: &Value, out: &mut dyn Write) -> io::Result<()> {
    let title = format!("<title>{} · Haloscope report</title>", escaped(name));
    let template = template.replacen(TITLE, &title, 1);
    let (before, after) = template
        .split_once(PLACE)
        .ok_or_else(|| io::Error::other("the page for reports has no place for data: a bug of the build"))?;
    // In a script only these end it or begin a comment in it; as escapes they mean the same in JSON.
    let json = data.to_string().replace('<', "\\u003c").replace("-->", "--\\u003e");
    write!(out, "{before}<script id=\"data\" type=\"application/json\">{json}</script>{after}")
}

fn data(profile: &Arc<Profile>, scope: &Scope, name: &str) -> Result<Value, Error> {
    let (mut parts, mut reports, mut cut) = (Vec::new(), Map::new(), Map::new());
    // One that has nothing to say of the run says why.
    for analysis in analyses::ALL.iter().filter(|analysis| analysis.also.contains(&Also::Report)) {
        parts.push(json!({"id": analysis.slug(), "label": title(analysis)}));
        let mut answer = match analysis::run(analysis, profile, scope, &Params::default()) {
            Ok(report) => report,
            Err(error @ (Error::Usage(_) | Error::Changed { .. })) => return Err(error),
            Err(error) => {
                reports.insert(
                    analysis.slug(),
                    json!({"error": error.to_string(), "question": analysis.question}),
                );
                continue;
            }
        };
        for table in answer.tables.iter_mut().filter(|t| t.rows.len() > ROWS) {
            cut.insert(format!("{}/{}", analysis.slug(), table.id), json!(table.rows.len()));
            table.rows.truncate(ROWS);
        }
        // A long curve is thinned, but for its ends and its highest points.
        for series in answer.series.iter_mut().filter(|s| s.points.len() > POINTS) {
            let step = series.points.len().div_ceil(POINTS);
            let highest = |part: &[[f64; 2]]| part.iter().copied().max_by(|a, b| a[1].total_cmp(&b[1]));
            series.points = series.points.chunks(step).filter_map(highest).collect();
        }
        answer.texts.clear();
        let report = serde_json::to_value(&answer).map_err(|error| Error::Usage(error.to_string()))?;
        reports.insert(analysis.slug(), json!({"question": analysis.question, "report": report}));
    }
    let timeline = timeline(profile, scope);
    profile.unchanged()?;
    Ok(json!({
        "format": 1,
        "version": env!("CARGO_PKG_VERSION"),
        "run": name,
        "hosts": profile.hosts.iter().map(|h| h.name.as_str()).collect::<Vec<_>>(),
        "parts": parts,
        "reports": reports,
        "rows_in_all": cut,
        "timeline": timeline,
    }))
}

/// What an analysis is called where no menu says what it stands under.
fn title(analysis: &Analysis) -> String {
    let family = FAMILIES.iter().find(|family| Some(family.id) == analysis.family());
    family.map_or_else(|| analysis.label.to_owned(), |family| format!("{}: {}", family.label, analysis.label))
}

/// A few steady steps, drawn; `null` where there is nothing to draw.
fn timeline(profile: &Arc<Profile>, scope: &Scope) -> Value {
    let Ok(selection) = Selection::resolve(profile, scope) else { return Value::Null };
    let timeline = Timeline::new(Arc::clone(profile));
    let tracks = timeline.tracks();
    let excerpt = excerpt::steady(profile, &selection.devices);
    let (start_ps, end_ps, what) = match (&excerpt, scope.window_ps) {
        (_, Some((start, end))) => (start, end, "the window of the scope".to_owned()),
        (Some(e), None) => (e.start_ps, e.end_ps, e.what.clone()),
        (None, None) => {
            (tracks.start_ps, tracks.end_ps, "the whole capture: it has no steady steps".to_owned())
        }
    };
    let mut chosen = Vec::new();
    let devices = selection.devices.iter().take(DEVICES);
    for device in devices {
        let is_drawn = |kind: LineKind| {
            !matches!(kind, LineKind::Derived | LineKind::Counters | LineKind::Other | LineKind::Thread)
        };
        let lines = profile.lines_of(device.plane).filter(|l| l.event_count > 0 && is_drawn(l.kind));
        chosen.extend(lines.map(|line| (device.name.clone(), line)));
    }
    // The threads with most events in this time: they say what the host was doing.
    let host = selection.devices.first().map(|d| d.host);
    let mut threads: Vec<_> = profile
        .lines
        .iter()
        .filter(|l| l.kind == LineKind::Thread && Some(profile.plane(l.plane).host) == host)
        .map(|line| {
            let events = profile.events(line);
            (events.rows_before(end_ps) - events.rows_before(start_ps), line)
        })
        .filter(|(count, _)| *count > 0)
        .collect();
    threads.sort_by_key(|(count, line)| (std::cmp::Reverse(*count), line.id));
    chosen.extend(threads.iter().take(THREADS).map(|(_, line)| ("host".to_owned(), *line)));
    let ids: Vec<LineId> = chosen.iter().map(|(_, line)| line.id).collect();
    let mut px = PX;
    let window = loop {
        let Ok(window) = timeline.window(start_ps, end_ps, px, &ids) else { return Value::Null };
        let window = serde_json::to_value(&window).unwrap_or_default();
        if px <= 100 || window.to_string().len() <= TIMELINE_BYTES {
            break window;
        }
        px /= 2;
    };
    let tracks: Vec<Value> = chosen
        .iter()
        .map(|(group, line)| {
            let name =
                if line.name.is_empty() { format!("line {}", line.wire_id) } else { line.name.clone() };
            json!({"id": line.id.0, "group": group, "name": name})
        })
        .collect();
    let left_out = selection.devices.len().saturating_sub(DEVICES);
    json!({"start_ps": start_ps, "end_ps": end_ps, "what": what, "px": px, "tracks": tracks, "window": window,
           "devices_left_out": left_out})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_end_its_script() {
        let template = format!("<head>{TITLE}</head><body>{PLACE}</body>");
        let data = json!({"name": "</script><!-- <script> -->"});
        let mut out = Vec::new();
        page(&template, "a<b", &data, &mut out).unwrap();
        let page = String::from_utf8(out).unwrap();
        assert_eq!(page.matches("</script>").count(), 1);
        assert!(!page.contains("<!--") && page.contains("<title>a&lt;b"));
        let (_, rest) = page.split_once("json\">").unwrap();
        let (json, _) = rest.split_once("</script>").unwrap();
        assert_eq!(serde_json::from_str::<Value>(json).unwrap(), data);
        assert!(page_of_nothing().is_err());
    }

    fn page_of_nothing() -> io::Result<()> {
        page("<html></html>", "x", &Value::Null, &mut Vec::new())
    }
}
