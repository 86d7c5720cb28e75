//! Damage: single bytes changed at random, with a fixed seed.

use haloscope_xspace::SpaceView;

use crate::sample::{self, walk};

/// A xorshift generator: the same flips in every run on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

#[test]
fn ten_thousand_flips_never_panic_and_never_reach_back() {
    let whole = sample::space();
    let bytes = whole.to_bytes();
    let plane_ends: Vec<u64> = {
        let view = SpaceView::parse(&bytes);
        view.planes.iter().skip(1).map(|p| p.offset).collect()
    };
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut faulty = 0;
    for _ in 0..10_000 {
        let at = random.below(bytes.len() as u64) as usize;
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 + random.below(255) as u8;
        let (read, faults) = walk(&damaged);
        faulty += u64::from(!faults.is_empty());
        for fault in faults.kept() {
            assert!(fault.offset < damaged.len() as u64, "byte {at}: {fault}");
        }
        if plane_ends.iter().any(|end| at as u64 >= *end) {
            assert_eq!(read.planes[0], whole.planes[0], "byte {at} lies behind the first plane");
        }
        // What was read can be written, and reads the same again.
        assert_eq!(walk(&read.to_bytes()).0.to_bytes(), read.to_bytes(), "byte {at}");
    }
    // A flip inside a number or a name changes it silently; the structure must notice many of the others.
    assert!(faulty > 2_000, "only {faulty} flips were noticed");
}

#[test]
fn noise_is_read_to_its_end() {
    let mut random = Random(7);
    for length in 0..2_000 {
        let noise: Vec<u8> = (0..length % 97).map(|_| random.below(256) as u8).collect();
        let (read, _) = walk(&noise);
        assert!(read.planes.len() <= noise.len());
    }
}
