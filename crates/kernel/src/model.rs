//! How often each bundle runs, which loop is hot, and what it uses: the compiler's schedule, weighted by the trips of loops.

use haloscope_llo::{Group, GroupIdx, Kind, Module, Part, UNITS, UnitIdx};

/// What bundles use, one behind the other.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Use {
    /// How many bundles.
    pub bundles: u64,
    /// Of these the ones that use no unit: they wait for results of earlier ones, or for copies.
    pub empty: u64,
    /// How much of each unit, in the order of [`UNITS`].
    pub used: [u64; 7],
    /// How much of each unit a bundle has.
    pub capacity: [u64; 7],
    /// Vectors stored for want of a register.
    pub spills: u64,
    /// Vectors loaded again.
    pub fills: u64,
}

impl Use {
    /// What these bundles use. Those behind the module's end do not count.
    #[must_use]
    pub fn of(module: &Module<'_>, bundles: impl Iterator<Item = usize>) -> Self {
        let utilization = &module.utilization;
        let mut all = Self::default();
        for (slot, unit) in all.capacity.iter_mut().zip(UNITS) {
            *slot = u64::from(utilization.unit(unit).capacity);
        }
        let count = module.bundles();
        let of = |list: &[u32], bundle: usize| list.get(bundle).copied().map_or(0, u64::from);
        for bundle in bundles.filter(|bundle| *bundle < count) {
            all.bundles += 1;
            all.empty += u64::from(utilization.is_empty(bundle));
            for (slot, unit) in all.used.iter_mut().zip(UNITS) {
                *slot += u64::from(utilization.used(unit, bundle));
            }
            all.spills += of(&utilization.spills, bundle);
            all.fills += of(&utilization.fills, bundle);
        }
        all
    }

    /// Share of a unit's capacity that is used; `None` where there is none.
    #[must_use]
    pub fn share(&self, unit: UnitIdx) -> Option<f64> {
        let capacity = self.capacity[unit as usize] * self.bundles;
        (capacity > 0).then(|| self.used[unit as usize] as f64 / capacity as f64)
    }

    /// Share of bundles that use no unit.
    #[must_use]
    pub fn empty_share(&self) -> Option<f64> {
        (self.bundles > 0).then(|| self.empty as f64 / self.bundles as f64)
    }

    /// Bundles that a unit alone would need for what it does.
    #[must_use]
    pub fn floor(&self, unit: UnitIdx) -> u64 {
        let (used, capacity) = (self.used[unit as usize], self.capacity[unit as usize]);
        used.checked_div(capacity).map_or(0, |whole| whole + u64::from(whole * capacity < used))
    }

    /// The unit that would need the most bundles, the first of equals, and how many; `None` where no unit is used.
    #[must_use]
    pub fn busiest(&self) -> Option<(UnitIdx, u64)> {
        let floors = UNITS.map(|unit| (unit, self.floor(unit)));
        let most = floors.iter().map(|floor| floor.1).max()?;
        floors.into_iter().find(|floor| most > 0 && floor.1 == most)
    }
}

/// Loops that are looked at. Kernels have dozens at most; a file that claims more is not worth the time.
const MOST_LOOPS: usize = 1000;

/// A loop of a kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct Loop {
    /// Its row in [`Module::groups`].
    pub group: GroupIdx,
    /// The path of the region that it stands in.
    pub path: String,
    /// How often its body runs in one run of the loop; `None` where that is known only when it runs.
    pub trips: Option<u64>,
    /// Its body's first bundle.
    pub first: u64,
    /// The bundle behind its body's last.
    pub limit: u64,
    /// What its body uses, each bundle once.
    pub once: Use,
    /// Bundles of which it is the innermost loop, times how often they run; `None` where trips are unknown.
    pub modelled: Option<f64>,
}

/// The schedule of a kernel, weighted.
#[derive(Debug, Clone)]
pub struct Model {
    /// The region of each bundle.
    pub regions: Vec<Option<GroupIdx>>,
    /// How often each group runs in one run of the kernel if every branch is taken; `None` where trips are unknown.
    pub runs: Vec<Option<f64>>,
    /// Whether a group runs only where a predicate holds.
    pub gated: Vec<bool>,
    /// The loops, in the order of the program.
    pub loops: Vec<Loop>,
}

impl Model {
    /// Of a module.
    #[must_use]
    pub fn new(module: &Module<'_>) -> Self {
        let regions = module.regions();
        let (mut runs, mut gated) = (Vec::new(), Vec::new());
        for group in &module.groups {
            let around = group.parent.and_then(|row| module.groups.get(row));
            let of_parent: Option<f64> = group.parent.map_or(Some(1.0), |row| runs[row]);
            let here = match (around.map(|group| group.kind), group.part) {
                (Some(Kind::Loop(space)), Part::Body | Part::Footer | Part::FooterBranch) => {
                    of_parent.zip(space.trips()).map(|(runs, trips)| runs * trips as f64)
                }
                // The count is looked at once more than the body runs.
                (Some(Kind::Loop(space)), Part::Header | Part::HeaderBranch) => {
                    of_parent.zip(space.trips()).map(|(runs, trips)| runs * trips.max(1) as f64)
                }
                _ => of_parent,
            };
            runs.push(here);
            gated.push(group.part == Part::Then || group.parent.is_some_and(|row| gated[row]));
        }
        let mut model = Self { regions, runs, gated, loops: Vec::new() };
        model.loops = model.find_loops(module);
        model
    }

    /// How often a bundle runs if every branch is taken.
    #[must_use]
    pub fn runs_of(&self, bundle: usize) -> Option<f64> {
        self.regions.get(bundle).copied().flatten().map_or(Some(1.0), |row| self.runs[row])
    }

    /// Bundles times how often each runs, if every branch is taken: cycles of one run of the kernel, without waiting for copies.
    /// `None` where the trips of a loop are unknown.
    #[must_use]
    pub fn most(&self) -> Option<f64> {
        (0..self.regions.len()).map(|bundle| self.runs_of(bundle)).sum()
    }

    /// The same if no branch is taken.
    #[must_use]
    pub fn least(&self) -> Option<f64> {
        let is_gated = |bundle: &usize| self.regions[*bundle].is_some_and(|row| self.gated[row]);
        (0..self.regions.len()).filter(|bundle| !is_gated(bundle)).map(|bundle| self.runs_of(bundle)).sum()
    }

    /// The loop that takes the most bundles by itself; where trips are unknown, that with the longest body.
    #[must_use]
    pub fn hot(&self) -> Option<&Loop> {
        let is_known = self.loops.iter().all(|l| l.modelled.is_some());
        let weight = |l: &Loop| if is_known { l.modelled.unwrap_or(0.0) } else { l.once.bundles as f64 };
        // The first of equals.
        self.loops.iter().rev().max_by(|a, b| weight(a).total_cmp(&weight(b)))
    }

    fn find_loops(&self, module: &Module<'_>) -> Vec<Loop> {
        // The innermost loop around each group.
        let mut innermost: Vec<Option<GroupIdx>> = Vec::with_capacity(module.groups.len());
        for (row, group) in module.groups.iter().enumerate() {
            let own = matches!(group.kind, Kind::Loop(_)).then_some(row);
            innermost.push(own.or_else(|| group.parent.and_then(|parent| innermost[parent])));
        }
        let mut own: Vec<Option<f64>> = vec![Some(0.0); module.groups.len()];
        for region in self.regions.iter().flatten() {
            if let Some(of) = innermost[*region] {
                own[of] = own[of].zip(self.runs[*region]).map(|(sum, runs)| sum + runs);
            }
        }
        let mut loops = Vec::new();
        for (row, group) in module.groups.iter().enumerate() {
            let Kind::Loop(space) = group.kind else { continue };
            if loops.len() == MOST_LOOPS {
                break;
            }
            let mut parts = module.children(row).filter_map(|part| module.groups.get(part));
            let body = parts.find(|part| part.part == Part::Body);
            let first = body.and_then(|body| u64::try_from(body.first_bundle).ok()).unwrap_or(0);
            let limit = first + body.map_or(0, Group::bundles).min(module.bundles() as u64);
            loops.push(Loop {
                group: row,
                path: group.parent.map(|parent| module.path(parent)).unwrap_or_default(),
                trips: space.trips(),
                first,
                limit,
                once: Use::of(module, first as usize..limit as usize),
                modelled: own[row],
            });
        }
        loops
    }
}
