//! `memory attribute`: whose memory it is.

mod tables;
mod workers;

use super::{RULES, SPACE, buffers, chosen, peak, program_and_peak, remark_trace, rules, space};
use crate::attribution::{Attribution, Identity, Totals};
use crate::program_memory::ProgramMemory;
use haloscope_report::Error;
use haloscope_report::units;
use haloscope_report::{Notes, Report, Severity, Status, Unit, Value};
use haloscope_time::analysis::{Analysis, Input, MODULE, MenuGroup, Params, Run};
use haloscope_time::quality;
use haloscope_time::select::Scoped;

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "memory attribute",
    label: "Attribute",
    group: MenuGroup::Memory,
    question: "What is the memory at the peak used for: parameters, optimiser, KV cache, activations?",
    params: &[MODULE, SPACE, RULES],
    needs: &[
        "an HLO module with its buffer assignment: in profiles of XLA programs, or as `*.hlo_proto.pb` or `*.hlo.pb`",
        "for names: op names in the module's metadata, which JAX, PyTorch/XLA and TensorFlow write",
    ],
    reads: &[Input::Profile, Input::Program],
    example: "memory attribute logs --module jit_train_step --rules mine.toml",
    also: &[],
    run: Run::Of(run),
};

fn run(asked: &Scoped<'_>, params: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let (profile, scope) = (asked.profile, &asked.scope);
    let rules = rules(params)?;
    let space = space(params, ANALYSIS.id)?;
    if scope.cuts_time() {
        quality::not_used("steps and windows", notes);
    }
    let program = chosen(profile, scope, params, space)?;
    let buffers = buffers(&program)?;
    let memory = ProgramMemory::new(&buffers, space);
    remark_trace(&memory, &program.label(), notes);
    let attribution = Attribution::of(&memory, &rules);
    let totals = Totals::of(&attribution);
    if totals.peak_bytes == 0 {
        return Err(peak::nothing_in(&program.label(), space, &buffers));
    }
    remarks(&attribution, notes);
    let identities = Identity::all(&attribution, &totals);
    check(&identities, &program.label(), notes);
    let mut workers = workers::all(asked, &program, &rules, space, notes);
    if workers.is_empty() {
        workers.push(workers::Worker::of_program(profile, &program, totals));
    }
    let workers = workers::table(&workers);
    let summary = workers::summary(&workers);
    let tables = vec![
        workers,
        summary,
        tables::buckets(&attribution, &totals),
        tables::rules(&attribution),
        tables::identities(&identities),
        tables::parameters(&attribution),
        tables::buffers(&attribution),
    ];
    Ok(Report { values: values(&program.label(), &totals, &identities), tables, ..Report::default() })
}

/// Marks of what the names cannot tell.
fn remarks(attribution: &Attribution<'_, '_>, notes: &mut Notes) {
    if attribution.gradient_markers.is_none() {
        notes.add(
            "no_op_names",
            Severity::Warning,
            "no instruction of the program has an op name",
            "rules see only groups, opcodes, shapes and the graph, so they cannot say whose memory it is",
            "compile with metadata: do not strip it from dumps (--xla_dump_disable_metadata)",
        );
    }
}

/// Sums that do not agree are an error of ours or of the module, never silent.
fn check(identities: &[Identity], label: &str, notes: &mut Notes) {
    for broken in identities.iter().filter(|identity| !identity.holds()) {
        notes.add(
            "broken_identity",
            Severity::Error,
            format!(
                "{label}: {}: {} against {}, off by {}",
                broken.what,
                units::bytes(broken.left_bytes as f64),
                units::bytes(broken.right_bytes as f64),
                units::bytes(broken.difference_bytes() as f64)
            ),
            "the attribution counts bytes twice or leaves some out; do not rely on it",
            "",
        );
    }
}

fn values(label: &str, totals: &Totals, identities: &[Identity]) -> Vec<Value> {
    let derived =
        |id, label, bytes, doc| Value::new(id, label, Some(bytes), Unit::Bytes, Status::Derived, doc);
    let mut all = Vec::from(program_and_peak(label, totals));
    all.extend([
        derived(
            "entry_parameters_bytes",
            "Entry parameters",
            totals.entry_parameters_bytes,
            "Memory of what the caller passes in: the sum of the next four.",
        ),
        derived(
            "kv_cache_bytes",
            "KV cache",
            totals.kv_cache_bytes,
            "Entry parameters that are keys or values of attention.",
        ),
        derived(
            "model_parameters_bytes",
            "Model parameters",
            totals.model_parameters_bytes,
            "Entry parameters that are weights.",
        ),
        derived(
            "other_carry_bytes",
            "Other carry state",
            totals.other_carry_bytes,
            "Entry parameters that are state of a loop but not a cache.",
        ),
        derived(
            "other_parameter_bytes",
            "Other parameters",
            totals.other_parameter_bytes,
            "The other entry parameters, including the optimiser's state.",
        ),
        derived(
            "optimiser_state_bytes",
            "of these optimiser state",
            totals.optimiser_state_bytes,
            "The optimiser's state, part of other parameters.",
        ),
        Value::new(
            "temporary_bytes",
            "Temporaries",
            totals.known_temporary_bytes(),
            Unit::Bytes,
            Status::Derived,
            "Buffers that the heap simulator placed; unknown if the module has no trace of it.",
        ),
        derived("output_bytes", "Outputs", totals.output_bytes, "Outputs with their own memory."),
        derived("constant_bytes", "Constants", totals.constant_bytes, "Constants and thread-local memory."),
        Value::new(
            "gradient_markers",
            "Gradient markers",
            workers::markers(totals.gradient_markers),
            Unit::Count,
            Status::Measured,
            "Instructions whose op name says backward pass: a number, or `absent`; unknown if the program has no op names.",
        ),
        Value::new(
            "identities_hold",
            "Identities hold",
            Some(identities.iter().all(Identity::holds)),
            Unit::None,
            Status::Derived,
            "Whether the sums of the table `identities` agree.",
        ),
    ]);
    all
}
