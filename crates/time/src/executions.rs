//! How often each computation of a module runs in one execution of the module.

use haloscope_hlo::{ComputationIdx, InstructionIdx, Module, Opcode};

/// What a computation is to the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Nothing that runs calls it.
    Unreached,
    /// A function that an instruction applies to elements, such as a reduction's.
    Applied,
    /// The body of a fusion, or inside of one: its values do not pass through memory.
    Fused,
    /// The entry, a loop, a branch, a call: its values lie in memory.
    Control,
}

/// How often computations run.
#[derive(Debug, Clone)]
pub struct Executions {
    places: Vec<Place>,
    counts: Vec<Count>,
    callers: Vec<Option<InstructionIdx>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Count {
    times: u64,
    is_unknown: bool,
}

impl Executions {
    /// Follows calls from the entry: a loop's body runs as often as its trip count says, a branch of a conditional an unknown
    /// number of times. Linear in the module's size.
    #[must_use]
    pub fn new(module: &Module) -> Self {
        let computations = module.computations().len();
        let mut found = Self {
            places: vec![Place::Unreached; computations],
            counts: vec![Count::default(); computations],
            callers: vec![None; computations],
        };
        let entry = module.entry().index();
        found.places[entry] = Place::Control;
        found.counts[entry].times = 1;
        for caller in module.callees_first().into_iter().rev() {
            if found.places[caller.index()] == Place::Unreached {
                continue;
            }
            for index in module.computation(caller).instructions() {
                if !module.instruction(index).called_computations.is_empty() {
                    found.call(module, caller, index);
                }
            }
        }
        found
    }

    fn call(&mut self, module: &Module, caller: ComputationIdx, index: InstructionIdx) {
        let hlo = module.instruction(index);
        let (times, around) = (self.counts[caller.index()], self.places[caller.index()]);
        let trips = || module.trip_count(index);
        for (position, called) in hlo.called_computations.iter().enumerate() {
            let (place, factor) = match hlo.opcode {
                Opcode::Fusion => (Place::Fused, Some(1)),
                Opcode::While if position == 0 => (Place::Control, trips()),
                Opcode::While => (Place::Control, trips().and_then(|trips| trips.checked_add(1))),
                Opcode::Call | Opcode::AsyncStart => (Place::Control, Some(1)),
                Opcode::Conditional => (Place::Control, None),
                // The start has called it.
                Opcode::AsyncUpdate | Opcode::AsyncDone => continue,
                _ => (Place::Applied, None),
            };
            let slot = called.index();
            self.places[slot] = self.places[slot].max(place.min(around));
            self.callers[slot] = self.callers[slot].or(Some(index));
            let count = &mut self.counts[slot];
            match factor.and_then(|factor| times.times.checked_mul(factor)) {
                Some(more) => count.times = count.times.saturating_add(more),
                None => count.is_unknown = true,
            }
            count.is_unknown |= times.is_unknown;
        }
    }

    /// What a computation is to the program.
    #[must_use]
    pub fn place(&self, computation: ComputationIdx) -> Place {
        self.places.get(computation.index()).copied().unwrap_or(Place::Unreached)
    }

    /// How often a computation runs in one execution of the module; `None` inside of a loop whose trip count is not known, of
    /// a branch, and of functions that are applied to elements.
    #[must_use]
    pub fn count(&self, computation: ComputationIdx) -> Option<u64> {
        self.counts.get(computation.index()).filter(|count| !count.is_unknown).map(|count| count.times)
    }

    /// How often an instruction runs, likewise.
    #[must_use]
    pub fn of(&self, module: &Module, index: InstructionIdx) -> Option<u64> {
        self.count(module.instruction(index).computation)
    }

    /// The instruction that calls a computation, the first met where several do.
    #[must_use]
    pub fn caller(&self, computation: ComputationIdx) -> Option<InstructionIdx> {
        self.callers.get(computation.index()).copied().flatten()
    }

    /// The instruction that stands for this one where time is measured: itself, or the fusion around it.
    #[must_use]
    pub fn outermost(&self, module: &Module, index: InstructionIdx) -> InstructionIdx {
        /// Deeper nesting is no compiler's.
        const DEPTH: usize = 32;
        let mut at = index;
        for _ in 0..DEPTH {
            let computation = module.instruction(at).computation;
            if self.place(computation) != Place::Fused {
                break;
            }
            match self.caller(computation) {
                Some(caller) => at = caller,
                None => break,
            }
        }
        at
    }
}

/// Loops whose trip count is not known.
#[must_use]
pub fn uncounted_loops(module: &Module) -> usize {
    let is_uncounted = |(index, hlo): &(InstructionIdx, &haloscope_hlo::Instruction)| {
        hlo.opcode == Opcode::While && module.trip_count(*index).is_none()
    };
    module.instructions().filter(is_uncounted).count()
}
