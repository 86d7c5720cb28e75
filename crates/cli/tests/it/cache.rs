//! What is kept of runs: given again without opening them, never of another file or program, and rebuilt where it is damaged.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use haloscope_analyses as analyses;

use haloscope_time::analysis::Others;
use haloscope_xspace::StatValue;

use crate::support::{Outcome, command, line, outcome, root};

/// A run of its own, left alone for as long as it takes to be kept, and a cache beside it.
struct Place {
    _folder: tempfile::TempDir,
    run: PathBuf,
    cache: PathBuf,
}

impl Place {
    fn new(fixture: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("host.xplane.pb");
        fs::write(&run, profile(fixture)).unwrap();
        thread::sleep(Duration::from_millis(2_100));
        let cache = folder.path().join("cache");
        Self { _folder: folder, run, cache }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = command(words);
        command.env("HALOSCOPE_CACHE", &self.cache);
        command
    }

    fn ask(&self, words: &[&str]) -> Outcome {
        outcome(&mut self.command(words))
    }

    /// The table of `idle`, which must be there.
    fn idle(&self) -> String {
        let answer = self.ask(&["idle", self.run.to_str().unwrap()]);
        assert_eq!((answer.code, answer.stderr.as_str()), (0, ""));
        answer.stdout
    }

    /// The files below a folder of the cache.
    fn kept(&self, folder: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.cache.join(folder)];
        while let Some(folder) = folders.pop() {
            for item in fs::read_dir(folder).into_iter().flatten() {
                let path = item.unwrap().path();
                if path.is_dir() { folders.push(path) } else { found.push(path) }
            }
        }
        found.retain(|path| path.extension().is_some_and(|ending| ending == "kept"));
        found.sort();
        found
    }
}

/// The bytes of a fixture's first profile, unpacked.
fn profile(fixture: &str) -> Vec<u8> {
    let folder = root().join("fixtures/runs").join(fixture);
    let path = haloscope_profile::load::find(&folder).unwrap().files.swap_remove(0);
    let bytes = fs::read(&path).unwrap();
    let is_packed = path.extension().is_some_and(|ending| ending == "gz");
    if is_packed { StatValue::unzip(&bytes, 64 << 20).unwrap() } else { bytes }
}

#[cfg(target_os = "linux")]
#[test]
fn an_answer_is_given_again_without_opening_the_profile() {
    use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
    let place = Place::new("tpu-train");
    let watch = inotify::init(CreateFlags::NONBLOCK).unwrap();
    inotify::add_watch(&watch, &place.run, WatchFlags::OPEN).unwrap();
    let was_opened = || {
        let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&watch, &mut buffer);
        reader.next().is_ok()
    };
    // Its verdict is another answer, which is kept too.
    let overview = || place.ask(&["overview", place.run.to_str().unwrap()]).stdout;
    let first = overview();
    assert!(was_opened());
    while was_opened() {}
    for format in ["table", "json", "csv", "markdown"] {
        let words = ["overview", place.run.to_str().unwrap(), "--format", format];
        let again = place.ask(&words);
        assert!(!was_opened(), "{format}");
        let mut plain = words.to_vec();
        plain.push("--no-cache");
        assert_eq!(again.stdout, place.ask(&plain).stdout);
        while was_opened() {}
    }
    assert_eq!(first, overview());
    assert!(!was_opened());
}

#[test]
fn another_file_and_another_program_get_answers_of_their_own() {
    let place = Place::new("tpu-train");
    let first = place.idle();
    assert_eq!(place.kept("answers").len(), 1);
    // The same program in another place is another: it may have been built of other sources.
    let other = place.cache.with_file_name("haloscope");
    fs::copy(env!("CARGO_BIN_EXE_haloscope"), &other).unwrap();
    let mut asked = Command::new(&other);
    asked.arg("idle").arg(&place.run).env("HALOSCOPE_CACHE", &place.cache).current_dir(root());
    assert_eq!(outcome(&mut asked).stdout, first);
    assert_eq!(place.kept("answers").len(), 2);
    // Another profile under the same name, just written: what was kept is not its answer, and its own is not kept yet.
    fs::write(&place.run, profile("tpu-decode")).unwrap();
    let second = place.idle();
    assert_ne!(first, second);
    assert_eq!(place.kept("answers").len(), 2);
    assert_eq!(second, place.ask(&["idle", place.run.to_str().unwrap(), "--no-cache"]).stdout);
    // One byte changed in place, length and time put back.
    let time = fs::metadata(&place.run).unwrap().modified().unwrap();
    thread::sleep(Duration::from_millis(2_100));
    assert_eq!(place.idle(), second);
    assert_eq!(place.kept("answers").len(), 3);
    fs::write(&place.run, profile("tpu-train")).unwrap();
    fs::File::options().write(true).open(&place.run).unwrap().set_modified(time).unwrap();
    assert_eq!(place.idle(), first);
}

#[test]
fn damage_anywhere_in_an_answer_is_found() {
    let place = Place::new("tpu-decode");
    let truth = place.idle();
    let path = place.kept("answers").swap_remove(0);
    let whole = fs::read(&path).unwrap();
    for step in 0..24 {
        let at = step * (whole.len() - 1) / 23;
        let mut bytes = whole.clone();
        bytes[at] ^= 0x5a;
        fs::write(&path, &bytes).unwrap();
        assert_eq!(place.idle(), truth, "byte {at}");
        fs::write(&path, &whole[..at]).unwrap();
        assert_eq!(place.idle(), truth, "cut at {at}");
    }
    assert_eq!(place.kept("answers"), [path]);
}

#[test]
fn an_index_gives_the_same_answers_and_damage_in_it_is_found() {
    let place = Place::new("tpu-train");
    let run = place.run.to_str().unwrap();
    let built = place.ask(&["index", run]);
    assert_eq!(built.code, 0, "{}", built.stderr);
    assert!(built.stdout.contains("1 file: wrote"), "{}", built.stdout);
    assert!(place.ask(&["index", run]).stdout.contains("nothing was missing"));
    let path = place.kept("index").swap_remove(0);
    let whole = fs::read(&path).unwrap();
    let mut at = 0;
    for analysis in analyses::ALL.iter().filter(|analysis| analysis.others() != Others::Many) {
        let words = line(analysis, &[run, "--format", "json"]);
        let plain = line(analysis, &[run, "--format", "json", "--no-cache"]);
        let truth = place.ask(&plain);
        let kept = place.ask(&words);
        assert_eq!(
            (kept.code, &kept.stdout, &kept.stderr),
            (truth.code, &truth.stdout, &truth.stderr),
            "{words:?}"
        );
        // The same from an index that is damaged, where nothing was answered before.
        let _ = fs::remove_dir_all(place.cache.join("answers"));
        let mut bytes = whole.clone();
        at = (at + whole.len() / 29) % whole.len();
        bytes[at] ^= 0xff;
        fs::write(&path, &bytes).unwrap();
        let kept = place.ask(&words);
        assert_eq!((kept.code, &kept.stdout), (truth.code, &truth.stdout), "{words:?}, byte {at}");
        fs::write(&path, &whole).unwrap();
    }
}

#[test]
fn many_processes_at_once_answer_and_leave_nothing_half_written() {
    let place = Place::new("gpu-train");
    let run = place.run.to_str().unwrap();
    let truth = place.ask(&["idle", run, "--no-cache"]).stdout;
    thread::scope(|scope| {
        for turn in 0..12 {
            let (place, truth) = (&place, &truth);
            scope.spawn(move || {
                if turn % 3 == 0 {
                    assert_eq!(place.ask(&["index", run]).code, 0);
                } else {
                    assert_eq!(&place.idle(), truth);
                }
            });
        }
    });
    assert_eq!(place.idle(), truth);
    assert_eq!(place.kept("index").len(), 1);
    for folder in ["answers", "index"] {
        let left = fs::read_dir(place.cache.join(folder)).unwrap().flatten();
        assert!(
            left.map(|item| item.path()).all(|path| path.extension().is_none_or(|ending| ending != "tmp"))
        );
    }
}

#[test]
fn a_cache_keeps_to_its_size() {
    let place = Place::new("tpu-train");
    let run = place.run.to_str().unwrap();
    let most = 60_000;
    for id in ["idle", "ops", "steps", "idle", "comm", "roofline", "inspect", "idle"] {
        let answer = outcome(place.command(&[id, run]).env("HALOSCOPE_CACHE_MAX", "60kB"));
        assert_eq!((answer.code, answer.stderr.as_str()), (0, ""), "{id}");
        let held: u64 = place.kept("").iter().map(|path| fs::metadata(path).unwrap().len()).sum();
        assert!(held <= most, "{held} bytes after {id}");
    }
    assert!(!place.kept("answers").is_empty());
    let wrong = outcome(place.command(&["idle", run]).env("HALOSCOPE_CACHE_MAX", "plenty"));
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("HALOSCOPE_CACHE_MAX: expected a size"), "{}", wrong.stderr);
}

#[test]
fn a_cache_that_cannot_be_written_costs_a_note() {
    let place = Place::new("tpu-train");
    let run = place.run.to_str().unwrap();
    fs::write(&place.cache, "a file in the folder's place").unwrap();
    let truth = place.ask(&["idle", run, "--no-cache"]);
    assert_eq!(truth.stderr, "");
    let answer = place.ask(&["idle", run]);
    assert_eq!((answer.code, answer.stdout), (0, truth.stdout));
    assert_eq!(answer.stderr.lines().count(), 1, "{}", answer.stderr);
    assert!(answer.stderr.starts_with("note: the cache in ") && answer.stderr.contains("cannot be written"));
    assert_eq!(place.ask(&["index", run]).code, 3);
}

#[test]
fn what_is_kept_is_shown_and_removed() {
    let place = Place::new("tpu-train");
    place.idle();
    place.ask(&["index", place.run.to_str().unwrap()]);
    assert_eq!(place.ask(&["cache", "path"]).stdout.trim(), place.cache.to_str().unwrap());
    let shown = place.ask(&["cache", "show", "--format", "csv"]).stdout;
    let real = place.run.canonicalize().unwrap();
    assert!(shown.lines().nth(1).is_some_and(|row| row.starts_with(real.to_str().unwrap())), "{shown}");
    fs::write(place.cache.join("answers/mine.txt"), "not the cache's").unwrap();
    assert!(place.ask(&["cache", "clear"]).stdout.starts_with("removed "));
    assert!(place.kept("").is_empty());
    assert!(place.cache.join("answers/mine.txt").exists());
    let off = outcome(place.command(&["cache", "show"]).env("HALOSCOPE_CACHE", "off"));
    assert_eq!(off.code, 4);
}

#[test]
fn nothing_is_kept_in_a_runs_folder_or_where_it_is_off() {
    let place = Place::new("tpu-train");
    let run = place.run.to_str().unwrap();
    let beside = place.run.parent().unwrap_or(Path::new("/")).join("plugins/profile/s");
    fs::create_dir_all(&beside).unwrap();
    let refused = outcome(place.command(&["idle", run]).env("HALOSCOPE_CACHE", beside.join("cache")));
    assert_eq!(refused.code, 2);
    assert_eq!(outcome(place.command(&["idle", run]).env("HALOSCOPE_CACHE", "off")).code, 0);
    assert_eq!(place.ask(&["idle", run, "--no-cache"]).code, 0);
    assert!(!place.cache.exists() && fs::read_dir(beside).unwrap().next().is_none());
}

#[test]
fn answers_of_xprofs_shape_are_kept_for_the_file_as_it_is() {
    let place = Place::new("tpu-train");
    let run = place.run.to_str().unwrap();
    let ask = |words: &[&str]| {
        let answer = place.ask(&[&["xprof", "op_profile", run], words].concat());
        assert_eq!((answer.code, answer.stderr.as_str()), (0, ""));
        answer.stdout
    };
    let first = ask(&[]);
    assert_eq!(place.kept("answers").len(), 1);
    assert_eq!(ask(&[]), first);
    assert_eq!(ask(&["--no-cache"]), first);
    let other = ask(&["-p", "group_by=program"]);
    assert_eq!((place.kept("answers").len(), ask(&["-p", "group_by=program"])), (2, other));
    // A window of a timeline is one of very many.
    let window = place.ask(&["xprof", "trace_viewer@", run, "-p", "start_time_ms=1", "-p", "end_time_ms=2"]);
    assert_eq!((window.code, place.kept("answers").len()), (0, 2));
    // Damage is found, and the answer computed anew.
    for path in place.kept("answers") {
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&path, bytes).unwrap();
    }
    assert_eq!(ask(&[]), first);
    // Another file under the name has its own answer.
    fs::write(&place.run, profile("tpu-decode")).unwrap();
    assert_ne!(ask(&[]), first);
}
