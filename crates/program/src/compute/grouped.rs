//! Grouped products: what the kernels of experts say of the model.
//!
//! A layer of experts multiplies twice (three times with a gate). Forward that is as many grouped products; backward each
//! becomes one grouped product (for its input) and one transposed one (for its weights). With two products a layer there are
//! so 4 grouped and 2 transposed ones a layer, and 6 where the forward pass is computed twice.

use std::collections::BTreeMap;

use super::facts::Fact;
use haloscope_report::{Table, Unit, row};
use haloscope_time::op_class::Class;

/// One row a program that has such kernels. `runs` is how often a program ran in the scope, summed over devices.
pub(super) fn table(facts: &[Fact<'_, '_>], runs: impl Fn(Option<u64>, &str) -> Option<u64>) -> Table {
    let mut programs: BTreeMap<(&str, Option<u64>), (u64, u64, i64)> = BTreeMap::new();
    for fact in facts.iter().filter(|fact| fact.class == Class::GroupedMatmul) {
        let row = programs.entry((&fact.op.module, fact.op.meta.program_id)).or_default();
        if is_transposed(fact) {
            row.1 += fact.op.occurrences;
        } else {
            row.0 += fact.op.occurrences;
        }
        row.2 = row.2.saturating_add(fact.op.self_ps);
    }
    let mut rows = Vec::new();
    for ((module, id), (plain, transposed, self_ps)) in programs {
        let a_run = |count: u64| {
            let runs = runs(id, module).filter(|runs| *runs > 0)?;
            Some(count as f64 / runs as f64)
        };
        let weights = if transposed > 0 { transposed } else { plain };
        let passes = (transposed > 0).then(|| plain as f64 / transposed as f64 - 1.0);
        let row = row![
            text("module", "Module", "The HLO module.", module),
            count(
                "plain",
                "Grouped",
                "Grouped products of one run of the program (gmm, ragged_dot), without transposed ones.",
                a_run(plain).map(|n| n.round() as i64)
            ),
            count(
                "transposed",
                "Transposed",
                "Grouped products that give gradients of the weights (tgmm).",
                a_run(transposed).map(|n| n.round() as i64)
            ),
            duration("self_ps", "Self time", "Of all of them, summed over executions and devices.", self_ps),
            float(
                "layers_of_two",
                "Layers, 2 products",
                Unit::Ratio,
                "Estimated layers with experts if each multiplies twice: transposed / 2, else grouped / 2.",
                a_run(weights).map(|n| n / 2.0)
            ),
            float(
                "layers_of_three",
                "Layers, 3 products",
                Unit::Ratio,
                "The same if a gate makes it three products.",
                a_run(weights).map(|n| n / 3.0)
            ),
            float(
                "forward_passes",
                "Forward passes",
                Unit::Ratio,
                "Estimated: grouped / transposed - 1. It is 1 without recomputation, 2 if the forward pass is computed twice.",
                passes
            ),
        ];
        rows.push(row);
    }
    Table::of("grouped_matmuls", "Grouped products of experts", rows)
}

fn is_transposed(fact: &Fact<'_, '_>) -> bool {
    let meta = &fact.op.meta;
    let words = |text: &str| text.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == "tgmm");
    words(&meta.name) || words(meta.framework_op.rsplit('/').next().unwrap_or_default())
}
