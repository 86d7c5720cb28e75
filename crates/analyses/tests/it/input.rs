//! Whether devices wait for input, and for which stage.

use haloscope_profile::load;
use haloscope_report::{Cell, Report};
use haloscope_xspace::write::Value;

use crate::made::{Made, US, profile};
use crate::support::{ask, near, number, open, row_of, traces};

fn text<'a>(report: &'a Report, id: &str) -> Option<&'a str> {
    report.value(id).unwrap().value.as_text()
}

/// The stage that is slow in the forged run, which works 60.5% of the time while the devices wait.
#[test]
fn the_forged_run_is_input_bound_by_its_slowest_stage() {
    let Some(folder) = traces("forged/input_bound_v6e4") else { return };
    let profile = load::open(&load::find(&folder).unwrap()).unwrap();
    let truth: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("truth.json")).unwrap()).unwrap();
    assert_eq!(truth["input_bound"], true);
    let report = ask(&profile, "input", &[]);
    assert_eq!(text(&report, "verdict"), Some("input-bound"));
    assert_eq!(text(&report, "slowest_stage"), Some("TokenizeAndPack"));
    let step_ms = truth["step_time_ms"]["mean"].as_f64().unwrap();
    near(number(&report, "period_ps") / 1e9 / step_ms, 1.0, 0.001, "step");
    // What a device could take is what its program takes, and the host's launching between two.
    let module_ms = truth["module_time_ms_mean"].as_f64().unwrap();
    near(1e3 / number(&report, "demand_rate") / module_ms, 1.0, 0.05, "demand");
    assert!(number(&report, "supply_rate") < number(&report, "demand_rate"));
    let steps = report.table("steps").unwrap();
    for (row, step) in truth["per_step"].as_array().unwrap().iter().enumerate().skip(1) {
        let host_ms = step["host_input_ms"][0].as_f64().unwrap();
        let idle_ms = step["idle_before_module_ms_mean"].as_f64().unwrap();
        let cell = |id| steps.cell(row, id).unwrap().number().unwrap() / 1e9;
        near(cell("host_work_ps") / host_ms, 1.0, 0.005, "host work");
        near(cell("waiting_ps") / host_ms, 1.0, 0.005, "waiting");
        assert!(cell("waiting_ps") + cell("between_ps") >= idle_ms * 0.999, "step {row}");
        near(
            steps.cell(row, "waiting_share").unwrap().number().unwrap(),
            cell("waiting_ps") / cell("period_ps"),
            1e-9,
            "share",
        );
    }
    let finding = report.findings.iter().find(|f| f.id == "input_bound").unwrap();
    let idle = truth["idle"]["between_first_and_last_op"].as_f64().unwrap();
    near(finding.speedup.unwrap() / (1.0 / (1.0 - idle)), 1.0, 0.05, "ceiling");
    assert!(finding.links.iter().any(|l| l.row.as_deref() == Some("TokenizeAndPack")));
    // The front of the pipeline waits for the workers: it is not the slow one, however long it lasts.
    let stages = report.table("stages").unwrap();
    let front = row_of(stages, "grain DataLoaderIterator.__next__");
    let cell = |id| stages.cell(front, id).unwrap().number().unwrap();
    assert!(
        cell("waiting_ps") > 5.0 * cell("work_ps"),
        "waits {} works {}",
        cell("waiting_ps"),
        cell("work_ps")
    );
    near(cell("waiting_ps") + cell("work_ps"), cell("self_ps"), 1.0, "waiting and work are the self time");
}

#[test]
fn no_other_forged_run_waits_for_input() {
    for name in [
        "dense_train_v5e16",
        "dense_train_v5e16_regressed",
        "moe_v5p4",
        "straggler_v6e32",
        "pallas_attn_B_bq512",
    ] {
        let Some(folder) = traces(&format!("forged/{name}")) else { return };
        let profile = load::open(&load::find(&folder).unwrap()).unwrap();
        let report = ask(&profile, "input", &[]);
        assert_ne!(text(&report, "verdict"), Some("input-bound"), "{name}");
        assert!(report.findings.is_empty(), "{name}: {:?}", report.findings);
    }
    let Some(folder) = traces("forged/dense_train_v5e16") else { return };
    let report = ask(&load::open(&load::find(&folder).unwrap()).unwrap(), "input", &[]);
    assert_eq!(text(&report, "verdict"), Some("not input-bound"));
    assert!(number(&report, "supply_rate") > number(&report, "demand_rate"));
}

#[test]
fn fixtures() {
    let report = ask(&open("tpu-input-bound"), "input", &[]);
    assert_eq!(text(&report, "verdict"), Some("input-bound"));
    let report = ask(&open("tpu-train"), "input", &[]);
    assert_eq!(report.findings, []);
}

/// Steps of 100 us of which the program takes `program`; the host's stages are on two threads.
fn made(program: i64, stages: &[(&str, &str, &str, i64, i64)]) -> haloscope_profile::Profile {
    let mut tpu = Made::tpu(0);
    let op = tpu.op("fusion.1", "loop fusion", 1, 1);
    let module = tpu.meta("jit_step(7)", &[]);
    let steps: Vec<i64> = (0..4).map(|n| tpu.meta(&n.to_string(), &[])).collect();
    let at = |n: i64| n * 100 * US;
    let line: Vec<_> = steps.iter().zip(0..).map(|(id, n)| (*id, at(n), 100 * US)).collect();
    tpu.line("Steps", 0, &line);
    let runs = |id| (0..4).map(|n| (id, at(n) + 100 * US - program, program)).collect::<Vec<_>>();
    tpu.line("XLA Modules", 0, &runs(module));
    tpu.line("XLA Ops", 0, &runs(op));
    let mut host = Made::named("/host:CPU");
    let mut lines: Vec<&str> = stages.iter().map(|s| s.0).collect();
    lines.dedup();
    for line in lines {
        host.line(line, 0, &[]);
        for n in 0..4 {
            for (id, (_, name, category, start, length)) in (1..).zip(stages).filter(|(_, s)| s.0 == line) {
                let stats: &[(&str, i64)] = if category.is_empty() { &[] } else { &[("_ipl_stage_id", id)] };
                host.event(name, at(n) + start * US, length * US, stats);
            }
        }
    }
    profile(vec![tpu, host])
}

#[test]
fn stages_that_share_a_thread_take_turns() {
    let profile = made(
        40 * US,
        &[
            ("data_loader_worker/1", "Read", "read", 0, 20),
            ("data_loader_worker/1", "Map", "preprocessing", 20, 30),
        ],
    );
    let report = ask(&profile, "input", &[]);
    // 50 us of work a step on one thread: 20,000 batches a second, whichever of the two is asked.
    near(number(&report, "supply_rate"), 20_000.0, 1.0, "supply");
    assert_eq!(text(&report, "slowest_stage"), Some("Map"));
    // Idle for 60 us of 100, of which the host works 50; before the first op nothing counts.
    near(number(&report, "input_idle_ps_per_step"), 37.5e6, 1.0, "waiting");
    near(number(&report, "demand_rate"), 1.0 / 62.5e-6, 1.0, "demand");
}

#[test]
fn iterators_of_tf_data_form_a_tree() {
    let profile = made(
        40 * US,
        &[
            ("python", "Iterator::Root", "", 0, 50),
            ("python", "Iterator::Root::Batch", "", 5, 40),
            ("python", "Iterator::Root::Batch::TFRecord", "", 10, 10),
        ],
    );
    let report = ask(&profile, "input", &[]);
    let stages = report.table("stages").unwrap();
    let of = |name: &str, id: &str| stages.cell(row_of(stages, name), id).unwrap().clone();
    assert_eq!(of("Iterator::Root::Batch", "called_by"), Cell::from("Iterator::Root"));
    assert_eq!(of("Iterator::Root::Batch::TFRecord", "class"), Cell::from("file read on demand"));
    assert_eq!(of("Iterator::Root::Batch", "self_ps").number(), Some(30e6));
    assert_eq!(of("Iterator::Root", "self_ps").number(), Some(10e6));
    assert_eq!(text(&report, "slowest_stage"), Some("Iterator::Root::Batch"));
}

#[test]
fn without_stages_idle_time_is_not_put_down_to_input() {
    let report = ask(&made(40 * US, &[("python", "something else", "", 0, 50)]), "input", &[]);
    let verdict = report.value("verdict").unwrap();
    assert_eq!(verdict.value, Cell::Unknown);
    assert_eq!(report.value("input_idle_share").unwrap().value, Cell::Unknown);
    assert!(report.quality.iter().any(|q| q.id == "no_input_stages"));
    assert_eq!(report.findings, []);
    // A device that never idles waits for nothing, whatever the host does.
    let report = ask(&made(100 * US, &[("python", "something else", "", 0, 50)]), "input", &[]);
    assert_eq!(text(&report, "verdict"), Some("not input-bound"));
    assert_eq!(number(&report, "input_idle_share"), 0.0);
}

/// Two devices of a host: the first copies and runs no step, the second runs steps; iterators work before and within them.
fn fed(first_start: i64, count: i64) -> haloscope_profile::Profile {
    let mut idle = Made::tpu(0);
    let copy = idle.op("copy.1", "copy", 0, 8);
    idle.line("XLA Ops", 0, &[(copy, 0, 10 * US)]);
    let mut tpu = Made::tpu(1);
    let op = tpu.op("fusion.1", "loop fusion", 1, 1);
    let at = |n: i64| 1000 * US + n * 100 * US;
    let steps: Vec<_> = (0..count).map(|n| (tpu.meta(&n.to_string(), &[]), at(n), 100 * US)).collect();
    tpu.line("Steps", 0, &steps);
    tpu.line(
        "XLA Ops",
        0,
        &(0..count).flat_map(|n| [(op, at(n), 20 * US), (op, at(n) + 80 * US, 20 * US)]).collect::<Vec<_>>(),
    );
    let mut host = Made::named("/host:CPU");
    host.line("tf_data_iterator_resource/1", 0, &[]);
    for n in 0..count {
        host.event("Iterator::Prefetch", first_start * US + n * 100 * US, 50 * US, &[]);
    }
    profile(vec![idle, tpu, host])
}

#[test]
fn a_host_feeds_all_its_devices() {
    // From 25 us to 75 us of each step: within the gap of the second device.
    let report = ask(&fed(1025, 3), "input", &[]);
    assert_eq!(text(&report, "verdict"), Some("input-bound"));
    assert_eq!(text(&report, "slowest_stage"), Some("Iterator::Prefetch"));
    near(number(&report, "input_idle_share"), 0.5, 1e-6, "half of each step");
    near(number(&report, "supply_rate"), 20_000.0, 1.0, "50 us each");
    assert!(!report.quality.iter().any(|q| q.id == "no_input_stages"));
}

#[test]
fn stages_at_other_times_are_not_called_missing() {
    let report = ask(&fed(100, 1), "input", &[]);
    assert_eq!(report.value("verdict").unwrap().value, Cell::Unknown);
    let note = report.quality.iter().find(|q| q.id == "no_input_stages").unwrap();
    assert!(
        note.message.contains("Iterator::Prefetch") && note.message.contains("none worked in"),
        "{note:?}"
    );
    assert!(text(&report, "message").unwrap().contains("worked at other times only"));
}

#[test]
fn a_thread_of_a_data_loader_counts_without_stages() {
    let report = ask(&made(40 * US, &[("data_loader_worker/9", "decode", "", 0, 55)]), "input", &[]);
    let stages = report.table("stages").unwrap();
    assert_eq!(stages.cell(0, "stage"), Some(&Cell::from("decode")));
    assert_eq!(stages.cell(0, "source"), Some(&Cell::from("worker thread")));
    assert_eq!(text(&report, "verdict"), Some("input-bound"));
}

#[test]
fn infeed_is_waiting_for_input() {
    let mut tpu = Made::tpu(0);
    let (infeed, work) = (tpu.op("infeed.1", "infeed", 0, 0), tpu.op("fusion.1", "loop fusion", 1, 1));
    let module = tpu.meta("jit_step(7)", &[]);
    let (mut ops, mut runs) = (Vec::new(), Vec::new());
    for n in 0..4 {
        runs.push((module, n * 100 * US, 100 * US));
        ops.extend([(infeed, n * 100 * US, 30 * US), (work, n * 100 * US + 30 * US, 70 * US)]);
    }
    tpu.line("XLA Modules", 0, &runs);
    tpu.line("XLA Ops", 0, &ops);
    let mut host = Made::named("/host:CPU");
    host.fact("process_id", Value::Int(1));
    let report = ask(&profile(vec![tpu, host]), "input", &[]);
    assert_eq!(text(&report, "verdict"), Some("input-bound"));
    near(report.findings[0].speedup.unwrap(), 1.0 / 0.7, 1e-9, "ceiling");
}
