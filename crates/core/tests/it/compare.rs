//! Runs held against each other: times add up on every run, and what was built into forged pairs is found.

use std::path::Path;

use haloscope_core::Error;
use haloscope_core::derive::account::{Class, Group};
use haloscope_core::derive::compare::{Rest, RunSamples};
use haloscope_core::load;
use haloscope_core::profile::Profile;
use haloscope_core::report::Notes;
use haloscope_core::scope::Scope;

use crate::support::{RUNS, ask, near, number, open, scope, traces, unknown};

/// The sessions in a folder of `shared/traces`; none where it is not here.
fn sessions(folder: &str) -> Vec<(String, Profile)> {
    let Some(folder) = traces(folder) else { return Vec::new() };
    let mut folders: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    folders.retain(|f| f.join("plugins").is_dir());
    folders.sort();
    let name = |folder: &Path| folder.file_name().unwrap().to_string_lossy().into_owned();
    folders.iter().map(|f| (name(f), load::open(&load::find(f).unwrap()).unwrap())).collect()
}

fn every_run() -> Vec<(String, Profile)> {
    let own = RUNS.iter().map(|name| ((*name).to_owned(), open(name)));
    own.chain(sessions("forged")).chain(sessions("real")).collect()
}

#[test]
fn samples_add_up_to_the_step_time_of_overview() {
    for (name, profile) in every_run() {
        for words in [&[][..], &[("steady", "yes")], &[("modules", "step")]] {
            let scope = scope(words);
            let samples = match RunSamples::of(&profile, &scope, &mut Notes::default()) {
                Ok(samples) => samples,
                Err(Error::Nothing(_)) => continue,
                Err(error) => panic!("{name} {words:?}: {error}"),
            };
            for (at, step) in samples.steps.iter().enumerate() {
                let ops: f64 = samples.ops.iter().map(|op| op.step_ps[at]).sum();
                let rest: f64 = samples.remainders.iter().map(|rest| rest.step_ps[at]).sum();
                near(ops + rest, step.time_ps, 1e-3, &format!("{name} {words:?}, step {}", step.number));
            }
            let negative = samples.remainders.iter().find(|r| {
                r.what != Rest::Clocks && r.what != Rest::Devices && r.step_ps.iter().any(|ps| *ps < 0.0)
            });
            assert!(negative.is_none(), "{name} {words:?}: {negative:?}");
            let overview = ask(&profile, "overview", words);
            if samples.has_steps() {
                near(samples.mean_ps(), number(&overview, "step_time_mean_ps"), 0.0, &name);
                near(samples.steps.len() as f64, number(&overview, "step_count"), 0.0, &name);
            } else {
                assert!(unknown(&overview, "step_time_mean_ps"), "{name}");
            }
        }
    }
}

/// The classes of ops and of what is left are those that `idle` and `steps` count.
#[test]
fn classes_of_samples_are_those_of_steps() {
    for (name, profile) in every_run() {
        let Ok(samples) = RunSamples::of(&profile, &Scope::default(), &mut Notes::default()) else {
            continue;
        };
        if !samples.has_steps() || samples.selection.devices.len() > 1 {
            continue;
        }
        let steps = ask(&profile, "steps", &[]);
        let table = steps.table("classes").unwrap();
        for (at, step) in samples.steps.iter().enumerate() {
            let row = (0..table.rows.len())
                .find(|row| table.cell(*row, "step").unwrap().number() == Some(step.number as f64))
                .unwrap();
            for class in Class::ALL {
                let ops = samples.ops.iter().filter(|op| op.class == class).map(|op| op.step_ps[at]);
                let rest = samples.remainders.iter().filter(|r| r.what == Rest::Class(class));
                let own: f64 = ops.chain(rest.map(|r| r.step_ps[at])).sum();
                let expected = table.cell(row, class.column().id).unwrap().number().unwrap();
                near(own, expected, 1e-3, &format!("{name}, step {}, {}", step.number, class.phrase()));
                assert!(class.group() != Group::Idle || samples.ops.iter().all(|op| op.class != class));
            }
        }
    }
}

/// Executions of an op times its time are what `ops` says of the same steps.
#[test]
fn samples_agree_with_the_table_of_ops() {
    let profile = open("tpu-train");
    let samples = RunSamples::of(&profile, &Scope::default(), &mut Notes::default()).unwrap();
    let ops = ask(&profile, "ops", &[("steps", "0-100000")]);
    let table = ops.table("ops").unwrap();
    let weight = (samples.steps.len() * samples.selection.devices.len()) as f64;
    assert!(samples.ops.len() > 3);
    for op in &samples.ops {
        let row = (0..table.rows.len())
            .find(|row| table.cell(*row, "name").unwrap().as_text() == Some(&op.meta.name))
            .unwrap();
        near(
            op.executions * weight,
            table.cell(row, "occurrences").unwrap().number().unwrap(),
            1e-6,
            &op.meta.name,
        );
        let own = table.cell(row, "self_ps").unwrap().number().unwrap();
        // Tables of ops go by the device's own clock.
        near(op.mean_ps() * weight, own, 0.002 * own + 1e6, &op.meta.name);
    }
}
