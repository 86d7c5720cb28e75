//! What two schedules of one kernel differ by: whether another kernel was written, or the same one traced or packed otherwise.

use std::collections::BTreeMap;

use haloscope_llo::{Kind, Module, Opcode, Space};

use crate::subject::Subject;

/// What differs, by what would explain it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// Nothing that is compared: the instructions by opcode, the bundle of each, trips and memory. Constants and operands are not.
    None,
    /// As many instructions of each opcode, packed otherwise.
    Schedule,
    /// As many instructions of each opcode, but for those that trace.
    Instrumentation,
    /// Other instructions, trips or memory, or another cut into blocks.
    Kernel,
    /// Those, and one of both is traced more than the other.
    KernelAndInstrumentation,
}

impl Difference {
    /// What two kernels differ by; `is_cut_otherwise` where their Mosaic modules have other grids, blocks, loops or products.
    #[must_use]
    pub fn of(a: &Subject<'_>, b: &Subject<'_>, is_cut_otherwise: bool) -> Self {
        let counts = opcodes(&a.module, &b.module);
        let differ =
            |is_trace: bool| counts.iter().any(|(opcode, (a, b))| opcode.is_trace() == is_trace && a != b);
        let is_other_kernel = is_cut_otherwise
            || differ(false)
            || trips(&a.module) != trips(&b.module)
            || own_memory(&a.module) != own_memory(&b.module);
        match (is_other_kernel, differ(true)) {
            (true, true) => Self::KernelAndInstrumentation,
            (true, false) => Self::Kernel,
            (false, true) => Self::Instrumentation,
            (false, false) if bundles(&a.module) == bundles(&b.module) => Self::None,
            (false, false) => Self::Schedule,
        }
    }

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Schedule => "schedule",
            Self::Instrumentation => "instrumentation",
            Self::Kernel => "kernel",
            Self::KernelAndInstrumentation => "kernel and instrumentation",
        }
    }
}

/// How often each opcode stands in two kernels, by number.
#[must_use]
pub fn opcodes(a: &Module<'_>, b: &Module<'_>) -> BTreeMap<Opcode, (u64, u64)> {
    let mut counts: BTreeMap<Opcode, (u64, u64)> = BTreeMap::new();
    for instruction in &a.instructions {
        counts.entry(instruction.opcode).or_default().0 += 1;
    }
    for instruction in &b.instructions {
        counts.entry(instruction.opcode).or_default().1 += 1;
    }
    counts
}

/// Which opcode stands in which bundle, in the order of the program, and the number of bundles.
fn bundles(module: &Module<'_>) -> (usize, Vec<(Opcode, Option<u32>)>) {
    (module.bundles(), module.instructions.iter().map(|one| (one.opcode, one.bundle)).collect())
}

/// Bundles that hold an instruction that is there for a trace.
#[must_use]
pub fn traced_bundles(module: &Module<'_>) -> u64 {
    let traces = module.instructions.iter().filter(|i| i.opcode.is_trace()).filter_map(|i| i.bundle);
    traces.collect::<std::collections::BTreeSet<_>>().len() as u64
}

/// The trips of each loop, in the order of the program.
fn trips(module: &Module<'_>) -> Vec<Option<u64>> {
    let of = |kind| match kind {
        Kind::Loop(space) => Some(space.trips()),
        Kind::Region | Kind::Predicated => None,
    };
    module.groups.iter().filter_map(|group| of(group.kind)).collect()
}

/// Vector memory that is not for spills: those follow from the schedule.
fn own_memory(module: &Module<'_>) -> i64 {
    let all = module.allocations();
    let own = all.values().filter(|it| it.space == Space::Vmem && !it.is_spill && !it.is_remote);
    own.fold(0, |sum, allocation| sum.saturating_add(allocation.bytes))
}

/// Bundles of a region in two kernels.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Region {
    /// Path of the region.
    pub path: String,
    /// Which of the regions with this path, from 1 on.
    pub nth: usize,
    /// Bundles of which it is the innermost region; `None` where the kernel does not have it.
    pub bundles: (Option<u64>, Option<u64>),
    /// The same times how often they run, every branch taken; `None` where that is not known either.
    pub modelled: (Option<f64>, Option<f64>),
    /// Of these bundles the ones with an instruction that traces.
    pub traced: (u64, u64),
}

/// The regions of two kernels, paired by path and by their order among those with the same path; those without bundles left out.
#[must_use]
pub fn regions(a: &Subject<'_>, b: &Subject<'_>) -> Vec<Region> {
    let mut paired: BTreeMap<(String, usize), Region> = BTreeMap::new();
    for (subject, is_first) in [(a, true), (b, false)] {
        for own in of_one(subject) {
            let key = (own.path.clone(), own.nth);
            let region = paired.entry(key).or_insert_with(|| Region {
                path: own.path.clone(),
                nth: own.nth,
                ..Region::default()
            });
            if is_first {
                (region.bundles.0, region.modelled.0, region.traced.0) =
                    (own.bundles.0, own.modelled.0, own.traced.0);
            } else {
                (region.bundles.1, region.modelled.1, region.traced.1) =
                    (own.bundles.0, own.modelled.0, own.traced.0);
            }
        }
    }
    paired.into_values().filter(|region| region.bundles.0.max(region.bundles.1) > Some(0)).collect()
}

/// The regions of one kernel, each as the first of a pair.
fn of_one(subject: &Subject<'_>) -> Vec<Region> {
    let module = &subject.module;
    let mut own = vec![(0_u64, 0_u64); module.groups.len()];
    let mut is_traced = vec![false; module.bundles()];
    for bundle in module.instructions.iter().filter(|i| i.opcode.is_trace()).filter_map(|i| i.bundle) {
        if let Some(slot) = is_traced.get_mut(bundle as usize) {
            *slot = true;
        }
    }
    for (region, is_traced) in subject.model.regions.iter().zip(&is_traced) {
        if let Some(slot) = region.and_then(|row| own.get_mut(row)) {
            slot.0 += 1;
            slot.1 += u64::from(*is_traced);
        }
    }
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut all = Vec::new();
    for (row, group) in module.groups.iter().enumerate().filter(|(_, group)| group.kind == Kind::Region) {
        let path = format!("{}:{}", module.path(row), group.part.word());
        let nth = seen.entry(path.clone()).or_insert(0);
        *nth += 1;
        let (bundles, traced) = own[row];
        let runs = subject.model.runs.get(row).copied().flatten();
        all.push(Region {
            path,
            nth: *nth,
            bundles: (Some(bundles), None),
            modelled: (runs.map(|runs| runs * bundles as f64), None),
            traced: (traced, 0),
        });
    }
    all
}
