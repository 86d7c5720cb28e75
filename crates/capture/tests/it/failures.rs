//! Servers that do not give a profile: the error names them and the reason, in time, and nothing is left.

use std::io::{self, Write};
use std::net::TcpListener;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use haloscope_capture::{Destination, Request, Silent, Stop, capture};
use tonic::Status;

use crate::fake::{Behaviour, Fake, eventually, space};
use crate::support::{assert_nothing, into, request};

/// How long servers that do not answer are waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// The kind and the words of the error, which must come in time and leave nothing.
fn failure(request: &Request) -> (&'static str, String) {
    let temporary = tempfile::tempdir().unwrap();
    let since = Instant::now();
    let error = into(temporary.path(), request).unwrap_err();
    assert!(since.elapsed() < Duration::from_secs(30), "{:?}: {error}", since.elapsed());
    assert_nothing(temporary.path());
    (error.kind(), error.to_string())
}

fn of(behaviour: Behaviour) -> (&'static str, String, String) {
    let server = Fake::new(behaviour);
    let (kind, said) = failure(&request([server.name()]));
    (kind, said, server.name())
}

#[test]
fn absent() {
    // A port that was free a moment ago.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (kind, said) = failure(&request([format!("localhost:{free}")]));
    assert_eq!(kind, "refused");
    assert!(
        said.starts_with(&format!("localhost:{free}: expected a profiler service, but nothing")),
        "{said}"
    );
    let (kind, said) = failure(&request(["no-such-host.invalid:9999"]));
    assert_eq!(kind, "refused");
    assert!(said.contains("no-such-host.invalid:9999"), "{said}");
}

#[test]
fn hanging() {
    let server = Fake::new(Behaviour::Hangs);
    let (kind, said) = failure(&Request { timeout: PATIENCE, ..request([server.name()]) });
    assert_eq!(kind, "unanswered");
    assert!(said.starts_with(&format!("{}: no answer in ", server.name())), "{said}");
}

#[test]
fn hanging_before_it_speaks() {
    // Takes the connection, and says nothing.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let asked = request([listener.local_addr().unwrap().to_string()]);
    let (kind, said) = failure(&Request { timeout: PATIENCE, ..asked });
    assert_eq!(kind, "unanswered", "{said}");
}

#[test]
fn dying_in_the_middle() {
    let (kind, said, name) = of(Behaviour::Dies(Duration::from_millis(300)));
    assert_eq!(kind, "died", "{said}");
    assert!(said.starts_with(&format!("{name}: the connection ended after ")), "{said}");
}

#[test]
fn something_else() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
            // Until the client ends it: a connection that is closed with unread bytes takes the answer with it.
            let _ = io::copy(&mut stream, &mut io::sink());
        }
    });
    let (kind, said) = failure(&request([at.to_string()]));
    assert_eq!(kind, "other", "{said}");
}

#[test]
fn refusing() {
    let (kind, said, name) = of(Behaviour::Refuses(Status::unimplemented("")));
    assert_eq!(
        (kind, said),
        ("unimplemented", format!("{name}: the server does not offer a profiler service"))
    );
    let (kind, said, _) = of(Behaviour::Refuses(Status::already_exists("Another profiler session active.")));
    assert_eq!(kind, "busy");
    assert!(said.ends_with("Another profiler session active."), "{said}");
    let (kind, said, name) = of(Behaviour::Refuses(Status::internal("no memory")));
    assert_eq!((kind, said), ("failed", format!("{name}: the profiler service said Internal: no memory")));
}

#[test]
fn without_a_profile() {
    let (kind, said, name) = of(Behaviour::Empty);
    assert_eq!(kind, "empty");
    assert!(said.starts_with(&name), "{said}");
    assert_eq!(of(Behaviour::Old).0, "old");
    let (kind, said, _) = of(Behaviour::Damaged);
    assert_eq!(kind, "failed");
    assert!(said.contains("damaged"), "{said}");
}

#[test]
fn the_second_of_two_takes_the_first_with_it() {
    let fine = Fake::new(Behaviour::Sends(space("w-0", 10)));
    let dies = Fake::new(Behaviour::Dies(Duration::from_millis(200)));
    let (kind, said) = failure(&request([fine.name(), dies.name()]));
    assert_eq!(kind, "died");
    assert!(said.starts_with(&dies.name()), "{said}");
}

#[test]
fn the_first_failure_ends_the_calls_to_the_others() {
    let hangs = Fake::new(Behaviour::Hangs);
    let empty = Fake::new(Behaviour::Empty);
    let (kind, _) = failure(&request([hangs.name(), empty.name()]));
    assert_eq!(kind, "empty");
    eventually("the server that hung was told", || hangs.ended.load(Ordering::Relaxed) == 1);
}

#[test]
fn stopped() {
    let temporary = tempfile::tempdir().unwrap();
    let server = Fake::new(Behaviour::Hangs);
    let stop = Stop::new();
    let later = stop.clone();
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        later.stop();
    });
    let asked = request([server.name()]);
    let to = Destination::Folder(temporary.path().join("logs"));
    let error = capture(&asked, &to, &Silent, &stop).unwrap_err();
    assert_eq!((error.kind(), error.exit_code()), ("stopped", 130));
    assert_nothing(temporary.path());
    eventually("the server was told", || server.ended.load(Ordering::Relaxed) == 1);
}

#[test]
fn a_folder_that_cannot_be_written_to_is_known_before_anybody_is_asked() {
    let temporary = tempfile::tempdir().unwrap();
    let file = temporary.path().join("file");
    std::fs::write(&file, "").unwrap();
    let server = Fake::new(Behaviour::Sends(space("w", 1)));
    let error =
        capture(&request([server.name()]), &Destination::Folder(file), &Silent, &Stop::new()).unwrap_err();
    assert_eq!(error.kind(), "local");
    assert!(server.asked.lock().unwrap().is_empty());
}
