//! Regions, loops and branches: the tree in which instructions stand.

use std::borrow::Cow;
use std::ops::Range;

/// A row of [`crate::Module::groups`], in which a group stands before those in it.
pub type GroupIdx = usize;

/// What a group is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Instructions and groups in the order of the program.
    Region,
    /// A loop; its parts are regions.
    Loop(IndexSpace),
    /// What runs only where a predicate holds; its parts are regions.
    Predicated,
}

/// What a loop counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexSpace {
    /// The first value.
    pub start: i64,
    /// The value behind the last.
    pub limit: i64,
    /// How far apart values are; 0 where the bounds are known only when it runs.
    pub step: i64,
}

impl IndexSpace {
    /// How often the body runs, where that is known: (limit - start) / step, rounded up.
    #[must_use]
    pub fn trips(self) -> Option<u64> {
        let length = i128::from(self.limit) - i128::from(self.start);
        let step = i128::from(self.step);
        if step == 0 || length.signum() == -step.signum() {
            return None;
        }
        u64::try_from((length.abs() + step.abs() - 1) / step.abs()).ok()
    }
}

/// Which part of the group around it a region is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// The whole program.
    Top,
    /// A region in a region.
    Inner,
    /// A loop or a branch in a region.
    Member,
    /// Before a loop.
    PreHeader,
    /// A loop's count.
    Header,
    /// Whether the loop goes on.
    HeaderBranch,
    /// What the loop does.
    Body,
    /// Behind the body.
    Footer,
    /// Whether the loop goes on.
    FooterBranch,
    /// Behind a loop.
    Exit,
    /// Computes a predicate.
    Check,
    /// Branches by it.
    CheckBranch,
    /// What runs where it holds.
    Then,
    /// What follows where it does not.
    FallThrough,
}

impl Part {
    /// The parts of a loop, by field.
    pub(crate) const OF_LOOP: [Self; 7] = [
        Self::PreHeader,
        Self::Header,
        Self::HeaderBranch,
        Self::Body,
        Self::Footer,
        Self::FooterBranch,
        Self::Exit,
    ];
    /// The parts of a branch, by field.
    pub(crate) const OF_BRANCH: [Self; 4] = [Self::Check, Self::CheckBranch, Self::Then, Self::FallThrough];

    /// XProf's word for it, such as `pre_header`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Top => "top",
            Self::Inner => "sub_region",
            Self::Member => "member",
            Self::PreHeader => "pre_header",
            Self::Header => "header",
            Self::HeaderBranch => "header_branch",
            Self::Body => "body",
            Self::Footer => "footer",
            Self::FooterBranch => "footer_branch",
            Self::Exit => "exit",
            Self::Check => "check_region",
            Self::CheckBranch => "check_branch_region",
            Self::Then => "predicated_region",
            Self::FallThrough => "fallthru_region",
        }
    }
}

/// A region, a loop or a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group<'a> {
    /// What it is.
    pub kind: Kind,
    /// Which part of the group around it.
    pub part: Part,
    /// Its name; mostly empty.
    pub name: Cow<'a, str>,
    /// The group around it; `None` for the first.
    pub parent: Option<GroupIdx>,
    /// Its first bundle; -1 where nothing of it was scheduled. Regions of a loop overlap.
    pub first_bundle: i32,
    /// The bundle behind its last; -1 where nothing of it was scheduled.
    pub limit_bundle: i32,
    /// Its number in the compiler's text: `$region64`.
    pub ordinal: i32,
    /// How many instructions stand in it, those of inner groups left out.
    pub own_instructions: usize,
    /// Its instructions, those of inner groups with them: rows of [`crate::Module::instructions`].
    pub instructions: Range<usize>,
    /// Where the groups in it end: they are rows of [`crate::Module::groups`] from the one behind it on.
    pub end: GroupIdx,
    /// How many groups stand around it.
    pub depth: usize,
}

impl Group<'_> {
    /// Whether a bundle is one of its bundles.
    #[must_use]
    pub fn has_bundle(&self, bundle: i64) -> bool {
        i64::from(self.first_bundle) <= bundle && bundle < i64::from(self.limit_bundle)
    }

    /// How many bundles it spans; 0 where nothing of it was scheduled.
    #[must_use]
    pub fn bundles(&self) -> u64 {
        u64::try_from(i64::from(self.limit_bundle) - i64::from(self.first_bundle)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trips_are_counted_where_the_bounds_are_known() {
        let trips = |start, limit, step| IndexSpace { start, limit, step }.trips();
        assert_eq!((trips(0, 66, 1), trips(0, 10, 3), trips(4, 0, -1)), (Some(66), Some(4), Some(4)));
        assert_eq!((trips(0, 0, 1), trips(0, 66, 0)), (Some(0), None));
        // A loop that counts away from its limit says nothing.
        assert_eq!(trips(0, 8, -1), None);
        assert_eq!(trips(i64::MIN, i64::MAX, 1), Some(u64::MAX));
    }
}
