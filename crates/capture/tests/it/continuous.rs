//! Continuous profiling, and monitoring, where they are offered and where they are not.

use std::time::Duration;

use haloscope_capture::{Destination, Options, Silent, Stop, continuous, monitor};

use crate::fake::{Behaviour, Fake, space};

#[test]
fn a_server_that_does_not_offer_it_is_named() {
    let server = Fake::new(Behaviour::Sends(space("w", 1)));
    let error = continuous::start(&server.name(), &Options::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{}: the server does not offer continuous profiling", server.name())
    );
    assert!(error.hint().unwrap().contains("--every"));
    assert_eq!(continuous::stop(&server.name()).unwrap_err().kind(), "unimplemented");
    let error = monitor(&server.name(), Duration::from_millis(10), 2).unwrap_err();
    assert_eq!(error.to_string(), format!("{}: the server does not offer monitoring", server.name()));
}

#[test]
fn a_snapshot_is_a_session() {
    let temporary = tempfile::tempdir().unwrap();
    let servers: Vec<_> = ["w-0", "w-1"].map(|host| Fake::new(Behaviour::Sends(space(host, 5)))).into();
    let names: Vec<_> = servers.iter().map(Fake::name).collect();
    let to = Destination::Folder(temporary.path().into());
    let captured = continuous::snapshot(&names, &to, None, &Silent, &Stop::new()).unwrap();
    let files: Vec<_> = captured.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(files, ["w-0.xplane.pb", "w-1.xplane.pb"]);
    assert_eq!(std::fs::read_dir(&captured.path).unwrap().count(), 2);
}
