//! Which instructions a drawing shows, and how.

use std::collections::{BTreeMap, VecDeque};

use haloscope_hlo::{ComputationIdx, InstructionIdx, Module, Opcode};

/// A node with more users than this stands without them.
const MOST_USERS: usize = 16;

/// A walk ends here, whatever a file says.
const LONGEST_WALK: usize = 1 << 20;

/// How a node is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    Normal,
    /// In the middle.
    Highlighted,
    /// Some of its users are not shown.
    SomeUsersOmitted,
    /// Some of its operands are not shown.
    SomeOperandsOmitted,
    /// None of its operands is shown.
    OperandsOmitted,
}

/// What a drawing shows.
pub enum Scope {
    /// Everything.
    Whole,
    /// What is near an instruction of this computation, and all of other computations.
    Near {
        /// Whose part is shown.
        computation: ComputationIdx,
        /// What of it is shown, and how.
        nodes: BTreeMap<InstructionIdx, Shown>,
    },
}

impl Scope {
    /// What is at most `radius` steps along operands, users and called computations from an instruction.
    pub fn around(module: &Module, centre: InstructionIdx, radius: usize) -> Self {
        let computation = module.instruction(centre).computation;
        let mut nodes = walk(module, centre, radius);
        let known = nodes.clone();
        let is_displayed = |index: &InstructionIdx| {
            let instruction = module.instruction(*index);
            known.contains_key(index)
                || instruction.opcode == Opcode::Constant
                || instruction.computation != computation
        };
        for (index, shown) in &mut nodes {
            let operands = &module.instruction(*index).operands;
            let displayed = operands.iter().filter(|operand| is_displayed(operand)).count();
            if displayed > 0 && displayed < operands.len() {
                *shown = Shown::SomeOperandsOmitted;
            } else if displayed == 0 && !operands.is_empty() {
                *shown = Shown::OperandsOmitted;
            }
            if *shown == Shown::SomeUsersOmitted && module.users(*index).iter().all(is_displayed) {
                *shown = Shown::Normal;
            }
        }
        nodes.insert(centre, Shown::Highlighted);
        Self::Near { computation, nodes }
    }

    /// How an instruction is shown, if it is.
    pub(crate) fn shown(&self, module: &Module, index: InstructionIdx) -> Option<Shown> {
        match self {
            Self::Whole => Some(Shown::Normal),
            Self::Near { computation, nodes } => nodes
                .get(&index)
                .copied()
                .or_else(|| (module.instruction(index).computation != *computation).then_some(Shown::Normal)),
        }
    }
}

fn walk(module: &Module, centre: InstructionIdx, radius: usize) -> BTreeMap<InstructionIdx, Shown> {
    let mut nodes = BTreeMap::new();
    let mut todo = VecDeque::from([(centre, 0)]);
    for _ in 0..LONGEST_WALK {
        let Some((index, depth)) = todo.pop_front() else { break };
        nodes.insert(index, Shown::Normal);
        if depth == radius {
            continue;
        }
        let instruction = module.instruction(index);
        // A tuple is the end of a graph as a rule, and what it gathers has little to do with one another.
        if index == centre || instruction.opcode != Opcode::Tuple {
            let is_bitcast = |index: InstructionIdx| module.instruction(index).opcode == Opcode::Bitcast;
            for &operand in instruction.operands.iter().filter(|operand| !nodes.contains_key(operand)) {
                // A bitcast does nothing, and is no step.
                let is_step = !is_bitcast(index) && !is_bitcast(operand);
                todo.push_back((operand, depth + usize::from(is_step)));
            }
        }
        let called = instruction.called_computations.iter();
        todo.extend(called.map(|called| (module.computation(*called).root, depth + 1)));
        if instruction.opcode == Opcode::Constant {
            continue;
        }
        let users = module.users(index);
        if users.len() > MOST_USERS {
            nodes.insert(index, Shown::SomeUsersOmitted);
            continue;
        }
        todo.extend(users.iter().filter(|user| !nodes.contains_key(user)).map(|user| (*user, depth + 1)));
    }
    nodes
}
