//! Questions about memory: what is alive in it, whose it is, and what could be saved.

mod attribute;
mod diagnose;
mod extrema;
mod memory_space;
pub mod peak;
pub mod profile;

pub use attribute::ANALYSIS as ATTRIBUTE;
pub use diagnose::ANALYSIS as DIAGNOSE;

use crate::attribution::{Rules, Totals};
use crate::heap::Buffers;
use crate::program_memory::ProgramMemory;
use haloscope_profile::Profile;
use haloscope_report::Error;
use haloscope_report::scope::Scope;
use haloscope_report::units;
use haloscope_report::{Notes, Severity, Status, Unit, Value};
use haloscope_time::analysis::{Param, ParamKind, Params};

use haloscope_time::programs::{self, Program};

const SPACE: Param = Param {
    id: "space",
    doc: "the memory: hbm (main memory), vmem, sflag, cmem, smem, host, sparsecore, or the number that layouts have for it",
    kind: ParamKind::Text,
    default: "hbm",
};

const RULES: Param = Param {
    id: "rules",
    doc: "a TOML file of rules that are tried before the built-in ones",
    kind: ParamKind::Document,
    default: "",
};

/// The number of the memory that a question is about; `id` is the analysis that asks.
fn space(params: &Params, id: &str) -> Result<i64, Error> {
    let word = params.text(&SPACE);
    memory_space::number(word).ok_or_else(|| {
        let known: Vec<_> = memory_space::NAMES.iter().map(|(name, _)| *name).collect();
        Error::Usage(format!("`space` of `{id}`: expected {} or a number, found `{word}`", known.join(", ")))
    })
}

/// The rules given, or the built-in ones.
fn rules(params: &Params) -> Result<Rules, Error> {
    Rules::parse(params.text(&RULES))
}

/// The program that a question is about: the one asked for, else the one that needs most of the memory.
fn chosen<'p>(
    profile: &'p Profile,
    scope: &Scope,
    params: &Params,
    space: i64,
) -> Result<Program<'p>, Error> {
    let peak = |program: &Program<'p>| {
        let buffers = Buffers::new(&program.decoded.module);
        // One without buffers ranks below one that needs nothing.
        buffers.map_or(-1, |buffers| ProgramMemory::new(&buffers, space).peak_bytes())
    };
    programs::choose(profile, scope, params.text(&haloscope_time::analysis::MODULE), peak)
}

/// The peak of the main memory as `memory peak` has it, of the program that needs the most, and how it is known; `None` where
/// no program of the scope holds a buffer assignment.
pub fn peak_bytes(profile: &Profile, scope: &Scope) -> Option<(i64, Status)> {
    let program = chosen(profile, scope, &Params::default(), 0).ok()?;
    let buffers = Buffers::new(&program.decoded.module)?;
    let memory = ProgramMemory::new(&buffers, 0);
    Some((memory.peak_bytes(), if memory.is_without_trace() { Status::Estimated } else { Status::Derived }))
}

/// The headline of an answer about one program's memory: which program, and its peak.
fn program_and_peak(label: &str, totals: &Totals) -> [Value; 2] {
    [
        Value::new(
            "module",
            "Module",
            Some(label),
            Unit::None,
            Status::Measured,
            "The program; without --module, the one with the largest peak.",
        ),
        Value::new(
            "peak_bytes",
            "Peak",
            Some(totals.peak_bytes),
            Unit::Bytes,
            if totals.lacks_temporaries { Status::Estimated } else { Status::Derived },
            "Bytes alive at the peak; estimated, and a lower bound, if temporaries are unknown.",
        ),
    ]
}

/// Says where the heap trace makes no sense, and that the peak lacks the temporary buffers where there is none.
fn remark_trace(memory: &ProgramMemory<'_, '_>, label: &str, notes: &mut Notes) {
    let faults = memory.replay.as_ref().map_or(0, |replay| replay.faults);
    if faults > 0 {
        notes.add(
            "heap_trace_faults",
            Severity::Warning,
            format!("{faults} events of the heap trace are invalid: frees of buffers that are not in use, or buffers without a place"),
            "the peak may be wrong by the size of these buffers",
            "",
        );
    }
    if !memory.is_without_trace() {
        return;
    }
    notes.add(
        "no_heap_trace",
        Severity::Warning,
        format!(
            "it is unknown when the temporary buffers of {label} are in use; a buffer assignment in text form does not say"
        ),
        format!(
            "the peak covers only lasting buffers; the true one is between it and {}, the sum of all allocations",
            units::bytes(memory.allocated_bytes() as f64)
        ),
        "dump with --xla_dump_hlo_as_proto in addition to --xla_dump_to in XLA_FLAGS: the proto has the heap's history",
    );
}

/// The buffers of a program.
fn buffers<'p>(program: &Program<'p>) -> Result<Buffers<'p>, Error> {
    Buffers::new(&program.decoded.module).ok_or_else(|| peak::no_assignment(&program.label()))
}
