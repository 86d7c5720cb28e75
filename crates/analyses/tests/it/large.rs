//! Files of more than 4 GiB.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};

use haloscope_profile::load;
use haloscope_report::Cell;

use crate::made::{Made, US, bytes};
use crate::support::ask;

/// A sparse file: a field that no schema knows, 4.5 GiB of nothing, and behind it an ordinary profile.
#[test]
fn a_profile_behind_four_gigabytes_is_read_like_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("host0.xplane.pb");
    let mut device = Made::tpu(0);
    let op = device.op("fusion.1", "loop fusion", 1_000, 64);
    device.line("XLA Ops", 0, &[(op, 5 * US, 2 * US), (op, 9 * US, 3 * US)]);
    let small = bytes(vec![device]);
    let gap: u64 = 9 << 29;
    let mut file = File::create(&path).unwrap();
    let mut head = vec![15 << 3 | 2];
    let mut length = gap;
    while length >= 0x80 {
        head.push(length as u8 | 0x80);
        length >>= 7;
    }
    head.push(length as u8);
    file.write_all(&head).unwrap();
    file.seek(SeekFrom::Current(gap as i64)).unwrap();
    file.write_all(&small).unwrap();
    drop(file);
    let large = load::open(&load::find(&path).unwrap()).unwrap();
    let plain = load::from_bytes("host0.xplane.pb", small).unwrap();
    assert!(large.sources[0].bytes().len() as u64 > 1 << 32);
    let (large, plain) = (ask(&large, "ops", &[]), ask(&plain, "ops", &[]));
    assert_eq!(large.tables, plain.tables);
    assert_eq!(large.value("self_time_ps").unwrap().value, Cell::Int(5 * US));
}
