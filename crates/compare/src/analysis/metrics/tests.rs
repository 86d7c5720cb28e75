use std::path::{Path, PathBuf};

use super::*;
use crate::RunSamples;
use haloscope_analyses as analyses;
use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_report::present::{self, Layout};
use haloscope_report::scope::Scope;
use haloscope_report::{Notes, Report};
use haloscope_time::analysis::{self, Params};
use haloscope_time::select::Scoped;

/// A fixture of the project.
fn fixture(name: &str) -> Profile {
    open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/runs").join(name))
}

/// A larger profile, where there is one.
fn forged(name: &str) -> Option<Profile> {
    let folder: PathBuf =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces/forged").join(name);
    folder.is_dir().then(|| open(&folder))
}

fn open(folder: &Path) -> Profile {
    load::open(&load::find(folder).unwrap()).unwrap()
}

fn metrics(profile: &Profile) -> Vec<Metric> {
    let scope = Scope::default();
    of(&RunSamples::of(&Scoped::new(profile, &scope), &mut Notes::default()).unwrap(), &scope)
}

#[track_caller]
fn value(metrics: &[Metric], id: &str) -> f64 {
    let metric = find(metrics, id).unwrap();
    metric.value.number().unwrap_or(f64::NAN)
}

fn report(profile: &Profile, id: &str) -> Option<Report> {
    analysis::run(analyses::find(id).unwrap(), profile, &Scope::default(), &Params::default()).ok()
}

fn asked(report: &Report, id: &str) -> Option<f64> {
    report.value(id).and_then(|v| v.value.number())
}

const STEPPED: [&str; 4] = ["cpu-train", "tpu-train", "tpu-memory", "tpu-input-bound"];

/// No number is another one here than where it is at home.
#[test]
fn metrics_are_what_other_reports_say() {
    let mut profiles: Vec<Profile> = STEPPED.iter().map(|name| fixture(name)).collect();
    profiles.extend(["dense_train_v5e16", "pallas_attn_B_bq512"].into_iter().filter_map(forged));
    for profile in &profiles {
        let name = profile.sources[0].path.display();
        let own = metrics(profile);
        for (id, analysis, theirs) in [
            ("step_time_mean_ps", "overview", "step_time_mean_ps"),
            ("step_time_p50_ps", "overview", "step_time_p50_ps"),
            ("step_time_p90_ps", "overview", "step_time_p90_ps"),
            ("mfu", "compute mfu", "mfu"),
            ("flops_per_step", "compute mfu", "flops_per_step"),
            ("exposed_communication_ps", "comm", "exposed_ps_per_step"),
            ("peak_hbm_bytes", "memory peak", "peak_bytes"),
        ] {
            let expected = report(profile, analysis).and_then(|report| asked(&report, theirs));
            let found = find(&own, id).unwrap().value.number();
            match (found, expected) {
                (Some(found), Some(expected)) => {
                    // FLOPs at the edges of steps are split by time in one, by executions in the other.
                    let near = if id == "flops_per_step" { 2e-3 } else { 1e-6 };
                    let far = (found - expected).abs() / expected.abs().max(1e-9);
                    assert!(found == expected || far < near, "{name} {id}: {found} and {expected}");
                }
                // A run without collectives or with no buffer assignment has no such report.
                (found, None) => assert!(found.is_none() || found == Some(0.0), "{name} {id}: {found:?}"),
                (None, Some(expected)) => panic!("{name} {id}: nothing, where `{analysis}` says {expected}"),
            }
        }
    }
}

/// Shares of every counted step add up with their times.
#[test]
fn shares_are_of_the_times_above_them() {
    for name in STEPPED {
        let own = metrics(&fixture(name));
        let step = value(&own, STEP_TIME);
        for (time, share) in [
            ("idle_ps", "idle_share"),
            ("exposed_communication_ps", "exposed_communication_share"),
            ("top_op_ps", "top_op_share"),
        ] {
            assert!((value(&own, time) / step - value(&own, share)).abs() < 1e-12, "{name} {share}");
        }
        let mean = |id: &str| {
            let samples = &find(&own, id).unwrap().samples;
            samples.iter().sum::<f64>() / samples.len() as f64
        };
        for id in [STEP_TIME, "idle_ps", "exposed_communication_ps"] {
            assert!(
                (mean(id) / value(&own, id).max(1e-9) - 1.0).abs() < 1e-9 || value(&own, id) == 0.0,
                "{name} {id}"
            );
        }
    }
}

/// A metric as a test makes it.
fn made(id: &'static str, unit: Unit, samples: &[f64], judge: Judge) -> Metric {
    let value = samples.iter().sum::<f64>() / samples.len() as f64;
    let samples = if samples.len() > 1 { samples.to_vec() } else { Vec::new() };
    Metric { id, label: id, unit, value: value.into(), status: Status::Derived, samples, judge, doc: "" }
}

fn steps(mean: f64) -> Vec<f64> {
    (0..10).map(|i| mean * (1.0 + 0.001 * f64::from(i % 3 - 1))).collect()
}

fn verdicts(a: &[Metric], b: &[Metric]) -> Vec<&'static str> {
    (0..a.len()).map(|at| outcome(a, b, at).0.word()).collect()
}

/// Trap 10 of the field: a ratio whose denominator moves with the edit.
#[test]
fn a_share_never_says_better_by_itself() {
    // Every share stands below the amount that it is a share of, in every run.
    let all = metrics(&fixture("tpu-train"));
    for (at, metric) in all.iter().enumerate().filter(|(_, metric)| metric.unit == Unit::Share) {
        let (Judge::Like(of) | Judge::WorkOverTime(of)) = metric.judge else {
            panic!("{} is judged by itself", metric.id)
        };
        let above = all[..at]
            .iter()
            .rposition(|m| m.id == of)
            .unwrap_or_else(|| panic!("{of} is not above {}", metric.id));
        assert!(all[above].unit != Unit::Share && at - above <= 2, "{}", metric.id);
    }
    // Twice the FLOPs in 1.5 times the time: a higher MFU of a slower step.
    let run = |flops: f64, step: f64| {
        vec![
            made(STEP_TIME, Unit::Ps, &steps(step), Judge::Samples),
            made("flops_per_step", Unit::Flop, &[flops], Judge::Same),
            made("mfu", Unit::Share, &[flops / step], Judge::WorkOverTime("flops_per_step")),
        ]
    };
    let (before, after) = (run(4e9, 1e10), run(8e9, 1.5e10));
    assert!(value(&after, "mfu") > value(&before, "mfu"));
    assert_eq!(verdicts(&before, &after), ["worse", "changed", "unknown"]);
    // The same FLOPs in less time is what the share is for.
    assert_eq!(verdicts(&before, &run(4e9, 0.8e10)), ["better", "unchanged", "better"]);
    // Idle time is as it was, and a larger share of a step that got shorter elsewhere.
    let run = |step: f64| {
        let idle: Vec<f64> = steps(step).iter().map(|_| 1e9).collect();
        vec![
            made(STEP_TIME, Unit::Ps, &steps(step), Judge::Samples),
            made("idle_ps", Unit::Ps, &idle, Judge::Samples),
            made("idle_share", Unit::Share, &[1e9 / step], Judge::Like("idle_ps")),
        ]
    };
    assert_eq!(verdicts(&run(1e10), &run(0.5e10)), ["better", "unchanged", "unchanged"]);
}

#[test]
fn few_steps_say_nothing_and_neither_do_incomparable_runs() {
    let run = |n: usize, step| vec![made(STEP_TIME, Unit::Ps, &steps(step)[..n], Judge::Samples)];
    assert_eq!(verdicts(&run(10, 1e9), &run(2, 2e9)), ["unknown"]);
    assert_eq!(outcome(&run(10, 1e9), &run(2, 2e9), 0).1, "too few steps");
    let side_by_side = table(&run(10, 1e9), &run(10, 2e9), false);
    assert_eq!(side_by_side.cell(0, "verdict"), Some(&Cell::Unknown));
    let judged = table(&run(10, 1e9), &run(10, 2e9), true);
    assert_eq!(judged.cell(0, "verdict").and_then(Cell::as_text), Some("worse"));
}

#[test]
fn what_is_unknown_in_a_run_is_no_change() {
    let mut other = made("peak", Unit::Bytes, &[8.0], Judge::Exact);
    let own = [other.clone()];
    other.value = Cell::Unknown;
    let table = table(&own, &[other], true);
    for column in ["experiment", "delta", "delta_share"] {
        assert_eq!(table.cell(0, column), Some(&Cell::Unknown), "{column}");
    }
    assert_eq!(table.cell(0, "verdict").and_then(Cell::as_text), Some("unknown"));
}

/// Traps 12 and 13: the peak is that of one device as the profile names it, and memory is what is alive, in GiB.
#[test]
fn peaks_are_of_a_device_and_memory_is_not_what_was_allocated() {
    let profile = fixture("tpu-train");
    let own = metrics(&profile);
    let peak = profile.devices[0].peaks.flops.unwrap().rate;
    let device_ps = report(&profile, "compute mfu").and_then(|r| asked(&r, "step_time_ps")).unwrap();
    // Of one device: not of the four that were profiled, nor of a chip where a device is one of its cores.
    let expected = value(&own, "flops_per_step") / peak / (device_ps / 1e12);
    assert!((value(&own, "flop_share_of_peak") / expected - 1.0).abs() < 1e-3, "{expected}");
    let Some(dense) = forged("dense_train_v5e16") else { return };
    let own = metrics(&dense);
    assert!((value(&own, "mfu") - 0.414_24).abs() < 1e-3, "as its truth.json has it: {}", value(&own, "mfu"));
    let memory = report(&dense, "memory peak").unwrap();
    let allocated = asked(&memory, "allocated_bytes").unwrap();
    assert!(allocated > 1.1 * value(&own, "peak_hbm_bytes"), "another number");
    let report = Report { tables: vec![table(&own, &own, true)], ..Report::default() };
    let mut out = Vec::new();
    present::markdown(&report, &Layout { limit: 0, ..Layout::default() }, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("| Peak HBM | 1.871 GiB | 1.871 GiB | 0 B | unchanged | 0 |"), "{text}");
}

/// The kernel with small blocks and the one with large: regime, gap and verdict of both.
#[test]
fn the_kernel_pair() {
    let (Some(small), Some(large)) = (forged("pallas_attn_A_bq128"), forged("pallas_attn_B_bq512")) else {
        return;
    };
    let (a, b) = (metrics(&small), metrics(&large));
    for (profile, own) in [(&small, &a), (&large, &b)] {
        let roofline = report(profile, "roofline").unwrap();
        assert_eq!(find(own, "regime").unwrap().value, roofline.value("regime").unwrap().value);
        assert!((value(own, "gap_share") - asked(&roofline, "gap_share").unwrap()).abs() < 1e-3);
        assert!((value(own, "gap_ps") * 20.0 / asked(&roofline, "gap_ps").unwrap() - 1.0).abs() < 1e-3);
    }
    let side_by_side = table(&a, &b, true);
    let word = |id: &str| {
        let row = side_by_side.rows.iter().position(|row| row.contains(&id.into())).unwrap();
        side_by_side.cell(row, "verdict").and_then(Cell::as_text).unwrap().to_owned()
    };
    for id in [STEP_TIME, "mfu", "gap_ps", "gap_share", "top_op_ps"] {
        assert_eq!(word(id), "better", "{id}");
    }
    for id in ["flops_per_step", "regime", "idle_ps", "idle_share", "peak_hbm_bytes"] {
        assert_eq!(word(id), "unchanged", "{id}");
    }
    // The kernel reads less, so that a higher share of the bandwidth would prove nothing.
    assert_eq!((word("hbm_bytes_per_step"), word("hbm_share_of_peak")), ("changed".into(), "unknown".into()));
}
