//! Ops of a TPU's TensorCore.

use haloscope_core::derive::op_meta::{Access, OpMeta};
use haloscope_core::derive::op_rows::DeviceOps;
use haloscope_core::derive::op_sums::{Measured, Sums, measured};
use haloscope_core::profile::{Device, LineKind, Profile};

use super::row::{CoreType, SourceInfo};
use super::{Db, Row, sparse};

/// The ops of one core.
pub(super) fn ops<'p>(profile: &'p Profile, device: &Device) -> Db<'p> {
    let found = DeviceOps::find(profile, device);
    let mut sums = vec![Sums::default(); found.ops.len()];
    found.walk(profile, None, |row, event, self_ps| sums[row].add(event, self_ps, None));
    let measured = measured(profile, &found);
    let mut offloaded = sparse::offloaded(profile, device, &found);
    let all = found.ops.into_iter().zip(sums.iter().zip(&measured)).enumerate();
    let rows = all.filter_map(|(at, ((meta, _), (sum, measured)))| {
        let row = row(meta, sum, measured)?;
        Some(Row { offloaded: offloaded.remove(&at).map(Box::new), ..row })
    });
    Db::of_device(rows.collect(), span_ps(profile, device))
}

/// The row of an op, if it has one: an op needs a program and a symbol other than the program itself.
pub(super) fn row<'p>(meta: OpMeta<'p>, sum: &Sums, measured: &Measured) -> Option<Row<'p>> {
    let program_id = meta.program_id?;
    meta.symbol_id.filter(|id| *id != 0)?;
    let times = |per_run: f64| per_run * sum.occurrences as f64;
    // FLOPs and bytes that only the events of a custom call state do not count.
    let flops = meta.flops.filter(|_| !meta.flops_from_events).unwrap_or(0.0);
    let model_flops = meta.model_flops.filter(|v| *v > 0.0 && !meta.flops_from_events).unwrap_or(flops);
    let bytes = meta.bytes.filter(|_| !meta.bytes_from_events).unwrap_or(0.0);
    let access = |a: &Access| Access { bytes: a.bytes.saturating_mul(sum.occurrences), ..*a };
    Some(Row {
        program_id,
        source: SourceInfo::parse(&meta.source, meta.source_stack),
        name: meta.name,
        expression: meta.expression,
        category: meta.category,
        provenance: meta.tf_op,
        deduplicated_name: meta.deduplicated_name,
        occurrences: sum.occurrences,
        time_ps: sum.total_ps.max(0) as u64,
        normalized_ps: measured.normalized_ps.max(0) as u64,
        self_ps: sum.self_ps.max(0) as u64,
        flops: times(flops),
        model_flops: times(model_flops),
        bytes: times(bytes) as u64,
        accesses: meta.accesses.iter().map(access).collect(),
        dma_stall_ps: measured.dma_stall_ps.max(0) as u64,
        cores: 1,
        core_type: CoreType::Tensor,
        energy_j: measured.energy_j.unwrap_or(0.0),
        ..Row::default()
    })
}

/// From the start of the first op or step to the end of the last by the device's own clock, picoseconds.
fn span_ps(profile: &Profile, device: &Device) -> u64 {
    let lines = profile.lines_of(device.plane);
    let lines = lines.filter(|l| matches!(l.kind, LineKind::XlaOps | LineKind::Steps));
    let spans = lines.flat_map(|line| {
        let events = profile.events(line);
        let placed = (0..events.len()).map(|i| events.on_device_clock(i)).map(|e| (e.start_ps, e.end_ps));
        // Events without a place in time count as at the start of their line.
        let start = line.base_ps;
        placed.chain(events.aggregated.iter().map(move |(_, _, ps)| (start, start.saturating_add(*ps))))
    });
    let (first, last) = spans.fold((i64::MAX, i64::MIN), |(a, b), (from, to)| (a.min(from), b.max(to)));
    last.checked_sub(first).map_or(0, |span| span.max(0) as u64)
}
