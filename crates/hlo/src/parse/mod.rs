//! HLO text, as XLA prints it, back into a module.
//!
//! [`Module::parse`] reads what `HloModule::ToString` and dumps (`--xla_dump_to`) hold, in the long form and in the short
//! one, with or without layouts, source positions, constants and schedule. It reads into the messages of the wire format,
//! from which a module is made as from a proto, so that both ways end in the same place.
//!
//! What text does not say is not there afterwards: ids are numbers in the order of the text, there is no buffer assignment,
//! and a constant that the compiler left out (`{...}`) has no literal. The instructions of a scheduled module are in the
//! order of their schedule. The computation behind an asynchronous instruction that is written as one line
//! (`custom-call-start`) is made up. Attributes that this version does not know are passed over and named in
//! [`Module::unread_attributes`].

mod attributes;
mod computation;
mod cursor;
mod dims;
mod literal;
mod metadata;
mod shape;
mod sharding;

use computation::Computations;
use cursor::{Cursor, Parsed};

use crate::{
    decode::{self, Given},
    error::Error,
    module::Module,
    proto,
    replica_groups::{ReplicaGroups, of_instruction},
    weight::{self, Room},
};

impl Module {
    /// Reads HLO text.
    ///
    /// # Errors
    /// Where the text is not an HLO module, with line and column of the first word that cannot be read and what was
    /// expected there.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::parse_within(text, Room::of(text.len()))
    }

    pub(crate) fn parse_within(text: &str, room: Room) -> Result<Self, Error> {
        let mut more = More::default();
        weight::check_text(text, room)?;
        let (proto, computations) =
            module(&mut Cursor::new(text), &mut more).map_err(|error| error.into_error(text))?;
        let module = decode::from_proto("HLO text", proto, computations, None)?;
        Ok(Self {
            configuration: more.configuration,
            unread_attributes: more.unread,
            is_in_text_order: true,
            ..module
        })
    }

    /// Whether bytes look like HLO text: comments and white space, then `HloModule`.
    #[must_use]
    pub fn is_text(bytes: &[u8]) -> bool {
        Cursor::new(head(bytes)).eat_word("HloModule")
    }

    /// The name behind `HloModule`.
    pub(crate) fn name_in_text(bytes: &[u8]) -> Option<String> {
        let mut cursor = Cursor::new(head(bytes));
        cursor.eat_word("HloModule").then(|| cursor.name("").ok().map(str::to_owned))?
    }
}

impl ReplicaGroups {
    /// Reads groups as HLO text writes them behind `replica_groups=`, in any of the three forms; what follows is left alone.
    ///
    /// # Errors
    /// Where it is none of them, with the place and what was expected there.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut hlo = replica_groups(text)?;
        Ok(of_instruction(&mut hlo).unwrap_or(Self::Lists(Vec::new())))
    }
}

/// The groups of a collective as they stand behind `replica_groups=`, in the field of their form.
fn replica_groups(text: &str) -> Result<proto::HloInstruction, Error> {
    let mut hlo = proto::HloInstruction::default();
    sharding::replica_groups(&mut Cursor::new(text), &mut hlo).map_err(|error| error.into_error(text))?;
    Ok(hlo)
}

/// The start of a text, as far as it is text.
fn head(bytes: &[u8]) -> &str {
    const HEAD: usize = 64 << 10;
    let head = &bytes[..bytes.len().min(HEAD)];
    match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default(),
    }
}

/// What has no place in the messages of the wire format.
#[derive(Default)]
struct More {
    configuration: Vec<(String, String)>,
    unread: Vec<String>,
}

fn module(cursor: &mut Cursor<'_>, more: &mut More) -> Parsed<(proto::HloModule, Vec<Given>)> {
    if !cursor.eat_word("HloModule") {
        return cursor.unexpected("HloModule");
    }
    let mut module =
        proto::HloModule { name: cursor.name("the name of a module")?.to_owned(), ..Default::default() };
    let mut computations = Computations::default();
    let mut is_scheduled = false;
    while cursor.eat(",") {
        let Some(key) = cursor.key() else { return cursor.unexpected("an attribute of the module") };
        match key {
            "is_scheduled" => is_scheduled = cursor.boolean()?,
            "input_output_alias" => module.input_output_alias = Some(aliases(cursor)?),
            "buffer_donor" => module.buffer_donor = Some(donors(cursor)?),
            "entry_computation_layout" => module.host_program_shape = Some(entry_layout(cursor)?),
            "frontend_attributes" => {
                let map = attributes::frontend_attributes(cursor)?;
                module.frontend_attributes = Some(proto::FrontendAttributes { map });
            }
            // How the module is compiled and run, which its instructions show.
            "replica_count"
            | "num_partitions"
            | "alias_passthrough_params"
            | "allow_spmd_sharding_propagation_to_parameters"
            | "allow_spmd_sharding_propagation_to_output" => {
                more.configuration.push((key.to_owned(), cursor.value()?.to_owned()));
            }
            _ => {
                computations.unread.insert(key);
                cursor.pass_value()?;
            }
        }
    }
    module.stack_frame_index = metadata::stack_frames(cursor)?;
    while cursor.peek().is_some() || computations.read.is_empty() {
        computations.computation(cursor)?;
    }
    computations.link()?;
    // Where none is marked, the last one runs.
    let entry = computations.entry.unwrap_or(computations.read.len() - 1);
    let mut read = computations.read;
    computation::mark_fusions(&mut read);
    if let Some(entry) = read.get(entry) {
        module.entry_computation_id = entry.id;
        module.entry_computation_name.clone_from(&entry.name);
        if module.host_program_shape.is_none() {
            module.host_program_shape = Some(computation::program_shape_of(entry));
        }
    }
    module.schedule = is_scheduled.then(|| schedule(&read));
    more.unread.extend(computations.unread.into_iter().map(str::to_owned));
    Ok((module, read.into_iter().map(Given::Read).collect()))
}

/// The order of the text, in all computations that run as such.
fn schedule(computations: &[proto::HloComputation]) -> proto::HloSchedule {
    let sequence = |computation: &proto::HloComputation| proto::InstructionSequence {
        instruction_ids: computation.instructions.iter().map(|hlo| hlo.id).collect(),
    };
    let scheduled = computations.iter().filter(|computation| !computation.is_fusion_computation);
    proto::HloSchedule { sequences: scheduled.map(|c| (c.id, sequence(c))).collect() }
}

/// `{ {0}: (1, {}, may-alias), {1}: (2, {0}) }`.
fn aliases(cursor: &mut Cursor<'_>) -> Parsed<proto::InputOutputAlias> {
    let mut entries = Vec::new();
    cursor.list("{", "}", |cursor| {
        let output_shape_index = cursor.integers()?;
        cursor.expect(":")?;
        cursor.expect("(")?;
        let parameter_number = cursor.integer()?;
        cursor.expect(",")?;
        let parameter_shape_index = cursor.integers()?;
        let mut kind = 1;
        if cursor.eat(",") {
            kind = 1 + cursor.one_of(&["may-alias", "must-alias"], "may-alias or must-alias")?;
        }
        cursor.expect(")")?;
        entries.push(proto::AliasEntry { output_shape_index, parameter_number, parameter_shape_index, kind });
        Ok(())
    })?;
    Ok(proto::InputOutputAlias { entries })
}

/// `{ (0, {}), (1, {2}) }`.
fn donors(cursor: &mut Cursor<'_>) -> Parsed<proto::BufferDonors> {
    let mut entries = Vec::new();
    cursor.list("{", "}", |cursor| {
        cursor.expect("(")?;
        let parameter_number = cursor.integer()?;
        cursor.expect(",")?;
        let parameter_shape_index = cursor.integers()?;
        cursor.expect(")")?;
        entries.push(proto::BufferDonorEntry { parameter_number, parameter_shape_index });
        Ok(())
    })?;
    Ok(proto::BufferDonors { entries })
}

/// `{(f32[2]{0}, s32[])->f32[2]{0}}`.
fn entry_layout(cursor: &mut Cursor<'_>) -> Parsed<proto::ProgramShape> {
    let mut parameters = Vec::new();
    cursor.expect("{")?;
    cursor.list("(", ")", |cursor| {
        parameters.push(shape::shape(cursor)?);
        Ok(())
    })?;
    cursor.expect("->")?;
    let result = Some(shape::shape(cursor)?);
    cursor.expect("}")?;
    Ok(proto::ProgramShape { parameters, result })
}
