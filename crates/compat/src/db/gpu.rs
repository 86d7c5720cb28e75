//! Ops of a GPU: the kernels that an HLO instruction launched.

use std::borrow::Cow;

use haloscope_hlo::{InstructionIdx, TextOptions};
use haloscope_profile::{Decoded, Device, Line, Profile};
use haloscope_time::op_meta::Access;
use haloscope_time::op_rows::DeviceOps;
use haloscope_time::op_sums::Sums;

use super::{Db, Row, hlo};

/// The ops of one GPU. Kernels of no HLO instruction that the profile holds are none.
pub(super) fn ops<'p>(profile: &'p Profile, device: &Device) -> Db<'p> {
    let found = DeviceOps::as_stated(profile, device);
    let mut sums = vec![Sums::default(); found.ops.len()];
    found.walk(profile, None, |row, event, self_ps| sums[row].add(event, self_ps, None));
    let all = found.ops.into_iter().zip(&sums);
    let rows = all.filter_map(|((meta, _), sum)| {
        let program_id = meta.program_id?;
        let decoded = hlo::module(profile, device.host, program_id)?;
        // A kernel may name the whole path of annotations around it; the last is the instruction.
        let name = meta.name.rsplit("::").next()?;
        Some(row(program_id, decoded, decoded.module.instruction_by_name(name)?, sum))
    });
    Db::of_device(rows.collect(), span_ps(profile, device))
}

fn row<'p>(program_id: u64, decoded: &'p Decoded, index: InstructionIdx, sum: &Sums) -> Row<'p> {
    let (module, costs) = (&decoded.module, decoded.gpu_costs());
    let hlo = module.instruction(index);
    let cost = costs.instruction(index);
    let times = |per_run: Option<u64>| per_run.unwrap_or(0).saturating_mul(sum.occurrences);
    let flops = times(costs.flops_of_16_bits(module, index)) as f64;
    let model_flops = times(cost.flops) as f64;
    let traffic = costs.traffic(index);
    let access = |operation, bytes: u64| Access {
        operation,
        space: Access::HBM,
        bytes: bytes.saturating_mul(sum.occurrences),
    };
    let accesses = [access(Access::READ, traffic.read), access(Access::WRITE, traffic.written)];
    let deduplicated_name = hlo.metadata.as_ref().and_then(|m| m.deduplicated_name.as_deref());
    Row {
        program_id,
        name: Cow::Borrowed(&hlo.name),
        expression: module.instruction_text(index, &TextOptions::EXPRESSION).into(),
        category: module.xla_category(hlo).into(),
        provenance: hlo::provenance(hlo),
        deduplicated_name: deduplicated_name.unwrap_or_default().into(),
        source: hlo::source(module, hlo),
        occurrences: sum.occurrences,
        time_ps: sum.total_ps.max(0) as u64,
        self_ps: sum.self_ps.max(0) as u64,
        flops,
        model_flops: if model_flops > 0.0 { model_flops } else { flops },
        bytes: times(cost.bytes_accessed),
        accesses: accesses.into_iter().filter(|a| a.bytes > 0).collect(),
        cores: 1,
        ..Row::default()
    }
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
