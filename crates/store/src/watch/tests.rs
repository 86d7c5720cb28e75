use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use haloscope_xspace::write::{Event, Line, Plane, Space};

use super::*;

fn write(root: &Path, name: &str, age: Duration) {
    let mut line = Line::new(1, "XLA Ops");
    line.events = (0..3).map(|i| Event::at(1, i * 10, 5)).collect();
    let plane = Plane { name: "/device:TPU:0".into(), lines: vec![line], ..Default::default() };
    let path = root.join(name).join("h.xplane.pb");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, Space { planes: vec![plane], ..Default::default() }.to_bytes()).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(SystemTime::now() - age).unwrap();
}

/// What is awaited, within a time that only a machine comes near that is busy with other things.
fn await_that(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

const OLD: Duration = Duration::from_secs(100);

#[test]
fn a_new_session_is_noticed_though_nobody_lists() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a", OLD);
    let store = Arc::new(Store::new(folder.path()).unwrap());
    let first = store.list().unwrap();
    let tag = Store::tag(&first);
    assert_eq!(store.list_unless(tag).unwrap(), None);
    let watch = store.watch(|_| {});
    await_that("watched", || lock(&store.last.0).is_watched);
    write(folder.path(), "b", OLD / 2);
    await_that("the listing has changed", || store.list_unless(tag).unwrap().is_some());
    let ids: Vec<String> = store.list_unless(tag).unwrap().unwrap().into_iter().map(|r| r.id).collect();
    assert_eq!(ids, ["b", "a"]);
    drop(watch);
    await_that("nobody watches any more", || !lock(&store.last.0).is_watched);
    // Then the folder itself is asked.
    let tag = Store::tag(&store.list().unwrap());
    write(folder.path(), "c", OLD / 4);
    assert_eq!(store.list_unless(tag).unwrap().unwrap().len(), 3);
}

#[test]
fn the_newest_complete_run_is_read_before_somebody_asks() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a", OLD);
    let store = Arc::new(Store::new(folder.path()).unwrap());
    let read = Arc::new(Mutex::new(Vec::new()));
    let times = Arc::clone(&read);
    let asking = store.begin_request();
    let _watch = store.watch(move |run| lock(&times).push(run.info.id.clone()));
    await_that("listed", || store.last.newest().is_some());
    thread::sleep(3 * WARM_PAUSE);
    assert!(lock(&read).is_empty(), "somebody is asking");
    drop(asking);
    await_that("a is read", || *lock(&read) == ["a"]);
    let run = store.open("a").unwrap();
    assert!(run.profile.lines[0].loaded().is_some());
    // One that is being written is not; once it is complete, it is.
    write(folder.path(), "b", Duration::ZERO);
    await_that("b is read", || *lock(&read) == ["a", "b"]);
    let file = folder.path().join("b/h.xplane.pb");
    assert!(fs::metadata(file).unwrap().modified().unwrap().elapsed().unwrap() >= PAUSE);
}

#[test]
fn what_is_read_in_the_background_is_left_for_a_newer_run() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a", OLD);
    let store = Arc::new(Store::new(folder.path()).unwrap());
    let first = store.newest().unwrap().unwrap();
    write(folder.path(), "b", OLD / 2);
    store.list().unwrap();
    let times = AtomicUsize::new(0);
    let count = |_: &Arc<Run>| {
        times.fetch_add(1, Ordering::SeqCst);
    };
    assert_eq!(store.warm(&first, &Stop::default(), &count), Warmed::Not);
    let newest = store.newest().unwrap().unwrap();
    let (stop, asking) = (Stop::default(), store.begin_request());
    stop.stop();
    assert_eq!(store.warm(&newest, &stop, &count), Warmed::Not);
    drop(asking);
    assert_eq!(times.load(Ordering::SeqCst), 0);
    assert_eq!(store.warm(&newest, &Stop::default(), &count), Warmed::Whole);
    assert_eq!(times.load(Ordering::SeqCst), 1);
}
