//! What was read of arbitrary bytes can be written, and then reads as the same.
#![no_main]

use haloscope_xspace::SpaceView;
use haloscope_xspace::write::Space;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let read = Space::from(&SpaceView::parse(bytes));
    let written = read.to_bytes();
    let view = SpaceView::parse(&written);
    assert!(view.faults.is_empty(), "{:?}", view.faults);
    // Compared as bytes, because a double may be NaN.
    assert_eq!(Space::from(&view).to_bytes(), written);
});
