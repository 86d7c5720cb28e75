//! Remarks on the data: what is missing, cut or guessed, what that costs, and which capture option cures it.

use super::fix::{self, Fix};
use super::op_lines::holds_ops;
use super::ops::Op;
use super::pallas::Bound;
use super::select::Selection;
use super::steps::{StepClass, Steps};
use haloscope_profile::{DeviceKind, Line, LineKind, Pieces, Profile, TraceJson};
use haloscope_report::Error;
use haloscope_report::units;
use haloscope_report::{Notes, Severity};

/// The number of events at which exporters of trace viewers stop (JAX's `trace.json.gz`, XProf's trace viewer).
const TRUNCATED_AT: u64 = 1_000_000;

/// Why a selection has no op.
#[must_use]
pub fn no_ops(profile: &Profile, selection: &Selection<'_>) -> Error {
    let all = selection.devices.iter();
    if selection.cuts_time() || selection.names_modules() {
        return Error::Nothing(
            "no op ran in the scope; widen the window or the steps, or check the module's name".into(),
        );
    }
    let kinds: Vec<_> = all.map(|d| d.kind).collect();
    let message = if kinds.contains(&DeviceKind::Tpu) {
        "the TPU planes have no XLA Ops line with events. Expected device tracing to be on: capture with \
         device_tracer_level 1 while the program runs"
    } else if kinds.contains(&DeviceKind::Gpu) {
        "the GPU planes have no kernels. Expected streams with events: check that the profiler could use CUPTI or \
         rocprofiler (driver permissions), and that the program ran while it was captured"
    } else if profile.modules.is_empty() {
        "the profile has no device plane, and no host event names an HLO op (stat hlo_op). A TensorFlow program on CPU without XLA has none; `inspect` shows what the profile has, `ops --on host` the host's events"
    } else {
        "the profile has no device plane, and no host event names an HLO op: capture with host_tracer_level 2 or more"
    };
    Error::Nothing(message.into())
}

/// Remarks that concern ops, times and rates.
pub fn remarks(profile: &Profile, selection: &Selection<'_>, ops: &[Op<'_>], notes: &mut Notes) {
    peaks(selection, notes);
    uncounted_flops(profile, selection, ops, notes);
    counted_kernels(ops, notes);
    unattributed_kernels(profile, ops, notes);
    impossible_rates(selection, ops, notes);
    refused_rates(profile, selection, ops, notes);
    events(profile, selection, notes);
}

/// Missing or guessed peak rates.
pub fn peaks(selection: &Selection<'_>, notes: &mut Notes) {
    for device in &selection.devices {
        let missing = match (device.peaks.flops, device.peaks.hbm) {
            (Some(_), Some(_)) => continue,
            (None, Some(_)) => "no peak FLOP rate",
            (Some(_), None) => "no peak HBM bandwidth",
            (None, None) => "no peak rates",
        };
        let fix = match device.kind {
            DeviceKind::Cpu => "",
            DeviceKind::Gpu => {
                "a profiler that writes gpu_device_name (AMD: with the gfx architecture) or peak_teraflops_per_second"
            }
            DeviceKind::Tpu => {
                "a libtpu that writes peak_teraflops_per_second and peak_hbm_bw_gigabytes_per_second"
            }
        };
        notes.add(
            "missing_peaks",
            if device.kind == DeviceKind::Cpu { Severity::Info } else { Severity::Warning },
            format!("{missing} known for {}", device.type_name),
            "shares of peak, ridge point and bound are unknown if they need it",
            fix,
        );
    }
    let first = selection.devices.first().map(|d| d.peaks);
    if selection.devices.iter().any(|d| Some(d.peaks) != first) {
        notes.add(
            "mixed_peaks",
            Severity::Warning,
            "the devices in scope have different peak rates",
            "shares of peak are unknown",
            "choose devices of one type with --devices",
        );
    }
}

/// How FLOPs of custom calls come to be counted. Profilers of GPUs count none in libraries' kernels.
#[must_use]
pub fn count_flops(profile: &Profile, selection: &Selection<'_>) -> &'static str {
    static OF_TPU: Fix = Fix {
        jax: "give pallas_call a cost_estimate, or capture with kernel profiling (xla_xprof_enable_custom_call_tracing)",
        tensorflow: "capture with kernel profiling (xla_xprof_enable_custom_call_tracing in LIBTPU_INIT_ARGS)",
        pytorch: "give pallas_call a cost_estimate, or capture with kernel profiling \
                  (xla_xprof_enable_custom_call_tracing in LIBTPU_INIT_ARGS)",
        any: "give the kernel a cost estimate, or capture with kernel profiling (xla_xprof_enable_custom_call_tracing)",
    };
    if selection.devices.iter().any(|device| device.kind == DeviceKind::Tpu) {
        OF_TPU.for_run(profile)
    } else {
        "profilers do not count what a library's kernel computes: state the FLOPs of the model with `compute mfu`"
    }
}

/// Kernels whose FLOPs are those of their modules and not those stated, and kernels of which they are a bound.
fn counted_kernels(ops: &[Op<'_>], notes: &mut Notes) {
    let kernels: Vec<_> = ops
        .iter()
        .filter_map(|op| Some((op, op.meta.pallas.as_ref()?)))
        .filter(|(_, kernel)| kernel.flops() != Bound::Stated)
        .collect();
    let other = kernels.iter().filter(|(op, _)| op.meta.stated().flops != op.meta.flops).count();
    if other > 0 {
        notes.add(
            "kernel_flops_derived",
            Severity::Info,
            format!("FLOPs of {other} Pallas kernels are counted from their modules; the profile states different ones, or none"),
            "rates and shares of peak use what the kernels compute; `kernels` also has what is stated",
            "",
        );
    }
    let bounds: Vec<_> = kernels.iter().filter(|(_, kernel)| kernel.flops() != Bound::Exact).collect();
    if let Some((op, kernel)) = bounds.first() {
        notes.add(
            "kernel_flops_bound",
            Severity::Info,
            format!(
                "FLOPs of {} Pallas kernels are bounds; of {}: {}",
                bounds.len(),
                op.meta.name,
                kernel.words()
            ),
            "their rates, their shares of peak and sums that contain them are bounds too; `kernels` says which",
            "",
        );
    }
}

fn uncounted_flops(profile: &Profile, selection: &Selection<'_>, ops: &[Op<'_>], notes: &mut Notes) {
    let all: i64 = units::sum(ops.iter().map(|op| op.self_ps));
    let calls: Vec<&Op<'_>> =
        ops.iter().filter(|op| op.flops.is_none() && op.meta.category.contains("custom-call")).collect();
    let time: i64 = units::sum(calls.iter().map(|op| op.self_ps));
    if time == 0 {
        return;
    }
    let share = time as f64 / all.max(1) as f64;
    notes.add(
        "uncounted_custom_calls",
        if share > 0.1 { Severity::Warning } else { Severity::Info },
        format!(
            "custom calls without a FLOP count: {}, with {} of op time",
            calls.len(),
            units::share(share)
        ),
        "FLOP rates, intensity and MFU are too low, because what these kernels compute is missing",
        count_flops(profile, selection),
    );
}

/// More FLOPs or bytes a second than the device can do.
fn impossible_rates(selection: &Selection<'_>, ops: &[Op<'_>], notes: &mut Notes) {
    let peaks = selection.peaks();
    let above = |op: &Op<'_>| op.work(op.total_ps).above(&peaks);
    let over: Vec<(&Op<'_>, f64)> = ops.iter().filter_map(|op| Some((op, above(op)?))).collect();
    let Some((worst, most)) = over.iter().max_by_key(|(op, _)| op.self_ps) else { return };
    let all: i64 = units::sum(ops.iter().map(|op| op.self_ps));
    let share = units::sum(over.iter().map(|(op, _)| op.self_ps)) as f64 / all.max(1) as f64;
    notes.add(
        "rates_above_peak",
        if share > 0.1 { Severity::Warning } else { Severity::Info },
        format!(
            "ops above 102% of a peak rate: {}, with {} of op time; the largest, {}, has {}",
            over.len(),
            units::share(share),
            worst.meta.name,
            units::share(*most)
        ),
        "their shares of peak are unknown: the compiler counts bytes as if every access went to memory and caches served part of \
         them, or the FLOPs are counted too high, or the peak is too low",
        "",
    );
}

/// More FLOPs a second than a processor can do.
fn refused_rates(profile: &Profile, selection: &Selection<'_>, ops: &[Op<'_>], notes: &mut Notes) {
    let Some(most) = selection.peaks().flops_at_most else { return };
    let rate = |op: &Op<'_>| {
        let work = op.work(op.total_ps);
        Some(work.flops? / (work.time_ps / 1e12)).filter(|rate| work.time_ps > 0.0 && *rate > most)
    };
    let over: Vec<(&Op<'_>, f64)> = ops.iter().filter_map(|op| Some((op, rate(op)?))).collect();
    let Some((worst, rate)) = over.iter().max_by(|a, b| a.1.total_cmp(&b.1)) else { return };
    notes.add(
        "rates_refused",
        Severity::Warning,
        format!(
            "ops with more FLOP/s than the CPU can do: {}, most of them {} at {}; at most {} (estimated)",
            over.len(),
            worst.meta.name,
            units::flop_rate(*rate),
            units::flop_rate(most),
        ),
        "their events end before their work, and the profile does not say when the work ended: their time is too short and their rates are not shown",
        Fix::jax_or(
            "capture with JAX 0.10 or later, whose profiler says when each op was done",
            "capture with a newer XLA, whose profiler says when each op was done (`end:` events)",
        )
        .for_run(profile),
    );
}

fn unattributed_kernels(profile: &Profile, ops: &[Op<'_>], notes: &mut Notes) {
    let all: i64 = units::sum(ops.iter().map(|op| op.self_ps));
    let time: i64 =
        units::sum(ops.iter().filter(|op| op.meta.category == "kernel without HLO op").map(|op| op.self_ps));
    if time > 0 {
        let share = time as f64 / all.max(1) as f64;
        notes.add(
            "kernels_without_hlo_op",
            if share > 0.1 { Severity::Warning } else { Severity::Info },
            format!("kernels with {} of the kernel time name no HLO op", units::share(share)),
            "they are listed under their own names, without FLOPs; XProf leaves them out of its op tables",
            fix::NAME_KERNELS.for_run(profile),
        );
    }
}

/// Damage and oddities of the events that a question about devices reads: their ops, programs and steps. Which lines others
/// have read before does not matter, or the same question would have two answers.
pub fn events(profile: &Profile, selection: &Selection<'_>, notes: &mut Notes) {
    counts(profile, notes);
    for device in &selection.devices {
        let is_read = |line: &&Line| {
            holds_ops(device.kind, line.kind) || matches!(line.kind, LineKind::XlaModules | LineKind::Steps)
        };
        events_of(profile, profile.lines_of(device.plane).filter(is_read), notes);
    }
}

/// The same of all events of some hosts.
pub fn all_events(profile: &Profile, hosts: &[bool], notes: &mut Notes) {
    counts(profile, notes);
    let is_chosen = |line: &&Line| hosts[profile.plane(line.plane).host.index()];
    events_of(profile, profile.lines.iter().filter(is_chosen), notes);
}

fn counts(profile: &Profile, notes: &mut Notes) {
    for line in profile.lines.iter().filter(|line| line.event_count == TRUNCATED_AT) {
        let plane = profile.plane(line.plane);
        notes.add(
            "exactly_one_million_events",
            Severity::Warning,
            format!("line {} of {} has exactly {TRUNCATED_AT} events", line.name, plane.name),
            "the profiler probably stopped there: later events are missing",
            "capture for a shorter time, or with a lower host_tracer_level or python_tracer_level",
        );
    }
}

fn events_of<'p>(profile: &'p Profile, lines: impl Iterator<Item = &'p Line>, notes: &mut Notes) {
    for line in lines {
        let (plane, events) = (profile.plane(line.plane), profile.events(line));
        let host = &profile.host(plane.host).name;
        if let Some(fault) = events.faults.kept().first() {
            notes.add(
                "damaged_events",
                Severity::Error,
                format!(
                    "{} malformed events on line {} of {} ({host}): {fault}",
                    events.faults.count(),
                    line.name,
                    plane.name
                ),
                "they are not counted",
                "copy the file again from where it was written",
            );
        }
        if events.negative > 0 {
            notes.add(
                "negative_durations",
                Severity::Warning,
                format!(
                    "{} events on line {} of {} ({host}) end before they start",
                    events.negative, line.name, plane.name
                ),
                "they count as 0",
                "",
            );
        }
        if events.nameless > 0
            && matches!(line.kind, LineKind::XlaOps | LineKind::XlaModules | LineKind::Steps)
        {
            notes.add(
                "missing_metadata",
                Severity::Warning,
                format!(
                    "{} events on line {} of {} ({host}) point at metadata that is not in the file",
                    events.nameless, line.name, plane.name
                ),
                "their time counts under an empty name",
                "",
            );
        }
    }
}

/// Records that could not be read.
pub fn pieces(file: &str, pieces: &Pieces, notes: &mut Notes) {
    if let Some(why) = &pieces.why {
        notes.add(
            "lost_records",
            Severity::Error,
            format!(
                "{file}: {} chunks or records could not be read, {} records were: {why}",
                pieces.lost, pieces.records
            ),
            "what they hold is not in any of the numbers",
            "copy the file again, or capture again if the profiler was stopped while it wrote",
        );
    }
}

/// What a trace in JSON lacks.
pub fn trace_json(file: &str, trace: &TraceJson, notes: &mut Notes) {
    let mut also = Vec::new();
    if trace.flows > 0 {
        also.push(format!("{} flows", trace.flows));
    }
    if trace.left_out > 0 {
        also.push(format!("{} other entries", trace.left_out));
    }
    let also = if also.is_empty() { String::new() } else { format!("; left out: {}", also.join(", ")) };
    let clock = if trace.since_epoch { "; times are since its first event" } else { "" };
    let flops = if trace.model_flops {
        "; ops' FLOPs are those of the model, and bytes of all memories count as those of HBM"
    } else {
        ""
    };
    notes.add(
        "trace_json",
        Severity::Warning,
        format!("{file} is a JSON trace, not a profile: {} events{also}{clock}", trace.events),
        format!(
            "it has no HLO, no facts about devices (so no peaks) and no capture times; times are only as precise as the microseconds in the file, and numbers were read from text{flops}"
        ),
        "pass the .xplane.pb file of the same capture",
    );
    if trace.events >= TRUNCATED_AT {
        notes.add(
            "trace_json_limit",
            Severity::Warning,
            format!("{file} has {} events, and exporters stop at {TRUNCATED_AT}", trace.events),
            "the shortest or the last ones are probably missing, so times, counts and idle time are wrong",
            "pass the .xplane.pb file of the same capture, which has all",
        );
    }
    if let Some(why) = &trace.cut {
        notes.add(
            "trace_json_cut",
            Severity::Error,
            format!("{file} was not read to its end: {why}"),
            "the rest is not in any of the numbers",
            "fetch the file again",
        );
    }
}

/// Events that the profiler itself dropped (`dropped_traces` of a plane).
pub fn dropped(profile: &Profile, notes: &mut Notes) {
    for plane in &profile.planes {
        let Some(count) =
            plane.stat("dropped_traces").and_then(haloscope_profile::Stat::as_f64).filter(|n| *n > 0.0)
        else {
            continue;
        };
        notes.add(
            "dropped_events",
            Severity::Error,
            format!(
                "{}: the profiler dropped {count} events of {}",
                profile.host(plane.host).name,
                plane.name
            ),
            "busy time, counts and rates are too low",
            "capture for a shorter time, or trace fewer things (tpu_trace_mode, host_tracer_level)",
        );
    }
}

/// Remarks on how steps were found and which ones statistics leave out.
pub fn steps(profile: &Profile, steps: &Steps, notes: &mut Notes) {
    if steps.rows.is_empty() {
        notes.add(
            "no_steps",
            Severity::Warning,
            format!("no steps: {}", steps.source.explain()),
            "step times are unknown",
            fix::MARK_STEPS.for_run(profile),
        );
    }
    if steps.source.is_inferred() {
        notes.add(
            "no_step_markers",
            Severity::Info,
            format!("no step markers; steps are {}", steps.source.explain()),
            "if one of your steps launches that program several times, the steps found here are too short",
            fix::MARK_STEPS.for_run(profile),
        );
    }
    let edge = steps.rows.iter().filter(|s| s.class == StepClass::Edge).count();
    if edge > 0 {
        notes.add(
            "steps_cut_at_the_edges",
            Severity::Info,
            format!("{edge} steps at the edges of the capture may have been cut"),
            "they are listed but left out of the statistics, as in XProf",
            "",
        );
    }
}

/// Devices in scope that ran no op: nobody knows whether they idled.
pub fn devices_without_ops(names: &[&str], notes: &mut Notes) {
    if names.is_empty() {
        return;
    }
    notes.add(
        "devices_without_ops",
        Severity::Warning,
        format!("devices without any op: {}", names.join(", ")),
        "they are left out: whether they were idle or not recorded is unknown",
        "check that the profiler's device tracing was on for all devices",
    );
}

/// Parts of the scope that an analysis does not look at.
pub fn not_used(what: &str, notes: &mut Notes) {
    notes.add(
        "scope_not_used",
        Severity::Warning,
        format!("this analysis ignores {what} of the scope"),
        "the answer covers all of them",
        "",
    );
}
