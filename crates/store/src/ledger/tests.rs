use haloscope_analyses::ledger::Time;

use super::*;

fn entry(run: &str) -> Entry {
    Entry::new(Time::from_unix(1_795_344_312), run)
}

fn runs(ledger: &ledger::Ledger) -> Vec<&str> {
    ledger.entries.iter().map(|kept| kept.entry.run.as_str()).collect()
}

#[test]
fn a_file_is_added_to_and_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/history.jsonl");
    let ledger = Ledger::at(&path).unwrap();
    assert!(matches!(ledger.read(), Err(Error::Input { message, .. }) if message.contains("ledger add")));
    assert_eq!(ledger.append(&entry("a"), "w").unwrap(), Written { file: path.clone(), line: 1 });
    let first = ledger.read().unwrap();
    assert_eq!(runs(&first), ["a"]);
    assert!(Arc::ptr_eq(&first, &ledger.read().unwrap()));
    assert_eq!(ledger.append(&entry("b"), "w").unwrap().line, 2);
    assert_eq!(runs(&ledger.read().unwrap()), ["a", "b"]);
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        format!("{}{}", entry("a").to_line(), entry("b").to_line())
    );
}

#[test]
fn a_folder_has_a_file_a_writer() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::at(&folder.path().join("history")).unwrap();
    ledger.append(&entry("a"), "ci-1").unwrap();
    ledger.append(&entry("b"), "ci/../2 ü").unwrap();
    ledger.append(&entry("c"), "..").unwrap();
    let names: Vec<String> = ledger.files().unwrap().iter().map(|p| name(p)).collect();
    assert_eq!(names, ["ci-..-2--.jsonl", "ci-1.jsonl", "ledger.jsonl"]);
    let read = ledger.read().unwrap();
    assert_eq!(runs(&read), ["b", "a", "c"]);
    assert_eq!(read.entries[1].file, "ci-1.jsonl");
    fs::write(folder.path().join("history/notes.txt"), "not ours").unwrap();
    assert_eq!(ledger.read().unwrap().bad, []);
}

#[test]
fn the_beginning_of_a_line_goes_and_the_next_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("l.jsonl");
    let (first, lost) = (entry("a").to_line(), entry("lost").to_line());
    let whole = format!("{first}{}", entry("b").to_line());
    for cut in [1, 5, 30, lost.trim_end().len() - 1] {
        fs::write(&path, format!("{first}{}", &lost[..cut])).unwrap();
        let ledger = Ledger::at(&path).unwrap();
        // Whoever reads before the next writer is told.
        assert_eq!(ledger.read().unwrap().bad.len(), 1, "{cut}");
        assert_eq!(ledger.append(&entry("b"), "w").unwrap().line, 2);
        assert_eq!(fs::read_to_string(&path).unwrap(), whole, "{cut}");
    }
    // A file with nothing else in it is one of ours too.
    fs::write(&path, &lost[..30]).unwrap();
    Ledger::at(&path).unwrap().append(&entry("b"), "w").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), entry("b").to_line());
}

#[test]
fn a_whole_line_without_its_end_stays_and_so_does_what_is_not_ours() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("l.jsonl");
    let (first, next) = (entry("a").to_line(), entry("b").to_line());
    for last in
        [entry("whole").to_line().trim_end(), "{\"ledger\":7,\"later\":true}", "{\"theirs\":", "# a remark"]
    {
        fs::write(&path, format!("{first}{last}")).unwrap();
        assert_eq!(Ledger::at(&path).unwrap().append(&entry("b"), "w").unwrap().line, 3);
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{first}{last}\n{next}"));
    }
}

#[test]
fn many_writers_of_one_file_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("l.jsonl");
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let path = &path;
            scope.spawn(move || {
                let ledger = Ledger::at(path).unwrap();
                for i in 0..25 {
                    ledger.append(&entry(&format!("{writer}-{i}")), "w").unwrap();
                }
            });
        }
    });
    let read = Ledger::at(&path).unwrap().read().unwrap();
    assert_eq!((read.entries.len(), read.bad.len()), (200, 0));
    let mut all: Vec<&str> = runs(&read);
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 200);
}

#[test]
fn files_of_others_are_not_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.jsonl");
    fs::write(&path, "{\"event\":1}\n").unwrap();
    let error = Ledger::at(&path).unwrap().append(&entry("a"), "w").unwrap_err();
    assert!(error.to_string().contains("nothing was written"), "{error}");
    assert_eq!(error.exit_code(), 3);
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"event\":1}\n");
}

#[test]
fn nothing_is_written_into_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let session = folder.path().join("plugins/profile/2026_01_01");
    fs::create_dir_all(&session).unwrap();
    fs::write(session.join("host.xplane.pb"), "").unwrap();
    for place in
        [session.clone(), session.join("l.jsonl"), session.join("new/deep"), session.join("new/l.jsonl")]
    {
        let error = Ledger::at(&place).unwrap_err();
        assert!(error.to_string().contains("outside"), "{error}");
        assert_eq!(error.exit_code(), 2);
    }
    // A folder of profiles without sessions is one run; a folder in it is none.
    fs::write(folder.path().join("host.xplane.pb"), "").unwrap();
    assert!(Ledger::at(&folder.path().join("l.jsonl")).is_err());
    // The log folder itself is no run.
    Ledger::at(&folder.path().join("ledger")).unwrap().append(&entry("a"), "w").unwrap();
    assert!(!session.join("new").exists());
}

#[test]
fn buckets_are_for_later_and_say_so() {
    for place in ["gs://bucket/ledger", "s3://bucket/l.jsonl"] {
        let error = Ledger::at(place.as_ref()).unwrap_err();
        assert!(error.to_string().contains("buckets"), "{error}");
    }
}
