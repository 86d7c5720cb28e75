//! What is said where steps are missing.

use super::StepDb;
use crate::gviz::{DataTable, Kind};

const NO_MARKER: &str = "No step marker observed and hence the step time is unknown. This may happen if (1) training \
     steps are not instrumented (e.g., if you are not using Keras) or (2) the profiling duration is shorter than the step \
     time. For (1), you need to add step instrumentation; for (2), you may try to profile longer.";

const EMPTY_INTERSECT: &str = "Although there are steps observed on some host(s), the intersection of the steps over all \
     hosts is empty (because the differences among individual host's step sequences are too big). Consequently, the \
     overall step time is unknown.";

const NO_DEVICE_TRACE: &str = "No TensorCore device trace was collected. This might happen if your job hadn't been run on \
     the device when sampling was turned on. You could try the sampling again later.";

/// The warnings about a run's steps.
pub(crate) fn step_warnings(db: &StepDb) -> Vec<String> {
    let why = if db.empty_intersect { EMPTY_INTERSECT } else { NO_MARKER };
    if db.rows.is_empty() { vec![why.to_owned()] } else { Vec::new() }
}

/// The errors of a run: what the profiler complained of, else that it recorded no device.
pub(crate) fn errors(environment: &super::Environment) -> Vec<String> {
    let run = &environment.run;
    if environment.errors.is_empty() && run.device_type != "CPU" && run.core_count == 0 {
        return vec![NO_DEVICE_TRACE.to_owned()];
    }
    environment.errors.clone()
}

/// Warnings and errors as a table.
pub(crate) fn table(warnings: &[String], errors: &[String]) -> DataTable {
    let mut table =
        DataTable::new(&[("severity", Kind::String, "Severity"), ("message", Kind::String, "Message")]);
    for (severity, messages) in [("WARNING", warnings), ("ERROR", errors)] {
        messages.iter().for_each(|message| table.row([severity.into(), message.as_str().into()]));
    }
    table
}
