use std::io::Cursor;
use std::sync::atomic::{AtomicBool, Ordering};

use haloscope_xspace::write::{Event, Line, Plane, Space};

use super::*;
use crate::Store;

fn plane(name: &str, events: i64) -> Plane {
    let mut line = Line::new(1, "XLA Ops");
    line.events = (0..events).map(|i| Event::at(1, i * 10, 5)).collect();
    Plane { id: 7, name: name.into(), lines: vec![line], ..Default::default() }
}

fn bytes(planes: Vec<Plane>) -> Vec<u8> {
    Space { planes, hostnames: vec!["w".into()], ..Default::default() }.to_bytes()
}

fn shape(bytes: &[u8]) -> Shape {
    Shape::read(&mut Cursor::new(bytes), bytes.len() as u64).unwrap()
}

fn with_age(path: &Path, age: Duration) -> Stamp {
    let file = File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - age).unwrap();
    Stamp::read(path).unwrap()
}

#[test]
fn a_cut_is_told_from_an_end() {
    let first = bytes(vec![plane("/device:TPU:0", 500)]);
    let all = bytes(vec![plane("/device:TPU:0", 500), plane("Task Environment", 0)]);
    assert_eq!(shape(&first), Shape::Whole { has_last_plane: false });
    assert_eq!(shape(&all), Shape::Whole { has_last_plane: true });
    for end in 1..first.len() {
        let whole = matches!(shape(&first[..end]), Shape::Whole { .. });
        // The one place where a cut cannot be seen is between the plane and the host's name.
        assert!(!whole || first[end..].starts_with(b"\x22"), "{end} of {}", first.len());
    }
    assert_eq!(shape(b""), Shape::Cut);
    assert_eq!(shape(b"HloModule x"), Shape::Other);
    assert_eq!(shape(&[0xff; 40]), Shape::Cut);
}

#[test]
fn what_changed_a_moment_ago_is_waited_for_whatever_the_clock_says() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.xplane.pb");
    std::fs::write(&path, bytes(vec![plane("p", 3)])).unwrap();
    let settling = WriteDetector::default();
    let settled = |stamp: &Stamp| settling.is_settled(&path, stamp, SystemTime::now());
    assert!(!settled(&with_age(&path, Duration::ZERO)));
    assert!(settled(&with_age(&path, 2 * QUIET)));
    // Another machine's clock, an hour ahead.
    let file = File::options().write(true).open(&path).unwrap();
    file.set_modified(SystemTime::now() + Duration::from_secs(3600)).unwrap();
    let ahead = Stamp::read(&path).unwrap();
    assert!(!settled(&ahead));
    std::thread::sleep(QUIET + Duration::from_millis(100));
    assert!(settled(&ahead));
}

#[test]
fn half_a_file_is_waited_for_but_not_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.xplane.pb");
    let whole = bytes(vec![plane("/device:TPU:0", 500)]);
    let settling = WriteDetector::default();
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let settled = |age| settling.is_settled(&path, &with_age(&path, age), SystemTime::now());
    assert!(!settled(LONGEST_WAIT / 2));
    assert!(settled(2 * LONGEST_WAIT));
    // It grew, and a plane that such files end with is not there yet. Not all profilers write it.
    std::fs::write(&path, &whole).unwrap();
    assert!(!settled(DOUBT / 2));
    assert!(settled(DOUBT));
    std::fs::write(&path, bytes(vec![plane("/device:TPU:0", 500), plane("Task Environment", 0)])).unwrap();
    assert!(settled(DOUBT / 2));
}

#[test]
fn a_profile_that_is_written_in_pieces_is_answered_whole_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run/a.xplane.pb");
    std::fs::create_dir(path.parent().unwrap()).unwrap();
    let whole =
        bytes(vec![plane("/device:TPU:0", 4000), plane("/device:TPU:1", 4000), plane("Task Environment", 0)]);
    let store = Store::new(folder.path()).unwrap();
    let is_done = AtomicBool::new(false);
    let refused = std::thread::scope(|scope| {
        scope.spawn(|| {
            // Longer between pieces than a file has to be quiet, once.
            let mut out = File::create(&path).unwrap();
            for (i, piece) in whole.chunks(whole.len() / 6 + 1).enumerate() {
                std::io::Write::write_all(&mut out, piece).unwrap();
                std::thread::sleep(if i == 1 {
                    QUIET + Duration::from_millis(500)
                } else {
                    Duration::from_millis(100)
                });
            }
            is_done.store(true, Ordering::SeqCst);
        });
        let mut refused = 0;
        loop {
            let was_done = is_done.load(Ordering::SeqCst);
            match store.open("run") {
                Ok(run) => {
                    assert!(was_done, "it was read half");
                    let events: u64 = run.profile.lines.iter().map(|l| l.event_count).sum();
                    assert_eq!((run.profile.devices.len(), events), (2, 8000));
                    return refused;
                }
                Err(Error::StillWritten { path: named, .. }) => {
                    assert!(named.ends_with("run/a.xplane.pb"));
                    // Between the two questions it may have become quiet enough.
                    assert!(store.list().unwrap()[0].writing || store.open("run").is_ok());
                    refused += 1;
                }
                // Before the file is there.
                Err(error) => assert!(refused == 0 && matches!(error, Error::UnknownRun(_)), "{error}"),
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    assert!(refused > 2, "{refused}");
    assert!(!store.list().unwrap()[0].writing);
}
