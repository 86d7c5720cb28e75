//! Why a copy may be there.

use haloscope_hlo::{FusionKind, Instruction, InstructionIdx, Module, Opcode};

use super::{Copied, CopyKind, Order, changes_layout};
use crate::value_flow::{Origin, origin, readers};
use haloscope_time::executions::Executions;

/// What a copy is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// The value must not be overwritten: it lies in a parameter that the caller has not donated.
    NotDonated,
    /// The value must not be overwritten: somebody reads it afterwards.
    ReadLater,
    /// A constant must not be overwritten.
    Constant,
    /// The value is, or becomes, an element of a loop's state, which has a place of its own.
    LoopState,
    /// An output must lie in the memory of a donated parameter.
    OutputAlias,
    /// An output needs memory of its own.
    Output,
    /// Somebody writes over the copy, and nothing in the graph says why not over the value itself.
    InPlace,
    /// The layout changes.
    Layout,
    /// The value moves into the core's own memory.
    Prefetch,
    /// The value moves from the core's own memory.
    WriteBack,
    /// The value moves to or from the host's memory.
    HostOffload,
    /// The value moves between other memories.
    MemoryMove,
    /// The graph does not say.
    Untold,
}

impl Why {
    /// Its name in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::NotDonated => "parameter not donated",
            Self::ReadLater => "value read later",
            Self::Constant => "constant overwritten",
            Self::LoopState => "loop state",
            Self::OutputAlias => "output aliases an input",
            Self::Output => "entry output",
            Self::InPlace => "written in place",
            Self::Layout => "layout change",
            Self::Prefetch => "prefetch",
            Self::WriteBack => "write back",
            Self::HostOffload => "host offload",
            Self::MemoryMove => "memory move",
            Self::Untold => "not told",
        }
    }

    /// Whether the copy only keeps one value from another's writes: nothing about the value changes.
    #[must_use]
    pub fn is_defensive(self) -> bool {
        matches!(
            self,
            Self::NotDonated
                | Self::ReadLater
                | Self::Constant
                | Self::LoopState
                | Self::OutputAlias
                | Self::Output
                | Self::InPlace
        )
    }
}

/// How a reason is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// The graph says so.
    Derived,
    /// It fits, and the graph does not prove it.
    Guess,
}

impl Basis {
    /// Its name in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Derived => "derived",
            Self::Guess => "guess",
        }
    }
}

/// Why a copy may be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// What it is for.
    pub why: Why,
    /// What in the graph says so.
    pub detail: String,
    /// How it is known.
    pub basis: Basis,
    /// Who reads the value itself after the copy: as long as it does, donating the value does not take the copy away.
    pub late_reader: Option<LateReader>,
}

/// An op that reads a value after a copy of it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LateReader {
    /// The op.
    pub instruction: InstructionIdx,
    /// Whether it makes, for itself, a value that differs from this one in a part: what others write over the copy.
    pub updates: bool,
}

/// TPU's memory spaces, as in layouts.
const VMEM: i64 = 1;
const HOST: i64 = 5;

fn derived(why: Why, detail: String) -> Reason {
    Reason { why, detail, basis: Basis::Derived, late_reader: None }
}

fn guess(why: Why, detail: String) -> Reason {
    Reason { why, detail, basis: Basis::Guess, late_reader: None }
}

/// The reason for a copy.
pub(super) fn why(module: &Module, executions: &Executions, order: &Order, copy: &Copied<'_, '_>) -> Reason {
    if let Some(reason) = of_shapes(module, copy) {
        return reason;
    }
    if copy.kind == CopyKind::Fused {
        return guess(Why::Untold, "part of a fusion; changes neither layout nor memory".to_owned());
    }
    let asker = Asker { module, executions, order, copy, from: origin(module, copy.source) };
    asker.of_readers()
}

/// What the shapes say: another memory, another layout.
fn of_shapes(module: &Module, copy: &Copied<'_, '_>) -> Option<Reason> {
    let (from, to) = (copy.from.memory_space(), copy.to.memory_space());
    let relayout = changes_layout(copy.from, copy.to);
    let detail = |text: &str| if relayout { format!("{text}, with another layout") } else { text.to_owned() };
    if from != to {
        let (why, text) = match (from, to) {
            (HOST, _) => (Why::HostOffload, "from the host's memory".to_owned()),
            (_, HOST) => (Why::HostOffload, "to the host's memory".to_owned()),
            (0, VMEM) if copy.hlo.attributes().cross_program_prefetch_index.is_some() => {
                (Why::Prefetch, "HBM to VMEM, before the program starts".to_owned())
            }
            (0, VMEM) => (Why::Prefetch, "HBM to VMEM".to_owned()),
            (VMEM, 0) => (Why::WriteBack, "VMEM to HBM".to_owned()),
            _ => (Why::MemoryMove, format!("memory space {from} to {to}")),
        };
        return Some(derived(why, detail(&text)));
    }
    if !relayout {
        return None;
    }
    let from = origin(module, copy.source);
    let made_by = module.instruction(from.instruction);
    let is_argument = made_by.opcode == Opcode::Parameter && made_by.computation == module.entry();
    let is_output = copy.readers.iter().any(|reader| is_result(module, reader.instruction));
    let is_state = copy.readers.iter().any(|reader| loop_of(module, reader.instruction).is_some());
    Some(derived(
        Why::Layout,
        match (is_argument, is_output, is_state) {
            (true, _, true) => "an argument arrives in another layout than the loop keeps it in".to_owned(),
            (true, ..) => "an argument arrives in another layout".to_owned(),
            (_, true, _) => "an output leaves in another layout".to_owned(),
            (.., true) => "a loop keeps the value in another layout".to_owned(),
            _ if made_by.opcode == Opcode::While => "a loop leaves the value in another layout".to_owned(),
            _ => format!("between {} and its reader", made_by.name),
        },
    ))
}

/// The loop that a tuple is the first state of.
fn loop_of(module: &Module, tuple: InstructionIdx) -> Option<InstructionIdx> {
    if module.instruction(tuple).opcode != Opcode::Tuple {
        return None;
    }
    module.users(tuple).iter().copied().find(|user| module.instruction(*user).opcode == Opcode::While)
}

/// Whether an instruction is what the entry returns.
fn is_result(module: &Module, index: InstructionIdx) -> bool {
    module.computation(module.entry()).root == index
}

struct Asker<'a, 'm> {
    module: &'m Module,
    executions: &'a Executions,
    order: &'a Order,
    copy: &'a Copied<'a, 'm>,
    /// What makes the value.
    from: Origin,
}

impl<'m> Asker<'_, 'm> {
    fn name(&self, index: InstructionIdx) -> &'m str {
        &self.module.instruction(index).name
    }

    /// The reason by what the copy's readers do with it, the one with the best evidence first.
    fn of_readers(&self) -> Reason {
        let module = self.module;
        for reader in self.copy.readers {
            let hlo = module.instruction(reader.instruction);
            let what = if let Some(target) = writes_over(module, hlo, reader.operand) {
                format!("{} writes its result over it ({target})", hlo.name)
            } else if let Some(user) = loop_of(module, reader.instruction) {
                format!("loop {} updates it in place", self.name(user))
            } else {
                continue;
            };
            return self.kept().map_or_else(
                || {
                    guess(
                        Why::InPlace,
                        format!("{what}; the graph does not say why it is not written over the value itself"),
                    )
                },
                |kept| Reason { detail: format!("{what}; {}", kept.detail), ..kept },
            );
        }
        for reader in self.copy.readers {
            let hlo = module.instruction(reader.instruction);
            let is_root = module.computation(hlo.computation).root == reader.instruction;
            if is_root && hlo.opcode == Opcode::Tuple {
                return self.of_root(reader.operand);
            }
        }
        let root = module.computation(self.copy.hlo.computation).root;
        if root == self.copy.index {
            return self.of_root(0);
        }
        let again = self.copy.readers.iter().map(|reader| module.instruction(reader.instruction));
        let again = again
            .filter(|reader| reader.opcode == Opcode::Copy)
            .find(|reader| !changes_layout(self.copy.to, &reader.shape));
        if let Some(again) =
            again.filter(|_| self.entry_parameter().is_some_and(|number| self.is_donated(number)))
        {
            let from = self.name(self.from.instruction);
            return guess(
                Why::ReadLater,
                format!("{from} is donated, and {} copies it once more", again.name),
            );
        }
        self.kept().map_or_else(
            || guess(Why::Untold, format!("no reader writes over it: {}", self.readers_in_words())),
            |kept| {
                let readers = self.readers_in_words();
                Reason {
                    detail: format!("{}; the copy goes to {readers}", kept.detail),
                    basis: Basis::Guess,
                    ..kept
                }
            },
        )
    }

    fn readers_in_words(&self) -> String {
        let names: Vec<&str> =
            self.copy.readers.iter().take(3).map(|reader| self.name(reader.instruction)).collect();
        if names.is_empty() { "nobody".to_owned() } else { names.join(", ") }
    }

    /// The copy is an element of what its computation returns.
    fn of_root(&self, element: usize) -> Reason {
        let module = self.module;
        let computation = self.copy.hlo.computation;
        if computation == module.entry() {
            return self.of_output(element);
        }
        let caller = self.executions.caller(computation).map(|caller| module.instruction(caller));
        if caller.is_none_or(|caller| caller.opcode != Opcode::While) {
            return self
                .kept()
                .unwrap_or_else(|| guess(Why::Untold, "what the computation returns".to_owned()));
        }
        let state = i64::try_from(element).unwrap_or(i64::MAX);
        if let Some(other) = self.state_index().filter(|other| *other != state) {
            let detail = format!("element {state} of the loop's state takes the value of element {other}");
            return derived(Why::LoopState, detail);
        }
        let former = readers_of_state(module, computation, state);
        let made = self.order.at(self.from.instruction);
        let late =
            former.into_iter().find(|reader| *reader != self.copy.index && self.order.at(*reader) > made);
        if let Some(late) = late.filter(|_| self.order.is_scheduled) {
            let detail = format!(
                "element {state} of the loop's state: {} reads the former value after the new one is made",
                self.name(late)
            );
            return derived(Why::LoopState, detail);
        }
        self.kept().unwrap_or_else(|| {
            guess(Why::LoopState, format!("element {state} of the loop's state has its own place"))
        })
    }

    /// Which element of a loop's state the value is, inside its body.
    fn state_index(&self) -> Option<i64> {
        let made_by = self.module.instruction(self.from.instruction);
        let is_state =
            made_by.opcode == Opcode::Parameter && made_by.computation == self.copy.hlo.computation;
        if is_state { self.from.path.first().copied() } else { None }
    }

    /// The copy is an output of the program.
    fn of_output(&self, element: usize) -> Reason {
        let module = self.module;
        let is_tuple = module.instruction(module.computation(module.entry()).root).opcode == Opcode::Tuple;
        let path: Vec<i64> = if is_tuple { i64::try_from(element).into_iter().collect() } else { Vec::new() };
        let alias = module.input_output_aliases.iter().find(|alias| alias.output_index == path);
        let made_by = module.instruction(self.from.instruction);
        match alias {
            Some(alias) => derived(
                Why::OutputAlias,
                format!(
                    "output {element} must lie in the memory of parameter {}; {} makes it elsewhere",
                    alias.parameter, made_by.name
                ),
            ),
            None if self.entry_parameter().is_some() => derived(
                Why::NotDonated,
                format!("{} is returned as output {element} and is not donated for it", made_by.name),
            ),
            None if made_by.opcode == Opcode::Constant => {
                derived(Why::Constant, format!("a constant is returned as output {element}"))
            }
            None => self.kept().unwrap_or_else(|| {
                guess(
                    Why::Output,
                    format!("output {element} has its own memory; {} makes it elsewhere", made_by.name),
                )
            }),
        }
    }

    /// The parameter of the entry that the value is.
    fn entry_parameter(&self) -> Option<i64> {
        let made_by = self.module.instruction(self.from.instruction);
        let is_entry = made_by.opcode == Opcode::Parameter && made_by.computation == self.module.entry();
        if is_entry { made_by.attributes().parameter_number } else { None }
    }

    fn is_donated(&self, number: i64) -> bool {
        let path = &self.from.path;
        let aliased = |alias: &haloscope_hlo::InputOutputAlias| {
            alias.parameter == number && alias.parameter_index == *path
        };
        self.module.input_output_aliases.iter().any(aliased)
            || self.module.buffer_donors.iter().any(|donor| donor.0 == number && donor.1 == *path)
    }

    /// Why the value itself must stay.
    fn kept(&self) -> Option<Reason> {
        let module = self.module;
        let made_by = module.instruction(self.from.instruction);
        if let Some(number) = self.entry_parameter()
            && !self.is_donated(number)
        {
            let called = made_by.op_name().map(|name| format!(" ({name})")).unwrap_or_default();
            let late_reader = self.late_reader().filter(|_| self.order.is_scheduled);
            let reads = |late: LateReader| format!(", and {} reads it later", self.name(late.instruction));
            let late = late_reader.map_or_else(String::new, reads);
            let detail = format!("parameter {number}{called} is not donated{late}");
            return Some(Reason { late_reader, ..derived(Why::NotDonated, detail) });
        }
        if made_by.opcode == Opcode::Constant {
            return Some(derived(Why::Constant, format!("{} is a constant", made_by.name)));
        }
        let late = self.late_reader()?;
        let detail = format!("{} reads {} as well", self.name(late.instruction), self.name(self.copy.source));
        let reason = if self.order.is_scheduled {
            derived(Why::ReadLater, format!("{detail}, and later"))
        } else {
            guess(Why::ReadLater, detail)
        };
        Some(Reason { late_reader: Some(late), ..reason })
    }

    /// Who else reads the value, after the copy is made.
    fn late_reader(&self) -> Option<LateReader> {
        let module = self.module;
        let own = self.order.at(self.copy.index);
        let is_other = |other: &InstructionIdx| {
            *other != self.copy.index
                && module.instruction(*other).opcode != Opcode::Tuple
                && self.order.at(*other) > own
        };
        let late =
            readers(module, self.copy.source).into_iter().find(|reader| is_other(&reader.instruction))?;
        let updates = updates_inside(module, late.instruction, late.operand);
        Some(LateReader { instruction: late.instruction, updates })
    }
}

/// Whether a fusion makes a value inside of it that is its operand with a part written anew.
fn updates_inside(module: &Module, index: InstructionIdx, operand: usize) -> bool {
    let hlo = module.instruction(index);
    let body = hlo.called_computations.first().filter(|_| hlo.opcode == Opcode::Fusion);
    let Some(body) = body.map(|body| module.computation(*body)) else { return false };
    let Some(parameter) = body.parameters().get(operand) else { return false };
    body.instructions().map(|inner| module.instruction(inner)).any(|inner| {
        let of = inner.operands.first().map(|first| origin(module, *first).instruction);
        matches!(inner.opcode, Opcode::DynamicUpdateSlice | Opcode::Scatter) && of == Some(*parameter)
    })
}

/// How an instruction writes its result over an operand, if it does.
fn writes_over(module: &Module, hlo: &Instruction, operand: usize) -> Option<String> {
    let at = i64::try_from(operand).ok()?;
    let is_aliased = hlo.attributes().output_operand_aliasing.iter().any(|alias| alias.operand == at);
    match hlo.opcode {
        Opcode::CustomCall if is_aliased => {
            let target = hlo.attributes().custom_call_target.as_deref().unwrap_or("no target");
            Some(format!("custom call {target}, output_to_operand_aliasing"))
        }
        Opcode::Fusion if is_aliased => Some("fusion, output_to_operand_aliasing".to_owned()),
        Opcode::DynamicUpdateSlice if operand == 0 => Some("dynamic-update-slice".to_owned()),
        Opcode::Scatter if operand == 0 => Some("scatter".to_owned()),
        Opcode::Fusion if hlo.attributes().fusion_kind != Some(FusionKind::Input) => {
            let body = module.computation(*hlo.called_computations.first()?);
            let parameter = *body.parameters().get(operand)?;
            let root = module.instruction(origin(module, body.root).instruction);
            let updates = matches!(root.opcode, Opcode::DynamicUpdateSlice | Opcode::Scatter)
                && origin(module, *root.operands.first()?).instruction == parameter;
            updates.then(|| format!("fusion of a {}", root.opcode_name()))
        }
        _ => None,
    }
}

/// Who reads an element of a loop's state inside the loop's body.
fn readers_of_state(
    module: &Module,
    body: haloscope_hlo::ComputationIdx,
    element: i64,
) -> Vec<InstructionIdx> {
    let state = module.computation(body).parameters().first().copied();
    let takes = state.map_or(&[][..], |state| module.users(state)).iter().filter(|user| {
        let hlo = module.instruction(**user);
        hlo.opcode == Opcode::GetTupleElement && hlo.attributes().tuple_index == Some(element)
    });
    takes.flat_map(|take| readers(module, *take)).map(|reader| reader.instruction).collect()
}
