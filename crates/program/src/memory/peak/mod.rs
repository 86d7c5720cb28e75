//! `memory peak`: what a program needs of a memory, and what is alive when it needs the most.

mod buffers;
mod drawing;
mod programs;
mod rollups;
mod values;

use super::SPACE;
use crate::capacity;
use crate::heap::Buffers;
use crate::memory::memory_space;
use crate::program_memory::ProgramMemory;
use haloscope_report::Error;
use haloscope_report::{Cell, Notes, Report, Severity, Table, row};
use haloscope_time::analysis::{Also, Analysis, Input, MODULE, MenuGroup, Params, Run};
use haloscope_time::quality;
use haloscope_time::select::Scoped;

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "memory peak",
    label: "Peak",
    group: MenuGroup::Memory,
    question: "How much memory does a program need, and what is in memory when it needs the most?",
    params: &[MODULE, SPACE],
    needs: &[
        "HLO modules with a buffer assignment, as embedded by profilers or written as protos by `--xla_dump_to`",
    ],
    reads: &[Input::Profile, Input::Program],
    example: "memory peak logs --module jit_train_step",
    also: &[Also::Report],
    run: Run::Of(run),
};

fn run(asked: &Scoped<'_>, params: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let (profile, scope) = (asked.profile, &asked.scope);
    let space = super::space(params, ANALYSIS.id)?;
    if scope.cuts_time() {
        quality::not_used("steps and windows", notes);
    }
    if !scope.devices.is_empty() {
        quality::not_used("devices", notes);
    }
    let programs = programs::Programs::of(profile, scope, space)?;
    let chosen = programs.choose(profile, scope, params.text(&MODULE))?;
    let module = &chosen.decoded.module;
    let buffers = Buffers::new(module).ok_or_else(|| no_assignment(&chosen.label()))?;
    let memory = ProgramMemory::new(&buffers, space);
    if memory.allocations.is_empty() && memory.trace.is_none() {
        return Err(nothing_in(&chosen.label(), space, &buffers));
    }
    programs.remark(notes);
    super::remark_trace(&memory, &chosen.label(), notes);
    let rows = buffers::rows(module, &memory);
    let rollups = rollups::all(&rows);
    let identities = rollups::identities(&memory, &rows, &rollups);
    if (0..identities.rows.len()).any(|row| identities.cell(row, "holds") == Some(&Cell::Flag(false))) {
        notes.add(
            "broken_identity",
            Severity::Error,
            "parts that must sum to the peak do not: see the table `identities`",
            "shares of the peak are off",
            "",
        );
    }
    let mut tables = vec![buffers::table(&memory, &rows)];
    tables.extend(rollups);
    tables.extend([programs.table(profile, &chosen), spaces(&buffers), identities]);
    let drawing = drawing::of(&memory, notes);
    tables.push(drawing.table);
    let capacity = capacity::of_host(profile, scope, chosen.entry.host).filter(|_| space == 0);
    let headline = values::Headline { program: &chosen.label(), programs: programs.len(), capacity, space };
    Ok(Report {
        values: values::of(&memory, &rows, &headline),
        tables,
        series: drawing.series,
        ..Report::default()
    })
}

/// Why a module without a buffer assignment has no answer.
pub(super) fn no_assignment(label: &str) -> Error {
    Error::Nothing(format!(
        "`{label}` has no buffer assignment, so the place and lifetime of buffers are unknown. HLO text and modules from before scheduling never have one: give the module after optimisations as a proto, as embedded in a profile or written by `--xla_dump_to=DIR --xla_dump_hlo_as_proto` (`*.after_optimizations.hlo.pb`)"
    ))
}

pub(super) fn nothing_in(label: &str, space: i64, buffers: &Buffers<'_>) -> Error {
    let used: Vec<_> =
        used_spaces(buffers).into_iter().map(|space| memory_space::name(space).into_owned()).collect();
    let used = if used.is_empty() {
        "nothing anywhere".to_owned()
    } else {
        format!("something in {}", used.join(", "))
    };
    Error::Nothing(format!("`{label}` keeps nothing in {}; it keeps {used}", memory_space::name(space)))
}

/// The memories in which a program has an allocation.
fn used_spaces(buffers: &Buffers<'_>) -> Vec<i64> {
    let mut spaces: Vec<i64> = buffers.assignment.allocations.iter().map(|a| a.memory_space).collect();
    spaces.sort_unstable();
    spaces.dedup();
    spaces
}

fn spaces(buffers: &Buffers<'_>) -> Table {
    let mut rows = Vec::new();
    for space in used_spaces(buffers) {
        let memory = ProgramMemory::new(buffers, space);
        let row = row![
            text(
                "space",
                "Memory",
                "Its name on a TPU; `hbm` means any main memory.",
                memory_space::name(space).as_ref()
            ),
            count(
                "number",
                "Number",
                "Its number in layouts: `S(1)` in HLO text; 0 is not written there.",
                space
            ),
            bytes("peak_bytes", "Peak", "The most bytes alive at once.", memory.peak_bytes()),
            bytes(
                "lasting_bytes",
                "Lasting",
                "Of the peak: parameters, outputs and constants, alive from start to end.",
                memory.lasting_bytes()
            ),
            bytes(
                "temporary_bytes",
                "Temporary",
                "Of the peak: what the heap simulator placed.",
                memory.temporary_bytes()
            ),
            bytes(
                "allocated_bytes",
                "Allocated",
                "All allocations except thread-local ones, including holes between buffers.",
                memory.allocated_bytes()
            ),
            count("allocations", "Allocations", "Allocations.", memory.allocations.len()),
        ];
        rows.push(row);
    }
    Table::of("spaces", "Memories of the program", rows)
}

/// What a fact is when nothing is known of it, in the tables of this analysis.
/// The instruction at a heap event.
fn instruction_at<'m>(memory: &ProgramMemory<'_, 'm>, event: usize) -> &'m str {
    memory.trace.and_then(|trace| trace.events.get(event)).map_or("", |event| event.instruction_name.as_str())
}

#[cfg(test)]
mod tests;
