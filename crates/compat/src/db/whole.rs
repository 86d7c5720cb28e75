//! All ops as one, for tables that hold a row for the whole run or a step beside those of the ops.

use haloscope_time::op_meta::Access;

use super::{Db, Row, add_accesses};

/// Which ops count where all are taken as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Events of these contain those of other ops: their FLOPs and bytes are those of the ops inside, and never count.
    Around,
    /// Waits for, or moves data to or from, the host.
    InfeedOutfeed,
    /// The others.
    Plain,
}

impl Part {
    /// By the op's category.
    #[must_use]
    pub(crate) fn from_category(category: &str) -> Self {
        match category {
            "call" | "conditional" | "while" | "megacore fusion" => Self::Around,
            _ if category.contains("infeed") || category.contains("outfeed") => Self::InfeedOutfeed,
            _ => Self::Plain,
        }
    }
}

/// What ops did together.
#[derive(Debug, Clone, Default)]
struct Sum {
    flops: f64,
    model_flops: f64,
    bytes: u64,
    accesses: Vec<Access>,
}

/// All ops as one. FLOPs are sums of floating-point numbers, for which order matters: they are added in the order of the ops.
#[derive(Debug, Clone, Default)]
pub(crate) struct Whole {
    /// Time from the first op to the last, summed over devices, picoseconds.
    total_ps: u64,
    /// Time of infeed and outfeed, picoseconds.
    moved_ps: u64,
    all: Sum,
    /// Without infeed and outfeed.
    inner: Sum,
}

impl Whole {
    /// Of a table of ops.
    #[must_use]
    pub(crate) fn new(ops: &Db<'_>) -> Self {
        let mut whole = Self { total_ps: ops.total_ps, ..Self::default() };
        for row in &ops.rows {
            let part = Part::from_category(&row.category);
            whole.add(part, row.time_ps, row.bytes, &row.accesses.iter().copied());
            whole.add_flops(part, row.flops, row.model_flops);
        }
        whole
    }

    /// The row that stands for all ops.
    #[must_use]
    pub(crate) fn row<'p>(&self, infeed_outfeed: bool) -> Row<'p> {
        let (sum, left_out_ps) = if infeed_outfeed { (&self.all, 0) } else { (&self.inner, self.moved_ps) };
        Row {
            name: "Program".into(),
            category: "Program".into(),
            occurrences: 1,
            time_ps: self.total_ps.saturating_sub(left_out_ps),
            flops: sum.flops,
            model_flops: sum.model_flops,
            bytes: sum.bytes,
            accesses: sum.accesses.clone(),
            ..Row::default()
        }
    }

    /// Adds to the time from the first op to the last.
    pub(super) fn add_total(&mut self, total_ps: u64) {
        self.total_ps = self.total_ps.saturating_add(total_ps);
    }

    /// Adds an op's time and bytes.
    pub(super) fn add(
        &mut self,
        part: Part,
        time_ps: u64,
        bytes: u64,
        accesses: &(impl Iterator<Item = Access> + Clone),
    ) {
        if part == Part::InfeedOutfeed {
            self.moved_ps = self.moved_ps.saturating_add(time_ps);
        }
        for sum in self.sums(part) {
            sum.bytes = sum.bytes.saturating_add(bytes);
            add_accesses(&mut sum.accesses, accesses.clone());
        }
    }

    /// Adds an op's FLOPs.
    pub(super) fn add_flops(&mut self, part: Part, flops: f64, model_flops: f64) {
        for sum in self.sums(part) {
            sum.flops += flops;
            sum.model_flops += model_flops;
        }
    }

    /// Adds another's times and bytes.
    pub(super) fn merge_all_but_flops(&mut self, other: &Self) {
        self.add_total(other.total_ps);
        self.moved_ps = self.moved_ps.saturating_add(other.moved_ps);
        for (mine, theirs) in [(&mut self.all, &other.all), (&mut self.inner, &other.inner)] {
            mine.bytes = mine.bytes.saturating_add(theirs.bytes);
            add_accesses(&mut mine.accesses, theirs.accesses.iter().copied());
        }
    }

    fn sums(&mut self, part: Part) -> impl Iterator<Item = &mut Sum> {
        let all = (part != Part::Around).then_some(&mut self.all);
        let inner = (part == Part::Plain).then_some(&mut self.inner);
        all.into_iter().chain(inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ops_around_others_never_count_and_infeed_only_where_asked_for() {
        let hbm = |bytes| Access { operation: Access::READ, space: Access::HBM, bytes };
        let mut whole = Whole { total_ps: 100, ..Whole::default() };
        for (category, flops) in [("while", 1.0), ("infeed", 10.0), ("loop fusion", 100.0)] {
            let part = Part::from_category(category);
            whole.add(part, 30, 5, &[hbm(5)].into_iter());
            whole.add_flops(part, flops, flops / 2.0);
        }
        let (with, without) = (whole.row(true), whole.row(false));
        assert_eq!((with.time_ps, with.flops, with.model_flops, with.bytes), (100, 110.0, 55.0, 10));
        assert_eq!(
            (without.time_ps, without.flops, without.model_flops, without.bytes),
            (70, 100.0, 50.0, 5)
        );
        assert_eq!((with.hbm_bytes(), without.hbm_bytes()), (10, 5));

        let mut both = whole.clone();
        both.merge_all_but_flops(&whole);
        assert_eq!(
            (both.row(false).time_ps, both.row(false).hbm_bytes(), both.row(true).flops),
            (140, 10, 110.0)
        );
    }

    #[test]
    fn categories_of_the_three_parts() {
        assert_eq!(Part::from_category("megacore fusion"), Part::Around);
        assert_eq!(Part::from_category("sparsecorev0 outfeed"), Part::InfeedOutfeed);
        assert_eq!(Part::from_category("loop fusion"), Part::Plain);
    }
}
