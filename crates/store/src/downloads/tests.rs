use std::time::UNIX_EPOCH;

use haloscope_remote::{Address, Object};

use super::*;

#[test]
fn what_cannot_be_downloaded_is_tried_again() {
    let downloads = Downloads::default();
    let session = {
        let at = Address::parse("http://127.0.0.1:1/runs/s").unwrap();
        let object = Object { path: "h.xplane.pb".to_owned(), size: 10, etag: None, modified: UNIX_EPOCH };
        Session { name: "s".to_owned(), at, bytes: 10, objects: vec![object], modified: UNIX_EPOCH }
    };
    for _ in 0..2 {
        assert!(matches!(downloads.fetch(&session), Err(Error::Remote(_))));
        assert!(downloads.downloaded(&session).is_none() && downloads.progress(&session).is_none());
    }
    assert!(lock(&downloads.0).is_empty());
    crate::leave();
}
