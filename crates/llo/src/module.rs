//! A module, and what is asked of it more than once.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::by_id::ById;
use crate::group::{Group, GroupIdx, Kind};
use crate::instruction::{Instruction, Operand, SpillKind};
use crate::{Allocation, Constant, SourceMap, Space, Target, Utilization};

/// `LloModule`: one HLO op after the compiler's last stage.
#[derive(Debug, Clone, Default)]
pub struct Module<'a> {
    /// Name of the HLO instruction.
    pub op: Cow<'a, str>,
    /// Name of the HLO module.
    pub module_name: Cow<'a, str>,
    /// A number of the HLO module; it is not the program id of profiles.
    pub module_id: i64,
    /// Regions, loops and branches, each before those in it.
    pub groups: Vec<Group<'a>>,
    /// All instructions, in the order of the program.
    pub instructions: Vec<Instruction>,
    /// What operands name by its row.
    pub constants: Vec<Constant>,
    /// What [`Instruction::note`] names.
    pub notes: Vec<Cow<'a, str>>,
    /// What each bundle uses.
    pub utilization: Utilization,
    /// What it was compiled for.
    pub target: Option<Target<'a>>,
    /// Source lines, where the program was compiled with them.
    pub source_map: Option<SourceMap<'a>>,
    pub(crate) operands: Vec<Operand>,
}

impl Module<'_> {
    /// How many bundles the schedule has, before empty ones become delays: close to the cycles that one pass through it would take.
    #[must_use]
    pub fn bundles(&self) -> usize {
        self.utilization.bundles()
    }

    /// What an instruction takes.
    #[must_use]
    pub fn operands(&self, instruction: &Instruction) -> &[Operand] {
        let (start, count) = instruction.operands;
        self.operands.get(start as usize..start as usize + count as usize).unwrap_or_default()
    }

    /// The groups in a group, one behind the other.
    pub fn children(&self, row: GroupIdx) -> impl Iterator<Item = GroupIdx> {
        let end = self.groups.get(row).map_or(0, |group| group.end);
        let first = Some(row + 1).filter(|row| *row < end);
        std::iter::successors(first, move |row| self.groups.get(*row).map(|g| g.end).filter(|row| *row < end))
    }

    /// The path of a group in XProf's words: the regions, loops and branches around it, from the outermost on.
    #[must_use]
    pub fn path(&self, row: GroupIdx) -> String {
        let around = std::iter::successors(self.groups.get(row), |group| self.groups.get(group.parent?));
        let mut words: Vec<&str> = around
            .map(|group| match group.kind {
                Kind::Loop(_) => "loop",
                Kind::Predicated => "predicated",
                Kind::Region if group.name.is_empty() => "region",
                Kind::Region => group.name.as_ref(),
            })
            .collect();
        words.reverse();
        words.join("/")
    }

    /// The region of a bundle: of those that have it the last, as XProf has it.
    #[must_use]
    pub fn region_of(&self, bundle: i64) -> Option<GroupIdx> {
        self.groups.iter().rposition(|group| group.kind == Kind::Region && group.has_bundle(bundle))
    }

    /// The region of each bundle: see [`Module::region_of`].
    #[must_use]
    pub fn regions(&self) -> Vec<Option<GroupIdx>> {
        let count = self.bundles();
        let mut regions = vec![None; count];
        // The next bundle from each one on that has no region yet: so each gets one once, however many regions overlap.
        let mut next: Vec<usize> = (0..=count).collect();
        for (row, group) in self.groups.iter().enumerate().rev() {
            let limit = usize::try_from(group.limit_bundle).unwrap_or(0).min(count);
            let Ok(first) = usize::try_from(group.first_bundle) else { continue };
            if group.kind != Kind::Region || first >= limit {
                continue;
            }
            let mut bundle = free(&mut next, first);
            while bundle < limit {
                regions[bundle] = Some(row);
                next[bundle] = bundle + 1;
                bundle = free(&mut next, bundle);
            }
        }
        regions
    }

    /// Each allocation once, by memory and number: constants name one for each place in it that is in use.
    #[must_use]
    pub fn allocations(&self) -> BTreeMap<(Space, i32), Allocation> {
        let mut unique = BTreeMap::new();
        for allocation in self.constants.iter().filter_map(|constant| constant.allocation) {
            unique.entry((allocation.space, allocation.ordinal)).or_insert(allocation);
        }
        unique
    }

    /// Bytes of a memory that the kernel has for itself.
    #[must_use]
    pub fn allocated_bytes(&self, space: Space) -> u64 {
        let all = self.allocations();
        let of_space = all.values().filter(|allocation| allocation.space == space && !allocation.is_remote);
        of_space.fold(0, |sum, a| sum.saturating_add(u64::try_from(a.bytes).unwrap_or(0)))
    }

    /// What an instruction does for want of a register: it stores to, or loads from, memory that is set aside for that.
    #[must_use]
    pub fn spill(&self, instruction: &Instruction) -> Option<SpillKind> {
        let names_spill_memory = self.operands(instruction).iter().any(|operand| match operand {
            Operand::Constant(row) => {
                self.constants.get(*row as usize).and_then(|c| c.allocation).is_some_and(|a| a.is_spill)
            }
            Operand::Result(_) | Operand::Unknown => false,
        });
        if names_spill_memory { SpillKind::of(instruction.opcode) } else { None }
    }

    /// The rows of instructions by id; of two with one id the last.
    #[must_use]
    pub fn by_id(&self) -> ById {
        let mut rows = ById::new(self.instructions.len());
        for (row, instruction) in self.instructions.iter().enumerate() {
            rows.insert(instruction.id, row);
        }
        rows
    }

    /// Of each instruction the row of [`SourceMap::infos`] that has it; of several the last.
    #[must_use]
    pub fn infos(&self) -> Vec<Option<u32>> {
        let mut infos = vec![None; self.instructions.len()];
        let Some(map) = &self.source_map else { return infos };
        let rows = self.by_id();
        for (number, info) in map.infos.iter().enumerate() {
            for row in info.ids.iter().filter_map(|id| rows.get(*id)) {
                infos[row] = u32::try_from(number).ok();
            }
        }
        infos
    }
}

/// The first bundle from one on that is still free; the way to it is shortened.
fn free(next: &mut [usize], from: usize) -> usize {
    let mut end = from;
    while next[end] != end {
        end = next[end];
    }
    let mut at = from;
    while next[at] != at {
        at = std::mem::replace(&mut next[at], end);
    }
    end
}
