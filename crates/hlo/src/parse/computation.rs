//! Computations and their instructions.

use std::collections::{BTreeSet, HashMap};

use super::{
    attributes::{self, Mentions},
    cursor::{Cursor, Parsed, Unexpected},
    literal, shape,
};
use crate::{
    element::ElementType,
    opcode::Opcode,
    proto::{self, HloInstruction},
};

/// All that has been read of a module.
#[derive(Default)]
pub(super) struct Computations<'a> {
    pub(super) read: Vec<proto::HloComputation>,
    /// Which of them is marked as the one that runs.
    pub(super) entry: Option<usize>,
    /// Attributes whose keys are not known.
    pub(super) unread: BTreeSet<&'a str>,
    /// Computations by name.
    by_name: HashMap<&'a str, i64>,
    /// Who calls which computation: places of caller in the tables, names, places in the text.
    calls: Vec<Call<'a>>,
    last_instruction_id: i64,
}

struct Call<'a> {
    computation: usize,
    instruction: usize,
    name: &'a str,
    place: usize,
}

/// The part of a computation that has been read: instructions, and their ids by name.
#[derive(Default)]
struct Body<'a> {
    instructions: Vec<HloInstruction>,
    by_name: HashMap<&'a str, usize>,
    root: Option<usize>,
    calls: Vec<(usize, &'a str, usize)>,
    predecessors: Vec<(usize, &'a str, usize)>,
}

impl<'a> Computations<'a> {
    /// A computation from `ENTRY` or its name to the brace that closes it.
    pub(super) fn computation(&mut self, cursor: &mut Cursor<'a>) -> Parsed<()> {
        let before = *cursor;
        let is_entry = cursor.eat_word("ENTRY");
        let place = cursor.place();
        let name = cursor.name("the name of a computation")?;
        program_shape(cursor)?;
        cursor.expect("{")?;
        let mut body = Body::default();
        while !cursor.eat("}") {
            self.instruction(cursor, &mut body)?;
        }
        if body.instructions.is_empty() {
            return Err(Unexpected::new(place, "a computation with instructions"));
        }
        body.link()?;
        let mut execution_thread = String::new();
        while cursor.eat(",") {
            match cursor.key() {
                Some("execution_thread") => execution_thread = cursor.string()?,
                Some(key) => {
                    self.unread.insert(key);
                    cursor.pass_value()?;
                }
                None => return cursor.unexpected("an attribute"),
            }
        }
        let root = body.root.unwrap_or(body.instructions.len() - 1);
        let position = self.read.len();
        let id = position as i64 + 1;
        if self.by_name.insert(name, id).is_some() {
            return Err(Unexpected::new(place, "a name that no other computation has"));
        }
        if is_entry && self.entry.replace(position).is_some() {
            let mut before = before;
            return before.unexpected("one ENTRY only");
        }
        self.calls.extend(body.calls.into_iter().map(|(instruction, name, place)| Call {
            computation: position,
            instruction,
            name,
            place,
        }));
        self.read.push(proto::HloComputation {
            name: name.to_owned(),
            id,
            root_id: body.instructions.get(root).map_or(0, |hlo| hlo.id),
            instructions: body.instructions,
            is_fusion_computation: false,
            execution_thread,
        });
        Ok(())
    }

    fn next_id(&mut self) -> i64 {
        self.last_instruction_id += 1;
        self.last_instruction_id
    }

    fn instruction(&mut self, cursor: &mut Cursor<'a>, body: &mut Body<'a>) -> Parsed<()> {
        let place = cursor.place();
        let is_root = cursor.peek_word() == "ROOT" && {
            // An instruction might be called so.
            let mut ahead = *cursor;
            ahead.eat_word("ROOT") && !ahead.eat("=")
        };
        if is_root {
            cursor.eat_word("ROOT");
        }
        let name_place = cursor.place();
        let name = cursor.name("the name of an instruction, or \"}\"")?;
        cursor.expect("=")?;
        let mut hlo = HloInstruction {
            name: name.to_owned(),
            id: self.next_id(),
            shape: Some(shape::shape(cursor)?),
            ..HloInstruction::default()
        };
        let word = cursor.word("an opcode")?;
        let (opcode, wrapped) = opcode(word);
        opcode.name().unwrap_or(word).clone_into(&mut hlo.opcode);
        body.operands(cursor, opcode, &mut hlo)?;
        defaults(opcode, &mut hlo);
        let mut mentions = Mentions::default();
        let mut inner = wrapped.filter(|_| opcode == Opcode::AsyncStart).map(|wrapped| {
            let mut inner = HloInstruction::default();
            defaults(wrapped, &mut inner);
            inner
        });
        while cursor.eat(",") {
            let Some(key) = cursor.key() else { return cursor.unexpected("an attribute") };
            let read = match (&mut inner, wrapped) {
                // What says how the work is done belongs to the instruction that is run.
                (Some(inner), Some(wrapped)) if !is_of_start(key, wrapped) => {
                    attributes::read(cursor, key, wrapped, inner, &mut mentions)?
                }
                _ => attributes::read(cursor, key, opcode, &mut hlo, &mut mentions)?,
            };
            if !read {
                self.unread.insert(key);
                cursor.pass_value()?;
            }
        }
        let index = body.instructions.len();
        mentions.called.sort_by_key(|(position, ..)| *position);
        if let (Some(inner), Some(wrapped)) = (inner, wrapped) {
            let called = self.wrap(&mut hlo, inner, wrapped, body, mentions.called);
            hlo.called_computation_ids = vec![called];
        } else {
            body.calls.extend(mentions.called.into_iter().map(|(_, name, place)| (index, name, place)));
        }
        body.predecessors.extend(mentions.predecessors.into_iter().map(|(name, place)| (index, name, place)));
        if body.by_name.insert(name, index).is_some() {
            return Err(Unexpected::new(
                name_place,
                "a name that no other instruction of the computation has",
            ));
        }
        if is_root && body.root.replace(index).is_some() {
            return Err(Unexpected::new(place, "one ROOT only"));
        }
        body.instructions.push(hlo);
        Ok(())
    }

    /// Makes the computation that an asynchronous start stands for: parameters, and the one instruction that is run.
    fn wrap(
        &mut self,
        start: &mut HloInstruction,
        mut inner: HloInstruction,
        wrapped: Opcode,
        body: &Body<'a>,
        called: Vec<(usize, &'a str, usize)>,
    ) -> i64 {
        let mut instructions = Vec::with_capacity(start.operand_ids.len() + 1);
        for (number, operand) in (0i64..).zip(&start.operand_ids) {
            // Ids within a computation follow one another, but for those of computations made here.
            let operand = body.instructions.binary_search_by_key(operand, |hlo| hlo.id).ok();
            let operand = operand.and_then(|position| body.instructions.get(position));
            let suffix = if number > 0 { format!(".{number}") } else { String::new() };
            instructions.push(HloInstruction {
                name: format!("async_param{suffix}"),
                opcode: "parameter".to_owned(),
                shape: operand.and_then(|operand| operand.shape.clone()),
                parameter_number: number,
                id: self.next_id(),
                ..HloInstruction::default()
            });
        }
        inner.name = "async_op".to_owned();
        inner.id = self.next_id();
        wrapped.name().unwrap_or_default().clone_into(&mut inner.opcode);
        inner.operand_ids = instructions.iter().map(|parameter| parameter.id).collect();
        inner.shape = start.shape.as_ref().and_then(|shape| shape.tuple_shapes.get(1)).cloned();
        inner.metadata = start.metadata.clone();
        inner.backend_config = start.backend_config.clone();
        let position = self.read.len();
        let id = position as i64 + 1;
        let (root_id, index) = (inner.id, instructions.len());
        instructions.push(inner);
        self.calls.extend(called.into_iter().map(|(_, name, place)| Call {
            computation: position,
            instruction: index,
            name,
            place,
        }));
        self.read.push(proto::HloComputation {
            name: if position > 0 { format!("async_wrapped.{position}") } else { "async_wrapped".to_owned() },
            id,
            root_id,
            instructions,
            is_fusion_computation: false,
            execution_thread: start.async_execution_thread.clone(),
        });
        id
    }

    /// Looks up the computations that are called, once all have been read.
    pub(super) fn link(&mut self) -> Parsed<()> {
        for call in &self.calls {
            let Some(&id) = self.by_name.get(call.name) else {
                return Err(Unexpected::new(call.place, "the name of a computation of this module"));
            };
            let caller = self.read.get_mut(call.computation);
            if let Some(hlo) = caller.and_then(|c| c.instructions.get_mut(call.instruction)) {
                hlo.called_computation_ids.push(id);
            }
        }
        Ok(())
    }
}

impl<'a> Body<'a> {
    /// What stands between the round brackets: operands, a parameter's number or a constant.
    fn operands(&mut self, cursor: &mut Cursor<'a>, opcode: Opcode, hlo: &mut HloInstruction) -> Parsed<()> {
        cursor.expect("(")?;
        match (opcode, &hlo.shape) {
            (Opcode::Parameter, _) => {
                hlo.parameter_number = cursor.number::<u32>("the number of a parameter")?.into();
                return cursor.expect(")");
            }
            (Opcode::Constant, Some(shape)) => {
                hlo.literal = literal::literal(cursor, shape)?;
                return cursor.expect(")");
            }
            _ => {}
        }
        while !cursor.eat(")") {
            // A shape may stand before the name.
            let mut ahead = *cursor;
            let first = ahead.peek();
            let is_shape = first == Some(b'(')
                || first != Some(b'%') && {
                    ahead.word("").is_ok() && (ahead.is_adjacent(b'[') || ahead.is_adjacent(b'('))
                };
            if is_shape {
                shape::shape(cursor)?;
            }
            let place = cursor.place();
            let name = cursor.name("an operand, or \")\"")?;
            let Some(operand) = self.by_name.get(name).and_then(|index| self.instructions.get(*index)) else {
                return Err(Unexpected::new(place, "the name of an instruction above in this computation"));
            };
            hlo.operand_ids.push(operand.id);
            cursor.eat(",");
        }
        Ok(())
    }

    /// Looks up the instructions that must finish first.
    fn link(&mut self) -> Parsed<()> {
        for (index, name, place) in &self.predecessors {
            let predecessor = self.by_name.get(name).and_then(|index| self.instructions.get(*index));
            let Some(id) = predecessor.map(|hlo| hlo.id) else {
                return Err(Unexpected::new(*place, "the name of an instruction of this computation"));
            };
            if let Some(hlo) = self.instructions.get_mut(*index) {
                hlo.control_predecessor_ids.push(id);
            }
        }
        Ok(())
    }
}

/// The shapes behind a computation's name, which its instructions say again.
fn program_shape(cursor: &mut Cursor<'_>) -> Parsed<()> {
    if cursor.peek() != Some(b'(') {
        return Ok(());
    }
    cursor.list("(", ")", |cursor| {
        cursor.name("the name of a parameter")?;
        cursor.expect(":")?;
        shape::shape(cursor)?;
        Ok(())
    })?;
    cursor.expect("->")?;
    shape::shape(cursor)?;
    Ok(())
}

/// The opcode of a word, and for a word such as `custom-call-start` what is run asynchronously.
fn opcode(word: &str) -> (Opcode, Option<Opcode>) {
    let opcode = Opcode::from_name(word);
    if opcode != Opcode::Other {
        return (opcode, None);
    }
    let phases =
        [("-start", Opcode::AsyncStart), ("-update", Opcode::AsyncUpdate), ("-done", Opcode::AsyncDone)];
    for (suffix, phase) in phases {
        let wrapped = word.strip_suffix(suffix).map(Opcode::from_name);
        if let Some(wrapped) = wrapped.filter(|wrapped| *wrapped != Opcode::Other) {
            return (phase, Some(wrapped));
        }
    }
    (Opcode::Other, None)
}

/// What goes without saying.
fn defaults(opcode: Opcode, hlo: &mut HloInstruction) {
    if opcode == Opcode::CustomCall {
        hlo.custom_call_api_version = 1;
    }
}

/// Whether an attribute of `custom-call-start` and the like is that of the start rather than of what it runs.
fn is_of_start(key: &str, wrapped: Opcode) -> bool {
    match key {
        "async_execution_thread"
        | "sharding"
        | "frontend_attributes"
        | "metadata"
        | "backend_config"
        | "control-predecessors"
        | "statistics"
        | "origin" => true,
        "output_to_operand_aliasing" => !matches!(wrapped, Opcode::CustomCall | Opcode::Fusion),
        _ => false,
    }
}

/// Marks the bodies of fusions, as newer XLA does.
pub(super) fn mark_fusions(computations: &mut [proto::HloComputation]) {
    let is_fusion = |hlo: &&HloInstruction| hlo.opcode == "fusion";
    let called: Vec<i64> = computations
        .iter()
        .flat_map(|computation| computation.instructions.iter().filter(is_fusion))
        .flat_map(|fusion| fusion.called_computation_ids.iter().copied())
        .collect();
    for id in called {
        if let Some(body) = usize::try_from(id - 1).ok().and_then(|at| computations.get_mut(at)) {
            body.is_fusion_computation = true;
        }
    }
}

/// The shape of the entry's parameters and result as its instructions have them.
pub(super) fn program_shape_of(computation: &proto::HloComputation) -> proto::ProgramShape {
    let mut parameters: Vec<&HloInstruction> =
        computation.instructions.iter().filter(|hlo| hlo.opcode == "parameter").collect();
    parameters.sort_by_key(|hlo| hlo.parameter_number);
    let root = computation.instructions.iter().find(|hlo| hlo.id == computation.root_id);
    let nothing = || proto::Shape { element_type: ElementType::Tuple.number(), ..proto::Shape::default() };
    proto::ProgramShape {
        parameters: parameters.into_iter().map(|hlo| hlo.shape.clone().unwrap_or_else(nothing)).collect(),
        result: root.and_then(|hlo| hlo.shape.clone()),
    }
}
