//! `memory profile`: what the runtime's allocators did while the profiler watched.

mod alive;
mod curves;
mod peaks;

use crate::allocator::{Allocator, AllocatorEvent, allocators};
use crate::allocator_peak::highest;
use crate::capacity::is_on_device;
use haloscope_profile::HostId;
use haloscope_report::Error;
use haloscope_report::{Notes, Report, Status, Table, Unit, Value, row};
use haloscope_time::analysis::{Also, Analysis, Input, MenuGroup, Params, Run};
use haloscope_time::intervals::Intervals;
use haloscope_time::quality;
use haloscope_time::select::Scoped;

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "memory profile",
    label: "Profile",
    group: MenuGroup::Memory,
    question: "How much memory did the runtime allocate over time, and what was in memory at the peak?",
    params: &[],
    needs: &["allocator events (MemoryAllocation, MemoryDeallocation) on the host's threads"],
    reads: &[Input::Profile],
    example: "memory profile logs",
    also: &[Also::Report],
    run: Run::Of(run),
};

/// One allocator of a host, in the scope.
struct Seen<'r, 'p> {
    host: HostId,
    host_name: &'p str,
    allocator: &'r Allocator<'p>,
    /// The events in the scope, by time; there is one.
    events: Vec<&'r AllocatorEvent<'p>>,
    /// The last of those after which the most is in use.
    peak: &'r AllocatorEvent<'p>,
}

impl Seen<'_, '_> {
    /// The most that was ever in use.
    fn lifetime_peak_bytes(&self) -> Option<i64> {
        self.events.iter().filter_map(|e| e.peak_bytes).max()
    }

    /// The most of reserved less available.
    fn actual_bytes(&self) -> Option<i64> {
        let used = |e: &&AllocatorEvent<'_>| Some(e.reserved_bytes?.saturating_sub(e.available_bytes?));
        self.events.iter().filter_map(used).max().filter(|bytes| *bytes > 0)
    }

    fn capacity_bytes(&self) -> Option<i64> {
        Some(self.peak.in_use_bytes().saturating_add(self.peak.available_bytes?))
    }
}

fn run(asked: &Scoped<'_>, _: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let (profile, scope) = (asked.profile, &asked.scope);
    // Of steps that are not there, the selection says why there is no answer.
    let selection = scope.cuts_time().then(|| asked.selection()).transpose()?;
    if !scope.devices.is_empty() {
        quality::not_used("devices", notes);
    }
    let hosts: Vec<HostId> = (0..profile.hosts.len() as u32)
        .map(HostId)
        .filter(|host| scope.hosts.is_empty() || scope.hosts.contains(&profile.host(*host).name))
        .collect();
    let all: Vec<(HostId, Vec<Allocator<'_>>)> =
        hosts.iter().map(|host| (*host, allocators(profile, *host))).collect();
    let mut seen = Vec::new();
    for (host, allocators) in &all {
        let cut = selection.and_then(|s| {
            let first = s.devices.iter().position(|device| device.host == *host)?;
            s.window(first)
        });
        for allocator in allocators {
            let is_in = |e: &&AllocatorEvent<'_>| cut.is_none_or(|cut| holds(cut, e.start_ps));
            let events: Vec<_> = allocator.by_time().into_iter().filter(is_in).collect();
            let Some(peak) = highest(events.iter().copied()) else { continue };
            seen.push(Seen { host: *host, host_name: &profile.host(*host).name, allocator, events, peak });
        }
    }
    if seen.is_empty() {
        return Err(nothing(all.iter().any(|(_, allocators)| !allocators.is_empty())));
    }
    let peaks = peaks::table(profile, scope, &seen);
    Ok(Report {
        values: values(&seen, &peaks),
        tables: vec![table(&seen), peaks.table, alive::table(&seen, notes)],
        series: curves::of(&seen, notes),
        ..Report::default()
    })
}

fn holds(cut: &Intervals, at_ps: i64) -> bool {
    cut.overlap(at_ps, at_ps.saturating_add(1)) > 0
}

fn nothing(has_events: bool) -> Error {
    Error::Nothing(if has_events {
        "no allocator event is in the scope; give a longer window, or all steps".to_owned()
    } else {
        "the profile has no allocator events (MemoryAllocation, MemoryDeallocation): runtimes of TPUs and GPUs record them on host threads if the host tracer is on (`host_tracer_level` 2) and something is allocated during the capture. `haloscope memory peak` says what the programs need without them"
            .to_owned()
    })
}

fn table(seen: &[Seen<'_, '_>]) -> Table {
    let mut rows = Vec::new();
    for one in seen {
        let releases = one.events.iter().filter(|event| event.is_release).count();
        let row = row![
            text("host", "Host", "The host.", one.host_name),
            text(
                "allocator",
                "Allocator",
                "The allocator's name, or the number of its device on the host.",
                one.allocator.name.as_str()
            ),
            bytes(
                "peak_bytes",
                "Peak",
                "The most in use at once in the scope: reserved and allocated together.",
                one.peak.in_use_bytes()
            ),
            bytes(
                "reserved_bytes",
                "Reserved",
                "At that peak, reserved for the stack, which on TPUs has the temporary buffers of programs.",
                one.peak.reserved_bytes
            ),
            bytes(
                "allocated_bytes",
                "Allocated",
                "At that peak, allocated from the heap: inputs and outputs of programs.",
                one.peak.allocated_bytes
            ),
            bytes("available_bytes", "Available", "At that peak, free.", one.peak.available_bytes),
            share(
                "fragmentation",
                "Fragmentation",
                "At that peak, as reported by the allocator: the share of the free memory that is in pieces.",
                one.peak.fragmentation
            ),
            bytes(
                "actual_bytes",
                "Actual",
                "The largest value of reserved minus available: what is in use of a pool that the runtime reserved as a whole. Unknown if it is never positive, because then reserved is not a pool.",
                one.actual_bytes()
            ),
            bytes(
                "lifetime_peak_bytes",
                "Lifetime peak",
                "The most that was ever in use since the program started, as reported by the allocator.",
                one.lifetime_peak_bytes()
            ),
            bytes(
                "capacity_bytes",
                "Capacity",
                "Reserved, allocated and available together, at the peak.",
                one.capacity_bytes()
            ),
            duration(
                "peak_ps",
                "Peak at",
                "When the peak was, from the start of the run.",
                one.peak.start_ps
            ),
            count("allocations", "Allocations", "Allocations in the scope.", one.events.len() - releases),
            count("releases", "Releases", "Releases in the scope.", releases),
        ];
        rows.push(row);
    }
    Table::of("allocators", "Allocators", rows)
}

/// Numbers of the allocator with the highest peak.
fn values(seen: &[Seen<'_, '_>], peaks: &peaks::Peaks) -> Vec<Value> {
    // Of equals the first; memory of the host only where there is no other.
    let mut fullest: Option<&Seen<'_, '_>> = None;
    for one in seen {
        let rank = |s: &Seen<'_, '_>| (is_on_device(&s.allocator.name), s.peak.in_use_bytes());
        if fullest.is_none_or(|best| rank(one) > rank(best)) {
            fullest = Some(one);
        }
    }
    let bytes =
        |id, label, value: Option<i64>, status, doc| Value::new(id, label, value, Unit::Bytes, status, doc);
    let at_peak = |read: fn(&AllocatorEvent<'_>) -> Option<i64>| fullest.and_then(|one| read(one.peak));
    let name = fullest.map(|one| format!("{}/{}", one.host_name, one.allocator.name));
    vec![
        Value::new(
            "allocators",
            "Allocators",
            Some(seen.len()),
            Unit::Count,
            Status::Measured,
            "Allocators with an event in the scope, over all hosts.",
        ),
        Value::new(
            "fullest",
            "Fullest allocator",
            name,
            Unit::None,
            Status::Derived,
            "Host and name of the allocator with the highest peak; one for host memory only if there is no other. The numbers below are about it.",
        ),
        bytes(
            "peak_bytes",
            "Peak",
            fullest.map(|one| one.peak.in_use_bytes()),
            Status::Measured,
            "The most in use at once in the scope: reserved and allocated together.",
        ),
        bytes(
            "reserved_bytes",
            "Reserved at the peak",
            at_peak(|e| e.reserved_bytes),
            Status::Measured,
            "Reserved for the stack, which on TPUs has the temporary buffers of programs.",
        ),
        bytes(
            "allocated_bytes",
            "Allocated at the peak",
            at_peak(|e| e.allocated_bytes),
            Status::Measured,
            "Allocated from the heap: inputs and outputs of programs.",
        ),
        bytes(
            "available_bytes",
            "Available at the peak",
            at_peak(|e| e.available_bytes),
            Status::Measured,
            "Free.",
        ),
        Value::new(
            "fragmentation",
            "Fragmentation at the peak",
            fullest.and_then(|one| one.peak.fragmentation),
            Unit::Share,
            Status::Measured,
            "The share of the free memory that is in pieces, as reported by the allocator.",
        ),
        bytes(
            "actual_bytes",
            "Actual",
            fullest.and_then(Seen::actual_bytes),
            Status::Derived,
            "The largest value of reserved minus available; unknown if it is never positive.",
        ),
        bytes(
            "lifetime_peak_bytes",
            "Lifetime peak",
            fullest.and_then(Seen::lifetime_peak_bytes),
            Status::Measured,
            "The most that was ever in use since the program started, as reported by the allocator.",
        ),
        bytes(
            "capacity_bytes",
            "Capacity",
            fullest.and_then(Seen::capacity_bytes),
            Status::Derived,
            "Reserved, allocated and available together, at the peak.",
        ),
        bytes(
            "static_peak_bytes",
            "Static peak",
            peaks.static_peak_bytes,
            Status::Derived,
            "The largest peak of any program of the hosts, from its buffer assignment: an upper bound for one run of that program. See the table `peaks` for why it is not the runtime's peak.",
        ),
    ]
}

#[cfg(test)]
mod tests;
