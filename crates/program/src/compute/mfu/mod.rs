//! `compute mfu`: model FLOPs utilisation by every method that the data allow, side by side, and why they differ.

mod base;
mod findings;
mod job;
mod methods;

use super::facts;
use crate::typed_peak::TypedPeaks;
use base::Base;
use haloscope_profile::{Peak, PeakSource, Profile};
use haloscope_report::Error;
use haloscope_report::scope::Scope;
use haloscope_report::units;
use haloscope_report::{Notes, Report, Severity, Status, Unit, Value};
use haloscope_time::analysis::{Analysis, Input, MenuGroup, Param, ParamKind, Params, Run};
use haloscope_time::ops;
use haloscope_time::quality;
use haloscope_time::select::{Scoped, Selection};
use haloscope_time::steps::Steps;
use haloscope_time::usage::Usage;
use job::Job;
use methods::{Method, Named};

const fn quantity(id: &'static str, doc: &'static str) -> Param {
    Param { id, doc, kind: ParamKind::Quantity, default: "" }
}
const GLOBAL_BATCH: Param = quantity("global-batch", "sequences per step, over all devices of the job");
const SEQ: Param =
    quantity("seq", "tokens of a sequence that one step processes; 1 for a step that decodes one token");
const FLOPS_PER_TOKEN: Param = quantity(
    "flops-per-token",
    "FLOPs of the model for one token, forward and backward in training, such as 42G",
);
const CONFIG: Param = Param {
    id: "config",
    doc: "the model's configuration: a Hugging Face config.json, or the same keys as TOML",
    kind: ParamKind::Document,
    default: "",
};
const MODE: Param = Param {
    id: "mode",
    doc: "what a step does: with --config, train counts 6N and infer 2N",
    kind: ParamKind::Choice(&["train", "infer"]),
    default: "train",
};
const CONTEXT: Param = quantity(
    "context",
    "with --config, the number of keys for each query, for example when decoding with a cache [default: half of --seq, a causal mask]",
);
const DEVICES: Param = quantity(
    "devices-count",
    "devices of the whole job, if the profile has only some of them [default: those that the program was compiled for]",
);
const PEAK: Param = quantity("peak", "peak FLOP/s of one device, instead of the known one, such as 197T");

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "compute mfu",
    label: "MFU",
    group: MenuGroup::Work,
    question: "What share of the peak do the model's FLOPs reach, by each way of counting, and why do the ways differ?",
    params: &[GLOBAL_BATCH, SEQ, FLOPS_PER_TOKEN, CONFIG, MODE, CONTEXT, DEVICES, PEAK],
    needs: &[
        "steps, or at least ops with times",
        "FLOPs of ops, or --global-batch and --seq with --flops-per-token or --config",
        "the device's peak FLOP rate, or --peak",
    ],
    reads: &[Input::Profile],
    example: "compute mfu logs --global-batch 32 --seq 2048 --config config.json",
    also: &[],
    run: Run::Of(run),
};

fn run(asked: &Scoped<'_>, params: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let (profile, scope) = (asked.profile, &asked.scope);
    // What is wrong with the parameters is said before the run is read.
    let stated = job::Stated::read(params)?;
    let selection = asked.selection()?;
    let ops = ops::collect(profile, selection);
    if ops.is_empty() {
        return Err(quality::no_ops(profile, selection));
    }
    quality::peaks(selection, notes);
    let facts = facts::all(profile, selection, &ops);
    let base = Base::measure(profile, scope, selection, notes);
    let job = Job::find(profile, scope, selection, params.quantity(&DEVICES));
    let (peaks, peak_name) = peaks(profile, selection, params.quantity(&PEAK));
    let named = Named { peaks, peak_name: &peak_name };
    let all = methods::all(profile, selection, &facts, &base, &job, &stated, &named);
    remarks(&all, &job, notes);
    let usage = Usage::measure(profile, selection, &Steps::find(profile, &selection.devices));
    let idle = usage.idle_share_of_active();
    let findings =
        findings::low(&all, &facts, &base, idle).into_iter().chain(findings::disagreement(&all)).collect();
    let values = values(&all, &base, &job, peaks, &peak_name);
    Ok(Report { values, tables: vec![methods::table(&all)], findings, ..Report::default() })
}

/// The MFU that the report's headline has where nothing about the model is stated: the share of the peak, and the method by
/// which FLOPs were counted. `None` where FLOPs, the peak or the time is not known.
///
/// # Errors
/// [`Error::Usage`] where what is stated of the model makes no sense.
pub fn of_program(
    profile: &Profile,
    scope: &Scope,
    selection: &Selection<'_>,
) -> Result<Option<(&'static str, f64)>, Error> {
    let stated = job::Stated::read(&Params::default())?;
    let ops = ops::collect(profile, selection);
    let facts = facts::all(profile, selection, &ops);
    // What the base remarks on, the steps of the run say too.
    let base = Base::measure(profile, scope, selection, &mut Notes::default());
    let job = Job::find(profile, scope, selection, None);
    let (peaks, peak_name) = peaks(profile, selection, None);
    let named = Named { peaks, peak_name: &peak_name };
    Ok(headline(&methods::all(profile, selection, &facts, &base, &job, &stated, &named)))
}

/// The model's own count is what the word means; where nobody states one, the program's stands for it.
fn headline(all: &[Method]) -> Option<(&'static str, f64)> {
    let mfu = |id: &str| all.iter().find(|method| method.id == id).and_then(|method| method.mfu);
    ["formula", "config", "model FLOPs", "HLO FLOPs"].into_iter().find_map(|id| Some((id, mfu(id)?)))
}

/// The peaks of one device, and their name: what is the peak of what, and who says so.
fn peaks(profile: &Profile, selection: &Selection<'_>, stated: Option<f64>) -> (Option<TypedPeaks>, String) {
    let device = selection.devices.first();
    let one = match device.map(|device| device.type_name.as_str()) {
        Some("TPU v7x" | "TPU v2" | "TPU v3") => "core",
        Some(name) if name.starts_with("TPU") => "chip",
        _ => "device",
    };
    if let Some(rate) = stated.filter(|rate| *rate > 0.0) {
        return (
            Some(TypedPeaks::stated(rate)),
            format!("{} a {one}, as --peak states", units::flop_rate(rate)),
        );
    }
    let peak: Option<Peak> = selection.peaks().flops;
    let typed = device.filter(|_| peak.is_some()).and_then(|device| TypedPeaks::of(profile, device));
    let Some((peak, typed)) = peak.zip(typed) else { return (None, String::new()) };
    let source = match peak.source {
        PeakSource::Trace => "as the profile says",
        PeakSource::Derived => "from clock and core count",
        PeakSource::Table => "from the table of chips",
    };
    (Some(typed), format!("{} a {one}, 16-bit float, {source}", units::flop_rate(peak.rate)))
}

fn remarks(all: &[Method], job: &Job, notes: &mut Notes) {
    for method in all.iter().filter(|method| method.mfu.is_some_and(|mfu| mfu > 1.0)) {
        notes.add(
            "mfu_above_1",
            Severity::Warning,
            format!("{}: {} of peak", method.id, units::share(method.mfu.unwrap_or_default())),
            "more than the hardware can do: the FLOPs, the devices of the job, the peak or the step time must be wrong",
            "check --global-batch (over all devices), --devices-count, --peak and the precision of the products",
        );
    }
    if job.devices.is_none() {
        notes.add(
            "unknown_device_count",
            Severity::Warning,
            format!(
                "the program does not say for how many devices it was compiled; {} are profiled",
                job.profiled
            ),
            "methods based on the model count the profiled devices as the whole job",
            "give --devices-count",
        );
    }
}

fn values(all: &[Method], base: &Base, job: &Job, peaks: Option<TypedPeaks>, peak_name: &str) -> Vec<Value> {
    let mfu = |id: &str| all.iter().find(|method| method.id == id).and_then(|method| method.mfu);
    let share =
        |id, label, value: Option<f64>, status, doc| Value::new(id, label, value, Unit::Share, status, doc);
    let headline = headline(all);
    let status =
        if headline.is_some_and(|(id, _)| id == "config") { Status::Estimated } else { Status::Derived };
    vec![
        share(
            "mfu",
            "MFU",
            headline.map(|h| h.1),
            status,
            "Model FLOPs utilisation by the first of: formula, config, model FLOPs, HLO FLOPs.",
        ),
        Value::new(
            "mfu_method",
            "By",
            headline.map(|h| h.0),
            Unit::None,
            Status::Derived,
            "The method that was used.",
        ),
        share(
            "mfu_formula",
            "By formula",
            mfu("formula"),
            Status::Derived,
            "global batch x sequence x FLOPs per token / (devices x peak x step time).",
        ),
        share(
            "mfu_config",
            "By configuration",
            mfu("config"),
            Status::Estimated,
            "The same with FLOPs per token from the model's configuration, counting the causal half of attention.",
        ),
        share(
            "mfu_hlo",
            "By HLO FLOPs",
            mfu("HLO FLOPs"),
            Status::Derived,
            "FLOPs that the compiler counts for what ran, including recomputation, divided by peak x step time: hardware FLOPs utilisation.",
        ),
        share(
            "mfu_counters",
            "By counters",
            mfu("matrix unit counters"),
            Status::Derived,
            "Share of time in which the matrix units were busy, by hardware counters.",
        ),
        Value::new(
            "step_time_ps",
            "Step time",
            base.step_ps,
            Unit::Ps,
            Status::Measured,
            "Mean over counted steps and devices, including idle time: all methods divide by it.",
        ),
        Value::new(
            "steps",
            "Steps",
            base.steps,
            Unit::Count,
            Status::Measured,
            "Counted steps; unknown if the run has none and the active window counts as one.",
        ),
        Value::new(
            "flops_per_step",
            "HLO FLOPs per step",
            base.flops,
            Unit::Flop,
            Status::Derived,
            "Of one device, over the same steps.",
        ),
        Value::new(
            "device_count",
            "Devices of the job",
            Some(job.count().round() as i64),
            Unit::Count,
            job.status(),
            "As given, else partitions x replicas of the program, else those profiled.",
        ),
        Value::new(
            "profiled_devices",
            "Devices in scope",
            Some(job.profiled),
            Unit::Count,
            Status::Measured,
            "Devices that the times come from.",
        ),
        Value::new(
            "peak_flop_rate",
            "Peak FLOP rate",
            peaks.map(|p| p.base()),
            Unit::FlopRate,
            Status::Measured,
            "Of one device.",
        ),
        Value::new(
            "peak_name",
            "Peak of",
            Some(peak_name).filter(|name| !name.is_empty()),
            Unit::None,
            Status::Measured,
            "Of what it is the peak, and who says so.",
        ),
    ]
}
