//! Arbitrary bytes decode into a kernel's module or are refused; what decodes can be printed and counted.
#![no_main]

use haloscope_mosaic::{Call, Module};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(module) = Module::decode(bytes) else { return };
    let _ = module.text();
    let Ok(kernel) = module.kernel() else { return };
    let account = kernel.account(&Call::default());
    let ranges = [account.flops(), account.bytes(), account.work.transcendentals];
    assert!(ranges.iter().all(|range| range.at_most.is_none_or(|most| most >= range.at_least)));
    let _ = (kernel.loops(), kernel.products(), kernel.allocations());
});
