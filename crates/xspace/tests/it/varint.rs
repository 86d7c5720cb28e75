//! Varints of every length, at every distance from the end of the data: the reader takes them eight bytes at a time.

use haloscope_xspace::FaultKind;
use haloscope_xspace::wire::varint;
use proptest::prelude::*;

use crate::raw;

/// `value` in exactly `length` bytes, padded with zero groups; `None` where it does not fit.
fn padded(value: u64, length: usize) -> Option<Vec<u8>> {
    let mut bytes = raw::varint(value);
    if bytes.len() > length {
        return None;
    }
    let last = bytes.len() - 1;
    if bytes.len() < length {
        bytes[last] |= 0x80;
        bytes.resize(length - 1, 0x80);
        bytes.push(0);
    }
    Some(bytes)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_varint_is_read_at_any_length_and_place(bits in any::<u64>(), shift in 0_u32..64, before in 0_usize..3, after in prop::collection::vec(any::<u8>(), 0..10)) {
        let value = bits >> shift;
        for bytes in (1..=10).filter_map(|length| padded(value, length)) {
            let data = [vec![0xff; before], bytes.clone(), after.clone()].concat();
            prop_assert_eq!(varint(&data, before), Ok((value, before + bytes.len())));
            for cut in 0..bytes.len() {
                prop_assert_eq!(varint(&data[..before + cut], before), Err(FaultKind::CutNumber));
            }
        }
    }
}

#[test]
fn eleven_bytes_are_too_many_and_bits_beyond_the_64th_are_dropped() {
    assert_eq!(varint(&[0xff; 11], 0), Err(FaultKind::LongVarint));
    assert_eq!(varint(&[&[0x80; 9][..], &[0x7f]].concat(), 0), Ok((1 << 63, 10)));
}
