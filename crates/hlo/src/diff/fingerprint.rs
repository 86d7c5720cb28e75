//! What instructions are, in numbers that do not depend on names or ids.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::{
    index::{ComputationIdx, InstructionIdx},
    instruction::Instruction,
    module::Module,
    opcode::Opcode,
    text::TextOptions,
};

/// Attributes that say what an instruction computes: no names of computations, no backend's wishes.
pub(super) const ATTRIBUTES: TextOptions = TextOptions {
    metadata: false,
    backend_config: false,
    control_dependencies: false,
    async_sugar: false,
    subcomputations: false,
    percent: false,
    ..TextOptions::LONG
};

/// Attributes that number things: another compilation gives other numbers.
const NUMBERING: &str = "channel_id=";

/// Fingerprints of all instructions of a module, by index.
#[derive(Debug)]
pub(super) struct Fingerprints {
    /// Opcode, shape with layout, attributes.
    pub(super) own: Vec<u64>,
    /// The same without layout.
    pub(super) own_any_layout: Vec<u64>,
    /// `own`, with what the called computations are.
    pub(super) with_bodies: Vec<u64>,
    /// `with_bodies` and the same of all operands, theirs, and so on: two instructions that have it in common compute the
    /// same value from the same parameters.
    pub(super) value: Vec<u64>,
    /// `with_bodies` of all users, theirs, and so on to the root, with operand numbers: where the value goes.
    pub(super) use_: Vec<u64>,
    /// Scope path and source, or 0 where there is none.
    pub(super) origin: Vec<u64>,
    /// Place in an order that follows from the structure: operands before users, from the root.
    pub(super) place: Vec<u32>,
    /// What each computation is.
    pub(super) computations: Vec<u64>,
}

pub(super) fn hash(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

impl Fingerprints {
    pub(super) fn new(module: &Module) -> Self {
        let count = module.instructions().len();
        let mut prints = Self {
            own: Vec::with_capacity(count),
            own_any_layout: Vec::with_capacity(count),
            with_bodies: vec![0; count],
            value: vec![0; count],
            use_: vec![0; count],
            origin: Vec::with_capacity(count),
            place: vec![0; count],
            computations: vec![0; module.computations().len()],
        };
        for (index, instruction) in module.instructions() {
            let what = hash((instruction.opcode_name(), attributes(module, index)));
            let own = hash((what, instruction.shape.to_string()));
            prints.own.push(own);
            prints.own_any_layout.push(hash((what, format!("{:#}", instruction.shape))));
            prints.origin.push(instruction.op_name().map_or(0, hash));
        }
        for computation in module.callees_first() {
            prints.computation(module, computation);
        }
        prints
    }

    fn computation(&mut self, module: &Module, computation: ComputationIdx) {
        let order = operands_first(module, computation);
        for (place, &at) in order.iter().enumerate() {
            let instruction = module.instruction(at);
            let bodies = called(instruction).iter().map(|body| self.computations[body.index()]);
            let bodies: Vec<u64> = bodies.collect();
            let with_bodies =
                if bodies.is_empty() { self.own[at.index()] } else { hash((self.own[at.index()], bodies)) };
            self.with_bodies[at.index()] = with_bodies;
            let operands = instruction.operands.iter().map(|operand| self.value[operand.index()]);
            self.value[at.index()] = hash((with_bodies, operands.collect::<Vec<u64>>()));
            self.place[at.index()] = place as u32;
        }
        let root = module.computation(computation).root;
        let mut ends = Vec::new();
        for &at in order.iter().rev() {
            let mut uses = Vec::new();
            for &user in module.users(at) {
                let operands = &module.instruction(user).operands;
                // In a list of thousands it matters little which of them it is, and looking for it in all of them would take long.
                let number = (operands.len() < MANY).then(|| operands.iter().position(|o| *o == at));
                uses.push(hash((self.with_bodies[user.index()], self.use_[user.index()], number)));
            }
            if uses.is_empty() {
                ends.push(self.value[at.index()]);
            }
            uses.sort_unstable();
            self.use_[at.index()] = hash((at == root, uses));
        }
        ends.sort_unstable();
        self.computations[computation.index()] = hash((self.value[root.index()], ends));
    }
}

/// Lists of operands from this length on are long.
const MANY: usize = 256;

/// The computations that an instruction says it calls. The update and end of an asynchronous operation repeat those of its
/// start in some files and not in others.
pub(super) fn called(instruction: &Instruction) -> &[ComputationIdx] {
    match instruction.opcode {
        Opcode::AsyncUpdate | Opcode::AsyncDone => &[],
        _ => &instruction.called_computations,
    }
}

/// The attributes of an instruction that say what it computes, as text.
pub(super) fn attributes(module: &Module, at: InstructionIdx) -> Vec<String> {
    let mut texts = module.attribute_texts(at, &ATTRIBUTES);
    texts.retain(|text| !text.starts_with(NUMBERING));
    let attributes = module.instruction(at).attributes();
    if module.instruction(at).opcode == Opcode::Parameter {
        texts.push(format!("number={}", attributes.parameter_number.unwrap_or_default()));
    }
    if let Some(literal) = &attributes.literal {
        // In words: one value can be encoded in more than one way.
        texts.push(format!("value={}", crate::text::literal(literal)));
    }
    texts
}

/// The instructions of a computation, operands before users, beginning with what the root needs. Independent of names and of
/// the order in the file, but for values that nobody uses: those come in the order of the file. Values that depend on
/// themselves, which no compiler writes, are taken as they come.
pub(super) fn operands_first(module: &Module, computation: ComputationIdx) -> Vec<InstructionIdx> {
    let all: Vec<InstructionIdx> = module.computation(computation).instructions().collect();
    let Some(start) = all.first().map(|first| first.index()) else { return Vec::new() };
    let mut is_met = vec![false; all.len()];
    let mut order = Vec::with_capacity(all.len());
    let mut stack: Vec<(InstructionIdx, usize)> = Vec::new();
    for end in std::iter::once(module.computation(computation).root).chain(all.iter().copied()) {
        let mut meet = |at: InstructionIdx, stack: &mut Vec<(InstructionIdx, usize)>| {
            let is_new = is_met.get_mut(at.index().wrapping_sub(start));
            if is_new.is_some_and(|met| !std::mem::replace(met, true)) {
                stack.push((at, 0));
            }
        };
        meet(end, &mut stack);
        while let Some((at, next)) = stack.last_mut() {
            match module.instruction(*at).operands.get(*next) {
                Some(&operand) => {
                    *next += 1;
                    meet(operand, &mut stack);
                }
                None => {
                    order.push(*at);
                    stack.pop();
                }
            }
        }
    }
    order
}
