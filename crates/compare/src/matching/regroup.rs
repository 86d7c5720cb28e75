//! Ops that were cut differently: one fusion that became two, an op that went into its neighbour.

use std::collections::{BTreeMap, BTreeSet};

use haloscope_hlo::{Module, Opcode};

use super::{Matcher, Regrouped};
use haloscope_time::op_meta::{is_async_collective, is_asynchronous, is_collective, is_container};

/// A part is one of a whole from this share of its content on.
const PART: f64 = 0.6;
/// Parts make up a whole from this share of its content on.
const WHOLE: f64 = 0.5;
/// FLOPs of both sides of a group may differ by this share.
const WORK: f64 = 0.1;

/// What an op computes, by framework op and opcode.
type Content = BTreeSet<(String, String)>;

impl Matcher<'_, '_> {
    /// Groups among what has no counterpart: first by what is in it, which the HLO says, then by framework op and source.
    pub(super) fn regroup(&self) -> Vec<Regrouped> {
        let left: [Vec<usize>; 2] =
            [0, 1].map(|side| self.left(side).filter(|op| self.is_work(side, *op)).collect());
        let mut groups = self.absorbed(&left);
        let is_free = |groups: &[Regrouped], side: usize, op: usize| {
            !groups.iter().any(|group| if side == 0 { &group.a } else { &group.b }.contains(&op))
        };
        for whole_side in 0..2 {
            let parts_side = 1 - whole_side;
            for whole in &left[whole_side] {
                let free = left[parts_side].iter().copied();
                let free = free.filter(|op| is_free(&groups, parts_side, *op));
                let parts: Vec<usize> = if is_free(&groups, whole_side, *whole) {
                    self.parts(whole_side, *whole, free)
                } else {
                    continue;
                };
                if parts.len() > 1 {
                    groups.push(group(whole_side, vec![*whole], parts));
                }
            }
        }
        groups.extend(self.of_one_line(&left, &groups));
        groups.sort_by(|x, y| (&x.a, &x.b).cmp(&(&y.a, &y.b)));
        groups
    }

    /// Whether an op computes something: copies, transfers and collectives are not parts of anything.
    fn is_work(&self, side: usize, op: usize) -> bool {
        let meta = self.seen[side][op].meta;
        let moves = matches!(
            &*meta.category,
            "data formatting" | "copy" | "memcpy" | "memset" | "reshape" | "bitcast"
        );
        !(moves
            || is_container(&meta.category)
            || is_asynchronous(&meta.category)
            || is_async_collective(&meta.name)
            || is_collective(&meta.category, &meta.name))
    }

    /// The content of an op, where its program is aligned.
    fn content(&self, side: usize, op: usize) -> Content {
        let mut content = Content::new();
        let program = &self.programs[self.program_of[side][op]];
        let Some(alignment) = &program.alignment else { return content };
        let module = if side == 0 { alignment.a } else { alignment.b };
        if let Some(at) = module.instruction_by_name(&self.seen[side][op].meta.name) {
            collect(module, at, &mut content, 0);
        }
        content
    }

    /// The ops, each mostly part of a whole, that make it up.
    fn parts(&self, side: usize, whole: usize, others: impl Iterator<Item = usize>) -> Vec<usize> {
        let all = self.content(side, whole);
        let mut found = Vec::new();
        let mut covered = Content::new();
        for other in others {
            let same_program = self.program_of[1 - side][other] == self.program_of[side][whole];
            let part = if same_program { self.content(1 - side, other) } else { continue };
            let both: Content = part.intersection(&all).cloned().collect();
            if share(both.len(), part.len()) >= PART {
                covered.extend(both);
                found.push(other);
            }
        }
        let is_whole = share(covered.len(), all.len()) >= WHOLE && self.same_work(side, &[whole], &found);
        if is_whole { found } else { Vec::new() }
    }

    /// Ops whose work went into an op that has a counterpart, or came out of one.
    fn absorbed(&self, left: &[Vec<usize>; 2]) -> Vec<Regrouped> {
        let mut by_pair: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        let mut groups = Vec::new();
        for (side, left) in left.iter().enumerate() {
            by_pair.clear();
            if left.is_empty() {
                continue;
            }
            // Only pairs that differ in content can have taken anything in.
            let changed: Vec<(usize, usize, Content)> = self
                .pairs
                .iter()
                .filter_map(|pair| {
                    let (own, other) = if side == 0 { (pair.a, pair.b) } else { (pair.b, pair.a) };
                    let own_content = self.content(side, own);
                    let gained: Content =
                        self.content(1 - side, other).difference(&own_content).cloned().collect();
                    (!gained.is_empty()).then_some((own, other, gained))
                })
                .collect();
            for op in left {
                let part = self.content(side, *op);
                let taken_in = changed.iter().find(|(own, _, gained)| {
                    self.program_of[side][*own] == self.program_of[side][*op]
                        && share(part.intersection(gained).count(), part.len()) >= PART
                });
                if let Some((own, other, _)) = taken_in {
                    by_pair.entry((*own, *other)).or_default().push(*op);
                }
            }
            for ((own, other), mut ops) in std::mem::take(&mut by_pair) {
                ops.insert(0, own);
                if self.same_work(side, &ops, &[other]) {
                    ops.sort_unstable();
                    groups.push(group(side, ops, vec![other]));
                }
            }
        }
        // An op may be in one group only.
        let mut seen: [BTreeSet<usize>; 2] = [BTreeSet::new(), BTreeSet::new()];
        groups.retain(|group: &Regrouped| {
            let is_free = !group.a.iter().any(|op| seen[0].contains(op))
                && !group.b.iter().any(|op| seen[1].contains(op));
            if is_free {
                seen[0].extend(&group.a);
                seen[1].extend(&group.b);
            }
            is_free
        });
        groups
    }

    /// Ops of one framework op and source line, one on one side and several on the other, of which no content is known.
    fn of_one_line(&self, left: &[Vec<usize>; 2], groups: &[Regrouped]) -> Vec<Regrouped> {
        let mut lines: BTreeMap<(usize, &str, &str), [Vec<usize>; 2]> = BTreeMap::new();
        for (side, ops) in left.iter().enumerate() {
            for op in ops.iter().copied() {
                let meta = self.seen[side][op].meta;
                let is_taken =
                    groups.iter().any(|group| if side == 0 { &group.a } else { &group.b }.contains(&op));
                if !is_taken && !meta.framework_op.is_empty() {
                    let key = (self.program_of[side][op], &*meta.framework_op, &*meta.source);
                    lines.entry(key).or_default()[side].push(op);
                }
            }
        }
        let is_group = |[a, b]: &[Vec<usize>; 2]| {
            (a.len() == 1) != (b.len() == 1) && !a.is_empty() && !b.is_empty() && self.same_work(0, a, b)
        };
        lines.into_values().filter(is_group).map(|[a, b]| Regrouped { a, b }).collect()
    }

    /// Whether the FLOPs of both sides agree, where all of them are known.
    fn same_work(&self, side: usize, own: &[usize], others: &[usize]) -> bool {
        let sum = |side: usize, ops: &[usize]| {
            ops.iter().try_fold(0.0, |sum, op| Some(sum + self.seen[side][*op].meta.flops?))
        };
        match (sum(side, own), sum(1 - side, others)) {
            (Some(own), Some(others)) => (own - others).abs() <= WORK * f64::max(own, others),
            _ => true,
        }
    }
}

fn group(side: usize, own: Vec<usize>, others: Vec<usize>) -> Regrouped {
    if side == 0 { Regrouped { a: own, b: others } } else { Regrouped { a: others, b: own } }
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Fusions within fusions that are looked into.
const DEPTH: usize = 4;

/// Adds what an instruction and those inside it compute. What only moves data or names it says nothing of the work.
fn collect(module: &Module, at: haloscope_hlo::InstructionIdx, content: &mut Content, depth: usize) {
    let instruction = module.instruction(at);
    if instruction.opcode == Opcode::Fusion && depth < DEPTH {
        for body in module.bodies(at) {
            for inner in module.computation(*body).instructions() {
                collect(module, inner, content, depth + 1);
            }
        }
        return;
    }
    let is_silent = matches!(
        instruction.opcode,
        Opcode::Parameter
            | Opcode::Constant
            | Opcode::Tuple
            | Opcode::GetTupleElement
            | Opcode::Bitcast
            | Opcode::Copy
            | Opcode::Reshape
            | Opcode::Transpose
            | Opcode::Broadcast
            | Opcode::Convert
    );
    if let Some(name) = instruction.op_name().filter(|_| !is_silent) {
        content.insert((name.to_owned(), instruction.opcode_name().to_owned()));
    }
}
