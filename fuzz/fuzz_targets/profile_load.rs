//! Arbitrary bytes load as a profile or are refused; every registered analysis then answers or says why it cannot.
#![no_main]

use haloscope_core::analyses;
use haloscope_core::load;
use haloscope_core::scope::Scope;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(profile) = load::from_bytes("fuzz.xplane.pb", bytes.to_owned()) else { return };
    for analysis in analyses::ALL {
        if let Ok(report) = analyses::run(analysis, &profile, &Scope::default(), &Default::default()) {
            let _ = report.to_json();
        }
    }
    let steady = Scope { steady: true, window_ps: Some((1, 1_000_000)), ..Scope::default() };
    if let Some(overview) = analyses::find("overview") {
        let _ = analyses::run(overview, &profile, &steady, &Default::default());
    }
});
