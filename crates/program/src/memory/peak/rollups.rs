//! The buffers at the peak, summed by what they have in common, and whether the sums are the peak.

use std::collections::BTreeMap;

use super::buffers::Row;
use crate::program_memory::ProgramMemory;
use haloscope_report::units;
use haloscope_report::{Cell, Table, row};

/// The tables, in the order in which a person would read them.
pub(super) fn all(rows: &[Row<'_, '_>]) -> Vec<Table> {
    let group = |row: &Row<'_, '_>| row.alive.group.name().to_owned();
    let layer = |row: &Row<'_, '_>| row.layer.map(|layer| layer.to_string()).unwrap_or_default();
    let opcode = |row: &Row<'_, '_>| row.alive.instruction().opcode_name().to_owned();
    let source = |row: &Row<'_, '_>| row.source.clone().into_owned();
    vec![
        rollup("by_group", "At the peak, by group", rows, group),
        rollup("by_layer", "At the peak, by layer (a guess from the op name)", rows, layer),
        rollup("by_scope", "At the peak, by scope", rows, |row| row.scope()),
        rollup("by_opcode", "At the peak, by opcode", rows, opcode),
        rollup("by_source", "At the peak, by source line", rows, source),
    ]
}

#[derive(Default)]
struct Sum {
    bytes: i64,
    padding_bytes: i64,
    buffers: usize,
}

fn rollup(
    id: &'static str,
    title: &'static str,
    rows: &[Row<'_, '_>],
    key: impl Fn(&Row<'_, '_>) -> String,
) -> Table {
    let mut sums: BTreeMap<String, Sum> = BTreeMap::new();
    for row in rows {
        let sum = sums.entry(key(row)).or_default();
        sum.bytes = sum.bytes.saturating_add(row.alive.bytes);
        sum.padding_bytes = sum.padding_bytes.saturating_add(row.padding_bytes.unwrap_or(0));
        sum.buffers += 1;
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.bytes));
    let all = units::sum(rows.iter().map(|row| row.alive.bytes));
    let mut table = Vec::new();
    for (name, sum) in sums {
        let row = row![
            text("name", "Name", "What the buffers have in common; may be unknown.", Cell::words(&name)),
            bytes("bytes", "Bytes", "What they add to the peak.", sum.bytes),
            share("share", "Share", "Of the peak.", (all > 0).then(|| sum.bytes as f64 / all as f64)),
            bytes("padding_bytes", "Padding", "Bytes beyond those of their elements.", sum.padding_bytes),
            count("buffers", "Buffers", "How many there are.", sum.buffers),
        ];
        table.push(row);
    }
    Table::of(id, title, table)
}

/// Sums that must be the peak, each with the peak.
pub(super) fn identities(memory: &ProgramMemory<'_, '_>, rows: &[Row<'_, '_>], rollups: &[Table]) -> Table {
    let peak = memory.peak_bytes();
    let mut table = Vec::new();
    let mut push = |name: &str, parts: i64, whole: i64| {
        let row = row![
            text("identity", "Identity", "What must be equal.", name),
            bytes("parts_bytes", "Parts", "The sum of the parts.", parts),
            bytes("whole_bytes", "Whole", "What it must be.", whole),
            flag("holds", "Holds", "Whether they are equal.", parts == whole),
        ];
        table.push(row);
    };
    push(
        "buffers alive at the peak sum to the peak",
        units::sum(rows.iter().map(|row| row.alive.bytes)),
        peak,
    );
    let of_span = |is_temporary: bool| {
        units::sum(
            rows.iter().filter(|row| row.alive.span.is_some() == is_temporary).map(|row| row.alive.bytes),
        )
    };
    let temporary = memory.replay.as_ref().map_or(0, |replay| replay.peak_bytes);
    push("temporary buffers sum to the peak of the heap trace", of_span(true), temporary);
    push("lasting buffers sum to the allocations that last", of_span(false), memory.lasting_bytes());
    for rollup in rollups {
        let bytes = |row: usize| match rollup.cell(row, "bytes") {
            Some(Cell::Int(bytes)) => *bytes,
            _ => 0,
        };
        push(
            &format!("rows of `{}` sum to the peak", rollup.id),
            units::sum((0..rollup.rows.len()).map(bytes)),
            peak,
        );
    }
    Table::of("identities", "Do the parts sum to the peak?", table)
}
