//! Events of the host's threads by name, with self time.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::nesting::walk_own;
use crate::select::Selection;
use haloscope_profile::{LineKind, Profile};
use haloscope_report::Error;
use haloscope_report::units;
use haloscope_report::{Report, Status, Table, Unit, Value, row};

#[derive(Default)]
struct Sum {
    occurrences: u64,
    total_ps: i64,
    self_ps: i64,
    threads: u64,
}

/// The report of `ops --on host`.
///
/// # Errors
/// [`Error::Nothing`] if no host thread has an event in the scope.
pub(super) fn report(profile: &Profile, selection: &Selection<'_>) -> Result<Report, Error> {
    let mut sums: FxHashMap<Cow<'_, str>, Sum> = FxHashMap::default();
    let hosts = selection.hosts(profile);
    for plane in profile.planes.iter().filter(|p| !p.kind.is_device()) {
        if !hosts.contains(&profile.host(plane.host).name) {
            continue;
        }
        let source = profile.source_of(plane);
        // Host time is cut by the window of the host's first device.
        let first = selection.devices.iter().position(|d| d.host == plane.host);
        let cut = first.and_then(|position| selection.window(position));
        for line in profile.lines_of(plane.id).filter(|l| l.kind == LineKind::Thread) {
            let mut here: FxHashMap<u32, Sum> = FxHashMap::default();
            walk_own(
                || profile.events(line).iter(),
                cut,
                |event, self_ps| {
                    let inside = cut
                        .map_or(event.end_ps - event.start_ps, |c| c.overlap(event.start_ps, event.end_ps));
                    if cut.is_some() && inside == 0 {
                        return;
                    }
                    let sum = here.entry(event.meta).or_default();
                    sum.occurrences += 1;
                    sum.total_ps = sum.total_ps.saturating_add(inside);
                    sum.self_ps = sum.self_ps.saturating_add(self_ps);
                },
            );
            let mut here: Vec<_> = here.into_iter().collect();
            here.sort_unstable_by_key(|(meta, _)| *meta);
            for (meta, part) in here {
                let sum = sums.entry(plane.meta_label(source, meta)).or_default();
                sum.occurrences += part.occurrences;
                sum.total_ps = sum.total_ps.saturating_add(part.total_ps);
                sum.self_ps = sum.self_ps.saturating_add(part.self_ps);
                sum.threads += 1;
            }
        }
    }
    if sums.is_empty() {
        return Err(Error::Nothing(
            "no host thread has an event in the scope; capture with host_tracer_level 1 or more".into(),
        ));
    }
    let mut rows: Vec<_> = sums.into_iter().collect();
    rows.sort_by(|a, b| (b.1.self_ps, &a.0).cmp(&(a.1.self_ps, &b.0)));
    let all: i64 = units::sum(rows.iter().map(|(_, sum)| sum.self_ps));
    let mut table = Vec::new();
    for (name, sum) in &rows {
        let row = row![
            text("name", "Name", "The event's name.", name.as_ref()),
            duration(
                "self_ps",
                "Self time",
                "Time in which it was the innermost event of its thread, summed over threads: its time minus that of events inside. If two overlap partly, the shared time counts for the later one.",
                sum.self_ps
            ),
            share(
                "self_share",
                "Share",
                "Share of the self time of all events.",
                (all > 0).then(|| sum.self_ps as f64 / all as f64)
            ),
            count("occurrences", "Count", "Events.", sum.occurrences),
            duration(
                "total_ps",
                "Total time",
                "Time with all events inside; an event inside another of the same name counts twice.",
                sum.total_ps
            ),
            duration(
                "average_ps",
                "Average",
                "Total time of one event.",
                sum.total_ps as f64 / sum.occurrences.max(1) as f64
            ),
            count("threads", "Threads", "Threads on which it occurs.", sum.threads),
        ];
        table.push(row);
    }
    let values = vec![Value::new(
        "host_self_time_ps",
        "Self time of all host events",
        Some(all),
        Unit::Ps,
        Status::Measured,
        "Sum over threads: several threads at once count several times.",
    )];
    Ok(Report {
        values,
        tables: vec![Table::of("ops", "Host events by self time", table)],
        ..Report::default()
    })
}
