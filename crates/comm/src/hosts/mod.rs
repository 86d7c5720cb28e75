//! `hosts`: step time by host and device, and whether one of them makes the others wait.

pub mod findings;
pub mod late;
pub mod levels;
pub mod measure;
mod on_device;
pub mod slices;
pub mod slow_ops;
mod tables;

use haloscope_profile::Profile;
use haloscope_report::Error;
use haloscope_report::{Notes, Report, Status, Unit, Value};
use haloscope_time::analysis::{Analysis, Input, MenuGroup, Params, Run};
use haloscope_time::quality;
use haloscope_time::select::Scoped;
use measure::{Measured, OnDevice};
use slow_ops::SlowOps;

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "hosts",
    label: "Hosts",
    group: MenuGroup::Time,
    question: "Do all hosts and devices take the same time for a step, and which one makes the others wait?",
    params: &[],
    needs: &[
        "step markers: the devices' Steps lines or jax.profiler.StepTraceAnnotation; else repeated launches of a program",
        "two or more devices that run the same program, to find the slow one; for two devices, four steps or more",
    ],
    reads: &[Input::Profile],
    example: "hosts logs",
    also: &[],
    run: Run::Of(run),
};

fn run(asked: &Scoped<'_>, _: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let (profile, scope) = (asked.profile, &asked.scope);
    let selection = asked.selection()?;
    let measured = Measured::new(profile, selection, scope)?;
    quality::steps(profile, &measured.steps, notes);
    quality::devices_without_ops(&measured.silent, notes);
    if !scope.modules.is_empty() {
        quality::not_used("modules", notes);
    }
    let mut tables = vec![tables::devices(profile, &measured)];
    if profile.hosts.len() > 1 {
        tables.push(tables::hosts(profile, &measured));
    }
    let slow = SlowOps::of(profile, &measured);
    if measured.devices.len() > 1 && measured.obstacle.is_none() {
        tables.push(slow.table());
    }
    tables.push(tables::slowest(profile, &measured));
    tables.push(tables::steps(profile, &measured));
    Ok(Report {
        values: values(profile, &measured),
        tables,
        findings: measured
            .straggler()
            .and_then(|one| findings::straggler(profile, &measured, one, &slow))
            .into_iter()
            .chain(measured.late.as_ref().map(|late| findings::late(profile, late)))
            .collect(),
        ..Report::default()
    })
}

fn values(profile: &Profile, measured: &Measured<'_>) -> Vec<Value> {
    use Status::{Derived, Estimated, Measured as Recorded};
    let inferred = measured.steps.source.is_inferred();
    let derived = if inferred { Estimated } else { Derived };
    let straggler = measured.straggler();
    let mut hosts: Vec<_> = measured.devices.iter().map(|d| d.device.host).collect();
    hosts.dedup();
    let works: Vec<f64> = measured.devices.iter().filter_map(|d| d.mean(OnDevice::work_ps)).collect();
    vec![
        Value::new(
            "host_count",
            "Hosts",
            Some(hosts.len()),
            Unit::Count,
            Recorded,
            "Hosts with devices that ran steps.",
        ),
        Value::new(
            "device_count",
            "Devices",
            Some(measured.devices.len()),
            Unit::Count,
            Recorded,
            "Devices that ran steps.",
        ),
        Value::new(
            "straggler",
            "Straggler",
            measured.slow_units(profile).map(|units| units.words()),
            Unit::None,
            derived,
            "The hosts, chips or devices that work longer than the others and make them wait: the widest level whose units are slow as a whole. They differ from the rest by 3.5 robust deviations, step after step, and cost at least 1% of the step time. Unknown if there are none or the test is not possible; `straggler_test` says which.",
        ),
        Value::new(
            "straggler_device",
            "Straggling device",
            straggler.map(|one| one.device.name.as_str()),
            Unit::None,
            derived,
            "The device that works longest; one of several if a host is slow.",
        ),
        Value::new(
            "straggler_cost_share",
            "Step time lost to it",
            match (straggler, measured.obstacle.is_some()) {
                (Some(_), _) => measured.slow().map(|slow| slow.cost_share),
                (None, false) => Some(0.0),
                (None, true) => None,
            },
            Unit::Share,
            Estimated,
            "Their extra work compared with the median of the others, divided by the step time: what a step would gain if they worked as fast as the others and nothing else delayed it. 0 if the test found no straggler.",
        ),
        Value::new(
            "straggler_test",
            "Straggler test",
            Some(measured.verdict()),
            Unit::None,
            derived,
            "What the test found, or why it is not possible.",
        ),
        Value::new(
            "straggler_when",
            "When",
            measured.slow_when().map(|pattern| pattern.words()),
            Unit::None,
            derived,
            "In which steps it works longer: in every step, more and more, from one step on, every so many steps, or in some.",
        ),
        Value::new(
            "late",
            "Begins late",
            measured.late.as_ref().map(|late| late.who(profile)),
            Unit::None,
            derived,
            "The host (or device) that is idle or waits for its host while the others already work; they then wait for it in collectives, at least 1% of the step time. Unknown if there is none.",
        ),
        Value::new(
            "late_when",
            "Late in",
            measured.late.as_ref().map(|late| late.pattern.words()),
            Unit::None,
            derived,
            "In which steps.",
        ),
        Value::new(
            "late_cost_share",
            "Step time lost to late starts",
            measured.late.as_ref().map(|late| late.cost_share),
            Unit::Share,
            Estimated,
            "How much later than the median of the others the latest begins in each step, divided by the step time.",
        ),
        Value::new(
            "work_spread",
            "Spread of work",
            spread(&works),
            Unit::Share,
            derived,
            "The most work of a device compared with the least; means over steps.",
        ),
    ]
}

fn spread(works: &[f64]) -> Option<f64> {
    let least = works.iter().copied().reduce(f64::min)?;
    let most = works.iter().copied().reduce(f64::max)?;
    (works.len() > 1 && least > 0.0).then(|| most / least - 1.0)
}
