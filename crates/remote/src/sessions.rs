//! Which objects make a run, by the rules for folders.

use std::collections::BTreeMap;
use std::time::SystemTime;

use crate::{Address, Error, Object, list};

/// A session in a log folder that lies elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Its name: the path below the log folder, without `plugins/profile`.
    pub name: String,
    /// Its folder, or its one file.
    pub at: Address,
    /// Its files, sorted by name; their paths are below `at`, and empty where `at` is the file.
    pub objects: Vec<Object>,
    /// When the newest was written.
    pub modified: SystemTime,
    /// Size of all in bytes.
    pub bytes: u64,
}

/// How deep below a log folder sessions are looked for.
const DEPTH: usize = 8;
/// What profiles are called.
const PROFILES: [&str; 3] = [".xplane.pb", ".xplane.pb.gz", ".xplane.riegeli"];
/// What traces are called. They are what is left of a profile: where it stands beside, it is read.
const TRACES: [&str; 2] = [".trace.json.gz", ".trace.json"];
/// JAX's other writing of the trace beside it.
const COPIES: [&str; 2] = ["perfetto_trace.json.gz", "perfetto_trace.json"];

/// All sessions at or below an address, the newest first (by the session's name where times are equal, later names first).
/// An object that is named itself is a session, whatever it is called.
///
/// # Errors
/// As [`list`]. Where objects are there and none is a profile, there are no sessions.
pub fn sessions(at: &Address) -> Result<Vec<Session>, Error> {
    Ok(group(at, list(at)?))
}

/// The session whose files lie at an address itself; `None` if none do.
///
/// # Errors
/// As [`list`].
pub fn session_at(at: &Address) -> Result<Option<Session>, Error> {
    Ok(sessions(at)?.into_iter().find(|session| session.at.path() == at.path()))
}

fn group(at: &Address, objects: Vec<Object>) -> Vec<Session> {
    if let [only] = objects.as_slice()
        && only.path.is_empty()
    {
        let (bytes, modified) = (only.size, only.modified);
        return vec![Session { name: at.name().to_owned(), at: at.clone(), objects, modified, bytes }];
    }
    let mut folders: BTreeMap<String, Vec<Object>> = BTreeMap::new();
    for object in objects {
        let folder = object.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        folders.entry(folder.to_owned()).or_default().push(object);
    }
    let found = folders.into_iter().filter(|(folder, _)| folder.split('/').count() <= DEPTH);
    let mut sessions: Vec<Session> =
        found.filter_map(|(folder, objects)| session(at, &folder, objects)).collect();
    sessions.sort_by(|a, b| (b.modified, &b.name).cmp(&(a.modified, &a.name)));
    sessions
}

/// The session that the profiles in a folder make, if there are any; else its traces.
fn session(at: &Address, folder: &str, objects: Vec<Object>) -> Option<Session> {
    let has = |object: &Object, endings: &[&str]| endings.iter().any(|ending| object.path.ends_with(ending));
    let copy = |object: &Object| COPIES.contains(&file_name(&object.path));
    let mut kept: Vec<Object> = objects.iter().filter(|o| has(o, &PROFILES)).cloned().collect();
    if kept.is_empty() {
        kept = objects.into_iter().filter(|o| has(o, &TRACES) || copy(o)).collect();
        if kept.iter().any(|object| !copy(object)) {
            kept.retain(|object| !copy(object));
        }
    }
    // Packed and unpacked, a file is one host, not two.
    let all: Vec<String> = kept.iter().map(|object| object.path.clone()).collect();
    let has_pb =
        |path: &str| path.strip_suffix(".riegeli").is_some_and(|stem| all.contains(&format!("{stem}.pb")));
    kept.retain(|object| {
        let unpacked = object.path.strip_suffix(".gz");
        unpacked.is_none_or(|path| !all.iter().any(|a| a == path)) && !has_pb(&object.path)
    });
    let modified = kept.iter().map(|object| object.modified).max()?;
    for object in &mut kept {
        object.path = file_name(&object.path).to_owned();
    }
    kept.sort_by(|a, b| a.path.cmp(&b.path));
    let bytes = kept.iter().map(|object| object.size).sum();
    let at = if folder.is_empty() { at.clone() } else { at.join(folder) };
    Some(Session { name: name(&at, folder), at, objects: kept, modified, bytes })
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn name(at: &Address, folder: &str) -> String {
    let mut name = Vec::new();
    let mut parts = folder.split('/').filter(|part| !part.is_empty()).peekable();
    while let Some(part) = parts.next() {
        if part == "plugins" && parts.next_if_eq(&"profile").is_some() {
            continue;
        }
        name.push(part);
    }
    if name.is_empty() { at.name().to_owned() } else { name.join("/") }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    fn object(path: &str, seconds: u64) -> Object {
        let modified = UNIX_EPOCH + Duration::from_secs(seconds);
        Object { path: path.to_owned(), size: 10, etag: None, modified }
    }

    fn named(at: &str, objects: &[(&str, u64)]) -> Vec<(String, String, Vec<String>)> {
        let objects = objects.iter().map(|(path, time)| object(path, *time)).collect();
        let found = group(&Address::parse(at).unwrap(), objects);
        let files = |s: &Session| s.objects.iter().map(|o| o.path.clone()).collect();
        found.iter().map(|s| (s.name.clone(), s.at.to_string(), files(s))).collect()
    }

    #[test]
    fn sessions_are_named_as_those_of_folders_and_the_newest_is_first() {
        let found = named(
            "gs://b/logs",
            &[
                ("events.out.tfevents.1", 99),
                ("plugins/profile/one/a.xplane.pb", 10),
                ("plugins/profile/one/a.xplane.pb.gz", 10),
                ("plugins/profile/one/a.xplane.riegeli", 10),
                ("plugins/profile/one/b.xplane.pb", 11),
                ("plugins/profile/one/b.trace.json.gz", 90),
                ("train/plugins/profile/two/a.xplane.pb", 20),
                ("x.xplane.pb", 1),
            ],
        );
        let expected = [
            ("train/two", "gs://b/logs/train/plugins/profile/two", vec!["a.xplane.pb"]),
            ("one", "gs://b/logs/plugins/profile/one", vec!["a.xplane.pb", "b.xplane.pb"]),
            ("logs", "gs://b/logs", vec!["x.xplane.pb"]),
        ];
        let expected = expected.map(|(name, at, files)| {
            (name.to_owned(), at.to_owned(), files.into_iter().map(str::to_owned).collect())
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn traces_stand_in_for_profiles_and_their_copies_for_traces() {
        let found = named("s3://b", &[("s/h.trace.json.gz", 1), ("s/perfetto_trace.json.gz", 1)]);
        assert_eq!(found[0].2, ["h.trace.json.gz"]);
        let found = named("s3://b", &[("s/perfetto_trace.json.gz", 1)]);
        assert_eq!(found[0].2, ["perfetto_trace.json.gz"]);
        assert!(named("s3://b", &[("s/weights.bin", 1)]).is_empty());
        let deep = "1/2/3/4/5/6/7/8/9/a.xplane.pb";
        assert!(named("s3://b", &[(deep, 1)]).is_empty());
    }

    #[test]
    fn an_object_that_is_named_itself_is_a_session() {
        let found = named("s3://b/some/run.bin", &[("", 1)]);
        assert_eq!(found, [("run.bin".to_owned(), "s3://b/some/run.bin".to_owned(), vec![String::new()])]);
    }
}
