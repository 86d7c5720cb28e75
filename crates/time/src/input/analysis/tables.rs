//! The tables of `input`.

use super::measure::{Measured, OfHost, waiting};
use crate::account::Class;
use crate::input::{Stage, StageClass};
use haloscope_profile::Profile;
use haloscope_report::units;
use haloscope_report::{Table, Unit, row};

/// A sum over the time looked at, for one step; where there are no steps, for all of it.
fn a_step(host: &OfHost, ps: i64) -> f64 {
    ps as f64 / host.batches.max(1) as f64
}

pub(super) fn stages(profile: &Profile, measured: &Measured<'_>) -> Table {
    let mut rows = Vec::new();
    for host in &measured.hosts {
        for stage in &host.pipeline.stages {
            let work = stage.work_ps();
            let rate = stage.bytes.filter(|_| work > 0).map(|b| b as f64 / (work as f64 / units::PS_PER_S));
            let caller = stage.called_by.and_then(|at| host.pipeline.stages.get(at));
            let row = row![
                text(
                    "stage",
                    "Stage",
                    "The stage: its stated name (`_ipl_stage_name`), else its event's name.",
                    stage.name.as_str()
                ),
                text(
                    "class",
                    "Class",
                    "What it does: as stated (`_ipl_stage_cat`), or by the name of a tf.data iterator.",
                    stage.class.phrase()
                ),
                duration(
                    "work_ps",
                    "Work",
                    "Time per step in the stage, summed over threads, without stages inside it and without waiting for those that it calls.",
                    a_step(host, work)
                ),
                duration(
                    "wall_ps",
                    "Wall",
                    "Time per step in which at least one thread worked in it.",
                    a_step(host, stage.work.length())
                ),
                float(
                    "supply_rate",
                    "Batches/s",
                    Unit::Ratio,
                    "Batches a second that it would give if it never waited, as parallel as it was; stages that share threads take turns and share one figure.",
                    host.supply(stage)
                ),
                float(
                    "parallelism",
                    "Parallel",
                    Unit::Ratio,
                    "Threads that worked in it at once: work divided by wall time.",
                    stage.parallelism()
                ),
                count("calls", "Calls", "Calls.", stage.calls),
                duration(
                    "waiting_ps",
                    "Waiting",
                    "Time per step in which it waited for a stage that it calls on another thread.",
                    a_step(host, stage.waiting_ps)
                ),
                duration(
                    "self_ps",
                    "Self time",
                    "Time per step without stages inside it on the same thread: work and waiting.",
                    a_step(host, stage.self_ps)
                ),
                duration(
                    "total_ps",
                    "Total",
                    "Time per step in all its calls, summed over threads.",
                    a_step(host, stage.total_ps)
                ),
                count("threads", "Threads", "Threads on which it ran.", stage.threads),
                rate(
                    "throughput",
                    "Throughput",
                    Unit::ByteRate,
                    "Bytes that it moved divided by its work, if it says how many.",
                    rate
                ),
                text("called_by", "Called by", "The stage that calls it.", caller.map(|s| s.name.as_str())),
                text(
                    "source",
                    "Known by",
                    "stated stage, tf.data, infeed, JAX callback, or worker thread: a data loader's thread without stages.",
                    stage.source.phrase()
                ),
                text("event", "Event", "The event's name on the timeline.", stage.event.as_str()),
                text("host", "Host", "Host.", profile.host(host.id).name.as_str()),
            ];
            rows.push(row);
        }
    }
    Table::of("stages", "Stages of the input pipeline", rows)
}

pub(super) fn classes(measured: &Measured<'_>) -> Table {
    let mut table = Vec::new();
    let hosts = measured.hosts.len().max(1) as f64;
    let all = || measured.hosts.iter().flat_map(|h| h.pipeline.stages.iter().map(move |s| (h, s)));
    let whole: f64 = all().map(|(host, stage)| a_step(host, stage.work_ps())).sum();
    for class in StageClass::ALL {
        let own: Vec<(&OfHost, &Stage)> = all().filter(|(_, s)| s.class == class).collect();
        if own.is_empty() {
            continue;
        }
        let work: f64 = own.iter().map(|(host, stage)| a_step(host, stage.work_ps())).sum();
        let wall = measured.hosts.iter().map(|h| a_step(h, h.pipeline.work_of(class).length()));
        let row = row![
            text("class", "Class", "What stages do.", class.phrase()),
            duration("work_ps", "Work", "Time per step and host, summed over threads.", work / hosts),
            share("share", "Share", "Of the work of all classes.", (whole > 0.0).then(|| work / whole)),
            duration(
                "wall_ps",
                "Wall",
                "Time per step and host in which at least one thread did such work.",
                wall.sum::<f64>() / hosts
            ),
            count("stages", "Stages", "Stages of the class.", own.len()),
            text("lever", "What to try", "What to try if such stages are too slow.", class.recommendation()),
        ];
        table.push(row);
    }
    Table::of("classes", "By class", table)
}

pub(super) fn steps(measured: &Measured<'_>) -> Table {
    let mut table = Vec::new();
    let known_input = measured.knows_input();
    let mut rows: Vec<usize> =
        measured.devices.iter().flat_map(|d| d.periods.iter().filter_map(|(row, ..)| *row)).collect();
    rows.sort_unstable();
    rows.dedup();
    let mut meters: Vec<_> = measured.devices.iter().map(|d| d.account.meters()).collect();
    for row in rows {
        let Some(step) = measured.step(row) else { continue };
        let (mut on, mut times) = (Vec::new(), Vec::new());
        for (d, meters) in measured.devices.iter().zip(&mut meters) {
            // By step, as they are found.
            let at = d.periods.partition_point(|(own, ..)| *own < Some(row));
            let Some((_, start, end)) = d.periods.get(at).filter(|(own, ..)| *own == Some(row)) else {
                continue;
            };
            on.push((d, *start, *end));
            times.push(meters.between(*start, *end));
        }
        let mean = |of: &dyn Fn(&crate::account::Times) -> i64| {
            units::sum(times.iter().map(of)) as f64 / times.len().max(1) as f64
        };
        let (length, waits) = (mean(&|t| t.total()), mean(&waiting));
        let host_of =
            |host: &OfHost| on.iter().find(|(d, ..)| d.device.host == host.id).map(|(_, s, e)| (*s, *e));
        let known = measured.hosts.iter().filter_map(|h| host_of(h).map(|(s, e)| (h, s, e)));
        let known: Vec<_> = known.filter(|(h, ..)| !h.pipeline.stages.is_empty()).collect();
        let work = known.iter().map(|(h, s, e)| h.pipeline.work().overlap(*s, *e)).max();
        let stages = known
            .iter()
            .flat_map(|(h, s, e)| h.pipeline.stages.iter().map(move |x| (x, x.work.overlap(*s, *e))));
        let longest =
            stages.max_by(|a, b| a.1.cmp(&b.1).then(b.0.name.cmp(&a.0.name))).filter(|(_, ps)| *ps > 0);
        let row = row![
            count("step", "Step", "Step number.", step.number),
            text("class", "Class", "steady, warm-up or outlier, as in `steps`.", step.class.word()),
            duration("period_ps", "Step to step", "Until the next step begins; mean over devices.", length),
            duration(
                "waiting_ps",
                "Waiting",
                "Device idle while a stage worked, and infeed; mean over devices.",
                known_input.then_some(waits)
            ),
            share(
                "waiting_share",
                "Share",
                "Waiting over the step.",
                (known_input && length > 0.0).then(|| waits / length)
            ),
            duration(
                "infeed_ps",
                "Infeed",
                "Of the waiting: in infeed and outfeed ops.",
                mean(&|t| t.of(Class::Infeed))
            ),
            duration(
                "between_ps",
                "Launching",
                "Device idle between programs while no known stage worked; mean over devices.",
                mean(&|t| t.of(Class::Between))
            ),
            duration(
                "host_work_ps",
                "Host work",
                "Time in which a stage worked on the host; longest of the hosts.",
                work
            ),
            text(
                "longest_stage",
                "Longest stage",
                "The stage that worked longest in the step, over all hosts.",
                longest.map(|(stage, _)| stage.name.as_str())
            ),
            duration(
                "longest_ps",
                "For",
                "How long at least one thread worked in it.",
                longest.map(|(_, ps)| ps)
            ),
        ];
        table.push(row);
    }
    Table::of("steps", "By step", table)
}

pub(super) fn hosts(profile: &Profile, measured: &Measured<'_>) -> Table {
    let mut table = Vec::new();
    let known_input = measured.knows_input();
    for host in &measured.hosts {
        let own: Vec<_> = measured.devices.iter().filter(|d| d.device.host == host.id).collect();
        let count: usize = own.iter().map(|d| d.periods.len()).sum();
        let whole = units::sum(own.iter().map(|d| d.times.total()));
        let waits = units::sum(own.iter().map(|d| waiting(&d.times)));
        let slowest = host.pipeline.slowest();
        let known = !host.pipeline.stages.is_empty();
        let row = row![
            text("host", "Host", "Host.", profile.host(host.id).name.as_str()),
            duration(
                "waiting_ps",
                "Waiting",
                "Time a step in which its devices waited for input; mean over them.",
                (known_input && count > 0).then(|| waits as f64 / count as f64)
            ),
            share(
                "waiting_share",
                "Share",
                "Waiting over the step.",
                (known_input && whole > 0).then(|| waits as f64 / whole as f64)
            ),
            text(
                "slowest_stage",
                "Slowest stage",
                "The stage that limits its pipeline.",
                slowest.map(|s| s.name.as_str())
            ),
            float(
                "supply_rate",
                "Supply",
                Unit::Ratio,
                "Batches a second that the stage would give if it never waited.",
                slowest.and_then(|s| host.supply(s))
            ),
            duration(
                "work_ps",
                "Work",
                "Time a step in which any stage worked.",
                known.then(|| a_step(host, host.pipeline.work().length()))
            ),
            count("devices", "Devices", "Devices that ran ops.", own.len()),
            count("batches", "Batches", "Steps that were counted.", host.batches),
            count("stages", "Stages", "Stages of its pipeline.", host.pipeline.stages.len()),
        ];
        table.push(row);
    }
    Table::of("hosts", "By host", table)
}
