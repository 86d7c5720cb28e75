//! Which values a kernel's control hangs on: those of conditions and of loops' bounds around work, and what they come from.

use crate::ids::{BlockId, OpId, ValueId};
use crate::module::{Module, Origin};

/// Which values are needed, and which operations do work, theirs or of operations inside them.
pub(crate) struct Needed {
    values: Vec<bool>,
    working: Vec<bool>,
}

/// The operand of `scf.for` that its first value of the loop comes from.
pub(crate) const FIRST_CARRIED: usize = 3;

impl Needed {
    pub(crate) fn new(module: &Module) -> Self {
        let mut all = Self {
            values: vec![false; module.values.len()],
            working: module.ops().map(|(id, _)| !module.work(id).is_zero()).collect(),
        };
        all.spread_work(module);
        let mut waiting = all.seeds(module);
        while let Some(value) = waiting.pop() {
            if !std::mem::replace(&mut all.values[value.index()], true) {
                all.sources(module, value, &mut waiting);
            }
        }
        all
    }

    pub(crate) fn value(&self, value: ValueId) -> bool {
        self.values[value.index()]
    }

    pub(crate) fn works(&self, op: OpId) -> bool {
        self.working[op.index()]
    }

    /// What an operation does is also done by those around it and by calls of the function that it is in.
    fn spread_work(&mut self, module: &Module) {
        let calls: Vec<(OpId, OpId)> = module
            .ops()
            .filter(|(id, _)| module.name(*id) == "func.call")
            .filter_map(|(id, _)| Some((id, module.callee(id)?)))
            .collect();
        // An operation stands behind those around it.
        let up = |working: &mut Vec<bool>| {
            for index in (0..working.len()).rev() {
                if let (true, Some(parent)) = (working[index], module.parent(OpId(index as u32))) {
                    working[parent.index()] = true;
                }
            }
        };
        up(&mut self.working);
        // Each round reaches the callers of what the last one reached.
        for _ in 0..=MOST_CALLS {
            let mut is_changed = false;
            for (call, callee) in &calls {
                if self.working[callee.index()] && !self.working[call.index()] {
                    self.working[call.index()] = true;
                    is_changed = true;
                }
            }
            if !is_changed {
                break;
            }
            up(&mut self.working);
        }
    }

    /// Conditions and bounds around work, and what functions other than the kernel give: the indices of blocks.
    fn seeds(&self, module: &Module) -> Vec<ValueId> {
        let mut seeds = Vec::new();
        for (id, op) in module.ops() {
            match module.name(id) {
                "func.return" => seeds.extend(&op.operands),
                _ if !self.works(id) => {}
                "scf.if" | "scf.index_switch" => seeds.extend(op.operands.first()),
                "scf.for" => seeds.extend(op.operands.iter().take(FIRST_CARRIED)),
                "scf.while" => seeds.extend(first_region_end(module, id).first()),
                "func.call" => seeds.extend(&op.operands),
                _ => {}
            }
        }
        seeds
    }

    /// The values that a value is made of.
    fn sources(&self, module: &Module, value: ValueId, to: &mut Vec<ValueId>) {
        match module.origin(value) {
            None => {}
            Some(Origin::Result(id, index)) => {
                let op = module.op(id);
                match module.name(id) {
                    "scf.for" => {
                        to.extend(op.operands.iter().take(FIRST_CARRIED));
                        to.extend(op.operands.get(FIRST_CARRIED + index));
                        to.extend(ends(module, id).filter_map(|end| end.get(index)));
                    }
                    "scf.while" => {
                        to.extend(&op.operands);
                        to.extend(ends(module, id).flatten());
                    }
                    _ => {
                        to.extend(&op.operands);
                        to.extend(ends(module, id).filter_map(|end| end.get(index)));
                    }
                }
            }
            Some(Origin::Argument(block, index)) => {
                let id = module.region(module.block(block).region).op;
                let op = module.op(id);
                match (module.name(id), index) {
                    ("scf.for", 0) => to.extend([0, 2].iter().filter_map(|at| op.operands.get(*at))),
                    ("scf.for", _) => {
                        to.extend(op.operands.get(FIRST_CARRIED + index - 1));
                        to.extend(ends(module, id).filter_map(|end| end.get(index - 1)));
                    }
                    ("scf.while", _) => {
                        to.extend(&op.operands);
                        to.extend(ends(module, id).flatten());
                    }
                    _ => {}
                }
            }
        }
    }
}

/// Functions call each other at most this deep.
pub(crate) const MOST_CALLS: usize = 16;

/// What the terminators of an operation's regions hand on.
fn ends(module: &Module, op: OpId) -> impl Iterator<Item = &[ValueId]> {
    module.op(op).regions().filter_map(|region| handed_on(module, module.only_block(region)?))
}

fn first_region_end(module: &Module, op: OpId) -> &[ValueId] {
    ends(module, op).next().unwrap_or(&[])
}

/// What a block's terminator hands on.
pub(crate) fn handed_on(module: &Module, block: BlockId) -> Option<&[ValueId]> {
    module.terminator(block).map(|op| &*module.op(op).operands)
}

impl Module {
    /// The function that a call calls.
    pub(crate) fn callee(&self, call: OpId) -> Option<OpId> {
        self.function(self.words(self.attribute(call, "callee")?)?)
    }
}
