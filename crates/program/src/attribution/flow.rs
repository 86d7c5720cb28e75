//! Where the values of entry parameters go: through copies, tuples and loops, so that memory which holds one is known by its
//! name, and what the program does to it is known too.

use haloscope_hlo::{ComputationIdx, Instruction, InstructionIdx, Module, Opcode, Shape};
use rustc_hash::{FxHashMap, FxHashSet};

/// States that are followed at most for each instruction of the module: no program that a compiler writes comes near.
const STATES_PER_INSTRUCTION: usize = 64;

/// Target of the custom call that makes one value of neighbouring slices.
const CONCATENATION: &str = "ConcatBitcast";

/// An array that the caller hands to the program.
#[derive(Debug, Clone)]
pub struct EntryParameter<'m> {
    /// Its number, from 0.
    pub number: i64,
    /// Path into the parameter's tuple; empty where it is no tuple.
    pub index: Vec<i64>,
    /// The parameter's instruction.
    pub instruction: &'m Instruction,
    /// Shape of the array.
    pub shape: &'m Shape,
    /// What becomes of it.
    pub fate: Fate,
}

impl EntryParameter<'_> {
    /// The name that the framework gave it, such as `params['embedding']`, with the path into its tuple; empty where none is
    /// known.
    #[must_use]
    pub fn name(&self) -> String {
        let name = self.instruction.op_name().unwrap_or_default();
        let path: String = self.index.iter().map(|step| format!("{{{step}}}")).collect();
        if name.is_empty() { String::new() } else { format!("{name}{path}") }
    }
}

/// What a program does with a parameter, as far as its value can be followed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fate {
    /// It begins the state of a loop.
    pub is_carried: bool,
    /// The loop gives it a new value each time round, rather than only reading it.
    pub is_rewritten: bool,
    /// It, or what it became by writes in place, is an output.
    pub is_returned: bool,
    /// Part of it is overwritten in place: `dynamic-update-slice`, `scatter`, or a kernel that says so.
    pub is_written: bool,
    /// It, or a part of it, is multiplied: an operand of a dot, a convolution, or a kernel with attention in its name.
    pub is_multiplied: bool,
}

/// Where parameters go.
#[derive(Debug)]
pub struct Flow<'m> {
    /// The arrays that the caller hands over, by number and path.
    pub parameters: Vec<EntryParameter<'m>>,
    /// Which parameter's value a place holds.
    holds: FxHashMap<Place, u32>,
}

/// A value: an instruction and a path into its tuple.
type Place = (u32, Vec<i64>);

/// A value on its way: whose it is, and whether it is still the parameter rather than something computed from it.
struct State {
    at: InstructionIdx,
    path: Vec<i64>,
    owner: u32,
    is_same: bool,
}

struct Walk<'m> {
    module: &'m Module,
    /// Who calls a computation, and as which of its computations.
    callers: Vec<Vec<(InstructionIdx, usize)>>,
    /// Places that were reached: as a parameter itself by whoever came first, as something computed by each owner.
    seen: FxHashSet<(Place, Option<u32>)>,
    todo: Vec<State>,
    left: usize,
    /// Shape of the parameter that is being followed.
    shape: Option<&'m Shape>,
}

impl<'m> Flow<'m> {
    /// Follows the parameters of a module's entry. Each value belongs to the first parameter that reaches it.
    #[must_use]
    pub fn new(module: &'m Module) -> Self {
        let mut parameters = entry_parameters(module);
        let mut walk = Walk {
            module,
            callers: callers(module),
            seen: FxHashSet::default(),
            todo: Vec::new(),
            left: module.instructions().len().saturating_mul(STATES_PER_INSTRUCTION),
            shape: None,
        };
        let mut holds = FxHashMap::default();
        let entry = module.computation(module.entry());
        for (owner, parameter) in parameters.iter_mut().enumerate() {
            let Some(at) = module.instruction_by_name(&parameter.instruction.name) else { continue };
            let path = parameter.index.clone();
            walk.shape = Some(parameter.shape);
            walk.reach(at, path, owner as u32, true);
            while let Some(state) = walk.todo.pop() {
                if state.is_same {
                    holds.entry((state.at.index() as u32, state.path.clone())).or_insert(state.owner);
                    parameter.fate.is_returned |= state.at == entry.root;
                }
                walk.step(&state, &mut parameter.fate);
            }
        }
        Self { parameters, holds }
    }

    /// The parameter whose value an instruction's result holds, at a path into its tuple: the row of
    /// [`Flow::parameters`].
    #[must_use]
    pub fn holder(&self, module: &Module, name: &str, path: &[i64]) -> Option<usize> {
        let at = module.instruction_by_name(name)?;
        self.holds.get(&(at.index() as u32, path.to_vec())).map(|owner| *owner as usize)
    }

    /// The row of a parameter.
    #[must_use]
    pub fn parameter(&self, number: i64, index: &[i64]) -> Option<usize> {
        let wanted = (number, index);
        self.parameters.binary_search_by(|p| (p.number, p.index.as_slice()).cmp(&wanted)).ok()
    }
}

/// The arrays of the entry's parameters; tuples are taken apart.
fn entry_parameters(module: &Module) -> Vec<EntryParameter<'_>> {
    let entry = module.computation(module.entry());
    let mut found = Vec::new();
    for (number, at) in entry.parameters().iter().enumerate() {
        let instruction = module.instruction(*at);
        let number = instruction.attributes().parameter_number.unwrap_or(number as i64);
        let mut todo = vec![(Vec::new(), &instruction.shape)];
        while let Some((index, shape)) = todo.pop() {
            if shape.is_tuple() {
                for (step, element) in shape.tuple_shapes.iter().enumerate().rev() {
                    let mut below: Vec<i64> = index.clone();
                    below.push(step as i64);
                    todo.push((below, element));
                }
            } else {
                found.push(EntryParameter { number, index, instruction, shape, fate: Fate::default() });
            }
        }
    }
    found.sort_by(|a, b| (a.number, &a.index).cmp(&(b.number, &b.index)));
    found
}

fn callers(module: &Module) -> Vec<Vec<(InstructionIdx, usize)>> {
    let mut callers = vec![Vec::new(); module.computations().len()];
    for (at, instruction) in module.instructions() {
        for (nth, called) in instruction.called_computations.iter().enumerate() {
            if let Some(list) = callers.get_mut(called.index()) {
                list.push((at, nth));
            }
        }
    }
    callers
}

impl Walk<'_> {
    fn reach(&mut self, at: InstructionIdx, path: Vec<i64>, owner: u32, is_same: bool) {
        if self.left == 0 {
            return;
        }
        let place = (at.index() as u32, path.clone());
        if self.seen.insert((place, (!is_same).then_some(owner))) {
            self.left -= 1;
            self.todo.push(State { at, path, owner, is_same });
        }
    }

    /// The parameter of a called computation.
    fn into(&mut self, called: Option<&ComputationIdx>, number: usize, state: &State, path: Vec<i64>) {
        let Some(computation) = called.map(|c| self.module.computation(*c)) else { return };
        if let Some(&parameter) = computation.parameters().get(number) {
            self.reach(parameter, path, state.owner, state.is_same);
        }
    }

    fn step(&mut self, state: &State, fate: &mut Fate) {
        let module = self.module;
        let computation = module.instruction(state.at).computation;
        if module.computation(computation).root == state.at {
            for (caller, nth) in self.callers[computation.index()].clone() {
                self.leave(state, caller, nth);
            }
        }
        for &user in module.users(state.at) {
            let instruction = module.instruction(user);
            for (operand, _) in instruction.operands.iter().enumerate().filter(|(_, o)| **o == state.at) {
                self.meet(state, user, instruction, operand, fate);
            }
        }
    }

    /// A value that a computation returns: it is the result of its caller.
    fn leave(&mut self, state: &State, caller: InstructionIdx, nth: usize) {
        let instruction = self.module.instruction(caller);
        let path = state.path.clone();
        match instruction.opcode {
            // The second computation of a loop is its condition.
            Opcode::While if nth == 0 => {
                self.reach(caller, path.clone(), state.owner, state.is_same);
                self.into(instruction.called_computations.first(), 0, state, path);
            }
            Opcode::Fusion | Opcode::Call | Opcode::Conditional => {
                self.reach(caller, path, state.owner, state.is_same);
            }
            Opcode::AsyncStart => self.reach(caller, with_first(1, &path), state.owner, state.is_same),
            _ => {}
        }
    }

    /// A value that an instruction reads.
    fn meet(
        &mut self,
        state: &State,
        user: InstructionIdx,
        instruction: &Instruction,
        operand: usize,
        fate: &mut Fate,
    ) {
        let path = state.path.clone();
        let called = &instruction.called_computations;
        let attributes = instruction.attributes();
        fate.is_multiplied |= is_product(instruction);
        match instruction.opcode {
            Opcode::Copy | Opcode::Bitcast | Opcode::OptimizationBarrier | Opcode::AsyncUpdate => {
                self.reach(user, path, state.owner, state.is_same);
            }
            Opcode::CopyStart => {
                // Its result is the copy, the original and a context.
                self.reach(user, with_first(0, &path), state.owner, state.is_same);
                self.reach(user, with_first(1, &path), state.owner, state.is_same);
            }
            Opcode::CopyDone => self.without_first(user, 0, state),
            Opcode::AsyncDone => self.without_first(user, 1, state),
            Opcode::GetTupleElement => {
                let index = attributes.tuple_index.unwrap_or(0);
                self.without_first(user, index, state);
            }
            Opcode::Tuple => self.reach(user, with_first(operand as i64, &path), state.owner, state.is_same),
            Opcode::While => {
                fate.is_carried |= state.is_same;
                fate.is_rewritten |= state.is_same && !self.is_invariant(called.first(), &path);
                self.reach(user, path.clone(), state.owner, state.is_same);
                self.into(called.first(), 0, state, path);
            }
            Opcode::Fusion | Opcode::Call | Opcode::AsyncStart => {
                self.into(called.first(), operand, state, path);
            }
            Opcode::Conditional if operand > 0 => self.into(called.get(operand - 1), 0, state, path),
            Opcode::DynamicUpdateSlice | Opcode::Scatter if operand == 0 => {
                fate.is_written |= state.is_same;
                self.reach(user, path, state.owner, state.is_same);
            }
            // A TPU fetches a large value in slices, and puts them together again without moving them.
            Opcode::CustomCall if attributes.custom_call_target.as_deref() == Some(CONCATENATION) => {
                let is_whole = self.shape.is_some_and(|of| {
                    of.dimensions == instruction.shape.dimensions
                        && of.element_type == instruction.shape.element_type
                });
                self.reach(user, path, state.owner, is_whole);
            }
            Opcode::CustomCall => {
                for alias in &attributes.output_operand_aliasing {
                    if alias.operand == operand as i64 && alias.operand_index == path {
                        fate.is_written |= state.is_same;
                        self.reach(user, alias.output_index.clone(), state.owner, state.is_same);
                    }
                }
            }
            // Parts and other forms of the value; of these it only matters whether they are multiplied.
            Opcode::Slice
            | Opcode::DynamicSlice
            | Opcode::Gather
            | Opcode::Convert
            | Opcode::BitcastConvert
            | Opcode::Transpose
            | Opcode::Reshape
            | Opcode::Multiply
            | Opcode::Select
            | Opcode::Pad
            | Opcode::Concatenate => self.reach(user, path, state.owner, false),
            _ => {}
        }
    }

    /// Whether a loop's body hands an element of its state on as it is.
    fn is_invariant(&self, body: Option<&ComputationIdx>, path: &[i64]) -> bool {
        let Some(body) = body.map(|body| self.module.computation(*body)) else { return false };
        let root = self.module.instruction(body.root);
        let first = path.first().and_then(|first| usize::try_from(*first).ok()).unwrap_or(0);
        let Some(&result) = root.operands.get(first).filter(|_| root.opcode == Opcode::Tuple) else {
            return false;
        };
        let result = self.module.instruction(result);
        result.opcode == Opcode::GetTupleElement
            && result.attributes().tuple_index.unwrap_or(0) == first as i64
            && result.operands.first() == body.parameters().first()
    }

    fn without_first(&mut self, user: InstructionIdx, first: i64, state: &State) {
        match state.path.split_first() {
            Some((step, rest)) if *step == first => {
                self.reach(user, rest.to_vec(), state.owner, state.is_same);
            }
            _ => {}
        }
    }
}

/// Whether an instruction multiplies matrices. A product of few rows is a multiplication and a sum on a TPU: its name tells.
fn is_product(instruction: &Instruction) -> bool {
    let last = || instruction.op_name().and_then(|name| name.rsplit('/').next()).unwrap_or_default();
    match instruction.opcode {
        Opcode::Dot | Opcode::Convolution | Opcode::RaggedDot | Opcode::ScaledDot => true,
        Opcode::Multiply | Opcode::Reduce => last().starts_with("dot_general"),
        Opcode::CustomCall => instruction.op_name().is_some_and(|name| name.contains("attention")),
        _ => false,
    }
}

fn with_first(first: i64, path: &[i64]) -> Vec<i64> {
    let mut all = Vec::with_capacity(path.len() + 1);
    all.push(first);
    all.extend_from_slice(path);
    all
}
