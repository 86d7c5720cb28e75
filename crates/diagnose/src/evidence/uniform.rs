//! Whether all ops that one limit binds are as slow as each other: then it is not the ops, but what they have in common.

use std::collections::BTreeSet;

use haloscope_hlo::{ElementType, Matmul};
use haloscope_profile::chips;
use haloscope_time::account::Class;
use haloscope_time::ops::Op;
use haloscope_time::roofline::MOST_OF_PEAK;

use super::Evidence;
use super::names::counted;
use super::usual::{self, Usual};
use super::work::{Limits, Roof, is_irregular};

/// What ops reach that one limit binds, where they agree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Uniform {
    /// The share of the roof that they reach.
    pub reached: f64,
    /// How many different ops were looked at.
    pub ops: usize,
    /// The part of their time that is in ops which reach this, within [`AGREE`].
    pub agreeing: f64,
    /// The share of the active window that they have.
    pub share: f64,
    /// How far they can fill what limits them.
    pub fill: Fill,
}

/// How far ops fill the matrix unit, a share of it, where nobody knows which of two operands it holds: a convolution that holds its kernel
/// pads its features, one that holds its patches does not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fill {
    /// With the operand that fills it less.
    pub least: f64,
    /// With the other one.
    pub most: f64,
}

impl Fill {
    const WHOLE: Self = Self { least: 1.0, most: 1.0 };

    /// What holds for both: as little as either may fill, as much as either may.
    fn and(self, other: Self) -> Self {
        Self { least: self.least.min(other.least), most: self.most.max(other.most) }
    }
}

/// What is said where ops do not tell.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reached {
    /// They agree.
    Alike(Uniform),
    /// They do not; what was seen.
    Mixed(String),
    /// Enough of them, or of what shares the limit with them, reach what is usual; what was seen.
    Usual(String),
    /// There are too few of them; what was seen.
    Few(String),
}

/// Fewer different ops may have something else in common.
const FEWEST: usize = 4;
/// So many must agree where some are not sure.
const FEWEST_UNSURE: usize = 6;
/// So few will do where they agree closely, and some are sure.
const FEWEST_CLOSE: usize = 3;
const AGREE_CLOSELY: f64 = 0.02;
/// Products of shorter sides reach less of the peak by themselves, and each shape another part of it: so many, of so many shapes, that reach
/// the same have it from what they share. Nearly all of their time must agree closely.
const FEWEST_SHORT: usize = 8;
const FEWEST_SHAPES: usize = 4;
const MOST_SHORT: f64 = 0.9;
/// They need this share of the active window together.
const WORTH: f64 = 0.03;
/// An execution shorter than this, picoseconds, is mostly its start.
const SHORTEST_PS: f64 = 5e6;
/// Bytes of one execution from which on an op streams; smaller values stay in nearer memories.
const STREAMS_BYTES: f64 = 1e6;
/// One limit binds an op where no other is nearer than this part of it: of the other two limits that are known well, whose usual
/// shares of the peak differ by less ([`super::usual`]), and of those that are guesses.
const CLEARLY: f64 = 0.8;
const CLEARLY_BY_GUESS: f64 = 0.7;
/// The ops reach the same where they differ by no more than this.
const AGREE: f64 = 0.08;
/// This part of their time must agree.
const MOST: f64 = 0.6;
/// The best of them, by time: so much of their time is in ops that reach more.
const BEST: f64 = 0.15;
/// A product whose sides are at least this long fills the matrix unit well. Of a convolution, done as one product of patches and
/// kernels, the patches and what is summed over have to be so long, and its features whole matrix units.
const LARGE: u64 = 1024;
/// A product with shorter sides may have nothing but its shape to thank for what it reaches.
const SHORT: u64 = 512;
/// A convolution whose features are no whole matrix units is judged by what it can fill ([`Fill`]), from this part of a unit on, and where
/// what is summed over is so many units long.
const FEATURES: f64 = 0.5;
const SUMMED: u64 = 4;

/// An op with what limits it.
struct One {
    reached: f64,
    time_ps: f64,
    trust: Trust,
    fill: Fill,
    /// The sides of the product that it is; `None` of what is none.
    sides: Option<Sides>,
}

/// Rows, columns, and what is summed over.
type Sides = (u64, u64, u64);

/// How far what an op reaches tells what it could.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// What was counted of it is what it does, and what limits it alone.
    Sure,
    /// It need not be.
    Unsure,
    /// Its sides are short: it tells by how closely others of other shapes agree with it.
    Short,
}

impl<'p> Evidence<'p> {
    /// What is usual of a limit on this run's chips; `None` where the chip is not in the table.
    pub(crate) fn usual(&self, roof: Roof) -> Option<Usual> {
        let name = &self.selection.devices.first()?.type_name;
        match roof {
            Roof::Hbm => usual::memory(name),
            Roof::Matrix => usual::matrix(name),
            _ => None,
        }
    }

    /// What ops reach that clearly nothing but this limit binds. Of the bytes of slices and of updates in place it is not sure
    /// that all are moved: such ops are looked at where there are too few others, and have to be more; so are products that sum over less
    /// than 2048. Convolutions whose features are no whole matrix units are looked at where there are too few others, and products of
    /// shorter sides last.
    pub(crate) fn reached(&self, roof: Roof) -> Reached {
        let all: Vec<One> = self.bound().filter_map(|(op, limits)| self.one(op, &limits, roof)).collect();
        let whole = || all.iter().filter(|one| one.trust != Trust::Short);
        let sure = whole().filter(|one| one.trust == Trust::Sure && one.fill == Fill::WHOLE);
        let told = self.alike(sure, FEWEST, roof);
        if !matches!(told, Reached::Few(_)) {
            return told;
        }
        let fewest = if whole().all(|one| one.trust == Trust::Sure) { FEWEST } else { FEWEST_UNSURE };
        match self.alike(whole(), fewest, roof) {
            Reached::Few(seen) => self.closely_alike(&all, roof).unwrap_or(Reached::Few(seen)),
            told => told,
        }
    }

    /// What products of any sides reach, where these of many shapes do nearly the same.
    fn closely_alike(&self, all: &[One], roof: Roof) -> Option<Reached> {
        let products = || all.iter().filter(|one| one.sides.is_some());
        let shapes: BTreeSet<Sides> = products().filter_map(|one| one.sides).collect();
        if products().count() < FEWEST_SHORT || shapes.len() < FEWEST_SHAPES {
            return None;
        }
        let told = self.alike(products(), FEWEST_SHORT, roof);
        let uniform = match &told {
            Reached::Alike(uniform) => uniform,
            Reached::Usual(_) => return Some(told),
            Reached::Mixed(_) | Reached::Few(_) => return None,
        };
        let time = |is_meant: &dyn Fn(&One) -> bool| -> f64 {
            products().filter(|one| is_meant(one)).map(|one| one.time_ps).sum()
        };
        let close = time(&|one| (one.reached / uniform.reached - 1.0).abs() <= AGREE_CLOSELY);
        (close >= MOST_SHORT * time(&|_| true)).then_some(told)
    }

    fn alike<'o>(&self, all: impl Iterator<Item = &'o One>, fewest: usize, roof: Roof) -> Reached {
        let mut all: Vec<&One> = all.collect();
        let time: f64 = all.iter().map(|one| one.time_ps).sum();
        let share = self.of_active(time);
        let seen = format!("{} clearly limited by {}", counted(all.len() as u64, "op"), roof.words());
        let reached = || all.iter().map(|one| one.reached);
        let (least, most) = (reached().fold(f64::INFINITY, f64::min), reached().fold(0.0, f64::max));
        let is_close =
            most <= least * (1.0 + AGREE_CLOSELY) && all.iter().any(|one| one.trust == Trust::Sure);
        let fewest = if is_close { FEWEST_CLOSE } else { fewest };
        if all.len() < fewest || share < WORTH {
            return Reached::Few(seen);
        }
        let some_are_usual = match roof {
            Roof::Hbm => self.some_are_usual(&all),
            _ => self.products_are_usual(),
        };
        if some_are_usual {
            return Reached::Usual(seen);
        }
        all.sort_by(|a, b| b.reached.total_cmp(&a.reached));
        let mut before = 0.0;
        let best = all.iter().find(|one| {
            before += one.time_ps;
            before >= BEST * time
        });
        let Some(reached) = best.map(|one| one.reached) else { return Reached::Few(seen) };
        let alike: Vec<&&One> =
            all.iter().filter(|one| (one.reached / reached - 1.0).abs() <= AGREE).collect();
        let agreeing = alike.iter().map(|one| one.time_ps).sum::<f64>() / time.max(1.0);
        if alike.len() < fewest || agreeing < MOST {
            return Reached::Mixed(seen);
        }
        let fill = alike.iter().map(|one| one.fill).reduce(Fill::and).unwrap_or(Fill::WHOLE);
        Reached::Alike(Uniform { reached, ops: all.len(), agreeing, share, fill })
    }

    /// Whether enough of these ops reach what is usual of memory: all share the same one, which is not slow then, however many others take
    /// longer.
    fn some_are_usual(&self, all: &[&One]) -> bool {
        let Some(usual) = self.usual(Roof::Hbm) else { return false };
        let well = || all.iter().filter(|one| one.reached >= usual.low);
        well().count() >= FEWEST && self.of_active(well().map(|one| one.time_ps).sum()) >= WORTH
    }

    /// Whether enough of the products, whatever their sides, reach what is usual of large ones: these are not held up by the chip then.
    fn products_are_usual(&self) -> bool {
        let Some(usual) = self.usual(Roof::Matrix) else { return false };
        let well = self.bound().filter_map(|(op, limits)| {
            let (own, time_ps) = (limits.of(Roof::Matrix), self.even_ps(op));
            let is_long = time_ps / op.occurrences.max(1) as f64 >= SHORTEST_PS;
            (is_long && (usual.low * time_ps..=MOST_OF_PEAK * time_ps).contains(&own)).then_some(time_ps)
        });
        let (count, time_ps) = well.fold((0, 0.0), |(count, sum), time_ps| (count + 1, sum + time_ps));
        count >= FEWEST && self.of_active(time_ps) >= WORTH
    }

    /// The rate of HBM that ops of this run reach which nothing else binds, as a share of the peak; `None` where they do not agree.
    pub(crate) fn memory_rate(&self) -> Option<f64> {
        match self.reached(Roof::Hbm) {
            Reached::Alike(uniform) => Some(uniform.reached),
            _ => None,
        }
    }

    /// The part of what is usual at least that this run's memory carries: 1 where nothing says that it is slow.
    pub(crate) fn memory_of_usual(&self) -> f64 {
        let usual = self.memory_rate().zip(self.usual(Roof::Hbm));
        usual.map_or(1.0, |(rate, usual)| (rate / usual.low).min(1.0))
    }

    /// The time of an op if devices that are slow by themselves worked as the others do, picoseconds summed over devices.
    pub(crate) fn even_ps(&self, op: &Op<'_>) -> f64 {
        op.self_ps as f64 / self.unevenness()
    }

    /// How many times as long work takes, a mean over devices, for those of them that are slow by themselves: `straggler` has these. 1 where
    /// none is.
    pub(crate) fn unevenness(&self) -> f64 {
        let slow = self.measured().ok().and_then(|measured| Some((measured.slow()?, measured.devices.len())));
        slow.map_or(1.0, |(slow, devices)| {
            1.0 + (slow.factor - 1.0).max(0.0) * slow.members.len() as f64 / devices.max(1) as f64
        })
    }

    /// The ops that compute or copy and whose limits are known, with these.
    pub(crate) fn bound(&self) -> impl Iterator<Item = (&Op<'p>, Limits)> {
        let rates = self.rates();
        let is_meant = |op: &&Op<'p>| {
            matches!(Class::of(&op.meta), Class::Compute | Class::Copy)
                && op.self_ps > 0
                && op.occurrences > 0
        };
        self.ops().iter().filter(is_meant).filter_map(move |op| Some((op, self.limits(op, &rates)?)))
    }

    fn one(&self, op: &Op<'_>, limits: &Limits, roof: Roof) -> Option<One> {
        let own = limits.of(roof);
        let others = [Roof::Matrix, Roof::Vector, Roof::Hbm, Roof::Vmem, Roof::Exp];
        let time_ps = self.even_ps(op);
        let is_near = |other: Roof| {
            let limit = limits.of(other);
            if !matches!(other, Roof::Matrix | Roof::Hbm) {
                return limit > own * CLEARLY_BY_GUESS;
            }
            // The lesser of two limits, if it explains little of the time even at the least that is usual, does not hold the op up.
            let explains = self.usual(other).map_or(f64::INFINITY, |usual| limit / usual.low);
            limit > own * CLEARLY && (limit > own || explains > time_ps * CLEARLY)
        };
        let is_clear = !others.into_iter().any(|other| other != roof && is_near(other));
        let runs = op.occurrences.max(1) as f64;
        let is_long = time_ps / runs >= SHORTEST_PS;
        if !is_long || own <= 0.0 || !is_clear {
            return None;
        }
        let (fill, trust, sides) = match roof {
            Roof::Hbm => {
                let streams = op.hbm_bytes.unwrap_or(0.0) / runs >= STREAMS_BYTES;
                let is_meant = streams && !is_irregular(&op.meta.category);
                let trust = if self.slices_or_is_called_so(op) { Trust::Unsure } else { Trust::Sure };
                (is_meant.then_some(Fill::WHOLE)?, trust, None)
            }
            Roof::Matrix => self.fill_of_large(op)?,
            _ => return None,
        };
        // More than all of a limit says that what was counted is wrong.
        let reached = own / time_ps;
        (reached <= MOST_OF_PEAK).then_some(One { reached, time_ps, trust, fill, sides })
    }

    fn slices_or_is_called_so(&self, op: &Op<'_>) -> bool {
        self.slices(op).unwrap_or_else(|| op.meta.name.contains("slice"))
    }

    /// How far an op fills the matrix unit that is one product of 16-bit operands or narrower whose sides are long, or a convolution that
    /// can be done as such a one, whether that is sure, and the sides of a product; `None` of others. Its FLOPs are known; how far it can
    /// fill the unit has bounds. A product that is summed over little more than a side writes its result more often for what it computes.
    fn fill_of_large(&self, op: &Op<'_>) -> Option<(Fill, Trust, Option<Sides>)> {
        let is_narrow = |lhs: ElementType, rhs: ElementType| {
            [lhs, rhs].iter().all(|kind| kind.bits().is_some_and(|bits| bits <= 16))
        };
        if op.meta.category.contains("custom") {
            return None;
        }
        let products = self.products(op);
        let is_large = |edge: u64| edge >= LARGE;
        let device = self.selection.devices.first()?;
        let edge = chips::tpu(&device.type_name)?.matrix_edge;
        if let Some(first) = products.first() {
            let sides = || products.iter().flat_map(|one| [one.m, one.n, one.k]);
            let is_whole = |side: u64| is_large(side) || (side >= SHORT && side.is_multiple_of(edge));
            if !products.iter().all(|one| is_narrow(one.lhs, one.rhs)) {
                return None;
            }
            let trust = match () {
                () if !sides().all(is_large) => sides().all(is_whole).then_some(Trust::Short)?,
                () if products.iter().all(|one| is_large(one.k / 2)) => Trust::Sure,
                () => Trust::Unsure,
            };
            return Some((Fill::WHOLE, trust, Some((first.m, first.n, first.k))));
        }
        let fill = |one: &Matmul| {
            if !is_narrow(one.lhs, one.rhs) || !is_large(one.m) {
                return None;
            }
            let part = |extent: u64| Some(extent as f64 / extent.checked_next_multiple_of(edge)? as f64);
            let (features, summed) = (part(one.n)?, part(one.k)?);
            if features >= 1.0 {
                return is_large(one.k).then_some(Fill::WHOLE);
            }
            let is_meant = features >= FEATURES && one.k >= SUMMED * edge;
            is_meant.then_some(Fill { least: features * summed, most: summed })
        };
        let fills: Option<Vec<Fill>> = self.convolutions(op).iter().map(fill).collect();
        Some((fills?.into_iter().reduce(Fill::and)?, Trust::Sure, None))
    }
}
