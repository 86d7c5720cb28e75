//! Strings that were compressed with gzip.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use haloscope_xspace::write::{Plane, Space, Stat, Value};
use haloscope_xspace::{SpaceView, StatValue};

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_compressed_string_comes_back_through_a_profile() {
    let stat = Stat { metadata_id: 1, value: Value::Compressed(gzip(b"a long call stack")) };
    let space =
        Space { planes: vec![Plane { stats: vec![stat], ..Default::default() }], ..Default::default() };
    let bytes = space.to_bytes();
    let view = SpaceView::parse(&bytes);
    let Some(StatValue::Compressed(packed)) = view.planes[0].stats[0].value else {
        panic!("{:?}", view.planes[0].stats);
    };
    assert_eq!(StatValue::unzip(packed, 100).unwrap(), b"a long call stack");
    assert_eq!(StatValue::unzip(packed, u64::MAX).unwrap(), b"a long call stack");
}

#[test]
fn a_text_over_the_limit_is_refused_and_one_at_the_limit_is_not() {
    let bomb = gzip(&vec![b'a'; 1 << 20]);
    assert!(bomb.len() < 10_000);
    let error = StatValue::unzip(&bomb, (1 << 20) - 1).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
    assert_eq!(StatValue::unzip(&bomb, 1 << 20).unwrap().len(), 1 << 20);
}

#[test]
fn what_is_not_gzip_or_is_cut_is_an_error() {
    assert!(StatValue::unzip(b"plain", 100).is_err());
    let packed = gzip(b"a long call stack");
    for cut in 0..packed.len() {
        assert!(StatValue::unzip(&packed[..cut], 100).is_err(), "cut at {cut}");
    }
}

#[test]
fn numbers_are_read_whichever_kind_the_writer_chose() {
    assert_eq!(StatValue::Uint(u64::MAX).as_i64(), None);
    assert_eq!(StatValue::Int(-1).as_u64_bits(), Some(u64::MAX));
    assert_eq!(StatValue::Double(2.5).as_f64(), Some(2.5));
    assert_eq!(StatValue::Double(2.0).as_i64(), None);
    assert_eq!(StatValue::Ref(3).as_f64(), None);
}
