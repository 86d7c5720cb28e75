//! What follows for the input pipeline.

use super::measure::{Measured, Verdict, waiting};
use crate::account::Class;
use crate::ceiling;
use haloscope_profile::Profile;
use haloscope_report::units;
use haloscope_report::{Finding, Link, Severity, Status};

pub(super) fn all(profile: &Profile, measured: &Measured<'_>) -> Vec<Finding> {
    input_bound(profile, measured).into_iter().collect()
}

fn input_bound(profile: &Profile, measured: &Measured<'_>) -> Option<Finding> {
    let severity = match measured.verdict() {
        Verdict::High => Severity::Error,
        Verdict::Moderate => Severity::Warning,
        Verdict::No | Verdict::Unknown => return None,
    };
    let share = measured.share()?.clamp(0.0, 1.0);
    let (step, input) = (measured.step_ps()?, measured.input_ps()?);
    let (what, each) =
        if measured.has_steps() { ("step", "a step") } else { ("active window", "in the active window") };
    let slowest = measured.slowest();
    let article = if measured.has_steps() { "a" } else { "an" };
    let mut evidence =
        format!("{} of {article} {what} of {}", units::duration_ps(input), units::duration_ps(step));
    if let Some(demand) = measured.demand() {
        evidence.push_str(&format!("; the devices could take {} batches a second", units::number(demand)));
    }
    let mut links = vec![Link::to("input").table("steps"), Link::to("idle").table("gaps")];
    let (mut slow, mut recommendation) =
        (String::new(), String::from("annotate the pipeline's stages, so that the slow one is named"));
    if let Some((host, stage, supply)) = slowest {
        slow = format!("; the slowest stage is {} ({})", stage.name, stage.class.phrase());
        if let Some(supply) = supply {
            evidence.push_str(&format!(", {} supplies at most {}", stage.name, units::number(supply)));
        }
        let batches = host.batches.max(1) as f64;
        let work = stage.work_ps() as f64 / batches;
        let parallel = stage.parallelism().map(|p| format!(", {} threads at once", units::number(p)));
        evidence.push_str(&format!(
            "; it works {} {each}{}",
            units::duration_ps(work),
            parallel.unwrap_or_default()
        ));
        // Who could supply enough and is waited for all the same begins too late.
        let enough = supply.zip(measured.demand()).is_some_and(|(s, d)| s >= d);
        recommendation = if enough {
            format!(
                "prepare batches ahead: {} could supply enough, but works only while the devices wait (prefetch, and put the next batch on the devices before waiting for this one)",
                stage.name
            )
        } else {
            format!("{}: {}", stage.name, stage.class.recommendation())
        };
        links.insert(0, Link::to("input").row("stages", stage.name.as_str()));
    }
    if let Some((start, end, device)) = longest_gap(measured) {
        links.push(Link::to("timeline").device(profile.device(device).name.as_str()).window(start, end));
    }
    Some(Finding {
        id: "input_bound",
        severity,
        claim: format!("The devices wait for input during {} of the {what}{slow}", units::share(share)),
        evidence,
        ceiling: format!("{:.2}x, if no device waited for input", ceiling::speedup(share)),
        speedup: Some(ceiling::speedup(share)),
        recommendation,
        falsifier: "the step takes just as long when the same batch is fed repeatedly".into(),
        status: Status::Derived,
        links,
        ..Finding::default()
    })
}

/// The longest gap in which a device waited for input in a counted step.
fn longest_gap(measured: &Measured<'_>) -> Option<(i64, i64, haloscope_profile::DeviceId)> {
    let gaps = measured.devices.iter().filter(|d| waiting(&d.times) > 0).flat_map(|d| {
        let own = d.account.gaps(None).into_iter().filter(|g| g.class == Class::Input);
        own.filter(|g| d.periods.iter().any(|(_, start, end)| g.start_ps < *end && g.end_ps > *start))
            .map(|g| (g.start_ps, g.end_ps, d.device.id))
    });
    gaps.max_by_key(|(start, end, _)| (end - start, std::cmp::Reverse(*start)))
}
