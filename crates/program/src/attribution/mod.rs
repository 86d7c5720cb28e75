//! What memory is for: each buffer that is alive at a program's peak gets the bucket of the first rule that takes it.
//!
//! Names of parameters are the framework's, and reach every buffer that holds a parameter's value ([`Flow`]): a donated cache
//! that XLA shows as a copy without a name is the cache. Memory is counted by allocation and heap grant, so that a value in a
//! parameter's own memory is not counted beside the parameter.

mod flow;
mod identities;
mod names;
mod rules;
mod totals;

use haloscope_hlo::{Module, Shape};

pub use flow::{EntryParameter, Fate, Flow};
pub use identities::Identity;
pub use names::{Phase, is_frame, op_name};
pub use rules::{DEFAULT, Fact, Facts, Rule, Rules, Subject};
pub use totals::{Totals, bucket};

use super::heap::Buffer;
use super::program_memory::{Alive, Group, ProgramMemory};
use names::Vocabulary;

/// The bucket of model parameters, which other rules refer to.
const MODEL_PARAMETERS: &str = "model parameters";

/// A buffer that is alive at the peak, and what it is for.
#[derive(Debug, Clone)]
pub struct Attributed<'a, 'm> {
    /// The buffer.
    pub alive: Alive<'a, 'm>,
    /// The name that rules saw: the parameter's whose value it holds, else the op's; empty where neither has one.
    pub op_name: String,
    /// The entry parameter whose value it holds: a row of [`Flow::parameters`].
    pub parameter: Option<usize>,
    /// Forward or backward pass, as the op's name says.
    pub phase: Option<Phase>,
    /// Its shape: that of the parameter in a parameter's memory.
    pub shape: &'m Shape,
    /// The rule that took it.
    pub rule: Option<usize>,
}

/// A parameter of the program, and what it is for.
#[derive(Debug, Clone, Copy)]
pub struct AttributedParameter {
    /// The rule that took it.
    pub rule: Option<usize>,
    /// Bytes of its memory; `None` where it has none in this memory space.
    pub bytes: Option<i64>,
    /// Whether an output takes over its memory (donation).
    pub is_aliased: bool,
}

/// What one memory of a program is for at its peak.
#[derive(Debug)]
pub struct Attribution<'a, 'm> {
    /// The rules.
    pub rules: &'a Rules,
    /// The memory.
    pub memory: &'a ProgramMemory<'a, 'm>,
    /// Where the parameters go.
    pub flow: Flow<'m>,
    /// For each parameter of [`Flow::parameters`] what it is for.
    pub parameters: Vec<AttributedParameter>,
    /// What is alive at the peak, in the order of [`ProgramMemory::alive_at_peak`].
    pub buffers: Vec<Attributed<'a, 'm>>,
    /// Instructions whose op name says backward pass; `None` where no instruction has an op name.
    pub gradient_markers: Option<usize>,
}

impl<'a, 'm> Attribution<'a, 'm> {
    /// Finds out what a memory is for.
    #[must_use]
    pub fn of(memory: &'a ProgramMemory<'a, 'm>, rules: &'a Rules) -> Self {
        let module = memory.module();
        let mut this = Self {
            rules,
            memory,
            flow: Flow::new(module),
            parameters: Vec::new(),
            buffers: Vec::new(),
            gradient_markers: names::gradient_markers(module),
        };
        this.parameters = this.attribute_parameters(module);
        let vocabulary = Vocabulary::new(&this.flow.parameters);
        let alive = memory.alive_at_peak();
        this.buffers = alive.into_iter().map(|alive| this.attribute(module, &vocabulary, alive)).collect();
        this
    }

    /// The bucket of a rule; `other` where none took the buffer.
    #[must_use]
    pub fn bucket(&self, rule: Option<usize>) -> &'a str {
        rule.and_then(|rule| self.rules.all().get(rule)).map_or("other", |rule| rule.bucket.as_str())
    }

    fn is_training(&self) -> bool {
        self.gradient_markers.is_some_and(|count| count > 0)
    }

    fn attribute_parameters(&self, module: &Module) -> Vec<AttributedParameter> {
        let mut bytes = vec![None; self.flow.parameters.len()];
        for allocation in self.memory.lasting() {
            let Some((number, index)) = &allocation.entry_parameter else { continue };
            if let Some(row) = self.flow.parameter(*number, index) {
                bytes[row] = Some(allocation.size_bytes);
            }
        }
        let aliased: Vec<bool> = {
            let mut donated: Vec<(i64, &[i64])> = module
                .input_output_aliases
                .iter()
                .map(|a| (a.parameter, a.parameter_index.as_slice()))
                .collect();
            donated.sort_unstable();
            let is = |p: &EntryParameter<'_>| donated.binary_search(&(p.number, p.index.as_slice())).is_ok();
            self.flow.parameters.iter().map(is).collect()
        };
        let rule = |row: usize, is_like_parameter: bool| {
            let parameter = &self.flow.parameters[row];
            let name = parameter.name();
            let shape = names::array(parameter.shape);
            self.rules.find(&Subject {
                op_name: &name,
                group: Group::Parameter,
                opcode: "parameter",
                shape: &shape,
                dtype: parameter.shape.element_type.name(),
                rank: parameter.shape.dimensions.len(),
                bytes: bytes[row].unwrap_or(0),
                parameter: Some(parameter.number),
                is_aliased: aliased[row],
                facts: self.parameter_facts(parameter, is_like_parameter),
            })
        };
        let first: Vec<Option<usize>> = (0..bytes.len()).map(|row| rule(row, false)).collect();
        let mut extents: Vec<&[i64]> = Vec::new();
        for (parameter, rule) in self.flow.parameters.iter().zip(&first) {
            if self.bucket(*rule) == MODEL_PARAMETERS {
                extents.push(&parameter.shape.dimensions);
            }
        }
        extents.sort_unstable();
        let all = self.flow.parameters.iter().zip(first).enumerate().map(|(row, (parameter, first))| {
            let is_like = !parameter.shape.dimensions.is_empty()
                && extents.binary_search(&parameter.shape.dimensions.as_slice()).is_ok();
            AttributedParameter {
                rule: if is_like && self.is_training() { rule(row, true) } else { first },
                bytes: bytes[row],
                is_aliased: aliased[row],
            }
        });
        all.collect()
    }

    fn parameter_facts(&self, parameter: &EntryParameter<'_>, is_like_parameter: bool) -> Facts {
        let fate = parameter.fate;
        let mut facts = Facts::default();
        facts.set(Fact::Parameter, true);
        facts.set(Fact::Carried, fate.is_carried);
        facts.set(Fact::Rewritten, fate.is_rewritten);
        facts.set(Fact::Cache, is_cache(parameter));
        facts.set(Fact::LikeModelParameter, is_like_parameter);
        facts.set(Fact::Gradients, self.is_training());
        facts
    }

    /// The parameter whose value a buffer holds.
    fn holder(&self, module: &Module, alive: &Alive<'_, 'm>) -> Option<usize> {
        let allocation = alive.buffer.allocation;
        if let Some((number, index)) = &allocation.entry_parameter {
            return self.flow.parameter(*number, index);
        }
        let logical = alive.buffer.logical;
        let own = self.flow.holder(module, &alive.instruction().name, &logical.shape_index);
        if own.is_some() || alive.span.is_some() {
            return own;
        }
        // Values that take turns in one allocation are the same state at different times, each of the allocation's size.
        allocation.assigned.iter().filter(|a| a.size_bytes == logical.size_bytes).find_map(|assigned| {
            let buffer = self.memory.buffers.get(self.memory.buffers.row(assigned.buffer_id)?)?;
            self.flow.holder(module, &buffer.instruction.name, &buffer.logical.shape_index)
        })
    }

    fn attribute(
        &self,
        module: &'m Module,
        vocabulary: &Vocabulary,
        alive: Alive<'a, 'm>,
    ) -> Attributed<'a, 'm> {
        let parameter = self.holder(module, &alive);
        let instruction = alive.instruction();
        if let (Some(row), Group::Parameter) = (parameter, alive.group) {
            return Attributed {
                alive,
                op_name: self.flow.parameters[row].name(),
                parameter,
                phase: None,
                shape: self.flow.parameters[row].shape,
                rule: self.parameters[row].rule,
            };
        }
        let shape = shape_at(alive.buffer);
        let (op_name, op_type) = op_name(module, instruction, &alive.buffer.logical.shape_index);
        let phase = if self.is_training() { Phase::of(op_name, op_type) } else { None };
        let held = parameter.map(|row| &self.flow.parameters[row]);
        let op_name = match held.map(EntryParameter::name) {
            Some(name) if !name.is_empty() => name,
            _ => op_name.to_owned(),
        };
        let mut facts = match held {
            Some(parameter) => {
                let is_like = parameter.shape.dimensions == shape.dimensions
                    && parameter.shape.element_type == shape.element_type
                    && self.takes_for_its_shape(parameter.number, &parameter.index);
                self.parameter_facts(parameter, is_like)
            }
            None => Facts::default(),
        };
        facts.set(Fact::Gradients, self.is_training());
        if parameter.is_none() {
            facts.set(Fact::Forward, phase == Some(Phase::Forward));
            facts.set(Fact::Backward, phase == Some(Phase::Backward));
            facts.set(Fact::Vocabulary, vocabulary.is_in(shape));
        }
        let rule = self.rules.find(&Subject {
            op_name: &op_name,
            group: alive.group,
            opcode: instruction.opcode_name(),
            shape: &names::array(shape),
            dtype: shape.element_type.name(),
            rank: shape.dimensions.len(),
            bytes: alive.bytes,
            parameter: held.map(|parameter| parameter.number),
            is_aliased: false,
            facts,
        });
        Attributed { alive, op_name, parameter, phase, shape, rule }
    }

    /// Whether a parameter was taken by a rule that asks for the shape of a model parameter.
    fn takes_for_its_shape(&self, number: i64, index: &[i64]) -> bool {
        let row = self.flow.parameter(number, index);
        let rule = row.and_then(|row| self.parameters.get(row)?.rule);
        rule.and_then(|rule| self.rules.all().get(rule)).is_some_and(Rule::is_by_shape)
    }
}

/// The shape of a buffer, every step of its path into nested tuples followed.
fn shape_at<'m>(buffer: &Buffer<'m>) -> &'m Shape {
    let whole = &buffer.instruction.shape;
    let path = &buffer.logical.shape_index;
    path.iter().try_fold(whole, |shape, step| shape.tuple_element(*step)).unwrap_or(whole)
}

/// Whether a program treats a parameter as attention treats its cache.
fn is_cache(parameter: &EntryParameter<'_>) -> bool {
    let fate = parameter.fate;
    parameter.shape.dimensions.len() >= 3
        && (fate.is_carried || fate.is_returned)
        && fate.is_written
        && fate.is_multiplied
}

#[cfg(test)]
pub(crate) mod tests;
