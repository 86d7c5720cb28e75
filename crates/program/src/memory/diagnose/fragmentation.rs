//! Memory that is set aside and that nothing alive fills.

use super::Outcome;
use super::context::Context;
use super::thresholds::{FRAGMENTATION_PEAK_SHARE, FRAGMENTATION_SHARE};
use haloscope_report::units;
use haloscope_report::{Finding, Severity, Status};

pub(super) fn check(context: &Context<'_, '_>) -> Outcome {
    let threshold = format!(
        "{} of the temporary allocation and {} of the peak",
        units::share(FRAGMENTATION_SHARE),
        units::share(FRAGMENTATION_PEAK_SHARE)
    );
    let runtime = context.runtime_fragmentation.as_ref();
    let runtime = runtime.map_or_else(String::new, |(name, share)| {
        format!(
            "; at the run's fullest moment {} of the free memory of allocator {name} was in pieces",
            units::share(*share)
        )
    });
    let memory = context.attribution.memory;
    let (Some(trace), Some(replay)) = (memory.trace, memory.replay.as_ref()) else {
        let why = format!("the program has no heap simulator trace{runtime}");
        return Outcome::unknown(threshold, &why);
    };
    let filled = memory
        .allocations
        .iter()
        .filter(|allocation| memory.buffers.trace_of(allocation).is_some_and(|of| std::ptr::eq(of, trace)));
    let size = units::sum(filled.map(|allocation| allocation.size_bytes));
    if size <= 0 {
        let why = format!("the heap simulator's trace fills no allocation{runtime}");
        return Outcome::unknown(threshold, &why);
    }
    let unused = size.saturating_sub(replay.peak_bytes).max(0);
    let share = unused as f64 / size as f64;
    let evidence = format!(
        "the temporary allocation is {}, of which {} are alive at the peak{runtime}",
        units::bytes(size as f64),
        units::bytes(replay.peak_bytes as f64)
    );
    let is_much = share > FRAGMENTATION_SHARE && context.of_peak(unused) > FRAGMENTATION_PEAK_SHARE;
    let finding = is_much.then(|| Finding {
        id: "fragmentation",
        severity: Severity::Warning,
        claim: format!(
            "{} of the temporary allocation ({}) is never filled at once",
            units::share(share),
            units::bytes(unused as f64)
        ),
        evidence: evidence.clone(),
        ceiling: format!("{} less, if buffers were packed without gaps", units::bytes(unused as f64)),
        recommendation: "use fewer different sizes of large temporaries: chunk large values equally, keep batch and sequence sizes fixed, and try another scheduler (xla_tpu_enable_latency_hiding_scheduler) or memory limit"
            .to_owned(),
        falsifier: "the compiler's memory report explains the gap by something else, such as asynchronous copies in flight"
            .to_owned(),
        status: Status::Derived,
        ..Finding::default()
    });
    Outcome::measured(unused, Some(share), threshold, evidence, finding)
}
