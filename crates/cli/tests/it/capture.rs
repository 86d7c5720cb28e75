//! `haloscope capture` without a program to capture: what it says, and that it leaves nothing. With programs: tests/capture.

use std::fs;
use std::net::TcpListener;

use crate::support::process;

#[test]
fn an_absent_server_is_named_and_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join("logs");
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let server = format!("localhost:{free}");
    for more in [vec![], vec!["--every", "1s"], vec!["--when", "step_time>2x"], vec!["--continuous", "start"]]
    {
        let mut args = vec!["capture", &server, "-o", logs.to_str().unwrap()];
        args.extend(more);
        let done = process(&args);
        let err = done.stderr;
        assert_eq!((done.code, done.stdout.as_str()), (3, ""), "{args:?}: {err}");
        assert!(err.contains(&format!("{server}: expected a profiler service, but nothing")), "{err}");
        assert!(err.contains("hint: the program must have called jax.profiler.start_server(PORT)"), "{err}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let said = |args: &[&str]| {
        let done = process(&[&["capture"], args].concat());
        assert_eq!(done.code, 2, "{args:?}: {}", done.stderr);
        done.stderr
    };
    assert!(said(&["localhost:1"]).contains("--output <LOGDIR|URL>"));
    assert!(said(&["localhost", "-o", "x"]).contains("expected HOST:PORT"));
    assert!(said(&["localhost:1", "-o", "x", "--duration", "5"]).contains("a time with its unit"));
    assert!(said(&["localhost:1", "-o", "x", "--option", "mode"]).contains("name=value"));
    assert!(said(&["localhost:1", "-o", "x", "--count", "3"]).contains("--every or --when"));
    assert!(said(&["localhost:1", "-o", "x", "--when", "slow"]).contains("step_time>1.2x"));
    assert!(said(&["localhost:1", "-o", "x", "--session", "a/b"]).contains("the name of one folder"));
    assert!(said(&["localhost:1", "--continuous", "snapshot"]).contains("needs -o LOGDIR"));
}
