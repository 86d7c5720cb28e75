//! What a page draws: live bytes along the schedule, and which temporary buffer lies where and when.

use super::instruction_at;
use crate::heap::{HeapReplay, is_indefinite};
use crate::memory::extrema::thin;
use crate::program_memory::{Group, ProgramMemory, name_of};
use haloscope_report::{Cell, Notes, Series, Severity, Table, Unit, row};

/// Points of a curve.
const POINTS: usize = 2000;
/// Buffers in the drawing.
const BLOCKS: usize = 2000;

pub(super) struct Drawing {
    pub(super) table: Table,
    pub(super) series: Vec<Series>,
}

struct Block {
    row: usize,
    offset_bytes: i64,
    from: usize,
    until: usize,
}

pub(super) fn of(memory: &ProgramMemory<'_, '_>, notes: &mut Notes) -> Drawing {
    let mut series = Vec::new();
    let blocks =
        memory.replay.as_ref().map(|replay| shown(memory, replay, &mut series, notes)).unwrap_or_default();
    let row = |(block, is_at_peak): (Block, bool)| {
        let buffer = memory.buffers.get(block.row)?;
        let row = row![
            text("instruction", "Instruction", "The instruction that makes the buffer.", name_of(buffer)),
            bytes(
                "offset_bytes",
                "Offset",
                "Its offset from the start of the first temporary allocation; the next allocation begins where the first ends.",
                block.offset_bytes
            ),
            bytes("bytes", "Bytes", "Its size, including padding.", buffer.logical.size_bytes),
            count("from_event", "From", "The heap event at which it gets memory.", block.from),
            count(
                "until_event",
                "Until",
                "The heap event at which it is freed, or the last one.",
                block.until
            ),
            text(
                "from",
                "At",
                "The instruction at which it gets memory.",
                Cell::words(instruction_at(memory, block.from))
            ),
            text("group", "Group", "What its allocation is for.", Group::of(buffer.allocation).name()),
            flag("is_at_peak", "At peak", "Whether it is alive at the peak.", is_at_peak),
            count("buffer_id", "Buffer", "Its number in the buffer assignment.", buffer.logical.id),
            count("allocation", "Allocation", "The number of its allocation.", buffer.allocation.index),
        ];
        Some(row)
    };
    let rows = blocks.into_iter().filter_map(row);
    Drawing { table: Table::of("allocations", "Temporary buffers by address and time", rows), series }
}

/// The curves of live bytes, and the buffers to draw, each with whether it is alive at the peak.
fn shown(
    memory: &ProgramMemory<'_, '_>,
    replay: &HeapReplay,
    series: &mut Vec<Series>,
    notes: &mut Notes,
) -> Vec<(Block, bool)> {
    let lasting = memory.lasting_bytes();
    let all = replay.in_use_bytes.len().saturating_sub(1);
    let mut curve = |id: &str, title: &str, bytes: &[i64]| {
        // What is in use from an event on: the peak stands at the event that reaches it, and buffers begin where the curve rises.
        let after = bytes.iter().skip(1).enumerate();
        let points = after.map(|(event, b)| [event as f64, b.saturating_add(lasting) as f64]);
        series.push(Series {
            id: id.to_owned(),
            title: title.to_owned(),
            x: ("Heap event", Unit::Count),
            y: ("Live bytes", Unit::Bytes),
            points: thin(points.collect(), POINTS),
        });
    };
    curve("live", "Live bytes", &replay.in_use_bytes);
    curve("live_unpadded", "Live bytes, temporary buffers without padding", &replay.unpadded_in_use_bytes);
    if all > POINTS {
        thinned(
            notes,
            format!("the curves of live bytes show the highest and lowest of each run of {all} heap events"),
        );
    }

    let mut blocks = blocks(memory, &replay.spans);
    let count = blocks.len();
    if count > BLOCKS {
        let area = |block: &Block| {
            let bytes = memory.buffers.get(block.row).map_or(0, |b| b.logical.size_bytes.max(0));
            i128::from(bytes) * (block.until.saturating_sub(block.from) as i128 + 1)
        };
        blocks.sort_by_cached_key(|block| std::cmp::Reverse(area(block)));
        blocks.truncate(BLOCKS);
        thinned(
            notes,
            format!(
                "the table `allocations` shows the {BLOCKS} of {count} temporary buffers with the largest bytes times time"
            ),
        );
    }
    blocks.sort_by_key(|block| (block.from, block.offset_bytes));
    let mut at_peak: Vec<usize> = replay.held_at_peak.iter().map(|held| held.user).collect();
    at_peak.sort_unstable();
    let mark = |block: Block| {
        let is_at_peak = at_peak.binary_search(&block.row).is_ok();
        (block, is_at_peak)
    };
    blocks.into_iter().map(mark).collect()
}

fn thinned(notes: &mut Notes, message: String) {
    notes.add(
        "thinned",
        Severity::Info,
        message,
        "this affects only the drawing: values and other tables count everything",
        "",
    );
}

fn blocks(memory: &ProgramMemory<'_, '_>, spans: &[Option<(usize, usize)>]) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut start_bytes = 0i64;
    for allocation in memory.allocations.iter().filter(|a| !is_indefinite(a)) {
        for assigned in &allocation.assigned {
            let Some(row) = memory.buffers.row(assigned.buffer_id) else { continue };
            let span = spans.get(row).copied().flatten();
            if let Some((from, until)) = span {
                let offset_bytes = start_bytes.saturating_add(assigned.offset_bytes);
                blocks.push(Block { row, offset_bytes, from, until });
            }
        }
        start_bytes = start_bytes.saturating_add(allocation.size_bytes);
    }
    blocks
}
