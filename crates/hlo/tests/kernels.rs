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

/// Standard base64.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |three: &[u8]| -> String {
        let bits = (0..3).fold(0_usize, |bits, at| bits << 8 | usize::from(*three.get(at).unwrap_or(&0)));
        let letter = |at: usize| char::from(LETTERS[bits >> (18 - 6 * at) & 63]);
        (0..4).map(|at| if at <= three.len() { letter(at) } else { '=' }).collect()
    };
    bytes.chunks(3).map(group).collect()
}

/// A call of a kernel that the tests of `mosaic` have, in a module of these instructions.
fn call(kernel: &str, before: &str, result: &str, operands: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mosaic/tests/fixtures");
    let body = base64(&std::fs::read(root.join(format!("{kernel}.bc"))).unwrap());
    let config = format!("{{\"custom_call_config\":{{\"body\":\"{body}\"}}}}");
    let call = format!(
        "ROOT %k.1 = {result} custom-call({operands}), custom_call_target=\"tpu_custom_call\", backend_config={config}"
    );
    format!("HloModule m\n\nENTRY %main {{\n{before}\n  {call}\n}}\n")
}

fn called(kernel: &str, before: &str, result: &str, operands: &str) -> Module {
    Module::parse(&call(kernel, before, result, operands)).unwrap()
}

#[test]
fn scalars_that_are_constants_are_read() {
    let one = 2 * 128 * 128 * 128;
    let arrays = "  %x = f32[512,128]{1,0} parameter(0)\n  %y = f32[128,128]{1,0} parameter(1)";
    let of = |scalars: &str| {
        let before = format!("{arrays}\n  {scalars}");
        let module = called("ragged", &before, "f32[512,128]{1,0}", "%n, %x, %y");
        let index = module.instruction_by_name("k.1").unwrap();
        let costs = module.cost_analysis();
        let cost = costs.kernel(index).unwrap().clone();
        let mosaic = module.mosaic(index).unwrap().unwrap();
        // The cost and what is said of the kernel alone are one count.
        let account = module.kernel_account(index, &mosaic.kernel().unwrap());
        assert_eq!((account.flops(), account.bytes()), (cost.flops, cost.bytes));
        cost
    };
    let cost = of("%n = s32[4]{0} constant({2, 0, 3, 3})");
    assert_eq!((cost.flops, cost.reasons.len()), (Range::exact(3 * one), 0));
    // A copy of constants is as they are.
    let copied = of("%c = s32[4]{0} constant({0, 0, 0, 1})\n  %n = s32[4]{0} copy(%c)");
    assert_eq!(copied.flops, Range::exact(one));
    // What the program is given is data.
    let cost = of("%n = s32[4]{0} parameter(2)");
    assert_eq!((cost.flops, cost.reasons.is_empty()), (Range { at_least: 0, at_most: Some(4 * one) }, false));
}

#[test]
fn two_calls_with_other_constants_are_two_kernels() {
    let one = 2 * 128 * 128 * 128;
    let before = "  %x = f32[512,128]{1,0} parameter(0)\n  %y = f32[128,128]{1,0} parameter(1)
  %all = s32[4]{0} constant({1, 1, 1, 1})\n  %n = s32[4]{0} constant({0, 0, 1, 0})";
    let text = call("ragged", before, "f32[512,128]{1,0}", "%n, %x, %y");
    let line = text.lines().find(|line| line.contains("custom-call(")).unwrap();
    let other = line.replace("ROOT ", "").replace("%k.1", "%k.2").replace("%n", "%all");
    let both = Module::parse(&text.replace(line, &format!("{other}\n{line}"))).unwrap();
    let costs = both.cost_analysis();
    let flops = |name: &str| costs.kernel(both.instruction_by_name(name).unwrap()).unwrap().flops;
    assert_eq!((flops("k.1"), flops("k.2")), (Range::exact(one), Range::exact(4 * one)));
}

#[test]
fn operands_that_are_whole_in_vector_memory_are_copied_once() {
    let of = |x: &str, o: &str| {
        let before = format!("  %x = {x} parameter(0)");
        let module = called("odd", &before, o, "%x");
        let costs = module.cost_analysis();
        let kernel = costs.kernel(module.instruction_by_name("k.1").unwrap()).unwrap().clone();
        (kernel.bytes, kernel.hbm_bytes)
    };
    let (read, written) = (16 * 128 * 4, 16 * 128 * 2);
    let both = of("f32[16,128]{1,0:T(8,128)}", "bf16[16,128]{1,0:T(8,128)(2,1)}");
    assert_eq!(both, (Range::exact(read + written), Range::exact(read + written)));
    // What XLA keeps in vector memory stays there.
    let kept = of("f32[16,128]{1,0:T(8,128)S(1)}", "bf16[16,128]{1,0:T(8,128)(2,1)}");
    assert_eq!(kept, (Range::exact(read + written), Range::exact(written)));
}
