//! `hosts`: step time by host and device, and whether one of them makes the others wait.

pub mod findings;
pub mod measure;
pub mod slow_ops;
mod tables;

use crate::analysis::{Analysis, Input, MenuGroup, Params, Run};
use crate::quality;
use crate::select::Scoped;
use haloscope_profile::Profile;
use haloscope_report::Error;
use haloscope_report::{Notes, Report, Status, Unit, Value};
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
        "three devices or more that run the same program, to tell which one is slow",
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
    quality::steps(&measured.steps, notes);
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
            .map(|one| findings::straggler(profile, &measured, one, &slow))
            .into_iter()
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
            straggler.map(|one| measure::name(profile, one.device)),
            Unit::None,
            derived,
            "The host (in a run of one host, the device) that makes the others wait: modified z-score of its work above 3.5, the most work in over half of the steps, and at least 1% of the step time lost. Unknown where there is none or the test is not possible; `straggler_test` says which.",
        ),
        Value::new(
            "straggler_device",
            "Straggling device",
            straggler.map(|one| one.device.name.as_str()),
            Unit::None,
            derived,
            "The device that makes the others wait.",
        ),
        Value::new(
            "straggler_cost_share",
            "Step time lost to it",
            match (straggler, measured.obstacle.is_some()) {
                (Some(one), _) => one.standing.map(|s| s.cost_share),
                (None, false) => Some(0.0),
                (None, true) => None,
            },
            Unit::Share,
            Estimated,
            "Its work beyond the median device's, over the step time: what a step would gain if it worked as the median does and the others do not wait for anything else. 0 where the test found no straggler.",
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
            "work_spread",
            "Spread of work",
            spread(&works),
            Unit::Share,
            derived,
            "Most work of a device over the least, less 1; means over steps.",
        ),
    ]
}

fn spread(works: &[f64]) -> Option<f64> {
    let least = works.iter().copied().reduce(f64::min)?;
    let most = works.iter().copied().reduce(f64::max)?;
    (works.len() > 1 && least > 0.0).then(|| most / least - 1.0)
}
