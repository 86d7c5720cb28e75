//! Jumps of the heap.

use super::Outcome;
use super::context::Context;
use super::thresholds::SPIKE_SHARE;
use haloscope_report::units;
use haloscope_report::{Finding, Severity, Status};

pub(super) fn check(context: &Context<'_, '_>) -> Outcome {
    let threshold = format!("a jump of {} of the peak", units::share(SPIKE_SHARE));
    let memory = context.attribution.memory;
    let (Some(trace), Some(replay)) = (memory.trace, memory.replay.as_ref()) else {
        return Outcome::unknown(threshold, "the program has no heap simulator trace");
    };
    let jumps = replay.in_use_bytes.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
    let mut jumps: Vec<(usize, i64)> = jumps.enumerate().filter(|(_, jump)| *jump > 0).collect();
    jumps.sort_by_key(|(event, jump)| (std::cmp::Reverse(*jump), *event));
    let events = context.event_count().max(1);
    let word = |(event, jump): &(usize, i64)| {
        let row = trace.events.get(*event).and_then(|event| memory.buffers.row(event.buffer_id));
        let name = row.and_then(|row| memory.buffers.get(row)).map_or("?", |b| b.instruction.name.as_str());
        format!(
            "{} for {name} at {}",
            units::bytes(*jump as f64),
            units::share(*event as f64 / events as f64)
        )
    };
    let words: Vec<String> = jumps.iter().take(3).map(word).collect();
    let first = jumps.first().map_or(0, |(_, jump)| *jump);
    let share = context.of_peak(first);
    let finding = (share >= SPIKE_SHARE).then(|| Finding {
        id: "heap_spike",
        severity: Severity::Info,
        claim: format!(
            "One value takes {} of the peak at once ({})",
            units::share(share),
            units::bytes(first as f64)
        ),
        evidence: format!("largest jumps, with their place in the schedule: {}", words.join("; ")),
        ceiling: format!("{}, if it were made in pieces", units::bytes(first as f64)),
        recommendation:
            "make the value in pieces: chunk the batch or sequence, or fuse its producer with its consumer"
                .to_owned(),
        falsifier: "the jump is far below the peak: see the curve of `memory peak`".to_owned(),
        status: Status::Derived,
        ..Finding::default()
    });
    let said = if words.is_empty() { "the heap is never used".to_owned() } else { words.join("; ") };
    Outcome::measured(first, Some(share), threshold, said, finding)
}
