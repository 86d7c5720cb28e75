//! What a query decoded is kept for the next one, as `haloscope` keeps it.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::support::{command, fixture, text};

/// Of smaller files nothing is kept.
const WORTHWHILE: usize = 5 << 20;

/// A file must have been left alone for two seconds.
const QUIET: Duration = Duration::from_millis(2300);

/// A run of one large file that nobody has written to for a while: the planes of a fixture, again and again.
fn large(folder: &Path) -> PathBuf {
    let session = "plugins/profile/2026_01_01_00_00_00";
    let files: Vec<_> =
        fs::read_dir(fixture("tpu-gate").join(session)).unwrap().map(|f| f.unwrap().path()).collect();
    let one = fs::read(&files[0]).unwrap();
    let run = folder.join("logs");
    fs::create_dir_all(run.join(session)).unwrap();
    let path = run.join(session).join("host.xplane.pb");
    fs::write(&path, one.repeat(WORTHWHILE / one.len() + 1)).unwrap();
    thread::sleep(QUIET);
    run
}

/// Bytes of the indexes in a cache.
fn kept(cache: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(cache) else { return 0 };
    let bytes = |entry: fs::DirEntry| {
        let meta = entry.metadata().unwrap();
        if meta.is_dir() { kept(&entry.path()) } else { meta.len() }
    };
    entries.map(|entry| bytes(entry.unwrap())).sum()
}

#[test]
fn the_next_query_begins_with_what_this_one_read() {
    let scratch = tempfile::tempdir().unwrap();
    let (run, cache) = (large(scratch.path()), scratch.path().join("cache"));
    let ask = |sql: &str, more: &[&str]| {
        let words = [&[sql, "--format", "csv"], more].concat();
        let output = command().env("HALOSCOPE_CACHE", &cache).arg(&run).args(words).output().unwrap();
        assert!(output.status.success(), "{sql}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    let sums = "SELECT name, count(*), sum(dur_ps) FROM event GROUP BY name ORDER BY name";
    let window = "SELECT line_id, count(*), max(end_ps) FROM event WHERE start_ps BETWEEN ps('100us') AND ps('200us') GROUP BY 1 ORDER BY 1";
    let right = [ask(sums, &["--no-cache"]), ask(window, &["--no-cache"])];
    assert!(right.iter().all(|answer| answer.lines().count() > 1), "{right:?}");
    assert_eq!(kept(&cache), 0, "--no-cache leaves it alone");

    // That a run is asked about is noted; what is asked about again is worth its room.
    assert_eq!(ask(sums, &[]), right[0]);
    let noted = kept(&cache);
    assert_eq!(ask(sums, &["--timeout", "600"]), right[0]);
    let columns = kept(&cache);
    assert!(columns > noted + (1 << 20), "{noted}, then {columns}");
    for _ in 0..2 {
        assert_eq!(ask(sums, &[]), right[0]);
        assert_eq!(ask(window, &[]), right[1]);
    }

    // Rows that nobody waits for are no reason to wait.
    let output = command()
        .env("HALOSCOPE_CACHE", &cache)
        .arg(&run)
        .args(["SELECT * FROM event", "--limit", "1"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
}
