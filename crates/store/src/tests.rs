use std::fs;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use haloscope_xspace::write::{Event, Line, Plane, Space};

use super::*;

fn profile_bytes(events: i64) -> Vec<u8> {
    let mut line = Line::new(1, "XLA Ops");
    line.events = (0..events).map(|i| Event::at(1, i * 10, 5)).collect();
    let plane = Plane { name: "/device:TPU:0".into(), lines: vec![line], ..Default::default() };
    Space { planes: vec![plane], ..Default::default() }.to_bytes()
}

pub(crate) fn write(root: &Path, path: &str, events: i64, age_s: u64) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, profile_bytes(events)).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(age_s)).unwrap();
}

fn ids(store: &Store) -> Vec<String> {
    store.list().unwrap().into_iter().map(|r| r.id).collect()
}

#[test]
fn lists_sessions_newest_first_with_ids_that_stay() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "plugins/profile/old/a.xplane.pb", 1, 300);
    write(folder.path(), "plugins/profile/new/a.xplane.pb", 1, 10);
    write(folder.path(), "plugins/profile/new/b.xplane.pb", 2, 20);
    let store = Store::new(folder.path()).unwrap();
    let runs = store.list().unwrap();
    assert_eq!(ids(&store), ["new", "old"]);
    assert_eq!(runs[0].hosts, ["a", "b"]);
    assert_eq!(runs[0].size_bytes, (profile_bytes(1).len() + profile_bytes(2).len()) as u64);
    assert!(runs[0].modified_ms() > runs[1].modified_ms());

    write(folder.path(), "plugins/profile/newest/a.xplane.pb", 1, 5);
    assert_eq!(ids(&store), ["newest", "new", "old"]);
    assert_eq!(store.open("newest").unwrap().profile.hosts.len(), 1);
}

#[test]
fn runs_that_share_a_name_are_told_apart_by_path() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "x/plugins/profile/run/a.xplane.pb", 1, 20);
    write(folder.path(), "x/run/a.xplane.pb", 1, 10);
    let store = Store::new(folder.path()).unwrap();
    assert_eq!(ids(&store), ["x/run", "x/plugins/profile/run"]);
    assert!(store.open("x/plugins/profile/run").unwrap().info.path.ends_with("x/plugins/profile/run"));
}

#[test]
fn a_session_folder_and_a_file_are_a_run_each() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "session/w-0.xplane.pb", 3, 40);
    let session = Store::new(&folder.path().join("session")).unwrap();
    assert_eq!(ids(&session), ["session"]);
    let file = Store::new(&folder.path().join("session/w-0.xplane.pb")).unwrap();
    assert_eq!(ids(&file), ["w-0"]);
    assert_eq!(file.open("w-0").unwrap().profile.lines[0].event_count, 3);
}

#[test]
fn an_open_run_is_kept_until_its_files_change() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "run/a.xplane.pb", 1, 100);
    let store = Store::new(folder.path()).unwrap();
    let first = store.open("run").unwrap();
    assert!(Arc::ptr_eq(&first, &store.open("run").unwrap()));
    write(folder.path(), "run/a.xplane.pb", 2, 50);
    let second = store.open("run").unwrap();
    assert_eq!(second.profile.lines[0].event_count, 2);
    assert!(!Arc::ptr_eq(&first, &second));
}

#[test]
fn the_run_used_longest_ago_is_closed_first() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "b", "c", "d", "e"] {
        write(folder.path(), &format!("{name}/h.xplane.pb"), 1, 40);
    }
    let open = |store: &Store| {
        let [a, b] = ["a", "b"].map(|name| store.open(name).unwrap());
        for name in ["c", "d", "a", "e"] {
            store.open(name).unwrap();
        }
        (Arc::ptr_eq(&a, &store.open("a").unwrap()), Arc::ptr_eq(&b, &store.open("b").unwrap()))
    };
    let mut store = Store::new(folder.path()).unwrap();
    // Five small ones are no burden.
    assert_eq!(open(&store), (true, true));
    store.open_runs = OpenRuns::new(OPEN_RUNS, 100);
    assert_eq!(open(&store), (true, false));
}

#[test]
fn a_run_is_open_once_it_was_opened_and_until_its_files_change() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "plugins/profile/run/a.xplane.pb", 1, 300);
    write(folder.path(), "plugins/profile/other/a.xplane.pb", 1, 300);
    let store = Store::new(folder.path()).unwrap();
    assert!(!store.is_open("run") && !store.is_open("nothing"));
    store.open("run").unwrap();
    assert!(store.is_open("run") && !store.is_open("other"));
    write(folder.path(), "plugins/profile/run/a.xplane.pb", 2, 200);
    assert!(!store.is_open("run"));
    let store = Store::in_memory();
    store.add("here", Profile::default());
    assert!(store.is_open("here"));
}

#[test]
fn a_hundred_who_open_a_run_at_once_have_one() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "run/h.xplane.pb", 20_000, 100);
    for _ in 0..5 {
        let store = Store::new(folder.path()).unwrap();
        let start = Barrier::new(100);
        let ask = || {
            start.wait();
            let run = store.open("run").unwrap();
            let line = &run.profile.lines[0];
            (Arc::as_ptr(&run) as usize, std::ptr::from_ref(run.profile.events(line)) as usize)
        };
        let runs: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..100).map(|_| scope.spawn(ask)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        // One opening, and its events decoded once: everybody looks at the same ones.
        assert!(runs.iter().all(|run| *run == runs[0]));
    }
}

#[test]
fn a_file_put_in_the_place_of_another_is_opened_though_size_and_time_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "run/a.xplane.pb", 2, 100);
    let store = Store::new(folder.path()).unwrap();
    let first = store.open("run").unwrap();
    let path = folder.path().join("run/a.xplane.pb");
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    write(folder.path(), "new.pb", 2, 100);
    let new = folder.path().join("new.pb");
    fs::File::options().write(true).open(&new).unwrap().set_modified(time).unwrap();
    fs::rename(&new, &path).unwrap();
    let second = store.open("run").unwrap();
    assert!(!Arc::ptr_eq(&first, &second));
    // Who holds the former one reads on in the former file.
    assert_eq!(first.profile.events(&first.profile.lines[0]).len(), 2);
}

#[test]
fn many_who_ask_at_once_share_one_opening_and_its_error() {
    let opened = OpenRuns::new(2, 0);
    let openings = AtomicUsize::new(0);
    let (start, come) = (Barrier::new(100), AtomicUsize::new(0));
    for fails in [true, false] {
        let open = || {
            openings.fetch_add(1, Ordering::Relaxed);
            // Until all have come, and long enough for the last one's next instruction.
            while come.load(Ordering::Relaxed) < 100 {
                std::thread::sleep(Duration::from_millis(5));
            }
            std::thread::sleep(Duration::from_millis(200));
            if fails {
                return Err(haloscope_report::Error::Nothing("nothing there".into()).into());
            }
            Ok(Run::new(
                Store::in_memory_info("x", &Profile::default()),
                Profile::default(),
                Indexes::default(),
            ))
        };
        let ask = || {
            start.wait();
            come.fetch_add(1, Ordering::Relaxed);
            opened.get("x", Vec::new(), open)
        };
        let results: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..100).map(|_| scope.spawn(ask)).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert_eq!((openings.swap(0, Ordering::Relaxed), come.swap(0, Ordering::Relaxed)), (1, 100));
        assert!(results.iter().all(|r| r.is_err() == fails));
        if let Ok(first) = &results[0] {
            assert!(results.iter().flatten().all(|run| Arc::ptr_eq(run, first)));
        }
    }
}

#[test]
fn a_failed_opening_is_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("run")).unwrap();
    let path = folder.path().join("run/a.xplane.pb");
    fs::write(&path, b"").unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    let store = Store::new(folder.path()).unwrap();
    let error = store.open("run").unwrap_err();
    assert!(matches!(error, Error::Read(_)) && error.to_string().contains("a.xplane.pb"), "{error}");
    write(folder.path(), "run/a.xplane.pb", 1, 40);
    assert_eq!(store.open("run").unwrap().profile.lines.len(), 1);
}

#[test]
fn ids_are_names_and_never_paths() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "logs/run/a.xplane.pb", 1, 40);
    write(folder.path(), "secret/a.xplane.pb", 1, 40);
    let store = Store::new(&folder.path().join("logs")).unwrap();
    let absolute = folder.path().join("secret").display().to_string();
    for id in ["../secret", "run/../../secret", &absolute, "", ".", "run/a.xplane.pb"] {
        assert!(matches!(store.open(id), Err(Error::UnknownRun(_))), "{id}");
    }
}

#[cfg(unix)]
#[test]
fn links_out_of_the_place_are_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "secret/a.xplane.pb", 1, 40);
    write(folder.path(), "logs/run/a.xplane.pb", 1, 40);
    let link =
        |name| std::os::unix::fs::symlink(folder.path().join("secret/a.xplane.pb"), folder.path().join(name));
    link("logs/run/b.xplane.pb").unwrap();
    fs::create_dir(folder.path().join("logs/other")).unwrap();
    link("logs/other/c.xplane.pb").unwrap();
    let store = Store::new(&folder.path().join("logs")).unwrap();
    assert_eq!(ids(&store), ["run"]);
    assert_eq!(store.list().unwrap()[0].hosts, ["a"]);
}

#[test]
fn runs_in_memory_come_first_and_are_replaced_by_name() {
    let store = Store::in_memory();
    assert!(store.root().is_none() && ids(&store).is_empty());
    for events in [1, 2] {
        store.add("demo", load::from_bytes("h.xplane.pb", profile_bytes(events)).unwrap());
    }
    assert_eq!(ids(&store), ["demo"]);
    assert_eq!(store.open("demo").unwrap().profile.lines[0].event_count, 2);
}

#[test]
fn a_place_that_is_not_there_is_named() {
    let error = Store::new(Path::new("no/such/folder")).unwrap_err();
    assert!(error.to_string().contains("no/such/folder"));
}

#[test]
fn folders_by_path_lie_below_the_roots() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "logs/plugins/profile/one/a.xplane.pb", 1, 40);
    write(folder.path(), "logs/plugins/profile/two/b.xplane.pb", 2, 40);
    write(folder.path(), "secret/run/c.xplane.pb", 3, 40);
    fs::create_dir(folder.path().join("logs/empty")).unwrap();
    let store = Store::new(&folder.path().join("logs")).unwrap();
    let at = |path: &str| store.session_at(&folder.path().join(path));
    assert_eq!(at("logs/plugins/profile/one").unwrap().unwrap().id, "one");
    assert_eq!(at("logs/plugins/../plugins/profile/two").unwrap().unwrap().hosts, ["b"]);
    for nothing in ["logs", "logs/empty", "logs/absent/deep", "logs/plugins/profile/one/a.xplane.pb"] {
        assert!(at(nothing).unwrap().is_none(), "{nothing}");
    }
    for outside in
        ["secret/run", "secret/absent", "logs/../secret/run", "logs/absent/../../secret", "", "/", "/etc"]
    {
        assert!(matches!(at(outside), Err(Error::Outside(_))), "{outside}");
        assert!(matches!(store.open_at(&folder.path().join(outside)), Err(Error::Outside(_))), "{outside}");
    }
    // No bucket is a root of this store.
    assert!(matches!(store.session_at(Path::new("gs://bucket/run")), Err(Error::Outside(_))));
    for word in ["plugins", "../secret"] {
        assert!(matches!(store.session_at(Path::new(word)), Err(Error::NoPath(_))), "{word}");
    }
    let names = |store: &Store, path: &str| {
        let runs = store.sessions_in(&folder.path().join(path));
        runs.map(|runs| runs.into_iter().map(|r| r.name).collect::<Vec<_>>())
    };
    assert_eq!(names(&store, "logs/plugins/profile").unwrap(), ["one", "two"]);
    assert_eq!(names(&store, "logs").unwrap(), [""; 0]);
    assert!(matches!(names(&store, "secret"), Err(Error::Outside(_))));
    let run = store.open_at(&folder.path().join("logs/plugins/profile/two")).unwrap();
    assert_eq!(run.profile.lines[0].event_count, 2);
    // The listing does not know it by its path.
    assert!(matches!(store.open(&run.info.path), Err(Error::UnknownRun(_))));

    let store = store.with_roots(&[folder.path().join("secret")]).unwrap();
    assert_eq!(names(&store, "secret").unwrap(), ["run"]);
    assert_eq!(names(&store, "logs/plugins/profile").unwrap(), ["one", "two"]);
    assert!(matches!(names(&store, "other"), Err(Error::Outside(_))));
    assert!(matches!(Store::in_memory().session_at(folder.path()), Err(Error::Outside(_))));
    assert!(Store::in_memory().with_roots(&["no/such".into()]).is_err());
}

#[cfg(unix)]
#[test]
fn links_out_of_the_roots_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "secret/run/a.xplane.pb", 1, 40);
    write(folder.path(), "logs/run/a.xplane.pb", 1, 40);
    let link = |from: &str, to: &str| {
        std::os::unix::fs::symlink(folder.path().join(from), folder.path().join(to)).unwrap();
    };
    link("secret/run", "logs/linked");
    link("secret/run/a.xplane.pb", "logs/run/b.xplane.pb");
    let store = Store::new(&folder.path().join("logs")).unwrap();
    assert!(matches!(store.session_at(&folder.path().join("logs/linked")), Err(Error::Outside(_))));
    assert_eq!(store.session_at(&folder.path().join("logs/run")).unwrap().unwrap().hosts, ["a"]);
    assert_eq!(store.sessions_in(&folder.path().join("logs")).unwrap().len(), 1);
}

#[test]
fn xprof_knows_a_run_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "x/plugins/profile/run/a.xplane.pb", 1, 20);
    write(folder.path(), "x/run/b.xplane.pb", 1, 10);
    write(folder.path(), "plugins/profile/top/a.xplane.pb", 1, 10);
    let store = Store::new(folder.path()).unwrap();
    assert_eq!(store.named("x/run").unwrap().id, "x/plugins/profile/run");
    assert_eq!(store.named("top").unwrap().hosts, ["a"]);
    assert!(matches!(store.named("x/plugins/profile/run"), Err(Error::UnknownRun(_))));
}

/// A file that is cut while it is open is found out, also where it looks as before when somebody asks.
#[test]
fn a_run_whose_file_was_cut_is_opened_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run/a.xplane.pb");
    write(folder.path(), "run/a.xplane.pb", 5000, 100);
    let whole = fs::read(&path).unwrap();
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    let store = Store::new(folder.path()).unwrap();
    let first = store.open("run").unwrap();
    first.profile.unchanged().unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_len(10).unwrap();
    // The pages are gone: this would end a process that does not know how to live without them.
    let events = first.profile.events(&first.profile.lines[0]);
    assert!(events.len() < 5000, "{}", events.len());
    let error = first.profile.unchanged().unwrap_err();
    assert!(error.to_string().contains("a.xplane.pb changed while it was read"), "{error}");

    fs::write(&path, whole).unwrap();
    file.set_modified(modified).unwrap();
    assert!(first.profile.unchanged().is_err());
    let second = store.open("run").unwrap();
    assert_eq!(second.profile.events(&second.profile.lines[0]).len(), 5000);
    second.profile.unchanged().unwrap();
    assert!(Arc::ptr_eq(&second, &store.open("run").unwrap()));
}
