//! Arbitrary bytes as the chunks of a file of records, with hashes that hold, become one XSpace or are refused.
//!
//! Each chunk of an input: its kind (odd: transposed), the number of its records, two bytes with the length that they unpack to,
//! two with the length of its data, the data.
#![no_main]

use haloscope_riegeli::{Bounds, read, write::Writer};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut file = Writer::new();
    let mut rest = bytes;
    while let [kind, records, d0, d1, l0, l1, behind @ ..] = rest {
        let length = usize::from(u16::from_le_bytes([*l0, *l1])).min(behind.len());
        let (data, next) = behind.split_at(length);
        let kind = if kind % 2 == 1 { b't' } else { b'r' };
        file.chunk(kind, u64::from(*records), u64::from(u16::from_le_bytes([*d0, *d1])), data);
        rest = next;
    }
    if let Ok(found) = read(file.bytes(), Bounds { unpacked: 64 << 20, memory: 64 << 20 }) {
        assert!(found.records > 0);
        assert_eq!(found.lost == 0, found.why.is_none());
    }
});
