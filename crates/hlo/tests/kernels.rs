//! Pallas kernels of the project's own programs: what their modules say that they do.
#![expect(clippy::unwrap_used, reason = "it is test code")]

mod common;

use std::path::Path;

use haloscope_hlo::mosaic::Range;
use haloscope_hlo::{CostAnalysis, CostOptions, Module};

fn module(name: &str) -> Module {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/hlo");
    Module::read(&common::gunzip(&root.join(format!("{name}.v6e.hlo_proto.pb.gz")))).unwrap()
}

#[test]
fn a_product_is_counted_over_its_grid_and_its_blocks_by_revisits() {
    let module = module("pallas_matmul");
    let index = module.instruction_by_name("blocked_matmul.1").unwrap();
    let costs = module.cost_analysis();
    let kernel = costs.kernel(index).unwrap();
    assert_eq!((kernel.steps, kernel.reasons.len()), (Some(16), 0));
    assert_eq!(kernel.flops, Range::exact(2 * 1024 * 2048 * 1024));
    // Both factors' blocks change in each of 16 steps, the result's with each 4th; XLA puts the result into vector memory.
    let block = 512 * 512 * 2;
    assert_eq!(kernel.bytes, Range::exact((16 + 16 + 4) * block));
    assert_eq!(kernel.hbm_bytes, Range::exact((16 + 16) * block));
    let cost = costs.instruction(index);
    assert_eq!((cost.flops, cost.bytes_accessed), (Some(2 * 1024 * 2048 * 1024), Some(36 * block)));
    assert!(cost.is_complete());
    // XLA takes what the author states.
    let stated = CostAnalysis::new(&module, CostOptions::xla());
    assert_eq!(stated.instruction(index).bytes_accessed, Some(10_485_760));
    assert!(stated.kernel(index).is_none());
}

#[test]
fn attention_counts_its_two_products_and_its_exponentials() {
    for (name, calls) in [("pallas_attention_scratch", 1), ("pallas_attention_accumulator", 2)] {
        let module = module(name);
        let costs = module.cost_analysis();
        let kernels: Vec<_> = module.instructions().filter_map(|(index, _)| costs.kernel(index)).collect();
        assert_eq!(kernels.len(), calls, "{name}");
        let stated: u64 = {
            let xla = CostAnalysis::new(&module, CostOptions::xla());
            let calls = module.instructions().filter(|(index, _)| costs.kernel(*index).is_some());
            calls.filter_map(|(index, _)| xla.instruction(index).flops).sum()
        };
        assert_eq!(kernels.iter().filter_map(|kernel| kernel.flops.value()).sum::<u64>(), stated, "{name}");
        assert!(
            kernels.iter().all(|kernel| kernel.transcendentals.at_least > 0 && kernel.reasons.is_empty())
        );
    }
}
