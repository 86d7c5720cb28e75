//! The order in which XLA writes computations and instructions.

use std::collections::BTreeMap;

use crate::{
    index::{ComputationIdx, InstructionIdx},
    module::Module,
    opcode::Opcode,
};

/// Computations by id, each after those it calls.
pub(super) fn computations(module: &Module) -> Vec<ComputationIdx> {
    if module.is_in_text_order {
        return module.computations().map(|(index, _)| index).collect();
    }
    let mut by_id: Vec<ComputationIdx> = module.computations().map(|(index, _)| index).collect();
    by_id.sort_by_key(|index| module.computation(*index).id);
    let mut is_called = vec![false; by_id.len()];
    for (_, instruction) in module.instructions() {
        for called in &instruction.called_computations {
            is_called[called.index()] = true;
        }
    }
    let mut walk = Walk { module, added: vec![false; by_id.len()], order: Vec::with_capacity(by_id.len()) };
    for &root in by_id.iter().filter(|index| !is_called[index.index()]) {
        walk.root(root);
    }
    // Computations that call one another in a circle, which no compiler writes, have no root.
    for &left in &by_id {
        if !walk.added[left.index()] {
            walk.added[left.index()] = true;
            walk.order.push(left);
        }
    }
    walk.order
}

struct Walk<'a> {
    module: &'a Module,
    added: Vec<bool>,
    order: Vec<ComputationIdx>,
}

impl Walk<'_> {
    /// Adds a root and what it calls. A computation is noted when a caller is met first, and added when it has been walked.
    fn root(&mut self, root: ComputationIdx) {
        let mut met = vec![false; self.added.len()];
        met[root.index()] = true;
        let mut stack = vec![(root, self.module.computation(root).instructions())];
        while let Some((computation, rest)) = stack.last_mut() {
            let Some(next) = rest.next() else {
                let done = *computation;
                stack.pop();
                if !std::mem::replace(&mut self.added[done.index()], true) {
                    self.order.push(done);
                }
                continue;
            };
            for &called in self.module.instruction(next).called_computations.iter().rev() {
                if !std::mem::replace(&mut met[called.index()], true) {
                    stack.push((called, self.module.computation(called).instructions()));
                }
            }
        }
    }
}

/// Instructions of a computation, operands and control predecessors first.
pub(super) fn instructions(module: &Module, computation: ComputationIdx) -> Vec<InstructionIdx> {
    if module.is_in_text_order {
        return module.computation(computation).instructions().collect();
    }
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let range = module.computation(computation).instructions();
    let start = module.computation(computation).instructions.start as usize;
    let mut state = vec![State::New; range.len()];
    let mut order = Vec::with_capacity(range.len());
    let together = same_channel(module, computation);
    for root in range.filter(|index| module.users(*index).is_empty()) {
        let mut stack = vec![root];
        while let Some(&current) = stack.last() {
            let place = current.index() - start;
            if state[place] != State::New {
                stack.pop();
                if std::mem::replace(&mut state[place], State::Done) != State::Done {
                    order.push(current);
                }
                continue;
            }
            state[place] = State::Open;
            let instruction = module.instruction(current);
            let earlier = together.get(&current).filter(|_| current != root).map_or(&[][..], Vec::as_slice);
            let operands = instruction.operands.iter().rev();
            for &next in earlier.iter().chain(operands).chain(&instruction.control_predecessors) {
                if state.get(next.index().wrapping_sub(start)).is_some_and(|s| *s != State::Done) {
                    stack.push(next);
                }
            }
        }
    }
    order
}

/// Collectives that must stay behind those of the same channel. Only where partitions run different programs.
fn same_channel(
    module: &Module,
    computation: ComputationIdx,
) -> BTreeMap<InstructionIdx, Vec<InstructionIdx>> {
    let mut earlier = BTreeMap::new();
    if module.computation_count_of_device_assignment == Some(1) {
        return earlier;
    }
    let mut channels: BTreeMap<i64, Vec<InstructionIdx>> = BTreeMap::new();
    for index in module.computation(computation).instructions() {
        let instruction = module.instruction(index);
        let is_grouped = matches!(
            instruction.opcode,
            Opcode::AllReduce
                | Opcode::AllGather
                | Opcode::AllToAll
                | Opcode::CollectiveBroadcast
                | Opcode::CollectivePermute
                | Opcode::RaggedAllToAll
                | Opcode::ReduceScatter
        );
        if let Some(channel) = instruction.attributes().channel_id.filter(|_| is_grouped) {
            let group = channels.entry(channel).or_default();
            if !group.is_empty() {
                earlier.insert(index, group.clone());
            }
            group.push(index);
        }
    }
    earlier
}
