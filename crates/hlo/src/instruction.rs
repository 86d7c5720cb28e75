//! One HLO instruction, with the attributes that its opcode calls for.

use std::{collections::BTreeMap, ops::Range, sync::LazyLock};

use crate::{
    backend_config,
    dims::{
        ConvolutionDimensionNumbers, DotDimensionNumbers, GatherDimensionNumbers, PaddingDimension,
        RaggedDotDimensionNumbers, ScatterDimensionNumbers, SliceDimension, WindowDimension,
    },
    index::{ComputationIdx, InstructionIdx},
    opcode::Opcode,
    rare::Rare,
    replica_groups::ReplicaGroups,
    shape::Shape,
};

/// An instruction of a computation.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// Id within its module (newer XLA: within its computation, with the computation's id in the upper half).
    pub id: i64,
    /// Unique name, without the `%` of the text form.
    pub name: String,
    /// What the instruction does.
    pub opcode: Opcode,
    /// Shape of the result.
    pub shape: Shape,
    /// The computation around it.
    pub computation: ComputationIdx,
    /// Operands in order; one value may appear more than once.
    pub operands: Vec<InstructionIdx>,
    /// Computations it calls: a fusion's body, a reduce's function, a loop's body and condition (in this order), branches.
    pub called_computations: Vec<ComputationIdx>,
    /// Instructions that must finish first although no value flows.
    pub control_predecessors: Vec<InstructionIdx>,
    /// Where it comes from, if the compiler kept it.
    pub metadata: Option<Box<Metadata>>,
    pub(crate) opcode_name: Option<Box<str>>,
    pub(crate) attributes: Option<Box<Attributes>>,
}

/// Where an instruction comes from in the framework and the user's source. Empty strings and zeros are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// Framework op type, for instance `dot_general` or `MatMul`.
    pub op_type: Option<String>,
    /// Framework scope path, for instance `jit(step)/transformer/dot_general`.
    pub op_name: Option<String>,
    /// Source file of the innermost user frame.
    pub source_file: Option<String>,
    /// First line there, from 1.
    pub source_line: Option<i32>,
    /// Last line there, from 1.
    pub source_end_line: Option<i32>,
    /// First column there.
    pub source_column: Option<i32>,
    /// Last column there.
    pub source_end_column: Option<i32>,
    /// Entry in [`StackFrames`](crate::StackFrames), from 1.
    pub stack_frame_id: Option<i32>,
    /// Name shared by instructions that are copies of one another.
    pub deduplicated_name: Option<String>,
    /// Name under which the instruction was scheduled.
    pub scheduling_name: Option<String>,
}

/// How a fusion was formed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FusionKind {
    /// Elementwise root: one loop over the output.
    Loop,
    /// Reduction-like root.
    Input,
    /// Elementwise work fused behind a dot or convolution.
    Output,
    /// Emitted by backend code of its own.
    Custom,
    /// A kind that this version of the crate does not know.
    Other(String),
}

impl FusionKind {
    /// As HLO text has it: `kLoop`.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Loop => "kLoop",
            Self::Input => "kInput",
            Self::Output => "kOutput",
            Self::Custom => "kCustom",
            Self::Other(other) => other,
        }
    }
}

/// Attributes that only some opcodes have. Absent ones are `None`, empty or false.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attributes {
    /// `parameter`: its number, from 0.
    pub parameter_number: Option<i64>,
    /// `get-tuple-element`: which element.
    pub tuple_index: Option<i64>,
    /// `fusion`: how it was formed.
    pub fusion_kind: Option<FusionKind>,
    /// Dimensions of broadcast, reduce, transpose, concatenate, reverse, sort, iota and collectives.
    pub dimensions: Vec<i64>,
    /// Sliding window.
    pub window: Vec<WindowDimension>,
    /// `convolution`.
    pub convolution: Option<ConvolutionDimensionNumbers>,
    /// `convolution`: groups of input features, 1 where the proto says nothing.
    pub feature_group_count: Option<i64>,
    /// `convolution`: groups of the batch, 1 where the proto says nothing.
    pub batch_group_count: Option<i64>,
    /// `dot`.
    pub dot: Option<DotDimensionNumbers>,
    /// `ragged-dot`.
    pub ragged_dot: Option<RaggedDotDimensionNumbers>,
    /// `slice`.
    pub slice: Vec<SliceDimension>,
    /// `dynamic-slice`: extents of the result in elements.
    pub dynamic_slice_sizes: Vec<i64>,
    /// `pad`.
    pub padding: Vec<PaddingDimension>,
    /// `gather`.
    pub gather: Option<GatherDimensionNumbers>,
    /// `gather`: extents of one slice in elements.
    pub gather_slice_sizes: Vec<i64>,
    /// `scatter`.
    pub scatter: Option<ScatterDimensionNumbers>,
    /// `fft`: length of each transformed dimension.
    pub fft_length: Vec<i64>,
    /// `reduce-precision`: exponent and mantissa bits.
    pub reduce_precision_bits: Option<(i32, i32)>,
    /// `compare`: `EQ`, `LT` and so on.
    pub comparison_direction: Option<String>,
    /// Precision of each operand (0 default, 1 high, 2 highest) and the dot algorithm's number in `PrecisionConfig`.
    pub precision: Option<(Vec<i32>, i32)>,
    /// Collectives and transfers: the channel.
    pub channel_id: Option<i64>,
    /// Collectives: which devices talk to each other.
    pub replica_groups: Option<ReplicaGroups>,
    /// `collective-permute`: source and target of each hop.
    pub source_target_pairs: Vec<(i64, i64)>,
    /// Collectives: group members are global device ids.
    pub use_global_device_ids: bool,
    /// `send`, `recv`: the other end is the host.
    pub is_host_transfer: bool,
    /// `custom-call`: its target.
    pub custom_call_target: Option<String>,
    /// `custom-call`, `fusion`: outputs that share a buffer with an operand.
    pub output_operand_aliasing: Vec<OutputOperandAlias>,
    /// Asynchronous instructions: the thread that runs them, if not the main one.
    pub async_execution_thread: Option<String>,
    /// `copy-start`: order among the prefetches that cross program boundaries.
    pub cross_program_prefetch_index: Option<i32>,
    /// What the backend wants to know: JSON on most backends.
    pub backend_config: Vec<u8>,
    /// `constant`: the encoded `LiteralProto`, not decoded.
    pub literal: Option<Vec<u8>>,
    /// The encoded `OpSharding`, not decoded.
    pub sharding: Option<Vec<u8>>,
    /// What the framework attached, by key.
    pub frontend_attributes: BTreeMap<String, String>,
    /// Statistics that a compiler pass attached: name and value.
    pub statistics: Vec<(String, f64)>,
    /// What only the text form shows.
    pub(crate) rare: Option<Box<Rare>>,
}

/// An output of a custom call or fusion that shares its buffer with an operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputOperandAlias {
    /// Path into the output's tuple.
    pub output_index: Vec<i64>,
    /// Operand number.
    pub operand: i64,
    /// Path into the operand's tuple.
    pub operand_index: Vec<i64>,
}

static NO_ATTRIBUTES: LazyLock<Attributes> = LazyLock::new(Attributes::default);

impl Instruction {
    /// The opcode as XLA prints it, also where [`Opcode`] does not know it.
    #[must_use]
    pub fn opcode_name(&self) -> &str {
        self.opcode.name().or(self.opcode_name.as_deref()).unwrap_or("")
    }

    /// Attributes that only some opcodes have.
    #[must_use]
    pub fn attributes(&self) -> &Attributes {
        self.attributes.as_deref().unwrap_or(&NO_ATTRIBUTES)
    }

    /// The statistic that drawings paint an instruction by, if a compiler pass attached any.
    #[must_use]
    pub fn visualized_statistic(&self) -> Option<&(String, f64)> {
        let index = self.attributes().rare.as_ref().map_or(0, |rare| rare.visualized_statistic);
        self.attributes().statistics.get(usize::try_from(index).ok()?)
    }

    /// Framework scope path, if known.
    #[must_use]
    pub fn op_name(&self) -> Option<&str> {
        self.metadata.as_ref()?.op_name.as_deref()
    }

    /// How often a `while` runs, where the compiler worked it out: `known_trip_count` of the backend's JSON.
    #[must_use]
    pub fn known_trip_count(&self) -> Option<u64> {
        backend_config::known_trip_count(&self.attributes().backend_config)
    }
}

/// A computation: a function of instructions in which one is the result.
#[derive(Clone, Debug)]
pub struct Computation {
    /// Id within its module.
    pub id: i64,
    /// Unique name, without the `%` of the text form.
    pub name: String,
    /// The instruction whose value the computation returns.
    pub root: InstructionIdx,
    /// Whether it is the body of a fusion. Older XLA does not write this: the decoder fills it in from the callers.
    pub is_fusion: bool,
    /// The thread it runs on, if not the main one.
    pub execution_thread: Option<String>,
    pub(crate) instructions: Range<u32>,
    pub(crate) parameters: Vec<InstructionIdx>,
}

impl Computation {
    /// Its instructions, in the order of the proto: operands before users.
    pub fn instructions(
        &self,
    ) -> impl DoubleEndedIterator<Item = InstructionIdx> + ExactSizeIterator + use<> {
        self.instructions.clone().map(InstructionIdx)
    }

    /// Its parameters by number. A number that the proto leaves out is skipped.
    #[must_use]
    pub fn parameters(&self) -> &[InstructionIdx] {
        &self.parameters
    }
}
