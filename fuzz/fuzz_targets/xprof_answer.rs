//! Every tool of XProf's shape answers over arbitrary bytes, or says why it cannot.
#![no_main]

use haloscope_compat::{Params, TOOLS, answer};
use haloscope_profile::load;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(profile) = load::from_bytes("fuzz.xplane.pb", bytes.to_owned()) else { return };
    for tool in TOOLS {
        let _ = answer(&profile, tool.id, &Params::default());
    }
    // What follows the profile's own bytes is no part of this: parameters are few, and these change what is walked.
    let mut window = Params::default();
    for (key, value) in [("resolution", "7"), ("start_time_ms", "0"), ("end_time_ms", "1"), ("format", "csv")]
    {
        window.set(key, value);
    }
    for tool in ["trace_viewer@", "hlo_stats"] {
        let _ = answer(&profile, tool, &window);
    }
});
