//! `llo`: XProf's modes, on the kernels of `fixtures/kernels`. That the answers are XProf's, leaf by leaf, is shown by `tests/llo/run.py`
//! on a corpus of others.

use std::path::PathBuf;

use haloscope_profile::{Profile, load};
use serde_json::{Value, json};

use crate::support::{ask, open, refused, text};

fn kernel(name: &str) -> Profile {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../fixtures/kernels/{name}.xplane.pb.gz"));
    load::open(&load::find(&path).unwrap()).unwrap()
}

fn data(profile: &Profile, mode: &str, more: &[(&str, &str)]) -> Value {
    let words: Vec<_> = [("mode", mode)].into_iter().chain(more.iter().copied()).collect();
    let answer = ask(profile, "llo", &words);
    assert_eq!((&answer["status"], &answer["mode"]), (&json!("OK"), &json!(mode)), "{answer}");
    assert_eq!(answer["semantics"], "static_modelled_schedule");
    answer["data"].clone()
}

#[test]
fn ops_are_listed_and_found_by_their_names() {
    let profile = kernel("product.v6e");
    assert_eq!(data(&profile, "list_ops", &[]), json!({"ops": ["product.1"]}));
    for op in ["", "jit_product(0)::product.1", "product.1", "produ"] {
        assert_eq!(data(&profile, "opcodes", &[("hlo_op", op)])["hlo_instruction_name"], "product.1");
    }
    let none = ask(&profile, "llo", &[("mode", "opcodes"), ("hlo_op", "other")]);
    assert_eq!(
        (&none["status"], &none["error"]),
        (&json!("ERROR"), &json!("No LLO module found matching filter"))
    );
}

#[test]
fn a_mode_that_there_is_not_is_said_as_xprof_says_it() {
    let answer = ask(&kernel("bias.v5p"), "llo", &[("mode", "speed")]);
    assert_eq!(answer["status"], "UNIMPLEMENTED");
    assert!(
        answer["error"].as_str().unwrap().contains("bdi_stalls, bundle_util, list_ops, opcodes"),
        "{answer}"
    );
    assert!(answer.get("data").is_none() && answer.get("semantics_note").is_none());
}

#[test]
fn a_run_without_llo_says_so() {
    let profile = open("tpu-train");
    let answer = ask(&profile, "llo", &[("mode", "list_ops")]);
    assert_eq!(answer["error"], "Could not load XSpace or no LLO modules found.");
    assert_eq!(ask(&profile, "get_llo_analysis", &[]), json!({"success": false}));
    assert_eq!(text(&profile, "get_llo_debug_string", &[]), "");
    assert!(refused(&profile, "llo", &[("bundle", "first")]).to_string().contains("expected a number"));
}

#[test]
fn bundles_are_shown_from_the_one_that_is_asked_for() {
    let profile = kernel("product.v6e");
    let first = data(&profile, "bundle_util", &[]);
    assert_eq!(
        (&first["shown_bundles"], &first["truncated"], &first["bundles"][0]["bundle"]),
        (&json!(30), &json!(true), &json!(0))
    );
    let all = first["total_bundles"].as_u64().unwrap();
    let last = data(&profile, "bundle_util", &[("bundle", &(all - 2).to_string())]);
    assert_eq!((&last["shown_bundles"], &last["bundles"][1]["bundle"]), (&json!(2), &json!(all - 1)));
    assert_eq!(data(&profile, "bundle_util", &[("bundle", "-9")])["bundles"], first["bundles"]);
    for bundle in first["bundles"].as_array().unwrap() {
        let sum = |end: &str| -> u64 {
            bundle
                .as_object()
                .unwrap()
                .iter()
                .filter(|(key, _)| key.ends_with(end))
                .map(|(_, v)| v.as_u64().unwrap())
                .sum()
        };
        assert_eq!(bundle["util_pct"].as_u64().unwrap(), 100 * sum("_used") / sum("_avail"));
    }
}

#[test]
fn spills_are_counted_once_and_listed() {
    let spills = data(&kernel("crowded.v5e"), "spills", &[]);
    let summary = &spills["summary"];
    let allocations = spills["allocations"].as_array().unwrap();
    let number = |key: &str| summary[key].as_u64().unwrap();
    assert!(number("static_spill_bundles") > 0);
    let listed = spills["spill_fill_instructions"].as_array().unwrap();
    assert_eq!(listed.len() as u64, number("num_spill_fill_instructions"));
    let of = |kind: &str| listed.iter().filter(|each| each["kind"] == kind).count() as u64;
    assert_eq!(
        (of("vector spill"), of("vector fill")),
        (number("static_spill_bundles"), number("static_fill_bundles"))
    );
    let mut unique: Vec<_> = allocations
        .iter()
        .map(|a| (a["space"].as_u64(), a["ordinal"].as_u64(), a["size"].as_u64().unwrap()))
        .collect();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len() as u64, number("num_allocations"));
    assert_eq!(unique.iter().map(|a| a.2).sum::<u64>(), number("total_allocation_bytes"));
}

#[test]
fn every_instruction_counts_in_the_analysis() {
    let profile = kernel("product.v6e");
    let (analysis, opcodes) = (ask(&profile, "get_llo_analysis", &[]), data(&profile, "opcodes", &[]));
    assert_eq!(analysis["total_instructions"], opcodes["total_instructions"]);
    assert_eq!(analysis["modules"][0]["kernel_name"], "jit_product(0)::product.1");
    let units = analysis["execution_unit_summary"].as_object().unwrap();
    assert_eq!(
        units.values().map(|n| n.as_u64().unwrap()).sum::<u64>(),
        opcodes["total_instructions"].as_u64().unwrap()
    );
    assert!(units["MXU"].as_u64().unwrap() > 0);
    assert_eq!(ask(&profile, "llo", &[("mode", "analyze_llo")]), analysis);
    let written = text(&profile, "get_llo_debug_string", &[]);
    let lines = written.lines().filter(|line| line.trim_start().starts_with('[')).count();
    assert_eq!(Some(lines as u64), opcodes["total_instructions"].as_u64());
    assert!(written.starts_with("Module: product.1\n  ["), "{}", &written[..60]);
}

#[test]
fn the_tree_the_registers_and_the_target_are_those_of_the_kernel() {
    let profile = kernel("product.v6e");
    let tree = data(&profile, "region_tree", &[]);
    let text = tree.to_string();
    for word in
        ["\"top\"", "\"loop\"", "\"pre_header\"", "\"body\"", "\"predicated_region\"", "\"fallthru_region\""]
    {
        assert!(text.contains(word), "{word}");
    }
    let registers = data(&profile, "register_pressure", &[]);
    let hottest = registers["hottest_bundles"].as_array().unwrap();
    assert_eq!(hottest.len(), 15);
    let totals: Vec<_> = hottest.iter().map(|hot| hot["total_live"].as_u64().unwrap()).collect();
    assert!(totals.is_sorted_by(|a, b| a >= b), "{totals:?}");
    assert_eq!(data(&profile, "target_info", &[])["key_fields"]["chips_per_host_bounds"], "x=2, y=2, z=1");
    assert_eq!(data(&profile, "bdi_stalls", &[])["instructions"], json!([]));
}

#[test]
fn a_bundle_has_its_lines() {
    let profile = kernel("product.v6e");
    let all = data(&profile, "bundle_util", &[])["total_bundles"].as_u64().unwrap();
    let lines = |bundle: u64| {
        data(&profile, "source_for_bundle", &[("bundle", &bundle.to_string())])["sources"].clone()
    };
    let found: Vec<Value> = (0..all).map(lines).filter(|lines| lines != &json!([])).collect();
    assert!(
        found
            .iter()
            .flat_map(|lines| lines.as_array().unwrap())
            .all(|l| l.as_str().unwrap().starts_with("kernels.py:"))
    );
    assert!(!found.is_empty());
    assert_eq!(data(&profile, "source_for_bundle", &[("bundle", "99999")])["region_path"], "");
}
