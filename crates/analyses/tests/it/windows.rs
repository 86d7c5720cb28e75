//! A run of which many questions are asked says the same of any window as one that is asked once.

use haloscope_analyses as analyses;

use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_report::scope::Scope;
use haloscope_time::analysis::{self, Params};

use crate::support::{RUNS, open, run_folder};

/// Analyses whose windows run on what is kept.
const ANALYSES: [&str; 14] = [
    "overview",
    "ops",
    "op-profile",
    "roofline",
    "idle",
    "steps",
    "hosts",
    "comm",
    "compute",
    "input",
    "diagnose",
    "inspect",
    "audit-flags",
    "compute-mfu",
];

fn kept(run: &str) -> Profile {
    let mut profile = load::open(&load::find(&run_folder(run)).unwrap()).unwrap();
    profile.expect_questions();
    profile
}

/// A report or a refusal as text, every digit of it.
fn ask(profile: &Profile, id: &str, scope: &Scope) -> String {
    let analysis = analyses::find(id).unwrap();
    let answer = analysis::run(analysis, profile, scope, &Params::default());
    answer.map_or_else(|error| error.to_string(), |report| report.to_json())
}

/// From the first to the last event of all devices.
fn span(profile: &Profile) -> (i64, i64) {
    let lines = profile.devices.iter().flat_map(|device| profile.lines_of(device.plane));
    let spans: Vec<_> = lines.filter_map(|line| profile.events(line).span_ps()).collect();
    (spans.iter().map(|s| s.0).min().unwrap(), spans.iter().map(|s| s.1).max().unwrap())
}

#[test]
fn any_window_says_the_same_of_what_is_kept() {
    let mut state = 9_u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    for run in RUNS {
        let (plain, kept) = (open(run), kept(run));
        let (first, last) = span(&plain);
        // What a remark says of damage depends on which lines somebody has read.
        let _ = span(&kept);
        let mut scopes = vec![Scope::default(), Scope { steady: true, ..Scope::default() }];
        for _ in 0..4 {
            let length = ((last - first) as f64 / 10_f64.powf(3.0 * random())).max(1.0);
            let start = first + (((last - first) as f64 - length) * random()) as i64;
            let window_ps = Some((start, start + length as i64));
            let devices = plain.devices.first().filter(|_| random() < 0.3).map(|d| d.name.clone());
            scopes.push(Scope { window_ps, devices: devices.into_iter().collect(), ..Scope::default() });
        }
        for scope in &scopes {
            for id in ANALYSES {
                assert_eq!(ask(&kept, id, scope), ask(&plain, id, scope), "{run}: {id} of {scope:?}");
            }
        }
    }
}
