//! Answers against the ground truth of forged TPU sessions, where they are at hand.

use haloscope_analyses as analyses;

use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_report::Error;
use haloscope_report::scope::Scope;
use haloscope_time::account::Class;
use haloscope_time::analysis::{self, Params};

use crate::support::{ask, near, number, row_of, traces};

/// Each session with what it was built to be.
fn sessions() -> Vec<(String, Profile, serde_json::Value)> {
    let Some(folder) = traces("forged") else { return Vec::new() };
    let mut folders: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    folders.retain(|f| f.join("truth.json").is_file());
    folders.sort();
    let read = |folder: std::path::PathBuf| {
        let truth = std::fs::read_to_string(folder.join("truth.json")).unwrap();
        let profile = load::open(&load::find(&folder).unwrap()).unwrap();
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        (name, profile, serde_json::from_str(&truth).unwrap())
    };
    folders.into_iter().map(read).collect()
}

#[test]
fn idle_shares_and_step_times_are_those_built_in() {
    for (name, profile, truth) in sessions() {
        let report = ask(&profile, "overview", &[]);
        let idle = &truth["idle"];
        let of_active = idle["between_first_and_last_op"].as_f64().unwrap();
        near(number(&report, "idle_share_of_active_window"), of_active, 0.005, &name);
        if let Some(of_capture) = idle["of_profile_window"].as_f64() {
            near(number(&report, "idle_share_of_capture"), of_capture, 0.005, &name);
        }
        let step_ms = truth["step_time_ms"]["mean"].as_f64().unwrap();
        let found = number(&report, "step_time_device_mean_ps") / 1e9;
        near(found / step_ms, 1.0, 0.001, &format!("{name}: step time"));
        near(number(&report, "step_count"), truth["steps"].as_f64().unwrap(), 0.0, &name);
    }
}

#[test]
fn exposed_communication_is_that_built_in() {
    for (name, profile, truth) in sessions() {
        let Some(built_in) = truth["exposed_communication_ms_per_step"].as_f64().filter(|ms| *ms > 0.1)
        else {
            continue;
        };
        let report = ask(&profile, "overview", &[]);
        let time = report.table("time").unwrap();
        let row = row_of(time, Class::Communication.phrase());
        let found_ms =
            time.cell(row, "time_ps").unwrap().number().unwrap() / 1e9 / truth["steps"].as_f64().unwrap();
        // What was built in leaves out the starts of collectives, which take one part in a thousand.
        near(found_ms / built_in, 1.0, 0.002, &format!("{name}: exposed communication"));
    }
}

#[test]
fn every_analysis_answers() {
    for (name, profile, _) in sessions() {
        for analysis in analyses::ALL {
            let answer = analysis::run(analysis, &profile, &Scope::default(), &Params::default());
            // Not all of these programs have kernels of their own.
            if analysis.id.starts_with("kernel") && matches!(answer, Err(Error::Nothing(_))) {
                continue;
            }
            assert!(!answer.unwrap().values.is_empty(), "{name} {}", analysis.id);
        }
    }
}
