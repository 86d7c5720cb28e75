//! The peak that the compiler planned and the one that the runtime saw, side by side. They count different things, so none is
//! chosen: the table says why they differ.

use crate::capacity::is_on_device;
use crate::heap::Buffers;
use crate::program_memory::ProgramMemory;
use haloscope_profile::{HostId, Profile};
use haloscope_report::scope::Scope;
use haloscope_report::units;
use haloscope_report::{Table, row};
use haloscope_time::programs;

use super::Seen;

/// The table, and the largest static peak in it.
pub(super) struct Peaks {
    pub(super) table: Table,
    pub(super) static_peak_bytes: Option<i64>,
}

pub(super) fn table(profile: &Profile, scope: &Scope, seen: &[Seen<'_, '_>]) -> Peaks {
    let planned = planned(profile, scope);
    let mut static_peak_bytes = None;
    let mut rows = Vec::new();
    for one in seen {
        let of_host = planned.iter().find(|(host, ..)| *host == one.host);
        let planned = of_host.filter(|_| is_on_device(&one.allocator.name));
        let planned_bytes = planned.map(|(_, bytes, _)| *bytes);
        let runtime = one.peak.in_use_bytes();
        static_peak_bytes = static_peak_bytes.max(planned_bytes);
        let row = row![
            text("host", "Host", "The host.", one.host_name),
            text("allocator", "Allocator", "The allocator.", one.allocator.name.as_str()),
            bytes(
                "static_peak_bytes",
                "Static peak",
                "The largest peak of any of the host's programs, from its buffer assignment; unknown for host memory, and if no program has one.",
                planned_bytes
            ),
            bytes(
                "runtime_peak_bytes",
                "Runtime peak",
                "The most in use at once in the scope, by the allocator.",
                runtime
            ),
            bytes(
                "actual_bytes",
                "Actual",
                "The largest value of reserved minus available, by the allocator.",
                one.actual_bytes()
            ),
            bytes(
                "lifetime_peak_bytes",
                "Lifetime peak",
                "The most that was ever in use, by the allocator.",
                one.lifetime_peak_bytes()
            ),
            bytes(
                "difference_bytes",
                "Difference",
                "Runtime peak minus static peak.",
                planned_bytes.map(|bytes| runtime.saturating_sub(bytes))
            ),
            text(
                "program",
                "Program",
                "The program with the static peak.",
                planned.map(|(.., label)| label.as_str())
            ),
            text(
                "because",
                "Why they differ",
                "What one counts and the other does not.",
                because(one, planned_bytes, runtime)
            ),
        ];
        rows.push(row);
    }
    Peaks { table: Table::of("peaks", "Static and runtime peaks", rows), static_peak_bytes }
}

/// Per host the largest peak of a program in its main memory, and which.
fn planned(profile: &Profile, scope: &Scope) -> Vec<(HostId, i64, String)> {
    // A run without modules, or with damaged ones, has no static peak; that is not this question's fault.
    let Ok(programs) = programs::in_scope(profile, scope) else { return Vec::new() };
    let mut planned: Vec<(HostId, i64, String)> = Vec::new();
    for program in programs {
        let Some(buffers) = Buffers::new(&program.decoded.module) else { continue };
        let (host, peak) = (program.entry.host, ProgramMemory::new(&buffers, 0).peak_bytes());
        match planned.iter_mut().find(|row| row.0 == host) {
            Some(row) if row.1 >= peak => {}
            Some(row) => *row = (host, peak, program.label()),
            None => planned.push((host, peak, program.label())),
        }
    }
    planned
}

fn because(one: &Seen<'_, '_>, planned: Option<i64>, runtime: i64) -> String {
    let bytes = |v: i64| units::bytes(v as f64);
    let mut said = match planned {
        None if !is_on_device(&one.allocator.name) => "host memory: programs' peaks are about the device".to_owned(),
        None => "no program of the host has a buffer assignment, so there is no static peak".to_owned(),
        Some(planned) if runtime < planned => "the static peak is an upper bound for one run of the program, temporary buffers \
                                               included; the allocator sees only inputs, outputs and what was reserved"
            .to_owned(),
        Some(planned) if runtime > planned => "the allocator counts every buffer of the process, including buffers of other programs and from before the capture"
            .to_owned(),
        Some(_) => "they are equal".to_owned(),
    };
    let unseen = super::alive::unseen_bytes(one);
    if unseen > 0 {
        said.push_str(&format!("; {} at the peak were allocated before the capture", bytes(unseen)));
    }
    if let Some(lifetime) = one.lifetime_peak_bytes().filter(|lifetime| *lifetime > runtime) {
        said.push_str(&format!("; the most ever in use, {}, was not in the scope", bytes(lifetime)));
    }
    said
}
