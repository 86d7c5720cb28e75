//! Arbitrary text is read as a module or refused; what was read can be asked for its costs, written, and read again. The same
//! for a buffer assignment in words.
#![no_main]

use haloscope_hlo::{BufferAssignment, Error, Form, Module, TextOptions};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = (Form::of(bytes), Module::name_in(bytes));
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match BufferAssignment::parse(text) {
        Ok(read) => {
            let placed = read.allocations.iter().map(|a| a.assigned.len()).sum::<usize>();
            assert_eq!(placed, read.logical_buffers.len());
            let _ = read.is_without_heap_traces();
        }
        Err(Error::Text { line, column, .. }) => {
            assert!(column > 0 && line > 0 && line <= text.lines().count() + 1);
        }
        Err(_) => {}
    }
    match Module::parse(text) {
        Ok(module) => {
            let _ = (module.cost_analysis().total(), module.text(&TextOptions::SHORT));
            let options = TextOptions { metadata: true, ..TextOptions::LONG };
            let written = module.text(&options);
            // Names may hold what only a hostile compiler would write; what can be read again is written the same.
            if let Ok(again) = Module::parse(&written) {
                assert_eq!(again.instructions().len(), module.instructions().len());
            }
        }
        Err(Error::Text { line, column, .. }) => {
            assert!(column > 0 && line > 0 && line <= text.lines().count() + 1);
        }
        Err(_) => {}
    }
});
