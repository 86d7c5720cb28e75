//! Arbitrary bytes as the chunks of a file of records, with hashes that hold, load as a profile or are refused.
//!
//! Each chunk of an input: its kind (odd: transposed), the number of its records, two bytes with the length that they unpack to,
//! two with the length of its data, the data.
#![no_main]

use haloscope_profile::load;
use highway::{HighwayHash, HighwayHasher, Key};
use libfuzzer_sys::fuzz_target;

fn hash(data: &[u8]) -> [u8; 8] {
    let key = [0x2f69_6c65_6765_6952, 0x0a73_6472_6f63_6572];
    HighwayHasher::new(Key([key[0], key[1], key[0], key[1]])).hash64(data).to_le_bytes()
}

fn chunk(file: &mut Vec<u8>, kind: u8, records: u64, decoded: u64, data: &[u8]) {
    let mut header = Vec::new();
    header.extend((data.len() as u64).to_le_bytes());
    header.extend(hash(data));
    header.extend((u64::from(kind) | records << 8).to_le_bytes());
    header.extend(decoded.to_le_bytes());
    let hash = hash(&header);
    for byte in hash.iter().chain(&header).chain(data) {
        // What stands in the header of a block matters behind damage only.
        if file.len() % 65_536 == 0 {
            file.extend([0; 24]);
        }
        file.push(*byte);
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut file = vec![
        0x83, 0xaf, 0x70, 0xd1, 0x0d, 0x88, 0x4a, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0,
    ];
    chunk(&mut file, b's', 0, 0, &[]);
    let mut rest = bytes;
    while let [kind, records, d0, d1, l0, l1, behind @ ..] = rest {
        let length = usize::from(u16::from_le_bytes([*l0, *l1])).min(behind.len());
        let (data, next) = behind.split_at(length);
        let kind = if kind % 2 == 1 { b't' } else { b'r' };
        chunk(&mut file, kind, u64::from(*records), u64::from(u16::from_le_bytes([*d0, *d1])), data);
        rest = next;
    }
    let _ = load::from_bytes("fuzz.xplane.riegeli", file);
});
