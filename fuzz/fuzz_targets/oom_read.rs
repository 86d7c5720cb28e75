//! Arbitrary text is read as messages that memory ran out, or holds none; what was read can be asked for its cures. Behind a zero
//! byte stand what a dump would hold: a buffer assignment, a memory-usage report, a module.
#![no_main]

use haloscope_oom::{ANALYSIS, ASSIGNMENT, HLO, MESSAGE, USAGE};
use haloscope_time::analysis::{Params, run_alone};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let mut params = Params::default();
    for (param, part) in [MESSAGE, ASSIGNMENT, USAGE, HLO].iter().zip(text.split('\0')) {
        params.set(param.id, part);
    }
    let lines = text.split('\n').count();
    for message in haloscope_oom::read(&text) {
        assert!(message.line > 0 && message.line <= lines.saturating_add(bytes.len()));
    }
    if let Ok(report) = run_alone(&ANALYSIS, &params) {
        assert!(report.table("cures").is_some() && report.findings.len() == 1);
        let _ = report.to_json();
    }
});
