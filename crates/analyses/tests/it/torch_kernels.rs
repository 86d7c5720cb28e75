//! Kernels that PyTorch on TPUs runs as programs of one name: each is known by XLA's name of its kernel.

use haloscope_profile::Profile;
use haloscope_report::Cell;

use crate::made::{Made, US, profile};
use crate::support::ask;

/// Two programs, each a Pallas kernel with a name of its own, and what calls both kernels in turn; a fourth whose HLO is not held.
fn run() -> Profile {
    let call = |name: &str| {
        format!("  {name} = f32[8]{{0}} custom-call(p), custom_call_target=\"tpu_custom_call\"\n")
    };
    let text = |module: &str, body: &str, root: &str| {
        format!(
            "HloModule {module}\n\nENTRY e {{\n  p = f32[8]{{0}} parameter(0)\n{body}  ROOT r = f32[8]{{0}} negate({root})\n}}\n"
        )
    };
    let many: String = (1..7).map(|n| call(&format!("k.{n}"))).collect();
    let mut held = Made::named("/host:metadata");
    for (name, id, hlo) in [
        (
            "tt_jit_custom_kernel",
            4_871,
            text("tt_jit_custom_kernel", &call("named_pallas_add.1"), "named_pallas_add.1"),
        ),
        (
            "tt_jit_custom_kernel",
            1_065,
            text("tt_jit_custom_kernel", &call("named_pallas_multiply.1"), "named_pallas_multiply.1"),
        ),
        ("tt_jit_step", 3, text("tt_jit_step", &many, "k.6")),
    ] {
        held.program(&format!("{name}({id})"), &hlo);
    }
    let mut tpu = Made::tpu(0);
    let (mut programs, mut ops, mut at) = (Vec::new(), Vec::new(), 0);
    for (name, id) in [
        ("tt_jit_custom_kernel", 4_871),
        ("tt_jit_custom_kernel", 1_065),
        ("tt_jit_step", 3),
        ("tt_jit_custom_kernel", 77),
    ] {
        let program = tpu.meta(&format!("{name}({id})"), &[]);
        let op = tpu.op(&format!("op.{id}"), "custom-call", 10, 10);
        programs.push((program, at, 10 * US));
        ops.push((op, at, 10 * US));
        at += 12 * US;
    }
    tpu.line("XLA Modules", 0, &programs);
    tpu.line("XLA Ops", 0, &ops);
    profile(vec![held, tpu])
}

#[test]
fn a_kernel_of_pytorch_is_known_by_its_own_name() {
    let report = ask(&run(), "hlo modules", &[]);
    let table = report.table("modules").unwrap();
    let kernels = |id: i64| {
        let row = (0..table.rows.len())
            .find(|row| table.cell(*row, "program_id").is_some_and(|cell| cell_is(cell, id)))
            .unwrap_or_else(|| panic!("no program {id}"));
        table.cell(row, "kernels").and_then(Cell::as_text).map(str::to_owned)
    };
    assert_eq!(kernels(4_871).as_deref(), Some("named_pallas_add.1"));
    assert_eq!(kernels(1_065).as_deref(), Some("named_pallas_multiply.1"));
    assert_eq!(kernels(3).as_deref(), Some("k.1, k.2, k.3, k.4, and 2 more"));
    assert_eq!(kernels(77), None, "nobody holds its HLO");
    // Kernels of other names are no variants of one function.
    assert!(report.table("variants").is_none_or(|variants| variants.rows.is_empty()));
}

fn cell_is(cell: &Cell, id: i64) -> bool {
    cell.as_text().is_some_and(|text| text == id.to_string()) || *cell == Cell::Int(id)
}
