//! Columns of `hlo modules`.

use haloscope_report::Column;

pub(super) const MODULES: &[Column] = &[
    Column::text("module", "Module", "Name."),
    Column::text("program_id", "Program", "Program id, as the profiler labels it."),
    Column::duration(
        "time_ps",
        "Time",
        "Time of its executions, summed over devices; unknown without a profile.",
    ),
    Column::count("launches", "Executions", "Executions, summed over devices."),
    Column::count(
        "instructions",
        "Instructions",
        "Instructions in all computations; unknown where the profile lacks the module.",
    ),
    Column::count("computations", "Computations", "Computations."),
    Column::count("fusions", "Fusions", "Fusion instructions."),
    Column::count("whiles", "Whiles", "Loops."),
    Column::count("parameters", "Parameters", "Parameters of the entry."),
    Column::bytes("parameter_bytes", "Their size", "Bytes of these, padding included."),
    Column::flag("buffers", "Buffers", "Whether the buffer assignment is with it."),
    Column::flag("scheduled", "Scheduled", "Whether its instructions are in the order in which they run."),
    Column::count("partitions", "Partitions", "Partitions it was compiled for, where it says so."),
    Column::count("replicas", "Replicas", "Replicas, likewise."),
    Column::text(
        "fingerprint",
        "Fingerprint",
        "Number of what it computes: equal for programs that differ in nothing but names, ids, metadata and schedule.",
    ),
    Column::count("hosts", "Hosts", "Hosts that hold it."),
    Column::text("host", "Host", "The host, where one alone holds it."),
    Column::text("stage", "Stage", "Where in the compilation, of a dump."),
    Column::duration("mean_ps", "Mean", "Time of one execution."),
];

pub(super) const VARIANTS: &[Column] = &[
    Column::text("module", "Module", "Name that several programs share."),
    Column::count("programs", "Programs", "Programs of this name on one host."),
    Column::count("fingerprints", "Distinct", "How many of them differ in what they compute."),
    Column::text("differ_in", "Differ in", "Parameters whose shapes differ, or that only the rest does."),
    Column::text("host", "Host", "The first host that has them."),
];

pub(super) const COMPILATIONS: &[Column] = &[
    Column::text("event", "Event", "Name of the host event."),
    Column::count("count", "Count", "How many begin in the capture."),
    Column::duration("total_ps", "Time", "Their time; events inside one another count each."),
    Column::duration("longest_ps", "Longest", "The longest."),
    Column::duration("first_ps", "First at", "Start of the first, from the start of the run."),
    Column::text("host", "Host", "The host."),
];
