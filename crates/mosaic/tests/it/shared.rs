//! Kernels of `../shared/llo-kernels`, against what jaxlib prints and what was computed by hand.

use haloscope_mosaic::{Call, Module, Range};
use serde_json::Value;

use crate::support;

/// Folders of kernels with their text.
fn folders() -> Vec<std::path::PathBuf> {
    let Some(root) = support::shared("llo-kernels") else { return Vec::new() };
    let mut all: Vec<_> =
        std::fs::read_dir(root).expect("a folder").map(|e| e.expect("an entry").path()).collect();
    all.retain(|path| path.join("mosaic.txt.gz").is_file());
    all.sort();
    all
}

#[test]
fn text_is_what_jaxlib_prints() {
    for folder in folders() {
        let printed = String::from_utf8(support::read(&folder.join("mosaic.txt.gz"))).expect("text");
        let mut ours = String::new();
        for (name, body) in support::kernels_of_profile(&support::read(&folder.join("xspace.pb.gz"))) {
            let module =
                Module::decode(&body).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
            assert_eq!(module.version(), Some(15));
            ours += &format!("// ---- {name}: {} bytes of bytecode\n{}\n", body.len(), module.text());
        }
        for (line, (ours, theirs)) in ours.lines().zip(printed.lines()).enumerate() {
            assert_eq!(ours, theirs, "{} line {}", folder.display(), line + 1);
        }
        assert_eq!(ours.len(), printed.len(), "{}", folder.display());
    }
}

#[test]
fn sums_are_those_computed_by_hand() {
    for folder in folders() {
        let truth: Value = serde_json::from_slice(&support::read(&folder.join("truth.json"))).expect("JSON");
        for (name, body) in support::kernels_of_profile(&support::read(&folder.join("xspace.pb.gz"))) {
            let module = Module::decode(&body).expect("a module");
            let kernel = module.kernel().expect("a kernel");
            let account = kernel.account(&Call::default());
            let at = |key: &str| truth[key].as_u64();
            assert_eq!(account.work.products, Range::exact(at("mxu_flops").expect("FLOPs")), "{name}");
            assert!(account.reasons.is_empty(), "{name}: {:?}", account.reasons);
            if let Some(exp) = at("exp") {
                assert_eq!(account.work.transcendentals, Range::exact(exp), "{name}");
            }
            if let Some(bytes) = at("hbm_to_vmem_bytes") {
                let bytes = bytes
                    + at("vmem_to_hbm_bytes").unwrap_or(0)
                    + at("manual_hbm_to_vmem_bytes").unwrap_or(0)
                    + at("manual_vmem_to_hbm_bytes").unwrap_or(0);
                assert_eq!(account.bytes(), Range::exact(bytes), "{name}");
            }
        }
    }
}

#[test]
fn the_real_matmul_has_one_product_a_step_whichever_branch_is_taken() {
    let Some(folder) = support::shared("traces/real/v6e-pallas-matmul") else { return };
    let mut waiting = vec![folder];
    let mut found = 0;
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(std::fs::read_dir(&path).expect("a folder").map(|e| e.expect("an entry").path()));
            continue;
        }
        if !path.to_string_lossy().contains(".xplane.pb") {
            continue;
        }
        for (_, body) in support::kernels_of_profile(&support::read(&path)) {
            let module = Module::decode(&body).expect("a module");
            assert_eq!(module.version(), Some(11));
            let kernel = module.kernel().expect("a kernel");
            let account = kernel.account(&Call::default());
            assert_eq!(account.work.products, Range::exact(8_589_934_592), "{account:?}");
            assert_eq!(kernel.products().len(), 2);
            assert!(account.reasons.is_empty(), "{:?}", account.reasons);
            found += 1;
        }
    }
    assert!(found > 0, "the profile holds its kernel");
}
