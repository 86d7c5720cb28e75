//! What needs no network. `tests/root/run.py` opens runs over HTTP.

use std::path::Path;
use std::time::UNIX_EPOCH;

use haloscope_remote::Object;

use super::*;
use crate::Store;
use crate::listing::of_sessions;

fn session(root: &str, below: &str, name: &str, files: &[(&str, Option<&str>)]) -> Session {
    let object = |(path, etag): &(&str, Option<&str>)| Object {
        path: (*path).to_owned(),
        size: 10,
        etag: etag.map(str::to_owned),
        modified: UNIX_EPOCH,
    };
    let at = Address::parse(root).unwrap().join(below);
    let objects: Vec<Object> = files.iter().map(object).collect();
    Session { name: name.to_owned(), at, bytes: 10 * objects.len() as u64, objects, modified: UNIX_EPOCH }
}

#[test]
fn runs_elsewhere_are_listed_as_those_of_folders() {
    let root = "gs://b/logs";
    let two = [("h1.xplane.pb", Some("a")), ("h2.xplane.riegeli", Some("b"))];
    let sessions = vec![
        session(root, "x/plugins/profile/s", "x/s", &two),
        session(root, "x/s", "x/s", &two[..1]),
        session(root, "t", "t", &two),
    ];
    let listed = of_sessions(&Address::parse(root).unwrap(), sessions);
    let ids: Vec<&str> = listed.iter().map(|l| l.info.id.as_str()).collect();
    assert_eq!(ids, ["x/plugins/profile/s", "x/s", "t"]);
    assert_eq!(listed[0].info.path, "gs://b/logs/x/plugins/profile/s");
    assert_eq!(listed[0].info.hosts, ["h1", "h2"]);
    assert_eq!((listed[0].info.size_bytes, listed[0].info.writing), (20, false));
    let file = vec![session("https://h/run.xplane.pb", "", "run.xplane.pb", &[("", None)])];
    let listed = of_sessions(&Address::parse("https://h/run.xplane.pb").unwrap(), file);
    assert_eq!(
        (listed[0].info.id.as_str(), listed[0].info.hosts.as_slice()),
        ("run", &["run".to_owned()][..])
    );
}

#[test]
fn another_etag_is_another_file() {
    let of = |etag| {
        let sessions = vec![session("gs://b", "s", "s", &[("h.xplane.pb", etag)])];
        of_sessions(&Address::parse("gs://b").unwrap(), sessions).remove(0).stamps()
    };
    assert_eq!(of(Some("1")), of(Some("1")));
    assert_ne!(of(Some("1")), of(Some("2")));
    assert_ne!(of(Some("1")), of(None));
}

#[test]
fn only_what_lies_below_a_root_may_be_named() {
    let folder = tempfile::tempdir().unwrap();
    let roots = ["gs://b/logs".into(), "http://127.0.0.1:1/runs?sig=secret".into()];
    let store = Store::new(folder.path()).unwrap().with_roots(&roots).unwrap();
    for outside in [
        "gs://b",
        "gs://b/logs2/s",
        "gs://other/logs/s",
        "s3://b/logs/s",
        "http://127.0.0.1:2/runs/s",
        "https://127.0.0.1:1/runs/s",
        "http://127.0.0.1:1/runs/%2e%2e/s",
        "http://169.254.169.254/latest",
    ] {
        let error = store.session_at(Path::new(outside)).unwrap_err();
        assert!(matches!(error, Error::Outside(_)), "{outside}: {error}");
        assert!(matches!(store.open_at(Path::new(outside)), Err(Error::Outside(_))), "{outside}");
        assert!(matches!(store.sessions_in(Path::new(outside)), Err(Error::Outside(_))), "{outside}");
    }
    let error = store.session_at(Path::new("ftp://b/logs")).unwrap_err();
    assert!(error.to_string().contains("expected gs://"), "{error}");
    // Inside, it is asked for: nobody listens there. The root's secret is not told.
    let error = store.session_at(Path::new("http://127.0.0.1:1/runs/s?sig=other")).unwrap_err();
    assert!(matches!(error, Error::Remote(_)) && !error.to_string().contains("sig"), "{error}");
}

#[test]
fn a_place_that_cannot_be_listed_says_why() {
    let store = Store::new(Path::new("http://127.0.0.1:1/runs")).unwrap();
    assert_eq!(store.place().unwrap(), "http://127.0.0.1:1/runs");
    assert!(store.root().is_none() && store.stale().is_none());
    let error = store.list().unwrap_err().to_string();
    assert!(error.contains("127.0.0.1:1/runs"), "{error}");
}

#[test]
fn an_older_listing_stays_with_why_it_is_older() {
    let root = RemoteRoot::new(Address::parse("http://127.0.0.1:1/runs").unwrap());
    let known = session("http://127.0.0.1:1/runs", "s", "s", &[("h.xplane.pb", None)]);
    lock(&root.seen).good = Some((UNIX_EPOCH, vec![known]));
    assert_eq!(root.sessions().unwrap().len(), 1);
    let stale = root.stale().unwrap();
    assert!(stale.since == UNIX_EPOCH && stale.why.contains("127.0.0.1:1"), "{}", stale.why);
}
