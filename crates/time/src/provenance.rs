//! What all reports share: where they come from, what they cover, and how whole the data was.

use super::select::{Scoped, Selection};
use haloscope_profile::{Peak, Profile, Source};
use haloscope_report::{
    Coverage, FileRead, Notes, PeakUsed, Provenance, Report, ScopeSummary, Severity, Unit, units,
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
    same_names(profile, notes);
}

/// Says that devices of one name were numbered.
fn same_names(profile: &Profile, notes: &mut Notes) {
    let name = |device: &haloscope_profile::Device| (device.host, profile.plane(device.plane).name.as_str());
    let active: Vec<_> = profile.devices.iter().filter(|device| device.active).collect();
    let shared = |device: &&haloscope_profile::Device| {
        active.iter().filter(|other| name(other) == name(device)).count() > 1
    };
    let names: Vec<&str> = active.iter().copied().filter(shared).map(|device| device.name.as_str()).collect();
    if !names.is_empty() {
        notes.add(
            "same_device_names",
            Severity::Info,
            format!("devices with the same name are numbered in the order of the file: {}", names.join(", ")),
            "which process or rank each belongs to is not known, so communication between them is not matched by their ids",
            "write one file per process, or use one process for all devices of a host",
        );
    }
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
        let cost = "the host's devices are not in any of the numbers";
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
        let malformed = source.faults.kept().first().map(|first| match source.faults.count() {
            1 => first.to_string(),
            n => format!("{first}; {n} such places in all"),
        });
        let cut = source.cut.as_ref().map(|why| {
            let size = units::bytes(source.bytes().len() as f64);
            format!("only the first {size} could be unpacked ({why})")
        });
        if cut.is_some() || malformed.is_some() {
            let what = cut.into_iter().chain(malformed).collect::<Vec<_>>().join("; ");
            notes.add(
                "damaged_file",
                Severity::Error,
                format!("{file}: {what}"),
                "data after a damaged place in the same plane or line is not counted",
                "copy the file again, or capture again if the profiler was stopped while it wrote",
            );
        }
        if source.trailing_bytes > 0 {
            notes.add(
                "trailing_bytes",
                Severity::Warning,
                format!(
                    "{file}: {} extra bytes follow the end of the compressed data",
                    source.trailing_bytes
                ),
                "they are not in any of the numbers; if they were a part of the profile, that part is missing",
                "fetch the file again, if another copy is shorter or longer",
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
