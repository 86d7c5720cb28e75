//! The blocks of operands that the pipeline around a kernel copies.

use std::collections::BTreeSet;

use crate::count::{Counter, Reason};
use crate::ids::OpId;
use crate::work::Range;

/// What is copied of one argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traffic {
    /// Which of the kernel's arguments, from 0, places in the grid among them.
    pub argument: usize,
    /// How often a block is copied: when its place is not that of the step before.
    pub copies: Range,
    /// Bytes of all copies.
    pub bytes: Range,
    /// Different blocks, as far as they were told apart.
    pub blocks: Option<u64>,
    /// Whether the kernel writes the blocks, so that they go to HBM.
    pub is_written: bool,
}

/// How many operations are gone through for one window.
const BUDGET: u64 = 400_000;

/// A window whose copies are counted.
pub(crate) struct Asked<'m, 'a> {
    /// The function from the grid to the block's place.
    pub(crate) transform: OpId,
    pub(crate) grid: &'a [Option<u64>],
    /// Extents of a block.
    pub(crate) block: &'a [u64],
    /// Bits of an element; `None` where they are not known.
    pub(crate) element_bits: Option<u64>,
    /// Extents of the whole array, where they are known: blocks over its edge are cut off.
    pub(crate) array: Option<&'a [u64]>,
    /// Values of prefetched scalars, which follow the grid's places among what the function is given.
    pub(crate) scalars: &'a [Option<&'m [i64]>],
}

/// Copies, bytes and different blocks.
pub(crate) fn count<'m>(counter: &mut Counter<'m>, asked: &Asked<'m, '_>) -> (Range, Range, Option<u64>) {
    let arguments: Vec<_> = counter
        .module
        .op(asked.transform)
        .regions()
        .next()
        .and_then(|region| counter.module.only_block(region))
        .map_or_else(Vec::new, |block| counter.module.block(block).arguments().collect());
    for (reference, content) in arguments.iter().skip(asked.grid.len()).zip(asked.scalars) {
        if let Some(content) = content {
            counter.holds(*reference, content);
        }
    }
    let whole = |elements: u64| asked.element_bits.map(|bits| elements.saturating_mul(bits).div_ceil(8));
    let size = asked.block.iter().fold(1_u64, |product, extent| product.saturating_mul(*extent));
    let decides = |index: usize| arguments.get(index).is_some_and(|a| counter.decides(*a));
    // Behind the last dimension that decides, the block stays.
    let last = (0..asked.grid.len()).rev().find(|index| decides(*index));
    let extents = &asked.grid[..last.map_or(0, |last| last + 1)];
    let is_run = asked.grid.iter().all(|extent| *extent != Some(0));
    let steps = extents.iter().try_fold(1_u64, |steps, extent| Some(steps.saturating_mul((*extent)?)));
    let Some(steps) = steps.filter(|steps| steps.saturating_mul(counter.size(asked.transform)) <= BUDGET)
    else {
        let at_most = steps;
        for (dimension, extent) in extents.iter().enumerate() {
            if extent.is_none() {
                counter.reasons.insert(Reason::DynamicGrid { dimension });
            }
        }
        if steps.is_some() {
            counter.reasons.insert(Reason::TooManySteps);
        }
        let copies = Range { at_least: u64::from(is_run && at_most.is_some()), at_most };
        return (copies, copies.times(Range::of(whole(size))), None);
    };
    let mut copies = Range::ZERO;
    let mut bytes = Range::ZERO;
    let mut seen = BTreeSet::new();
    let mut before: Option<Vec<Option<i64>>> = None;
    let mut place = vec![None; asked.grid.len()];
    for step in 0..if is_run { steps } else { 0 } {
        let mut rest = step;
        for (slot, extent) in place.iter_mut().zip(extents).rev() {
            let extent = extent.unwrap_or(1);
            *slot = Some((rest % extent) as i64);
            rest /= extent;
        }
        let block = counter.call(asked.transform, &place);
        let is_known = block.iter().all(Option::is_some);
        if is_known && before.as_ref() == Some(&block) {
            continue;
        }
        let one = Range::of(whole(cut(asked, &block).unwrap_or(size)));
        let is_first = before.is_none();
        let is_other = |(a, b): (&Option<i64>, &Option<i64>)| a.zip(*b).is_some_and(|(a, b)| a != b);
        let count = if is_first || before.iter().flatten().zip(&block).any(is_other) {
            Range::exact(1)
        } else {
            counter.reasons.insert(Reason::DataBlocks);
            Range { at_least: 0, at_most: Some(1) }
        };
        copies = copies.plus(count);
        bytes = bytes.plus(one.times(count));
        seen.insert(block.clone());
        before = Some(block);
    }
    let is_known = seen.iter().flatten().all(Option::is_some);
    (copies, bytes, is_known.then_some(seen.len() as u64))
}

/// Elements of a block that lie in the array; `None` where its place or the array is not known.
fn cut(asked: &Asked<'_, '_>, place: &[Option<i64>]) -> Option<u64> {
    let array = asked.array.filter(|array| array.len() == asked.block.len() && array.len() == place.len())?;
    let mut elements = 1_u64;
    for ((extent, block), place) in array.iter().zip(asked.block).zip(place) {
        let first = u64::try_from((*place)?).ok()?.checked_mul(*block)?;
        elements = elements.checked_mul(extent.saturating_sub(first).min(*block))?;
    }
    Some(elements)
}
