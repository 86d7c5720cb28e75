//! Modules are written as XLA writes them.
//!
//! `fixtures/text` has what XProf 2.24.2 (graph_viewer, types `short_txt` and `long_txt`) answered for the same bytes: of the
//! modules that real compilers made a hash of each text, and of one module with as many kinds of instructions, attributes,
//! shardings and constants as a proto can hold the texts themselves.
#![expect(clippy::unwrap_used, reason = "it is test code")]

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use haloscope_hlo::{Module, TextOptions};

/// FNV-1a of 64 bits, in hexadecimal.
fn hash(text: &str) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    format!("{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}

fn decoded(path: &Path) -> Module {
    Module::decode(&common::gunzip(path)).unwrap()
}

#[test]
fn modules_of_real_compilers() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let hashes = std::fs::read_to_string(common::fixture("text/hashes.json")).unwrap();
    let hashes: BTreeMap<String, (String, String)> = serde_json::from_str(&hashes).unwrap();
    assert!(hashes.len() > 60, "{}", hashes.len());
    for (name, (short, long)) in hashes {
        let beside = common::fixture(&name);
        let path = if beside.exists() { beside } else { root.join("../../fixtures/hlo").join(&name) };
        let module = decoded(&path);
        assert_eq!(hash(&module.text(&TextOptions::SHORT)), short, "{name}, short");
        assert_eq!(hash(&module.text(&TextOptions::LONG)), long, "{name}, long");
    }
}

#[test]
fn all_that_text_can_say() {
    let module = decoded(&common::fixture("text/attributes.hlo.pb.gz"));
    let with_metadata = TextOptions { metadata: true, ..TextOptions::LONG };
    for (name, options) in
        [("short", TextOptions::SHORT), ("long", TextOptions::LONG), ("metadata", with_metadata)]
    {
        let expected = common::gunzip(&common::fixture(&format!("text/attributes.{name}.txt.gz")));
        let expected = String::from_utf8(expected).unwrap();
        let text = module.text(&options);
        for (number, (line, expected)) in text.lines().zip(expected.lines()).enumerate() {
            assert_eq!(line, expected, "{name}, line {}", number + 1);
        }
        assert_eq!(text, expected, "{name}");
    }
}

/// What a profiler shows of one op: `HloInstruction::ToString` without metadata, backend configuration and control
/// predecessors, its computations by name.
#[test]
fn one_instruction() {
    let module = decoded(&common::fixture("matmul.tpu.hlo.pb.gz"));
    let root = module.computation(module.entry()).root;
    let text = module.instruction_text(root, &TextOptions::EXPRESSION);
    assert!(text.starts_with(&format!("%{} = ", module.instruction(root).name)), "{text}");
    assert!(!text.contains("metadata=") && !text.contains("backend_config="), "{text}");
    let operands = &module.instruction(root).operands;
    assert!(operands.iter().all(|operand| text.contains(&format!("%{}", module.instruction(*operand).name))));
}

/// Builds of 2024 and 2025 wrote groups where XProf 2.24.2 no longer looks: it shows none, which would mean one group of all
/// (`fixtures/parity/known.json`).
#[test]
fn groups_of_older_builds() {
    let module = decoded(&common::fixture("text/iota_groups.hlo.pb.gz"));
    let xprof = "HloModule iota, entry_computation_layout={(f32[4]{0})->f32[4]{0}}\n\n\
        %add (parameter.1: f32[], parameter.2: f32[]) -> f32[] {\n  %parameter.1 = f32[] parameter(0)\n  \
        %parameter.2 = f32[] parameter(1)\n  ROOT %add.3 = f32[] add(%parameter.1, %parameter.2)\n}\n\n\
        ENTRY %main (p: f32[4]) -> f32[4] {\n  %p = f32[4]{0} parameter(0)\n  \
        ROOT %sum = f32[4]{0} all-reduce(%p), channel_id=1, replica_groups={}, to_apply=%add\n}\n\n";
    let ours = xprof.replace("replica_groups={}", "replica_groups=[4,2]<=[2,4]T(1,0)");
    assert_eq!(module.text(&TextOptions::LONG), ours);
}
