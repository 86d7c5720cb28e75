//! `/api/open`: a profile that somebody drops on the page becomes a run of this server, in memory until it ends.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Uri, header};
use haloscope_profile::load;
use haloscope_report::turns::Size;

use crate::answer::{Answer, Failure, Json};
use crate::app::{App, AppState};
use crate::compute::compute;
use crate::query::Query;
use crate::shapes::Opened;

/// Bytes of a file, at most.
const MOST: usize = 1 << 30;
/// Bytes of all of them together.
const MOST_TOGETHER: u64 = 2 << 30;
/// What their ids begin with: no folder of runs has such a name for one of them.
const FOLDER: &str = "(opened)/";
/// Characters of a name.
const LONGEST: usize = 180;

/// `POST /api/open?name=FILE` with the file's bytes: the id of the run that it is from now on.
pub(crate) async fn open(State(app): AppState, headers: HeaderMap, uri: Uri, body: Body) -> Answer {
    let query = Query::parse(&uri, &["name"])?;
    // A form of another page cannot send this type without asking first.
    let kind = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    if !kind.eq_ignore_ascii_case("application/octet-stream") {
        return Err(Failure::usage("expected a body of the type application/octet-stream", ""));
    }
    let name = name(query.get("name").unwrap_or_default());
    // One at a time: until it is read, a file is in memory beside what it unpacks to.
    let _one = Arc::clone(&app.opening).acquire_owned().await;
    let before = opened_bytes(&app)?;
    let room = usize::try_from(MOST_TOGETHER.saturating_sub(before)).unwrap_or(MOST).min(MOST);
    let too_large = |_| {
        Failure::usage(
            format!(
                "the file is too large: up to {} are accepted, {} in total",
                units(MOST),
                units(MOST_TOGETHER as usize)
            ),
            "put it into the served folder, or open it with `haloscope serve FILE`",
        )
    };
    let bytes = to_bytes(body, room).await.map_err(too_large)?;
    if bytes.is_empty() {
        return Err(Failure::usage("the file is empty", ""));
    }
    compute(app, Size::Heavy, move |app| {
        let profile = load::from_bytes(&name, Vec::from(bytes))?;
        let id = free_id(app, &name)?;
        app.store.add_dropped(&id, profile);
        Json::from_value(&Opened { run: id })
    })
    .await
}

fn units(bytes: usize) -> String {
    haloscope_report::units::bytes(bytes as f64)
}

/// The file's own name, without folders and what no name should hold.
fn name(asked: &str) -> String {
    let last = asked.rsplit(['/', '\\']).next().unwrap_or_default();
    let name: String = last.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
    let name = haloscope_report::clean(name.trim());
    if name.is_empty() { "profile".to_owned() } else { name.to_string() }
}

/// Bytes of what was opened so far.
fn opened_bytes(app: &App) -> Result<u64, Failure> {
    let runs = app.store.list()?;
    Ok(runs.iter().filter(|run| run.id.starts_with(FOLDER)).map(|run| run.size_bytes).sum())
}

/// An id that no run has: who dropped a file of the same name before keeps his.
fn free_id(app: &App, name: &str) -> Result<String, Failure> {
    let runs = app.store.list()?;
    let ids =
        (1_u32..).map(|n| if n == 1 { format!("{FOLDER}{name}") } else { format!("{FOLDER}{name} ({n})") });
    let free = ids.into_iter().find(|id| runs.iter().all(|run| run.id != *id));
    free.ok_or_else(|| Failure::bug("no name is free"))
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn a_name_is_the_files_own() {
        for (asked, found) in [
            ("host.xplane.pb", "host.xplane.pb"),
            ("C:\\x\\a.pb", "a.pb"),
            ("../../etc/passwd", "passwd"),
            ("a\nb", "ab"),
            ("", "profile"),
            ("x/", "profile"),
        ] {
            assert_eq!(name(asked), found, "{asked}");
        }
        assert_eq!(name(&"x".repeat(1000)).len(), 180);
    }
}
