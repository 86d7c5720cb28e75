//! What is fused in an op, from the HLO that the profiler embedded.

use std::cell::Cell;

use haloscope_hlo::{InstructionIdx, Module, Opcode, TextOptions};
use haloscope_profile::{HloModule, HostId, Profile};
use rustc_hash::FxHashMap;

use crate::db::Row;

/// More instructions than any profile shows; a limit for files that mean harm.
const BUDGET: usize = 2_000_000;

/// Fusions in fusions deeper than this are not opened, likewise.
const DEEPEST: usize = 16;

/// Looks ops up in the modules of some hosts.
#[derive(Debug)]
pub(super) struct Fused<'p> {
    profile: &'p Profile,
    modules: FxHashMap<u64, &'p HloModule>,
    left: Cell<usize>,
}

/// An instruction inside a fusion.
#[derive(Debug, Clone, Copy)]
pub(super) struct Instruction<'p> {
    module: &'p Module,
    at: InstructionIdx,
    depth: usize,
}

impl<'p> Fused<'p> {
    /// The modules that these hosts embedded; of several with one program id, the first.
    pub(super) fn new(profile: &'p Profile, hosts: &[HostId]) -> Self {
        let mut modules = FxHashMap::default();
        for module in profile.modules.iter().filter(|m| hosts.contains(&m.host)) {
            if let Some(id) = module.program_id {
                modules.entry(id).or_insert(module);
            }
        }
        Self { profile, modules, left: Cell::new(BUDGET) }
    }

    /// The instructions that an op's fusion consists of, parameters and tuples left out, in the order of the module.
    pub(super) fn of_op(&self, row: &Row<'_>) -> Vec<Instruction<'p>> {
        let Some(module) = self.modules.get(&row.program_id) else { return Vec::new() };
        let Ok(decoded) = module.decode(self.profile) else { return Vec::new() };
        let module = &decoded.module;
        let at = module.instruction_by_name(&row.name);
        at.map_or(Vec::new(), |at| self.inside(Instruction { module, at, depth: 0 }))
    }

    /// The instructions inside a fusion, likewise; none for other instructions.
    pub(super) fn inside(&self, of: Instruction<'p>) -> Vec<Instruction<'p>> {
        let fusion = of.module.instruction(of.at);
        let body = fusion.called_computations.first().filter(|_| fusion.opcode == Opcode::Fusion);
        let Some(body) = body.filter(|_| of.depth < DEEPEST) else { return Vec::new() };
        let shown = |at: &InstructionIdx| {
            !matches!(of.module.instruction(*at).opcode, Opcode::Parameter | Opcode::Tuple)
        };
        let instructions = of.module.computation(*body).instructions().filter(shown).take(self.left.get());
        let found: Vec<_> = instructions.map(|at| Instruction { at, depth: of.depth + 1, ..of }).collect();
        self.left.set(self.left.get() - found.len());
        found
    }
}

impl<'p> Instruction<'p> {
    /// Its name.
    pub(super) fn name(self) -> &'p str {
        &self.module.instruction(self.at).name
    }

    /// Such as `loop fusion`.
    pub(super) fn category(self) -> &'p str {
        self.module.xla_category(self.module.instruction(self.at))
    }

    /// The framework's scope path and, behind the last colon, its op type; a colon alone where neither is known.
    pub(super) fn provenance(self) -> String {
        let metadata = self.module.instruction(self.at).metadata.as_ref();
        let word = |text: Option<&'p str>| text.unwrap_or_default();
        let path = word(metadata.and_then(|m| m.op_name.as_deref()));
        format!("{path}:{}", word(metadata.and_then(|m| m.op_type.as_deref())))
    }

    /// Its HLO text, cut where it is longer than XProf shows.
    pub(super) fn expression(self) -> String {
        const LONGEST: usize = 1_000_000;
        let mut text = self.module.instruction_text(self.at, &TextOptions::EXPRESSION);
        text.truncate(haloscope_report::head(&text, LONGEST).len());
        text
    }
}
