//! The same program on every host and device of the run.

use rayon::prelude::*;

use crate::attribution::{Attribution, Identity, Rules, Totals};
use crate::heap::Buffers;
use crate::program_memory::ProgramMemory;
use haloscope_profile::{HostId, Profile};
use haloscope_report::stop;
use haloscope_report::{Cell, Column, Notes, Severity, Table, Unit, row};
use haloscope_time::programs::{self, Program};
use haloscope_time::select::Scoped;

/// A chip, and what its host's copy of the program says of its memory.
pub(super) struct Worker {
    host: String,
    device: Option<String>,
    /// `None` where the host has no copy of the program.
    totals: Option<Totals>,
}

impl Worker {
    /// The only worker of a program that no profile comes with.
    pub(super) fn of_program(profile: &Profile, program: &Program<'_>, totals: Totals) -> Self {
        Self { host: host_name(profile, program.entry.host), device: None, totals: Some(totals) }
    }
}

fn host_name(profile: &Profile, host: HostId) -> String {
    profile.hosts.get(host.0 as usize).map(|host| host.name.clone()).unwrap_or_default()
}

/// One for each device of the scope, with what its host's own copy of the program says; hosts without a device stand for
/// themselves.
pub(super) fn all(
    asked: &Scoped<'_>,
    program: &Program<'_>,
    rules: &Rules,
    memory_space: i64,
    notes: &mut Notes,
) -> Vec<Worker> {
    let profile = asked.profile;
    let Ok(selection) = asked.selection() else { return Vec::new() };
    let Ok(programs) = programs::in_scope(profile, &asked.scope) else { return Vec::new() };
    let mut hosts: Vec<HostId> = selection.devices.iter().map(|device| device.host).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let copies: Vec<_> = hosts.iter().map(|host| (*host, copy_of(program, *host, &programs))).collect();
    let answers: Vec<_> = copies
        .par_iter()
        .map(stop::carried(|(_, copy): &(HostId, Option<_>)| {
            copy.as_ref().and_then(|copy| totals(copy, rules, memory_space))
        }))
        .collect();
    for ((host, _), answer) in copies.iter().zip(&answers) {
        let host = host_name(profile, *host);
        match answer {
            None => notes.add(
                "program_missing",
                Severity::Warning,
                format!("{host} has no copy of {} with a buffer assignment", program.label()),
                "the memory of its devices is not known",
                "profile the host while the program is loaded",
            ),
            Some((_, identities)) => super::check(identities, &format!("{host}: {}", program.label()), notes),
        }
    }
    let row = |device: &&haloscope_profile::Device| {
        let at = hosts.binary_search(&device.host).ok();
        Worker {
            host: host_name(profile, device.host),
            device: Some(device.name.clone()),
            totals: at.and_then(|at| answers[at].as_ref()).map(|(totals, _)| *totals),
        }
    };
    selection.devices.iter().map(row).collect()
}

/// A host's own copy of a program: the one with its id, else the first with its name.
fn copy_of<'p>(program: &Program<'p>, host: HostId, all: &[Program<'p>]) -> Option<Program<'p>> {
    if program.entry.host == host {
        return Some(*program);
    }
    let named = || all.iter().filter(|p| p.entry.host == host && p.entry.name == program.entry.name);
    let same = named().find(|p| p.entry.program_id == program.entry.program_id);
    same.or_else(|| named().next()).copied()
}

fn totals(program: &Program<'_>, rules: &Rules, memory_space: i64) -> Option<(Totals, Vec<Identity>)> {
    let buffers = Buffers::new(&program.decoded.module)?;
    let memory = ProgramMemory::new(&buffers, memory_space);
    let attribution = Attribution::of(&memory, rules);
    let totals = Totals::of(&attribution);
    let identities = Identity::all(&attribution, &totals);
    Some((totals, identities))
}

/// A number of gradient markers as a cell.
pub(super) fn markers(count: Option<usize>) -> Option<Cell> {
    count.map(|count| if count == 0 { Cell::from("absent") } else { Cell::from(count) })
}

const GRADIENT_MARKERS: Column = Column {
    id: "gradient_markers",
    label: "Gradient markers",
    unit: Unit::Count,
    kind: haloscope_report::Kind::Int,
    doc: "Instructions whose op name says backward pass: a number, or `absent`; unknown if there are no op names.",
};

pub(super) fn table(workers: &[Worker]) -> Table {
    let rows = workers.iter().map(|worker| {
        let totals = worker.totals.as_ref();
        row![
            text(
                "host",
                "Host",
                "The host; for a program without a profile, the run's name.",
                worker.host.as_str()
            ),
            text("device", "Device", "The device; unknown if the run has none.", worker.device.clone()),
            bytes("peak_bytes", "Peak", "Bytes alive at the peak.", totals.map(|t| t.peak_bytes)),
            bytes(
                "entry_parameters_bytes",
                "Entry parameters",
                "Memory of what the caller passes in: the sum of the next four.",
                totals.map(|t| t.entry_parameters_bytes)
            ),
            bytes(
                "kv_cache_bytes",
                "KV cache",
                "Entry parameters that are keys or values of attention.",
                totals.map(|t| t.kv_cache_bytes)
            ),
            bytes(
                "model_parameters_bytes",
                "Model parameters",
                "Entry parameters that are weights.",
                totals.map(|t| t.model_parameters_bytes)
            ),
            bytes(
                "other_carry_bytes",
                "Other carry",
                "Entry parameters that are state of a loop but not a cache.",
                totals.map(|t| t.other_carry_bytes)
            ),
            bytes(
                "other_parameter_bytes",
                "Other parameters",
                "The other entry parameters, including the optimiser's state.",
                totals.map(|t| t.other_parameter_bytes)
            ),
            bytes(
                "temporary_bytes",
                "Temporaries",
                "Buffers that the heap simulator placed.",
                totals.and_then(Totals::known_temporary_bytes)
            ),
            bytes(
                "output_bytes",
                "Outputs",
                "Outputs with their own memory.",
                totals.map(|t| t.output_bytes)
            ),
            bytes(
                "constant_bytes",
                "Constants",
                "Constants and thread-local memory.",
                totals.map(|t| t.constant_bytes)
            ),
            bytes(
                "optimiser_state_bytes",
                "Optimiser state",
                "Part of other parameters.",
                totals.map(|t| t.optimiser_state_bytes)
            ),
            column(GRADIENT_MARKERS, totals.and_then(|t| markers(t.gradient_markers))),
        ]
    });
    Table::of("workers", "Memory at the peak, by worker", rows)
}

/// Least, mean and most of each size in the table of workers, over those that are known.
pub(super) fn summary(workers: &Table) -> Table {
    let sizes = workers.columns.iter().enumerate().filter(|(_, column)| column.unit == Unit::Bytes);
    let known = |at: usize| {
        workers.rows.iter().filter_map(move |row| match row.get(at) {
            Some(Cell::Int(bytes)) => Some(*bytes),
            _ => None,
        })
    };
    let is_any_known = sizes.clone().any(|(at, _)| known(at).next().is_some());
    let rows = sizes.filter(|_| is_any_known).map(|(at, column)| {
        let sum = known(at).fold(0.0, |sum, bytes| sum + bytes as f64);
        let count = known(at).count();
        row![
            text("what", "What", "The column of the table of workers.", column.label),
            bytes("min_bytes", "Least", "The least over the known workers.", known(at).min()),
            bytes("mean_bytes", "Mean", "The mean over them.", (count > 0).then(|| sum / count as f64)),
            bytes("max_bytes", "Most", "The most over them.", known(at).max()),
            count("workers", "Workers", "How many are known.", count),
        ]
    });
    Table::of("summary", "Over the workers", rows)
}
