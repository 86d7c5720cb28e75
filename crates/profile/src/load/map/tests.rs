use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};

use tempfile::TempDir;

use super::*;

/// Larger than any page, and no whole number of them.
const SIZE: usize = (4 << 20) + 123;

fn file(folder: &TempDir) -> PathBuf {
    let path = folder.path().join("host.xplane.pb");
    fs::write(&path, vec![7; SIZE]).unwrap();
    path
}

fn cut(path: &Path, size: u64) {
    OpenOptions::new().write(true).open(path).unwrap().set_len(size).unwrap();
}

fn sum(bytes: &[u8]) -> usize {
    bytes.iter().map(|byte| usize::from(*byte)).sum()
}

/// Runs one of the tests below in a process of its own, where they may end it. What it leaves behind goes with a folder of ours.
fn child(test: &str) -> Output {
    let folder = TempDir::new().unwrap();
    Command::new(std::env::current_exe().unwrap())
        .env("TMPDIR", folder.path())
        .args([
            "--exact",
            &format!("load::map::tests::{test}"),
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .output()
        .unwrap()
}

#[track_caller]
fn survives(test: &str) {
    let output = child(test);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{}: {said}", output.status);
}

#[test]
fn a_file_that_is_cut_is_read_as_zeros_and_found_out() {
    survives("child_reads_a_cut_file");
}

#[test]
#[ignore = "ends the process where it fails: run by the test above"]
fn child_reads_a_cut_file() {
    let folder = TempDir::new().unwrap();
    let path = file(&folder);
    let (map, other) = (Map::open(&path).unwrap(), Map::open(&path).unwrap());
    assert_eq!((sum(&map), map.is_cut(), map.changed()), (7 * SIZE, false, None));
    cut(&path, 5000);
    // What is left of the last page is zeros already; the pages behind it are gone.
    assert_eq!(sum(&map[..5000]), 7 * 5000);
    assert!(!map.is_cut());
    assert_eq!(sum(&map[5000..]), 0);
    assert!(map.is_cut() && !other.is_cut());
    let expected = format!("it had {SIZE} bytes, now it has 5000");
    assert_eq!((map.changed(), other.changed()), (Some(expected.clone()), Some(expected)));
    // It is no better when the file has grown back, or when another has its name.
    cut(&path, SIZE as u64);
    assert!(map.changed().is_some());
    fs::write(folder.path().join("new"), vec![7; SIZE]).unwrap();
    fs::rename(folder.path().join("new"), &path).unwrap();
    assert!(map.changed().is_some_and(|change| change.contains("a part of it is gone")));
    assert_eq!(other.changed(), None);
}

#[test]
fn threads_may_meet_the_end_at_once() {
    survives("child_reads_with_threads");
}

#[test]
#[ignore = "ends the process where it fails: run by the test above"]
fn child_reads_with_threads() {
    let folder = TempDir::new().unwrap();
    for round in 0..20 {
        let path = file(&folder);
        let map = Map::open(&path).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (map, done) = (&map, &done);
                scope.spawn(move || {
                    while !done.load(Ordering::SeqCst) {
                        let mut at = thread * 997;
                        while at < SIZE {
                            assert!([0, 7].contains(&map[at]));
                            at += 4096;
                        }
                    }
                });
            }
            // Other maps come and go meanwhile, in slots of the same table.
            for _ in 0..50 {
                let other = Map::open(&path).unwrap();
                assert_eq!(other.len(), SIZE);
            }
            cut(&path, round * 4096 + 1);
            std::thread::sleep(std::time::Duration::from_millis(5));
            done.store(true, Ordering::SeqCst);
        });
        assert!(map.changed().is_some());
        assert_eq!(sum(&map), 7 * (round as usize * 4096 + 1));
    }
}

/// A bus error that has nothing to do with maps of ours ends the process as it always did.
#[test]
fn other_bus_errors_are_not_ours() {
    let output = child("child_reads_a_map_of_another");
    assert_eq!(output.status.signal(), Some(libc::SIGBUS), "{output:?}");
    let output = child("child_is_sent_the_signal");
    assert_eq!(output.status.signal(), Some(libc::SIGBUS), "{output:?}");
}

#[test]
#[ignore = "ends the process: run by the test above"]
#[expect(unsafe_code, reason = "a map without our handler's knowledge")]
fn child_reads_a_map_of_another() {
    let folder = TempDir::new().unwrap();
    let path = file(&folder);
    let ours = Map::open(&path).unwrap();
    // SAFETY: it is meant to fault.
    let theirs = unsafe { memmap2::Mmap::map(&File::open(&path).unwrap()).unwrap() };
    cut(&path, 0);
    assert_eq!(sum(&ours), 0);
    println!("{}", sum(&theirs));
}

#[test]
#[ignore = "ends the process: run by the test above"]
#[expect(unsafe_code, reason = "a signal")]
fn child_is_sent_the_signal() {
    let folder = TempDir::new().unwrap();
    let _ours = Map::open(&file(&folder)).unwrap();
    // SAFETY: plain system calls. The standard library's handler lets the first one pass, and takes itself out.
    unsafe {
        libc::raise(libc::SIGBUS);
        libc::raise(libc::SIGBUS);
    }
}

/// Who handled bus errors before us still does.
#[test]
fn the_former_handler_is_asked() {
    let output = child("child_has_a_handler");
    assert_eq!(output.status.code(), Some(42), "{output:?}");
}

#[test]
#[ignore = "ends the process: run by the test above"]
#[expect(unsafe_code, reason = "a handler of somebody else")]
fn child_has_a_handler() {
    extern "C" fn theirs(_: libc::c_int) {
        // SAFETY: ends the process, which a handler may do.
        unsafe { libc::_exit(42) };
    }
    let folder = TempDir::new().unwrap();
    let path = file(&folder);
    // SAFETY: installs a handler of the right signature, and a map that is meant to fault.
    let map = unsafe {
        let handler: extern "C" fn(libc::c_int) = theirs;
        assert_ne!(libc::signal(libc::SIGBUS, handler as usize), libc::SIG_ERR);
        let ours = Map::open(&path).unwrap();
        let map = memmap2::Mmap::map(&File::open(&path).unwrap()).unwrap();
        cut(&path, 0);
        assert_eq!(sum(&ours), 0);
        map
    };
    println!("{}", sum(&map));
}

#[test]
fn writing_in_place_is_found_out_and_replacing_is_not() {
    let folder = TempDir::new().unwrap();
    let path = file(&folder);
    let map = Map::open(&path).unwrap();
    // Times are those of a clock that ticks every few milliseconds.
    std::thread::sleep(std::time::Duration::from_millis(30));
    let mut writer = OpenOptions::new().write(true).open(&path).unwrap();
    writer.write_all(b"other").unwrap();
    assert!(map.changed().is_some_and(|change| change.contains("written to")), "{:?}", map.changed());
    // The same with the time set back.
    let map = Map::open(&path).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(30));
    let before = fs::metadata(&path).unwrap().modified().unwrap();
    writer.write_all(b"again").unwrap();
    writer.set_modified(before).unwrap();
    assert!(map.changed().is_some_and(|change| change.contains("was touched")), "{:?}", map.changed());
    assert_eq!(map.content_changed(), None);
    cut(&path, 100);
    assert!(map.content_changed().is_some_and(|change| change.contains("now it has 100")));
    cut(&path, SIZE as u64);

    let map = Map::open(&path).unwrap();
    let was = map.to_vec();
    fs::write(folder.path().join("new"), b"shorter").unwrap();
    fs::rename(folder.path().join("new"), &path).unwrap();
    assert_eq!(map.changed(), None);
    assert!(map[..] == was);
    fs::remove_file(&path).unwrap();
    assert_eq!(map.changed(), None);
}

#[test]
fn pages_come_back_after_they_were_dropped() {
    let folder = TempDir::new().unwrap();
    let path = file(&folder);
    let map = Map::open(&path).unwrap();
    let resident = || {
        let text = fs::read_to_string("/proc/self/smaps").unwrap_or_default();
        let of_map = text.split(path.to_str()?).nth(1)?;
        let line = of_map.lines().find(|line| line.starts_with("Rss:"))?;
        line.split_whitespace().nth(1)?.parse::<usize>().ok()
    };
    assert_eq!(sum(&map), 7 * SIZE);
    let before = resident();
    map.drop_pages(100..SIZE);
    if let (Some(before), Some(after)) = (before, resident()) {
        assert!(before >= SIZE / 1024 && after < 64, "{before} KiB, then {after} KiB");
    }
    assert_eq!(sum(&map), 7 * SIZE);
    #[expect(clippy::reversed_empty_ranges, reason = "any range is taken")]
    for odd in [0..0, 5..3, 0..usize::MAX, usize::MAX - 1..usize::MAX, SIZE - 10..SIZE] {
        map.drop_pages(odd);
    }
    assert_eq!(sum(&map), 7 * SIZE);
}

#[test]
fn what_is_no_file_is_read() {
    let map = Map::open(Path::new("/dev/null")).unwrap();
    assert_eq!((map.len(), map.changed()), (0, None));
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("empty");
    fs::write(&path, b"").unwrap();
    assert!(Map::open(&path).unwrap().is_empty());
    assert!(Map::open(folder.path()).is_err());
    assert!(Map::open(&folder.path().join("none")).is_err());
    let many: Vec<Map> = (0..unix::ROOM + 10).map(|_| Map::open(&path).unwrap()).collect();
    assert!(many.iter().all(|map| map.is_empty()));
}
