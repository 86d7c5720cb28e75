//! Damaged profiles, through the library: whatever stands in a file, there is an answer or a reason, never a panic.
//!
//! A change is tried with one in twenty; `HALOSCOPE_WHOLE=1`, as at night, with all of it.

use haloscope_analyses::ALL;
use haloscope_profile::load;
use haloscope_report::Error;
use haloscope_report::present::{self, Layout};
use haloscope_report::scope::Scope;
use haloscope_time::analysis::{self, Params};

use crate::small;
use crate::support::{FIXTURES, root};

/// Of so many kinds of damage a change meets one.
const SOME: usize = 20;

/// How far one damage is from the next: 1 where all is tried.
fn stride() -> usize {
    if std::env::var_os("HALOSCOPE_WHOLE").is_some() { 1 } else { SOME }
}

/// Opens the bytes and asks everything. A panic names the damage.
fn ask_everything(bytes: Vec<u8>, damage: &str) {
    let asked = std::panic::catch_unwind(|| {
        let profile = match load::from_bytes("damaged.xplane.pb", bytes) {
            Ok(profile) => profile,
            Err(error) => {
                assert!(matches!(error, Error::Input { .. }), "{error}");
                return;
            }
        };
        for analysis in ALL {
            match analysis::run(analysis, &profile, &Scope::default(), &Params::default()) {
                Ok(report) => {
                    let mut out = Vec::new();
                    present::table(&report, &Layout::default(), &mut out).unwrap();
                    present::json(&report, &mut out).unwrap();
                }
                Err(error) => assert!(matches!(error, Error::Nothing(_)), "{}: {error}", analysis.id),
            }
        }
    });
    assert!(asked.is_ok(), "{damage}");
}

/// A generator of the kind xorshift64*: the same numbers in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound
    }
}

fn flips(whole: &[u8], count: usize, seed: u64) {
    let mut random = Random(seed);
    let flips: Vec<_> = (0..count).map(|_| (random.below(whole.len()), random.below(8))).collect();
    // This is what the other tests would wait for in the end: on every core.
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for part in flips.chunks(count.div_ceil(cores)) {
            scope.spawn(move || {
                for (position, bit) in part {
                    let mut bytes = whole.to_vec();
                    bytes[*position] ^= 1 << bit;
                    ask_everything(bytes, &format!("bit {bit} of byte {position} flipped"));
                }
            });
        }
    });
}

fn recorded() -> Vec<u8> {
    let run = load::find(&root().join(FIXTURES[1])).unwrap();
    std::fs::read(&run.files[0]).unwrap()
}

#[test]
fn prefixes_of_a_small_profile() {
    let whole = small::space().to_bytes();
    for length in (0..=whole.len()).step_by(stride()) {
        ask_everything(whole[..length].to_vec(), &format!("cut to {length} of {} bytes", whole.len()));
    }
}

#[test]
fn prefixes_of_a_recorded_profile() {
    let whole = recorded();
    for length in (0..whole.len()).step_by(1499) {
        ask_everything(whole[..length].to_vec(), &format!("cut to {length} of {} bytes", whole.len()));
    }
}

#[test]
fn flipped_bits_of_a_small_profile() {
    flips(&small::space().to_bytes(), 10_000 / stride(), 0x9e37_79b9_7f4a_7c15);
}

#[test]
fn flipped_bits_of_a_recorded_profile() {
    flips(&recorded(), 100, 0x1234_5678_9abc_def1);
}
