//! Arbitrary bytes load as a profile or are refused; every registered analysis then answers or says why it cannot, and
//! the timeline is laid out.
#![no_main]

use std::sync::Arc;

use haloscope_analyses as analyses;

use haloscope_profile::LineId;
use haloscope_profile::load;
use haloscope_report::scope::Scope;
use haloscope_time::analysis;
use haloscope_timeline::Timeline;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(profile) = load::from_bytes("fuzz.xplane.pb", bytes.to_owned()) else { return };
    for analysis in analyses::ALL {
        if let Ok(report) = analysis::run(analysis, &profile, &Scope::default(), &Default::default()) {
            let _ = report.to_json();
        }
    }
    let steady = Scope { steady: true, window_ps: Some((1, 1_000_000)), ..Scope::default() };
    if let Some(overview) = analyses::find("overview") {
        let _ = analysis::run(overview, &profile, &steady, &Default::default());
    }
    let lines: Vec<LineId> = profile.lines.iter().map(|line| line.id).collect();
    let timeline = Timeline::new(Arc::new(profile));
    let tracks = timeline.tracks();
    let (start, end) = (tracks.start_ps, tracks.end_ps);
    let _ = timeline.window(start, end, 100, &lines);
    let _ = timeline.window(start / 2, start / 2 + 1_000, 7, &lines);
});
