//! `inspect`: what a profile holds, and what it lacks.

mod program;

use std::borrow::Cow;
use std::sync::OnceLock;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::{capture_advice, selfcheck};
use haloscope_profile::{Line, Plane, Profile, filled};
use haloscope_report::Error;
use haloscope_report::scope::Scope;
use haloscope_report::stop;
use haloscope_report::{Gate, Notes, Report, Severity, Status, Table, Unit, Value, row};
use haloscope_time::analysis::{Analysis, Input, MenuGroup, Param, ParamKind, Params, Run};
use haloscope_time::select::{Scoped, Selection};
use haloscope_time::steps::Steps;
use haloscope_time::{fix, ops, quality};

/// Whether the sums that must hold are looked at.
const SELFCHECK: Param = Param {
    id: "selfcheck",
    doc: "runs every analysis on the whole and on parts of it, and checks the sums that must hold: exit code 1 if one does not",
    kind: ParamKind::Flag,
    default: "",
};

/// The analysis, which `run` answers.
pub(super) const fn analysis(run: Run) -> Analysis {
    Analysis {
        id: "inspect",
        label: "Inspect",
        group: MenuGroup::File,
        question: "What is in this profile, what is missing, and what should the next capture do differently?",
        params: &[SELFCHECK],
        needs: &["any XSpace, HLO proto, HLO text or XLA dump"],
        reads: &[Input::Profile, Input::Program],
        example: "inspect logs",
        also: &[],
        run,
    }
}

/// What a run holds; with `selfcheck` what these other analyses say of it too.
pub(super) fn run(
    asked: &Scoped<'_>,
    params: &Params,
    notes: &mut Notes,
    others: &[&'static Analysis],
) -> Result<Report, Error> {
    let mut report = held(asked, notes)?;
    if params.flag(&SELFCHECK) {
        let outcomes = selfcheck::check(asked, others)?;
        selfcheck::remarks(&outcomes).for_each(|remark| notes.push(remark));
        report.tables.insert(0, selfcheck::table(&outcomes));
        let broken: usize = outcomes.iter().map(|outcome| outcome.tally.broken).sum();
        let checked: usize = outcomes.iter().map(|outcome| outcome.tally.checked).sum();
        let count =
            |id, label, n: usize, doc| Value::new(id, label, Some(n), Unit::Count, Status::Measured, doc);
        report.values.push(count(
            "sums_checked",
            "Sums checked",
            checked,
            "Numbers and sums that must hold, over all scopes.",
        ));
        report.values.push(count("sums_broken", "Sums broken", broken, "Sums that do not hold."));
        report.gate = Some(Gate::of(broken == 0));
    }
    Ok(report)
}

fn held(asked: &Scoped<'_>, notes: &mut Notes) -> Result<Report, Error> {
    let (profile, scope) = (asked.profile, &asked.scope);
    let hosts: Vec<bool> =
        profile.hosts.iter().map(|h| scope.hosts.is_empty() || scope.hosts.contains(&h.name)).collect();
    if !hosts.contains(&true) {
        // The same words as everywhere else.
        asked.selection()?;
    }
    if profile.is_program() {
        return Ok(program::run(profile, scope, notes));
    }
    let planes: Vec<&Plane> = profile.planes.iter().filter(|p| hosts[p.host.index()]).collect();
    let lines: Vec<&Line> =
        planes.iter().flat_map(|p| profile.lines_of(p.id)).filter(|l| l.event_count > 0).collect();
    let stats = count_stats(profile, &lines);
    let events: u64 = lines.iter().map(|l| l.event_count).sum();
    let recorded = remarks(profile, scope, &hosts, notes);
    if scope.cuts_time() || !scope.devices.is_empty() || !scope.modules.is_empty() {
        quality::not_used("devices, modules, steps and windows", notes);
    }
    let count = |id, label, n: usize, doc| Value::new(id, label, Some(n), Unit::Count, Status::Measured, doc);
    let of_hosts = profile.sources.iter().zip(&hosts).filter(|(_, chosen)| **chosen);
    let bytes: usize = of_hosts.map(|(s, _)| s.bytes().len()).sum();
    let spans: Vec<_> = lines.iter().filter_map(|l| profile.events(l).span_ps()).collect();
    let span =
        spans.iter().map(|s| s.1).max().zip(spans.iter().map(|s| s.0).min()).map(|(end, start)| end - start);
    let values = vec![
        count("hosts", "Hosts", hosts.iter().filter(|h| **h).count(), "Files of the run."),
        count(
            "devices",
            "Devices",
            profile.devices.iter().filter(|d| d.active && hosts[d.host.index()]).count(),
            "Devices with events; the CPU counts if there is no accelerator.",
        ),
        count("planes", "Planes", planes.len(), "Planes."),
        count("lines", "Lines", lines.len(), "Lines with events."),
        Value::new("events", "Events", Some(events), Unit::Count, Status::Measured, "Events on all lines."),
        Value::new(
            "span_ps",
            "Span of events",
            span,
            Unit::Ps,
            Status::Measured,
            "From the first event to the last end.",
        ),
        count(
            "modules",
            "HLO modules",
            profile.modules.iter().filter(|m| hosts[m.host.index()]).count(),
            "HLO modules in the profile.",
        ),
        Value::new(
            "file_bytes",
            "Size of the files",
            Some(bytes),
            Unit::Bytes,
            Status::Measured,
            "The files of these hosts, unpacked.",
        ),
    ];
    let tables = vec![
        host_table(profile, &hosts),
        recorded,
        plane_table(profile, &planes),
        line_table(profile, &lines),
        module_table(profile, &hosts),
        stats,
    ];
    Ok(Report { values, tables, ..Report::default() })
}

/// Adds the remarks, and says what the capture recorded, for which the ops are looked at once.
fn remarks(profile: &Profile, scope: &Scope, hosts: &[bool], notes: &mut Notes) -> Table {
    quality::all_events(profile, hosts, notes);
    for host in profile.hosts.iter().filter(|h| h.capture_ps.is_none()) {
        notes.add(
            "no_capture_times",
            Severity::Info,
            format!("{}: the profiler did not record when the capture started and stopped", host.name),
            "the span of all events is used as the capture; hosts without a start time are placed at 0",
            "a newer jaxlib or TensorFlow writes a Task Environment plane",
        );
    }
    quality::dropped(profile, notes);
    let selection =
        match Selection::resolve(profile, &Scope { hosts: scope.hosts.clone(), ..Scope::default() }) {
            Ok(selection) => selection,
            Err(error) => {
                notes.add(
                    "no_devices",
                    Severity::Error,
                    error.to_string(),
                    "nothing is known about devices",
                    "",
                );
                return recorded_table(&capture_advice::missing::parts(profile, hosts, None, &[]));
            }
        };
    for text in &selection.left_out {
        notes.add(
            "devices_left_out",
            Severity::Info,
            format!("left out: {text}"),
            "averages are over the other devices",
            "",
        );
    }
    let ops = ops::collect(profile, &selection);
    if ops.is_empty() {
        let reason = quality::no_ops(profile, &selection).to_string();
        notes.add("no_ops", Severity::Error, reason, "no analysis of ops, rates or limits", "");
    }
    quality::remarks(profile, &selection, &ops, notes);
    quality::steps(profile, &Steps::find(profile, &selection.devices), notes);
    if profile.modules.is_empty() {
        notes.add(
            "no_hlo_modules",
            Severity::Warning,
            "the profile has no HLO module",
            "no graph, no memory analysis, and on GPU and CPU no FLOPs",
            fix::KEEP_PROGRAMS.for_run(profile),
        );
    }
    for module in &profile.modules {
        if let Err(reason) = module.decode(profile) {
            let message = format!("HLO module {} cannot be decoded: {reason}", module.label());
            notes.add("damaged_hlo", Severity::Warning, message, "its ops have no FLOPs from HLO", "");
        }
    }
    recorded_table(&capture_advice::missing::parts(profile, hosts, Some(&selection), &ops))
}

fn recorded_table(parts: &[capture_advice::missing::Part]) -> Table {
    let mut rows = Vec::new();
    for part in parts {
        let row = row![
            text("what", "What", "What a capture can record.", part.label),
            text(
                "recorded",
                "Recorded",
                "yes; no, although there may have been something to record; or does not apply: the run has nothing of this kind.",
                part.state.word()
            ),
            text(
                "serves",
                "Serves",
                "Questions that need it; `haloscope capture --explain QUESTION` says what else they need.",
                part.serves
            ),
            prose(
                "next",
                "For the next capture",
                "The setting that records what is missing; empty if nothing is.",
                part.fix.as_str()
            ),
            text("id", "Id", "Its name in scripts.", part.id),
        ];
        rows.push(row);
    }
    Table::of("recorded", "What the capture recorded", rows)
}

fn host_table(profile: &Profile, chosen: &[bool]) -> Table {
    let mut rows = Vec::new();
    for ((index, host), source) in profile.hosts.iter().enumerate().zip(&profile.sources) {
        if !chosen[index] {
            continue;
        }
        let planes = profile.planes.iter().filter(|p| p.host.index() == index);
        let lines: Vec<&Line> =
            planes.clone().flat_map(|p| profile.lines_of(p.id)).filter(|l| l.event_count > 0).collect();
        let row = row![
            text("host", "Host", "The file's stem.", host.name.as_str()),
            bytes("bytes", "Size", "Size of its file, unpacked.", source.bytes().len()),
            count("planes", "Planes", "Planes.", planes.count()),
            count("lines", "Lines", "Lines with events.", lines.len()),
            count("events", "Events", "Events.", lines.iter().map(|l| l.event_count).sum::<u64>()),
            count(
                "modules",
                "Modules",
                "HLO modules in the profile.",
                profile.modules.iter().filter(|m| m.host.index() == index).count()
            ),
            duration(
                "capture_ps",
                "Capture",
                "From the profiler's start to its stop; unknown if it did not record them.",
                host.capture_ps.map(|(from, to)| to - from)
            ),
            count("faults", "Damage", "Malformed places.", source.faults.count()),
        ];
        rows.push(row);
    }
    Table::of("hosts", "Hosts", rows)
}

fn plane_table(profile: &Profile, planes: &[&Plane]) -> Table {
    let mut rows = Vec::new();
    for plane in planes {
        let lines: Vec<&Line> = profile.lines_of(plane.id).filter(|l| l.event_count > 0).collect();
        let spans: Vec<_> = lines.iter().filter_map(|l| profile.events(l).span_ps()).collect();
        let first = spans.iter().map(|s| s.0).min();
        let last = spans.iter().map(|s| s.1).max();
        let row = row![
            text("plane", "Plane", "Name.", plane.name.as_str()),
            count("lines", "Lines", "Lines with events.", lines.len()),
            count(
                "events",
                "Events",
                "Events on all lines.",
                lines.iter().map(|l| l.event_count).sum::<u64>()
            ),
            duration("start_ps", "First event", "From the start of the run.", first),
            duration(
                "span_ps",
                "Span",
                "From the first event to the last end.",
                last.zip(first).map(|(b, a)| b - a)
            ),
            count("event_names", "Names", "Event metadata entries.", plane.metas.len() - 1),
            text("host", "Host", "Host.", profile.host(plane.host).name.as_str()),
        ];
        rows.push(row);
    }
    Table::of("planes", "Planes", rows)
}

fn line_table(profile: &Profile, lines: &[&Line]) -> Table {
    let mut rows = Vec::new();
    let mut lines = lines.to_vec();
    lines.sort_by_key(|l| (std::cmp::Reverse(l.event_count), l.id));
    for line in lines {
        let events = profile.events(line);
        let span = events.span_ps();
        let plane = profile.plane(line.plane);
        let row = row![
            text("line", "Line", "Name.", line.name.as_str()),
            count("events", "Events", "Events with a place in time.", events.len()),
            duration("start_ps", "First event", "From the start of the run.", span.map(|s| s.0)),
            duration(
                "span_ps",
                "Span",
                "From the first event to the last end.",
                span.map(|(from, to)| to - from)
            ),
            text("plane", "Plane", "The plane it belongs to.", plane.name.as_str()),
            count(
                "aggregated",
                "Aggregated",
                "Entries for several events without a place in time.",
                events.aggregated.len()
            ),
            text("host", "Host", "Host.", profile.host(plane.host).name.as_str()),
        ];
        rows.push(row);
    }
    Table::of("lines", "Lines", rows)
}

fn module_table(profile: &Profile, chosen: &[bool]) -> Table {
    let mut rows = Vec::new();
    let mut modules: Vec<_> = profile.modules.iter().filter(|m| chosen[m.host.index()]).collect();
    modules.sort_by(|a, b| {
        (b.proto.len, &a.name, a.program_id, a.host).cmp(&(a.proto.len, &b.name, b.program_id, b.host))
    });
    for module in modules {
        let row = row![
            text("module", "Module", "Name.", module.name.as_str()),
            text("program_id", "Program", "Program id.", module.program_id.map(|id| id.to_string())),
            bytes("bytes", "Size", "Size of the serialised HloProto.", module.proto.len),
            text("host", "Host", "Host.", profile.host(module.host).name.as_str()),
        ];
        rows.push(row);
    }
    Table::of("modules", "HLO modules", rows)
}

/// Name of a stat, whether its plane is a device's, and how many events of a line carry it.
type StatOfLine = (String, bool, u64);

/// [`stats_of_line`] of each line of a run, filled on first use: every event is read for it.
struct StatsOfLines(Vec<OnceLock<Vec<StatOfLine>>>);

/// How many events carry each stat. Reads every event's stats, line by line on all cores, once where more questions follow.
fn count_stats(profile: &Profile, lines: &[&Line]) -> Table {
    let kept = profile.memo(|profile| StatsOfLines(profile.lines.iter().map(|_| OnceLock::new()).collect()));
    let of_line = |line: &&Line| match kept {
        Some(kept) => Cow::Borrowed(&**filled(&kept.0[line.id.index()], || stats_of_line(profile, line))),
        None => Cow::Owned(stats_of_line(profile, line)),
    };
    let parts: Vec<Cow<'_, [StatOfLine]>> = lines.par_iter().map(stop::carried(of_line)).collect();
    let mut counts: FxHashMap<&str, (u64, bool, bool)> = FxHashMap::default();
    for (name, device, count) in parts.iter().flat_map(|part| part.iter()) {
        let entry = counts.entry(name).or_default();
        entry.0 += count;
        entry.1 |= device;
        entry.2 |= !device;
    }
    let mut rows: Vec<_> = counts.into_iter().collect();
    rows.sort_by(|a, b| (b.1.0, a.0).cmp(&(a.1.0, b.0)));
    let mut table = Vec::new();
    for (name, (count, device, host)) in rows {
        let kinds = match (device, host) {
            (true, true) => "device, host",
            (true, false) => "device",
            _ => "host",
        };
        let row = row![
            text("stat", "Stat", "Name.", name),
            count("events", "Events", "Events that carry it.", count),
            text("plane", "Planes", "Kind of planes that have it: device or host.", kinds),
        ];
        table.push(row);
    }
    Table::of("stats", "Stats on events", table)
}

fn stats_of_line(profile: &Profile, line: &Line) -> Vec<StatOfLine> {
    let plane = profile.plane(line.plane);
    let source = profile.source_of(plane);
    let events = profile.events(line);
    let mut counts: FxHashMap<i64, u64> = FxHashMap::default();
    for index in 0..events.len() {
        for stat in events.stats(source, index) {
            *counts.entry(stat.metadata_id).or_default() += 1;
        }
    }
    let mut rows: Vec<_> = counts.into_iter().collect();
    rows.sort_unstable();
    let named = |(id, count)| (plane.stat_name(source, id).into_owned(), plane.kind.is_device(), count);
    rows.into_iter().map(named).collect()
}
