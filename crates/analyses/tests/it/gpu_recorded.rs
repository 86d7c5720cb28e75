//! Programs on an H200, recorded by `fixtures/record_gpu.py`: what a clock says of them, with what is planted and without it.

use haloscope_profile::{Profile, load};
use haloscope_report::Finding;

use crate::support::{ask, column, near, number, root, row_of};

fn open(name: &str) -> Profile {
    let folder = root().join("fixtures/gpu");
    let path = if name == "nccl" { folder.join(name) } else { folder.join(format!("{name}.xplane.pb.gz")) };
    load::open(&load::find(&path).unwrap()).unwrap()
}

/// Milliseconds that the clock says of a step: of the program that was captured, and of the one without what is planted.
fn clock(name: &str) -> (f64, Option<f64>) {
    let path = root().join("fixtures/gpu/truth.json");
    let truth: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let own = &truth[name];
    (own["profiled_step_ms"].as_f64().unwrap(), own["fixed"]["profiled_step_ms"].as_f64())
}

fn first(name: &str) -> Finding {
    let report = ask(&open(name), "diagnose", &[]);
    report.findings.into_iter().next().unwrap_or_else(|| panic!("{name}: nothing found"))
}

#[test]
fn the_first_cause_is_what_was_planted_and_its_ceiling_holds() {
    // The parts of the measured gain between which the ceiling has to be.
    let cases = [
        ("slow_input", "host_bound", 0.95, 1.1),
        ("callback", "debug_callbacks", 0.95, 1.2),
        ("precision", "wide_precision", 0.95, 1.1),
        // The gaps that the shorter step leaves are other causes'.
        ("one_hot", "one_hot_product", 0.9, 1.1),
        // Launches that were hidden come out once the copies are gone.
        ("constant_each_step", "large_transfers", 0.95, 2.0),
        // Every fifth step waits 20 ms, the first that was captured whole as well.
        ("pause_every_5", "periodic_stall", 0.9, 1.1),
    ];
    for (name, cause, least, most) in cases {
        let (slow, fixed) = clock(name);
        let gain = slow / fixed.unwrap();
        let finding = first(name);
        assert_eq!(finding.id, cause, "{name}: {}", finding.claim);
        let said = finding.speedup.unwrap();
        assert!((least * gain..most * gain).contains(&said), "{name}: at most {said:.2}, measured {gain:.2}");
    }
    let stall = first("pause_every_5");
    assert!(stall.claim.starts_with("Every 5th step, from step 25"), "{}", stall.claim);
}

#[test]
fn kernels_of_command_buffers_are_of_their_ops() {
    let ops = ask(&open("slow_input"), "ops", &[("limit", "0")]);
    let table = ops.table("ops").unwrap();
    // Eight steps, each one graph; a product sets a counter first, which is no execution of its own.
    for name in ["gemm_fusion_dot_general.10", "custom-call.4", "wrapped_subtract.1"] {
        let row = row_of(table, name);
        assert_eq!(table.cell(row, "occurrences").and_then(|c| c.number()), Some(8.0), "{name}");
    }
    let flops: f64 = column(table, "flops").iter().sum();
    // Eight products of 4096 x 4096 x 4096 a step, and elementwise work beside them.
    let products = 8.0 * 8.0 * 2.0 * 4096.0_f64.powi(3);
    assert!((products..1.01 * products).contains(&flops), "{flops} {products}");
    assert!(table.rows.iter().all(|row| !row[0].as_text().unwrap_or_default().starts_with("command_buffer")));
}

#[test]
fn a_graph_is_one_launch_of_its_program() {
    let modules = ask(&open("train_graphs"), "hlo modules", &[]);
    let table = modules.table("modules").unwrap();
    let row = row_of(table, "jit_train_step");
    assert_eq!(table.cell(row, "launches").and_then(|c| c.number()), Some(8.0));
}

#[test]
fn one_product_is_as_fast_as_the_clock_says() {
    let report = ask(&open("one_matmul"), "ops", &[]);
    let table = report.table("ops").unwrap();
    let row = row_of(table, "custom-call.1");
    let rate = table.cell(row, "flop_rate").and_then(|c| c.number()).unwrap();
    let time_ps = number_of(table, row, "total_ps") / 8.0;
    // 2 x 8192 x 8192 x 8192 operations each.
    near(rate, 2.0 * 8192.0_f64.powi(3) / (time_ps / 1e12), 0.01 * rate, "FLOP/s");
    let (step_ms, _) = clock("one_matmul");
    assert!(time_ps / 1e9 < step_ms && rate < 989.4e12, "{time_ps} {rate}");
}

fn number_of(table: &haloscope_report::Table, row: usize, id: &str) -> f64 {
    table.cell(row, id).and_then(|c| c.number()).unwrap_or_else(|| panic!("no {id}"))
}

#[test]
fn steps_are_as_long_as_the_clock_says() {
    for name in
        ["train_graphs", "slow_input", "precision", "one_hot", "callback", "constant_each_step", "nccl"]
    {
        let steps = ask(&open(name), "steps", &[]);
        let (step_ms, _) = clock(name);
        near(number(&steps, "step_time_p50_ps") / 1e9, step_ms, 0.06 * step_ms, name);
    }
}

#[test]
fn nccl_kernels_are_collectives_of_their_ops() {
    let comm = ask(&open("nccl"), "comm", &[]);
    let table = comm.table("kinds").unwrap();
    let row = row_of(table, "all-reduce");
    // Four whole steps of each of two processes, 4 MiB each.
    assert_eq!(number_of(table, row, "count"), 8.0);
    assert_eq!(number_of(table, row, "bytes"), 4.0 * 1024.0 * 1024.0);
}
