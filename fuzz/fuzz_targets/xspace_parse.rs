//! Walks everything that arbitrary bytes read as, and checks that faults lie within them.
#![no_main]

use haloscope_xspace::{Faults, SpaceView, StatValue, Stats};
use libfuzzer_sys::fuzz_target;

/// Compressed strings are opened up to this many bytes.
const UNZIPPED_BYTES: u64 = 1 << 16;

fn walk(mut stats: Stats<'_>, faults: &mut Faults) {
    for stat in stats.by_ref() {
        if let Some(StatValue::Compressed(packed)) = stat.value
            && let Ok(text) = StatValue::unzip(packed, UNZIPPED_BYTES)
        {
            assert!(text.len() as u64 <= UNZIPPED_BYTES);
        }
    }
    faults.extend(stats.faults());
}

fuzz_target!(|bytes: &[u8]| {
    let space = SpaceView::parse(bytes);
    let mut faults = space.faults.clone();
    for plane in &space.planes {
        assert!(plane.offset <= bytes.len() as u64);
        for line in &plane.lines {
            let mut events = line.events();
            let mut read = 0;
            for event in events.by_ref() {
                read += 1;
                assert!(event.offset + event.body.len() as u64 <= line.offset + line.body.len() as u64);
                walk(event.stats(), &mut faults);
            }
            let left_out = events.faults();
            assert_eq!(read + left_out.count(), line.event_count);
            faults.extend(&left_out);
        }
        for (_, metadata) in &plane.event_metadata {
            walk(metadata.stats(), &mut faults);
            assert!(metadata.child_ids().len() <= bytes.len());
        }
    }
    assert_eq!(faults.is_empty(), faults.kept().is_empty());
    for fault in faults.kept() {
        assert!(fault.offset < bytes.len() as u64, "{fault}");
    }
});
