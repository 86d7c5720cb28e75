//! `input`: whether devices wait for input, and which stage of the hosts' pipelines is too slow.

mod findings;
mod measure;
mod tables;

use crate::analysis::{Analysis, Input, MenuGroup, Params, Run};
use crate::fix::{self, Fix};
use crate::quality;
use crate::select::Scoped;
use haloscope_profile::Profile;
use haloscope_report::Error;
use haloscope_report::units;
use haloscope_report::{Notes, Report, Severity, Status, Unit, Value};
use measure::{Measured, Verdict};

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "input",
    label: "Input",
    group: MenuGroup::Time,
    question: "Do the devices wait for input, and which stage of the pipeline is too slow?",
    params: &[],
    needs: &[
        "a device's op lines (TPU, GPU) or host events that name HLO ops (CPU)",
        "host events of the pipeline: tf.data iterators, stages that state themselves (Grain and other JAX pipelines), infeed, JAX callbacks, or threads of a data loader",
        "steps, for batches a second: one batch a step is assumed",
    ],
    reads: &[Input::Profile],
    example: "input logs",
    also: &[],
    run: Run::Of(run),
};

fn run(asked: &Scoped<'_>, _: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let (profile, scope) = (asked.profile, &asked.scope);
    let selection = asked.selection()?;
    let measured = Measured::new(profile, selection);
    if measured.devices.is_empty() {
        return Err(quality::no_ops(profile, selection));
    }
    quality::devices_without_ops(&measured.silent, notes);
    quality::steps(profile, &measured.steps, notes);
    if !scope.modules.is_empty() {
        quality::not_used("modules", notes);
    }
    remarks(profile, &measured, notes);
    quality::events(profile, selection, notes);
    let mut tables = vec![tables::stages(profile, &measured), tables::classes(&measured)];
    if measured.has_steps() {
        tables.push(tables::steps(&measured));
    }
    tables.push(tables::hosts(profile, &measured));
    Ok(Report {
        values: values(profile, &measured),
        tables,
        findings: findings::all(profile, &measured),
        ..Report::default()
    })
}

fn remarks(profile: &Profile, measured: &Measured<'_>, notes: &mut Notes) {
    if !measured.has_steps() {
        notes.add(
            "input_without_steps",
            Severity::Info,
            "no step was counted, so times are of the whole active window",
            "batches a second are unknown",
            fix::MARK_STEPS.for_run(profile),
        );
    }
    if !measured.has_stages() {
        let unseen = measured.hosts.iter().all(|h| !h.pipeline.has_events);
        let outside = measured.outside();
        notes.add(
            "no_input_stages",
            Severity::Warning,
            match outside.first() {
                _ if unseen => "the profile has no event of a host's thread".to_owned(),
                Some(first) => format!(
                    "stages of an input pipeline were recorded ({}, first of all {first}), and none worked in {}",
                    outside.len(),
                    measured.counted()
                ),
                None => {
                    "no event of the hosts' threads is a known stage of an input pipeline".to_owned()
                }
            },
            if outside.is_empty() {
                "idle time of the devices cannot be attributed to input, and no stage can be named"
            } else {
                "what is read before the first counted step, or after the last, is not counted"
            },
            if outside.is_empty() {
                ANNOTATE_STAGES.for_run(profile)
            } else {
                "capture several steps in a row, so that what is read between two of them is counted"
            },
        );
    }
}

static ANNOTATE_STAGES: Fix = Fix {
    jax: "use Grain or tf.data, which annotate their stages, or wrap yours in jax.profiler.TraceAnnotation with _ipl_stage_id, \
          _ipl_stage_name and _ipl_stage_cat; capture with host_tracer_level 2",
    tensorflow: "read by tf.data, whose iterators are stages, and capture with host_tracer_level 2",
    pytorch: "wrap the stages of your loader in torch_xla.debug.profiler.Trace with _ipl_stage_id, _ipl_stage_name and \
              _ipl_stage_cat; capture with host_tracer_level 2",
    any: "use Grain or tf.data, which annotate their stages, or annotate yours with _ipl_stage_id, _ipl_stage_name and \
          _ipl_stage_cat; capture with host_tracer_level 2",
};

/// The verdict in a sentence.
fn message(measured: &Measured<'_>) -> String {
    let what = if measured.has_steps() { "step time" } else { "active window" };
    let share = measured.share().map_or_else(|| "an unknown share".to_owned(), units::share);
    match measured.verdict() {
        Verdict::High => format!(
            "Highly input-bound: {share} of the {what} is waiting for input. Make input faster first."
        ),
        Verdict::Moderate => {
            format!(
                "Moderately input-bound: {share} of the {what} is waiting for input. Other causes matter too."
            )
        }
        Verdict::No => {
            format!("Not input-bound: {share} of the {what} is waiting for input. Look for other causes.")
        }
        Verdict::Unknown => format!(
            "Not known: the devices are idle between programs for {} of the {what}, and {}",
            measured.between_share().map_or_else(|| "an unknown share".to_owned(), units::share),
            if measured.outside().is_empty() {
                "the profile names no stage of an input pipeline"
            } else {
                "the stages of an input pipeline that the profile names worked at other times only"
            }
        ),
    }
}

fn values(profile: &Profile, measured: &Measured<'_>) -> Vec<Value> {
    use Status::{Derived, Estimated};
    let slowest = measured.slowest();
    let knows_input = measured.knows_input();
    vec![
        Value::new(
            "verdict",
            "Verdict",
            measured.verdict().word(),
            Unit::None,
            Derived,
            "`input-bound` if waiting for input takes at least 20% of the step time, `moderately input-bound` from 5% on, else `not input-bound`. Unknown if no stage is known and the devices are idle between programs for 5% or more.",
        ),
        Value::new(
            "message",
            "In words",
            Some(message(measured)),
            Unit::None,
            Derived,
            "The verdict in a sentence.",
        ),
        Value::new(
            "input_idle_share",
            "Waiting for input",
            measured.share().filter(|_| knows_input),
            Unit::Share,
            Derived,
            "Time in which a device ran no op while a stage of its host's pipeline worked, plus time in infeed, as a share of the step time; mean over devices and counted steps. A step lasts until the next begins.",
        ),
        Value::new(
            "input_idle_ps_per_step",
            "Waiting per step",
            measured.input_ps().filter(|_| knows_input && measured.has_steps()),
            Unit::Ps,
            Derived,
            "The same as a time.",
        ),
        Value::new(
            "period_ps",
            "Step to step",
            measured.step_ps().filter(|_| measured.has_steps()),
            Unit::Ps,
            Derived,
            "From the beginning of a step to that of the next, mean over devices and counted steps: batches are often fetched between two steps. How long the steps themselves take is in `steps`.",
        ),
        Value::new(
            "slowest_stage",
            "Slowest stage",
            slowest.map(|(_, stage, _)| stage.name.as_str()),
            Unit::None,
            Derived,
            "Of the stages that share threads and together work longest, the one with the most work; of several hosts, that of the slowest.",
        ),
        Value::new(
            "slowest_host",
            "On host",
            slowest.map(|(host, ..)| profile.host(host.id).name.as_str()),
            Unit::None,
            Derived,
            "The host whose pipeline supplies least.",
        ),
        Value::new(
            "demand_rate",
            "Demand, batches/s",
            measured.demand().filter(|_| knows_input),
            Unit::Ratio,
            Estimated,
            "Batches a second that the devices could take if they never waited for input: 1 / (step - waiting). Assumes one batch a step.",
        ),
        Value::new(
            "supply_rate",
            "Supply, batches/s",
            slowest.and_then(|(_, _, supply)| supply),
            Unit::Ratio,
            Estimated,
            "Batches a second that the slowest stage would give if it never waited, as parallel as it was. Assumes one batch a step.",
        ),
        Value::new(
            "batch_rate",
            "As it was, batches/s",
            measured.rate(),
            Unit::Ratio,
            Estimated,
            "Steps a second. Assumes one batch a step.",
        ),
    ]
}
