//! Costs as XLA's GPU backend counts them. The numbers are those that XProf 2.24.2 shows for the same modules, asked about
//! kernels that name each of their instructions.
#![expect(clippy::unwrap_used, reason = "test code; a skipped test says so")]

mod common;

use std::path::{Path, PathBuf};

use haloscope_hlo::{CostAnalysis, CostOptions, Module, Opcode};

/// An opcode, and over all its instructions their number, FLOPs, bytes accessed, and bytes read from and written to main
/// memory.
type Row = (Opcode, [u64; 5]);

#[track_caller]
fn check(module: &Module, rows: &[Row]) {
    let costs = CostAnalysis::new(module, CostOptions::xla_gpu());
    for (opcode, expected) in rows {
        let mut found = [0; 5];
        for (index, _) in module.instructions().filter(|(_, hlo)| hlo.opcode == *opcode) {
            let (cost, traffic) = (costs.instruction(index), costs.traffic(index));
            let one =
                [1, cost.flops.unwrap_or(0), cost.bytes_accessed.unwrap_or(0), traffic.read, traffic.written];
            found.iter_mut().zip(one).for_each(|(sum, value)| *sum += value);
        }
        for (found, expected) in found.iter().zip(expected) {
            // Single instructions are rounded to 32-bit floats on both sides, in another order of adding.
            let off = found.abs_diff(*expected) as f64;
            assert!(off <= 2e-7 * *expected as f64, "{opcode:?}: found {found}, expected {expected}");
        }
    }
}

fn made(name: &str) -> Module {
    let path = format!("../../fixtures/hlo/{name}.hlo_proto.pb.gz");
    Module::decode(&common::gunzip(&Path::new(env!("CARGO_MANIFEST_DIR")).join(path))).unwrap()
}

#[test]
fn fusions_count_what_their_results_need() {
    check(
        &made("train_step.v5e"),
        &[
            (Opcode::Fusion, [145, 60_565_012_483, 2_831_893_992, 13_131_796, 297_279_492]),
            (Opcode::Reduce, [14, 125_577_213, 160_071_688, 84_234_244, 4]),
            (Opcode::Convolution, [26, 45_097_156_608, 349_700_096, 217_055_232, 29_884_416]),
            (Opcode::DynamicUpdateSlice, [5, 0, 10_485_780, 5_242_936, 2_097_152]),
            (Opcode::AllReduce, [23, 107_108_355, 142_958_600, 16_801_796, 18_898_944]),
        ],
    );
    check(
        &made("decode.v5e"),
        &[
            (Opcode::Fusion, [58, 81_154_272, 18_334_692, 2048, 4_255_744]),
            (Opcode::Reduce, [15, 6_571_128, 4_486_448, 4_448_800, 0]),
        ],
    );
    check(
        &made("convolution.v5e"),
        &[
            (Opcode::Fusion, [33, 1_677_023_765, 17_292_964, 64, 5_018_244]),
            (Opcode::Convolution, [8, 1_161_216_000, 7_864_448, 5_018_240, 4096]),
        ],
    );
}

/// A training step that XLA compiled for GPUs. It is not part of the project.
#[test]
fn a_training_step_for_gpus() {
    let name = "../../../shared/traces/hlo/maxtext-train-step.h100-4.after_optimizations.hlo.pb.gz";
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    if !path.is_file() {
        println!("skipped: no {}", path.display());
        return;
    }
    let module = Module::decode(&common::gunzip(&path)).unwrap();
    check(
        &module,
        &[
            (Opcode::Fusion, [519, 379_744_406_704, 39_722_769_394, 25_124_338_014, 14_598_431_711]),
            (Opcode::Reduce, [127, 18_115_121_568, 13_356_744_352, 13_342_602_304, 14_142_048]),
            (Opcode::DynamicUpdateSlice, [89, 0, 2_615_333_188, 1_307_667_752, 1_307_666_432]),
            (Opcode::Concatenate, [23, 503_362_758, 335_575_304, 167_787_652, 167_787_652]),
            (Opcode::AllGatherStart, [7, 0, 4_487_757_824, 407_977_984, 0]),
            (Opcode::ReduceScatter, [5, 391_741_440, 2_872_770_560, 1_044_643_840, 0]),
            (Opcode::AllReduceStart, [8, 53_862, 35_976, 35_976, 35_976]),
        ],
    );
}
