//! Ops of a GPU: the kernels that an HLO instruction launched.

use haloscope_core::derive::op_rows::DeviceOps;
use haloscope_core::derive::op_sums::Sums;
use haloscope_core::profile::{Device, Line, Profile};

use super::{Db, Row, SourceInfo};

/// The ops of one GPU. Kernels of no HLO instruction that the profile holds are none.
pub(super) fn ops<'p>(profile: &'p Profile, device: &Device) -> Db<'p> {
    let found = DeviceOps::find(profile, device);
    let mut sums = vec![Sums::default(); found.ops.len()];
    found.walk(profile, None, |row, event, self_ps| sums[row].add(event, self_ps, None));
    let all = found.ops.into_iter().zip(&sums);
    let rows = all.filter_map(|((meta, _), sum)| {
        let program_id = meta.program_id?;
        // Only an op whose instruction was found has a category.
        if meta.category.is_empty() {
            return None;
        }
        let times = |per_run: Option<f64>| per_run.unwrap_or(0.0) * sum.occurrences as f64;
        Some(Row {
            program_id,
            source: SourceInfo::parse(&meta.source, meta.source_stack),
            expression: meta.expression,
            provenance: meta.tf_op,
            occurrences: sum.occurrences,
            time_ps: sum.total_ps.max(0) as u64,
            self_ps: sum.self_ps.max(0) as u64,
            flops: times(meta.flops),
            model_flops: times(meta.flops),
            bytes: times(meta.bytes) as u64,
            cores: 1,
            name: meta.name,
            category: meta.category,
            deduplicated_name: meta.deduplicated_name,
            ..Row::default()
        })
    });
    Db::of_device(rows.collect(), span_ps(profile, device))
}

/// Thread ids of lines that the profiler derived from others.
const DERIVED: std::ops::RangeInclusive<i32> = -559_038_737..=-559_038_448;

fn is_derived(line: &Line) -> bool {
    DERIVED.contains(&(line.wire_id as i32))
}

/// From the start of the first event to the end of the last, each from the start of its line, picoseconds.
fn span_ps(profile: &Profile, device: &Device) -> u64 {
    let lines = profile.lines_of(device.plane).filter(|l| !is_derived(l));
    let spans = lines.filter_map(|line| {
        let (from, to) = profile.events(line).span_ps()?;
        Some((from - line.base_ps, to - line.base_ps))
    });
    let (first, last) = spans.fold((i64::MAX, 0), |(a, b), (from, to)| (a.min(from), b.max(to)));
    if last == 0 { 0 } else { last.saturating_sub(first).max(0) as u64 }
}
