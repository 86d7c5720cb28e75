//! What the ops that only move data on the device are for.

use rustc_hash::FxHashMap;

use super::Evidence;
use haloscope_profile::Decoded;
use haloscope_program::copies::{self, Basis};
use haloscope_program::relayouts;
use haloscope_time::account::Class;
use haloscope_time::executions::Executions;
use haloscope_time::ops::Op;

/// What a copy is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Somebody would overwrite the value: why, in two forms, and whether the graph proves it.
    Defensive { why: &'static str, detail: String, is_proven: bool },
    /// Another layout, next to compute that it feeds or that makes its value: what is done, and to whom.
    Relayout { what: &'static str, feeds: String },
    /// Anything else: why, as far as the graph says, else empty.
    Other { detail: String },
    /// The profile does not hold its program.
    Unknown,
}

/// An op that moves data on the device, at a time when nothing computes.
#[derive(Debug, Clone)]
pub(crate) struct Mover<'e, 'p> {
    pub op: &'e Op<'p>,
    /// Self time summed over devices, picoseconds; scaled to the time that copies take where streams run side by side.
    pub time_ps: f64,
    pub purpose: Purpose,
}

impl<'p> Evidence<'p> {
    /// The ops that copy and change layouts, largest first.
    pub(crate) fn movers(&self) -> Vec<Mover<'_, 'p>> {
        let is_copy = |op: &&Op<'_>| Class::of(&op.meta) == Class::Copy && op.self_ps > 0;
        let ops: Vec<&Op<'p>> = self.ops().iter().filter(is_copy).collect();
        let all: f64 = ops.iter().map(|op| op.self_ps as f64).sum();
        let scale = if all > 0.0 { (self.times().of(Class::Copy) as f64 / all).min(1.0) } else { 1.0 };
        let mut known: FxHashMap<u64, Option<FxHashMap<String, Purpose>>> = FxHashMap::default();
        let mut purpose = |op: &Op<'_>| {
            let Some(id) = op.meta.program_id else { return Purpose::Unknown };
            let of_program = known.entry(id).or_insert_with(|| self.program(id).map(purposes));
            let Some(of_program) = of_program else { return Purpose::Unknown };
            of_program.get(op.meta.name.as_ref()).cloned().unwrap_or(Purpose::Other { detail: String::new() })
        };
        let mover = |op: &'_ &Op<'p>| purpose(op);
        let found: Vec<Purpose> = ops.iter().map(mover).collect();
        let together = ops.into_iter().zip(found);
        together.map(|(op, purpose)| Mover { op, time_ps: op.self_ps as f64 * scale, purpose }).collect()
    }

    /// The HLO of a program, where the profile holds it.
    pub(crate) fn program(&self, id: u64) -> Option<&'p Decoded> {
        let entry = self.profile.modules.iter().find(|m| m.program_id == Some(id))?;
        entry.decode(&self.profile.sources[entry.source]).ok()
    }
}

/// The purposes of the copies of a module by the names of their instructions.
fn purposes(decoded: &Decoded) -> FxHashMap<String, Purpose> {
    let module = &decoded.module;
    let executions = Executions::new(module);
    let name = |index| module.instruction(index).name.clone();
    let mut found = FxHashMap::default();
    for relayout in relayouts::find(module, &executions) {
        let neighbours = relayout.feeds.iter().copied().chain(relayout.from);
        let names: Vec<String> = neighbours.take(2).map(name).collect();
        if !names.is_empty() {
            let purpose = Purpose::Relayout { what: relayout.what, feeds: names.join(" and ") };
            found.insert(name(relayout.instruction), purpose);
        }
    }
    for copy in copies::find(module, &executions) {
        let reason = copy.reason;
        if reason.why.is_defensive() {
            let purpose = Purpose::Defensive {
                why: reason.why.word(),
                detail: reason.detail,
                is_proven: reason.basis == Basis::Derived,
            };
            found.insert(name(copy.instruction), purpose);
        } else {
            let own = Purpose::Other { detail: reason.detail };
            found.entry(name(copy.instruction)).or_insert(own);
        }
    }
    found
}
