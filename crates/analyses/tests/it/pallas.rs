//! Pallas kernels of programs that never ran: grid, blocks, products, text.

use std::path::PathBuf;

use haloscope_analyses as analyses;
use haloscope_profile::{Profile, load};
use haloscope_report::Report;
use haloscope_report::scope::Scope;
use haloscope_time::analysis::{self, Params};

use crate::support::{near, number, words};

fn with(profile: &Profile, id: &str, given: &[(&str, &str)]) -> Result<Report, haloscope_report::Error> {
    let mut params = Params::default();
    given.iter().for_each(|(key, value)| params.set(key, value));
    analysis::run(analyses::find(id).unwrap(), profile, &Scope::default(), &params)
}

fn program(name: &str) -> Profile {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/hlo").join(name);
    load::open(&load::find(&path).unwrap()).unwrap()
}

#[test]
fn grid_blocks_and_products_of_a_program_that_never_ran() {
    let report = with(&program("pallas_matmul.v6e.hlo_proto.pb.gz"), "kernel grid", &[]).unwrap();
    assert_eq!(words(&report, "op"), "blocked_matmul.1");
    assert_eq!(words(&report, "function"), "blocked_matmul");
    near(number(&report, "grid_steps"), 16.0, 0.0, "steps");
    near(number(&report, "products_flops"), 4_294_967_296.0, 0.0, "FLOPs");
    near(number(&report, "block_bytes"), 36.0 * 524_288.0, 0.0, "bytes");
    let grid = report.table("grid").unwrap();
    let extents: Vec<_> = (0..3).map(|row| grid.cell(row, "extent").unwrap().number().unwrap()).collect();
    assert_eq!(extents, [2.0, 2.0, 4.0]);
    let arguments = report.table("arguments").unwrap();
    let roles: Vec<_> = (0..arguments.rows.len())
        .map(|row| arguments.cell(row, "role").unwrap().as_text().unwrap())
        .collect();
    assert_eq!(roles, ["operand", "operand", "operand, written", "scratch"]);
    let products = report.table("products").unwrap();
    assert_eq!(products.rows.len(), 1);
    assert!(report.quality.iter().all(|note| note.id != "kernel_bound"));
}

#[test]
fn a_kernel_is_named_by_its_instruction_or_its_function() {
    let profile = program("pallas_attention_accumulator.v6e.hlo_proto.pb.gz");
    let first = with(&profile, "kernel text", &[]).unwrap();
    let second = with(&profile, "kernel text", &[("op", "attention_chunk_1.1")]).unwrap();
    let same = with(&profile, "kernel text", &[("op", "attention_chunk_1")]).unwrap();
    assert_eq!(second.texts[0].text, same.texts[0].text);
    assert_ne!(first.texts[0].text, second.texts[0].text);
    assert!(second.texts[0].text.starts_with("module attributes {stable_mosaic.version = "));
    let error = with(&profile, "kernel text", &[("op", "attention_chunk_7")]).unwrap_err();
    assert!(error.to_string().contains("attention_chunk_"), "{error}");
    let error = with(&program("decode.v5e.hlo_proto.pb.gz"), "kernel grid", &[]).unwrap_err();
    assert!(error.to_string().contains("no program here has a Pallas kernel"), "{error}");
}
