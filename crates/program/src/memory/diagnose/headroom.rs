//! How much of the device's memory the program takes.

use super::Outcome;
use super::context::Context;
use super::thresholds::{FULL_SHARE, ROOM_SHARE};
use haloscope_report::units;
use haloscope_report::{Finding, Severity, Status};

pub(super) fn check(context: &Context<'_, '_>) -> Outcome {
    let threshold = format!(
        "over {} of the device's memory; room below {}",
        units::share(FULL_SHARE),
        units::share(ROOM_SHARE)
    );
    let peak = context.totals.peak_bytes;
    if context.attribution.memory.memory_space != 0 {
        return Outcome::not_applicable(threshold, "only the size of the main memory is known");
    }
    let Some(capacity) = &context.capacity else {
        let why = "how much memory the device has is not known: give --capacity";
        return Outcome { bytes: Some(peak), ..Outcome::unknown(threshold, why) };
    };
    let share = peak as f64 / capacity.bytes.max(1) as f64;
    let of = format!(
        "{} of {} ({})",
        units::bytes(peak as f64),
        units::bytes(capacity.bytes as f64),
        capacity.source
    );
    let free = units::bytes(capacity.bytes.saturating_sub(peak).max(0) as f64);
    let finding = if share > FULL_SHARE {
        Some(Finding {
            id: "memory_nearly_full",
            severity: if share > 1.0 { Severity::Error } else { Severity::Warning },
            claim: if share > 1.0 {
                format!("The program needs {} of the device's memory: it does not fit", units::share(share))
            } else {
                format!("The program takes {} of the device's memory at its peak", units::share(share))
            },
            evidence: of.clone(),
            ceiling: format!("the part over {} of the memory must go", units::share(FULL_SHARE)),
            recommendation: "try the other findings first; then more rematerialisation, a smaller batch per device, or weights and optimiser state sharded over more devices"
                .to_owned(),
            falsifier: "the runtime's allocator reports less in use: XLA's figure is an upper bound".to_owned(),
            status: Status::Derived,
            ..Finding::default()
        })
    } else if share < ROOM_SHARE {
        Some(Finding {
            id: "memory_to_spare",
            severity: Severity::Info,
            claim: format!(
                "The program takes {} of the device's memory at its peak: there is room",
                units::share(share)
            ),
            evidence: of.clone(),
            ceiling: format!("{free} more could be used"),
            recommendation: "use a larger batch, less rematerialisation, a larger cache, or fewer devices"
                .to_owned(),
            falsifier: "another program's buffers are in the same memory while this one runs".to_owned(),
            status: Status::Derived,
            ..Finding::default()
        })
    } else {
        None
    };
    Outcome::measured(peak, Some(share), threshold, format!("{of}; {free} free"), finding)
}
