//! A whole HLO module, decoded once.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::{
    buffers::BufferAssignment,
    index::{ComputationIdx, InstructionIdx},
    instruction::{Computation, Instruction},
    lists::Lists,
    shape::Shape,
    stack_frames::StackFrames,
};

/// An HLO module. Made by [`Module::decode`] and its siblings; the tables never change afterwards.
#[derive(Clone, Debug)]
pub struct Module {
    /// Name, for instance `jit_train_step`.
    pub name: String,
    /// Id that the compiling process gave it.
    pub id: i64,
    /// Fingerprint, where a profile-guided compilation recorded one.
    pub fingerprint: Option<String>,
    /// Kind of device it was compiled for, where the proto says.
    pub device_type: Option<String>,
    /// Outputs that reuse a parameter's memory (donation).
    pub input_output_aliases: Vec<InputOutputAlias>,
    /// Parameters whose memory the program may reuse for anything: number and path into its tuple.
    pub buffer_donors: Vec<(i64, Vec<i64>)>,
    /// What the framework attached, by key.
    pub frontend_attributes: BTreeMap<String, String>,
    /// Source positions and call stacks.
    pub stack_frames: StackFrames,
    /// What the compiler decided about memory; `None` for a bare module proto.
    pub buffer_assignment: Option<BufferAssignment>,
    /// Shapes of the entry's parameters and result, with the layouts that the caller sees.
    pub program_shape: Option<ProgramShape>,
    /// How it was compiled and is run, where a text says so: for instance `num_partitions` and its value.
    pub configuration: Vec<(String, String)>,
    /// Keys of attributes that a text has and that this version does not know, in alphabetical order.
    pub unread_attributes: Vec<String>,
    /// The device that runs each partition, by partition and replica; empty where the proto does not say.
    pub device_assignment: Vec<Vec<i64>>,
    pub(crate) computation_count_of_device_assignment: Option<i32>,
    pub(crate) has_schedule: bool,
    /// Whether the tables are in the order in which a text was written.
    pub(crate) is_in_text_order: bool,
    pub(crate) entry: ComputationIdx,
    pub(crate) computations: Vec<Computation>,
    pub(crate) instructions: Vec<Instruction>,
    pub(crate) schedule: BTreeMap<ComputationIdx, Vec<InstructionIdx>>,
    pub(crate) names: Names,
    pub(crate) users: Lists,
    pub(crate) callers: Lists,
    pub(crate) control_successors: Lists,
}

/// Shapes of a program's parameters and result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramShape {
    /// Shapes of the parameters in order.
    pub parameters: Vec<Shape>,
    /// Shape of the result.
    pub result: Shape,
}

/// An output that reuses a parameter's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputOutputAlias {
    /// Path into the output's tuple.
    pub output_index: Vec<i64>,
    /// Parameter number.
    pub parameter: i64,
    /// Path into the parameter's tuple.
    pub parameter_index: Vec<i64>,
    /// The compiler relied on it, rather than only being allowed to.
    pub must_alias: bool,
}

/// Positions sorted by name and by id, for binary search.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pub(crate) instructions_by_name: Vec<InstructionIdx>,
    pub(crate) instructions_by_id: Vec<InstructionIdx>,
    pub(crate) computations_by_name: Vec<ComputationIdx>,
}

impl Module {
    /// The computation that runs when the module is launched.
    #[must_use]
    pub fn entry(&self) -> ComputationIdx {
        self.entry
    }

    /// A computation.
    ///
    /// # Panics
    /// Where `index` comes from another module and is past the end of this one.
    #[must_use]
    pub fn computation(&self, index: ComputationIdx) -> &Computation {
        &self.computations[index.index()]
    }

    /// An instruction.
    ///
    /// # Panics
    /// Where `index` comes from another module and is past the end of this one.
    #[must_use]
    pub fn instruction(&self, index: InstructionIdx) -> &Instruction {
        &self.instructions[index.index()]
    }

    /// All computations in the order of the proto: called before callers, the entry last as a rule.
    pub fn computations(&self) -> impl ExactSizeIterator<Item = (ComputationIdx, &Computation)> {
        self.computations.iter().enumerate().map(|(i, c)| (ComputationIdx(i as u32), c))
    }

    /// All instructions, computation by computation.
    pub fn instructions(&self) -> impl ExactSizeIterator<Item = (InstructionIdx, &Instruction)> {
        self.instructions.iter().enumerate().map(|(i, c)| (InstructionIdx(i as u32), c))
    }

    /// The order in which a computation's instructions run, where the compiler scheduled it.
    #[must_use]
    pub fn schedule(&self, computation: ComputationIdx) -> Option<&[InstructionIdx]> {
        self.schedule.get(&computation).map(Vec::as_slice)
    }

    /// The instructions of a computation in the order in which they run, where the compiler scheduled it, else in that of the module.
    #[must_use]
    pub fn order(&self, computation: ComputationIdx) -> Cow<'_, [InstructionIdx]> {
        match self.schedule(computation) {
            Some(order) => Cow::Borrowed(order),
            None => self.computation(computation).instructions().collect(),
        }
    }

    /// Partitions that the module was compiled for, where its text or its device assignment says so.
    #[must_use]
    pub fn partition_count(&self) -> Option<u64> {
        let assigned =
            self.computation_count_of_device_assignment.and_then(|count| u64::try_from(count).ok());
        self.configured("num_partitions").or(assigned)
    }

    /// Replicas that the module was compiled for, where its text says so.
    #[must_use]
    pub fn replica_count(&self) -> Option<u64> {
        self.configured("replica_count")
    }

    fn configured(&self, key: &str) -> Option<u64> {
        self.configuration.iter().find(|(own, _)| own == key)?.1.parse().ok()
    }

    /// Whether the compiler scheduled the module.
    #[must_use]
    pub fn is_scheduled(&self) -> bool {
        !self.schedule.is_empty()
    }

    /// The instruction of this name (without `%`), or `None`.
    #[must_use]
    pub fn instruction_by_name(&self, name: &str) -> Option<InstructionIdx> {
        let table = &self.names.instructions_by_name;
        let at = table.partition_point(|idx| self.instruction(*idx).name.as_str() < name);
        table.get(at).copied().filter(|idx| self.instruction(*idx).name == name)
    }

    /// The first instruction of this id, or `None`.
    #[must_use]
    pub fn instruction_by_id(&self, id: i64) -> Option<InstructionIdx> {
        let table = &self.names.instructions_by_id;
        let at = table.partition_point(|idx| self.instruction(*idx).id < id);
        table.get(at).copied().filter(|idx| self.instruction(*idx).id == id)
    }

    /// The computation of this name (without `%`), or `None`.
    #[must_use]
    pub fn computation_by_name(&self, name: &str) -> Option<ComputationIdx> {
        let table = &self.names.computations_by_name;
        let at = table.partition_point(|idx| self.computation(*idx).name.as_str() < name);
        table.get(at).copied().filter(|idx| self.computation(*idx).name == name)
    }

    pub(crate) fn build_names(&mut self) {
        let instructions = || (0..self.instructions.len() as u32).map(InstructionIdx).collect::<Vec<_>>();
        let (mut by_name, mut by_id) = (instructions(), instructions());
        by_name.sort_by(|a, b| self.instruction(*a).name.cmp(&self.instruction(*b).name));
        by_id.sort_by_key(|idx| self.instruction(*idx).id);
        let mut computations_by_name: Vec<_> =
            (0..self.computations.len() as u32).map(ComputationIdx).collect();
        computations_by_name.sort_by(|a, b| self.computation(*a).name.cmp(&self.computation(*b).name));
        self.names = Names { instructions_by_name: by_name, instructions_by_id: by_id, computations_by_name };
    }
}
