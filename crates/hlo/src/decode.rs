//! From protos to the crate's own types: ids become indices, and what dangles becomes an error.

use std::collections::BTreeMap;

use prost::Message;

use crate::{
    error::Error,
    index::{ComputationIdx, InstructionIdx},
    instruction::{Attributes, Computation, FusionKind, Instruction, Metadata, OutputOperandAlias},
    lists::Lists,
    module::{InputOutputAlias, Module, Names, ProgramShape},
    opcode::Opcode,
    proto,
    rare::Rare,
    replica_groups,
    shape::Shape,
    stack_frames::StackFrames,
    weight::{self, Room},
};

impl Module {
    /// Decodes an `HloProto`: a module with, as a rule, its buffer assignment. This is what profiles embed.
    ///
    /// # Errors
    /// Where the bytes are not such a message, hold no module, or refer to something that is not there.
    pub fn from_hlo_proto(bytes: &[u8]) -> Result<Self, Error> {
        Self::hlo_proto_within(bytes, Room::of(bytes.len()))
    }

    fn hlo_proto_within(bytes: &[u8], room: Room) -> Result<Self, Error> {
        const EXPECTED: &str = "an HloProto";
        weight::check(bytes, &weight::HLO, room)?;
        let hlo = proto::Hlo::decode(bytes).map_err(|source| Error::Protobuf {
            expected: EXPECTED,
            bytes: bytes.len(),
            source,
        })?;
        let module = hlo.hlo_module.ok_or_else(|| Error::NoModule {
            expected: EXPECTED,
            found: format!("{} bytes without an HLO module (field 1)", bytes.len()),
        })?;
        from_packed(EXPECTED, module, hlo.buffer_assignment)
    }

    /// Decodes a bare `HloModuleProto`, which has no buffer assignment.
    ///
    /// # Errors
    /// Where the bytes are not such a message, hold no computations, or refer to something that is not there.
    pub fn from_module_proto(bytes: &[u8]) -> Result<Self, Error> {
        Self::module_proto_within(bytes, Room::of(bytes.len()))
    }

    fn module_proto_within(bytes: &[u8], room: Room) -> Result<Self, Error> {
        const EXPECTED: &str = "an HloModuleProto";
        weight::check(bytes, &weight::MODULE, room)?;
        let module = proto::HloModule::decode(bytes).map_err(|source| Error::Protobuf {
            expected: EXPECTED,
            bytes: bytes.len(),
            source,
        })?;
        from_packed(EXPECTED, module, None)
    }

    /// Decodes either: an `HloProto`'s first field holds a message, an `HloModuleProto`'s first field a name, and only
    /// one of the two readings yields a module with computations.
    ///
    /// # Errors
    /// The complaint of the reading that got further: as `HloModuleProto` if that found computations, else as `HloProto`.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        Self::decode_within(bytes, Room::of(bytes.len()))
    }

    pub(crate) fn decode_within(bytes: &[u8], room: Room) -> Result<Self, Error> {
        match Self::hlo_proto_within(bytes, room) {
            Ok(module) => Ok(module),
            Err(as_hlo) => match Self::module_proto_within(bytes, room) {
                Ok(module) => Ok(module),
                Err(
                    as_module
                    @ (Error::MissingId { .. } | Error::MissingRoot { .. } | Error::TooLarge { .. }),
                ) => Err(as_module),
                Err(_) => Err(as_hlo),
            },
        }
    }
}

/// A computation as it came: read from text, or as it stands in a message.
pub(crate) enum Given {
    Read(proto::HloComputation),
    Packed(Vec<u8>),
}

/// Bytes that the instructions of a computation may take as they were sent to be decoded all at once, which is quicker.
const AT_ONCE: usize = 16 << 20;

/// What of a computation the others refer to.
struct Head {
    id: i64,
    name: String,
    instructions: usize,
}

/// Decodes a part of a message that is `expected`.
fn part<T: Message + Default>(expected: &'static str, bytes: &[u8]) -> Result<T, Error> {
    T::decode(bytes).map_err(|source| Error::Protobuf { expected, bytes: bytes.len(), source })
}

impl Given {
    fn head(&self, expected: &'static str) -> Result<Head, Error> {
        Ok(match self {
            Self::Read(read) => {
                Head { id: read.id, name: read.name.clone(), instructions: read.instructions.len() }
            }
            Self::Packed(bytes) => {
                let head: proto::ComputationHead = part(expected, bytes)?;
                Head { id: head.id, name: head.name, instructions: weight::instructions(bytes) }
            }
        })
    }
}

fn from_packed(
    expected: &'static str,
    mut module: proto::HloModule,
    buffer_assignment: Option<proto::BufferAssignment>,
) -> Result<Module, Error> {
    let computations = std::mem::take(&mut module.computations).into_iter().map(Given::Packed).collect();
    from_proto(expected, module, computations, buffer_assignment)
}

/// The module of a message and its computations.
pub(crate) fn from_proto(
    expected: &'static str,
    module: proto::HloModule,
    given: Vec<Given>,
    buffer_assignment: Option<proto::BufferAssignment>,
) -> Result<Module, Error> {
    if given.is_empty() {
        return Err(Error::NoModule {
            expected: "an HLO module with computations",
            found: format!("module {:?} with none", module.name),
        });
    }
    let heads = given.iter().map(|given| given.head(expected)).collect::<Result<Vec<Head>, Error>>()?;
    let total: usize = heads.iter().map(|head| head.instructions).sum();
    for (what, found) in [("instructions", total), ("computations", heads.len())] {
        let limit = u32::MAX as usize - 1;
        if found > limit {
            return Err(Error::TooMany { what, limit, found });
        }
    }
    let computation_ids: IdMap<ComputationIdx> =
        IdMap::new(heads.iter().enumerate().map(|(i, c)| (c.id, ComputationIdx(i as u32))));
    let entry = if module.entry_computation_id != 0 {
        computation_ids.get(module.entry_computation_id)
    } else {
        let named = |head: &Head| head.name == module.entry_computation_name;
        heads.iter().position(named).and_then(ComputationIdx::from_index)
    };
    let entry = entry.ok_or_else(|| Error::MissingRoot {
        role: "entry computation",
        id: module.entry_computation_id,
        within: module.name.clone(),
    })?;
    drop(heads);

    let mut decoder =
        Decoder { computation_ids, payloads: module.payloads, instructions: Vec::with_capacity(total) };
    let mut computations = Vec::with_capacity(given.len());
    let mut instruction_ids = Vec::with_capacity(given.len());
    for (position, computation) in given.into_iter().enumerate() {
        let (computation, ids) = decoder.given(expected, computation, ComputationIdx(position as u32))?;
        computations.push(computation);
        instruction_ids.push(ids);
    }
    for instruction in decoder.instructions.iter().filter(|i| i.opcode == Opcode::Fusion) {
        for called in &instruction.called_computations {
            computations[called.index()].is_fusion = true;
        }
    }

    let has_schedule = module.schedule.is_some();
    // A schedule is advice: what it says about computations or instructions that are not there is left out.
    let mut schedule = BTreeMap::new();
    for (id, sequence) in module.schedule.unwrap_or_default().sequences {
        if let Some(computation) = decoder.computation_ids.get(id) {
            let ids = &instruction_ids[computation.index()];
            schedule
                .insert(computation, sequence.instruction_ids.iter().filter_map(|i| ids.get(*i)).collect());
        }
    }

    let users = Lists::users(&decoder.instructions);
    let callers = Lists::callers(&decoder.instructions, computations.len());
    let control_successors = Lists::control_successors(&decoder.instructions);
    let mut decoded = Module {
        name: module.name,
        id: module.id,
        fingerprint: module.profile_info.into_iter().map(|p| p.fingerprint).find(|f| !f.is_empty()),
        device_type: some_text(module.device_type),
        input_output_aliases: module
            .input_output_alias
            .unwrap_or_default()
            .entries
            .into_iter()
            .map(|e| InputOutputAlias {
                output_index: e.output_shape_index,
                parameter: e.parameter_number,
                parameter_index: e.parameter_shape_index,
                must_alias: e.kind == 2,
            })
            .collect(),
        buffer_donors: module
            .buffer_donor
            .unwrap_or_default()
            .entries
            .into_iter()
            .map(|e| (e.parameter_number, e.parameter_shape_index))
            .collect(),
        frontend_attributes: module.frontend_attributes.unwrap_or_default().map,
        stack_frames: StackFrames::from(module.stack_frame_index.unwrap_or_default()),
        buffer_assignment: buffer_assignment.map(Into::into),
        program_shape: module.host_program_shape.map(|p| ProgramShape {
            parameters: p.parameters.into_iter().map(Shape::from).collect(),
            result: p.result.map_or_else(no_shape, Shape::from),
        }),
        computation_count_of_device_assignment: module
            .device_assignment
            .as_ref()
            .map(|d| d.computation_count),
        device_assignment: module
            .device_assignment
            .map(|d| d.computation_devices.into_iter().map(|c| c.replica_device_ids).collect())
            .unwrap_or_default(),
        has_schedule,
        is_in_text_order: false,
        configuration: Vec::new(),
        unread_attributes: Vec::new(),
        entry,
        computations,
        instructions: decoder.instructions,
        schedule,
        names: Names::default(),
        users,
        callers,
        control_successors,
    };
    decoded.build_names();
    Ok(decoded)
}

/// Ids sorted for binary search. Newer XLA writes ids whose upper half is the computation's; as XLA's own reader does,
/// an id that is not found is looked up by its lower half.
struct IdMap<T> {
    full: Vec<(i64, T)>,
    local: Vec<(i64, T)>,
}

/// The part of an id that counts within a computation.
fn local_id(id: i64) -> i64 {
    id & 0xffff_ffff
}

impl<T: Copy + Ord> IdMap<T> {
    fn new(ids: impl Iterator<Item = (i64, T)>) -> Self {
        let mut full: Vec<(i64, T)> = ids.collect();
        let mut local: Vec<(i64, T)> = full.iter().map(|(id, value)| (local_id(*id), *value)).collect();
        full.sort_unstable();
        local.sort_unstable();
        Self { full, local }
    }

    fn get(&self, id: i64) -> Option<T> {
        let find = |table: &[(i64, T)], id: i64| {
            let at = table.partition_point(|entry| entry.0 < id);
            table.get(at).filter(|entry| entry.0 == id).map(|entry| entry.1)
        };
        find(&self.full, id).or_else(|| find(&self.local, local_id(id)))
    }
}

struct Decoder {
    computation_ids: IdMap<ComputationIdx>,
    payloads: Vec<Vec<u8>>,
    instructions: Vec<Instruction>,
}

impl Decoder {
    /// A computation. Of a long one that is packed no more than one instruction stands in memory as it was sent.
    fn given(
        &mut self,
        expected: &'static str,
        given: Given,
        index: ComputationIdx,
    ) -> Result<(Computation, IdMap<InstructionIdx>), Error> {
        match given {
            Given::Read(mut read) => {
                let instructions = std::mem::take(&mut read.instructions);
                let ids: Vec<i64> = instructions.iter().map(|hlo| hlo.id).collect();
                self.computation(read, index, &ids, instructions.into_iter().map(Ok))
            }
            Given::Packed(bytes)
                if weight::instructions(&bytes).saturating_mul(size_of::<proto::HloInstruction>())
                    <= AT_ONCE =>
            {
                self.given(expected, Given::Read(part(expected, &bytes)?), index)
            }
            Given::Packed(bytes) => {
                let packed: proto::PackedComputation = part(expected, &bytes)?;
                drop(bytes);
                let id = |bytes: &Vec<u8>| part(expected, bytes).map(|head: proto::InstructionHead| head.id);
                let ids = packed.instructions.iter().map(id).collect::<Result<Vec<i64>, Error>>()?;
                let head = proto::HloComputation {
                    name: packed.name,
                    instructions: Vec::new(),
                    id: packed.id,
                    root_id: packed.root_id,
                    is_fusion_computation: packed.is_fusion_computation,
                    execution_thread: packed.execution_thread,
                };
                let instructions = packed.instructions.into_iter().map(|bytes| part(expected, &bytes));
                self.computation(head, index, &ids, instructions)
            }
        }
    }

    /// A computation of these instructions, whose ids are those.
    fn computation(
        &mut self,
        computation: proto::HloComputation,
        index: ComputationIdx,
        own: &[i64],
        instructions: impl Iterator<Item = Result<proto::HloInstruction, Error>>,
    ) -> Result<(Computation, IdMap<InstructionIdx>), Error> {
        let start = self.instructions.len() as u32;
        let ids = IdMap::new(own.iter().enumerate().map(|(i, id)| (*id, InstructionIdx(start + i as u32))));
        let missing_root = || Error::MissingRoot {
            role: "root instruction",
            id: computation.root_id,
            within: computation.name.clone(),
        };
        // A root id of 0 is either the instruction with that id or, in old protos, nothing: the last one is meant then.
        let last = own.len().checked_sub(1).map(|i| InstructionIdx(start + i as u32));
        let root = ids.get(computation.root_id).or(last.filter(|_| computation.root_id == 0));
        let root = root.ok_or_else(missing_root)?;
        let mut parameters = Vec::new();
        for (position, hlo) in instructions.enumerate() {
            let instruction = self.instruction(hlo?, index, &computation.name, &ids)?;
            if let Some(number) = instruction.attributes().parameter_number {
                parameters.push((number, InstructionIdx(start + position as u32)));
            }
            self.instructions.push(instruction);
        }
        parameters.sort_unstable();
        let decoded = Computation {
            id: computation.id,
            name: computation.name,
            root,
            is_fusion: computation.is_fusion_computation,
            execution_thread: some_text(computation.execution_thread),
            instructions: start..self.instructions.len() as u32,
            parameters: parameters.into_iter().map(|(_, idx)| idx).collect(),
        };
        Ok((decoded, ids))
    }

    fn instruction(
        &self,
        mut hlo: proto::HloInstruction,
        computation: ComputationIdx,
        computation_name: &str,
        ids: &IdMap<InstructionIdx>,
    ) -> Result<Instruction, Error> {
        let missing = |role, id| Error::MissingId {
            instruction: hlo.name.clone(),
            computation: computation_name.to_owned(),
            role,
            id,
        };
        let resolve = |of: &[i64], role| -> Result<Vec<InstructionIdx>, Error> {
            of.iter().map(|id| ids.get(*id).ok_or_else(|| missing(role, *id))).collect()
        };
        let operands = resolve(&hlo.operand_ids, "operand")?;
        let control_predecessors = resolve(&hlo.control_predecessor_ids, "control predecessor")?;
        let called_computations = hlo
            .called_computation_ids
            .iter()
            .map(|id| self.computation_ids.get(*id).ok_or_else(|| missing("called computation", *id)))
            .collect::<Result<_, _>>()?;
        let opcode = Opcode::from_name(&hlo.opcode);
        let unknown = opcode == Opcode::Other;
        Ok(Instruction {
            id: hlo.id,
            opcode,
            opcode_name: unknown.then(|| std::mem::take(&mut hlo.opcode).into_boxed_str()),
            shape: hlo.shape.take().map_or_else(no_shape, Shape::from),
            computation,
            operands,
            called_computations,
            control_predecessors,
            metadata: hlo
                .metadata
                .take()
                .map(Metadata::from)
                .filter(|m| *m != Metadata::default())
                .map(Box::new),
            name: std::mem::take(&mut hlo.name),
            attributes: self.attributes(opcode, hlo),
        })
    }

    fn attributes(&self, opcode: Opcode, mut hlo: proto::HloInstruction) -> Option<Box<Attributes>> {
        let convolves = opcode == Opcode::Convolution || hlo.convolution_dimension_numbers.is_some();
        let backend_config = self.backend_config(&mut hlo);
        let replica_groups = replica_groups::of_instruction(&mut hlo);
        let rare = Rare::take(&mut hlo);
        let attributes = Attributes {
            parameter_number: (opcode == Opcode::Parameter).then_some(hlo.parameter_number),
            tuple_index: (opcode == Opcode::GetTupleElement).then_some(hlo.tuple_index),
            fusion_kind: some_text(hlo.fusion_kind).map(fusion_kind),
            replica_groups,
            dimensions: hlo.dimensions,
            window: hlo.window.unwrap_or_default().dimensions.into_iter().map(Into::into).collect(),
            convolution: hlo.convolution_dimension_numbers.map(Into::into),
            feature_group_count: convolves.then_some(hlo.feature_group_count.max(1)),
            batch_group_count: convolves.then_some(hlo.batch_group_count.max(1)),
            dot: hlo.dot_dimension_numbers.map(Into::into),
            ragged_dot: hlo.ragged_dot_dimension_numbers.map(Into::into),
            slice: hlo.slice_dimensions.into_iter().map(Into::into).collect(),
            dynamic_slice_sizes: hlo.dynamic_slice_sizes,
            padding: hlo.padding_config.unwrap_or_default().dimensions.into_iter().map(Into::into).collect(),
            gather: hlo.gather_dimension_numbers.map(Into::into),
            gather_slice_sizes: hlo.gather_slice_sizes,
            scatter: hlo.scatter_dimension_numbers.map(Into::into),
            fft_length: hlo.fft_length,
            reduce_precision_bits: (opcode == Opcode::ReducePrecision)
                .then_some((hlo.exponent_bits, hlo.mantissa_bits)),
            comparison_direction: some_text(hlo.comparison_direction),
            precision: hlo
                .precision_config
                .map(|p| (p.operand_precision, p.algorithm))
                .filter(|(operands, algorithm)| *algorithm != 0 || operands.iter().any(|p| *p != 0)),
            channel_id: Some(hlo.channel_id).filter(|id| *id > 0),
            source_target_pairs: hlo.source_target_pairs.into_iter().map(|p| (p.source, p.target)).collect(),
            use_global_device_ids: hlo.use_global_device_ids,
            is_host_transfer: hlo.is_host_transfer,
            custom_call_target: some_text(hlo.custom_call_target),
            output_operand_aliasing: hlo
                .output_operand_aliasing
                .into_iter()
                .map(|a| OutputOperandAlias {
                    output_index: a.output_shape_index,
                    operand: a.operand_index,
                    operand_index: a.operand_shape_index,
                })
                .collect(),
            async_execution_thread: some_text(hlo.async_execution_thread),
            cross_program_prefetch_index: hlo.cross_program_prefetch_index,
            backend_config,
            literal: hlo.literal,
            sharding: hlo.sharding,
            frontend_attributes: hlo.frontend_attributes.unwrap_or_default().map,
            statistics: hlo
                .statistics_viz
                .unwrap_or_default()
                .statistics
                .into_iter()
                .map(|s| (s.stat_name, s.stat_val))
                .collect(),
            rare,
        };
        (attributes != Attributes::default()).then(|| Box::new(attributes))
    }

    /// The backend's configuration, from whichever place its XLA wrote it to: inline, as a payload, or shared by number.
    fn backend_config(&self, hlo: &mut proto::HloInstruction) -> Vec<u8> {
        let inline = std::mem::take(&mut hlo.backend_config);
        let Some(payload) = hlo.backend_config_payload.take().filter(|_| inline.is_empty()) else {
            return inline;
        };
        let shared = || self.payloads.get(usize::try_from(payload.id?).ok()?).cloned();
        payload.value.or_else(shared).unwrap_or_default()
    }
}

impl From<proto::OpMetadata> for Metadata {
    fn from(m: proto::OpMetadata) -> Self {
        let positive = |number: i32| Some(number).filter(|n| *n > 0);
        Self {
            op_type: some_text(m.op_type),
            op_name: some_text(m.op_name),
            source_file: some_text(m.source_file),
            source_line: positive(m.source_line),
            source_end_line: positive(m.source_end_line),
            source_column: positive(m.source_column),
            source_end_column: positive(m.source_end_column),
            stack_frame_id: positive(m.stack_frame_id),
            deduplicated_name: some_text(m.deduplicated_name),
            scheduling_name: some_text(m.scheduling_name),
        }
    }
}

fn no_shape() -> Shape {
    Shape::array(crate::ElementType::Unknown(0), &[])
}

fn fusion_kind(kind: String) -> FusionKind {
    match kind.as_str() {
        "kLoop" => FusionKind::Loop,
        "kInput" => FusionKind::Input,
        "kOutput" => FusionKind::Output,
        "kCustom" => FusionKind::Custom,
        _ => FusionKind::Other(kind),
    }
}

fn some_text(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}
