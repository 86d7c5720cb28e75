//! Arbitrary bytes in the place of a kept report, of a file's structure, or of a file of the cache are refused or harmless. What
//! is read is also shown: no panic, and no more memory than the bytes could ask for.
#![no_main]

use haloscope_profile::Profile;
use haloscope_report::codec as kept;
use haloscope_report::present::{self, Layout};
use haloscope_store::check_kept_file;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    check_kept_file(bytes);
    if let Some(report) = kept::from_bytes(bytes) {
        let _ = report.to_json();
        let layout = Layout { width: 80, limit: 20, colour: false, ..Layout::default() };
        let _ = present::table(&report, &layout, &mut Vec::new());
        // What was read can be written, and then reads as the same.
        if let Some(again) = kept::to_bytes(&report) {
            assert_eq!(kept::from_bytes(&again).map(|report| report.to_json()), Some(report.to_json()));
        }
    }
    // The first half in the place of a structure, the other of the file that it is of.
    let (known, file) = bytes.split_at(bytes.len() / 2);
    let profile = Profile::from_known_files(
        vec![("fuzz.xplane.pb".into(), Box::new(file.to_vec()), Some(known))],
        |_| (),
    );
    for line in &profile.lines {
        let _ = profile.events(line).len();
    }
});
