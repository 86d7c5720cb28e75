//! Costs and shapes against what XLA itself says about the same modules (`tests/fixtures/make.py` asked it).
#![expect(clippy::unwrap_used, clippy::panic, reason = "the helpers of a test are test code")]

mod common;

use std::collections::BTreeMap;

use haloscope_hlo::{Cost, CostAnalysis, CostOptions, Module, Opcode};
use serde_json::Value;

fn expected(platform: &str) -> Vec<(String, Value)> {
    let text = std::fs::read_to_string(common::fixture("expected.json")).unwrap();
    let all: BTreeMap<String, Value> = serde_json::from_str(&text).unwrap();
    let chosen: Vec<_> = all.into_iter().filter(|(name, _)| name.ends_with(platform)).collect();
    assert!(chosen.len() > 20, "{} programs for {platform:?}", chosen.len());
    chosen
}

fn module(name: &str) -> Module {
    Module::decode(&common::gunzip(&common::fixture(&format!("{name}.hlo.pb.gz")))).unwrap()
}

fn number(expected: &Value, key: &str) -> i64 {
    expected[key].as_i64().unwrap_or_else(|| panic!("no {key}"))
}

/// Each program with XLA's answer and ours. XLA counts -1 for a custom call, so unknown ones are put back.
fn compare(platform: &str, options: CostOptions, mut check: impl FnMut(&str, &Module, Cost, i64, &Value)) {
    for (name, expected) in expected(platform) {
        let module = module(&name);
        let analysis = CostAnalysis::new(&module, options);
        let total = analysis.total();
        let unknown = total.unknown_instructions as i64;
        check(&name, &module, total, unknown, &expected);
    }
}

/// XLA sums in 32-bit floats: past 2^24 it rounds.
fn same(ours: i64, xla: i64) -> bool {
    ours == xla || (ours > 1 << 24 && ours as f32 == xla as f32)
}

#[test]
fn flops_and_transcendentals_are_xlas() {
    for platform in [".cpu", ".tpu"] {
        compare(
            platform,
            CostOptions { kernels_as_stated: true, ..CostOptions::default() },
            |name, _, cost, unknown, expected| {
                let flops = cost.flops.unwrap() as i64 - unknown;
                assert!(same(flops, number(expected, "flops")), "{name}: flops {flops}, {expected}");
                let transcendentals = cost.transcendentals.map_or(0, |count| count as i64);
                assert_eq!(transcendentals, number(expected, "transcendentals"), "{name}");
                assert_eq!(unknown > 0, !cost.is_complete(), "{name}");
            },
        );
    }
}

#[test]
fn bytes_on_cpu_are_xlas() {
    compare(".cpu", CostOptions::xla(), |name, _, cost, _, expected| {
        assert_eq!(cost.bytes_accessed, Some(number(expected, "bytes_accessed") as u64), "{name}");
    });
}

/// TPU's compiler counts an asynchronous copy of `n` bytes as `4 n + 4608`, where we count `2 n`, and a tuple as 512.
/// Gathers and scatters pad each row to a tile of their own; they are left out, as is the conditional, of which only the
/// dearer branch counts.
#[test]
fn bytes_on_tpu_are_xlas_with_tile_padding() {
    let options = CostOptions { tile_padding: true, kernels_as_stated: true, ..CostOptions::default() };
    compare(".tpu", options, |name, module, cost, unknown, expected| {
        if ["cond.tpu", "gather.tpu", "scatter.tpu"].contains(&name) {
            return;
        }
        let mut xla_only = -unknown;
        for (_, instruction) in module.instructions() {
            let in_fusion = module.computation(instruction.computation).is_fusion;
            xla_only += match instruction.opcode {
                Opcode::CopyStart => {
                    2 * instruction.shape.tuple_shapes[0].padded_bytes().unwrap() as i64 + 4608
                }
                Opcode::Tuple if !in_fusion => 512,
                _ => 0,
            };
        }
        let bytes = cost.bytes_accessed.unwrap() as i64 + xla_only;
        assert!(same(bytes, number(expected, "bytes_accessed")), "{name}: {bytes}, {expected}");
    });
}

#[test]
fn shapes_print_as_xla_prints_them() {
    for platform in [".cpu", ".tpu"] {
        for (name, expected) in expected(platform) {
            let module = module(&name);
            let shapes = expected["shapes"].as_object().unwrap();
            assert!(!shapes.is_empty(), "{name}");
            for (instruction, shape) in shapes {
                let index = module.instruction_by_name(instruction);
                let index = index.unwrap_or_else(|| panic!("{name}: no {instruction}"));
                let printed = module.instruction(index).shape.to_string();
                assert_eq!(printed, shape.as_str().unwrap(), "{name} {instruction}");
            }
        }
    }
}

#[test]
fn loops_count_once_and_say_how_often_they_run() {
    let module = module("scan.cpu");
    let analysis = module.cost_analysis();
    let (index, scan) = module.instructions().find(|(_, i)| i.opcode == Opcode::While).unwrap();
    assert_eq!(scan.known_trip_count(), Some(10));
    let body = analysis.computation(scan.called_computations[0]);
    let condition = analysis.computation(scan.called_computations[1]);
    assert_eq!(analysis.instruction(index), body.plus(condition));
    assert!(body.flops.unwrap() >= 2 * 16 * 64 * 64);
}

#[test]
fn a_dot_costs_two_flops_a_product() {
    let module = module("matmul.cpu");
    let analysis = module.cost_analysis();
    let dot = module.instructions().find(|(_, i)| i.opcode == Opcode::Dot).unwrap().0;
    let cost = analysis.instruction(dot);
    assert_eq!(cost.flops, Some(2 * 128 * 256 * 64));
    assert_eq!(cost.bytes_accessed, Some(4 * (128 * 256 + 256 * 64 + 128 * 64)));
}
