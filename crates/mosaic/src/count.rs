//! What a kernel computes and moves over its whole grid.
//!
//! Control of a kernel hangs on the place in the grid, on loops and on constants, nearly always; all of those are known when it
//! is compiled. So the scalar integers that conditions and bounds hang on are computed, step by step of the grid and trip by trip
//! of loops, and work is added up along the way: what a branch skips is not counted. Where a value comes out of memory, both
//! ways are counted, and the sum is an interval.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::attribute::to_width;
use crate::ids::{BlockId, OpId, ValueId};
use crate::module::Module;
use crate::needed::{FIRST_CARRIED, MOST_CALLS, Needed, handed_on};
use crate::scalar;
use crate::types::Type;
use crate::work::{Range, Work};

/// Why a sum is not one number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reason {
    /// An extent of the grid is an argument of the program.
    DynamicGrid {
        /// Which dimension, from 0.
        dimension: usize,
    },
    /// A branch hangs on data, and its ways do different work.
    DataBranch,
    /// A loop runs as often as data says.
    DataTrips,
    /// Which block comes next hangs on data.
    DataBlocks,
    /// The size of a copy or of a product is known at run time only, or not read here.
    UnknownSize {
        /// The operation.
        op: String,
    },
    /// Control goes between blocks in a way that is not followed.
    Blocks,
    /// There are more steps than are gone through one by one.
    TooManySteps,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DynamicGrid { dimension } => {
                write!(f, "dimension {dimension} of the grid is known at run time only")
            }
            Self::DataBranch => write!(f, "a branch around work hangs on data"),
            Self::DataTrips => write!(f, "a loop around work runs as often as data says"),
            Self::DataBlocks => write!(f, "which block comes next hangs on data"),
            Self::UnknownSize { op } => write!(f, "the size of a `{op}` is not known before it runs"),
            Self::Blocks => write!(f, "control jumps between blocks of the kernel"),
            Self::TooManySteps => write!(f, "there are too many steps to go through one by one"),
        }
    }
}

/// How many operations are gone through for one kernel.
const BUDGET: u64 = 2_000_000;
/// How deep operations are gone into, those of called functions among them.
const DEEPEST: usize = 128;

/// Goes through a kernel's code.
pub(crate) struct Counter<'m> {
    pub(crate) module: &'m Module,
    /// References to memory whose content is known and stays as it is.
    memory: BTreeMap<ValueId, &'m [i64]>,
    needed: Needed,
    /// For each block, the operations that must be looked at: what is needed, and what has regions that work.
    active: Vec<Vec<OpId>>,
    /// For each block, the work of its other operations.
    plain: Vec<Work>,
    /// For each block, the operations to look at, all that are inside among them.
    sizes: Vec<u64>,
    values: Vec<Option<i64>>,
    budget: u64,
    pub(crate) reasons: BTreeSet<Reason>,
    calls: usize,
}

impl<'m> Counter<'m> {
    pub(crate) fn new(module: &'m Module) -> Self {
        let needed = Needed::new(module);
        let count = module.blocks.len();
        let mut counter = Self {
            module,
            memory: BTreeMap::new(),
            active: vec![Vec::new(); count],
            plain: vec![Work::ZERO; count],
            sizes: vec![1; count],
            values: vec![None; module.values.len()],
            budget: BUDGET,
            reasons: BTreeSet::new(),
            calls: 0,
            needed,
        };
        // Blocks of an operation stand behind the block that it is in.
        for index in (0..count).rev() {
            for op in &module.blocks[index].ops {
                let works = counter.needed.works(*op);
                let is_deep = module.op(*op).regions().len() > 0 || module.name(*op) == "func.call";
                if module.op(*op).results().any(|value| counter.needed.value(value)) || (is_deep && works) {
                    counter.active[index].push(*op);
                    counter.sizes[index] = counter.sizes[index].saturating_add(1);
                    for region in module.op(*op).regions() {
                        for block in module.region(region).blocks() {
                            counter.sizes[index] =
                                counter.sizes[index].saturating_add(counter.sizes[block.index()]);
                        }
                    }
                }
                if works && !is_deep {
                    let work = module.work(*op);
                    counter.plain[index] = counter.plain[index].plus(work);
                }
            }
        }
        counter
    }

    /// From here on, memory behind a reference holds these values, the last dimension fastest.
    pub(crate) fn holds(&mut self, reference: ValueId, content: &'m [i64]) {
        self.memory.insert(reference, content);
    }

    /// What a load gives out of memory whose content is known.
    fn loaded(&self, op: OpId) -> Option<i64> {
        let (reference, indices) = self.module.op(op).operands.split_first()?;
        let content = self.memory.get(reference)?;
        let Type::MemRef { shape, .. } = self.module.type_of(*reference)? else { return None };
        if shape.len() != indices.len() {
            return None;
        }
        let mut at = 0_usize;
        for (extent, index) in shape.iter().zip(indices) {
            let (extent, index) = (usize::try_from(*extent).ok()?, usize::try_from(self.get(*index)?).ok()?);
            at = at.checked_mul(extent)?.checked_add(index).filter(|_| index < extent)?;
        }
        let result = self.module.op(op).results().next()?;
        let bits = scalar::width(self.module.type_of(result)?)?;
        Some(to_width(*content.get(at)?, bits))
    }

    fn get(&self, value: ValueId) -> Option<i64> {
        self.values[value.index()]
    }

    fn set(&mut self, value: ValueId, to: Option<i64>) {
        if self.needed.value(value) {
            self.values[value.index()] = to;
        }
    }

    /// The values of several values.
    fn gets(&self, values: &[ValueId]) -> Vec<Option<i64>> {
        values.iter().map(|value| self.get(*value)).collect()
    }

    /// Whether a value decides what is done.
    pub(crate) fn decides(&self, value: ValueId) -> bool {
        self.needed.value(value)
    }

    /// What the function does in all, for all places of a grid. The first arguments of its block are those places.
    pub(crate) fn grid(&mut self, function: OpId, grid: &[Option<u64>]) -> Work {
        let Some(block) = self.body(function) else { return self.blocks(function) };
        let arguments: Vec<ValueId> = self.module.block(block).arguments().collect();
        for argument in &arguments {
            self.set(*argument, None);
        }
        // Places along dimensions that decide nothing do the same work.
        let (mut same, mut steps) = (Range::exact(1), 1_u64);
        let mut deciding = Vec::new();
        for (dimension, extent) in grid.iter().enumerate() {
            let argument = arguments.get(dimension).copied();
            match (argument.filter(|a| self.decides(*a)), extent) {
                (Some(argument), Some(extent)) => {
                    steps = steps.saturating_mul(*extent);
                    deciding.push((argument, *extent));
                }
                (_, Some(extent)) => same = same.times(Range::exact(*extent)),
                (_, None) => same = same.times(Range::UNKNOWN),
            }
        }
        let work = if steps.saturating_mul(self.sizes[block.index()]) <= self.budget {
            let mut sum = Work::ZERO;
            for step in 0..steps {
                let mut rest = step;
                for (argument, extent) in deciding.iter().rev() {
                    self.set(*argument, Some((rest % extent) as i64));
                    rest /= extent;
                }
                sum = sum.plus(self.block(block, 0));
            }
            sum
        } else {
            let one = self.block(block, 0);
            if one != one.with(one, |a, _| Range::exact(a.at_least)) {
                self.reasons.insert(Reason::TooManySteps);
            }
            one.times(Range::exact(steps))
        };
        if !work.is_zero() {
            for (dimension, extent) in grid.iter().enumerate() {
                if extent.is_none() {
                    self.reasons.insert(Reason::DynamicGrid { dimension });
                }
            }
        }
        work.times(same)
    }

    /// What a function gives for these arguments.
    pub(crate) fn call(&mut self, function: OpId, arguments: &[Option<i64>]) -> Vec<Option<i64>> {
        let Some(block) = self.body(function) else { return Vec::new() };
        for (index, argument) in self.module.block(block).arguments().enumerate() {
            self.set(argument, arguments.get(index).copied().flatten());
        }
        self.block(block, 0);
        handed_on(self.module, block).map_or_else(Vec::new, |values| self.gets(values))
    }

    /// How many operations are looked at in one go through a function.
    pub(crate) fn size(&self, function: OpId) -> u64 {
        self.body(function).map_or(1, |block| self.sizes[block.index()])
    }

    /// The only block of a function.
    fn body(&self, function: OpId) -> Option<BlockId> {
        self.module.op(function).regions().next().and_then(|region| self.module.only_block(region))
    }

    /// Work of a region whose control is not followed: at least nothing.
    fn blocks(&mut self, op: OpId) -> Work {
        if !self.needed.works(op) {
            return Work::ZERO;
        }
        self.reasons.insert(Reason::Blocks);
        Work::ZERO.with(Work::ZERO, |_, _| Range::UNKNOWN)
    }

    fn block(&mut self, block: BlockId, depth: usize) -> Work {
        let mut sum = self.plain[block.index()];
        for index in 0..self.active[block.index()].len() {
            let op = self.active[block.index()][index];
            self.budget = self.budget.saturating_sub(1);
            sum = sum.plus(self.op(op, depth));
        }
        sum
    }

    fn op(&mut self, op: OpId, depth: usize) -> Work {
        let module = self.module;
        if depth > DEEPEST {
            return self.blocks(op);
        }
        let regions = module.op(op).regions();
        match module.name(op) {
            "scf.if" => self.branch(op, depth),
            "scf.for" => self.counted_loop(op, depth),
            "scf.while" => self.open_loop(op, depth),
            "scf.index_switch" => self.switch(op, depth),
            "func.call" => self.called(op, depth),
            "tpu.region" | "tpu.trace" => self.once(op, depth),
            "memref.load" => {
                let value = self.loaded(op);
                self.set_results(op, &[value]);
                Work::ZERO
            }
            _ if regions.len() > 0 => {
                self.forget_results(op);
                self.blocks(op)
            }
            _ => {
                let operands = self.gets(&module.op(op).operands);
                if let Some(result) = module.op(op).results().next() {
                    self.set(result, scalar::evaluate(module, op, &operands));
                }
                Work::ZERO
            }
        }
    }

    fn forget_results(&mut self, op: OpId) {
        for value in self.module.op(op).results() {
            self.set(value, None);
        }
    }

    fn set_results(&mut self, op: OpId, to: &[Option<i64>]) {
        for (index, value) in self.module.op(op).results().enumerate() {
            self.set(value, to.get(index).copied().flatten());
        }
    }

    /// A region's work, and what it hands on. A region without a block does nothing.
    fn region(&mut self, op: OpId, index: usize, depth: usize) -> (Work, Vec<Option<i64>>) {
        let module = self.module;
        let Some(region) = module.op(op).regions().nth(index) else { return (Work::ZERO, Vec::new()) };
        match module.only_block(region) {
            Some(block) => {
                let work = self.block(block, depth + 1);
                let end = handed_on(module, block).map_or_else(Vec::new, |values| self.gets(values));
                (work, end)
            }
            None if module.region(region).blocks().len() == 0 => (Work::ZERO, Vec::new()),
            None => (self.blocks(op), Vec::new()),
        }
    }

    fn once(&mut self, op: OpId, depth: usize) -> Work {
        let (work, end) = self.region(op, 0, depth);
        self.set_results(op, &end);
        work
    }

    fn branch(&mut self, op: OpId, depth: usize) -> Work {
        let condition = self.module.op(op).operands.first().and_then(|value| self.get(*value));
        match condition {
            Some(condition) => {
                let (work, end) = self.region(op, usize::from(condition == 0), depth);
                self.set_results(op, &end);
                work
            }
            None => self.either(op, 0..self.module.op(op).regions().len().max(2), depth),
        }
    }

    /// One of several regions, which is not known.
    fn either(&mut self, op: OpId, regions: std::ops::Range<usize>, depth: usize) -> Work {
        let mut ways: Option<(Work, Vec<Option<i64>>)> = None;
        for index in regions {
            let (work, end) = self.region(op, index, depth);
            ways = Some(match ways {
                None => (work, end),
                Some((other, others)) => {
                    if other != work {
                        self.reasons.insert(Reason::DataBranch);
                    }
                    let same = |(a, b): (&Option<i64>, &Option<i64>)| a.filter(|_| a == b);
                    (other.or(work), others.iter().zip(&end).map(same).collect())
                }
            });
        }
        let (work, end) = ways.unwrap_or((Work::ZERO, Vec::new()));
        self.set_results(op, &end);
        work
    }

    /// `scf.index_switch`: the region of the case, the first one where none fits.
    fn switch(&mut self, op: OpId, depth: usize) -> Work {
        let module = self.module;
        let value = module.op(op).operands.first().and_then(|value| self.get(*value));
        let cases = module.attribute(op, "cases").and_then(|a| module.integers(a));
        match value.zip(cases) {
            Some((value, cases)) => {
                let region = cases.iter().position(|case| *case == value).map_or(0, |index| index + 1);
                let (work, end) = self.region(op, region, depth);
                self.set_results(op, &end);
                work
            }
            None => self.either(op, 0..module.op(op).regions().len(), depth),
        }
    }

    fn counted_loop(&mut self, op: OpId, depth: usize) -> Work {
        let module = self.module;
        let operands = &module.op(op).operands;
        let body = module.op(op).regions().next().and_then(|region| module.only_block(region));
        let Some(body) = body else {
            self.forget_results(op);
            return self.blocks(op);
        };
        let bound = |index: usize| operands.get(index).and_then(|value| self.get(*value));
        let (lower, step) = (bound(0), bound(2));
        let trips = trips(lower, bound(1), step);
        let mut carried = self.gets(operands.get(FIRST_CARRIED..).unwrap_or(&[]));
        let arguments: Vec<ValueId> = module.block(body).arguments().collect();
        let is_same = arguments.iter().all(|argument| !self.decides(*argument));
        match trips {
            Some(0) => {
                self.set_results(op, &carried);
                Work::ZERO
            }
            Some(trips) if !is_same && trips.saturating_mul(self.sizes[body.index()]) <= self.budget => {
                let mut sum = Work::ZERO;
                let mut at = lower.unwrap_or(0);
                for _ in 0..trips {
                    self.enter(&arguments, Some(at), &carried);
                    sum = sum.plus(self.block(body, depth + 1));
                    carried = handed_on(module, body).map_or_else(Vec::new, |values| self.gets(values));
                    at = at.wrapping_add(step.unwrap_or(0));
                }
                self.set_results(op, &carried);
                sum
            }
            _ => {
                self.enter(&arguments, None, &[]);
                let one = self.block(body, depth + 1);
                self.forget_results(op);
                if trips.is_none() && !one.is_zero() {
                    self.reasons.insert(Reason::DataTrips);
                } else if !is_same && one != one.with(one, |a, _| Range::exact(a.at_least)) {
                    self.reasons.insert(Reason::TooManySteps);
                }
                one.times(Range::of(trips))
            }
        }
    }

    /// Gives a loop's arguments their values: the counter, then what the trip before handed on.
    fn enter(&mut self, arguments: &[ValueId], at: Option<i64>, carried: &[Option<i64>]) {
        for (index, argument) in arguments.iter().enumerate() {
            let value = match index.checked_sub(1) {
                None => at,
                Some(index) => carried.get(index).copied().flatten(),
            };
            self.set(*argument, value);
        }
    }

    /// `scf.while`: its first region decides whether its second one runs, and hands values to it.
    fn open_loop(&mut self, op: OpId, depth: usize) -> Work {
        let module = self.module;
        let blocks: Vec<BlockId> =
            module.op(op).regions().filter_map(|region| module.only_block(region)).collect();
        let [before, after] = blocks[..] else {
            self.forget_results(op);
            return self.blocks(op);
        };
        let (first, second): (Vec<ValueId>, Vec<ValueId>) =
            (module.block(before).arguments().collect(), module.block(after).arguments().collect());
        let mut carried = self.gets(&module.op(op).operands);
        let size = self.sizes[before.index()].saturating_add(self.sizes[after.index()]);
        let mut sum = Work::ZERO;
        let mut left = self.budget / size;
        loop {
            for (index, argument) in first.iter().enumerate() {
                self.set(*argument, carried.get(index).copied().flatten());
            }
            sum = sum.plus(self.block(before, depth + 1));
            let end = handed_on(module, before).map_or_else(Vec::new, |values| self.gets(values));
            let (goes_on, handed) = end.split_first().map_or((None, &[][..]), |(c, rest)| (*c, rest));
            for (index, argument) in second.iter().enumerate() {
                self.set(*argument, handed.get(index).copied().flatten());
            }
            match goes_on {
                Some(0) => {
                    let handed = handed.to_vec();
                    self.set_results(op, &handed);
                    return sum;
                }
                Some(_) if left > 0 => {
                    left -= 1;
                    sum = sum.plus(self.block(after, depth + 1));
                    carried = handed_on(module, after).map_or_else(Vec::new, |values| self.gets(values));
                }
                _ => {
                    // From here on it may end at once or run for ever.
                    for argument in first.iter().chain(&second) {
                        self.set(*argument, None);
                    }
                    let more = self.block(before, depth + 1).plus(self.block(after, depth + 1));
                    if !more.is_zero() {
                        self.reasons.insert(Reason::DataTrips);
                    }
                    self.forget_results(op);
                    return sum.plus(more.times(Range::UNKNOWN));
                }
            }
        }
    }

    fn called(&mut self, op: OpId, depth: usize) -> Work {
        let module = self.module;
        let operands = self.gets(&module.op(op).operands);
        let body = module.callee(op).and_then(|function| self.body(function));
        let Some(body) = body.filter(|_| self.calls < MOST_CALLS && self.budget > 0) else {
            self.forget_results(op);
            return self.blocks(op);
        };
        self.calls += 1;
        for (index, argument) in module.block(body).arguments().enumerate() {
            self.set(argument, operands.get(index).copied().flatten());
        }
        let work = self.block(body, depth + 1);
        let end = handed_on(module, body).map_or_else(Vec::new, |values| self.gets(values));
        self.set_results(op, &end);
        self.calls -= 1;
        work
    }
}

/// How often a loop runs; `None` where a bound is not known.
pub(crate) fn trips(lower: Option<i64>, upper: Option<i64>, step: Option<i64>) -> Option<u64> {
    let (lower, upper, step) = (i128::from(lower?), i128::from(upper?), i128::from(step?));
    if step <= 0 {
        return None;
    }
    let span = (upper - lower).max(0);
    u64::try_from((span + step - 1) / step).ok()
}
