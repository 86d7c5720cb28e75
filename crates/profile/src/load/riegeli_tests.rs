//! Files of Riegeli records as runs.

use haloscope_riegeli::write::Writer;
use haloscope_xspace::write::{Event, Line, Plane, Space};

use crate::load;

fn space(name: &str, events: i64) -> Vec<u8> {
    let mut line = Line::new(1, "XLA Ops");
    line.timestamp_ns = 1000;
    line.events = (0..events).map(|i| Event::at(1, i * 1000, 500)).collect();
    let plane = Plane { name: name.into(), lines: vec![line], ..Default::default() };
    Space { planes: vec![plane], hostnames: vec!["h".into()], ..Default::default() }.to_bytes()
}

#[test]
fn a_profile_knows_what_its_file_lost() {
    let mut file = Writer::new();
    file.records(&[&space("/device:TPU:0", 300)]);
    let whole = file.bytes().len();
    file.records(&[&space("/device:TPU:1", 300)]);
    let cut = file.bytes()[..whole + 100].to_vec();
    let profile = load::from_bytes("a.xplane.riegeli", cut).unwrap();
    let pieces = profile.sources[0].pieces.as_ref().unwrap();
    assert_eq!((pieces.records, pieces.lost), (1, 1));
    assert!(pieces.why.as_ref().unwrap().contains("the file ends at byte"), "{pieces:?}");
}

#[test]
fn a_file_without_a_record_says_what_it_is() {
    let error = load::from_bytes("a.xplane.riegeli", Writer::new().into_bytes()).unwrap_err().to_string();
    assert!(error.starts_with("cannot read a.xplane.riegeli: expected Riegeli records"), "{error}");
    let error = load::from_bytes("a.xplane.riegeli", b"RIEGELI".to_vec()).unwrap_err().to_string();
    assert!(error.contains("no Riegeli records"), "{error}");
}

#[test]
fn large_records_lie_in_a_scratch_file_and_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let one = space("/device:TPU:0", 200_000);
    let mut file = Writer::new();
    file.records(&[&one]);
    let path = folder.path().join("h.xplane.riegeli");
    std::fs::write(&path, file.bytes()).unwrap();
    let profile = load::open(&load::find(folder.path()).unwrap()).unwrap();
    assert!(one.len() > 1 << 20 && profile.sources[0].bytes() == one);
    assert_eq!(profile.hosts[0].name, "h");
    profile.sources[0].drop_pages(0..one.len());
    assert!(profile.sources[0].bytes() == one);
    assert_eq!(profile.events(&profile.lines[0]).len(), 200_000);
}
