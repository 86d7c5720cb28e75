//! Answers against what was built into the generated runs, which the generator adds up on its own.

use haloscope_profile::DeviceKind;

use crate::support::{GENERATED, ask, column, near, number, open, row_of, truth, unknown, words};

/// The number under this key of the truth, where it has one.
fn built_in(truth: &serde_json::Value, key: &str) -> Option<f64> {
    truth.get(key).and_then(serde_json::Value::as_f64)
}

#[test]
fn busy_and_idle_time() {
    for run in GENERATED {
        let (truth, report) = (truth(run), ask(&open(run), "overview", &[]));
        near(number(&report, "device_busy_ps"), built_in(&truth, "device_busy_ps").unwrap(), 1.0, run);
        for id in ["idle_share_of_active_window", "idle_share_of_capture"] {
            if let Some(share) = built_in(&truth, id) {
                near(number(&report, id), share, 1e-9, &format!("{run} {id}"));
            }
        }
        match built_in(&truth, "duty_cycle") {
            Some(share) => near(number(&report, "duty_cycle"), share, 1e-9, &format!("{run} duty cycle")),
            None => assert!(unknown(&report, "duty_cycle"), "{run}"),
        }
    }
}

#[test]
fn each_device_by_itself() {
    let (truth, profile) = (truth("tpu-train"), open("tpu-train"));
    let report = ask(&profile, "overview", &[]);
    let devices = report.table("devices").unwrap();
    let expected: Vec<_> =
        truth["hosts"].as_array().unwrap().iter().flat_map(|h| h["devices"].as_array().unwrap()).collect();
    assert_eq!(devices.rows.len(), expected.len());
    for device in expected {
        let name = device["name"].as_str().unwrap();
        let row = row_of(devices, name);
        let cell = |id| devices.cell(row, id).unwrap().number().unwrap();
        near(cell("busy_ps"), built_in(device, "busy_ps").unwrap(), 0.0, name);
        near(cell("active_window_ps"), built_in(device, "active_window_ps").unwrap(), 0.0, name);
        near(cell("capture_span_ps"), built_in(device, "capture_ps").unwrap(), 0.0, name);
        near(cell("duty_cycle"), built_in(device, "duty_cycle").unwrap(), 1e-12, name);
        let own = ask(&profile, "ops", &[("devices", name)]);
        near(number(&own, "self_time_ps"), built_in(device, "self_time_ps").unwrap(), 0.0, name);
        near(number(&own, "occurrences"), built_in(device, "op_events").unwrap(), 0.0, name);
        near(number(&own, "flops"), built_in(device, "flops").unwrap(), 0.5, name);
        near(number(&own, "hbm_bytes"), built_in(device, "hbm_bytes").unwrap(), 0.5, name);
    }
}

#[test]
fn ops_are_counted_as_they_were_laid_out() {
    for run in GENERATED {
        let (truth, report) = (truth(run), ask(&open(run), "ops", &[]));
        near(number(&report, "self_time_ps"), built_in(&truth, "self_time_ps").unwrap(), 0.0, run);
        near(number(&report, "occurrences"), built_in(&truth, "op_events").unwrap(), 0.0, run);
        match built_in(&truth, "flops") {
            Some(flops) => near(number(&report, "flops"), flops, 0.5, &format!("{run} flops")),
            None => assert!(unknown(&report, "flops"), "{run}"),
        }
        match built_in(&truth, "hbm_bytes") {
            Some(bytes) => near(number(&report, "hbm_bytes"), bytes, 0.5, &format!("{run} bytes")),
            None => assert!(unknown(&report, "hbm_bytes"), "{run}"),
        }
        let table = report.table("ops").unwrap();
        for op in truth["ops_by_self_time"].as_array().into_iter().flatten() {
            let name = op["name"].as_str().unwrap();
            let row = row_of(table, name);
            for id in ["occurrences", "total_ps", "self_ps"] {
                let found = table.cell(row, id).unwrap().number().unwrap();
                near(found, built_in(op, id).unwrap(), 0.0, &format!("{run} {name} {id}"));
            }
        }
    }
}

#[test]
fn rates_are_over_the_active_window() {
    for run in GENERATED {
        let (truth, report) = (truth(run), ask(&open(run), "overview", &[]));
        for id in ["flop_rate", "flop_share_of_peak", "hbm_share_of_peak"] {
            if let Some(rate) = built_in(&truth, id) {
                near(number(&report, id) / rate, 1.0, 1e-6, &format!("{run} {id}"));
            }
        }
    }
}

#[test]
fn classes_of_time() {
    for run in GENERATED {
        let (truth, report) = (truth(run), ask(&open(run), "overview", &[]));
        let bound_by = truth["bound_by"].as_str().filter(|b| *b != "unknown").unwrap_or_default();
        assert_eq!(words(&report, "bound_by"), bound_by, "{run}");
        let table = report.table("time").unwrap();
        near(column(table, "share").iter().sum(), 1.0, 1e-9, run);
        for class in truth["class_shares"].as_array().into_iter().flatten() {
            let (word, share) = (class["class"].as_str().unwrap(), built_in(class, "share").unwrap());
            let of_word = |row: &usize| table.cell(*row, "bound_by").unwrap().as_text() == Some(word);
            let rows = (0..table.rows.len()).filter(of_word);
            let found: f64 = rows.map(|row| table.cell(row, "share").unwrap().number().unwrap()).sum();
            near(found, share, 0.002, &format!("{run} {word}"));
        }
    }
}

#[test]
fn step_times_and_classes() {
    for run in GENERATED {
        let truth = truth(run);
        let Some(rows) = truth["steps"]["rows"].as_array() else { continue };
        let report = ask(&open(run), "steps", &[]);
        let table = report.table("steps").unwrap();
        assert_eq!(table.rows.len(), rows.len(), "{run}");
        for (place, row) in rows.iter().enumerate() {
            let what = format!("{run} step {}", row["number"]);
            near(
                table.cell(place, "step").unwrap().number().unwrap(),
                row["number"].as_f64().unwrap(),
                0.0,
                &what,
            );
            near(
                table.cell(place, "duration_ps").unwrap().number().unwrap(),
                built_in(row, "duration_ps").unwrap(),
                0.0,
                &what,
            );
            assert_eq!(table.cell(place, "class").unwrap().as_text(), row["class"].as_str(), "{what}");
        }
        near(number(&report, "step_count"), built_in(&truth["steps"], "count").unwrap(), 0.0, run);
        near(number(&report, "step_time_mean_ps"), built_in(&truth["steps"], "mean_ps").unwrap(), 1.0, run);
    }
}

#[test]
fn a_stall_inside_a_step_is_idle_time_of_that_step() {
    let (truth, report) = (truth("tpu-train"), ask(&open("tpu-train"), "steps", &[]));
    let idle = column(report.table("steps").unwrap(), "idle_ps");
    let stall = built_in(&truth["stall"], "idle_ps").unwrap();
    // Other steps hold the pause before their launch, as this one does.
    near(idle[3] - idle[4], stall, 0.01 * stall + 60e6, "step 3");
    assert!(idle[3] >= stall);
}

#[test]
fn kinds_and_peaks_of_devices() {
    let kinds = |run: &str| open(run).devices.iter().map(|d| d.kind).collect::<Vec<_>>();
    assert_eq!(kinds("tpu-train"), [DeviceKind::Tpu; 4]);
    assert_eq!(kinds("gpu-amd"), [DeviceKind::Gpu; 4]);
    assert_eq!(kinds("cpu-train"), [DeviceKind::Cpu]);
    let peak = |run: &str| open(run).devices[0].peaks;
    let truth = truth("gpu-train");
    near(peak("gpu-train").flops.unwrap().rate, built_in(&truth, "peak_flop_rate").unwrap(), 1.0, "H100");
    let amd = peak("gpu-amd");
    near(amd.flops.unwrap().rate, 1307.4e12, 1.0, "MI300X, by its compute units and memory");
    assert_eq!((amd.flops.unwrap().source.word(), amd.hbm.unwrap().source.word()), ("table", "trace"));
    assert_eq!(peak("tpu-input-bound").flops.unwrap().source.word(), "table");
    assert_eq!(peak("tpu-train").flops.unwrap().source.word(), "trace");
    assert_eq!(open("gpu-amd").devices.iter().filter(|d| d.active).count(), 1);
}
