//! Files that answers are written to: what is no regular file stays what it is.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::thread;

use crate::support::{Outcome, process};

const RUN: &str = "fixtures/runs/cpu-train";

fn overview_to(path: &Path) -> Outcome {
    process(&["overview", RUN, "--also", &format!("json={}", path.display())])
}

fn is_overview(text: &str) -> bool {
    serde_json::from_str::<serde_json::Value>(text).is_ok_and(|report| report["analysis"] == "overview")
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_pipe_is_written_through() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe).unwrap()
    });
    let outcome = overview_to(&pipe);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
    assert!(is_overview(&reader.join().unwrap()));
    assert_eq!(names(folder.path()), ["pipe"]);
}

#[test]
fn links_are_followed_and_modes_kept() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("kept")).unwrap();
    fs::write(at("kept/private.json"), "old").unwrap();
    fs::set_permissions(at("kept/private.json"), PermissionsExt::from_mode(0o600)).unwrap();
    symlink("kept/private.json", at("link")).unwrap();
    symlink("link", at("link-to-link")).unwrap();
    // Leads to where nothing is yet.
    symlink("kept/new.json", at("open-link")).unwrap();
    for link in ["link-to-link", "open-link"] {
        let outcome = overview_to(&at(link));
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        assert!(fs::symlink_metadata(at(link)).unwrap().is_symlink(), "{link}");
    }
    for name in ["kept/private.json", "kept/new.json"] {
        assert!(is_overview(&fs::read_to_string(at(name)).unwrap()), "{name}");
    }
    assert_eq!(mode(&at("kept/private.json")), 0o600);
    // A new file has the mode that any other would have.
    fs::write(at("any"), "").unwrap();
    assert_eq!(mode(&at("kept/new.json")), mode(&at("any")));
    assert_eq!(names(folder.path()), ["any", "kept", "link", "link-to-link", "open-link"]);
    assert_eq!(names(&at("kept")), ["new.json", "private.json"]);
}

#[test]
fn what_cannot_be_written_is_named_and_left() {
    let folder = tempfile::tempdir().unwrap();
    let circle = folder.path().join("circle");
    symlink("circle", &circle).unwrap();
    let missing = folder.path().join("no/such/folder.json");
    for path in [folder.path(), &circle, &missing] {
        let outcome = overview_to(path);
        assert_eq!(outcome.code, 3, "{}", outcome.stderr);
        assert!(outcome.stderr.contains(&path.display().to_string()), "{}", outcome.stderr);
    }
    assert_eq!(names(folder.path()), ["circle"]);
}
