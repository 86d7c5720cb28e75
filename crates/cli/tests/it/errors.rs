//! Inputs that cannot be read, and readers that go away.

use std::fs;
use std::io::Read;
use std::process::Stdio;

use insta::assert_snapshot;

use crate::small;
use crate::support::{FIXTURES, command, filtered, process, root, shown};

#[test]
fn unreadable_inputs() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let whole = small::space().to_bytes();
    let empty = file("empty.xplane.pb", b"");
    let words = file("words.xplane.pb", b"this is not a profile\n");
    let zeros = file("zeros.xplane.pb", &[0; 64]);
    let gzip = file("cut.xplane.pb.gz", &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x4b]);
    let cut = file("cut.xplane.pb", &whole[..whole.len() * 2 / 3]);
    let nothing = folder.path().join("none");
    fs::create_dir(&nothing).unwrap();
    filtered(|| {
        assert_snapshot!("missing_file", shown(&["overview", "no/such/folder"]));
        assert_snapshot!("empty_file", shown(&["overview", &empty]));
        assert_snapshot!("words_file", shown(&["overview", &words]));
        assert_snapshot!("zeros_file", shown(&["overview", &zeros]));
        assert_snapshot!("cut_gzip", shown(&["overview", &gzip]));
        assert_snapshot!("empty_folder", shown(&["overview", nothing.to_str().unwrap()]));
        assert_snapshot!("cut_file", shown(&["inspect", &cut]));
        assert_snapshot!("serve_missing_folder", shown(&["serve", "no/such/folder"]));
    });
}

#[test]
fn the_newest_session_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for session in ["2026_01_01_00_00_00", "2026_01_02_00_00_00"] {
        let path = folder.path().join("plugins/profile").join(session);
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("w-0.xplane.pb"), small::space().to_bytes()).unwrap();
    }
    let outcome = process(&["overview", folder.path().to_str().unwrap()]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(outcome.stderr.starts_with("note: newest of 2 sessions: "), "{}", outcome.stderr);
    assert!(outcome.stderr.ends_with("2026_01_02_00_00_00\n"), "{}", outcome.stderr);
    assert!(!outcome.stdout.contains("newest of"));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut child = command(&["ops", FIXTURES[0], "--format", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The pipe closes before all of the answer, which is larger than a pipe holds, was read.
    let mut head = [0; 16];
    child.stdout.take().unwrap().read_exact(&mut head).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_failure() {
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let output = command(&["ops", FIXTURES[0], "--format", "json"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.starts_with("error: cannot write to stdout: "), "{stderr}");
}

#[test]
fn runs_are_only_read() {
    let folder = root().join(FIXTURES[0]);
    let before = listing(&folder);
    assert_eq!(process(&["overview", FIXTURES[0]]).code, 0);
    assert_eq!(listing(&folder), before);
}

fn listing(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![folder.to_owned()];
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path.clone());
            }
            found.push(path);
        }
    }
    found.sort();
    found
}
