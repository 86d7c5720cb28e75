//! The same program on every host and device of the run.

use rayon::prelude::*;

use crate::attribution::{Attribution, Identity, Rules, Totals};
use crate::heap::Buffers;
use crate::program_memory::ProgramMemory;
use haloscope_profile::{HostId, Profile};
use haloscope_report::{Cell, Column, Notes, Severity, Table, Unit};
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

const COLUMNS: &[Column] = &[
    Column::text("host", "Host", "The host; a program without a profile stands under the run's name."),
    Column::text("device", "Device", "The device; unknown where the run has none."),
    Column::bytes("peak_bytes", "Peak", "Bytes alive at the peak."),
    Column::bytes(
        "entry_parameters_bytes",
        "Entry parameters",
        "Memory of what the caller hands over: the sum of the next four.",
    ),
    Column::bytes("kv_cache_bytes", "KV cache", "Entry parameters that are keys or values of attention."),
    Column::bytes("model_parameters_bytes", "Model parameters", "Entry parameters that are weights."),
    Column::bytes(
        "other_carry_bytes",
        "Other carry",
        "Entry parameters that are state of a loop and no cache.",
    ),
    Column::bytes(
        "other_parameter_bytes",
        "Other parameters",
        "The other entry parameters, the optimiser's state among them.",
    ),
    Column::bytes("temporary_bytes", "Temporaries", "Buffers that the heap simulator placed."),
    Column::bytes("output_bytes", "Outputs", "Outputs with memory of their own."),
    Column::bytes("constant_bytes", "Constants", "Constants and thread-local memory."),
    Column::bytes("optimiser_state_bytes", "Optimiser state", "Part of other parameters."),
    Column {
        id: "gradient_markers",
        label: "Gradient markers",
        unit: Unit::Count,
        kind: haloscope_report::Kind::Int,
        doc: "Instructions whose op name says backward pass: a number, or `absent`; unknown where there are no op names.",
    },
];

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
    let Ok(programs) = programs::in_scope(profile, asked.scope) else { return Vec::new() };
    let mut hosts: Vec<HostId> = selection.devices.iter().map(|device| device.host).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let copies: Vec<_> = hosts.iter().map(|host| (*host, copy_of(program, *host, &programs))).collect();
    let answers: Vec<_> = copies
        .par_iter()
        .map(|(_, copy)| copy.as_ref().and_then(|copy| totals(copy, rules, memory_space)))
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

/// The numbers of a worker, in the order of the columns.
fn numbers(totals: &Totals) -> [Option<i64>; 10] {
    [
        Some(totals.peak_bytes),
        Some(totals.entry_parameters_bytes),
        Some(totals.kv_cache_bytes),
        Some(totals.model_parameters_bytes),
        Some(totals.other_carry_bytes),
        Some(totals.other_parameter_bytes),
        totals.known_temporary_bytes(),
        Some(totals.output_bytes),
        Some(totals.constant_bytes),
        Some(totals.optimiser_state_bytes),
    ]
}

pub(super) fn table(workers: &[Worker]) -> Table {
    let mut table = Table::new("workers", "Memory at the peak, by worker", COLUMNS);
    for worker in workers {
        let mut row = vec![Cell::from(worker.host.as_str()), worker.device.clone().into()];
        match &worker.totals {
            Some(totals) => {
                row.extend(numbers(totals).map(Cell::from));
                row.push(markers(totals.gradient_markers).into());
            }
            None => row.resize(COLUMNS.len(), Cell::Unknown),
        }
        table.push(row);
    }
    table
}

const SUMMARY: &[Column] = &[
    Column::text("what", "What", "The column of the table of workers."),
    Column::bytes("min_bytes", "Least", "The least over the workers that are known."),
    Column::bytes("mean_bytes", "Mean", "The mean over them."),
    Column::bytes("max_bytes", "Most", "The most over them."),
    Column::count("workers", "Workers", "How many are known."),
];

/// Least, mean and most over the workers.
pub(super) fn summary(workers: &[Worker]) -> Table {
    let mut table = Table::new("summary", "Over the workers", SUMMARY);
    let known: Vec<[Option<i64>; 10]> =
        workers.iter().filter_map(|w| w.totals.as_ref().map(numbers)).collect();
    if known.is_empty() {
        return table;
    }
    for (at, column) in COLUMNS.iter().filter(|column| column.unit == Unit::Bytes).enumerate() {
        let all = || known.iter().filter_map(|row| row.get(at).copied().flatten());
        let sum = all().fold(0.0, |sum, bytes| sum + bytes as f64);
        let count = all().count();
        table.push(vec![
            column.label.into(),
            all().min().into(),
            (count > 0).then(|| sum / count as f64).into(),
            all().max().into(),
            count.into(),
        ]);
    }
    table
}
