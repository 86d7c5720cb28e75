//! Inputs whose memory an output of the same shape could have taken over.

use std::collections::BTreeMap;

use haloscope_hlo::Shape;

use super::Outcome;
use super::context::{Context, size};
use super::thresholds::DONATION_SHARE;
use haloscope_report::units;
use haloscope_report::{Finding, Severity, Status};
use haloscope_time::cure::Cure;

/// An input without an output that takes it over: its bytes, its name, and whether its value becomes an output.
type Input = (i64, String, bool);

static LEVER: Cure = Cure {
    jax: "jax.jit(..., donate_argnums or donate_argnames) for what the call replaces",
    tensorflow: "keep what the call replaces in a tf.Variable and assign to it, so that its buffer is used again",
    pytorch: "update in place what the call replaces, so that its buffer is used again",
    any: "donate to the call what it replaces, so that its buffer is used again",
};

pub(super) fn check(context: &Context<'_, '_>) -> Outcome {
    let threshold = format!("{} of the peak", units::share(DONATION_SHARE));
    let module = context.module();
    let attribution = context.attribution;
    let mut inputs: BTreeMap<String, Vec<Input>> = BTreeMap::new();
    for (parameter, attributed) in attribution.flow.parameters.iter().zip(&attribution.parameters) {
        let is_given =
            module.buffer_donors.iter().any(|(n, path)| *n == parameter.number && *path == parameter.index);
        let Some(bytes) = attributed.bytes.filter(|_| !attributed.is_aliased && !is_given) else { continue };
        let name = parameter.name();
        let name = if name.is_empty() { format!("parameter {}", parameter.number) } else { name };
        inputs.entry(parameter.shape.to_string()).or_default().push((
            bytes,
            name,
            parameter.fate.is_returned,
        ));
    }
    let root = module.instruction(module.computation(module.entry()).root);
    let mut outputs: BTreeMap<String, usize> = BTreeMap::new();
    for (path, shape) in leaves(&root.shape) {
        if !module.input_output_aliases.iter().any(|alias| alias.output_index == path) {
            *outputs.entry(shape.to_string()).or_default() += 1;
        }
    }
    let mut missed: Vec<(String, Input)> = Vec::new();
    for (shape, mut candidates) in inputs {
        let free = outputs.get(&shape).copied().unwrap_or(0);
        // Of more inputs than outputs those are meant whose value an output carries on.
        candidates.sort_by_key(|(_, _, is_returned)| !is_returned);
        candidates.truncate(free);
        missed.extend(candidates.into_iter().map(|input| (shape.clone(), input)));
    }
    missed.sort_by_key(|(_, (bytes, _, _))| std::cmp::Reverse(*bytes));
    let bytes = units::sum(missed.iter().map(|(_, input)| input.0));
    let carried_on = units::sum(missed.iter().filter(|(_, input)| input.2).map(|(_, input)| input.0));
    let share = context.of_peak(bytes);
    let word = |(shape, (bytes, name, is_returned)): &(String, Input)| {
        let how = if *is_returned { "an output carries it on" } else { "an output has its shape" };
        format!("{name} {shape} ({}, {how})", units::bytes(*bytes as f64))
    };
    let mut words: Vec<String> = missed.iter().take(4).map(word).collect();
    if missed.len() > words.len() {
        words.push(format!("{} more", missed.len() - words.len()));
    }
    let said = if missed.is_empty() {
        "no input that stays alive has the shape of an output with memory of its own".to_owned()
    } else {
        words.join("; ")
    };
    let finding = (share >= DONATION_SHARE).then(|| Finding {
        id: "donation_missed",
        severity: Severity::Warning,
        claim: format!(
            "{} of inputs stay alive beside outputs of the same shape: their memory is not donated",
            size(context, bytes)
        ),
        evidence: said.clone(),
        ceiling: format!(
            "{} less; of this {} for certain, where the output is the input changed in place",
            units::bytes(bytes as f64),
            units::bytes(carried_on as f64)
        ),
        lever: context.cure(&LEVER),
        falsifier: "the caller uses the inputs again after the call".to_owned(),
        status: if context.of_peak(carried_on) >= DONATION_SHARE {
            Status::Derived
        } else {
            Status::Estimated
        },
        ..Finding::default()
    });
    Outcome::measured(bytes, Some(share), threshold, said, finding)
}

/// The arrays of a shape with their paths.
fn leaves(shape: &Shape) -> Vec<(Vec<i64>, &Shape)> {
    let mut found = Vec::new();
    let mut todo = vec![(Vec::new(), shape)];
    while let Some((path, shape)) = todo.pop() {
        if !shape.is_tuple() {
            found.push((path, shape));
            continue;
        }
        for (step, element) in shape.tuple_shapes.iter().enumerate() {
            let mut below: Vec<i64> = path.clone();
            below.push(step as i64);
            todo.push((below, element));
        }
    }
    found
}
