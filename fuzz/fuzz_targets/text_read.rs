//! Arbitrary text as what people write and pass: ledgers, budgets and claims, rules of attribution, descriptions of models, flags, meshes,
//! buffer assignments, scopes. Each is read or refused with words. The first byte chooses which.
#![no_main]

use std::sync::LazyLock;

use haloscope_analyses as analyses;
use haloscope_analyses::ledger;
use haloscope_comm::mesh::Mesh;
use haloscope_hlo::BufferAssignment;
use haloscope_profile::{Profile, load};
use haloscope_program::attribution::Rules;
use haloscope_program::flags;
use haloscope_program::model_flops::ModelConfig;
use haloscope_report::scope::{Scope, StepRange};
use haloscope_time::analysis::{self, Params};
use libfuzzer_sys::fuzz_target;

/// What budgets and claims are held against.
static RUN: LazyLock<Profile> = LazyLock::new(|| {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/runs/tpu-gate");
    load::open(&load::find(path.as_ref()).expect("a fixture")).expect("a fixture that opens")
});

fuzz_target!(|bytes: &[u8]| {
    let [which, rest @ ..] = bytes else { return };
    let text = String::from_utf8_lossy(rest);
    match which % 9 {
        0 => {
            let (entries, bad) = ledger::parse("fuzz.jsonl", rest);
            assert!(entries.len() + bad.len() <= rest.split(|byte| *byte == b'\n').count());
        }
        1 => {
            if let Ok(rules) = Rules::parse(&text) {
                let _ = format!("{rules:?}");
            }
        }
        2 => {
            let _ = ModelConfig::parse(&text);
        }
        3 => {
            let _ = flags::parse::parse(&text);
        }
        4 => {
            let _ = Mesh::parse(&text);
        }
        5 => {
            let _ = BufferAssignment::parse(&text);
        }
        6 => {
            let _ = StepRange::parse(&text);
        }
        which => {
            let id = if which == 7 { "budget" } else { "claim" };
            let mut params = Params::default();
            params.set(id, &text);
            if let Some(check) = analyses::find("check")
                && let Ok(report) = analysis::run(check, &RUN, &Scope::default(), &params)
            {
                let _ = report.to_json();
            }
        }
    }
});
