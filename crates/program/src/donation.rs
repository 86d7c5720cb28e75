//! Inputs whose memory an output of the same shape and layout could have taken over: donation that is missing.

use std::collections::{BTreeMap, BTreeSet};

use haloscope_hlo::{Module, Shape};

use super::attribution::{EntryParameter, Flow};
use super::heap::Buffers;

/// An input that stays alive beside an output that could have had its memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missed {
    /// The framework's name for it, else `parameter 3`.
    pub name: String,
    /// Its shape with the layout, as XLA prints it; the output's is the same.
    pub shape: String,
    /// Bytes of its memory.
    pub bytes: i64,
    /// Whether an output carries its value on: it, changed in place. Else they only have the shape in common.
    pub is_carried_on: bool,
}

/// The inputs of a program that are not donated and have the shape and layout of an output with memory of its own, largest
/// first. Of more inputs than outputs of a shape those are meant whose value an output carries on. `bytes`: of an input's
/// memory; `None` for one that does not count.
#[must_use]
pub fn missed(
    module: &Module,
    flow: &Flow<'_>,
    bytes: impl Fn(&EntryParameter<'_>) -> Option<i64>,
) -> Vec<Missed> {
    let taken = taken(module);
    let mut inputs: BTreeMap<String, Vec<Missed>> = BTreeMap::new();
    for parameter in &flow.parameters {
        if taken.contains(&(parameter.number, parameter.index.as_slice())) {
            continue;
        }
        let Some(bytes) = bytes(parameter) else { continue };
        let name = parameter.name();
        let name = if name.is_empty() { format!("parameter {}", parameter.number) } else { name };
        let shape = parameter.shape.to_string();
        let is_carried_on = parameter.fate.is_returned;
        inputs.entry(shape.clone()).or_default().push(Missed { name, shape, bytes, is_carried_on });
    }
    let free = free_outputs(module);
    let mut missed: Vec<Missed> = Vec::new();
    for (shape, mut candidates) in inputs {
        candidates.sort_by_key(|one| !one.is_carried_on);
        candidates.truncate(free.get(&shape).copied().unwrap_or(0));
        missed.extend(candidates);
    }
    missed.sort_by_key(|one| std::cmp::Reverse(one.bytes));
    missed
}

/// The same of a program's main memory: bytes by its buffer assignment, else by the shapes. Empty where inputs of no more than
/// `least` bytes together could be meant, which is told without following their values.
#[must_use]
pub fn of_program(module: &Module, least: i64) -> Vec<Missed> {
    let free = free_outputs(module);
    let entry = module.computation(module.entry());
    let mut most: i64 = 0;
    for parameter in entry.parameters() {
        for (_, shape) in leaves(&module.instruction(*parameter).shape) {
            if free.contains_key(&shape.to_string()) {
                most = most.saturating_add(size(shape).unwrap_or(0));
            }
        }
    }
    if most <= least {
        return Vec::new();
    }
    let buffers = Buffers::new(module);
    let mut sizes: BTreeMap<(i64, &[i64]), i64> = BTreeMap::new();
    for allocation in buffers.iter().flat_map(|buffers| buffers.allocations(0)) {
        if let Some((number, index)) = &allocation.entry_parameter {
            sizes.insert((*number, index.as_slice()), allocation.size_bytes);
        }
    }
    missed(module, &Flow::new(module), |parameter| {
        let assigned = sizes.get(&(parameter.number, parameter.index.as_slice())).copied();
        assigned.or_else(|| size(parameter.shape).filter(|_| buffers.is_none()))
    })
}

/// Bytes of the arrays that a program gets and of those that it returns in memory of their own, padding included: what is in use
/// when it ends, at least.
#[must_use]
pub fn in_and_out_bytes(module: &Module) -> i64 {
    let aliased: BTreeSet<&[i64]> =
        module.input_output_aliases.iter().map(|alias| alias.output_index.as_slice()).collect();
    let entry = module.computation(module.entry());
    let parameters = entry.parameters().iter().flat_map(|at| leaves(&module.instruction(*at).shape));
    let outputs = leaves(&module.instruction(entry.root).shape).into_iter();
    let outputs = outputs.filter(|(path, _)| !aliased.contains(path.as_slice()));
    let sizes = parameters.chain(outputs).filter_map(|(_, shape)| size(shape));
    sizes.fold(0, i64::saturating_add)
}

/// Bytes of an array in main memory, padding included.
fn size(shape: &Shape) -> Option<i64> {
    let bytes = shape.padded_bytes().filter(|_| shape.memory_space() == 0)?;
    i64::try_from(bytes).ok()
}

/// Inputs that an output takes over, or whose memory the program may use for anything.
fn taken(module: &Module) -> BTreeSet<(i64, &[i64])> {
    let aliased = module.input_output_aliases.iter().map(|a| (a.parameter, a.parameter_index.as_slice()));
    let given = module.buffer_donors.iter().map(|(number, path)| (*number, path.as_slice()));
    aliased.chain(given).collect()
}

/// Outputs that take over no input's memory: how many of each shape.
fn free_outputs(module: &Module) -> BTreeMap<String, usize> {
    let aliased: BTreeSet<&[i64]> =
        module.input_output_aliases.iter().map(|alias| alias.output_index.as_slice()).collect();
    let root = module.instruction(module.computation(module.entry()).root);
    let mut free: BTreeMap<String, usize> = BTreeMap::new();
    for (path, shape) in leaves(&root.shape) {
        if !aliased.contains(path.as_slice()) {
            *free.entry(shape.to_string()).or_default() += 1;
        }
    }
    free
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

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = "HloModule m, ALIASES

ENTRY e {
  p = f32[1024,256]{1,0} parameter(0), metadata={op_name=\"params['w']\"}
  q = f32[1024,256]{0,1} parameter(1)
  r = f32[] parameter(2)
  n = f32[1024,256]{1,0} negate(p)
  ROOT t = (f32[1024,256]{1,0}, f32[]) tuple(n, r)
}
";

    fn found(aliases: &str, least: i64) -> Vec<(String, i64)> {
        let text = if aliases.is_empty() {
            PROGRAM.replace(", ALIASES", "")
        } else {
            PROGRAM.replace("ALIASES", aliases)
        };
        let module = Module::parse(&text).unwrap();
        of_program(&module, least).into_iter().map(|one| (one.name, one.bytes)).collect()
    }

    #[test]
    fn an_input_of_an_outputs_shape_and_layout_is_missed() {
        // The second has another layout, and the scalar is no more than a hint.
        let all = [("params['w']".to_owned(), 1 << 20), ("parameter 2".to_owned(), 4)];
        assert_eq!(found("", 0), all);
    }

    #[test]
    fn what_is_donated_is_not_missed() {
        let aliases = "input_output_alias={ {0}: (0, {}, may-alias), {1}: (2, {}, may-alias) }";
        assert!(found(aliases, 0).is_empty());
        assert!(found("buffer_donor={ (0, {}), (2, {}) }", 0).is_empty());
    }

    #[test]
    fn a_program_with_less_is_not_followed() {
        assert!(found("", 1 << 21).is_empty());
    }
}
