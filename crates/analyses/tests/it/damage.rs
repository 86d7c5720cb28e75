//! Files that are not whole, or not profiles. A change is tried with a part of the damage; `HALOSCOPE_WHOLE=1`, as at night, with all of it.

use std::io::Write;
use std::iter::successors;
use std::path::Path;

use haloscope_analyses as analyses;
use rayon::prelude::*;

use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_report::scope::Scope;
use haloscope_report::{Error, Report};
use haloscope_time::analysis::{self, Analysis, Params};

use crate::made::{Made, US, profile};
use crate::support::{ask, has_note, number, open, run_folder, traces};

/// How far one damage is from the next: 1 where all is tried.
fn stride() -> usize {
    if std::env::var_os("HALOSCOPE_WHOLE").is_some() { 1 } else { 5 }
}

/// Runs every analysis: each gives a report or says why not.
fn ask_everything(profile: &Profile) {
    for analysis in analyses::ALL {
        if let Err(error) = analysis::run(analysis, profile, &Scope::default(), &Params::default()) {
            assert!(!error.to_string().is_empty());
        }
    }
}

fn small() -> Vec<u8> {
    let run = load::find(&run_folder("tpu-custom-call")).unwrap();
    std::fs::read(&run.files[0]).unwrap()
}

#[test]
fn every_prefix_of_a_file_is_read_or_refused() {
    let whole = small();
    let (mut reports, mut refused) = (0, 0);
    for length in (0..whole.len()).step_by(3 * stride()) {
        match load::from_bytes("cut.xplane.pb", whole[..length].to_vec()) {
            Ok(profile) => {
                ask_everything(&profile);
                reports += 1;
            }
            Err(error) => {
                assert_eq!(error.exit_code(), 3, "{length}: {error}");
                refused += 1;
            }
        }
    }
    assert!(reports > 10 * refused, "{reports} read, {refused} refused");
}

#[test]
fn a_flipped_byte_never_breaks_the_reader() {
    let whole = small();
    // A linear congruential generator: the same flips in every run.
    let next = |state: &u64| {
        Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407))
    };
    let states: Vec<u64> = successors(next(&7), next).take(4_000 / stride()).collect();
    states.into_par_iter().for_each(|state| {
        let place = (state >> 33) as usize % whole.len();
        let mut bytes = whole.clone();
        bytes[place] ^= (state >> 24) as u8 | 1;
        match load::from_bytes("flipped.xplane.pb", bytes) {
            Ok(profile) => ask_everything(&profile),
            Err(error) => assert_eq!(error.exit_code(), 3, "{place}: {error}"),
        }
    });
}

#[test]
fn a_cut_file_says_where_it_was_cut() {
    let whole = small();
    let profile = load::from_bytes("cut.xplane.pb", whole[..whole.len() - 100].to_vec()).unwrap();
    let report = ask(&profile, "inspect", &[]);
    let note = report.quality.iter().find(|q| q.id == "damaged_file").unwrap();
    assert!(note.message.contains("byte"), "{}", note.message);
}

#[test]
fn a_cut_file_is_said_before_all_else_by_every_answer() {
    let whole = small();
    let is_said = |report: &Report| report.findings.iter().position(|finding| finding.id == "file_not_whole");
    let answers = |length: usize| {
        let profile = load::from_bytes("cut.xplane.pb", whole[..length].to_vec()).unwrap();
        let ask = |a: &&Analysis| analysis::run(a, &profile, &Scope::default(), &Params::default()).ok();
        analyses::ALL.iter().filter_map(ask).collect::<Vec<_>>()
    };
    let cut = answers(whole.len() - 100);
    assert!(cut.len() > 5);
    assert!(cut.iter().all(|report| is_said(report) == Some(0)));
    assert!(cut[0].findings[0].claim.contains("byte"), "{}", cut[0].findings[0].claim);
    assert!(answers(whole.len()).iter().all(|report| is_said(report).is_none()));
}

#[test]
fn bytes_behind_a_packed_file_are_a_remark() {
    let folder = tempfile::tempdir().unwrap();
    let packed = || {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(&small()).unwrap();
        packed.finish().unwrap()
    };
    let asked = |name: &str, bytes: Vec<u8>| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        ask(&load::open(&load::find(&path).unwrap()).unwrap(), "inspect", &[])
    };
    assert!(!has_note(&asked("whole.xplane.pb.gz", packed()), "trailing_bytes"));
    let report = asked("more.xplane.pb.gz", [packed(), vec![7; 12]].concat());
    let note = report.quality.iter().find(|note| note.id == "trailing_bytes").unwrap();
    assert!(note.message.contains("12 extra bytes"), "{}", note.message);
    // All of the profile is there: nothing is to be said before it.
    assert!(report.findings.iter().all(|finding| finding.id != "file_not_whole"));
}

/// Processes that each see one device of a host call it the same.
#[test]
fn devices_of_one_name_are_told_apart() {
    let device = |length: i64| {
        let mut device = Made::tpu(0);
        let op = device.op("fusion.1", "loop fusion", 1_000, 64);
        device.line("XLA Ops", 0, &[(op, 0, length * US)]);
        device
    };
    let two = profile(vec![device(10), device(30)]);
    let report = ask(&two, "overview", &[]);
    let table = report.table("devices").unwrap();
    let names: Vec<&str> = table.rows.iter().filter_map(|row| row[0].as_text()).collect();
    assert_eq!(names, ["TPU:0#1", "TPU:0#2"]);
    assert!(has_note(&report, "same_device_names"));
    let busy = |name: &str| number(&ask(&two, "overview", &[("devices", name)]), "device_busy_ps");
    assert_eq!((busy("TPU:0#1"), busy("TPU:0#2")), (10.0 * US as f64, 30.0 * US as f64));
    // One by itself keeps its name, and so does one beside others of other names.
    let mut other = Made::tpu(1);
    let op = other.op("fusion.1", "loop fusion", 1_000, 64);
    other.line("XLA Ops", 0, &[(op, 0, US)]);
    let apart = ask(&profile(vec![device(10), other]), "overview", &[]);
    assert_eq!(apart.scope.devices, ["TPU:0", "TPU:1"]);
    assert!(!has_note(&apart, "same_device_names"));
}

#[test]
fn a_whole_file_is_not_called_damaged() {
    for run in crate::support::RUNS {
        assert!(!has_note(&ask(&open(run), "inspect", &[]), "damaged_file"), "{run}");
    }
}

#[test]
fn corrupt_files_are_refused_or_reported() {
    let Some(folder) = traces("corrupt") else { return };
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        seen += 1;
        match load::find(&path).and_then(|run| load::open(&run)) {
            Err(error) => {
                assert_eq!(error.exit_code(), 3, "{}: {error}", path.display());
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                assert!(error.to_string().contains(&name), "{error}");
            }
            Ok(profile) => {
                let report = ask(&profile, "inspect", &[]);
                let says = ["damaged_file", "trace_json_cut"].iter().any(|note| has_note(&report, note));
                assert!(says, "{}", path.display());
                ask_everything(&profile);
            }
        }
    }
    assert_eq!(seen, 5);
}

#[test]
fn a_truncated_profile_is_read_up_to_the_cut() {
    let Some(folder) = traces("corrupt") else { return };
    let open = |path: &Path| load::open(&load::find(path).unwrap()).unwrap();
    let report = ask(&open(&folder.join("truncated.xplane.pb")), "inspect", &[]);
    assert!(has_note(&report, "damaged_file"));
    assert!(number(&report, "events") > 0.0);
    assert!(number(&report, "planes") > 0.0);
}

#[test]
fn times_that_nobody_can_believe_do_not_overflow() {
    let mut device = Made::tpu(0);
    let op = device.op("fusion.1", "loop fusion", 1_000, 64);
    let far = [
        (op, i64::MIN, i64::MAX),
        (op, 0, i64::MAX),
        (op, i64::MAX, 1),
        (op, i64::MAX - 1, i64::MAX),
        (op, 5, 7),
    ];
    device.line("XLA Ops", i64::MAX, &far);
    device.line("XLA Modules", i64::MIN / 1000, &far);
    device.line("Steps", 0, &far);
    let profile = profile(vec![device, Made::environment(i64::MIN, i64::MAX)]);
    for analysis in analyses::ALL {
        let report = analysis::run(analysis, &profile, &Scope::default(), &Params::default());
        // Programs and their memory, lines of source, kernels and steps with a length are not in this profile.
        let absent = analysis.id.contains(' ')
            || ["source", "kernels", "kernel", "oom", "critical-path"].contains(&analysis.id);
        let is_silent = absent && matches!(report, Err(Error::Nothing(_)));
        assert!(report.is_ok() || is_silent, "{}", analysis.id);
    }
}
