//! What all reports share: where they come from, what they cover, and how whole the data was.

use super::select::{Scoped, Selection};
use haloscope_profile::{Peak, Profile, Source};
use haloscope_report::{
    Coverage, FileRead, Notes, PeakUsed, Provenance, Report, ScopeSummary, Severity, Unit,
};

/// Fills the scope and provenance of a report, and adds remarks on damaged files.
pub(crate) fn fill(report: &mut Report, asked: &Scoped<'_>, notes: &mut Notes) {
    let (profile, scope) = (asked.profile, &asked.scope);
    let selection = asked.selection().ok();
    report.provenance = Provenance {
        files: files(profile).collect(),
        hosts: profile.hosts.iter().map(|h| h.name.clone()).collect(),
        coverage: Coverage {
            devices: selection.map_or(0, |s| s.devices.len()),
            devices_in_profile: profile.devices.len(),
        },
        peaks: selection.map(peaks).unwrap_or_default(),
    };
    report.scope = ScopeSummary {
        hosts: selection.map(|s| s.hosts(profile)).unwrap_or_default(),
        devices: selection.iter().flat_map(|s| s.devices.iter().map(|d| d.name.clone())).collect(),
        modules: scope.modules.clone(),
        steps: scope.steps.as_ref().map(ToString::to_string),
        window_ps: scope.window_ps.map(|(from, to)| [from, to]),
        steady: scope.steady,
        left_out: selection.map(|s| s.left_out.clone()).unwrap_or_default(),
    };
    damage(profile, notes);
}

/// Adds what a second run of a report was read from.
pub(crate) fn add_files(report: &mut Report, profile: &Profile, notes: &mut Notes) {
    report.provenance.files.extend(files(profile));
    damage(profile, notes);
}

fn files(profile: &Profile) -> impl Iterator<Item = FileRead> {
    let read = |s: &Source| FileRead {
        path: haloscope_report::naming::shown(&s.path),
        bytes: s.bytes().len() as u64,
    };
    profile.sources.iter().map(read)
}

fn peaks(selection: &Selection<'_>) -> Vec<PeakUsed> {
    let mut all: Vec<PeakUsed> = Vec::new();
    for device in &selection.devices {
        let used = |resource, peak: Option<Peak>, unit| {
            let device_type = device.type_name.clone();
            peak.map(|p| PeakUsed { device_type, resource, rate: p.rate, unit, source: p.source.word() })
        };
        let two = [
            used("flops", device.peaks.flops, Unit::FlopRate),
            used("hbm", device.peaks.hbm, Unit::ByteRate),
        ];
        for peak in two.into_iter().flatten() {
            if !all.contains(&peak) {
                all.push(peak);
            }
        }
    }
    all
}

/// Remarks on files that were damaged, or whose profiler reported trouble.
fn damage(profile: &Profile, notes: &mut Notes) {
    for reason in &profile.left_out {
        let cost = "the host's devices are in none of the numbers";
        notes.add(
            "unreadable_file",
            Severity::Error,
            format!("left out: {reason}"),
            cost,
            "fetch the file again",
        );
    }
    for source in &profile.sources {
        let file = source.path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        if let Some(first) = source.faults.kept().first() {
            let more = match source.faults.count() {
                1 => String::new(),
                n => format!("; {n} such places in all"),
            };
            notes.add(
                "damaged_file",
                Severity::Error,
                format!("{file}: {first}{more}"),
                "what stands behind a damaged place in the same plane or line is not counted",
                "copy the file again, or capture again if the profiler was stopped while it wrote",
            );
        }
        if let Some(trace) = &source.trace_json {
            super::quality::trace_json(&file, trace, notes);
        }
        if let Some(pieces) = &source.pieces {
            super::quality::pieces(&file, pieces, notes);
        }
        for text in &source.errors {
            notes.add(
                "profiler_error",
                Severity::Error,
                format!("{file}: the profiler says: {text}"),
                "data may be missing",
                "",
            );
        }
        for text in &source.warnings {
            notes.add(
                "profiler_warning",
                Severity::Warning,
                format!("{file}: the profiler says: {text}"),
                "data may be missing",
                "",
            );
        }
    }
}
