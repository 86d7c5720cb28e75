//! `steps`: how long each step took on each device, and which are usual.

use crate::account::{self, Account, Class, Group, Times};
use crate::analysis::{Also, Analysis, Input, MenuGroup, Params, Run};
use crate::select::{Scoped, Selection};
use crate::stats::Summary;
use crate::steps::series::StepSeries;
use crate::steps::{Step, StepClass, StepInstance, Steps};
use crate::{ceiling, fix, quality};
use haloscope_profile::Profile;
use haloscope_report::Error;
use haloscope_report::scope::Scope;
use haloscope_report::units;
use haloscope_report::{
    Cell, Columns, Finding, Link, Notes, Report, Row, Series, Severity, Status, Table, Unit, Value,
    capitalized, row,
};
use rustc_hash::FxHashMap;

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "steps",
    label: "Steps",
    group: MenuGroup::Time,
    question: "How long does a step take, how steady is it, and which steps differ from the others?",
    params: &[],
    needs: &[
        "step markers: the devices' Steps lines or jax.profiler.StepTraceAnnotation; else repeated launches of a program",
    ],
    reads: &[Input::Profile],
    example: "steps logs --format json",
    also: &[Also::Report],
    run: Run::Of(run),
};

fn run(asked: &Scoped<'_>, _: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let (profile, scope) = (asked.profile, &asked.scope);
    let selection = asked.selection()?;
    let mut steps = Steps::find(profile, &selection.devices);
    if steps.rows.is_empty() {
        return Err(Error::Nothing(format!(
            "no steps: {}. To get steps, {}",
            steps.source.explain(),
            fix::MARK_STEPS.for_run(profile)
        )));
    }
    quality::steps(profile, &steps, notes);
    if !scope.modules.is_empty() {
        quality::not_used("modules", notes);
    }
    steps.rows.retain(|step| in_scope(step, scope));
    let (accounts, on_devices) = on_devices(profile, selection, &steps);
    // Of a device without any op nobody knows whether it idled.
    let on = |i: &StepInstance| on_devices.get(selection.position(i.device)?)?.get(&(i.start_ps, i.end_ps));
    let busy_in = |i: &StepInstance| Some(on(i)?.busy_ps);
    let name = |device| profile.device(device).name.as_str();
    let summary = Summary::of(&steps.durations());
    let median = summary.map(|s| s.p50);
    let (mut rows, mut by_device, mut by_class) = (Vec::new(), Vec::new(), Vec::new());
    let course = StepSeries::of(&steps, &accounts);
    for step in &steps.rows {
        let slowest = step.instances.iter().max_by_key(|i| (i.duration_ps, std::cmp::Reverse(i.device)));
        let fastest = step.instances.iter().map(|i| i.duration_ps).min();
        let duration = step.duration_ps();
        let row = row![
            count("step", "Step", "The marker's number; counted from 0 if steps are inferred.", step.number),
            // Of one or two steps none can be called usual.
            text(
                "class",
                "Class",
                "steady; warm-up: slow steps at the start; edge: may be cut by the capture; outlier: more than 5% and 4 robust deviations from the median; slower: steady, but at a worse level than the best lasting one.",
                summary.filter(|s| s.count > 2).map(|_| word(step, course.as_ref()))
            ),
            duration("duration_ps", "Time", "The slowest device's time, as XProf counts a step.", duration),
            share(
                "off_median",
                "Off median",
                "Difference from the median of the counted steps.",
                median.filter(|m| *m > 0.0).map(|m| duration as f64 / m - 1.0)
            ),
            duration(
                "idle_ps",
                "Idle",
                "Time in the step in which the slowest device ran no op.",
                slowest.and_then(|i| Some((i.end_ps - i.start_ps - busy_in(i)?).max(0)))
            ),
            duration(
                "spread_ps",
                "Spread",
                "Slowest minus fastest device.",
                fastest.filter(|_| step.instances.len() > 1).map(|f| duration - f)
            ),
            text(
                "slowest_device",
                "Slowest device",
                "The device that took longest.",
                slowest.map(|i| name(i.device))
            ),
            duration("start_ps", "Start", "Earliest start, from the start of the run.", step.start_ps()),
            text("name", "Name", "The marker's name.", Cell::words(&step.name)),
        ];
        rows.push(row);
        by_class.extend(slowest.and_then(|i| {
            let account = accounts.get(selection.position(i.device)?)?.as_ref()?;
            Some(class_row(step, i, name(i.device), account, on(i)?.times))
        }));
        for instance in &step.instances {
            let row = row![
                count("step", "Step", "Step number.", step.number),
                text("device", "Device", "Device.", name(instance.device)),
                duration(
                    "duration_ps",
                    "Time",
                    "Time of the step on this device, by its own clock if it recorded one.",
                    instance.duration_ps
                ),
                duration(
                    "busy_ps",
                    "Busy",
                    "Time in the step in which the device ran at least one op.",
                    busy_in(instance)
                ),
                duration("start_ps", "Start", "Start, from the start of the run.", instance.start_ps),
                duration("end_ps", "End", "End, from the start of the run.", instance.end_ps),
            ];
            by_device.push(row);
        }
    }
    let series = selection.devices.iter().map(|device| Series {
        id: format!("step_time:{}", device.name),
        title: device.name.clone(),
        x: ("Step", Unit::Count),
        y: ("Time", Unit::Ps),
        points: steps
            .rows
            .iter()
            .filter_map(|s| Some([s.number as f64, s.on(device.id)?.duration_ps as f64]))
            .collect(),
    });
    let series = series.collect();
    let by_class = Table::of("classes", "What each step's time goes to", by_class);
    let bubbles = bubbles(&by_class, &steps);
    let tables =
        vec![Table::of("steps", "Steps", rows), by_class, Table::of("devices", "Steps by device", by_device)];
    Ok(Report {
        values: [values(&steps, summary.as_ref()), vec![bubbles], course_values(&steps, course.as_ref())]
            .concat(),
        findings: course.map_or_else(Vec::new, |course| findings(&steps, &course)),
        tables,
        series,
        ..Report::default()
    })
}

/// The word for a step's class. No step is steady that lies at a worse level than others.
fn word(step: &Step, course: Option<&StepSeries>) -> &'static str {
    match step.class {
        StepClass::Steady if course.is_some_and(|course| course.is_slower(step.number)) => "slower",
        class => class.word(),
    }
}

/// What was found among the steps' times as numbers.
fn course_values(steps: &Steps, course: Option<&StepSeries>) -> Vec<Value> {
    let status = if steps.source.is_inferred() { Status::Estimated } else { Status::Derived };
    let change = course.and_then(|course| Some((course, course.change()?)));
    let period = course.and_then(|course| Some((course, course.stalls()?)));
    vec![
        Value::new(
            "change_step",
            "Level changes at step",
            change.map(|(course, change)| course.number(change.at)),
            Unit::Count,
            status,
            "The first step at another level of step time; unknown if there is none, or if too few steps count.",
        ),
        Value::new(
            "change_share",
            "Change of level",
            change.map(|(_, change)| change.size),
            Unit::Share,
            status,
            "The level from that step on, compared with the one before: above 0 is slower.",
        ),
        Value::new(
            "stall_period",
            "Steps from stall to stall",
            period.map(|(_, period)| period.every),
            Unit::Count,
            status,
            "Every so many steps, one takes longer; unknown if there is no such period.",
        ),
    ]
}

/// What was found among the steps' times in words.
fn findings(steps: &Steps, course: &StepSeries) -> Vec<Finding> {
    let status = if steps.source.is_inferred() { Status::Estimated } else { Status::Derived };
    let all = course.mean_ps() * course.steps.len() as f64;
    let finding = |id, claim: String, lost: f64, evidence: String, row: i64| {
        let saved = lost / all.max(1.0);
        Finding {
            id,
            severity: if saved >= 0.05 { Severity::Warning } else { Severity::Info },
            claim: capitalized(&claim),
            evidence,
            ceiling: format!("{:.2}x: {} of the steps' time", ceiling::speedup(saved), units::share(saved)),
            speedup: Some(ceiling::speedup(saved)),
            recommendation:
                "`diagnose` says what takes longer in these steps, on which devices, and what the host did"
                    .into(),
            falsifier: "another capture of the same program shows no such steps".into(),
            status,
            links: vec![Link::to("steps").row("steps", row.to_string()), Link::to("diagnose")],
            ..Finding::default()
        }
    };
    let mut found = Vec::new();
    if let (Some(change), Some(words)) = (course.change(), course.change_words()) {
        let (low, high) = change.interval;
        let evidence = format!(
            "the change of level is {} (95% interval {} to {}); p = {:.1e} over {} steps",
            units::share(change.size),
            units::share(low),
            units::share(high),
            change.p,
            course.steps.len()
        );
        found.push(finding(
            "slower_from_step",
            words,
            course.series.excess(),
            evidence,
            course.number(change.at),
        ));
    }
    if let (Some(period), Some(words)) = (course.stalls().filter(|p| p.is_sure()), course.period_words()) {
        let evidence = format!("steps {}; {} stalls", course.listed(&period.members), period.starts.len());
        let lost = period.extra * period.starts.len() as f64;
        found.push(finding("periodic_stall", words, lost, evidence, course.number(period.first)));
    }
    found
}

/// What a device did in one of its steps.
struct OnDevice {
    times: Times,
    busy_ps: i64,
}

/// What a device did in its steps, by their starts and ends.
type InSteps = FxHashMap<(i64, i64), OnDevice>;

/// The accounts of the selected devices without their times, and what each device did in its steps, by their starts and ends.
fn on_devices(
    profile: &Profile,
    selection: &Selection<'_>,
    steps: &Steps,
) -> (Vec<Option<Account>>, Vec<InSteps>) {
    let all = account::of_each(profile, selection, |_, account| {
        let own = steps.rows.iter().flat_map(|step| &step.instances).filter(|i| i.device == account.device);
        let mut meters = account.meters();
        let on = own.map(|i| {
            let times = meters.between(i.start_ps, i.end_ps);
            let busy_ps = times.total() - times.of_group(Group::Idle);
            ((i.start_ps, i.end_ps), OnDevice { times, busy_ps })
        });
        (on.collect(), account.without_times())
    });
    all.into_iter().map(|one| one.map_or_else(Default::default, |(on, account)| (Some(account), on))).unzip()
}

/// What a step's time on a device goes to; what a step lasts beyond the capture counts as before or after it.
fn class_row(
    step: &Step,
    at: &StepInstance,
    device: &str,
    account: &Account,
    mut times: Times,
) -> Row<impl Columns + use<>> {
    let beyond = |from: i64, to: i64| (to - from).max(0);
    times.0[Class::Before as usize] += beyond(at.start_ps, at.end_ps.min(account.span.0));
    times.0[Class::After as usize] += beyond(at.start_ps.max(account.span.1), at.end_ps);
    row![
        count("step", "Step", "Step number.", step.number),
        text("device", "Slowest device", "The device that took longest.", device),
        duration(
            "time_ps",
            "Time",
            "The step on that device, on the run's clock: the sum of the next columns.",
            at.end_ps - at.start_ps
        ),
        column(Class::Compute.column(), times.of(Class::Compute)),
        column(Class::Copy.column(), times.of(Class::Copy)),
        column(Class::Communication.column(), times.of(Class::Communication)),
        column(Class::AsyncWait.column(), times.of(Class::AsyncWait)),
        column(Class::HostTransfer.column(), times.of(Class::HostTransfer)),
        column(Class::Infeed.column(), times.of(Class::Infeed)),
        column(Class::Overhead.column(), times.of(Class::Overhead)),
        column(Class::Inside.column(), times.of(Class::Inside)),
        column(Class::Input.column(), times.of(Class::Input)),
        column(Class::Between.column(), times.of(Class::Between)),
        column(Class::After.column(), times.of(Class::After)),
        column(Class::Before.column(), times.of(Class::Before)),
    ]
}

/// The share of the counted steps in which their slowest device ran no op.
fn bubbles(classes: &Table, steps: &Steps) -> Value {
    let idle: Vec<usize> = Class::ALL
        .into_iter()
        .filter(|class| class.group() == Group::Idle)
        .filter_map(|class| classes.column(class.column().id))
        .collect();
    let counted: Vec<i64> =
        steps.rows.iter().filter(|s| s.class != StepClass::Edge).map(|s| s.number).collect();
    let (mut none, mut all) = (0.0, 0.0);
    for (at, row) in classes.rows.iter().enumerate() {
        let is_counted = matches!(row.first(), Some(Cell::Int(step)) if counted.contains(step));
        if is_counted {
            none += idle.iter().filter_map(|i| row[*i].number()).sum::<f64>();
            all += classes.cell(at, "time_ps").and_then(Cell::number).unwrap_or(0.0);
        }
    }
    Value::new(
        "bubble_share",
        "Bubbles",
        (all > 0.0).then(|| none / all),
        Unit::Share,
        if steps.source.is_inferred() { Status::Estimated } else { Status::Derived },
        "Share of the counted steps in which their slowest device ran no op.",
    )
}

/// Whether a scope selects a step.
pub fn in_scope(step: &Step, scope: &Scope) -> bool {
    step.is_in(scope)
}

fn mean_over_devices(steps: &Steps) -> Option<f64> {
    let counted = steps.rows.iter().filter(|s| s.class != StepClass::Edge).flat_map(|s| &s.instances);
    let samples: Vec<f64> = counted.map(|i| i.duration_ps as f64).collect();
    Summary::of(&samples).map(|s| s.mean)
}

/// Headline numbers of steps; the overview shows them too.
pub fn values(steps: &Steps, summary: Option<&Summary>) -> Vec<Value> {
    let status = if steps.source.is_inferred() { Status::Estimated } else { Status::Measured };
    let derived = if steps.source.is_inferred() { Status::Estimated } else { Status::Derived };
    let time =
        |id, label, value: Option<f64>, status, doc| Value::new(id, label, value, Unit::Ps, status, doc);
    let classed = |class| steps.rows.iter().filter(|s| s.class == class).count();
    vec![
        Value::new(
            "step_count",
            "Steps",
            summary.map(|s| s.count),
            Unit::Count,
            status,
            "Steps counted; steps at the edges of the capture that may be cut are not.",
        ),
        time(
            "step_time_mean_ps",
            "Step time, mean",
            summary.map(|s| s.mean),
            derived,
            "Mean over the counted steps of the slowest device's time.",
        ),
        time(
            "step_time_device_mean_ps",
            "Step time, mean over devices",
            mean_over_devices(steps),
            derived,
            "Mean over counted steps and devices. It is below the slowest device's mean if devices take turns at being slow.",
        ),
        time(
            "step_time_sd_ps",
            "Step time, standard deviation",
            summary.and_then(|s| s.standard_deviation),
            derived,
            "Sample standard deviation (n - 1).",
        ),
        time(
            "step_time_min_ps",
            "Step time, shortest",
            summary.map(|s| s.min),
            status,
            "Shortest counted step.",
        ),
        time("step_time_p50_ps", "Step time, median", summary.map(|s| s.p50), derived, "Median."),
        time(
            "step_time_p90_ps",
            "Step time, 90th percentile",
            summary.map(|s| s.p90),
            derived,
            "90th percentile, linear between neighbours.",
        ),
        time(
            "step_time_max_ps",
            "Step time, longest",
            summary.map(|s| s.max),
            status,
            "Longest counted step.",
        ),
        Value::new(
            "jitter",
            "Jitter",
            summary.and_then(Summary::variation),
            Unit::Share,
            derived,
            "Standard deviation divided by mean.",
        ),
        Value::new(
            "step_source",
            "Where steps come from",
            Some(steps.source.explain()),
            Unit::None,
            status,
            "Device markers, host markers, or inferred from launches.",
        ),
        Value::new(
            "warm_up_steps",
            "Warm-up steps",
            Some(classed(StepClass::WarmUp)),
            Unit::Count,
            derived,
            "Slow steps at the start.",
        ),
        Value::new(
            "outlier_steps",
            "Outlier steps",
            Some(classed(StepClass::Outlier)),
            Unit::Count,
            derived,
            "Steps more than 5% and 4 robust deviations from the median.",
        ),
        Value::new(
            "edge_steps",
            "Edge steps",
            Some(classed(StepClass::Edge)),
            Unit::Count,
            derived,
            "Steps that the capture may have cut; not counted.",
        ),
    ]
}
