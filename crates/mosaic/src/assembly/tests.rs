use super::*;
use crate::call::Call;
use crate::work::Range;

const HEAD: &str = "module {
  func.func @main(%arg0: i32, %arg1: i32, %arg2: memref<64x512xbf16, #tpu.memory_space<vmem>>, %arg3: memref<512x128xbf16, #tpu.memory_space<vmem>>, %arg4: memref<64x128xf32, #tpu.memory_space<vmem>>, %arg5: memref<64x1xf32, #tpu.memory_space<vmem>>) attributes {dimension_semantics = [#tpu.dimension_semantics<parallel>, #tpu.dimension_semantics<arbitrary>], iteration_bounds = array<i64: 4, 3>, scratch_operands = 1 : i64, window_params = [{transform_indices = @left, window_bounds = array<i64: 64, 512>}, {transform_indices = @right, window_bounds = array<i64: 512, 128>}, {transform_indices = @out, window_bounds = array<i64: 64, 128>}]} {
";
const MAPS: &str = "  func.func @left(%arg0: i32, %arg1: i32) -> (i32, i32) {
    return %arg0, %arg1 : i32, i32
  }
  func.func @right(%arg0: i32, %arg1: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %arg1, %c0_i32 : i32, i32
  }
  func.func @out(%arg0: i32, %arg1: i32) -> (i32, i32) {
    %c0_i32 = arith.constant 0 : i32
    return %arg0, %c0_i32 : i32, i32
  }
}
";

fn kernel(body: &str) -> Module {
    read(&format!("{HEAD}{body}    return\n  }}\n{MAPS}")).unwrap()
}

const PRODUCT: &str = "%7 = tpu.matmul %1, %2, %cst {dimension_numbers = #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []>, transpose_lhs_hint = false} : vector<64x512xbf16>, vector<512x128xbf16>, vector<64x128xf32> -> vector<64x128xf32>\n";
const LOADS: &str = "    %c0 = arith.constant 0 : index
    %1 = vector.load %arg2[%c0, %c0] : memref<64x512xbf16, #tpu.memory_space<vmem>>, vector<64x512xbf16>
    %2 = vector.load %arg3[%c0, %c0] : memref<512x128xbf16, #tpu.memory_space<vmem>>, vector<512x128xbf16>
    %cst = arith.constant dense<0.000000e+00> : vector<64x128xf32>
";
/// FLOPs of one product.
const ONE: u64 = 2 * 64 * 512 * 128;

#[test]
fn a_kernel_of_xla_is_read_from_its_text() {
    let body = format!(
            "{LOADS}    %c0_i32 = arith.constant 0 : i32
    %3 = arith.cmpi eq, %arg1, %c0_i32 : i32
    scf.if %3 {{
      vector.store %cst, %arg4[%c0, %c0] : memref<64x128xf32, #tpu.memory_space<vmem>>, vector<64x128xf32>
    }}
    %4 = math.exp %1 : vector<64x512xbf16>
    %5 = arith.cmpf oeq, %1, %4 : vector<64x512xbf16>
    %cst_1 = arith.constant dense<0.0> : vector<64xbf16>
    %6 = vector.multi_reduction <add>, %4, %cst_1 [1] : vector<64x512xbf16> to vector<64xbf16>
    {PRODUCT}    vector.store %7, %arg4[%c0, %c0] : memref<64x128xf32, #tpu.memory_space<vmem>>, vector<64x128xf32>
"
        );
    let module = kernel(&body);
    let kernel = module.kernel().unwrap();
    assert_eq!((kernel.name, kernel.grid.len(), kernel.grid[0].semantics), ("main", 2, "parallel"));
    let account = kernel.account(&Call::default());
    assert_eq!(account.steps, Some(12));
    assert_eq!(account.work.products, Range::exact(12 * ONE));
    assert_eq!(account.work.transcendentals, Range::exact(12 * 64 * 512));
    // A comparison of each element, and sums of rows.
    assert_eq!(account.work.vectors, Range::exact(12 * (64 * 512 + 64 * 511)));
    let copied: Vec<_> = account.windows.iter().map(|w| (w.copies.value(), w.is_written)).collect();
    assert_eq!(copied, [(Some(12), false), (Some(12), false), (Some(4), true)]);
    assert!(account.reasons.is_empty(), "{:?}", account.reasons);
    assert_eq!(kernel.products()[0].contracted, Some(512));
    // As generic text it is the same module.
    assert!(module.text().contains("\"tpu.matmul\"(%"), "{}", module.text());
}

#[test]
fn loops_and_branches_are_followed() {
    let body = format!(
            "{LOADS}    %c5 = arith.constant 5 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %8:2 = scf.for %i = %c1 to %c5 step %c1 iter_args(%a = %c1, %b = %cst) -> (i32, vector<64x128xf32>)  : i32 {{
      %9 = arith.cmpi slt, %i, %c2 : i32
      %10 = scf.if %9 -> (vector<64x128xf32>) {{
        {PRODUCT}        scf.yield %7 : vector<64x128xf32>
      }} else {{
        scf.yield %b : vector<64x128xf32>
      }}
      %11 = arith.addi %a, %i overflow<nsw> : i32
      scf.yield %11, %10 : i32, vector<64x128xf32>
    }}
    %12 = arith.cmpi eq, %8#0, %c5 : i32
    scf.if %12 {{
      %13 = math.exp %8#1 : vector<64x128xf32>
    }}
"
        );
    let module = kernel(&body);
    let account = module.kernel().unwrap().account(&Call::default());
    assert_eq!(account.work.products, Range::exact(12 * ONE), "the first of four trips");
    assert_eq!(account.work.transcendentals, Range::ZERO, "1 + 1 + 2 + 3 + 4 is not 5");
    assert_eq!(module.kernel().unwrap().loops()[0].trips, Some(4));
}

#[test]
fn what_cannot_be_read_says_where() {
    let line = |text: &str| match read(text) {
        Err(Error::Text { line, .. }) => line,
        other => panic!("{other:?}"),
    };
    assert_eq!(line("module {\n  func.func @main() {\n    %0 = arith.addi %1, %1 : i32\n"), 3);
    assert_eq!(line("module {\n  func.func @main() {\n    cf.br ^bb1\n"), 3);
    assert_eq!(line("module {\n  func.func @main() {\n  ^bb1:\n"), 3);
    assert_eq!(line("module {\n  func.func @main() {\n    tpu.enqueue_dma source(%0 : i32)\n"), 3);
    assert_eq!(line("module {\n"), 1);
    assert_eq!(line("}"), 1);
    assert_eq!(line("module {\n}\nmodule {\n"), 3);
    let deep = format!("module {{\n{}", "tpu.region {\n".repeat(100));
    assert_eq!(read(&deep).unwrap_err(), Error::TooDeep { limit: DEEPEST });
    for (open, close) in [("{a = ", "}"), ("[", "]")] {
        let attribute = format!("{}1{}", open.repeat(10_000), close.repeat(10_000));
        let deep = format!("module attributes {{a = {attribute}}} {{\n}}\n");
        assert_eq!(read(&deep).unwrap_err(), Error::TooDeep { limit: DEEPEST });
    }
    // As many results as a few bytes ask for are not made.
    let many = format!("module {{\n    %0:{} = arith.constant 0 : i32\n}}", 60);
    assert_eq!(line(&many), 2);
}

#[test]
fn no_cut_or_changed_text_is_a_panic() {
    let body = format!("{LOADS}    {PRODUCT}");
    let whole = format!("{HEAD}{body}    return\n  }}\n{MAPS}");
    for end in (0..whole.len()).step_by(3) {
        let _ = read(&whole[..end]);
        for byte in ['{', '}', '(', '%', ':', '\n', '"', '>', 'ä'] {
            let changed = format!("{}{byte}{}", &whole[..end], &whole[end + 1..]);
            if let Ok(module) = read(&changed)
                && let Ok(kernel) = module.kernel()
            {
                let account = kernel.account(&Call::default());
                let flops = account.flops();
                assert!(flops.at_most.is_none_or(|most| most >= flops.at_least));
                let _ = (module.text(), kernel.loops(), kernel.products(), kernel.allocations());
            }
        }
    }
}
