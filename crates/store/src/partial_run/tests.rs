use std::path::Path;

use super::*;
use crate::tests::write;

fn session(root: &Path, hosts: usize) {
    for host in 0..hosts {
        write(root, &format!("run/host-{host:02}.xplane.pb"), 2000, 100);
    }
}

/// Asks until all hosts have been read; what was answered on the way.
fn answers(store: &Arc<Store>) -> Vec<PartialRun> {
    let mut all = Vec::new();
    for _ in 0..1000 {
        all.push(store.partial_run("run", Duration::ZERO).unwrap());
        if all.last().is_some_and(|last| last.hosts.is_none()) {
            return all;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("never read: {:?}", store.read_progress("run"));
}

#[test]
fn parts_grow_until_all_hosts_are_read() {
    let folder = tempfile::tempdir().unwrap();
    session(folder.path(), 64);
    let store = Arc::new(Store::new(folder.path()).unwrap());
    assert_eq!(store.read_progress("run").unwrap(), ReadProgress::default(), "nobody asked yet");
    assert!(matches!(store.read_progress("another"), Err(Error::UnknownRun(_))));
    let all = answers(&store);
    let counts: Vec<usize> =
        all.iter().filter_map(|partial_run| Some(partial_run.hosts.as_ref()?.len())).collect();
    assert!(counts.is_sorted() && counts.iter().all(|count| (1..=64).contains(count)), "{counts:?}");
    for partial_run in &all {
        assert_eq!(partial_run.of, 64);
        // Each host that is named is one of the run's that comes with it.
        let known: Vec<_> = partial_run.run.profile.hosts.iter().map(|host| &host.name).collect();
        assert!(partial_run.hosts.iter().flatten().all(|host| known.contains(&host)), "{known:?}");
    }
    let whole = &all[all.len() - 1].run;
    assert_eq!(whole.profile.hosts.len(), 64);
    assert!(Arc::ptr_eq(whole, &store.open("run").unwrap()), "opened once");
    let reading = store.read_progress("run").unwrap();
    assert_eq!((reading.state, reading.part.files, reading.part.all_files), (ReadState::Read, 64, 64));
    assert!(whole.profile.lines.iter().all(|line| line.loaded().is_some()));
}

#[test]
fn a_host_alone_answers_while_the_whole_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    session(folder.path(), 5);
    std::fs::write(folder.path().join("run/host-00.xplane.pb"), "no profile").unwrap();
    let file =
        std::fs::File::options().write(true).open(folder.path().join("run/host-00.xplane.pb")).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    let store = Arc::new(Store::new(folder.path()).unwrap());
    let listed = store.find("run", |l| l.info.id == "run").unwrap();
    let background_read = BackgroundRead {
        id: "run".to_owned(),
        stamps: listed.stamps(),
        listed,
        read_so_far: Mutex::default(),
        moved: Condvar::new(),
    };
    // The first that can be read, and the same for all who ask.
    let alone = background_read.alone().unwrap();
    assert_eq!(alone.profile.hosts.len(), 1);
    assert_eq!(alone.profile.hosts[0].name, "host-01");
    assert!(Arc::ptr_eq(&alone, &background_read.alone().unwrap()));
    assert_eq!(background_read.read_progress().state, ReadState::Opening);
    assert_eq!(background_read.read_progress().part.all_files, 5);
    // The whole has the four that can be read, and names the other.
    background_read.fill(&store);
    assert_eq!(background_read.wait(Duration::ZERO).map(|end| end.is_ok()), Some(true));
    let run = store.open("run").unwrap();
    assert_eq!(run.profile.hosts.len(), 4);
    assert!(run.profile.left_out[0].contains("host-00"), "{:?}", run.profile.left_out);
}

#[test]
fn small_runs_and_failures_are_whole() {
    let folder = tempfile::tempdir().unwrap();
    session(folder.path(), 2);
    let store = Arc::new(Store::new(folder.path()).unwrap());
    assert!(store.partial_run("run", Duration::ZERO).unwrap().hosts.is_none());
    assert!(matches!(store.partial_run("none", Duration::ZERO), Err(Error::UnknownRun(_))));
}
