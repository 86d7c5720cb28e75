//! What a program does beside its mathematics: fills tiles with nothing, changes types, copies.

mod casts;
mod copies;
pub(super) mod padding;

use rustc_hash::FxHashMap;

use super::facts::Fact;
use haloscope_profile::{Peaks, chips};
use haloscope_report::{Cell, Status, Table, row};

/// What one op wastes in one way.
pub(super) struct Row<'f, 'a, 'p> {
    pub(super) kind: Kind,
    /// What of the kind, such as why a copy is there.
    pub(super) what: String,
    pub(super) fact: &'f Fact<'a, 'p>,
    pub(super) self_ps: i64,
    pub(super) wasted_ps: Option<f64>,
    pub(super) bytes: Option<f64>,
    pub(super) detail: String,
    pub(super) status: Status,
}

/// In which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A product whose extents are no multiples of the matrix unit's.
    PaddedProduct,
    /// An array whose tiles hold more than its elements.
    PaddedBytes,
    /// An op that changes a type and does nothing else.
    Cast,
    /// A copy.
    Copy,
    /// A transpose, reshape or change of layout through memory.
    Relayout,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::PaddedProduct => "padded product",
            Self::PaddedBytes => "padded bytes",
            Self::Cast => "cast",
            Self::Copy => "copy",
            Self::Relayout => "relayout",
        }
    }
}

/// All rows, the most wasted first.
pub(super) fn all<'f, 'a, 'p>(
    facts: &'f [Fact<'a, 'p>],
    peaks: &Peaks,
    device_type: &str,
) -> Vec<Row<'f, 'a, 'p>> {
    let by_name: ByName<'f, 'a, 'p> =
        facts.iter().map(|fact| ((fact.op.meta.program_id, fact.op.meta.name.as_ref()), fact)).collect();
    let mut rows = casts::rows(facts, &by_name);
    rows.extend(copies::rows(facts, &by_name));
    if let Some(chip) = chips::tpu(device_type) {
        rows.extend(padding::products(facts, chip.matrix_edge));
        rows.extend(padding::bytes(facts, peaks));
    }
    rows.retain(|row| row.self_ps > 0);
    rows.sort_by(|a, b| {
        let key = |row: &Row<'_, '_, '_>| row.wasted_ps.unwrap_or(-1.0);
        key(b).total_cmp(&key(a)).then_with(|| a.fact.op.meta.name.cmp(&b.fact.op.meta.name))
    });
    rows
}

/// Facts by program and op.
type ByName<'f, 'a, 'p> = FxHashMap<(Option<u64>, &'f str), &'f Fact<'a, 'p>>;

/// The time wasted in one way; `None` where no row says.
pub(super) fn wasted(rows: &[Row<'_, '_, '_>], kind: Kind) -> Option<f64> {
    let own = rows.iter().filter(|row| row.kind == kind).filter_map(|row| row.wasted_ps);
    own.fold(None, |sum: Option<f64>, ps| Some(sum.unwrap_or(0.0) + ps))
}

pub(super) fn table(rows: &[Row<'_, '_, '_>], all_ps: i64) -> Table {
    let mut table = Vec::new();
    for row in rows {
        let meta = &row.fact.op.meta;
        let kind = if row.what.is_empty() {
            row.kind.word().to_owned()
        } else {
            format!("{}: {}", row.kind.word(), row.what)
        };
        let row = row![
            text(
                "kind",
                "Kind",
                "padded product, padded bytes, cast, cast there and back, copy with its reason, relayout.",
                kind
            ),
            text("op", "Op", "The op whose time it is.", meta.name.as_ref()),
            duration(
                "self_ps",
                "Time",
                "Self time of the op; for an asynchronous copy, of its start and end.",
                row.self_ps
            ),
            share(
                "self_share",
                "Share",
                "Of all self time.",
                (all_ps > 0).then(|| row.self_ps as f64 / all_ps as f64)
            ),
            duration(
                "wasted_ps",
                "Wasted",
                "Time that would be saved: all of it for casts, copies and relayouts; for padding an estimate, the roofline's least time with padding minus that without.",
                row.wasted_ps.map(f64::round)
            ),
            bytes(
                "bytes",
                "Bytes",
                "Bytes that the op moves; for padded bytes, only the padding.",
                row.bytes.map(f64::round)
            ),
            text("detail", "Detail", "Shapes and reasons.", Cell::words(&row.detail)),
            text(
                "status",
                "Known",
                "derived or estimated.",
                if row.status == Status::Estimated { "estimated" } else { "derived" }
            ),
            count("occurrences", "Count", "Executions, summed over devices.", row.fact.op.occurrences),
            text(
                "framework_op",
                "Framework op",
                "The scope path in JAX, PyTorch or TensorFlow.",
                Cell::words(&meta.framework_op)
            ),
            text("source", "Source", "File and line.", Cell::words(&meta.source)),
            text("module", "Module", "The HLO module.", Cell::words(&row.fact.op.module)),
        ];
        table.push(row);
    }
    Table::of("audit", "Padding, casts and copies", table)
}
