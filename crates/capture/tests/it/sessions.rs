//! Sessions that come about.

use std::fs;
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use haloscope_capture::{Destination, Event, Options, Request, Silent, Stop, capture};

use crate::fake::{Behaviour, Fake, space};
use crate::support::{into, request};

#[test]
fn one_server_makes_a_session_of_its_bytes() {
    let temporary = tempfile::tempdir().unwrap();
    let sent = space("w-0", 100);
    let server = Fake::new(Behaviour::Sends(sent.clone()));
    let mut asked = request([server.name()]);
    asked.options = Options::parse(["host_tracer_level=3"]).unwrap();
    let captured = into(temporary.path(), &asked).unwrap();
    let folder = temporary.path().join("logs/plugins/profile").join(&captured.session);
    assert_eq!(captured.path, folder.display().to_string());
    assert_eq!(fs::read(folder.join("w-0.xplane.pb")).unwrap(), sent);
    assert_eq!((captured.files[0].host.as_str(), captured.files[0].bytes), ("w-0", sent.len() as u64));
    let beside: Vec<_> = fs::read_dir(folder.parent().unwrap()).unwrap().flatten().collect();
    assert_eq!(beside.len(), 1, "nothing is left beside it: {beside:?}");
    let told = server.asked.lock().unwrap()[0].clone();
    assert_eq!((told.duration_ms, told.emit_xspace, told.session_id), (50, true, captured.session));
    assert_eq!(told.opts.unwrap().host_tracer_level, 3);
}

#[test]
fn several_servers_start_at_one_time_and_make_one_session() {
    let temporary = tempfile::tempdir().unwrap();
    let servers: Vec<_> =
        (0..8).map(|i| Fake::new(Behaviour::Sends(space(&format!("w-{}", i / 2), 10)))).collect();
    let mut asked = request(servers.iter().map(Fake::name));
    asked.delay = Duration::from_millis(400);
    let before = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    let captured = into(temporary.path(), &asked).unwrap();
    let starts: Vec<_> = servers
        .iter()
        .map(|server| server.asked.lock().unwrap()[0].opts.clone().unwrap().start_timestamp_ns)
        .collect();
    assert!(starts.iter().all(|start| *start == starts[0] && *start >= before + 400_000_000), "{starts:?}");
    let names: Vec<_> = captured.files.iter().map(|file| file.name.clone()).collect();
    let expected: Vec<_> = servers
        .iter()
        .enumerate()
        .map(|(i, server)| format!("w-{}_{}.xplane.pb", i / 2, server.at.port()))
        .collect();
    assert_eq!(names, expected, "two servers a host: the port tells them apart");
    assert_eq!(fs::read_dir(&captured.path).unwrap().count(), 8);
}

#[test]
fn replies_may_be_of_any_size() {
    // tonic's own limit is 4 MiB; gRPC's window starts at 64 KiB.
    let temporary = tempfile::tempdir().unwrap();
    for megabytes in [5, 70] {
        let server = Fake::new(Behaviour::Sends(space("w", megabytes << 20)));
        let seen = Mutex::new(0);
        let watch = |event: &Event<'_>| {
            if let Event::Received { bytes, .. } = event {
                *seen.lock().unwrap() = *bytes;
            }
        };
        let to = Destination::Folder(temporary.path().into());
        let captured = capture(&request([server.name()]), &to, &watch, &Stop::new()).unwrap();
        let bytes = fs::metadata(format!("{}/w.xplane.pb", captured.path)).unwrap().len();
        assert!(bytes > megabytes as u64 * (1 << 20));
        assert_eq!(*seen.lock().unwrap(), bytes);
    }
}

#[test]
fn sessions_of_one_second_do_not_meet() {
    let temporary = tempfile::tempdir().unwrap();
    let server = Fake::new(Behaviour::Sends(space("w", 1)));
    let sessions: Vec<_> =
        (0..3).map(|_| into(temporary.path(), &request([server.name()])).unwrap().session).collect();
    let mut distinct = sessions.clone();
    distinct.dedup();
    assert_eq!(distinct.len(), 3, "{sessions:?}");
}

#[test]
fn a_name_that_was_asked_for_is_taken_once() {
    let temporary = tempfile::tempdir().unwrap();
    let server = Fake::new(Behaviour::Sends(space("w", 1)));
    let asked = Request { session: Some("before".into()), ..request([server.name()]) };
    assert_eq!(into(temporary.path(), &asked).unwrap().session, "before");
    let error = into(temporary.path(), &asked).unwrap_err();
    assert_eq!(error.kind(), "exists");
    assert!(error.to_string().ends_with("before exists already: a session is never overwritten"), "{error}");
    assert_eq!(server.asked.lock().unwrap().len(), 1, "nobody was asked for what has no place");
}

#[test]
fn an_empty_profile_is_tried_again() {
    let temporary = tempfile::tempdir().unwrap();
    let server = Fake::new(Behaviour::EmptyAtFirst(space("w", 1)));
    let asked = Request { retries: 1, ..request([server.name()]) };
    let told = Mutex::new(Vec::new());
    let watch = |event: &Event<'_>| {
        if let Event::Retrying { server, attempt, .. } = event {
            told.lock().unwrap().push((server.to_string(), *attempt));
        }
    };
    capture(&asked, &Destination::Folder(temporary.path().into()), &watch, &Stop::new()).unwrap();
    assert_eq!(*told.lock().unwrap(), [(server.name(), 2)]);
}

#[test]
fn an_old_server_writes_itself_where_it_is_told_to() {
    let temporary = tempfile::tempdir().unwrap();
    let server = Fake::new(Behaviour::Old);
    let asked = Request { on_server: Some("/srv/logs/".into()), ..request([server.name()]) };
    let captured = into(temporary.path(), &asked).unwrap();
    assert_eq!(captured.path, format!("/srv/logs/plugins/profile/{}", captured.session));
    assert!(captured.remarks[0].contains("on their own disks"));
    let told = server.asked.lock().unwrap()[0].clone();
    assert_eq!((told.repository_root.as_str(), told.emit_xspace), ("/srv/logs/plugins/profile", false));
    assert_eq!(told.host_name + ".xplane.pb", captured.files[0].name);
    crate::support::assert_nothing(temporary.path());
}

#[test]
fn what_old_servers_of_this_machine_write_becomes_a_session_like_any_other() {
    let temporary = tempfile::tempdir().unwrap();
    let servers: Vec<_> = ["w-0", "w-1"].map(|host| Fake::new(Behaviour::Writes(space(host, 3)))).into();
    let captured = into(temporary.path(), &request(servers.iter().map(Fake::name))).unwrap();
    let mut left: Vec<_> =
        fs::read_dir(&captured.path).unwrap().flatten().map(|entry| entry.file_name()).collect();
    left.sort();
    assert_eq!(left, ["w-0.xplane.pb", "w-1.xplane.pb"]);
    let beside = fs::read_dir(temporary.path().join("logs/plugins/profile")).unwrap().count();
    assert_eq!(beside, 1, "what they wrote is not left beside it");
    let roots: Vec<_> =
        servers[0].asked.lock().unwrap().iter().map(|asked| asked.repository_root.clone()).collect();
    assert!(roots[0].starts_with("/dev/null/") && roots[1].contains(".haloscope-"), "{roots:?}");
}

#[test]
fn a_delay_is_kept() {
    let temporary = tempfile::tempdir().unwrap();
    let server = Fake::new(Behaviour::Sends(space("w", 1)));
    let asked = Request { delay: Duration::from_millis(300), ..request([server.name()]) };
    let since = Instant::now();
    capture(&asked, &Destination::Folder(temporary.path().into()), &Silent, &Stop::new()).unwrap();
    assert!(since.elapsed() >= Duration::from_millis(340), "{:?}", since.elapsed());
}
