//! Kernels of the project's own, made by `tests/fixtures/make.py`: against what jaxlib prints and what was computed by hand.

use std::path::{Path, PathBuf};

use haloscope_mosaic::{Call, Module, Range, Role, Traffic};
use serde_json::Value;

use crate::support;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// Name, bytecode and truth of each.
fn kernels() -> Vec<(String, Vec<u8>, Value)> {
    let truth: Value = serde_json::from_slice(&support::read(&folder().join("truth.json"))).expect("JSON");
    let all = truth.as_object().expect("an object").iter();
    all.map(|(name, truth)| {
        (name.clone(), support::read(&folder().join(format!("{name}.bc"))), truth.clone())
    })
    .collect()
}

#[test]
fn text_is_what_jaxlib_prints() {
    for (name, body, _) in kernels() {
        let printed =
            String::from_utf8(support::read(&folder().join(format!("{name}.mlir.gz")))).expect("text");
        let module = Module::decode(&body).unwrap_or_else(|error| panic!("{name}: {error}"));
        for (line, (ours, theirs)) in module.text().lines().zip(printed.lines()).enumerate() {
            assert_eq!(ours, theirs, "{name} line {}", line + 1);
        }
        assert_eq!(module.text(), printed, "{name}");
    }
}

#[test]
fn sums_are_exact_or_hold_the_truth_and_say_why() {
    for (name, body, truth) in kernels() {
        let module = Module::decode(&body).expect("a module");
        let kernel = module.kernel().expect("a kernel");
        let account = kernel.account(&Call::default());
        let products = Range {
            at_least: truth["products"][0].as_u64().expect("a number"),
            at_most: truth["products"][1].as_u64(),
        };
        assert_eq!(account.work.products, products, "{name}: {account:?}");
        let reasons: Vec<String> = account.reasons.iter().map(ToString::to_string).collect();
        match truth["reasons"].as_array() {
            Some(words) => {
                for word in words {
                    let word = word.as_str().expect("a word");
                    assert!(reasons.iter().any(|reason| reason.contains(word)), "{name}: {reasons:?}");
                }
            }
            None => assert!(reasons.is_empty(), "{name}: {reasons:?}"),
        }
        if let Some(bytes) = truth["bytes"].as_u64() {
            assert_eq!(account.bytes(), Range::exact(bytes), "{name}: {account:?}");
        }
        if let Some(vectors) = truth["vectors"].as_u64() {
            assert_eq!(account.flops(), Range::exact(vectors), "{name}");
        }
        if let Some(count) = truth["transcendentals"].as_u64() {
            assert_eq!(account.work.transcendentals, Range::exact(count), "{name}");
        }
    }
}

#[test]
fn blocks_over_the_edge_of_an_array_are_cut() {
    let (_, body, truth) = kernels().into_iter().find(|(name, ..)| name == "edge").expect("the kernel");
    let module = Module::decode(&body).expect("a module");
    let arrays: Vec<Option<Vec<u64>>> = serde_json::from_value(truth["arrays"].clone()).expect("extents");
    let call = Call { arrays, ..Call::default() };
    let account = module.kernel().expect("a kernel").account(&call);
    assert_eq!(account.bytes().value(), truth["cut_bytes"].as_u64());
    assert!(account.windows.iter().map(|w| w.copies.value()).eq([Some(3), Some(1), Some(3)]));
}

#[test]
fn what_hangs_on_constants_is_computed() {
    let (_, body, truth) = kernels().into_iter().find(|(name, ..)| name == "ragged").expect("the kernel");
    let module = Module::decode(&body).expect("a module");
    let kernel = module.kernel().expect("a kernel");
    let of = |scalars: Vec<i64>| kernel.account(&Call { scalars: vec![Some(scalars)], ..Call::default() });
    let one = truth["products"][1].as_u64().expect("a number") / 4;
    let account = of(vec![2, 0, 3, 3]);
    assert_eq!(account.work.products, Range::exact(3 * one));
    assert!(account.reasons.is_empty(), "{:?}", account.reasons);
    let copies = |account: haloscope_mosaic::Account| -> Vec<Option<u64>> {
        account.windows.iter().map(|window: &Traffic| window.copies.value()).collect()
    };
    assert_eq!(copies(account), [Some(3), Some(1), Some(4)], "the last step stays on its block");
    // Fewer values than the kernel reads: the rest is data.
    let account = of(vec![2, 0]);
    assert_eq!(account.work.products, Range { at_least: one, at_most: Some(3 * one) });
    assert!(!account.reasons.is_empty());
}

/// Between blocks of which one place is known to differ, there is a copy, whatever data says of the others.
#[test]
fn a_block_that_differs_in_one_place_is_another() {
    let (_, body, truth) = kernels().into_iter().find(|(name, ..)| name == "grouped").expect("the kernel");
    let module = Module::decode(&body).expect("a module");
    let account = module.kernel().expect("a kernel").account(&Call::default());
    let [least, most] = [0, 1].map(|end| truth["weights"][end].as_u64());
    assert_eq!((Some(account.windows[1].bytes.at_least), account.windows[1].bytes.at_most), (least, most));
}

#[test]
fn grid_blocks_loops_and_products() {
    let of = |wanted: &str| {
        let (_, body, _) = kernels().into_iter().find(|(name, ..)| name == wanted).expect("the kernel");
        Module::decode(&body).expect("a module")
    };
    let module = of("ragged");
    let kernel = module.kernel().expect("a kernel");
    let roles: Vec<Role> = kernel.arguments.iter().map(|a| a.role).collect();
    assert_eq!(roles, [Role::Place, Role::Prefetch, Role::Operand, Role::Operand, Role::Operand]);
    assert_eq!(kernel.arguments[1].space, "smem");
    assert_eq!(
        kernel.arguments.iter().map(|a| a.is_written).collect::<Vec<_>>(),
        [false, false, false, false, true]
    );
    assert!(kernel.products().iter().all(|product| product.is_gated && product.contracted == Some(128)));

    let module = of("dynamic");
    let kernel = module.kernel().expect("a kernel");
    assert_eq!(kernel.grid.iter().map(|d| d.extent).collect::<Vec<_>>(), [None]);
    assert_eq!(kernel.account(&Call::default()).steps, None);

    let module = of("pipeline");
    let kernel = module.kernel().expect("a kernel");
    assert_eq!(kernel.loops().iter().map(|l| l.trips).collect::<Vec<_>>(), [Some(8)]);
    assert!(
        kernel
            .allocations()
            .iter()
            .any(|(space, _, bytes)| *space == "vmem" && *bytes == Some(2 * 128 * 128 * 4))
    );

    let module = of("triangle");
    let loops = module.kernel().expect("a kernel").loops();
    // One that is unrolled in part, and one for what is left.
    assert!(loops.iter().all(|one| one.trips.is_none() && one.depth == 0 && one.products == 1), "{loops:?}");
}

/// Every cut and every changed byte of every kernel is refused or read; what is read can be asked everything.
#[test]
fn damaged_bytecode_is_an_error_or_a_module() {
    let ask = |bytes: &[u8]| {
        let Ok(module) = Module::decode(bytes) else { return };
        let _ = module.text();
        let Ok(kernel) = module.kernel() else { return };
        let _ = (kernel.account(&Call::default()), kernel.loops(), kernel.products(), kernel.allocations());
    };
    for (_, body, _) in kernels() {
        for end in 0..body.len() {
            ask(&body[..end]);
        }
        for at in 0..body.len() {
            let mut changed = body.clone();
            for value in [0, 0xff, changed[at] ^ 2] {
                changed[at] = value;
                ask(&changed);
            }
        }
    }
}
